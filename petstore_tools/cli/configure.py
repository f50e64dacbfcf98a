"""
`configure`: asks for the settings once and keeps them; `template`: an empty workbook
that helps people to fill it in; `quota`: what is left of the minute and the day;
`doctor`: what is wrong, and what fixes it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from pydantic import SecretStr

from petstore_tools import plans, settings
from petstore_tools.cli import shared
from petstore_tools.cli.import_ import CommandOptions
from petstore_tools.cli.shared import STORE, environment_option, write_message
from petstore_tools.errors import PetstoreError, SettingsError
from petstore_tools.store import PetStore
from petstore_tools.tabular.atomic import check_writable, replace_file, write_output
from petstore_tools.tabular.categories import read_categories
from petstore_tools.tabular.workbooks import template_bytes

if TYPE_CHECKING:
    from petstore_tools.doctor import Finding

NONE = "-"
QUESTIONS = {
    "base_url": "Base address of {} (https://HOST/v1)",
    "api_key": "API key for {} (it is not shown while you type)",
    "plan": (
        f"Plan of this key (free, pro, business, PER_MINUTE/PER_DAY; {NONE} to learn)"
    ),
    "categories": (
        "File of all categories, a .csv with the columns id and name; an import refuses"
        f" others ({NONE} for none)"
    ),
}


@shared.command("configure")
@environment_option(
    default="production",
    show_default=True,
    help="Which service to ask for. Both are kept beside each other.",
)
def configure_(environment: str) -> None:
    """
    Ask for the settings once and keep them.

    You are asked for the base address, the key, the plan, and a file with the names of
    the categories if there is one. They are checked with one request and kept for this
    user. Settings that are kept already are the default of each question, with the key
    masked; press Enter to keep one.

    \b
    Examples:
      petstore-tools configure
      petstore-tools configure --environment staging
    """
    path = settings.config_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(
            f"the folder {path.parent} cannot be made ({error.strerror}): name another"
            " file in PETSTORE_CONFIG"
        ) from error
    check_writable(path, "name another file in PETSTORE_CONFIG")
    stored = settings.read_settings_file()
    names = {name: settings.entry_name(name, environment) for name in QUESTIONS}
    plan = NONE if names["base_url"] in stored else "free"
    answers: dict[str, Any] = {"plan": plan, "categories": NONE}
    answers |= {name: stored[names[name]] for name in names if names[name] in stored}
    while True:
        try:
            for name, question in QUESTIONS.items():
                text = question.format(environment)
                answers[name] = _ask(name, text, answers.get(name))
            if _works(answers, environment) or click.confirm(
                "Keep these settings anyway?", err=True
            ):
                break
        except PetstoreError as error:
            write_message(f"Error: {error}")
        except click.Abort as abort:
            if shared.is_terminal(sys.stdin):
                raise
            raise click.UsageError(
                "the input ended before all questions were answered. Run this command"
                " in a terminal, or set PETSTORE_BASE_URL, PETSTORE_API_KEY and"
                " PETSTORE_PLAN in its place"
            ) from abort
        write_message("Nothing was kept yet. Correct the answers, or press Ctrl-C.")
    entries = stored | {names[name]: answer for name, answer in answers.items()}
    path.touch()
    path.chmod(0o600)
    # a JSON string is a TOML basic string, but for pairs of surrogates
    write = partial(json.dumps, default=_plain, ensure_ascii=False)
    lines = [
        f"{name} = {write(value)}\n" for name, value in entries.items() if value != NONE
    ]
    replace_file(path, "".join(lines).encode())
    command = f"petstore-tools list --first 5 --environment {environment}"
    write_message(f"The settings are in {path}. Try them: {command}")


def _ask(name: str, question: str, default: object) -> str | SecretStr:
    """
    Ask a question until the answer can be right; Enter answers with the default, of
    which a key is masked.
    """
    hide = name == "api_key"
    mask = " [****]" if hide and default else ""
    answer: str | SecretStr = click.prompt(
        question + mask,
        _plain(default) if default else None,
        hide_input=hide,
        show_default=not hide,
        value_proc=partial(_read_answer, name),
        err=True,
    )
    return answer


def _read_answer(name: str, typed: str) -> str | SecretStr:
    """
    Return an answer as it is kept.

    Raises:
        UsageError: It cannot be right.
    """
    answer = typed.strip()
    try:
        if name == "api_key":
            return settings.hide_key(answer)
        if name == "base_url":
            return settings.check_base_url(answer)
        if answer == NONE:
            return answer
        if name == "plan":
            plans.parse(answer)
        else:
            answer = str(shared.read_path(answer).resolve())
            read_categories(answer)
    except PetstoreError as error:
        raise click.UsageError(str(error)) from error
    return answer


def _plain(value: object) -> str:
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value)


def _works(answers: dict[str, Any], environment: str) -> bool:
    """Check the answers with one request, and show what is found."""
    names = settings.OF_A_SERVICE
    arguments = {name: answers[name] for name in names if answers[name] != NONE}
    with PetStore(**arguments, environment=environment) as store:
        return not _show(store.examine(), err=True)


@shared.command("template")
@click.argument("file", type=shared.read_path)
@click.option(
    "--categories",
    type=shared.read_path,
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
    if file.suffix.casefold() != ".xlsx":
        raise click.BadParameter(f"{file.name!r} must end in .xlsx")
    if file.exists():
        raise click.BadParameter(f"{file.name!r} exists already: name a new file")
    names = read_categories(categories or settings.category_file())
    write_output(file, template_bytes(names))
    command = CommandOptions(file, categories=categories).spell({})
    click.echo(f"{file.name}: fill it in, one row for each animal, then:\n{command}")


@shared.command("quota")
@shared.JSON
@STORE
def quota_(store: PetStore, *, as_json: bool) -> None:
    """
    Show how many requests are left.

    All programs of one user that use one key share one budget: what is left of the
    minute and of the day. To show it costs no request.

    \b
    Examples:
      petstore-tools quota
      petstore-tools quota --environment staging
    """
    quota = store.quota()
    click.echo(json.dumps(asdict(quota)) if as_json else quota)


@shared.command("doctor")
@STORE
def doctor_(store: PetStore) -> int:
    """
    Check the settings and the service.

    Settings, folder, budget, service, key and plan are checked with one request.
    Each line says ok, note (you can work) or error. The line below it says what helps.

    \b
    Examples:
      petstore-tools doctor
      petstore-tools doctor --environment staging
    """
    from petstore_tools.doctor import examine_categories

    of_categories = examine_categories(settings.category_file())
    errors = _show(chain(of_categories, store.examine()))
    return shared.error_code(errors[0]) if errors else shared.DONE


def _show(findings: Iterable[Finding], *, err: bool = False) -> list[PetstoreError]:
    """Print findings on the settings and the service, and return the errors."""
    errors = []
    for finding in findings:
        advice = f"\n{' ' * 17}{finding.advice}" if finding.advice else ""
        line = f"{finding.state:<5}  {finding.subject:<8}  {finding.text}{advice}"
        click.echo(line, err=err)
        if finding.error:
            errors.append(finding.error)
    return errors
