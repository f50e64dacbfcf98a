"""
A report as people read it: its lines, and its sections with the cells of their tables,
made once for all writers. `looks.json` has the words, colours and formats.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from importlib.resources import files
from typing import Any, NamedTuple

import pandas as pd

from petstore_tools import text
from petstore_tools._version import __version__
from petstore_tools.reporting.facts import Facts, moves

LOOKS = json.loads(files(__package__).joinpath("looks.json").read_text("utf-8"))
TITLES: dict[str, str] = LOOKS["titles"]  # of sections, in the order of a page
WITH_TOTAL = ("breakdown", "by_category")
TOP = 15  # rows of a long table that a page shows
_OF_LISTING = "completeness reason status environment rows requests notes".split()


def column_format(column: str) -> tuple[str, ...]:
    """
    Return the title of a column, and how its numbers are written on a page ("": it
    holds texts) and in a workbook.

    >>> column_format("share")
    ('share', '.1%', '0.0%')
    """
    return tuple(LOOKS["columns"].get(column, (column, ",.0f", "#,##0")))


class Number(float):
    """A number that is written in a style of its own; a half is rounded up."""

    style: str

    def __format__(self, _: str) -> str:
        value = float(self)
        return format(value + 1e-9, self.style) if value else format(0, self.style[-3:])


def show(value: Any, style: str) -> Any:
    """Return a cell as it is shown, None where it is missing."""
    if pd.isna(value):
        return None
    if not style or isinstance(value, str):
        return str(value)
    number = Number(value)
    number.style = style
    return number


def status_colour(status: str) -> str:
    """Return the colour of a status, also of one that the document does not name."""
    palette = LOOKS["other_colours"]
    return str(LOOKS["colours"].get(status, palette[len(status) % len(palette)]))


class Section(NamedTuple):
    """A table as it is read: of a long one the top, which its title says."""

    name: str
    title: str
    columns: list[str]
    header: tuple[str, ...]
    rows: list[list[Any]]
    has_total: bool


@dataclass(frozen=True)
class Presentation:
    """A report as every writer shows it."""

    report: Facts

    @property
    def lines(self) -> list[str]:
        """What stands below the title: headline, the author's note, further notes."""
        report = self.report
        notes = [f"Note: {note}" for note in report.notes]
        return [report.headline, *filter(None, [report.looks.note]), *notes]

    @property
    def method(self) -> str:
        """How the report was made, in sentences."""
        return self.fill("made.txt").replace("\n", " ")

    def fill(self, template: str, **values: object) -> str:
        """Fill a template; in HTML, every value is escaped."""
        return text.fill_template(
            template,
            report=self.report,
            read=self,
            text=text,
            colour=status_colour,
            version=__version__,
            **values,
        )

    @cached_property
    def titles(self) -> dict[str, str]:
        """The titles of sections."""
        since, status = self.report.since, self.report.listing.status
        titles = TITLES | LOOKS["titles_of_status"] if status else TITLES
        day = since and self.report.looks.when(since.as_of)
        return {
            name: title.format(status=status, since=day)
            for name, title in titles.items()
        }

    @cached_property
    def tables(self) -> dict[str, pd.DataFrame]:
        """
        The tables that have rows, whole, in the order of the sections.

        Categories have their names, the last row holds the sums, and a report on one
        status says nothing twice.
        """
        report = self.report
        status = report.listing.status
        tables = report.tables()
        if status is not None:
            statuses = tables.pop("breakdown")["status"]
            tables["by_category"] = tables["by_category"].drop(columns=statuses)
        if "events" in tables:
            events = tables["events"][::-1]  # the newest first
            for name, (_, is_move, same) in moves(events, status).items():
                tables[name] = events[is_move].drop(columns=["event", same])
        read_tables = {}
        for name in TITLES:
            if name in tables and len(tables[name]):
                table = with_names(tables[name], report.looks.categories)
                read_tables[name] = with_total(table) if name in WITH_TOTAL else table
        return read_tables

    @cached_property
    def sections(self) -> list[Section]:
        """The sections of a page, each with the cells of its table."""
        return [self._section(name, table) for name, table in self.tables.items()]

    def _section(self, name: str, table: pd.DataFrame) -> Section:
        has_total = name in WITH_TOTAL
        title = self.titles[name]
        rows = len(table) - has_total
        if rows > TOP and name not in ("breakdown", "days"):
            title += f", the first {TOP} of {rows:,}"
            table = pd.concat([table.head(TOP), table[rows:]])
        table = self._with_days(table)
        columns = [*map(str, table.columns)]
        header, styles, _ = zip(*map(column_format, columns), strict=True)
        cells = [[*map(show, row, styles)] for row in table.to_numpy("object")]
        return Section(name, title, columns, header, cells, has_total)

    def _with_days(self, table: pd.DataFrame) -> pd.DataFrame:
        """Write times, without the clock where each is on a day of its own."""
        times = table.select_dtypes("datetimetz")
        when = self.report.looks.when
        for clock in ("", ", %H:%M"):
            days = times.map(partial(when, clock=clock), na_action="ignore")
            if days.T.nunique().equals(days.T.count()):
                break
        return table.assign(**days.astype("object"))


def with_names(table: pd.DataFrame, labels: Mapping[int, str]) -> pd.DataFrame:
    """
    Return a table with the names of categories, and an id only where no name is known.
    """
    if "categoryId" not in table:
        return table
    names = table["categoryId"].map(lambda number: labels.get(number) or str(number))
    table = table.assign(categoryId=names).drop(columns="label", errors="ignore")
    return table.rename(columns={"categoryId": "category"})


def with_total(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with its sums in the last row."""
    sums = table.iloc[:, 1:].sum(min_count=1)
    whole = table.copy()
    whole.loc[len(table)] = ["total", *sums]
    return whole.astype(table.dtypes)


def json_text(facts: Facts) -> str:
    """Return a report as JSON; times are UTC."""
    listing = facts.listing
    document: dict[str, Any] = {
        "title": facts.looks.title,
        "note": facts.looks.note,
        "as_of": listing.as_of,
        "complete": listing.complete,
        "listing": {name: getattr(listing, name) for name in _OF_LISTING},
        "notes": facts.notes,
        "since": facts.since and facts.since.as_of,
    }
    for name, table in facts.tables().items():
        cells = table.astype("object").where(table.notna(), None)
        document[name] = cells.to_dict("records")
    written = json.dumps(
        document, ensure_ascii=False, indent=2, default=datetime.isoformat
    )
    return written + "\n"
