"""
`demo`: the main job in a sandbox; `serve` and `keys`: the service on this machine, and
the API keys of its callers.
"""

import os
import socket
import time
from contextlib import closing
from dataclasses import replace
from ipaddress import ip_address
from itertools import count
from pathlib import Path
from typing import Any

import click

from petstore_tools import plans, spec
from petstore_tools.cli import shared
from petstore_tools.cli.shared import environment_option, flag, write_message
from petstore_tools.errors import SettingsError
from petstore_tools.service.database import POSTGRES, Database, UnavailableError
from petstore_tools.settings import state_folder, variable
from petstore_tools.tabular.atomic import check_writable, existing_numbers, numbered
from petstore_tools.text import text_table, utc_text

PORTS = {"production": 8765, "staging": 8766}


def _address(text: str) -> str:
    """Check an IP address."""
    try:
        ip_address(text)
    except ValueError as error:
        raise click.BadParameter(
            f"name an IP address, such as 127.0.0.1: {error}"
        ) from error
    return text


def _choose(context: click.Context, _: click.Parameter, database: str | None) -> str:
    """
    Return the database that was named, else the file of the environment in the state
    folder.
    """
    if database:
        return database
    return str(state_folder() / f"service-{context.params['environment']}.db")


DATABASE = click.option(
    "--database",
    envvar="PETSTORE_DATABASE_URL",
    callback=_choose,
    metavar="FILE|URL",
    help=(
        "An SQLite file, created if it does not exist, or"
        " postgresql://USER:PASSWORD@HOST/NAME. Other users of the machine can read"
        " command lines: set PETSTORE_DATABASE_URL instead.  [default: a file in the"
        " state folder]"
    ),
)
ENVIRONMENT = environment_option(
    default="production",
    is_eager=True,
    show_default=True,
    help="Which default database file, and port of the service, to use.",
)
PORT = click.option(
    "--port",
    envvar="PETSTORE_PORT",
    type=click.IntRange(1, 65_535),
    callback=lambda context, _, port: port or PORTS[context.params["environment"]],
    metavar="N",
    help="Port of the service; or PETSTORE_PORT.  [default: 8765; for staging: 8766]",
)


def _base_url(host: str, port: int) -> str:
    """Return the base address of a service; one that listens everywhere has a name."""
    if ip_address(host).is_unspecified:
        host = socket.gethostname()
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}{spec.PATH_PREFIX}"


@shared.command("serve")
@PORT
@click.option(
    "--host",
    envvar="PETSTORE_HOST",
    default="127.0.0.1",
    show_default=True,
    type=_address,
    metavar="ADDRESS",
    help="IP address to listen on; or PETSTORE_HOST.",
)
@click.option(
    "--workers",
    envvar="PETSTORE_WORKERS",
    type=click.IntRange(1, 64),
    metavar="N",
    default=1,
    show_default=True,
    help="Number of processes; or PETSTORE_WORKERS. More than 1 needs PostgreSQL.",
)
@click.option(
    "--sample",
    type=click.IntRange(1),
    metavar="N",
    help="Fill a database that has no animals with N sample animals.",
)
@flag(
    "--access-log",
    "log_access",
    help="Write each answer to stderr as JSON, without keys.",
)
@DATABASE
@ENVIRONMENT
def serve_(
    port: int,
    host: str,
    workers: int,
    sample: int | None,
    database: str,
    environment: str,
    log_access: bool,
) -> None:
    """
    Run the Animal Store Service on this machine.

    While PostgreSQL cannot be reached, it waits.

    \b
    Examples:
      petstore-tools keys create --plan pro
      petstore-tools serve
      petstore-tools serve --sample 250
      PETSTORE_DATABASE_URL=postgresql://... petstore-tools serve --workers 4
    """
    from petstore_tools.service import server

    if workers > 1 and not database.startswith(POSTGRES):
        raise click.UsageError(
            "--workers needs a postgresql:// database: SQLite serves one process"
        )
    # no other program listens there: the workers would share the port with it
    _check_port(host, port)
    with closing(_open_database(database)) as service:
        if sample:
            _fill(service, sample)
        base_url = _base_url(host, port)
        write_message(
            f"Serving {environment} at {base_url} from {service.name} (Ctrl-C stops it)"
        )
    if not ip_address(host).is_loopback:
        write_message(
            "Warning: this is plain http, so others in the network can read keys"
            " and animals. Put a reverse proxy with TLS in front of it, and let it"
            " listen on 127.0.0.1."
        )
    server.serve(database, host, port, workers=workers, log_access=log_access)


def _open_database(location: str) -> Database:
    """Open a database; wait for a PostgreSQL that is not there yet, and say so once."""
    for attempt in count():
        try:
            return Database(location)
        except SettingsError as error:
            is_away = isinstance(error.__cause__, UnavailableError)
            if not (is_away and location.startswith(POSTGRES)):
                raise
            if attempt == 0:
                write_message(f"Waiting for the database: {error}")
        time.sleep(1)
    raise AssertionError  # `count` has no end


def _check_port(host: str, port: int) -> None:
    """Make sure that nobody listens at a port, of `::` for IPv4, too."""
    is_6 = ":" in host
    family = socket.AF_INET6 if is_6 else socket.AF_INET
    try:
        socket.create_server((host, port), family=family, dualstack_ipv6=is_6).close()
    except OSError as error:
        reason = os.strerror(error.errno or 0)  # Python adds a tuple to its own
        raise SettingsError(
            f"port {port} of {host} cannot be used: {reason}. Name another port with"
            " --port, or another address with --host"
        ) from error


def _fill(service: Database, count: int) -> None:
    """Fill a database that has no animals; say how to start with an empty one."""
    from petstore_tools.sandbox import samples

    text = f"{service.name} has animals already, so no sample was added."
    if samples.fill(service, samples.read_animals(count)):
        text = f"{count:,} sample animals were added to {service.name}."
    write_message(f"{text} To start empty, name another database with --database.")


@click.group("keys", cls=shared.Group)
def keys_() -> None:
    """Create, list and revoke the API keys of the service."""


@keys_.command("create")
@click.option(
    "--plan",
    default="free",
    show_default=True,
    help="free, pro, business, or PER_MINUTE/PER_DAY for enterprise.",
)
@click.option("--label", default="", help="A note that says whose key it is.")
@PORT
@DATABASE
@ENVIRONMENT
def create(plan: str, label: str, port: int, database: str, environment: str) -> None:
    """
    Create a key and print it; it cannot be shown again.

    \b
    Examples:
      petstore-tools keys create --plan pro --label team
      petstore-tools keys create --plan 5000/2000000
    """
    key_plan = plans.parse(plan)
    assert key_plan is not None
    with closing(Database(database)) as service:
        key_id, key = service.create_key(key_plan, label=label, now=time.time())
    base_url = _base_url("127.0.0.1", port)
    write_message(
        f"Key {key_id}, {key_plan}. Copy the key now: it cannot be shown again."
        " The address is that of `petstore-tools serve` with the same --port and"
        " --environment. Type address, key and plan into `petstore-tools configure"
        f" --environment {environment}`, or set these variables:"
    )
    values = {"base_url": base_url, "api_key": key, "plan": plan.replace(" ", "")}
    for name, value in values.items():
        click.echo(f"{variable(name, environment)}={value}")
    click.echo(f"PETSTORE_ENVIRONMENT={environment}")


@keys_.command("list")
@DATABASE
@ENVIRONMENT
def list_keys(database: str, **_: Any) -> None:
    """
    List the keys by their ids; the keys themselves are not stored.

    \b
    Example:
      petstore-tools keys list --environment staging
    """
    with closing(Database(database)) as service:
        keys = service.list_keys()
    rows = [
        (
            key_id,
            label,
            plan,
            utc_text(created_at),
            utc_text(revoked_at) if revoked_at else "",
        )
        for key_id, label, plan, created_at, revoked_at in keys
    ]
    titles = ("id", "label", "plan", "created", "revoked")
    click.echo(text_table(titles, rows) if rows else "No keys yet.")


@keys_.command("revoke")
@click.argument("key_id")
@DATABASE
@ENVIRONMENT
def revoke(key_id: str, database: str, **_: Any) -> None:
    """Make a key invalid forever; KEY_ID is its id in `keys list`."""
    with closing(Database(database)) as service:
        if not service.revoke(key_id, time.time()):
            raise SettingsError(
                f"there is no valid key with the id {key_id!r}; petstore-tools keys"
                " list shows them"
            )
    write_message(f"Key {key_id} is revoked.")


@shared.command("demo")
def demo_() -> int:
    """
    Try the main job in a sandbox.

    1,000 animals are imported, listed and counted in a report. The sandbox is the real
    service inside this program, with its quotas and its database. Its clock jumps ahead
    instead of waiting, so the minutes of the Pro plan take no time. Only the report is
    kept, in petstore-report.html; a file that exists is not replaced.
    """
    from petstore_tools.cli.shared import result_code
    from petstore_tools.reporting.report import status_report
    from petstore_tools.sandbox import Sandbox, samples

    output = Path("petstore-report.html")
    check_writable(output.with_name("a new file"), "start the demo in another one")
    started_s = time.perf_counter()
    with Sandbox(plan="pro", animals=0) as sandbox:
        path = sandbox.state_dir.with_name("animals.csv")
        path.write_text(samples.animals_csv(1_000), "utf-8")
        sandbox.store.progress = None  # a bar on a terminal
        began_at = sandbox.clock.now()
        result = sandbox.store.import_pets(path, wait=True)
        plan_s = sandbox.clock.now() - began_at
        result = replace(result, list_file=None)  # it is gone with the sandbox
        report = status_report(sandbox.store.list_pets(), categories=samples.CATEGORIES)
    output = numbered(output, max(existing_numbers(output), default=0) + 1)
    report.to_html(output)
    elapsed_s = time.perf_counter() - started_s
    click.echo(
        f"{result}\n\n{report}\n\nAt a real service the import takes"
        f" {plan_s / 60:.1f} minutes; the sandbox's clock jumped ahead, and all took"
        f" {elapsed_s:.1f} s.\nThe report is in {output.resolve()}\nWith a service of"
        " your own: petstore-tools configure, then petstore-tools import FILE"
    )
    return result_code(result)
