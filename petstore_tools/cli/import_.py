"""
`import`: animals from a spreadsheet, each created once; `imports`: those that were
made.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import Any, cast

import click

from petstore_tools import settings, spec
from petstore_tools.cli import exits, options
from petstore_tools.errors import Interrupted, SettingsError
from petstore_tools.importing import imports, journal
from petstore_tools.importing.imports import ImportInfo
from petstore_tools.importing.journal import Journal
from petstore_tools.importing.options import Doubtful, ImportOptions
from petstore_tools.importing.preview import ImportPreview
from petstore_tools.importing.results import ImportResult
from petstore_tools.importing.run import run, settle, take_inventory
from petstore_tools.progress import import_progress
from petstore_tools.store import PetStore
from petstore_tools.tabular.sources import FORMATS
from petstore_tools.text import pluralize, text_table, utc_text
from petstore_tools.throttle.gate import CallOptions

FILE = click.Path(path_type=Path)
ID = click.argument("import_id", metavar="ID")
COUNTS = ("created", "rejected", "skipped", "unsent", "unknown", "ambiguous")


@click.command("import", epilog=f"FILE may end in {', '.join(FORMATS)}.")
@click.argument("file", type=FILE)
@options.pairs(
    "--columns",
    "TITLE=FIELD",
    help="Which column holds name, categoryId or status. Repeat the option for more.",
)
@click.option(
    "--no-header",
    "header",
    flag_value=False,
    default=True,
    help="There is no header: name all columns by letter, such as --columns A=name.",
)
@click.option(
    "--categories",
    type=FILE,
    metavar="FILE",
    help=(
        "A file with the columns id and name. Cells may then hold names of categories."
    ),
)
@options.pairs(
    "--statuses",
    "WORD=STATUS",
    help="What a word means, such as verkauft=sold. Repeat the option for more.",
)
@options.pairs(
    "--defaults",
    "FIELD=VALUE",
    help="The value of rows that have none, such as status=available.",
)
@click.option(
    "--encoding",
    metavar="NAME",
    help="Encoding of a text file.  [default: UTF-8, else cp1252]",
)
@click.option(
    "--sheet",
    metavar="NAME",
    help="Which sheet.  [default: the one that has the columns]",
)
@click.option(
    "--name",
    metavar="NAME",
    help=(
        "The name of this list, if another one was imported under the same file name.  "
        "[default: the file name]"
    ),
)
@options.flag("--dry-run", help="Check the file and estimate the cost; send nothing.")
@click.option(
    "--first",
    type=click.IntRange(min=1),
    metavar="N",
    help="Send N rows and stop. The same command without it sends the rest.",
)
@options.flag("--strict", help="Send nothing while any row has a problem.")
@options.flag(
    "--drop-duplicates",
    help="Send only one of the rows that have the same three values.",
)
@click.option(
    "--doubtful",
    type=click.Choice(("ask", "skip", "send")),
    default="ask",
    show_default=True,
    help=(
        "What happens to doubtful rows: skip leaves them out, send creates them, ask"
        " asks on a terminal and sends nothing elsewhere."
    ),
)
@options.WAIT
@options.YES
@options.flag("--json", "as_json", help="Print the result as one JSON object.")
@options.ENVIRONMENT
def import_(
    file: Path,
    environment: str | None,
    *,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    **chosen: Any,
) -> int:
    """
    Create the animals of FILE, each once.

    FILE is a text file or a workbook. A create cannot be undone. Every problem of the
    file is shown before the first request, and you are asked before anything is sent.
    The same command continues an import that was stopped by the quota of the day, by
    Ctrl-C or by a crash.

    A row is doubtful when sending it could make an animal a second time. It may stand
    in a copied file, or have been edited. You are asked once, or --doubtful answers.

    \b
    Examples:
      petstore-tools import animals.csv --dry-run
      petstore-tools import animals.csv --columns "Pet=name" --columns "Kind=categoryId"
      petstore-tools import animals.csv --categories categories.csv
      petstore-tools import animals.csv --statuses "verkauft=sold"
      petstore-tools import animals.csv --defaults status=available
      petstore-tools import animals.csv --yes --wait --json
    """
    with PetStore(environment=environment) as store:
        if not dry_run:
            wanted = ImportOptions(file, **chosen).with_categories(
                store.settings.categories
            )
            return _import(store, wanted, yes=yes, as_json=as_json)
        shown = store.preview_import(file, **chosen)
    click.echo(json.dumps(shown.to_dict()) if as_json else str(shown))
    if shown.refusal:
        return exits.USAGE
    return exits.PARTLY if shown.bad else exits.DONE


def _import(store: PetStore, wanted: ImportOptions, *, yes: bool, as_json: bool) -> int:
    """Import after a yes, say what became of the rows, and return the exit code."""
    try:
        with import_progress(store.progress) as progress:
            result = run(
                store.inventory,
                store.journals,
                wanted,
                announce=lambda shown: _is_agreed(shown, yes=yes),
                ask=_ask,
                progress=progress,
            )
    except Interrupted as interrupt:
        result = cast(ImportResult, interrupt.result)
    if result is None:
        if as_json:
            click.echo(json.dumps({"message": "Nothing was sent."}))
        return exits.DONE
    click.echo(json.dumps(result.to_dict()) if as_json else str(result))
    if result.unknown or result.skipped_now:
        rows = pluralize(result.unknown + result.skipped_now, "row")
        show = f"petstore-tools imports show {result.journal}"
        click.echo(f"{rows} may exist already. See which, and why: {show}", err=True)
    if result.stopped is not None and result.stopped.kind != "first rows":
        at = result.stopped.resumes_at
        when = "" if at is None else f"   # from {utc_text(at)}"
        command = shlex.join(["petstore-tools", *sys.argv[1:]])
        click.echo(f"Continue with: {command}{when}", err=True)
    return exits.of_result(result)


def _ask(shown: ImportPreview) -> Doubtful:
    """On a terminal, ask what happens to doubtful rows; `--yes` is no answer."""
    if not sys.stdin.isatty():
        return "ask"
    click.echo(str(shown), err=True)
    answers = click.Choice(("skip", "send", "stop"))
    answer = click.prompt(
        "Leave the doubtful rows out, send them, or stop",
        type=answers,
        default="stop",
        err=True,
    )
    return cast(Doubtful, "ask" if answer == "stop" else answer)


def _is_agreed(shown: ImportPreview, *, yes: bool) -> bool:
    """Show the preview and ask; what is refused is refused by the import itself."""
    click.echo(str(shown), err=True)
    if not shown.to_send or shown.refusal:
        return True
    where = f"{shown.environment} ({shown.host})"
    asked = f"Create {pluralize(shown.to_send, 'animal')} in {where}?"
    return options.confirmed(asked, yes=yes)


@click.group("imports", invoke_without_command=True)
@options.ENVIRONMENT
@click.pass_context
def imports_(context: click.Context, environment: str | None) -> None:
    """
    List the imports, and decide on their unknown rows.

    The list shows the file of each import and what became of its rows. ID is the first
    column of that list; its first letters are enough.

    \b
    Examples:
      petstore-tools imports
      petstore-tools imports show 3f9c
      petstore-tools imports reconcile 3f9c
    """
    if context.invoked_subcommand is None:
        found, errors = imports.list_imports(_folder())
        shown = [
            info for info in found if environment in (None, info.target.environment)
        ]
        click.echo(_table(shown) if shown or errors else "No imports yet.")
        for error in errors:
            click.echo(str(error), err=True)
        if errors:
            context.exit(exits.USAGE)


def _folder() -> Path:
    return settings.state_folder() / "imports"


def _table(found: list[ImportInfo]) -> str:
    rows = []
    for info in found:
        target = info.target
        counts = info.states + Counter(unknown=info.states["sending"])
        name = target.path.name + (f" ({target.sheet})" if target.sheet else "")
        numbers = [counts[state] for state in COUNTS]
        rows.append(
            (info.id, name, target.environment, *numbers, utc_text(info.changed_at))
        )
    return text_table(("import", "file", "environment", *COUNTS, "last change"), rows)


@imports_.command("show")
@ID
def show(import_id: str) -> None:
    """Show the rows of import ID that were not created, and why."""
    info = imports.find_import(_folder(), import_id)
    click.echo(_table([info]))
    with journal.read_journal(_folder(), info.target) as opened:
        rows = [
            (
                e.number,
                *e.content,
                "ambiguous" if e.may_be else e.state,
                e.may_be,
                e.detail,
            )
            for e in opened.entries()
            if e.state != "created"
        ]
    if rows:
        titles = ("row", *spec.NEW_PET_FIELDS, "outcome", "may be id", "why")
        click.echo("\n" + text_table(titles, rows))
    if info.bad_rows:
        click.echo(
            f"{pluralize(info.bad_rows, 'row')} of {info.target.path.name} had"
            " problems; the file of rejected rows beside it names them",
            err=True,
        )
    if any(info.states[state] for state in ("unknown", "sending", "ambiguous")):
        click.echo(
            "\nTo find out what became of the unknown rows: petstore-tools imports"
            f" reconcile {info.id}",
            err=True,
        )


@imports_.command("reconcile")
@ID
@click.option(
    "--row",
    type=int,
    metavar="N",
    help="Decide on row N yourself (N as in the spreadsheet).",
)
@click.option(
    "--created",
    "pet_id",
    type=int,
    metavar="PET_ID",
    help="The row is the animal with this id.",
)
@options.flag("--absent", help="The row was not created: the next run sends it again.")
@options.YES
def reconcile(
    import_id: str, row: int | None, pet_id: int | None, *, absent: bool, yes: bool
) -> int:
    """
    Find out what became of the unknown rows of import ID.

    An unknown row was sent and got no usable answer. It is sent again only when
    complete listings show, or you decide, that it was not created. This command lists
    the inventory once more and compares; with --row you decide on one row yourself. You
    are asked before --absent where the row may exist: where no listing can show it yet,
    or one shows an equal animal.

    \b
    Examples:
      petstore-tools imports reconcile 3f9c
      petstore-tools imports reconcile 3f9c --row 14 --created 1017
      petstore-tools imports reconcile 3f9c --row 14 --absent
    """
    answers = (pet_id is not None) + absent
    if answers > 1 or (row is None) != (answers == 0):
        raise click.UsageError(
            "to decide on a row, give --row and one of --created PET_ID and --absent"
        )
    info = imports.find_import(_folder(), import_id)
    target = info.target
    with (
        PetStore(environment=target.environment) as store,
        journal.read_journal(_folder(), target, store.client.clock) as opened,
    ):
        if store.client.service_id != target.base_url:
            raise SettingsError(
                f"import {info.id} went to {target.environment} at {target.base_url},"
                f" but the settings name {store.client.base_url}"
            )
        opened.mark_dead()
        tells_at = _tells_at(store, opened)
        if row is not None:
            if absent and not _is_absent(store, opened, row, tells_at, yes=yes):
                return exits.DONE
            opened.decide(row, pet_id)
            decided = (
                "absent: the next run sends it"
                if absent
                else f"the animal with id {pet_id}"
            )
            click.echo(f"row {row} is {decided}")
            return exits.DONE
        _, listings = settle(store.inventory, opened, CallOptions())
        counts = opened.counts()
    if not listings[-1].complete:
        click.echo(
            "Only a complete listing shows what became of them."
            f" {listings[-1].shortfall}",
            err=True,
        )
    if tells_at is not None:
        click.echo(
            "A listing can show what became of the unknown rows only from "
            f"{utc_text(tells_at)} on: run the same command again then.",
            err=True,
        )
    found = [f"{count:,} {outcome}" for outcome, count in sorted(counts.items())]
    click.echo(", ".join(found) or "The import has no rows.")
    return exits.PARTLY if counts["unknown"] else exits.DONE


def _tells_at(store: PetStore, opened: Journal) -> float | None:
    """Return from when on a listing can show all unknown rows; None for now."""
    after_s = store.client.reconcile_after_s
    left_s = after_s - min(opened.lost_s(), default=after_s)
    return store.client.clock.now() + left_s if left_s > 0 else None


def _is_absent(
    store: PetStore, opened: Journal, row: int, tells_at: float | None, *, yes: bool
) -> bool:
    """Ask whether a row is sent again all the same, where it may exist."""
    listing = take_inventory(store.inventory, opened, CallOptions())
    reasons = (
        [] if listing.complete else ["the listing of the inventory is not complete"]
    )
    if tells_at is not None:
        reasons.append(f"a listing can show it only from {utc_text(tells_at)} on")
    contents = [entry.content for entry in opened.entries() if entry.number == row]
    _, _, doubts = opened.compare([], contents)
    reasons += [doubt.because for doubt in doubts.values() if doubt.reason == "equal"]
    if not reasons:
        return True
    click.echo(f"Row {row} may exist: {', and '.join(reasons)}.", err=True)
    question = f"Send row {row} again all the same?"
    return options.confirmed(question, yes=yes, otherwise="Nothing was changed")


@imports_.command("forget")
@ID
@options.YES
def forget(import_id: str, *, yes: bool) -> None:
    """
    Delete what is known of import ID. Its file then counts as new.

    The next run of the file compares its rows with the animals that exist.
    """
    info = imports.find_import(_folder(), import_id)
    rows = pluralize(sum(info.states.values()), "row")
    created = f"{info.states['created']:,} of them created"
    question = f"Forget what became of {rows} of {info.target.path.name}, {created}?"
    if options.confirmed(question, yes=yes, otherwise="Nothing was forgotten"):
        with journal.open_journal(_folder(), info.target) as opened:
            opened.forget()
        click.echo(f"import {info.id} is forgotten")
