"""`serve` and `keys`: running the service."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from petstore_tools import spec
from petstore_tools.adapters.settings import state_folder
from petstore_tools.cli import exits
from petstore_tools.core import plan as plans
from petstore_tools.errors import MissingExtraError, SettingsError
from petstore_tools.render import text_table
from petstore_tools.words import utc_text

PORTS = {"production": 8765, "staging": 8766}
DATABASE = click.option(
    "--database",
    type=click.Path(path_type=Path, dir_okay=False),
    help="SQLite file, made where absent; default: in the state folder.",
)
ENVIRONMENT = click.option(
    "--environment",
    type=click.Choice(("production", "staging")),
    default="production",
    show_default=True,
    help="Chooses the default database file and port.",
)


def _open(database: Path | None, environment: str) -> Any:
    try:
        from petstore_tools.service.database import Database
    except ImportError as error:
        raise MissingExtraError("server", "the service") from error
    return Database(_path(database, environment))


def _path(database: Path | None, environment: str) -> Path:
    return database or state_folder() / f"service-{environment}.db"


@click.command("serve")
@click.option("--port", type=click.IntRange(1, 65_535), help="Default: 8765, for staging 8766.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@DATABASE
@ENVIRONMENT
def serve_(port: int | None, host: str, database: Path | None, environment: str) -> int:
    """
    Run the Animal Store Service on this machine.

    \b
    Examples:
      petstore-tools keys create --plan pro
      petstore-tools serve
    """
    store = _open(database, environment)
    import uvicorn

    from petstore_tools.clock import SystemClock
    from petstore_tools.service.app import Service
    from petstore_tools.service.server import bind, config

    listener = bind(host, port or PORTS[environment])
    address = f"http://{host}:{listener.getsockname()[1]}{spec.PATH_PREFIX}"
    click.echo(
        f"Serving {environment} at {address} from {_path(database, environment)} (Ctrl-C stops)", err=True
    )
    try:
        uvicorn.Server(config(Service(store, SystemClock()))).run(sockets=[listener])
    except KeyboardInterrupt:
        pass
    finally:
        store.close()
    return exits.DONE


@click.group("keys")
def keys_() -> None:
    """Make, list and revoke the API keys of the service."""


@keys_.command("create")
@click.option("--plan", default="free", show_default=True, help="free, pro, business or PER_MINUTE/PER_DAY.")
@click.option("--label", default="", help="For whom it is.")
@DATABASE
@ENVIRONMENT
def create_(plan: str, label: str, database: Path | None, environment: str) -> int:
    """Make a key and print it, once."""
    numbers = plans.parse(plan)
    if numbers is None:
        raise SettingsError("a key needs a plan")
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
def list_keys(database: Path | None, environment: str) -> int:
    """List the keys, without the keys themselves."""
    store = _open(database, environment)
    rows = [
        (key.id, key.label, str(key.plan), utc_text(key.created_at), _revoked(key.revoked_at))
        for key in store.list_keys()
    ]
    store.close()
    click.echo(text_table(("id", "label", "plan", "created", "revoked"), rows))
    return exits.DONE


def _revoked(at: float | None) -> str:
    return "" if at is None else utc_text(at)


@keys_.command("revoke")
@click.argument("key_id")
@DATABASE
@ENVIRONMENT
def revoke_(key_id: str, database: Path | None, environment: str) -> int:
    """Make a key invalid for good; KEY_ID is its id in `keys list`."""
    store = _open(database, environment)
    done = store.revoke(key_id, time.time())
    store.close()
    if not done:
        raise SettingsError(f"there is no valid key with the id {key_id!r}; see petstore-tools keys list")
    click.echo(f"Key {key_id} is revoked.", err=True)
    return exits.DONE
