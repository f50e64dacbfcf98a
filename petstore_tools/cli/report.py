"""`report`: the status report on the screen or in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from petstore_tools.cli import exits, options
from petstore_tools.errors import IncompleteListingError
from petstore_tools.store import PetStore

WRITERS = {
    ".html": "to_html",
    ".xlsx": "to_excel",
    ".md": "to_markdown",
    ".json": "to_json",
    ".eml": "to_mail",
}


@click.command("report")
@options.STATUS
@options.output(*WRITERS)
@click.option(
    "--since",
    metavar="last|AGE|DATE",
    help="Show what changed since the last report that was written with -o, since an age such as "
    "7d, or since a date such as 2026-01-05 or 05.01.2026.",
)
@click.option(
    "--partial", is_flag=True, help="Report on a listing that is not complete, and say so."
)
@click.option("--title", default="Status report", help="The title of the report.")
@click.option("--note", default="", help="A line of your own below the title.")
@click.option(
    "--timezone", metavar="ZONE", help="Write times in this zone, such as Europe/Berlin or UTC."
)
@click.option(
    "--to",
    multiple=True,
    metavar="ADDRESS",
    help="With -o FILE.eml: the address of a recipient. Repeat the option for more.",
)
@click.option("--subject", default="", help="With -o FILE.eml: the subject.")
@options.YES
@options.ENVIRONMENT
@options.WAIT
def report_(
    output: Path | None,
    environment: str | None,
    to: tuple[str, ...],
    subject: str,
    *,
    yes: bool,
    **query: Any,
) -> int:
    """
    Count the animals by status and category.

    Every complete listing is kept as a snapshot. When the day has fewer requests left than the
    listing needs, you are asked first.

    \b
    Examples:
      petstore-tools report
      petstore-tools report -o report.html --since last
      petstore-tools report -o report.xlsx --since 7d
      petstore-tools report -o report.eml --to ann@example.org --since last
    """
    mailed = output is not None and output.suffix.casefold() == ".eml"
    if (to or subject) and not mailed:
        raise click.UsageError("--to and --subject are for -o FILE.eml")
    with PetStore(environment=environment) as store:
        try:
            report = store.status_report(confirm=None if yes else options.confirm_cost, **query)
        except IncompleteListingError as error:
            error.add_note("--partial reports on it anyway")
            raise
    if output is None:
        click.echo(report.to_text())
    else:
        try:
            headers = {"to": to, "subject": subject} if mailed else {}
            getattr(report, WRITERS[output.suffix.casefold()])(output, **headers)
        except OSError:
            click.echo(report.to_text())  # its requests are spent, so it is shown at least
            raise
        click.echo(f"{report.headline}; report in {output}", err=True)
        for note in report.notes:
            click.echo(f"Note: {note}", err=True)
    return exits.DONE if report.listing.complete else exits.PARTLY
