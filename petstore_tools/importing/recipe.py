"""
How a source is read: from an earlier import, or a small TOML file that can be given to others.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

from petstore_tools.errors import ArgumentError
from petstore_tools.importing.journals import JournalInfo, find, with_header
from petstore_tools.importing.options import RECIPE, ImportOptions
from petstore_tools.importing.sheet import ROW_COLUMN
from petstore_tools.tabular.atomic import write_output
from petstore_tools.text import date_text, option, suggest

CONSENT: Final = "first wait yes reserve strict allow_bad send_edited existing".split()
_KINDS: Final[Mapping[object, str]] = {
    str: "a text",
    bool: "true or false",
    dict: 'a table such as {Tier = "name"}',
    (str, dict): 'the path of a file, or a table such as {3 = "Dogs"}',
}
_DEFAULTS: Final = {field.name: field.default for field in fields(ImportOptions)}


def complete(options: ImportOptions, journals: Path, categories: Path | None) -> ImportOptions:
    """
    Return options with what their recipe says where they say nothing, and the settings after it.

    Args:
        options: As a caller gives them; their recipe is a file, or the ID of an earlier import.
        journals: The folder of the journals.
        categories: The category file of the settings.

    Raises:
        ArgumentError, SettingsError, JournalError: The recipe cannot be read, or there is no such
            import.
    """
    found: dict[str, Any] = {"categories": categories}
    if options.recipe is not None:
        path = Path(options.recipe)
        is_id = re.fullmatch(r"[0-9a-f]{1,12}(-[0-9]+)?", str(path)) and not path.exists()
        found |= _earlier(journals, str(path)) if is_id else read_recipe(path)
    for name in found:
        given = getattr(options, name)
        if isinstance(given, dict) and isinstance(found[name], dict) and name != "categories":
            taken = set(given.values()) if name == "columns" else ()  # a field has one column
            kept = {key: value for key, value in found[name].items() if value not in taken}
            found[name] = {**kept, **given}
        elif given is not _DEFAULTS[name]:
            found[name] = given
    return replace(options, recipe=None, **found)


def _earlier(journals: Path, import_id: str) -> dict[str, Any]:
    """Return the choices of an earlier import; another file has other sheets."""
    choices = _choices(find(journals, import_id).reading)
    return {name: value for name, value in choices.items() if name != "sheet"}


def _choices(reading: Mapping[str, Any]) -> dict[str, Any]:
    return {name: reading[name] for name in RECIPE if reading.get(name)}


def same_choices(
    options: ImportOptions, header: Sequence[str], journals: Path, own: str = ""
) -> str:
    """
    Say how a file is read as an earlier one with the same header was, "" where there is none.

    Nothing is said where this import makes such choices itself, beside categories.

    Args:
        options: Of this import.
        header: Of its file.
        journals: The folder of the journals.
        own: Name of its journal.
    """
    if (kept := earlier(options, header, journals, own)) is None:
        return ""
    source = [str(options.source)] if options.is_file else ["-", "--name", str(options.path)]
    command = shlex.join(["petstore-tools", "import", *source, "--recipe", kept.id])
    how = option(f'recipe="{kept.id}"', command)
    file, day = kept.target.path.name, date_text(kept.changed_at)
    return f"This header equals that of {file}, imported on {day}. To use the same choices: {how}"


def earlier(
    options: ImportOptions, header: Sequence[str], journals: Path, own: str = ""
) -> JournalInfo | None:
    """
    Return the import that made choices for an equal header, where this one makes none
    (`same_choices`).
    """
    if ROW_COLUMN in header:
        header = header[: header.index(ROW_COLUMN)]  # of a rejects file: what its import had
    alike = with_header(journals, header) if header else []
    for kept in sorted(alike, key=lambda kept: kept.id != own)[:1]:
        made = _choices(options.reading).keys() - {"sheet"}
        if made <= {"categories"} and _choices(kept.reading).keys() - {"sheet"} - made:
            return kept
    return None


def read_recipe(path: Path) -> dict[str, Any]:
    """
    Read how a source is read.

    Args:
        path: A TOML file; the path of a category file in it counts from its folder.

    Returns:
        Arguments of `import_pets`.

    Raises:
        ArgumentError: It cannot be read, or holds something else, such as what a person agrees to.
    """
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ArgumentError(f"the recipe {path} cannot be read: {error.strerror}") from error
    except ValueError as error:  # no UTF-8, or no TOML
        raise ArgumentError(f"the recipe {path.name} is not valid TOML: {error}") from error
    for name, value in entries.items():
        if why := _wrong(name, value):
            raise ArgumentError(f"the recipe {path.name}: {why}")
    if isinstance(file := entries.get("categories"), str):
        entries["categories"] = path.parent / file
    return entries


def _wrong(name: str, value: object) -> str:
    """Say why an entry is none, "" where it is one."""
    if name in CONSENT:
        return (
            f"{name} is not part of a recipe: it is decided anew for each import, so pass it there"
        )
    if name not in RECIPE:
        return f"there is no entry {name!r}{suggest(name, tuple(RECIPE))}"
    plain = not isinstance(value, dict) or all(type(item) in (str, int) for item in value.values())
    return (
        ""
        if isinstance(value, RECIPE[name]) and plain
        else f"{name} must be {_KINDS[RECIPE[name]]}"
    )


def write_recipe(path: Path, options: Mapping[str, Any]) -> None:
    """
    Write how a source is read.

    Args:
        path: Of the file, which is replaced.
        options: As `read_recipe` returns them; what is empty is left out.

    Raises:
        ArgumentError: An option is no entry of a recipe.
        OutputError: The file cannot be written.
    """
    entries = {
        name: value
        for name, value in options.items()
        if value not in (None, "", False) and value != {}
    }
    folder = path.parent.resolve()
    if isinstance(given := entries.get("categories"), str | Path):
        file = Path(given).resolve()
        entries["categories"] = (
            file.relative_to(folder) if file.is_relative_to(folder) else file
        ).as_posix()
    for name, value in entries.items():
        if why := _wrong(name, value):
            raise ArgumentError(why)
    lines = [_line(name, value) for name, value in entries.items() if not isinstance(value, dict)]
    for name, table in entries.items():
        if isinstance(table, dict):
            lines += [
                "",
                f"[{name}]",
                *(_line(_text(str(key)), value) for key, value in table.items()),
            ]
    write_output(path, "".join(f"{line}\n" for line in lines).encode())


def _line(key: str, value: object) -> str:
    return f"{key} = {_text(value)}"


def _text(value: object) -> str:
    """Write a text, a number, true or false: in TOML as in JSON, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
