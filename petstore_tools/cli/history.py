"""`history`: what the kept listings say about each animal over time."""

from __future__ import annotations

import time
from pathlib import Path

import click

from petstore_tools import settings
from petstore_tools.cli import exits, options
from petstore_tools.history import export
from petstore_tools.history.snapshots import SnapshotStore
from petstore_tools.importing.options import category_names
from petstore_tools.listing.frames import text_dtype
from petstore_tools.text import pluralize, text_table

MINUTE = "%Y-%m-%d %H:%M"


@click.command("history")
@click.option("--id", "pet_id", type=int, metavar="N", help="Only the animal with this id.")
@click.option(
    "--since",
    metavar="AGE|DATE",
    help="Leave out what ended before this age or date, such as 90d or 2026-01-05.",
)
@options.output(*export.ENDINGS)
@options.ENVIRONMENT
def history_(
    pet_id: int | None,
    since: str | None,
    output: Path | None,
    environment: str | None,
) -> int:
    """
    Show what became of the animals: when each was seen in which status, and when that ended.

    It is read from the listings that `report` and `list --max-age` keep on this machine; no request
    is sent. A change happened between two listings, so its time is shown as two times.

    \b
    Examples:
      petstore-tools history --id 17
      petstore-tools history --since 90d -o history.xlsx
    """
    kept = _kept(environment)
    history = kept.history(pet_id=pet_id, since=since, now=time.time())
    if names := category_names(None, settings.category_file()):
        history.insert(3, "category", history["categoryId"].map(names).astype(text_dtype()))
    if output is not None:
        export.write(history, output)
        click.echo(f"{pluralize(len(history), 'row')} in {output}", err=True)
        return exits.DONE
    shown = history.head(options.SHOWN_ROWS).drop(columns="last_seen").astype("object")
    rows = [
        (
            *map(str, values),
            f"{first:{MINUTE}}",
            ended and f"{ended.left:{MINUTE}} and {ended.right:{MINUTE}}",
        )
        for *values, first, ended in shown.where(shown.notna(), "").itertuples(index=False)
    ]
    titles = (*shown.columns[:-2], "first seen (UTC)", "ended between (UTC)")
    click.echo(text_table(titles, rows) if rows else "The kept listings show no such animal.")
    if len(history) > len(shown):
        click.echo(f"... {len(history) - len(shown):,} more; -o FILE writes all of them", err=True)
    click.echo(str(kept.all()), err=True)
    return exits.DONE


def _kept(environment: str | None) -> SnapshotStore:
    """
    Return the kept listings of the service of the settings; without a base address, of the only
    one.
    """
    name, address = settings.address_of(environment)
    if address is None:
        return SnapshotStore.only(settings.state_folder(), environment)
    return SnapshotStore.of(settings.state_folder(), name, settings.check_base_url(address))
