"""
Tables of a report as people read them, and the colours of the statuses: what all writers share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import pandas as pd

from petstore_tools.listing.frames import UNSET

COLOURS: Final = {"available": "#2f7d5b", "pending": "#c98a1b", "sold": "#4a6fa5", UNSET: "#9aa3af"}
OTHER: Final = "#8b5e9b"  # a status that the document does not name
IDS: Final = ("id", "categoryId")  # numbers that name something: written without separators
DAYS: Final = ("days", "median_days", "days_90")
TOTAL: Final = "total"
TOP: Final = 20  # rows of a long table that a page shows
TITLES: Final = {  # in the order of a page
    "summary": "At a glance{since}",
    "breakdown": "By status",
    "changes": "Change by status",
    "changes_by_category": "Change by category",
    "flow": "From which status to which",
    "moved": "Animals that moved",
    "counts": "Over time",
    "time_in_status": "Days in a status, of what ended in the last 30 days",
    "time_in_status_by_category": "Days in a status by category",
    "longest_available": "Available for longest",
    "pending": "Pending animals",
    "by_category": "By category",
}
WORDS: Final = {  # titles of columns, as people read them
    "what": "",
    "count": "animals",
    "as_of": "as of",
    "first_seen": "first seen",
    "days": "days, at least",
    "median_days": "half of them, up to",
    "days_90": "90 % of them, up to",
}
_LARGEST_FIRST: Final = {
    "by_category": TOTAL,
    "changes_by_category": "now",
    "time_in_status_by_category": "animals",
}
LONG: Final = (*_LARGEST_FIRST, "moved", "longest_available", "pending")
_WITH_TOTAL: Final = ("breakdown", "by_category", "changes", "changes_by_category")


class Change(int):
    """A difference, which is written with its sign."""

    def __format__(self, style: str) -> str:
        return int.__format__(self, f"+{style}" if self else style)


class Share(float):
    """A share, of which a half goes up, as in a spreadsheet: 61 of 400 is 15.3 %."""

    def __format__(self, style: str) -> str:
        return float.__format__(self + 1e-9, style)


class Days(Share):
    """A number of days, which is written with one decimal."""

    def __format__(self, style: str) -> str:
        return super().__format__(",.1f")


def for_people(table: pd.DataFrame) -> tuple[list[str], list[list[object]]]:
    """
    Return the header and the rows of a table: ids as text, changes with their sign, days, shares.
    """
    kinds: dict[str, type] = {**dict.fromkeys(IDS, str), **dict.fromkeys(DAYS, Days)}
    kinds |= {"change": Change, "share": Share}
    lists = table.to_dict("list").items()
    columns = [[*map(kinds[name], values)] if name in kinds else values for name, values in lists]
    header = [WORDS.get(name, name) for name in map(str, table.columns)]
    return header, [list(row) for row in zip(*columns, strict=True)]


def named(table: pd.DataFrame, labels: Mapping[int, str]) -> pd.DataFrame:
    """Return a table with the names of categories, and an id only where no name is known."""
    if "categoryId" not in table:
        return table
    names = [labels.get(number) or str(number) for number in table["categoryId"].tolist()]
    named_table = table.assign(categoryId=names).rename(columns={"categoryId": "category"})
    return named_table.drop(columns="label", errors="ignore")


def shown(
    tables: Mapping[str, pd.DataFrame], labels: Mapping[int, str], *, one_status: bool
) -> dict[str, pd.DataFrame]:
    """
    Return the tables that have rows, as every writer shows them.

    Categories have their names and the largest comes first, totals come first, the last row holds
    the sums, and a report on one status has no rows and columns of zeros.
    """
    found = {}
    for name, table in tables.items():
        if not len(table):
            continue
        if name in _LARGEST_FIRST:
            table = table.sort_values(
                _LARGEST_FIRST[name], ascending=False, kind="stable", ignore_index=True
            )
        if TOTAL in table:  # next to the name, where a phone shows it
            front = [column for column in ("categoryId", "label", "from", TOTAL) if column in table]
            table = table[[*front, *(column for column in table if column not in front)]]
        if one_status and name in ("breakdown", "by_category", "changes", "counts"):
            table = _without_zeros(table)
        table = named(table, labels)
        found[name] = with_total(table) if name in _WITH_TOTAL else table
    return found


def cut(name: str, table: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    """
    Return what to add to the title of a table, and its first rows where it is long; its sums stay.
    """
    rows = len(table) - (name in _WITH_TOTAL)
    if name not in LONG or rows <= TOP:
        return "", table
    return f", the first {TOP} of {rows:,}", pd.concat([table.head(TOP), table[rows:]])


def plain_times(table: pd.DataFrame, when: Callable[[float], str]) -> pd.DataFrame:
    """Return a table whose times are text."""
    times = [name for name in table if isinstance(table[name].dtype, pd.DatetimeTZDtype)]
    return table.assign(
        **{str(name): [when(at.timestamp()) for at in table[name]] for name in times}
    )


def _without_zeros(table: pd.DataFrame) -> pd.DataFrame:
    numbers = table.select_dtypes("number").drop(columns=["change", *IDS], errors="ignore")
    rows = table[(numbers != 0).any(axis=1)]
    return rows.drop(columns=[name for name in numbers if (rows[name] == 0).all()]).reset_index(
        drop=True
    )


def with_total(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with its sums as the last row."""
    first = table.columns[0]
    numbers = table.select_dtypes("number")
    sums = pd.DataFrame([{first: TOTAL, **numbers.sum()}]).astype(numbers.dtypes.to_dict())
    return pd.concat([table.astype({first: "object"}), sums], ignore_index=True)


def colour(status: str) -> str:
    """Return the colour of a status."""
    return COLOURS.get(status, OTHER)
