"""A report as a workbook: real numbers, a native chart, text that no program runs."""

from __future__ import annotations

import io
import textwrap
from typing import Any

import pandas as pd
from xlsxwriter import Workbook
from xlsxwriter.worksheet import Worksheet

from petstore_tools.listing.frames import named_statuses
from petstore_tools.reporting.page import Chart, chart
from petstore_tools.reporting.presentation import (
    LOOKS,
    WITH_TOTAL,
    Presentation,
    column_format,
    status_colour,
    with_names,
)
from petstore_tools.tabular.cells import EXACT
from petstore_tools.tabular.xlsx import WRITER_OPTIONS

SHEETS: dict[str, str] = LOOKS["sheets"]  # of single animals, by their tables
METHOD = "How this was made"
_LINE = 80  # characters of a line, so that it is printed whole
_CHART_ROWS = 14
_EPOCH = pd.Timestamp(1899, 12, 30)  # day 0 of a spreadsheet


def workbook(presentation: Presentation) -> bytes:
    """
    Return a workbook: the report on its first sheet, then single animals, and how it
    was made.

    Times are in the zone of the report; Excel knows no zones, so titles name it.
    """
    memory = io.BytesIO()
    with Workbook(memory, WRITER_OPTIONS) as book:
        _Writer(book, presentation).write()
    return memory.getvalue()


class _Writer:
    """Writes the sheets of a report into a workbook."""

    def __init__(self, book: Workbook, presentation: Presentation) -> None:
        self.book = book
        self.presentation = presentation
        self.looks = presentation.report.looks
        self.method = textwrap.wrap(presentation.method, _LINE)
        self.bold = book.add_format({"bold": True})

    def write(self) -> None:
        """Write all sheets, the report first."""
        self._write_report(self.book.add_worksheet("Report"))
        report = self.presentation.report
        animals = report.animals.assign(status=named_statuses(report.animals))
        tables = {**report.tables(), "animals": animals}
        if "events" in tables:
            events = tables["events"][::-1]
            tables["events"] = events[events["event"] != "another status"]
        for name, title in SHEETS.items():
            if name not in tables:
                continue
            table = with_names(tables[name], self.looks.categories)
            sheet = self.book.add_worksheet(title)
            self._write_table(sheet, 0, table)
            sheet.autofilter(0, 0, max(len(table), 1), len(table.columns) - 1)
            sheet.autofit(550)  # pixels at most; longer texts shrink
            sheet.freeze_panes(1, 0)
            sheet.repeat_rows(0)
        sheet = self.book.add_worksheet(METHOD)
        sheet.write_column(0, 0, self.method)
        if report.counts is not None:
            self._write_table(sheet, len(self.method) + 1, tables["counts"])
        sheet.set_column(0, 50, 19)
        for sheet in self.book.worksheets():
            sheet.set_paper(9)  # A4
            sheet.fit_to_pages(1, 0)

    def _write_report(self, sheet: Worksheet) -> None:
        """Write title, lines, tables and chart, in the order of the page."""
        sheet.set_column(0, 0, 26)
        sheet.set_column(1, 50, 12)
        presentation = self.presentation
        lines = textwrap.wrap(self.looks.title, 50)  # characters may be Chinese
        for line in presentation.lines:
            lines += textwrap.wrap(line, _LINE)
        sheet.write_column(0, 0, lines)
        sheet.write_string(0, 0, lines[0], self.bold)
        row = len(lines) + 1
        drawing = chart(presentation)
        for name in ("summary", "chart", "breakdown", "by_category", "days"):
            if name == "chart" and drawing:
                sheet.insert_chart(row, 0, self._chart(drawing))
                row += _CHART_ROWS
            elif name in presentation.tables:
                table = presentation.tables[name]
                sheet.write_string(row, 0, presentation.titles[name], self.bold)
                self._write_table(sheet, row + 1, table)
                row += len(table) + 3
                if name in WITH_TOTAL:
                    sums = {"type": "no_errors", "format": self.bold}
                    sheet.conditional_format(row - 2, 0, row - 2, 50, sums)

    def _write_table(self, sheet: Worksheet, top: int, table: pd.DataFrame) -> None:
        """Write a table; texts that are too long shrink."""
        for index, (name, column) in enumerate(table.items()):
            title, _, number_format = column_format(str(name))
            if isinstance(column.dtype, pd.DatetimeTZDtype):
                zoned = column.dt.tz_convert(self.looks.timezone or "tzlocal()")
                zones = sorted(zoned.dropna().dt.strftime("%Z").unique())
                title = f"{title} ({', '.join(zones)})"
                column = zoned.dt.tz_localize(None)
                number_format = "d mmm yyyy hh:mm"
            is_number = pd.api.types.is_numeric_dtype(column) and name != "id"
            style = {"align": "right" if is_number else "left", "shrink": True}
            header = self.book.add_format({"bold": True, "bottom": 1, **style})
            cell = self.book.add_format({"num_format": number_format, **style})
            cells = column.astype("object").where(column.notna(), "-")
            sheet.write_string(top, index, title, header)
            sheet.write_column(top + 1, index, cells.map(_exact), cell)
            if name == "share" and "status" in table:
                area = (top + 1, index, top + len(table), index)
                sheet.conditional_format(*area, LOOKS["share_bar"])

    def _chart(self, drawing: Chart) -> Any:
        """Return lines of the counts that stand on the last sheet."""
        counts = self.presentation.report.counts
        assert counts is not None
        top = len(self.method) + 1
        last = top + len(counts)
        scatter = self.book.add_chart({"type": "scatter", "subtype": "straight"})
        for line in drawing.lines:
            column = [*counts].index(line.status) + 1
            scatter.add_series(
                {
                    "name": [METHOD, top, column],
                    "categories": [METHOD, top + 1, 0, last, 0],
                    "values": [METHOD, top + 1, column, last, column],
                    "line": {"color": status_colour(line.status), "width": 2},
                }
            )
        times = counts.index.to_series().dt.tz_convert(
            self.looks.timezone or "tzlocal()"
        )
        days = (times.dt.tz_localize(None) - _EPOCH) / pd.Timedelta(days=1)
        begin, end = days.iloc[[0, -1]]
        x_axis = {"min": begin, "max": end, "major_unit": (end - begin) / 2}
        scatter.set_x_axis({"num_format": "d mmm yyyy", **x_axis})
        low, step = drawing.ticks[0], drawing.ticks.step
        y_axis = {"min": low, "max": drawing.high, "major_unit": step}
        scatter.set_y_axis({"major_gridlines": LOOKS["grid"], **y_axis})
        scatter.set_size({"width": 640, "height": 20 * _CHART_ROWS - 20})
        return scatter


def _exact(cell: object) -> object:
    """Return huge whole numbers as text, since a spreadsheet rounds them."""
    return str(cell) if isinstance(cell, int) and abs(cell) > EXACT else cell
