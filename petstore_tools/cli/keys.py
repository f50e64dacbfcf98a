"""`keys`: the API keys of the service."""

from __future__ import annotations

import time
from contextlib import closing

import click

from petstore_tools import plans, spec
from petstore_tools.cli import exits
from petstore_tools.cli.service_options import DATABASE, ENVIRONMENT, PORTS, open_database
from petstore_tools.errors import SettingsError
from petstore_tools.text import text_table, utc_text


@click.group("keys")
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
@DATABASE
@ENVIRONMENT
def create(plan: str, label: str, database: str | None, environment: str) -> int:
    """
    Create a key and print it; it cannot be shown again.

    \b
    Examples:
      petstore-tools keys create --plan pro --label team
      petstore-tools keys create --plan 5000/2000000
    """
    numbers = plans.parse(plan)
    assert numbers is not None
    with closing(open_database(database, environment)) as service:
        key_id, key = service.create_key(numbers, label=label, now=time.time())
    prefix = "STAGING_" if environment == "staging" else ""
    variables = {
        f"PETSTORE_{prefix}BASE_URL": f"http://127.0.0.1:{PORTS[environment]}{spec.PATH_PREFIX}",
        "PETSTORE_API_KEY": key,
        "PETSTORE_PLAN": plan.replace(" ", ""),
        "PETSTORE_ENVIRONMENT": environment,
    }
    click.echo(
        (
            f"Key {key_id}, {numbers}. The key cannot be shown again: the service stores only a "
            "digest of it."
        ),
        err=True,
    )
    for shell, line in (("sh, bash, zsh", "export {}={}"), ("PowerShell", '$env:{} = "{}"')):
        click.echo("\n".join([f"# {shell}", *(line.format(*pair) for pair in variables.items())]))
    return exits.DONE


@keys_.command("list")
@DATABASE
@ENVIRONMENT
def list_keys(database: str | None, environment: str) -> int:
    """
    List the keys by their ids; the keys themselves are not stored.

    \b
    Example:
      petstore-tools keys list --environment staging
    """
    with closing(open_database(database, environment)) as service:
        keys = service.list_keys()
    rows = [
        (key.id, key.label, str(key.plan), _time(key.created_at), _time(key.revoked_at))
        for key in keys
    ]
    titles = ("id", "label", "plan", "created", "revoked")
    click.echo(text_table(titles, rows) if rows else "No keys yet.")
    return exits.DONE


def _time(at: float | None) -> str:
    return "" if at is None else utc_text(at)


@keys_.command("revoke")
@click.argument("key_id")
@DATABASE
@ENVIRONMENT
def revoke(key_id: str, database: str | None, environment: str) -> int:
    """Make a key invalid for good; KEY_ID is its id in `keys list`."""
    with closing(open_database(database, environment)) as service:
        done = service.revoke(key_id, time.time())
    if not done:
        raise SettingsError(
            f"there is no valid key with the id {key_id!r}; petstore-tools keys list shows them"
        )
    click.echo(f"Key {key_id} is revoked.", err=True)
    return exits.DONE
