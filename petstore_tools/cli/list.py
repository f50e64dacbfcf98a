"""`list`: the inventory on the screen or in a file."""

from __future__ import annotations

import functools
from pathlib import Path

import click

from petstore_tools.cli import exits
from petstore_tools.cli.options import ENVIRONMENT, SHOWN_ROWS, WAIT, YES, Status, check_output, confirm_cost
from petstore_tools.listing import export
from petstore_tools.listing.completeness import Listing
from petstore_tools.store import PetStore
from petstore_tools.text import pluralize, text_table, utc_text


@click.command("list")
@click.option("--status", type=Status(), help="Only animals with this status.")
@click.option("--first", type=click.IntRange(min=1), help="Only the first N animals.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help=f"A file: {', '.join(export.ENDINGS)}.")
@click.option("--excel", is_flag=True, help="CSV for Excel: encoding marked, formulas made harmless.")
@click.option("--max-age", metavar="AGE", help="Take a snapshot that is not older, such as 1h or 2d.")
@click.option("--max-requests", type=click.IntRange(min=1), help="Stop after N requests.")
@YES
@ENVIRONMENT
@WAIT
def list_(
    status: str | None,
    first: int | None,
    output: Path | None,
    max_age: str | None,
    max_requests: int | None,
    environment: str | None,
    *,
    excel: bool,
    yes: bool,
    wait: bool,
) -> int:
    """
    Show the inventory, or write it to a file.

    An interrupted listing keeps its pages: the same command within 26 hours goes on. Where the day has fewer
    requests left than the listing takes, you are asked first.

    \b
    Examples:
      petstore-tools list --status available
      petstore-tools list -o inventory.csv
      petstore-tools list -o inventory.parquet --max-age 1h
    """
    check_output(output, export.ENDINGS)
    if excel and (output is None or output.suffix.casefold() != ".csv"):
        raise click.UsageError("--excel is for -o FILE.csv")
    with PetStore(environment=environment) as store:
        frame = store.list_pets(
            status=status,
            first=first,
            max_requests=max_requests,
            max_age=max_age,
            wait=wait,
            confirm=None if yes else functools.partial(confirm_cost, or_less=", or take less with --first"),
        )
        kept = max_age is not None and not store.client.sent
    listing = Listing.of(frame)
    if output is None:
        shown = frame.head(SHOWN_ROWS).astype("object")
        rows = [tuple(map(str, row)) for row in shown.where(shown.notna(), "").itertuples(index=False)]
        click.echo(text_table(tuple(frame.columns), rows))
        if len(frame) > SHOWN_ROWS:
            click.echo(f"... {len(frame) - SHOWN_ROWS:,} more", err=True)
        counts = frame["status"].value_counts(dropna=False, sort=False)
        told = [f"{n:,} {s if isinstance(s, str) else 'unset'}" for s, n in counts.items() if n]
        click.echo(f"{pluralize(len(frame), 'animal')}: {', '.join(told) or 'none'}", err=True)
    else:
        export.write(frame, output, for_excel=excel)
        click.echo(f"{len(frame):,} animals in {output}", err=True)
    click.echo(str(listing), err=True)
    if kept:
        click.echo(f"from the snapshot of {utc_text(listing.ended_at)}, no request", err=True)
    return exits.DONE if listing.complete or first is not None else exits.PARTLY
