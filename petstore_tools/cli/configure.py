"""
`configure`: asks for the settings once and keeps them; `template`: an empty workbook
that helps people to fill it in; `quota`: what is left of the minute and the day;
`doctor`: what is wrong, and what fixes it.
"""

import json
import sys
from pathlib import Path
from typing import Any

import click
from pydantic import SecretStr

from petstore_tools import settings
from petstore_tools.cli import exits
from petstore_tools.cli.options import ENVIRONMENT, write_message
from petstore_tools.errors import PetstoreError
from petstore_tools.store import PetStore
from petstore_tools.tabular.atomic import check_writable, replace_file, write_output
from petstore_tools.tabular.categories import read_categories
from petstore_tools.tabular.xlsx import template_bytes

NO_FILE = "-"
QUESTIONS = {
    "base_url": "Base address (https://HOST/v1)",
    "api_key": "API key (it is not shown while you type)",
    "plan": "Plan (free, pro, business, PER_MINUTE/PER_DAY)",
    "categories": f"File with the id and name of each category ({NO_FILE} for none)",
}


@click.command("configure")
def configure_() -> None:
    """
    Ask for the settings once and keep them.

    You are asked for the base address, the key, the plan, and a file with the names of
    the categories if there is one. They are checked with one request and kept for this
    user. Settings that are kept already are the default of each question, with the key
    masked; press Enter to keep one.

    \b
    Example:
      petstore-tools configure
    """
    path = settings.config_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    check_writable(path)
    stored = settings.read_settings_file()
    entries = {"plan": "free", "categories": NO_FILE, **stored}
    while True:
        for name in QUESTIONS:
            default = entries.get(name)
            if name == "base_url" and "://" not in str(default):
                # whatever was typed there, a key perhaps, is not shown again
                default = None
            entries[name] = _ask(name, default)
        try:
            if _works(entries) or click.confirm(
                "Keep these settings anyway?", err=True
            ):
                break
        except PetstoreError as error:
            write_message(f"Error: {error}")
        write_message("Nothing was kept yet. Correct the answers, or press Ctrl-C.")
    if entries["categories"] == NO_FILE:
        del entries["categories"]
    path.touch()
    path.chmod(0o600)
    # a JSON string is a TOML basic string
    lines = [
        f"{name} = {json.dumps(value, default=_plain)}\n"
        for name, value in entries.items()
    ]
    replace_file(path, "".join(lines).encode())
    write_message(
        f"The settings are in {path}. Try them: petstore-tools list --first 5"
    )


def _ask(name: str, default: object) -> str | SecretStr:
    """
    Ask a question; Enter answers with the default, of which a key is masked.

    Raises:
        UsageError: The input ended, and there is no terminal to ask in.
    """
    hide = name == "api_key"
    mask = " [****]" if hide and default else ""
    try:
        answer = click.prompt(
            QUESTIONS[name] + mask,
            None if default is None else _plain(default),
            hide_input=hide,
            show_default=not hide,
            err=True,
        ).strip()
    except click.Abort as abort:
        if sys.stdin.isatty():
            raise
        raise click.UsageError(
            "the input ended before all questions were answered. Run this command in a"
            " terminal, or set PETSTORE_BASE_URL, PETSTORE_API_KEY and PETSTORE_PLAN in"
            " its place"
        ) from abort
    return settings.hide_key(answer) if hide else answer


def _plain(value: object) -> str:
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value)


def _works(entries: dict[str, Any]) -> bool:
    """Check the answers with one request, and show what is found."""
    if entries["categories"] != NO_FILE:
        file = Path(entries["categories"]).expanduser().resolve()
        read_categories(file)
        entries["categories"] = str(file)
    arguments = {name: entries[name] for name in ("base_url", "api_key", "plan")}
    with PetStore(**arguments, environment="production", progress=False) as store:
        return not _examine(store, err=True)


@click.command("template")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--categories",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=(
        "A file with the columns id and name: a cell offers their names.  [default: as"
        " the settings say]"
    ),
)
def template_(file: Path, categories: Path | None) -> None:
    """
    Write an empty workbook for the animals of an import.

    Its cells have hints with examples, and drop-downs. A file that exists is not
    replaced.

    \b
    Examples:
      petstore-tools template animals.xlsx
      petstore-tools template animals.xlsx --categories categories.csv
    """
    if file.suffix.casefold() != ".xlsx" or file.exists():
        raise click.BadParameter(
            f"{file.name!r} exists already, or does not end in .xlsx: name a new file"
        )
    categories = categories or settings.category_file()
    write_output(file, template_bytes(read_categories(categories)))
    click.echo(
        f"{file.name}: fill it in, one row for each animal, then: petstore-tools import"
        f" {file.name}"
    )


@click.command("quota")
@ENVIRONMENT
def quota_(environment: str | None) -> None:
    """
    Show how many requests are left.

    All programs of one user that use one key share one budget: what is left of the
    minute and of the day. To show it costs no request.

    \b
    Examples:
      petstore-tools quota
      petstore-tools quota --environment staging
    """
    with PetStore(environment=environment) as store:
        click.echo(store.quota().to_text())


@click.command("doctor")
@ENVIRONMENT
def doctor_(environment: str | None) -> int:
    """
    Check the settings and the service.

    Settings, folder, budget, service, key, clock and plan are checked with one request.
    Each line says ok, note (you can work) or error. The line below it says what helps.

    \b
    Examples:
      petstore-tools doctor
      petstore-tools doctor --environment staging
    """
    with PetStore(environment=environment) as store:
        errors = _examine(store)
    return exits.error_code(errors[0]) if errors else exits.DONE


def _examine(store: PetStore, *, err: bool = False) -> list[PetstoreError]:
    """Print findings on the settings and the service, and return the errors."""
    errors = []
    for finding in store.examine():
        advice = f"\n{' ' * 17}{finding.advice}" if finding.advice else ""
        line = f"{finding.state:<5}  {finding.subject:<8}  {finding.text}{advice}"
        click.echo(line, err=err)
        if finding.error:
            errors.append(finding.error)
    return errors
