"""`import`: animals from a spreadsheet, each created once."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from json import dumps
from typing import Any, cast

import click

from petstore_tools.cli import shared
from petstore_tools.errors import DoubtfulRowsError, Interrupted
from petstore_tools.importing.options import Doubtful, ImportOptions
from petstore_tools.importing.preview import ImportPreview
from petstore_tools.importing.results import ImportResult
from petstore_tools.importing.run import preview as check_import
from petstore_tools.store import PetStore, run_import
from petstore_tools.tabular.cells import Sheet
from petstore_tools.tabular.sources import FORMATS
from petstore_tools.tabular.text_files import read_csv
from petstore_tools.text import flags, pluralize, utc_text, write_command


class CommandOptions(ImportOptions):
    """The options of a command, which are shown as one, too."""

    def spell(self, answers: Mapping[str, Any]) -> str:
        """Write the command that is to be copied."""
        file = "-" if isinstance(self.source, Sheet) else str(self.source)
        if file.startswith("-") and file != "-":  # it is no option
            file = f"./{file}"
        command = ["petstore-tools", "import", file]
        for name, value in self.arguments(answers):
            command += flags(name, value)
        return write_command(command)


def _take_options(command: Callable[..., int]) -> Callable[..., int]:
    """Let a command take each option of an import that has a flag."""
    for definition in reversed(fields(ImportOptions)):
        form = definition.metadata["form"]
        help_ = definition.metadata["help"]
        if form is None:
            continue
        # a flag alone says the opposite of what holds without it
        (flag,) = flags(definition.name, None if form else not definition.default)
        if "=" in form:
            command = shared.pairs(flag, form, help_)(command)
            continue
        settings: dict[str, Any] = {"metavar": form, "default": definition.default}
        if not form:
            settings["flag_value"] = not definition.default
        elif form == "N":
            settings["type"] = int
        command = click.option(flag, definition.name, help=help_, **settings)(command)
    return command


@shared.command("import", epilog=f"FILE may end in {', '.join(FORMATS)}.")
@click.argument("file")
@_take_options
@shared.flag("--dry-run", help="Check the file and estimate the cost; send nothing.")
@shared.YES
@shared.flag("--json", "as_json", help="Print the result as one JSON object.")
@shared.STORE
def import_(
    file: str,
    store: PetStore,
    *,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    **choices: Any,
) -> int:
    """
    Create the animals of FILE, each once.

    FILE is a text file or a workbook; - reads CSV from standard input, and needs
    --name. A create cannot be undone. Every problem of the
    file is shown before the first request, and you are asked before anything is sent.
    The same command continues an import that was stopped by the quota of the day, by
    Ctrl-C or by a crash.

    A row is doubtful when sending it could make an animal a second time. It may stand
    in a copied file, or have been edited. You are asked, unless --doubtful answers.

    \b
    Examples:
      petstore-tools import animals.csv --dry-run
      petstore-tools import animals.csv --columns "Pet=name" --columns "Kind=categoryId"
      petstore-tools import animals.csv --categories categories.csv
      petstore-tools import animals.csv --statuses "verkauft=sold"
      petstore-tools import animals.csv --defaults status=available
      petstore-tools import animals.csv --yes --wait --json
      petstore-tools import - --name spring --yes < animals.csv
    """
    source = _read_input(**choices) if file in ("-", "/dev/stdin") else file
    import_options = CommandOptions(source, **choices)
    if not dry_run:
        return _import(store, import_options, yes=yes, as_json=as_json)
    import_options = import_options.with_categories(store.settings.categories)
    preview = check_import(store.inventory, store.journal_folder, import_options)
    click.echo(dumps(preview.to_dict()) if as_json else preview)
    if preview.refusal:
        return shared.USAGE
    return shared.INCOMPLETE if preview.bad_rows else shared.DONE


def _read_input(name: str | None, encoding: str | None, **_: Any) -> Sheet:
    """Read CSV from standard input, to its end."""
    if name is None:
        raise click.UsageError(
            "standard input needs --name NAME; the same name goes on with the same"
            " import"
        )
    content = sys.stdin.buffer.read()
    return read_csv(content, "standard input", encoding)


def _import(
    store: PetStore, choices: ImportOptions, *, yes: bool, as_json: bool
) -> int:
    """Import after a yes, say what became of the rows, and return the exit code."""
    confirm_import = partial(_confirm_import, yes=yes)
    try:
        result = run_import(store, choices, announce=confirm_import, ask=_ask)
    except Interrupted as interrupt:
        result = cast(ImportResult, interrupt.result)
    if result is None:
        if as_json:
            click.echo(dumps({"message": "Nothing was sent."}))
        return shared.DONE
    click.echo(dumps(result.to_dict()) if as_json else result)
    if result.stopped is not None and result.stopped.kind != "first rows":
        command = write_command(["petstore-tools", *sys.argv[1:]])
        begin = ""
        if result.stopped.resumes_at is not None:
            begin = f" from {utc_text(result.stopped.resumes_at)} on"
        shared.write_message(f"Continue{begin} with: {command}")
    return shared.result_code(result)


def _ask(preview: ImportPreview) -> Doubtful:
    """On a terminal, ask what happens to doubtful rows; `--yes` is no answer."""
    if not shared.is_terminal(sys.stdin):
        return "ask"
    shared.write_message(preview.doubt)
    answer = click.prompt(
        "Leave the doubtful rows out, send them, or stop",
        type=click.Choice(("skip", "send", "stop")),
        default="stop",
        err=True,
    )
    if answer == "stop":  # the rows stand on the screen
        raise DoubtfulRowsError("Nothing was sent.", preview)
    return cast(Doubtful, answer)


def _confirm_import(preview: ImportPreview, *, yes: bool) -> bool:
    """Show the preview and ask; what is refused is refused by the import itself."""
    shared.write_message(preview)
    if not preview.to_send or preview.refusal:
        return True
    animals = pluralize(preview.to_send, "animal")
    question = f"Create {animals} in {preview.environment} ({preview.host})"
    if doubts := len(preview.comparison.doubts):
        question += f", and first ask about {pluralize(doubts, 'doubtful row')}"
    return shared.confirm(f"{question}?", yes=yes)
