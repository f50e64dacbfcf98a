"""`import`: animals from a spreadsheet, each created once."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any, cast

import click

from petstore_tools.cli import exits, options
from petstore_tools.errors import Interrupted
from petstore_tools.importing.options import Doubtful, ImportOptions
from petstore_tools.importing.preview import ImportPreview
from petstore_tools.importing.results import ImportResult
from petstore_tools.importing.run import run
from petstore_tools.progress import import_progress
from petstore_tools.store import PetStore
from petstore_tools.tabular.sources import FORMATS
from petstore_tools.text import pluralize, utc_text

FILE = click.Path(path_type=Path)


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
    return options.is_confirmed(asked, yes=yes)
