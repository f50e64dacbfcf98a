"""`import`: animals from a spreadsheet, each created once."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import click

from petstore_tools.cli import exits, options
from petstore_tools.errors import Interrupted, SheetError
from petstore_tools.importing.check import by_sheet, check_columns, preview
from petstore_tools.importing.options import ImportOptions
from petstore_tools.importing.preview import ImportPreview
from petstore_tools.importing.recipe import complete, write_recipe
from petstore_tools.importing.results import ImportResult
from petstore_tools.importing.run import run
from petstore_tools.progress import import_progress
from petstore_tools.store import PetStore
from petstore_tools.tabular.formats import FORMATS
from petstore_tools.text import local_text, pluralize, utc_text

COUNT, FILE = click.IntRange(min=1), click.Path(path_type=Path)


@click.command("import", epilog=f"FILE may end in {', '.join(FORMATS)}.")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@options.pairs(
    "--columns", "TITLE=FIELD", help="Which column holds name, categoryId or status; repeat it."
)
@click.option(
    "--categories",
    type=FILE,
    metavar="FILE",
    help="A file of categories, with id and name: cells may be names.",
)
@options.pairs(
    "--status-word",
    "WORD=STATUS",
    "statuses",
    help="What a word means, such as verkauft=sold; repeat it.",
)
@options.pairs(
    "--default",
    "FIELD=VALUE",
    "defaults",
    help="For rows without a value, such as status=available.",
)
@click.option("--encoding", metavar="NAME", help="Encoding of a text file.  [default: found]")
@click.option("--trim", is_flag=True, help="Take blanks off both ends of names.")
@click.option(
    "--thousands", default="", metavar="SIGN", help='The sign between digits: "." in 1.000.'
)
@click.option(
    "--recipe",
    metavar="FILE|ID",
    help="Read the file as a recipe says, or as this import was read.",
)
@click.option(
    "--save-recipe", type=FILE, metavar="FILE", help="Write a recipe: how this file is read."
)
@click.option(
    "--sheet", metavar="NAME|all", help="Which sheet, or all.  [default: the one with the columns]"
)
@click.option(
    "--name", metavar="NAME", help="What standard input is called; the same name continues it."
)
@click.option("--dry-run", is_flag=True, help="Check the file and estimate the cost; send nothing.")
@click.option(
    "--allow-totals", is_flag=True, help="Also send rows whose name means a total, such as Summe."
)
@click.option(
    "--first",
    type=COUNT,
    metavar="N",
    help="Send N rows and stop. Without it, the same command goes on.",
)
@click.option(
    "--hidden", is_flag=True, help="Also send the rows that the spreadsheet does not show."
)
@click.option("--strict", is_flag=True, help="Send nothing while any row has a problem.")
@click.option(
    "--allow-bad", is_flag=True, help="Send the good rows although most rows have problems."
)
@click.option(
    "--send-edited", is_flag=True, help="Send rows edited after creation, as further animals."
)
@click.option(
    "--drop-duplicates", is_flag=True, help="Of rows with the same three values, send one."
)
@options.EXISTING
@click.option(
    "--baseline/--no-baseline",
    default=None,
    help="List first which animals exist already.  [default: where that takes few requests]",
)
@click.option("--reserve", type=int, metavar="N", help="Keep N requests of each day for others.")
@options.WAIT
@options.YES
@options.JSON
@options.NO_PROGRESS
@options.ENVIRONMENT
def import_(
    file: Path,
    environment: str | None,
    *,
    save_recipe: Path | None,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    no_progress: bool,
    **chosen: Any,
) -> int:
    """
    Create the animals of FILE, each once.

    FILE is a text or a workbook; - is standard input. A create cannot be undone. Every problem of
    the file is shown before the first request, and you are asked before anything is sent. The same
    command continues an import that was stopped by the quota of the day, by Ctrl-C or by a crash.

    \b
    Examples:
      petstore-tools import animals.csv --dry-run
      petstore-tools import animals.csv --columns "Pet=name" --columns "Kind=categoryId"
      petstore-tools import animals.csv --categories categories.csv --status-word "verkauft=sold"
      petstore-tools import animals.csv --default status=available --save-recipe supplier.toml
      petstore-tools import animals.csv --yes --wait --json
      petstore-tools import animals.xlsx --sheet all
      petstore-tools import - --name spring --yes < animals.csv
    """
    source = sys.stdin.buffer.read() if str(file) == "-" else file
    given = ImportOptions(source, **chosen)
    with PetStore(environment=environment, progress=False if no_progress else None) as store:
        wanted = complete(given, store.journals, store.settings.categories)
        wanted = _with_columns(wanted, store.journals, yes=yes)
        if save_recipe is not None:
            write_recipe(save_recipe, wanted.recipe_entries)
        imports = by_sheet(wanted) if wanted.sheet == "all" else [wanted]
        if not dry_run:
            return import_each(store, imports, yes=yes, as_json=as_json)
        previews = [preview(store.inventory, store.journals, one) for one in imports]
    for shown in previews:
        click.echo(json.dumps(shown.to_dict()) if as_json else str(shown))
    if any(shown.refusal for shown in previews):
        return exits.USAGE
    return exits.PARTLY if any(shown.problems for shown in previews) else exits.DONE


def _with_columns(wanted: ImportOptions, journals: Path, *, yes: bool) -> ImportOptions:
    """On a terminal, ask whether titles mean what they may mean; nothing is taken without a yes."""
    while not yes and sys.stdin.isatty():
        try:
            check_columns(wanted, journals)
        except SheetError as error:
            if not error.proposals:
                raise
            click.echo(str(error), err=True)
            meant = ", ".join(f"{title!r} as {field}" for title, field in error.proposals.items())
            if not click.confirm(f"Read {meant}?", default=False, err=True):
                raise
            wanted = replace(wanted, columns={**(wanted.columns or {}), **error.proposals})
        else:
            break
    return wanted


def import_each(store: PetStore, imports: list[ImportOptions], *, yes: bool, as_json: bool) -> int:
    """Import after a yes, say what became of the rows, and return the exit code."""
    several, code = len(imports) > 1, exits.DONE
    if several:
        previews = [preview(store.inventory, store.journals, one) for one in imports]
        agreed = _agreed(previews, yes=yes)
        if refusals := [shown.refusal for shown in previews if shown.refusal]:
            raise SheetError(refusals[0])
        if not agreed:
            return exits.DONE
    for one in imports:
        try:
            result = _import_one(store, one, yes=yes, agreed=several)
        except Interrupted as interrupt:
            result = cast(ImportResult, interrupt.result)
        if result is None:
            return exits.DONE
        _show(result, as_json=as_json)
        if result.stopped is not None and result.stopped.kind != "first rows":
            return exits.of_result(result)
        code = max(code, exits.of_result(result))
    return code


def _import_one(
    store: PetStore, wanted: ImportOptions, *, yes: bool, agreed: bool
) -> ImportResult | None:
    """Import, and on a terminal ask whether a file is new that has the name of an earlier one."""
    is_new = False

    def announce(shown: ImportPreview) -> bool:
        nonlocal is_new
        if shown.another_file and shown.refusal and not yes and sys.stdin.isatty():
            click.echo(str(shown), err=True)
            is_new = options.confirmed(
                "Import it as a new file, without the rows that match animals that already exist?"
            )
            return False
        return agreed or _agreed([shown], yes=yes)

    with import_progress(store.progress) as progress:
        result = run(store.inventory, store.journals, wanted, announce=announce, progress=progress)
    if is_new:
        return _import_one(store, replace(wanted, existing="skip"), yes=yes, agreed=agreed)
    return result


def _agreed(previews: list[ImportPreview], *, yes: bool) -> bool:
    """Show the previews and ask once; what is refused is refused by the import itself."""
    for shown in previews:
        click.echo(str(shown), err=True)
        ends_at = shown.forecast.ends_at
        if shown.to_send and ends_at is not None and (here := local_text(ends_at)):
            click.echo(f"  that is about {here} in your time zone", err=True)
    to_send = sum(shown.to_send for shown in previews)
    if not to_send or any(shown.refusal for shown in previews):
        return True
    where = f"{previews[0].environment} ({previews[0].host})"
    return options.confirmed(f"Create {pluralize(to_send, 'animal')} in {where}?", yes=yes)


def _show(result: ImportResult, *, as_json: bool) -> None:
    click.echo(json.dumps(result.to_dict()) if as_json else str(result))
    for path in result.files:
        click.echo(f"  {path.name}", err=True)
    if result.unknown:
        click.echo(
            f"{pluralize(result.unknown, 'row')} may have been created or not. No run sends "
            "them again until "
            f"that is clear. See them: petstore-tools imports show {result.journal}",
            err=True,
        )
    if result.held:
        click.echo(
            f"{pluralize(result.held, 'row')} look like edits of animals that were created "
            "before, and the "
            "service cannot change an animal. --send-edited creates them as further animals.",
            err=True,
        )
    if result.stopped is not None and result.stopped.kind != "first rows":
        at = result.stopped.resumes_at
        when = "" if at is None else f"   # from {local_text(at) or utc_text(at)}"
        typed = sys.argv[1:]  # what standard input held can be read again from the journal alone
        again = ["imports", "resume", result.journal] if "-" in typed else typed
        click.echo(f"Continue with: petstore-tools {shlex.join(again)}{when}", err=True)
