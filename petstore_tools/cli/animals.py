"""`list`, `report` and `quota`: looking without changing."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any

import click

from petstore_tools import spec
from petstore_tools.cli import exits
from petstore_tools.cli.options import ENVIRONMENT, WAIT, YES
from petstore_tools.errors import IncompleteListingError, SettingsError
from petstore_tools.listing import export
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.parquet import load_parquet
from petstore_tools.render import text_table
from petstore_tools.store import PetStore
from petstore_tools.tabular.atomic import check_writable
from petstore_tools.text import pluralize, suggest, utc_text

SHOWN_ROWS = 20


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


def _check_output(path: Path | None, endings: tuple[str, ...]) -> None:
    """Check before the first request that the file of `-o` can be written."""
    if path is None:
        return
    ending = path.suffix.casefold()
    if ending not in endings:
        raise click.UsageError(f"cannot write {path.suffix or path.name!r}: use {', '.join(endings)}")
    if ending == ".parquet":
        load_parquet()
    check_writable(path)


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
    _check_output(output, export.ENDINGS)
    if excel and (output is None or output.suffix.casefold() != ".csv"):
        raise click.UsageError("--excel is for -o FILE.csv")
    with PetStore(environment=environment) as store:
        frame = store.list_pets(
            status=status,
            first=first,
            max_requests=max_requests,
            max_age=max_age,
            wait=wait,
            confirm=None if yes else functools.partial(_confirm, or_less=", or take less with --first"),
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


def _confirm(needed: int, left: int, *, or_less: str = "") -> None:
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


@click.command("report")
@click.option("--status", type=Status(), help="Report on animals with this status only.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A .html, .xlsx, .md or .json file.")
@click.option(
    "--since",
    metavar="last|AGE|DATE",
    help="What changed since the last report written with -o, 7d ago, or 2026-01-05 (05.01.2026).",
)
@click.option("--partial", is_flag=True, help="Report on a listing that is not whole, and say so.")
@YES
@ENVIRONMENT
@WAIT
def report_(
    status: str | None,
    output: Path | None,
    since: str | None,
    environment: str | None,
    *,
    partial: bool,
    yes: bool,
    wait: bool,
) -> int:
    """
    Count the inventory by status and category; each complete listing is kept as a snapshot.

    Where the day has fewer requests left than the listing takes, you are asked first.

    \b
    Examples:
      petstore-tools report
      petstore-tools report -o report.html --since last
      petstore-tools report -o report.xlsx --since 7d
    """
    _check_output(output, (".html", ".xlsx", ".md", ".json"))
    with PetStore(environment=environment) as store:
        try:
            report = store.status_report(
                status=status, since=since, partial=partial, wait=wait, confirm=None if yes else _confirm
            )
        except IncompleteListingError as error:
            click.echo(f"Error: {error}; --partial reports on it all the same", err=True)
            return exits.PARTLY
    if output is None:
        click.echo(report.to_text())
    else:
        write = {".html": report.to_html, ".md": report.to_markdown, ".json": report.to_json}
        ending = output.suffix.casefold()
        try:
            report.to_excel(output) if ending == ".xlsx" else write[ending](output)
        except OSError:
            click.echo(report.to_text())  # it is paid for, so it is not lost
            raise
        click.echo(f"{report.face}; report in {output}", err=True)
        for note in report.notes:
            click.echo(f"Note: {note}", err=True)
    return exits.DONE if report.listing.complete else exits.PARTLY


@click.command("quota")
@ENVIRONMENT
def quota_(environment: str | None) -> int:
    """
    Show what is left of the minute and the day; costs no request.

    \b
    Examples:
      petstore-tools quota
      petstore-tools quota --environment staging
    """
    with PetStore(environment=environment) as store:
        quota = store.quota()
    click.echo(quota.to_text())
    click.echo(f"As of {utc_text(quota.as_of)}; costs no request.", err=True)
    return exits.DONE
