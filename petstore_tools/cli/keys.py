"""`keys`: the API keys of the service."""

from __future__ import annotations

import time

import click

from petstore_tools import plans, spec
from petstore_tools.cli import exits
from petstore_tools.cli.service_options import DATABASE, ENVIRONMENT, PORTS, open_database
from petstore_tools.errors import SettingsError
from petstore_tools.plans import Plan
from petstore_tools.text import text_table, utc_text


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
    store = open_database(database, environment)
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
    store = open_database(database, environment)
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
    store = open_database(database, environment)
    done = store.revoke(key_id, time.time())
    store.close()
    if not done:
        raise SettingsError(f"there is no valid key with the id {key_id!r}; see petstore-tools keys list")
    click.echo(f"Key {key_id} is revoked.", err=True)
    return exits.DONE
