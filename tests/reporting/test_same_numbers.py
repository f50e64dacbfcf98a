"""
The same numbers in HTML, Excel, Markdown, JSON, mail and frames: each table of each, cell by cell.
"""

from __future__ import annotations

import email
import email.policy
import json
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from io import BytesIO
from numbers import Real
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import python_calamine

from petstore_tools import Sandbox
SHEETS: dict[str, str] = {}
from petstore_tools.reporting.report import StatusReport
from petstore_tools.reporting.tables import TITLES, WORDS
from petstore_tools.sandbox import samples

Row = frozenset[tuple[str, str | float]]
CATEGORIES = {**samples.CATEGORIES, 4: "<i>Hamsters & co|</i>"}
SUMMED = ("breakdown", "by_category", "changes", "changes_by_category")
NAMES = {title: name for name, title in WORDS.items()}


@pytest.fixture(scope="module")
def report() -> StatusReport:
    """
    A week in which animals came, went and changed; the tables are short enough to stand in full.
    """
    with Sandbox(animals=60) as box:
        for day in range(7):
            box.store.snapshot()
            box.advance(days=1)
            box.change(2 + 3 * (day % 3), status=("sold", "pending", None)[day // 3])
        box.remove(13)
        box.add([("Newcomer", 99, None), ("Another", 1, "available")])
        return box.store.status_report(since="7d", categories=CATEGORIES, timezone="UTC")


def value(column: str, cell: Any) -> str | float:
    """
    Return a cell as all formats have it: percent and days with one decimal, times to the second.
    """
    if isinstance(cell, str) and column not in ("id", "name", "category"):
        digits = cell.replace(",", "").removesuffix("%").removeprefix("+")
        if digits.lstrip("-").replace(".", "", 1).isdigit():
            return float(digits)
    if column in ("first_seen", "as_of"):
        return str(cell)[:19]
    if isinstance(cell, Real):
        return (
            str(int(cell))
            if column == "id"
            else round(float(cell) * (100 if column == "share" else 1) + 1e-7, 1)
        )
    return str(cell)


def rows_of(header: list[str], lines: list[list[Any]]) -> list[Row]:
    """Return the rows of a table, whatever the order of its columns."""
    columns = [
        NAMES.get(title.removesuffix(" (UTC)"), title.removesuffix(" (UTC)")) for title in header
    ]
    return [
        frozenset((c, value(c, cell)) for c, cell in zip(columns, line, strict=True))
        for line in lines
    ]


def expected(frame: pd.DataFrame, name: str) -> list[Row]:
    """Return the rows of a frame of the report, named, with its sums where a table has them."""
    table = frame if isinstance(frame.index, pd.RangeIndex) else frame.reset_index()
    if "categoryId" in table:
        names = [CATEGORIES.get(number, str(number)) for number in table["categoryId"]]
        table = table.drop(columns=["categoryId", "label"], errors="ignore").assign(category=names)
    lines = table.values.tolist()
    if name in SUMMED:
        lines.append([table[c].sum() if table[c].dtype.kind in "if" else "total" for c in table])
    return rows_of(list(table.columns), lines)


class Tables(HTMLParser):
    """The tables of a page, by the heading above each."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: dict[str, list[list[str]]] = {}
        self._heading, self._cell = "", ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Begin a row or a text."""
        if tag == "tr":
            self.found.setdefault(self._heading, []).append([])
        if tag in ("td", "th", "h2", "strong"):
            self._cell = ""

    def handle_data(self, data: str) -> None:
        """Gather text."""
        self._cell += data

    def handle_endtag(self, tag: str) -> None:
        """End a cell or a heading."""
        if tag in ("h2", "strong"):
            self._heading = self._cell
        if tag in ("td", "th"):
            self.found[self._heading][-1].append(self._cell)


def markdown(text: str) -> dict[str, list[list[str]]]:
    """Return the tables of Markdown, by the heading above each."""
    found, heading = dict[str, list[list[str]]](), ""
    for line in text.splitlines():
        if line.startswith("## "):
            heading = line[3:]
        elif line.startswith("|") and not line.startswith("| ---"):
            plain = (
                line.replace("\\|", "\0")
                .replace("\\", "")
                .replace("&lt;", "<")
                .replace("&gt;", ">")
            )
            cells = [
                cell.strip().replace("\0", "|").replace("&amp;", "&")
                for cell in plain.split("|")[1:-1]
            ]
            found.setdefault(heading, []).append(cells)
    return found


def workbook(content: bytes) -> dict[str, list[list[Any]]]:
    """Return the tables of a workbook; those of the first sheet begin below their titles."""
    book = python_calamine.CalamineWorkbook.from_filelike(BytesIO(content))
    found = {}
    for name in book.sheet_names:
        lines: list[list[Any]] = book.get_sheet_by_name(name).to_python()
        if name != "Report":
            found[name] = lines
            continue
        for at, line in enumerate(lines):
            if any(
                str(line[0]) == title.format(since=" since 2026-01-05 09:00:00 UTC")
                for title in TITLES.values()
            ):
                end = next((n for n in range(at, len(lines)) if not any(lines[n])), len(lines))
                found[str(line[0])] = lines[at + 1 : end]
    return found


def from_json(report: StatusReport) -> dict[str, list[list[Any]]]:
    """Return the tables of JSON with the names of categories."""
    found = {}
    for name, records in json.loads(report.to_json()).items():
        if name in TITLES and records:
            for record in records:
                record.pop("label", None)
                if "categoryId" in record:
                    record["category"] = CATEGORIES.get(record.pop("categoryId"), "99")
            found[name] = [list(records[0]), *(list(record.values()) for record in records)]
    return found


def mailed(report: StatusReport) -> tuple[Any, Any, Any]:
    """Return the body of the mail, the attached page and the attached workbook."""
    mail: Any = email.message_from_bytes(report.to_mail(), policy=email.policy.default)
    page, book = mail.iter_attachments()
    return mail.get_body(("html",)).get_content(), page.get_content(), book.get_content()


def excel(report: StatusReport) -> bytes:
    """Return the workbook."""
    return mailed(report)[2]  # type: ignore[no-any-return]


FORMATS: dict[str, Callable[[StatusReport], dict[str, list[list[Any]]]]] = {
    "html": lambda report: Tables(report.to_html()).found,
    "excel": lambda report: workbook(excel(report)),
    "markdown": lambda report: markdown(report.to_markdown()),
    "json": from_json,
    "mail": lambda report: Tables(mailed(report)[0]).found,
    "page of the mail": lambda report: Tables(mailed(report)[1]).found,
}
DRAWN = {
    "html": ("summary", "counts"),
    "page of the mail": ("summary", "counts"),
    "markdown": ("counts",),
    "mail": ("counts",),
}


@pytest.mark.case("P53")
@pytest.mark.parametrize("kind", FORMATS)
def test_every_table_has_the_same_numbers_in_every_format(report: StatusReport, kind: str) -> None:
    """
    Each row of each frame, with its labels; sums are those of the frame. What is drawn is tested
    below.
    """
    told = FORMATS[kind](report)
    since = " since 2026-01-05 09:00:00 UTC"

    for name, title in TITLES.items():
        if name in DRAWN.get(kind, ()):
            continue
        keys = (name, title.format(since=since), title, SHEETS.get(name, title))
        header, *lines = next(told[key] for key in keys if key in told)
        rows = expected(getattr(report, name), "" if kind == "json" else name)
        assert Counter(rows_of(header, lines)) == Counter(rows), name


@pytest.mark.case("P53")
def test_what_is_drawn_has_the_same_numbers(report: StatusReport, tmp_path: Path) -> None:
    """
    On top of the page, the areas over time, the bars of the figure, the lines of the terminal.
    """
    assert report.summary is not None
    assert report.counts is not None
    page, animals = report.to_html(), report.summary["animals"].tolist()
    (top,) = [part for part in page.split("<section>") if 'class="glance"' in part]
    areas = [
        part.split('points="')[1].split('"')[0].split() for part in page.split("<polygon ")[1:]
    ]
    highest = report.counts.sum(axis=1).max()
    report.to_excel(tmp_path / "report.xlsx")

    assert [int(part.split("<")[0]) for part in top.split("<strong>")[1:]] == [
        animals[-1],
        *animals[1:-1],
    ]
    assert f"{animals[0]} before" in top
    heights = [100 - float(area[len(report.counts) - 1].split(",")[1]) for area in areas]
    assert heights == pytest.approx(
        (100 * report.counts.iloc[-1].cumsum() / highest).tolist(), abs=0.01
    )
    counts = report.breakdown["count"].tolist()
    assert [bar.get_width() for bar in report.figure().axes[0].patches] == counts
    for status, count in report.breakdown["count"].items():
        assert f"{status} {count:,} " in " ".join(report.to_text().split())
    assert workbook((tmp_path / "report.xlsx").read_bytes()) == workbook(excel(report))
