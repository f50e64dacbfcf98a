"""How a source is read, as a small TOML file: to be used again, and to be given to others."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from petstore_tools.errors import ArgumentError
from petstore_tools.tabular.atomic import write_output
from petstore_tools.text import suggest

# What a recipe holds, and as what; the names are those of the arguments of `import_pets`.
ENTRIES: Final[dict[str, tuple[type | tuple[type, ...], str]]] = {
    "sheet": (str, "a text"),
    "columns": (dict, 'a table such as {Tier = "name"}'),
    "categories": ((str, dict), 'the path of a file, or a table such as {3 = "Dogs"}'),
    "statuses": (dict, 'a table such as {verkauft = "sold"}'),
    "defaults": (dict, 'a table such as {status = "available"}'),
    "encoding": (str, "a text"),
    "trim": (bool, "true or false"),
    "thousands": (str, "a text"),
    "drop_duplicates": (bool, "true or false"),
    "allow_totals": (bool, "true or false"),
}
CONSENT: Final = "first wait yes reserve strict allow_bad send_edited existing".split()


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
        return f"{name} is not part of a recipe: it is decided anew for each import, so pass it there"
    if name not in ENTRIES:
        return f"there is no entry {name!r}{suggest(name, tuple(ENTRIES))}"
    kinds, what = ENTRIES[name]
    plain = not isinstance(value, dict) or all(type(item) in (str, int) for item in value.values())
    return "" if isinstance(value, kinds) and plain else f"{name} must be {what}"


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
        name: value for name, value in options.items() if value not in (None, "", False) and value != {}
    }
    folder = path.parent.resolve()
    if isinstance(given := entries.get("categories"), str | Path):
        file = Path(given).resolve()
        entries["categories"] = (file.relative_to(folder) if file.is_relative_to(folder) else file).as_posix()
    for name, value in entries.items():
        if why := _wrong(name, value):
            raise ArgumentError(why)
    lines = [_line(name, value) for name, value in entries.items() if not isinstance(value, dict)]
    for name, table in entries.items():
        if isinstance(table, dict):
            lines += ["", f"[{name}]", *(_line(_text(str(key)), value) for key, value in table.items())]
    write_output(path, "".join(f"{line}\n" for line in lines).encode())


def _line(key: str, value: object) -> str:
    return f"{key} = {_text(value)}"


def _text(value: object) -> str:
    """Write a text, a number, true or false: in TOML as in JSON, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
