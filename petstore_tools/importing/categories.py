"""
What categories are called: name by id, from a dict, a Series, a DataFrame, or a file with id and
name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from petstore_tools import spec
from petstore_tools.errors import ArgumentError
from petstore_tools.tabular.cells import MalformedLine, Sheet
from petstore_tools.tabular.formats import open_sheets
from petstore_tools.tabular.frames import FrameSource

if TYPE_CHECKING:
    import pandas as pd

    Categories = str | Path | Mapping[Any, Any] | pd.Series[Any] | pd.DataFrame

_HEADER_WITHIN: Final = 10  # rows in which the titles may be
_ID: Final = re.compile(r"\s*(-?\d{1,19})(?:\.0)?\s*", re.ASCII)
_TITLES: Final = ({"id", "categoryid", "category_id"}, {"name", "category", "categoryname"})
_WHAT: Final = "a dict, a Series, or a DataFrame or a file with the columns id and name"


def read_categories(source: Categories) -> dict[int, str]:
    """
    Read what categories are called.

    Args:
        source: A dict or a Series whose keys or whose values are all ids; a DataFrame or a file
            with the columns `id` and `name`; of a workbook, the first visible sheet that has both.

    Returns:
        Name by id, without blanks around.

    Raises:
        ArgumentError: It is none of these, or does not give each id one name.
        SheetError: The file cannot be read.
    """
    if isinstance(source, str | Path):
        name = Path(source).name
        return _by_id(_from_sheets(open_sheets(Path(source)), name), name)
    if not isinstance(source, Mapping) and hasattr(source, "columns"):
        frame: Any = source
        return _by_id(_from_sheets([FrameSource(frame=frame)], "the DataFrame"), "the DataFrame")
    if not hasattr(source, "items"):
        raise ArgumentError(f"categories: give {_WHAT}, not {type(source).__name__}")
    pairs = [(str(key), str(value)) for key, value in source.items()]
    keys, values = (all(_ID.fullmatch(pair[at]) for pair in pairs) for at in (0, 1))
    if pairs and keys == values:
        why = "both are" if keys else "neither are"
        raise ArgumentError(
            f"categories: either all keys or all values must be ids (whole numbers); {why}"
        )
    return _by_id((("", *(pair if keys else pair[::-1])) for pair in pairs), "the table")


def _from_sheets(sheets: Iterable[Sheet], where: str) -> Iterator[tuple[str, str, str]]:
    """Yield place, id and name of each row of the first sheet that has both columns."""
    for sheet in sheets:
        records = sheet.records()
        for _, header in islice(records, _HEADER_WITHIN):
            titles = [cell.strip().casefold() for cell in header]
            found = [[at for at, title in enumerate(titles) if title in known] for known in _TITLES]
            if [len(places) for places in found] == [1, 1]:
                (at_id,), (at_name,) = found
                for number, cells in records:
                    padded = [*cells, *[""] * len(titles)]
                    if any(cell.strip() for cell in cells) or isinstance(cells, MalformedLine):
                        yield (
                            f" row {number}",
                            getattr(cells, "line", padded[at_id]),
                            padded[at_name],
                        )
                return
    raise ArgumentError(f"categories: {where} has no columns id and name; give {_WHAT}")


def _by_id(pairs: Iterable[tuple[str, str, str]], where: str) -> dict[int, str]:
    names: dict[int, str] = {}
    for place, id_, name in pairs:
        found = _ID.fullmatch(id_)
        if found is None or not spec.INT64_MIN <= int(found[1]) <= spec.INT64_MAX:
            raise ArgumentError(
                f"categories: {where}{place}: {id_!r} is not an id (a whole number within int64)"
            )
        known = names.setdefault(int(found[1]), name.strip())
        if known != name.strip():
            raise ArgumentError(
                f"categories: {where}{place}: {found[1]} is called {known!r} and {name.strip()!r}; "
                "give each id one name"
            )
    if not names:
        raise ArgumentError(f"categories: {where} lists no category")
    return names
