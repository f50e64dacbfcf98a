"""`serve`: the service on this machine."""

from __future__ import annotations

import os
from contextlib import closing, suppress
from typing import Any

import click

from petstore_tools import spec
from petstore_tools.cli import exits
from petstore_tools.cli.service_options import (
    DATABASE,
    ENVIRONMENT,
    PORTS,
    database_address,
    open_database,
)
from petstore_tools.errors import MissingExtraError


@click.command("serve")
@click.option(
    "--port", type=click.IntRange(1, 65_535), metavar="N", help="Default: 8765, for staging 8766."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    metavar="N",
    default=1,
    help="Processes; more than 1 needs PostgreSQL.",
)
@click.option(
    "--trust-proxy",
    "trusted",
    metavar="ADDRESSES",
    default="",
    help="Proxies whose X-Forwarded-For header is trusted, separated by commas.",
)
@click.option(
    "--limit-concurrency",
    type=click.IntRange(1, 100_000),
    metavar="N",
    help="Most open connections of a process. Above it, connections that have sent no whole "
    "request for a second are closed; when there are none, new ones are answered with 503.  "
    "[default: 512]",
)
@click.option(
    "--access-log", is_flag=True, help="Write each answer to stderr as JSON, without keys."
)
@click.option(
    "--metrics", is_flag=True, help="Show counts for Prometheus at /v1/metrics, which needs no key."
)
@DATABASE
@ENVIRONMENT
def serve_(
    port: int | None,
    host: str,
    workers: int,
    database: str | None,
    environment: str,
    *,
    access_log: bool,
    metrics: bool,
    **connections: Any,
) -> int:
    """
    Run the Animal Store Service on this machine.

    \b
    Examples:
      petstore-tools keys create --plan pro
      petstore-tools serve
      petstore-tools serve --workers 4 --trust-proxy 192.0.2.1   #
      PETSTORE_DATABASE_URL=postgresql://...
    """
    try:
        from petstore_tools.service import server
    except ImportError as error:
        raise MissingExtraError("server", "the service") from error
    from petstore_tools.service.database import POSTGRES

    where = database_address(database, environment)
    if workers > 1 and not where.startswith(POSTGRES):
        raise click.UsageError(
            "--workers needs a postgresql:// database: SQLite serves one process"
        )
    with closing(open_database(database, environment)) as store, suppress(KeyboardInterrupt):
        listener = server.bind(host, port or PORTS[environment])
        address = f"http://{host}:{listener.getsockname()[1]}{spec.PATH_PREFIX}"
        many = f" with {workers} workers" if workers > 1 else ""
        click.echo(
            f"Serving {environment} at {address} from {store.name}{many} (Ctrl-C stops it)",
            err=True,
        )
        os.environ |= {server.ACCESS_LOG: "1" * access_log, server.METRICS: "1" * metrics}
        if workers > 1:
            store.close()
            server.serve_many(where, listener, workers=workers, **connections)
        else:
            server.serve(server.application(store), listener, **connections)
    return exits.DONE
