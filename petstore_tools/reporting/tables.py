"""Tables of a report as people read them, and the colours of the statuses: what all writers share."""

from __future__ import annotations

from typing import Final

import pandas as pd

from petstore_tools.reporting.breakdown import UNSET

COLOURS: Final = {"available": "#2f7d5b", "pending": "#c98a1b", "sold": "#4a6fa5", UNSET: "#9aa3af"}
OTHER: Final = "#8b5e9b"  # a status that the document does not name
IDS: Final = ("id", "categoryId")  # numbers that name something: written without separators


class Change(int):
    """A difference, which is written with its sign."""

    def __format__(self, style: str) -> str:
        return int.__format__(self, f"+{style}")


def for_people(table: pd.DataFrame) -> tuple[list[str], list[list[object]]]:
    """Return the header and the rows of a table: ids as text, changes with their sign."""
    kinds = {"change": Change, **dict.fromkeys(IDS, str)}
    columns = [
        [kinds[name](value) for value in values] if name in kinds else values
        for name, values in table.to_dict("list").items()
    ]
    return list(map(str, table.columns)), [list(row) for row in zip(*columns, strict=True)]


def colour(status: str) -> str:
    """Return the colour of a status."""
    return COLOURS.get(status, OTHER)
