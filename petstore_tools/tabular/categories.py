"""
Categories as people keep them, a dict, a frame or a file: what they are called, and
which id a word stands for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from petstore_tools.errors import ArgumentError
from petstore_tools.tabular.cells import whole_number
from petstore_tools.tabular.sources import open_source
from petstore_tools.text import clean

if TYPE_CHECKING:
    import pandas as pd

    from petstore_tools.tabular.cells import Sheet

    Category = str | Path | Mapping[Any, Any] | pd.Series[Any] | pd.DataFrame
    Categories = Category | Sequence[Category]

_HEADER_WITHIN = 10  # rows in which the titles of categories may be


@dataclass(frozen=True)
class CategoryWords:
    """
    Words for categories.

    Attributes:
        pairs: Each word with its id.
        is_list: Whether there are no other ids than these.
    """

    pairs: Sequence[tuple[str, int]] = ()
    is_list: bool = False


def read_categories(source: Categories | None) -> dict[int, str] | None:
    """
    Read what categories are called.

    >>> read_categories({"Dogs": 3, "Cats": 4})
    {3: 'Dogs', 4: 'Cats'}
    >>> read_categories(pd.DataFrame({"Nr": [3, 4], "Art": ["Dogs", "Cats"]}))
    {3: 'Dogs', 4: 'Cats'}

    Args:
        source: A dict or a Series whose keys or whose values are all ids; a DataFrame
            or a file with the columns `id` and `name`, or with two columns of which one
            holds ids; of a workbook, the first visible sheet that has both.

    Returns:
        Name by id, the first one of several, without blanks around; None for None.

    Raises:
        ArgumentError: A category has no id.
        SheetError: It is none of these, or cannot be read.
    """
    if source is None:
        return None
    names: dict[int, str] = {}
    for name, number in read_words(source).pairs:
        names.setdefault(number, name)
    return names


def read_words(source: Categories) -> CategoryWords:
    """
    Read which id each word for a category stands for.

    >>> read_words({"Dog": 3, "Dogs": 3})
    CategoryWords(pairs=[('Dog', 3), ('Dogs', 3)], is_list=False)

    Args:
        source: As for `read_categories`; an id may have several words. A dict from
            words to ids is no list: there are other ids. A tuple or a list of such
            has the words of all.

    Raises:
        ArgumentError, SheetError: As of `read_categories`; or a word stands for an id
            that a list beside it lacks.
    """
    if isinstance(source, tuple | list):
        parts = [*map(read_words, source)]
        listed_ids = {id_ for part in parts if part.is_list for _, id_ in part.pairs}
        pairs = [pair for part in parts for pair in part.pairs]
        for word, id_ in pairs:
            if id_ not in (listed_ids or {id_}):
                raise ArgumentError(
                    f"categories: {word!r} stands for {id_}, which the list lacks:"
                    " correct the id, or add it to the list"
                )
        return CategoryWords(pairs, listed_ids != set())
    is_list = not isinstance(source, Mapping)
    if hasattr(source, "items") and not hasattr(source, "columns"):
        rows = [("the table", str(key), str(word)) for key, word in source.items()]
        turned_rows = [(repr(word), text, word) for _, word, text in rows]
        if not _have_ids(rows):
            rows = turned_rows
        elif rows and _have_ids(turned_rows):
            raise ArgumentError(
                "categories: all keys and all values are ids; nobody can tell which are"
                " words"
            )
        else:
            is_list = bool(rows)
    else:
        file = Path(source).name if isinstance(source, str | Path) else "the DataFrame"
        rows = [*_rows(open_source(source), file)]
    if is_list and not rows:
        raise ArgumentError("categories: there is no category in it")
    pairs = []
    for origin, text, word in rows:
        number = whole_number(text)
        if number is None:
            raise ArgumentError(
                f"categories: {origin}: {text!r} is not an id (a whole number within"
                " int64)"
            )
        pairs.append((clean(word), number))
    return CategoryWords(pairs, is_list)


def _have_ids(rows: Iterable[tuple[str, str, str]]) -> bool:
    """Say whether each row has an id in its place."""
    return all(whole_number(text) is not None for _, text, _ in rows)


def _rows(sheets: Iterable[Sheet], file: str) -> Iterator[tuple[str, str, str]]:
    """Yield origin, id and word of each row of the first sheet with both columns."""
    for sheet in sheets:
        records = [
            record for record in sheet.records() if any(map(str.strip, record[1]))
        ]
        for index, (_, header) in enumerate(records[:_HEADER_WITHIN]):
            titles = [clean(cell).casefold() for cell in header]
            if titles.count("id") == titles.count("name") == 1:
                for number, cells in records[index + 1 :]:
                    row = dict(zip(titles, cells, strict=False))
                    origin = f"{file} row {number}"
                    yield origin, row.get("id", ""), row.get("name", "")
                return
        table = [[*filter(str.strip, cells)] for _, cells in records]
        if not table or {*map(len, table)} != {2}:
            continue
        are_ids = [whole_number(cell) is not None for cell in table[-1]]
        if sum(are_ids) == 1:
            id_index = are_ids.index(True)
            begin = int(whole_number(table[0][id_index]) is None)  # behind the titles
            for (number, _), cells in zip(records[begin:], table[begin:], strict=True):
                yield f"{file} row {number}", cells[id_index], cells[1 - id_index]
            return
    raise ArgumentError(
        f"categories: {file} has no columns id and name, and no two columns of which"
        " one holds ids: give it the titles id and name"
    )
