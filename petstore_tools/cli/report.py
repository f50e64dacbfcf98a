"""`report`: the status report on the screen or in a file."""

from __future__ import annotations

from pathlib import Path

import click

from petstore_tools.cli import exits
from petstore_tools.cli.options import ENVIRONMENT, WAIT, YES, Status, check_output, confirm_cost
from petstore_tools.errors import IncompleteListingError
from petstore_tools.store import PetStore


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
    check_output(output, (".html", ".xlsx", ".md", ".json"))
    with PetStore(environment=environment) as store:
        try:
            report = store.status_report(
                status=status, since=since, partial=partial, wait=wait, confirm=None if yes else confirm_cost
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
