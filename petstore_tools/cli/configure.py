"""`configure`: asks for the settings once and keeps them in the settings file."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from pydantic import SecretStr

from petstore_tools import plans, settings
from petstore_tools.cli import exits
from petstore_tools.cli.quota import show
from petstore_tools.errors import PetstoreError, SettingsError, UnauthorizedError
from petstore_tools.http.transport import KeyAuth
from petstore_tools.importing.options import read_categories
from petstore_tools.store import PetStore
from petstore_tools.tabular.atomic import check_writable, replace_file

ENTRIES = ("base_url", "api_key", "plan", "categories")
NO_FILE = "-"
T = TypeVar("T")


@click.command("configure")
def configure_() -> int:
    """
    Ask for the settings once and keep them.

    You are asked for the base address, the key, the plan, and a file with the names of the
    categories if there is one. They are checked with one request and kept for this user. Settings
    that are kept already are shown in brackets, with the key masked; press Enter to keep one. You
    are asked again when an answer cannot be right.

    \b
    Example:
      petstore-tools configure
    """
    path = settings.config_path()
    try:
        return _configure(path)
    except click.Abort:
        if sys.stdin.isatty():
            raise
        _say("")
        raise SettingsError(
            "nothing was kept: there is no terminal to ask in. Run petstore-tools configure in "
            "a terminal, "
            "set the variables PETSTORE_BASE_URL, PETSTORE_API_KEY and PETSTORE_PLAN, or write "
            "base_url, "
            f"api_key and plan into {path}"
        ) from None


def _configure(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    check_writable(path)
    entries = _kept(path)
    for name in ENTRIES:
        if os.environ.get(f"PETSTORE_{name.upper()}"):
            _say(
                f"Note: the variable PETSTORE_{name.upper()} is set. It is used instead of "
                "what is kept here."
            )
    while True:
        address, key, plan, categories = (entries.pop(name, None) for name in ENTRIES)
        entries["base_url"] = _ask(
            "Base address (https://HOST/v1)", settings.check_base_url, address
        )
        entries["api_key"] = _ask_key(key)
        entries["plan"] = _ask(
            "Plan (free, pro, business, PER_MINUTE/PER_DAY)", _plan, plan or "free"
        )
        kept = path.parent / categories if categories else NO_FILE
        if file := _ask(
            "Category file with the columns id and name (- for none)", _category_file, str(kept)
        ):
            entries["categories"] = file
        error = _check(entries)
        if error is None:
            break
        if isinstance(error, UnauthorizedError):
            del entries["api_key"]
        elif click.confirm("Keep these settings anyway?", default=False, err=True):
            break
        _say(
            "Nothing was kept yet. Correct the answers: Enter keeps the setting in brackets, "
            "Ctrl-C stops."
        )
    path.touch(mode=0o600)
    path.chmod(0o600)
    replace_file(path, "".join(_line(name, value) for name, value in entries.items()).encode())
    _say(f"The settings are in {path}. Try them: petstore-tools list --first 5")
    return exits.DONE


def _kept(path: Path) -> dict[str, Any]:
    """
    Return the entries of the settings file; one that cannot be read is set aside after a question.
    """
    try:
        return settings.read_file(path).model_dump(exclude_unset=True)
    except SettingsError as error:
        aside = path.with_name(f"{path.name}.bak")
        _say(f"Error: {error}")
        if not click.confirm(
            f"Start a new settings file and keep the old one as {aside.name}?", err=True
        ):
            _say("Nothing was changed.")
            raise click.exceptions.Exit(exits.USAGE) from None
        path.replace(aside)
        return {}


def _line(name: str, value: Any) -> str:
    plain = value.get_secret_value() if isinstance(value, SecretStr) else value
    return f"{name} = {json.dumps(plain, default=str)}\n"  # a JSON string is a TOML basic string


def _ask(text: str, read: Callable[[str], T], kept: str | None, *, hide: bool = False) -> T:
    """Ask until the answer can be read; Enter gives what is kept."""
    while True:
        try:
            return read(click.prompt(text, kept, hide_input=hide, show_default=not hide, err=True))
        except PetstoreError as error:
            _say(f"Error: {error}")


def _ask_key(kept: SecretStr | None) -> SecretStr:
    """
    Ask without showing what is typed, until a header can carry it; Enter gives the key that is
    kept.
    """

    def read(given: str) -> SecretStr:
        key = SecretStr(given.strip()) or kept
        if not key:
            raise SettingsError(
                "a key is needed. Copy it from where you were given it, or create one for a "
                "service of your "
                "own: petstore-tools keys create"
            )
        KeyAuth(key)
        return key

    return _ask(
        f"API key (it is not shown while you type){' [****]' if kept else ''}", read, "", hide=True
    )


def _plan(text: str) -> str:
    plans.parse(text)
    return text.strip()


def _category_file(text: str) -> Path | None:
    """Read the name of a file that holds categories; `-` is none."""
    if text.strip() == NO_FILE:
        return None
    path = Path(text.strip()).expanduser().resolve()
    read_categories(path)
    return path


def _check(entries: dict[str, Any]) -> PetstoreError | None:
    """Check the answers with one request, show what is found, and return the first error."""
    given = {name: entries[name] for name in ENTRIES if name != "categories"}
    with PetStore(**given, environment="production", progress=False) as store:
        findings = [show(finding, err=True) for finding in store.examine()]
    return next((finding.error for finding in findings if finding.state == "error"), None)


def _say(text: str) -> None:
    click.echo(text, err=True)
