"""
A report as people read it: its lines, its sections, the cells of its tables, and the
templates that show them; and as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isnan
from typing import Any

import pandas as pd

from petstore_tools import text
from petstore_tools._version import __version__
from petstore_tools.listing.frames import UNSET
from petstore_tools.reporting.facts import LISTS, TITLES, TOTAL, Facts

COLOURS = {
    "available": "#2f855f",
    "pending": "#b0720f",
    "sold": "#4a79b8",
    UNSET: "#76808f",
    "other": "#9a68ab",  # a status that the document does not name
}
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

LISTING_IN_JSON = (
    "completeness",
    "reason",
    "status",
    "environment",
    "rows",
    "requests",
    "notes",
)


@dataclass(frozen=True)
class Presentation:
    """A report as every writer shows it."""

    report: Facts

    def when(self, unix_s: float) -> str:
        """Write a time in the report's time zone, which it names."""
        return text.zone_text(unix_s, self.report.timezone)

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
        return self.fill("made.txt").replace("\n", " ")

    def fill(self, template: str) -> str:
        """
        Fill a template; in HTML, every value is escaped.

        Args:
            template: `report.html`, a page without script or network; `mail.html`,
                whose styles are inline, since mail programs drop style sheets;
                `report.md`; `report.txt`, for a terminal, without long tables;
                `made.txt`.
        """
        return text.fill_template(
            template,
            report=self.report,
            read=self,
            colours=COLOURS,
            long=LONG,
            version=__version__,
            areas=areas,
            cells=cells,
            text=text,
        )

    def tables(self) -> dict[str, pd.DataFrame]:
        """
        Return the tables that have rows.

        Categories have their names and the largest comes first, totals come first, the
        last row holds the sums, and a report on one status has no rows and columns of
        zeros.
        """
        tables = {}
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
            tables[name] = _with_total(table) if name in WITH_TOTAL else table
        return tables

    def sections(self) -> list[tuple[str, str, pd.DataFrame]]:
        """
        Return name, title and table of each section of a page; of a long table the top.
        """
        sections = []
        for name, table in self.tables().items():
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


# how the numbers of a column are written by us, and by a spreadsheet
KINDS: dict[str, tuple[Callable[[Any], object], str]] = {
    "id": (str, "0"),  # without separators
    "change": (_Change, "+#,##0;-#,##0;0"),
    "as_of": (str, "yyyy-mm-dd hh:mm:ss"),
    **dict.fromkeys(("median_days", "days_90"), (_Days, "#,##0.0")),
    **dict.fromkeys(SHARES.values(), (_share, "0.0%")),
}


def cells(table: pd.DataFrame) -> tuple[list[str], list[list[object]]]:
    """
    Return the header and the rows of a table: ids as text, changes with their sign,
    days, shares.
    """
    columns = table.to_dict("list")
    for name in KINDS.keys() & columns:
        columns[name] = [*map(KINDS[name][0], columns[name])]
    header = [WORDS.get(name, name) for name in map(str, table.columns)]
    return header, [list(row) for row in zip(*columns.values(), strict=True)]


def areas(counts: pd.DataFrame) -> dict[str, str]:
    """
    Return counts over time as polygons in a box of 100 by 100, by status; each hides
    the lower part of the one before.
    """
    times = [time.timestamp() for time in counts.index]
    span = times[-1] - times[0] or 1.0
    heights = counts.cumsum(axis=1) / counts.sum(axis=1).max()
    polygons = {}
    for name in reversed(counts.columns):
        points = zip(times, heights[name], strict=True)
        edge = [
            f"{100 * (time - times[0]) / span:.2f},{100 - 100 * y:.2f}"
            for time, y in points
        ]
        polygons[str(name)] = " ".join(["0,100", *edge, "100,100"])
    return polygons


def json_text(facts: Facts) -> str:
    """Return a report as JSON; times are UTC."""
    listing = facts.listing
    document: dict[str, Any] = {
        "title": facts.title,
        "note": facts.note,
        "as_of": _iso(listing.ended_at),
        "complete": listing.complete,
        "listing": {name: getattr(listing, name) for name in LISTING_IN_JSON},
        "notes": facts.notes,
        "since": facts.since and _iso(facts.since.ended_at),
    }
    for name, table in facts.tables().items():
        document[name] = (
            table.astype("object").where(table.notna(), None).to_dict("records")
        )
    written = json.dumps(
        document, ensure_ascii=False, indent=2, default=pd.Timestamp.isoformat
    )
    return written + "\n"


def _iso(unix_s: float) -> str:
    return datetime.fromtimestamp(unix_s, UTC).isoformat()
