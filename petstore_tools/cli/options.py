"""Options and questions that several commands share."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from petstore_tools import spec
from petstore_tools.cli import exits
from petstore_tools.errors import SettingsError
from petstore_tools.listing.parquet import load_parquet
from petstore_tools.tabular.atomic import check_writable
from petstore_tools.text import pluralize, suggest

SHOWN_ROWS = 20
ENVIRONMENT = click.option(
    "--environment", type=click.Choice(("production", "staging")), help="Which base address to use."
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end.")
EXISTING = click.option(
    "--existing", type=click.Choice(("skip", "send")), help="Rows whose animal seems to stand."
)
NO_PROGRESS = click.option("--no-progress", is_flag=True, help="Draw no progress bar.")
WAIT = click.option("--wait", is_flag=True, help="Wait for the next day's quota instead of stopping.")
YES = click.option("--yes", is_flag=True, help="Do not ask.")


def mapping_of(pairs: tuple[str, ...]) -> dict[str, str]:
    """Read `Column=field` pairs into field by column title."""
    mapping = {}
    for pair in pairs:
        title, equals, field = pair.rpartition("=")
        if not equals or not title:
            raise click.BadParameter(f'{pair!r} is not "Column=field"', param_hint="--columns")
        mapping[title] = field
    return mapping


class Status(click.Choice):  # type: ignore[type-arg] # generic from click 8.2 on
    """One of the three values, in any case; another one is refused with the nearest."""

    def __init__(self) -> None:
        super().__init__(spec.STATUSES, case_sensitive=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value as the document writes it."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            near = suggest(value, spec.STATUSES)
            raise click.BadParameter(error.message.rstrip(".") + near, ctx=ctx, param=param) from error


def check_output(path: Path | None, endings: tuple[str, ...]) -> None:
    """Check before the first request that the file of `-o` can be written."""
    if path is None:
        return
    ending = path.suffix.casefold()
    if ending not in endings:
        raise click.UsageError(f"cannot write {path.suffix or path.name!r}: use {', '.join(endings)}")
    if ending == ".parquet":
        load_parquet()
    check_writable(path)


def confirm_cost(needed: int, left: int, *, or_less: str = "") -> None:
    """Ask whether a listing is to be begun that the day's requests do not suffice for."""
    told = f"the listing takes about {pluralize(needed, 'request')}, and {left:,} are left today"
    if not sys.stdin.isatty():
        raise SettingsError(
            f"nothing was sent: {told}. Say that it is meant with --yes (it stops at the quota, and the same "
            f"command goes on the next day), or wait for the next day with --wait{or_less}"
        )
    click.echo(
        f"{told.capitalize()}. It stops at the quota, and the same command goes on the next day.", err=True
    )
    if not click.confirm("Spend the requests that are left today?", default=False, err=True):
        click.echo("Nothing was sent.", err=True)
        raise click.exceptions.Exit(exits.DONE)
