"""What categories are called, as people keep it: a dict, a frame or a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from petstore_tools.errors import ArgumentError
from petstore_tools.tabular.cells import whole_number
from petstore_tools.tabular.sources import open_source

if TYPE_CHECKING:
    import pandas as pd

    from petstore_tools.tabular.cells import Sheet

    Categories = str | Path | Mapping[Any, Any] | pd.Series[Any] | pd.DataFrame

_HEADER_WITHIN = 10  # rows in which the titles of categories may be


def read_categories(source: Categories | None) -> dict[int, str] | None:
    """
    Read what categories are called.

    >>> read_categories({"Dogs": 3, "Cats": 4})
    {3: 'Dogs', 4: 'Cats'}
    >>> read_categories(pd.DataFrame({"id": [3, 4], "name": ["Dogs", "Cats"]}))
    {3: 'Dogs', 4: 'Cats'}

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
    file = Path(source).name if isinstance(source, str | Path) else "the DataFrame"
    if hasattr(source, "items") and not hasattr(source, "columns"):
        rows = _pairs_of(source)
    else:
        rows = _rows_of(open_source(source), file)
    names: dict[int, str] = {}
    for origin, id_text, name in rows:
        number = _id_in(id_text)
        if number is None:
            raise ArgumentError(
                f"categories: {origin}: {id_text!r} is not an id (a whole number within"
                " int64)"
            )
        first_name = names.setdefault(number, name.strip())
        if first_name != name.strip():
            raise ArgumentError(
                f"categories: {origin}: {number} is called {first_name!r} and"
                f" {name.strip()!r}; give each id one name"
            )
    if not names:
        raise ArgumentError("categories: there is no category in it")
    return names


def _id_in(text: str) -> int | None:
    number = whole_number(text.strip())
    return number if isinstance(number, int) else None


def _pairs_of(table: Any) -> Iterator[tuple[str, str, str]]:
    """Yield origin, id and name of each pair of a dict or a Series."""
    pairs = [(str(key), str(value)) for key, value in table.items()]
    turned_pairs = [(value, key) for key, value in pairs]
    candidates = [*filter(_are_ids, (pairs, turned_pairs))]
    if pairs and len(candidates) != 1:
        raise ArgumentError(
            "categories: either all keys or all values must be ids (whole numbers), and"
            " not both"
        )
    for id_text, name in candidates[0]:
        yield "the table", id_text, name


def _are_ids(pairs: Iterable[tuple[str, str]]) -> bool:
    """Say whether the first of each pair is an id."""
    return all(_id_in(id_text) is not None for id_text, _ in pairs)


def _rows_of(sheets: Iterable[Sheet], file: str) -> Iterator[tuple[str, str, str]]:
    """Yield origin, id and name of each row of the first sheet with both columns."""
    for sheet in sheets:
        records = sheet.records()
        for _, header in islice(records, _HEADER_WITHIN):
            titles = [cell.strip().casefold() for cell in header]
            if titles.count("id") == titles.count("name") == 1:
                for number, cells in records:
                    if any(map(str.strip, cells)):
                        row = dict(zip(titles, cells, strict=False))
                        id_text, name = row.get("id", ""), row.get("name", "")
                        yield f"{file} row {number}", id_text, name
                return
    raise ArgumentError(
        f"categories: {file} has no columns id and name; give a dict, a Series, or a"
        " DataFrame or a file with these columns"
    )
