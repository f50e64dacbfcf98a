"""What categories are called, as people keep it: a dict, a frame or a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from petstore_tools.errors import ArgumentError
from petstore_tools.tabular.cells import whole_number

if TYPE_CHECKING:
    import pandas as pd

    from petstore_tools.tabular.cells import Sheet

    Categories = str | Path | Mapping[Any, Any] | pd.Series[Any] | pd.DataFrame

_HEADER_WITHIN: Final = 10  # rows in which the titles of categories may be


def read_categories(source: Categories | None) -> dict[int, str] | None:
    """
    Read what categories are called.

    Args:
        source: A dict or a Series whose keys or whose values are all ids; a DataFrame
            or a file with the columns `id` and `name`; of a workbook, the first visible
            sheet that has both.

    Returns:
        Name by id, without blanks around; None for None.

    Raises:
        ArgumentError: It does not give each id one name.
        SheetError: It is none of these, or cannot be read.
    """
    if source is None:
        return None
    # loaded here: most commands read no file
    from petstore_tools.tabular.sources import open_source

    file = Path(source).name if isinstance(source, str | Path) else "the DataFrame"
    if hasattr(source, "items") and not hasattr(source, "columns"):
        rows = _from_table(source)
    else:
        rows = _from_sheets(open_source(source), file)
    names: dict[int, str] = {}
    for place, typed, name in rows:
        number = _id(typed)
        if number is None:
            raise ArgumentError(
                f"categories: {place}: {typed!r} is not an id (a whole number within"
                " int64)"
            )
        known = names.setdefault(number, name.strip())
        if known != name.strip():
            raise ArgumentError(
                f"categories: {place}: {number} is called {known!r} and"
                f" {name.strip()!r}; give each id one name"
            )
    if not names:
        raise ArgumentError("categories: there is no category in it")
    return names


def _id(text: str) -> int | None:
    number = whole_number(text.strip())
    return number if isinstance(number, int) else None


def _from_table(source: Any) -> Iterator[tuple[str, str, str]]:
    """Yield place, id and name of each pair of a dict or a Series."""
    pairs = [(str(key), str(value)) for key, value in source.items()]
    sides = [
        rows
        for rows in (pairs, [(id_, name) for name, id_ in pairs])
        if all(_id(id_) is not None for id_, _ in rows)
    ]
    if pairs and len(sides) != 1:
        raise ArgumentError(
            "categories: either all keys or all values must be ids (whole numbers), and"
            " not both"
        )
    for id_, name in sides[0]:
        yield "the table", id_, name


def _from_sheets(sheets: Iterable[Sheet], file: str) -> Iterator[tuple[str, str, str]]:
    """Yield place, id and name of each row of the first sheet that has both columns."""
    for sheet in sheets:
        records = sheet.records()
        for _, header in islice(records, _HEADER_WITHIN):
            titles = [cell.strip().casefold() for cell in header]
            if titles.count("id") == titles.count("name") == 1:
                for number, cells in records:
                    padded = [*cells, *[""] * len(titles)]
                    if any(map(str.strip, padded)):
                        id_ = padded[titles.index("id")]
                        yield f"{file} row {number}", id_, padded[titles.index("name")]
                return
    raise ArgumentError(
        f"categories: {file} has no columns id and name; give a dict, a Series, or a"
        " DataFrame or a file with these columns"
    )
