"""`list`: the inventory on the screen or in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from petstore_tools.cli import exits, options
from petstore_tools.importing.options import category_names
from petstore_tools.listing import frames
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import text_dtype
from petstore_tools.store import PetStore
from petstore_tools.text import pluralize, text_table, utc_text


@click.command("list")
@options.STATUS
@click.option("--first", type=click.IntRange(min=1), metavar="N", help="Only the first N animals.")
@options.output(*frames.ENDINGS)
@options.EXCEL
@click.option(
    "--max-age", metavar="AGE", help="Use a snapshot that is not older than AGE, such as 1h or 2d."
)
@options.ENVIRONMENT
@options.WAIT
def list_(output: Path | None, environment: str | None, *, excel: bool, **query: Any) -> int:
    """
    Show the inventory, or write it to a file.

    \b
    Examples:
      petstore-tools list --status available
      petstore-tools list -o inventory.csv
      petstore-tools list -o inventory.parquet --max-age 1h
    """
    options.check_excel(output, excel=excel)
    with PetStore(environment=environment) as store:
        names = category_names(None, store.settings.categories)
        frame = store.list_pets(**query)
        from_snapshot = query["max_age"] is not None and not store.client.sent
    listing = Listing.of(frame)
    if names is not None:
        frame.insert(3, "category", frame["categoryId"].map(names).astype(text_dtype()))
    if output is None:
        shown = frame.head(options.SHOWN_ROWS).astype("object")
        click.echo(
            text_table(
                tuple(shown.columns), shown.where(shown.notna(), "").astype(str).to_numpy().tolist()
            )
        )
        options.say_more(len(frame), "-o FILE writes all of them")
        counts = frame["status"].astype("object").fillna("unset").value_counts(sort=False)
        parts = [f"{count:,} {status}" for status, count in counts.items()]
        click.echo(f"{pluralize(len(frame), 'animal')}: {', '.join(parts) or 'none'}", err=True)
    else:
        frames.write(frame, output, for_excel=excel)
        click.echo(f"{pluralize(len(frame), 'animal')} in {output}", err=True)
    click.echo(str(listing), err=True)
    if from_snapshot:
        click.echo(f"from the snapshot of {utc_text(listing.ended_at)}, no request", err=True)
    return exits.DONE if listing.complete or query["first"] is not None else exits.PARTLY
