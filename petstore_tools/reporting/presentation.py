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
from petstore_tools.errors import ArgumentError
from petstore_tools.reporting import sentences
from petstore_tools.reporting.chart import (
    TALL,
    WIDE,
    Bar,
    Flow,
    LineChart,
    draw_flow,
    line_charts,
    stacked_bars,
    status_bars,
)
from petstore_tools.reporting.facts import Facts
from petstore_tools.reporting.sentences import (
    AT_LEAST,
    age_text,
    span_text,
)
from petstore_tools.reporting.tables import (
    ARRIVED_SOLD,
    BOUNDS,
    NEW,
)
from petstore_tools.reporting.tiles import Tile, report_tiles

LOOKS = json.loads(files(__package__).joinpath("looks.json").read_text("utf-8"))
TITLES: dict[str, str] = LOOKS["titles"]  # of sections, in the order of a page
WITH_TOTAL = ("breakdown", "by_category")
TOP = 15  # rows of a long table that a page shows
LONGEST = 8  # animals that wait longest
PICTURES = ("status", "flow", "counts", "category", "ageing")
_TEMPLATES = Environment(
    loader=PackageLoader("petstore_tools"),
    autoescape=select_autoescape(("html", "svg")),
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
    """
    A table as it is read: of a long table the top, which its title says.

    Attributes:
        lead: A sentence or two below the title, or "".
    """

    name: str
    title: str
    lead: str
    columns: list[str]
    header: tuple[str, ...]
    rows: list[list[Any]]
    has_total: bool


@dataclass(frozen=True)
class Presentation:
    """A report as every writer shows it."""

    report: Facts

    @property
    def title(self) -> str:
        """The title, and the author's note."""
        looks = self.report.looks
        return " \N{EN DASH} ".join(filter(None, [looks.title, looks.note]))

    @property
    def opening(self) -> list[str]:
        """The alerts that are met, the headline, and what to know of the listing."""
        report = self.report
        caution = sentences.caution(report)
        lines = [*sentences.alerts(report), sentences.headline(report)]
        return [*lines, caution] if caution else lines

    @property
    def source(self) -> str:
        """The title and the provenance."""
        return f"{self.title}: {sentences.provenance(self.report)}"

    @property
    def lines(self) -> list[str]:
        """What stands above the tables: the opening, the provenance, notes."""
        notes = [f"Note: {note}" for note in self.report.notes]
        return [*self.opening, self.source, *notes]

    @property
    def method(self) -> str:
        """How the report was made, in sentences."""
        return self.fill("made.txt").replace("\n", " ")

    def fill(self, template: str, **values: object) -> str:
        """Fill a template; in HTML, every value is escaped."""
        return _TEMPLATES.get_template(template).render(
            report=self.report,
            read=self,
            say=sentences,
            text=text,
            colours=self.colours,
            version=__version__,
            **values,
        )

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

    def colour(self, status: str) -> str:
        """Return the colour of a status, also if no animal has it."""
        return self.colours.get(status) or LOOKS["colours"][status]

    @cached_property
    def tiles(self) -> list[Tile]:
        """At most four numbers that are asked for first."""
        return report_tiles(self.report, self.colours)

    @cached_property
    def tables(self) -> dict[str, pd.DataFrame]:
        """
        The tables that have rows, whole, in the order of the sections.

        Categories have their names, and the last row holds the sums. What no animal has
        is left out: statuses without animals, and columns without values.
        """
        report = self.report
        tables = report.tables()
        if "summary" in tables:
            summary = tables["summary"]
            is_empty = (summary["what"] == ARRIVED_SOLD) & (summary["animals"] == 0)
            tables["summary"] = summary[~is_empty].reset_index(drop=True)
        if "ageing" in tables:
            table = ageing_rows(report, tables["ageing"])
            is_one = table["status"].nunique() < 2
            tables["ageing"] = table.drop(columns="status") if is_one else table
        if report.ageing is None:  # no one knows who waits longest
            tables.pop("pending", None)
        elif "pending" in tables:
            tables["pending"] = tables["pending"].drop(columns="since")
        if "events" in tables:
            events = tables["events"][::-1]  # the newest first
            sold = events[events["to"].isin(["sold"])].fillna({"from": NEW})
            tables["sold"] = sold.drop(columns=["event", "to", "after"])
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
        title = self.findings.get(name) or self.titles[name]
        rows = len(table) - has_total
        top = LONGEST if name == "pending" else TOP
        lead = self.leads.get(name, "")
        if rows > top and name == "by_category":
            lead = f"The {top} largest of {rows:,} categories; animals by status now."
        elif rows > top and name in ("transitions", "sold", "unseen"):
            title += f", the first {top} of {rows:,}"
        if rows > top and name not in ("breakdown", "days", "ageing"):
            table = pd.concat([table.head(top), table[rows:]])
        times = table.select_dtypes("datetimetz")
        now = self.report.listing.as_of
        to_day = partial(self.report.looks.day, now=now, month="%b")
        days = times.map(to_day, na_action="ignore").astype("object")
        bounds = {
            column: table[flag]
            for column, flag in BOUNDS.items()
            if column in table and flag in table
        }
        if name == "pending" and "days" in table:
            assert self.report.pending is not None
            bounds["days"] = self.report.pending["since"].isna()[: len(table)]
        table = table.assign(**days)
        shown = table.drop(columns=[*BOUNDS.values()], errors="ignore")
        columns = [*map(str, shown.columns)]
        header, styles, _ = zip(*map(column_format, columns), strict=True)
        cells = [[*map(show, row, styles)] for row in shown.to_numpy("object")]
        for column, flags in bounds.items():
            index = columns.index(column)
            for row, is_bound in zip(cells, flags, strict=True):
                if is_bound and row[index] is not None:
                    row[index].sign = AT_LEAST
        return Section(name, title, lead, columns, header, cells, has_total)

    @cached_property
    def titles(self) -> dict[str, str]:
        """The titles of sections that have no finding."""
        report = self.report
        if report.since is None:
            return TITLES
        since = report.looks.when(report.since.as_of)
        until = report.looks.when(report.listing.as_of)
        ways = f"What happened since {sentences.day(report, report.since.as_of)}"
        return TITLES | {"summary": f"From {since} to {until}", "transitions": ways}

    @property
    def fold_titles(self) -> dict[str, str]:
        """The titles of tables whose finding stands above their picture."""
        return {"breakdown": "By status", "transitions": "All ways between statuses"}

    @cached_property
    def findings(self) -> dict[str, str]:
        """What sections show, if the numbers are certain."""
        report = self.report
        findings = {
            "breakdown": sentences.breakdown_finding(report),
            "ageing": sentences.ageing_finding(report),
        }
        if (
            sentences.is_certain(report)
            and report.since
            and "by_category" in self.tables
        ):
            table = self.tables["by_category"]
            findings["by_category"] = sentences.category_finding(table, TOP)
        return findings

    @cached_property
    def leads(self) -> dict[str, str]:
        """What stands below the titles of sections."""
        report = self.report
        leads = dict[str, str](LOOKS["leads"])
        leads["ageing"] = sentences.ageing_lead(report)
        if report.pending is not None:
            leads["pending"] = f"All {len(report.pending):,} are in the workbook."
        if report.days is not None and report.days[[*BOUNDS.values()]].to_numpy().any():
            leads["days"] = LOOKS["bounds"]
        return leads

    @property
    def lines_title(self) -> str:
        """What the small charts show."""
        counts = self.report.counts
        assert counts is not None
        first = self.report.looks.day(counts.index[0], self.report.listing.as_of)
        return f"{text.pluralize(len(counts), 'listing')} since {first}"

    @cached_property
    def charts(self) -> list[LineChart]:
        """The small charts, one a status."""
        return line_charts(self.report)

    @cached_property
    def flows(self) -> list[tuple[str, Flow]]:
        """The flow for a wide page and for a phone, or nothing."""
        shapes = {"wide": WIDE, "tall": TALL}
        flows = {name: draw_flow(self.report, shape) for name, shape in shapes.items()}
        return [(name, flow) for name, flow in flows.items() if flow is not None]

    @property
    def last_day(self) -> str:
        """The day of the listing as the small charts write it."""
        now = self.report.listing.as_of
        counts = self.report.counts
        if counts is not None and (now - counts.index[0]).days < 2:
            return sentences.day(self.report, now, "%b")
        return self.report.looks.day(now, now, "%b")

    def bars(self, name: str) -> list[Bar]:
        """Return the bars of a picture."""
        bars = {
            "status": self.status_bars,
            "category": self.category_bars,
            "ageing": self.ageing_bars,
        }
        return bars[name]

    def picture(self, name: str) -> str | None:
        """Return a picture as SVG that stands alone, None if nothing can be seen."""
        if name not in PICTURES:
            words = ", ".join(map(repr, PICTURES))
            raise ArgumentError(f"there is no chart {name!r}: name one of {words}")
        drawing: Any = None
        if name == "counts":
            drawing = self.charts
        elif name == "flow":
            drawing = dict(self.flows).get("wide")
        else:
            drawing = self.bars(name)
        return self.fill("chart.svg", name=name, drawing=drawing) if drawing else None

    @cached_property
    def status_bars(self) -> list[Bar]:
        """A bar for each status that animals have."""
        return status_bars(self.report)

    @cached_property
    def category_bars(self) -> list[Bar]:
        """A bar for each category, the largest ones alone if there are many."""
        table = self.tables.get("by_category")
        if table is None:
            return []
        return stacked_bars(table[:-1].head(TOP), self.statuses)

    @cached_property
    def ageing_bars(self) -> list[Bar]:
        """A bar for each row of the ageing of pending animals."""
        report = self.report
        if report.ageing is None:
            return []
        table = ageing_rows(report, report.ageing)
        rows = table[table["status"] == "pending"]
        most = rows["animals"].max() if rows["animals"].any() else 1
        urgent = f"more than {age_text(report.looks.long)}"
        bars = []
        for label, animals in rows[["time", "animals"]].itertuples(index=False):
            parts = [("pending", animals / most)] if animals else []
            bars.append(Bar(label, parts, int(animals), is_faint=label != urgent))
        return bars


def ageing_rows(report: Facts, ageing: pd.DataFrame) -> pd.DataFrame:
    """
    Return the ageing of pending animals, and of those that an alert names, with words
    for its days.
    """
    watched = {"pending", *(a.status for a in report.looks.alerts if a.is_age)}
    animals = ageing.groupby("status")["animals"].transform("sum")
    rows = ageing[ageing["status"].isin(watched) & (animals > 0)]
    ages = [0.0, *report.looks.ages]
    words = [
        span_text(start, end, is_bound=start not in ages)
        for start, end in rows[["days_from", "days_to"]].itertuples(index=False)
    ]
    columns = {"time": words, "animals": rows["animals"], "status": rows["status"]}
    return pd.DataFrame(columns).reset_index(drop=True)


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
        "alerts": sentences.alerts(facts),
        "headline": sentences.headline(facts),
        "provenance": sentences.provenance(facts),
        "caution": sentences.caution(facts),
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
