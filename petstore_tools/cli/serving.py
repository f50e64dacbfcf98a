"""`serve` and `keys`: running the service."""

from __future__ import annotations

import os
import time
from typing import Any

import click

from petstore_tools import plans, spec
from petstore_tools.cli import exits
from petstore_tools.errors import MissingExtraError, SettingsError
from petstore_tools.plans import Plan
from petstore_tools.render import text_table
from petstore_tools.settings import state_folder
from petstore_tools.text import utc_text

PORTS = {"production": 8765, "staging": 8766}
DATABASE = click.option(
    "--database",
    envvar="PETSTORE_DATABASE_URL",
    metavar="FILE|URL",
    help="SQLite file, made where absent, or postgresql://USER:PASSWORD@HOST/NAME; better given by "
    "PETSTORE_DATABASE_URL, since others see command lines. Default: a file in the state folder.",
)
ENVIRONMENT = click.option(
    "--environment",
    type=click.Choice(("production", "staging")),
    default="production",
    show_default=True,
    help="Chooses the default database file and port.",
)


def _open(database: str | None, environment: str) -> Any:
    from petstore_tools.service.database import Database

    return Database(_where(database, environment))


def _where(database: str | None, environment: str) -> str:
    return database or str(state_folder() / f"service-{environment}.db")


@click.command("serve")
@click.option("--port", type=click.IntRange(1, 65_535), help="Default: 8765, for staging 8766.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes; PostgreSQL only."
)
@click.option(
    "--trust-proxy",
    metavar="ADDRESSES",
    default="",
    help="Believe X-Forwarded-For from these, comma-separated.",
)
@click.option(
    "--limit-concurrency",
    type=click.IntRange(1, 100_000),
    help="Most open connections (of each worker). Above it, callers that have kept the service waiting for a "
    "second are cut off; where there are none, new callers get 503. Default: 512.",
)
@click.option("--access-log", is_flag=True, help="A line of JSON on stderr for each answer, without keys.")
@DATABASE
@ENVIRONMENT
def serve_(
    port: int | None,
    host: str,
    workers: int,
    trust_proxy: str,
    limit_concurrency: int | None,
    database: str | None,
    environment: str,
    *,
    access_log: bool,
) -> int:
    """
    Run the Animal Store Service on this machine.

    \b
    Examples:
      petstore-tools keys create --plan pro
      petstore-tools serve
      petstore-tools serve --workers 4 --trust-proxy 192.0.2.1   # PETSTORE_DATABASE_URL=postgresql://...
    """
    try:
        from petstore_tools.service import server
    except ImportError as error:
        raise MissingExtraError("server", "the service") from error
    where = _where(database, environment)
    from petstore_tools.service.engines import POSTGRES

    if workers > 1 and not where.startswith(POSTGRES):
        raise click.UsageError("--workers needs a postgresql:// database: SQLite serves one process")
    store = _open(database, environment)  # refused here, before anything listens
    from petstore_tools.clock import SystemClock
    from petstore_tools.service.app import Service

    listener = server.bind(host, port or PORTS[environment])
    address = f"http://{host}:{listener.getsockname()[1]}{spec.PATH_PREFIX}"
    many = f" with {workers} workers" if workers > 1 else ""
    click.echo(f"Serving {environment} at {address} from {store.name}{many} (Ctrl-C stops)", err=True)
    if access_log:
        os.environ[server.ACCESS_LOG] = "1"
    limits = {"trusted": trust_proxy, "limit_concurrency": limit_concurrency}
    try:
        if workers > 1:
            store.close()
            server.serve_many(where, listener, workers=workers, **limits)
        else:
            if access_log:
                server.log_access()
            server.serve(Service(store, SystemClock()), listener, **limits)
    except KeyboardInterrupt:
        pass
    finally:
        store.close()
    return exits.DONE


@click.group("keys")
def keys_() -> None:
    """Make, list and revoke the API keys of the service."""


@keys_.command("create")
@click.option(
    "--plan", default="free", show_default=True, help="free, pro, business, enterprise or PER_MINUTE/PER_DAY."
)
@click.option("--per-minute", type=click.IntRange(min=1), help="For enterprise: requests a minute.")
@click.option("--per-day", type=click.IntRange(min=1), help="For enterprise: requests a day.")
@click.option("--label", default="", help="For whom it is.")
@DATABASE
@ENVIRONMENT
def create_(
    plan: str, per_minute: int | None, per_day: int | None, label: str, database: str | None, environment: str
) -> int:
    """
    Make a key and print it, once.

    \b
    Examples:
      petstore-tools keys create --plan pro --label team
      petstore-tools keys create --plan enterprise --per-minute 5000 --per-day 2000000
    """
    if plan.strip().casefold() == "enterprise":
        if per_minute is None or per_day is None:
            raise click.UsageError("enterprise is custom: give --per-minute and --per-day")
        numbers, plan = Plan(per_minute, per_day, "enterprise"), f"{per_minute}/{per_day}"
    elif per_minute is not None or per_day is not None:
        raise click.UsageError("--per-minute and --per-day are for --plan enterprise")
    elif (parsed := plans.parse(plan)) is None:
        raise SettingsError("a key needs a plan")
    else:
        numbers, plan = parsed, plan.replace(" ", "")
    store = _open(database, environment)
    key_id, key = store.create_key(numbers, label=label, now=time.time())
    store.close()
    base_url = f"http://127.0.0.1:{PORTS[environment]}{spec.PATH_PREFIX}"
    prefix = "STAGING_" if environment == "staging" else ""
    variables = {f"PETSTORE_{prefix}BASE_URL": base_url, "PETSTORE_API_KEY": key, "PETSTORE_PLAN": plan}
    if prefix:
        variables["PETSTORE_ENVIRONMENT"] = environment
    click.echo(f"Key {key_id}, {numbers}. It is shown this once; only its digest is stored.", err=True)
    click.echo("# sh, bash, zsh")
    for name, value in variables.items():
        click.echo(f"export {name}={value}")
    click.echo("# PowerShell")
    for name, value in variables.items():
        click.echo(f'$env:{name} = "{value}"')
    return exits.DONE


@keys_.command("list")
@DATABASE
@ENVIRONMENT
def list_keys(database: str | None, environment: str) -> int:
    """
    List the keys, without the keys themselves.

    \b
    Example:
      petstore-tools keys list --environment staging
    """
    store = _open(database, environment)
    rows = [
        (key.id, key.label, str(key.plan), utc_text(key.created_at), _revoked(key.revoked_at))
        for key in store.list_keys()
    ]
    store.close()
    titles = ("id", "label", "plan", "created", "revoked")
    click.echo(text_table(titles, rows) if rows else "No keys yet.")
    return exits.DONE


def _revoked(at: float | None) -> str:
    return "" if at is None else utc_text(at)


@keys_.command("revoke")
@click.argument("key_id")
@DATABASE
@ENVIRONMENT
def revoke_(key_id: str, database: str | None, environment: str) -> int:
    """Make a key invalid for good; KEY_ID is its id in `keys list`."""
    store = _open(database, environment)
    done = store.revoke(key_id, time.time())
    store.close()
    if not done:
        raise SettingsError(f"there is no valid key with the id {key_id!r}; see petstore-tools keys list")
    click.echo(f"Key {key_id} is revoked.", err=True)
    return exits.DONE
