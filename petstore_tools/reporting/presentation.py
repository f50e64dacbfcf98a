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
from itertools import cycle
from typing import Any, NamedTuple

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from petstore_tools import text
from petstore_tools._version import __version__
from petstore_tools.reporting.chart import Chart, draw_chart
from petstore_tools.reporting.facts import Facts
from petstore_tools.reporting.tables import NEW

LOOKS = json.loads(files(__package__).joinpath("looks.json").read_text("utf-8"))
TITLES: dict[str, str] = LOOKS["titles"]  # of sections, in the order of a page
WITH_TOTAL = ("breakdown", "by_category")
TOP = 15  # rows of a long table that a page shows
AT_LEAST = "\N{GREATER-THAN OR EQUAL TO} "
# columns of days, and which one says of each cell that it is a lower bound
BOUNDS = {
    "median_days": "stays_are_longer",
    "days_90": "stays_are_longer",
    "longest_days": "is_longer",
}
_TEMPLATES = Environment(
    loader=PackageLoader("petstore_tools"),
    autoescape=select_autoescape(),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
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
    """
    A number that is written in a style of its own; a half is rounded up.

    Attributes:
        style: Such as `,.0f`.
        sign: What stands in front of it.
    """

    style: str
    sign: str = ""

    def __str__(self) -> str:
        value = float(self)
        text = format(value + 1e-9, self.style) if value else format(0, self.style[-3:])
        return self.sign + text.replace("-", "\N{MINUS SIGN}")


def show(value: Any, style: str) -> Any:
    """Return a cell as it is shown, None where it is missing."""
    if pd.isna(value):
        return None
    if not style or isinstance(value, str):
        return str(value)
    number = Number(value)
    number.style = style
    return number


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

    @cached_property
    def chart(self) -> Chart | None:
        """The counts over time."""
        return draw_chart(self.report)

    def fill(self, template: str) -> str:
        """Fill a template; in HTML, every value is escaped."""
        return _TEMPLATES.get_template(template).render(
            report=self.report,
            read=self,
            text=text,
            colours=self.colours,
            version=__version__,
        )

    @cached_property
    def titles(self) -> dict[str, str]:
        """The titles of sections; the first one says both times."""
        report = self.report
        until = report.looks.when(report.listing.as_of)
        since = report.since and report.looks.when(report.since.as_of)
        return TITLES | {"summary": f"From {since} to {until}"}

    @cached_property
    def statuses(self) -> list[str]:
        """The statuses that animals have or had."""
        counts = self.report.counts
        if counts is None:
            counts = self.report.breakdown[["count"]].T
        return [*counts.columns[counts.any()]]

    @cached_property
    def colours(self) -> dict[str, str]:
        """The colour of each status, also of those that the document does not name."""
        named: dict[str, str] = LOOKS["colours"]
        palette = cycle(LOOKS["other_colours"])
        return {status: named.get(status) or next(palette) for status in self.statuses}

    @cached_property
    def tables(self) -> dict[str, pd.DataFrame]:
        """
        The tables that have rows, whole, in the order of the sections.

        Categories have their names, and the last row holds the sums. What nobody has is
        left out: statuses without animals, and columns without values.
        """
        report = self.report
        tables = report.tables()
        if "events" in tables:
            events = tables["events"][::-1]  # the newest first
            sold = events[events["to"].isin(["sold"])].fillna({"from": NEW})
            tables["sold"] = sold.drop(columns=["event", "to"])
        unused = [*set(report.breakdown.index) - set(self.statuses)]
        read_tables = {}
        for name in filter(tables.__contains__, TITLES):
            table = tables[name].dropna(axis="columns", how="all")
            table = table.drop(columns=unused, errors="ignore")
            if name == "breakdown":
                is_used = table["status"].isin(self.statuses)
                table = table[is_used].reset_index(drop=True)
            if len(table):
                table = with_names(table, report.looks.categories)
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
        times = table.select_dtypes("datetimetz")
        to_day = partial(self.report.looks.when, clock="")
        days = times.map(to_day, na_action="ignore").astype("object")
        table = table.assign(**days)
        if name == "pending" and self.report.counts is not None:
            first_day = self.report.looks.when(self.report.counts.index[0], "")
            table = table.fillna({"since": f"{first_day} or before"})
        shown = table.drop(columns=[*BOUNDS.values()], errors="ignore")
        columns = [*map(str, shown.columns)]
        header, styles, _ = zip(*map(column_format, columns), strict=True)
        cells = [[*map(show, row, styles)] for row in shown.to_numpy("object")]
        for column in filter(columns.__contains__, BOUNDS):
            index = columns.index(column)
            for row, is_bound in zip(cells, table[BOUNDS[column]], strict=True):
                if is_bound:
                    row[index].sign = AT_LEAST
        return Section(name, title, columns, header, cells, has_total)


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
