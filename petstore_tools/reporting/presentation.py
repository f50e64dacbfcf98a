"""
A report as people read it: its lines and sentences, its sections, the cells of its
tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isnan
from typing import Any

import pandas as pd

from petstore_tools import text
from petstore_tools.listing.frames import UNSET
from petstore_tools.reporting.facts import LISTS, TITLES, Facts
from petstore_tools.reporting.tables import TOTAL, UNSEEN

COLOURS = {
    "available": "#2f855f",
    "pending": "#b0720f",
    "sold": "#4a79b8",
    UNSET: "#76808f",
    "other": "#9a68ab",  # a status that the document does not name
}
# numbers that name something: written without separators
IDS = ("id", "categoryId")
DAYS = ("median_days", "days_90")
SHARES = {"summary": "share of those before", "breakdown": "share of all"}
WORDS = {  # titles of columns, as people read them
    "what": "since then",
    "count": "animals",
    "as_of": "as of",
    "median_days": "half stayed up to",
    "days_90": "90 % stayed up to",
}
_LARGEST_FIRST = {
    "by_category": TOTAL,
    "changes_by_category": "now",
}
LONG = (*_LARGEST_FIRST, *LISTS)
TOP = 15  # rows of a long table that a page shows
WITH_TOTAL = ("breakdown", "by_category", "changes", "changes_by_category")
_UNCERTAIN = (
    "A change happened between two listings, so only the times of those two listings"
    " are known; what was done and undone between them was not seen. Days in a status"
    " are counted for animals that got it and left it while listings were kept, and"
    " left it in the last 30 days."
)
_UNSEEN = (
    "Animals that count as not seen are missing from this listing, which may have"
    " missed them. If the next listing does not show them either, they count as gone."
)
_UNSET = "Animals without a status are counted as unset."
_ONE_STATUS = (
    "In a report on one status, an animal that is new may have had another status"
    " before, and one that is gone may have another one now."
)


@dataclass(frozen=True)
class Presentation:
    """A report as every writer shows it."""

    report: Facts

    def when(self, at: float) -> str:
        """Write a time in the report's time zone, which it names."""
        return text.zone_text(at, self.report.timezone)

    @property
    def as_of(self) -> str:
        """What time the report is of, and what it is compared with."""
        as_of = f"As of {self.when(self.report.listing.ended_at)}"
        since = self.report.since
        return (
            f"{as_of}, with what changed since {self.when(since.ended_at)}"
            if since
            else as_of
        )

    @property
    def facts(self) -> list[str]:
        """The lines that stand above the tables."""
        report = self.report
        return [
            report.headline,
            self.as_of,
            *filter(None, [report.note]),
            *report.notes,
        ]

    @property
    def made(self) -> str:
        """How the report was made, in sentences."""
        report = self.report
        listing = report.listing
        sentences = [
            f"{listing.reason}.",
            (
                f"It was read from {self.when(listing.started_at)} to"
                f" {self.when(listing.ended_at)} with"
                f" {text.pluralize(listing.requests, 'request')}."
            ),
        ]
        if report.since is not None or report.counts is not None:
            sentences.append(_UNCERTAIN)
        if report.since is not None and listing.status is not None:
            sentences.append(_ONE_STATUS)
        if report.moved is not None and (report.moved["to"] == UNSEEN).any():
            sentences.append(_UNSEEN)
        sentences += [*(f"{note}." for note in listing.notes), _UNSET]
        return " ".join(sentence[:1].upper() + sentence[1:] for sentence in sentences)

    def tables(self) -> dict[str, pd.DataFrame]:
        """
        Return the tables that have rows.

        Categories have their names and the largest comes first, totals come first, the
        last row holds the sums, and a report on one status has no rows and columns of
        zeros.
        """
        found = {}
        for name, table in self.report.tables().items():
            if not len(table):
                continue
            if name in _LARGEST_FIRST:
                table = table.sort_values(
                    _LARGEST_FIRST[name],
                    ascending=False,
                    kind="stable",
                    ignore_index=True,
                )
            table = named(table, self.report.categories)
            table = table.rename(columns={"share": SHARES.get(name, "")})
            if TOTAL in table:  # next to the name, where a phone shows it
                table.insert(1, TOTAL, table.pop(TOTAL))
            if self.report.listing.status is not None:
                table = _without_zeros(name, table)
            found[name] = _with_total(table) if name in WITH_TOTAL else table
        return found

    def sections(self, *left_out: str) -> list[tuple[str, str, pd.DataFrame]]:
        """
        Return name, title and table of each section of a page; of a long table the top.
        """
        sections = []
        for name, table in self.tables().items():
            if name in left_out:
                continue
            title = TITLES[name]
            rows = rows_without_total(name, table)
            if name in LONG and rows > TOP:
                title += f", the first {TOP} of {rows:,}"
                table = pd.concat([table.head(TOP), table[rows:]])
            sections.append((name, title, table))
        return sections


def rows_without_total(name: str, table: pd.DataFrame) -> int:
    """Return how many rows of a table, as people see it, are not its sums."""
    return len(table) - 1 if name in WITH_TOTAL else len(table)


def named(table: pd.DataFrame, labels: Mapping[int, str]) -> pd.DataFrame:
    """
    Return a table with the names of categories, and an id only where no name is known.
    """
    if "categoryId" not in table:
        return table
    names = [
        labels.get(number) or str(number) for number in table["categoryId"].tolist()
    ]
    table = table.assign(categoryId=names).drop(columns="label", errors="ignore")
    return table.rename(columns={"categoryId": "category"})


def _without_zeros(name: str, table: pd.DataFrame) -> pd.DataFrame:
    if name not in ("breakdown", "by_category", "changes", "counts"):
        return table
    numbers = table.select_dtypes("number").drop(columns="change", errors="ignore")
    table = table.drop(columns=numbers.columns[~numbers.any()])
    return table[numbers.any(axis=1)].reset_index(drop=True)


def _with_total(table: pd.DataFrame) -> pd.DataFrame:
    sums = [table[name].sum() for name in table.columns[1:]]
    total = pd.DataFrame([[TOTAL, *sums]], columns=table.columns)
    return pd.concat([table, total], ignore_index=True)


class _Change(int):
    """A difference, which is written with its sign."""

    def __format__(self, style: str) -> str:
        return int.__format__(self, f"+{style}" if self else style)


class _Days(float):
    """Days, which are no share."""

    def __format__(self, style: str) -> str:
        return f"{_half_up(self):,.1f}"


def _half_up(number: float) -> float:
    """
    Return a number whose half is rounded up, as in a spreadsheet: 61 of 400 is 15.3 %.
    """
    return number + 1e-9


def _share(number: float) -> float | None:
    return None if isnan(number) else _half_up(number)


_KINDS: dict[str, Callable[[Any], object]] = {
    **dict.fromkeys(IDS, str),
    **dict.fromkeys(DAYS, _Days),
    **dict.fromkeys(SHARES.values(), _share),
    "change": _Change,
}


def cells(table: pd.DataFrame) -> tuple[list[str], list[list[object]]]:
    """
    Return the header and the rows of a table: ids as text, changes with their sign,
    days, shares.
    """
    lists = table.to_dict("list").items()
    columns = [
        [*map(_KINDS[name], values)] if name in _KINDS else values
        for name, values in lists
    ]
    header = [WORDS.get(name, name) for name in map(str, table.columns)]
    return header, [list(row) for row in zip(*columns, strict=True)]
