"""Tables of a report as people read them, and the colours of the statuses: what all writers share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import pandas as pd

from petstore_tools.listing.statuses import UNSET

COLOURS: Final = {"available": "#2f7d5b", "pending": "#c98a1b", "sold": "#4a6fa5", UNSET: "#9aa3af"}
OTHER: Final = "#8b5e9b"  # a status that the document does not name
IDS: Final = ("id", "categoryId")  # numbers that name something: written without separators
TOTAL: Final = "total"
TOP: Final = 20  # rows of a long table that a page shows
TITLES: Final = {  # in the order of a page
    "summary": "At a glance{since}",
    "breakdown": "By status",
    "changes": "Change by status{since}",
    "changes_by_category": "Change by category{since}",
    "flow": "From which status to which{since}",
    "moved": "Animals that moved{since}",
    "counts": "Over time",
    "time_in_status": "Days in a status, of what ended in the last 30 days",
    "time_in_status_by_category": "The same by category",
    "longest_available": "Available for longest",
    "pending": "Pending animals",
    "by_category": "By category",
}
LONG: Final = (
    *("changes_by_category", "moved", "time_in_status_by_category", "longest_available", "pending"),
    "by_category",
)
_WITH_TOTAL: Final = ("breakdown", "by_category", "changes", "changes_by_category")


class Change(int):
    """A difference, which is written with its sign."""

    def __format__(self, style: str) -> str:
        return int.__format__(self, f"+{style}" if self else style)


class Days(float):
    """A number of days, which is written with one decimal."""

    def __format__(self, style: str) -> str:
        return float.__format__(self, ",.1f")


def for_people(table: pd.DataFrame) -> tuple[list[str], list[list[object]]]:
    """Return the header and the rows of a table: ids as text, changes with their sign, days, shares."""
    kinds = {"change": Change, "days": Days, "median_days": Days, "days_90": Days, **dict.fromkeys(IDS, str)}
    columns = [
        [kinds[name](value) for value in values] if name in kinds else values
        for name, values in table.to_dict("list").items()
    ]
    return list(map(str, table.columns)), [list(row) for row in zip(*columns, strict=True)]


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

    Categories have their names, totals come first, the last row holds the sums, and a report on one status
    has no rows and columns of zeros.
    """
    found = {}
    for name, table in tables.items():
        if not len(table):
            continue
        if name == "by_category":
            table = table.sort_values(TOTAL, ascending=False, kind="stable", ignore_index=True)
        if TOTAL in table:  # next to the name, where a phone shows it
            front = [column for column in ("categoryId", "label", "from", TOTAL) if column in table]
            table = table[[*front, *(column for column in table if column not in front)]]
        if one_status and name in ("breakdown", "by_category", "changes", "counts"):
            table = _without_zeros(table)
        table = named(table, labels)
        found[name] = with_total(table) if name in _WITH_TOTAL else table
    return found


def plain_times(table: pd.DataFrame, when: Callable[[float], str]) -> pd.DataFrame:
    """Return a table whose times are text."""
    times = [name for name in table if isinstance(table[name].dtype, pd.DatetimeTZDtype)]
    return table.assign(**{str(name): [when(at.timestamp()) for at in table[name]] for name in times})


def _without_zeros(table: pd.DataFrame) -> pd.DataFrame:
    numbers = table.select_dtypes("number").drop(columns=["change", *IDS], errors="ignore")
    rows = table[(numbers != 0).any(axis=1)]
    return rows.drop(columns=[name for name in numbers if (rows[name] == 0).all()]).reset_index(drop=True)


def with_total(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with its sums as the last row."""
    first = table.columns[0]
    numbers = table.select_dtypes("number")
    sums = pd.DataFrame([{first: TOTAL, **numbers.sum()}]).astype(numbers.dtypes.to_dict())
    return pd.concat([table.astype({first: "object"}), sums], ignore_index=True)


def colour(status: str) -> str:
    """Return the colour of a status."""
    return COLOURS.get(status, OTHER)
