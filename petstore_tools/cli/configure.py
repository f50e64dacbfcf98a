"""`configure`: asks for the settings once and keeps them in the settings file."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from pydantic import SecretStr

from petstore_tools import plans, settings
from petstore_tools.cli import exits
from petstore_tools.errors import PetstoreError, SettingsError, UnauthorizedError
from petstore_tools.http.transport import KeyAuth
from petstore_tools.store import PetStore
from petstore_tools.tabular.atomic import check_writable, replace_file

ENTRIES = ("base_url", "api_key", "plan")
SECRET = ("api_key", "ledger_url")


@contextmanager
def _somebody(path: Path) -> Iterator[None]:
    """Say what else there is where the answers end and nobody sits at a terminal."""
    try:
        yield
    except click.Abort:
        if sys.stdin.isatty():
            raise
        _say("")
        raise SettingsError(
            "nothing is kept: there is nobody to ask. Run it on a terminal, or give PETSTORE_BASE_URL, "
            f"PETSTORE_API_KEY and PETSTORE_PLAN as variables, or as entries of {path}"
        ) from None


@click.command("configure")
def configure_() -> int:
    """
    Ask for base address, key and plan, check them with one request, and keep them for this user.

    What is kept already is shown, the key masked: Enter keeps it. What cannot be right is asked again.

    \b
    Example:
      petstore-tools configure
    """
    path = settings.config_path()
    with _somebody(path):
        return _configure(path)


def _configure(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    check_writable(path)
    entries = _present(path)
    for name in ENTRIES:
        if os.environ.get(f"PETSTORE_{name.upper()}"):
            _say(f"Note: the variable PETSTORE_{name.upper()} is set, and wins over what is kept here.")
    while True:
        address = "Base address (https://HOST/v1)"
        entries["base_url"] = _ask(address, settings.check_base_url, entries.get("base_url"))
        entries["api_key"] = _ask_key(entries.get("api_key"))
        plan = entries.get("plan", "free")
        entries["plan"] = _ask("Plan (free, pro, business, PER_MINUTE/PER_DAY)", _plan, plan)
        error = _check(entries)
        if error is None:
            break
        if isinstance(error, UnauthorizedError):
            del entries["api_key"]
        elif click.confirm("Keep these settings all the same?", default=False, err=True):
            break
        _say("Nothing is kept yet. Correct what is wrong; Enter keeps what is in brackets, Ctrl-C ends.")
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    path.chmod(0o600)
    replace_file(path, "".join(_line(name, value) for name, value in entries.items()).encode())
    _say(f"Settings are in {path}. Try them: petstore-tools list --first 5")
    return exits.DONE


def _present(path: Path) -> dict[str, Any]:
    """Return what is kept already; a file that cannot be read is set aside after a question."""
    try:
        settings.read_file(path)
        kept = tomllib.loads(path.read_text(encoding="utf-8"))
        return {name: SecretStr(value) if name in SECRET else value for name, value in kept.items()}
    except FileNotFoundError:
        return {}
    except SettingsError as error:
        aside = path.with_name(f"{path.name}.bak")
        _say(f"Error: {error}")
        if not click.confirm(f"Begin a new one? The old one is kept as {aside.name}.", err=True):
            _say("Nothing was changed.")
            raise click.exceptions.Exit(exits.USAGE) from None
        path.replace(aside)
        return {}


def _line(name: str, value: Any) -> str:
    plain = value.get_secret_value() if isinstance(value, SecretStr) else value
    return f"{name} = {json.dumps(plain)}\n"  # a JSON string is a TOML basic string


def _ask(text: str, read: Callable[[str], str], present: str | None) -> str:
    """Ask until the answer can be read; Enter gives what is there."""
    while True:
        try:
            return read(click.prompt(text, default=present, err=True))
        except SettingsError as error:
            _say(f"Error: {error}")


def _ask_key(present: SecretStr | None) -> SecretStr:
    """Ask without showing what is typed until it may be a key; Enter gives the one that is there."""
    text = f"API key (typing does not show){' [****]' if present else ''}"
    while True:
        given = SecretStr(click.prompt(text, "", hide_input=True, show_default=False, err=True).strip())
        key = given or present
        if not key:
            _say(
                "Error: a key is needed: copy it from where you were given it, or make one for a service of "
                "your own with petstore-tools keys create"
            )
            continue
        try:
            KeyAuth(key)
        except SettingsError as error:
            _say(f"Error: {error}")
        else:
            return key


def _plan(text: str) -> str:
    plans.parse(text)
    return text.strip()


def _check(entries: dict[str, Any]) -> PetstoreError | None:
    """Ask the service once; say what is to be said, and return what stands in the way."""
    given = {name: entries[name] for name in ENTRIES}
    wrong = None
    with PetStore(**given, environment="production", progress=False) as store:
        for finding in store.examine():
            if finding.what == "key" and finding.state == "well":
                _say("The service knows the key.")
            elif finding.state != "well" and finding.what != "extras":
                _say(f"{'Error' if finding.state == 'wrong' else 'Note'}: {finding.said}")
                _say(f"  {finding.advice}")
            wrong = wrong or (finding.error if finding.state == "wrong" else None)
    return wrong


def _say(text: str) -> None:
    click.echo(text, err=True)
