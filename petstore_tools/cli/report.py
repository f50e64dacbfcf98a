"""`report`: the status report; `history`: what became of each animal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from petstore_tools.cli import shared
from petstore_tools.cli.list import write_rows
from petstore_tools.errors import IncompleteListingError, OutputError
from petstore_tools.listing.frames import ENDINGS
from petstore_tools.reporting.facts import one_line
from petstore_tools.reporting.mail import address
from petstore_tools.store import PetStore
from petstore_tools.tabular.categories import read_categories
from petstore_tools.tabular.text_files import escape
from petstore_tools.text import pluralize

if TYPE_CHECKING:
    import pandas as pd

    from petstore_tools.reporting.report import StatusReport

WRITERS = {
    ".html": "to_html",
    ".xlsx": "to_excel",
    ".md": "to_markdown",
    ".json": "to_json",
    ".eml": "to_mail",
}


@shared.command("report")
@shared.STATUS
@shared.output(*WRITERS, multiple=True)
@click.option(
    "--since",
    metavar="last|AGE|DATE",
    help=(
        "Show what changed since the last report that was written with -o; since an age"
        " such as 7d, which means the nearest kept listing; or since the end of a date"
        " such as 2026-01-05 or 05.01.2026, in the time zone of the report."
    ),
)
@click.option(
    "--until",
    metavar="AGE|DATE",
    help=(
        "Report on the kept listing that is nearest to this age, or the newest that had"
        " ended by the end of this date, or by a time such as 2026-01-05T14:00. An age"
        " in --since counts back from it. No request is sent."
    ),
)
@click.option(
    "--categories",
    metavar="FILE",
    help="A list of categories, ids and names.  [default: as the settings say]",
)
@shared.JSON
@shared.flag("--partial", help="Report on a listing that is not complete, and say so.")
@click.option("--title", default="Status report", help="The title of the report.")
@click.option("--note", default="", help="A line of your own below the title.")
@click.option(
    "--alert",
    multiple=True,
    metavar='"STATUS>AGE"',
    help=(
        "Say it on top, and end with exit code 6, if animals have been in a status for"
        ' longer than an age, such as "pending>14d". "pending>100" and "available<20"'
        " are about the number of animals. Repeat the option for more."
    ),
)
@click.option(
    "--timezone",
    metavar="ZONE",
    help="Write times, and read dates, in this zone, such as Europe/Berlin or UTC.",
)
@click.option(
    "--to",
    multiple=True,
    metavar="ADDRESS",
    help="With -o FILE.eml: the address of a recipient. Repeat the option for more.",
)
@click.option("--subject", default="", help="With -o FILE.eml: the subject.")
@shared.STORE
@shared.WAIT
def report_(
    output: tuple[Path, ...],
    store: PetStore,
    to: tuple[str, ...],
    subject: str,
    *,
    as_json: bool,
    **query: Any,
) -> int:
    """
    Count the animals by status and category; a terminal shows the statuses alone.

    Every complete listing is kept as a snapshot.

    \b
    Examples:
      petstore-tools report
      petstore-tools report -o report.html -o report.xlsx --since last
      petstore-tools report -o report.eml --to ann@example.org --since 7d
      petstore-tools report --since 2026-01-31 --until 2026-02-28 -o february.xlsx
      petstore-tools report --alert "pending>14d" -o report.eml --to ann@example.org
    """
    has_mail = any(path.suffix.casefold() == ".eml" for path in output)
    if (to or subject) and not has_mail:
        raise click.UsageError(
            "--to and --subject need -o FILE.eml: add it, or leave them out"
        )
    one_line(subject, "the subject")
    for recipient in to:
        address(recipient)
    try:
        report = store.status_report(**query)
    except IncompleteListingError as error:
        error.add_note("--partial reports on it all the same.")
        raise
    code = shared.ALERT if report.alerts else shared.DONE
    if not report.listing.complete:
        code = shared.INCOMPLETE
    if as_json:
        click.echo(report.to_json())
    elif not output:
        click.echo(paint(report))
    for path in output:
        ending = path.suffix.casefold()
        headers = {"to": to, "subject": subject} if ending == ".eml" else {}
        try:
            getattr(report, WRITERS[ending])(path, **headers)
        except OutputError as error:
            shared.show_error(error)
            code = shared.USAGE
        else:
            source = f"{report.provenance}; report in {path}"
            shared.write_message(f"{report.headline} ({source})")
    if has_mail and not to:
        shared.write_message(
            "Note: the mail has no recipient yet. Type it in your mail program, or run"
            " the same command with --to ADDRESS"
        )
    messages = [*report.alerts, *(f"Note: {note}" for note in report.notes)]
    for message in messages if output else ():
        shared.write_message(message)
    return code


def paint(report: StatusReport) -> str:
    """Return a report with its statuses in their colours, which a file does not get."""
    painted = str(report)
    for status, colour in report.colours.items():
        red, green, blue = bytes.fromhex(colour[1:])
        word = click.style(status, fg=(red, green, blue))
        painted = painted.replace(f"\n{status}  ", f"\n{word}  ")
    return painted


@click.group("history", cls=shared.Group, invoke_without_command=True)
@click.option(
    "--id", "pet_id", type=int, metavar="N", help="Only the animal with this id."
)
@shared.output(*ENDINGS)
@shared.environment_option()
@click.pass_context
def history_(
    context: click.Context,
    pet_id: int | None,
    output: Path | None,
    environment: str | None,
) -> None:
    """
    Show what became of the animals: when each was seen in which status, and when that
    ended.

    It is read from the listings that `report` and `list --max-age` keep on this
    machine; no request is sent. A change happened between two listings: after the time
    in ended_after, and before the time in ended_by.

    \b
    Examples:
      petstore-tools history --id 17
      petstore-tools history -o history.xlsx
      petstore-tools history forget --before 2026-01-01
    """
    context.obj = environment
    if context.invoked_subcommand is not None:
        return
    with PetStore(environment=environment) as store:
        history = store.history(id=pet_id)
        names = read_categories(store.settings.categories)
        snapshots = store.snapshots()
    rows = _flat(history)
    if output is None:
        rows = rows.drop(columns="last_seen (UTC)")  # narrower
    elif output.suffix.casefold() in ("", ".csv"):
        for name in ("name", "status"):
            rows[name] = rows[name].map(escape, na_action="ignore")
    if len(rows) or output is not None:
        write_rows(rows, "row", names, output)
    if not len(rows):
        hint = "No listing was kept yet. Keep one: petstore-tools report"
        shared.write_message(
            "The kept listings show no such animal." if snapshots else hint
        )
    shared.write_message(str(snapshots))


@history_.command("forget")
@click.option(
    "--before",
    metavar="DATE",
    help=(
        "Forget the listings that ended before this day, such as 2026-01-05, in the"
        " time zone of this machine, or before this age, such as 2w."
    ),
)
@click.option(
    "--after",
    metavar="DATE",
    help=(
        "Forget the listings that ended after this day or time: a wrong clock made"
        " them."
    ),
)
@shared.YES
@click.pass_obj
def forget(
    environment: str | None, before: str | None, after: str | None, *, yes: bool
) -> None:
    """
    Delete the listings that ended before or after a date. What the other listings show
    is kept.
    """
    if (before is None) == (after is None):
        raise click.UsageError(
            "say which listings to forget: --before DATE or --after DATE"
        )
    when = f"after {after}" if before is None else f"before {before}"
    question = f"Forget the listings that ended {when}?"
    if shared.confirm(question, yes=yes, refusal="Nothing was forgotten"):
        with PetStore(environment=environment) as store:
            forgotten = store.history_database.database.forget(
                before, after=after, now=store.client.clock.now()
            )
            click.echo(
                f"{pluralize(forgotten, 'listing')} forgotten; {store.snapshots()}"
            )


def _flat(history: pd.DataFrame) -> pd.DataFrame:
    """Return a history as a file holds it: times are UTC and say so."""
    zoned = history.select_dtypes("datetimetz")
    times: pd.DataFrame = zoned.apply(lambda time: time.dt.tz_convert(None))
    return history.drop(columns=times.columns).join(times.add_suffix(" (UTC)"))
