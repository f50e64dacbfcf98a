"""`list`: the inventory on the screen or in a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from petstore_tools.cli import shared
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import (
    ENDINGS,
    frame_cells,
    text_dtype,
    write_frame,
)
from petstore_tools.store import PetStore
from petstore_tools.tabular.categories import read_categories
from petstore_tools.tabular.text_files import csv_bytes
from petstore_tools.text import pluralize, text_table, utc_text

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 20


@shared.command("list")
@shared.STATUS
@click.option(
    "--first", type=click.IntRange(min=1), metavar="N", help="Only the first N animals."
)
@shared.output(*ENDINGS)
@shared.JSON
@click.option(
    "--max-age",
    metavar="AGE",
    help=(
        "Of all animals: answer from the last kept listing if it is not older than AGE,"
        " such as 1h or 2d; else keep a new one."
    ),
)
@shared.STORE
@shared.WAIT
def list_(output: Path | None, store: PetStore, *, as_json: bool, **query: Any) -> int:
    """
    Show the inventory, or write it to a file.

    A terminal shows the first rows. A pipe gets all rows as CSV.

    A listing is complete (every page was read), cut (animals are known to be missing)
    or unproven (nothing shows whether more pages exist). It says which, and why.

    \b
    Examples:
      petstore-tools list --status available
      petstore-tools list -o inventory.csv
      petstore-tools list | wc -l
      petstore-tools list -o inventory.parquet --max-age 1h
    """
    names = read_categories(store.settings.categories)
    frame = store.list_pets(**query)
    listing = Listing.of(frame)
    write_rows(frame, "animal", names, output, as_json=as_json)
    shared.write_message(str(listing))
    if not store.client.sent:
        shared.write_message(
            f"from the snapshot of {utc_text(listing.ended_at)}, no request"
        )
    return shared.DONE if listing.complete or query["first"] else shared.INCOMPLETE


def write_rows(
    frame: pd.DataFrame,
    noun: str,
    names: Mapping[int, str] | None,
    output: Path | None,
    *,
    as_json: bool = False,
) -> None:
    """
    Write a frame of animals to a file, as JSON or CSV to standard output, or its first
    rows to a terminal.

    Args:
        frame: With the columns `id`, `name`, `categoryId` in front.
        noun: What a row is.
        names: Name by category id: then a column `category` is added behind the third.
        output: The file, `-` for standard output, or None for a terminal.
        as_json: Print JSON.
    """
    if names is not None:
        category = frame["categoryId"].map(names).astype(text_dtype())
        frame.insert(3, "category", category)
    is_file = output not in (None, shared.STDOUT)
    if is_file:
        write_frame(frame, cast(Path, output))
        shared.write_message(f"{pluralize(len(frame), noun)} in {output}")
    if as_json:
        click.echo(frame_json(frame))
    elif output is None:
        _show_rows(frame)
    elif not is_file:
        click.echo(csv_bytes(*frame_cells(frame)).decode(), nl=False)


def frame_json(frame: pd.DataFrame) -> str:
    """Return a frame as a JSON list, an object a row."""
    text: str = frame.to_json(
        orient="records", force_ascii=False, indent=1, date_format="iso"
    )
    return text


def _show_rows(frame: pd.DataFrame) -> None:
    """Show the first rows on a terminal."""
    rows = frame.head(MOST_ROWS)
    times = rows.select_dtypes("datetime")
    minutes = times.apply(lambda column: column.dt.strftime("%Y-%m-%d %H:%M"))
    click.echo(text_table(*frame_cells(rows.assign(**minutes))))
    if len(frame) > MOST_ROWS:
        shared.write_message(
            f"... {len(frame) - MOST_ROWS:,} more; -o FILE writes all of them"
        )
