"""A report as a workbook: real numbers, a native chart, text that no program runs."""

import io
import textwrap
from typing import Any

import pandas as pd
from xlsxwriter import Workbook
from xlsxwriter.worksheet import Worksheet

from petstore_tools.listing.frames import named_statuses
from petstore_tools.reporting.chart import Chart
from petstore_tools.reporting.facts import Facts, Looks
from petstore_tools.reporting.presentation import (
    AT_LEAST,
    BOUNDS,
    LOOKS,
    WITH_TOTAL,
    Presentation,
    column_format,
    with_names,
)
from petstore_tools.tabular.cells import EXACT
from petstore_tools.tabular.workbooks import WRITER_OPTIONS

SHEETS: dict[str, str] = LOOKS["sheets"]  # of single animals, by their tables
METHOD = "How this was made"
_LINE = 80  # characters of a line, so that it is printed whole
_CHART_ROWS = 16
_TABLES = "breakdown", "transitions", "by_category", "days"


def workbook(presentation: Presentation) -> bytes:
    """
    Return a workbook: the report on its first sheet, then single animals, and how it
    was made.

    Times are in the zone of the report; Excel knows no zones, so titles name it.
    """
    memory = io.BytesIO()
    with Workbook(memory, WRITER_OPTIONS) as book:
        report = presentation.report
        method = textwrap.wrap(presentation.method, _LINE)
        counts_row = len(method) + 1
        write_report(book, presentation, counts_row)
        for name, table in animal_lists(report).items():
            table = with_names(table, report.looks.categories)
            sheet = book.add_worksheet(SHEETS[name])
            write_table(book, sheet, 0, table, report.looks)
            sheet.autofilter(0, 0, max(len(table), 1), len(table.columns) - 1)
            sheet.autofit(550)  # pixels at most; longer texts shrink
            sheet.freeze_panes(1, 0)
            sheet.repeat_rows(0)
        sheet = book.add_worksheet(METHOD)
        sheet.write_column(0, 0, method)
        if report.counts is not None:
            counts = report.counts.reset_index()
            write_table(book, sheet, counts_row, counts, report.looks)
        sheet.set_column(0, 50, 19)
        for sheet in book.worksheets():
            sheet.set_paper(9)  # A4
            sheet.fit_to_pages(1, 0)
    return memory.getvalue()


def animal_lists(report: Facts) -> dict[str, pd.DataFrame]:
    """Return the tables of single animals; of events those that a sheet names."""
    animals = report.animals.assign(status=named_statuses(report.animals))
    tables = {**report.tables(), "animals": animals}
    if "events" in tables:
        events = tables["events"][::-1]
        tables["events"] = events[events["event"] != "changed status"]
    return {name: tables[name] for name in SHEETS if name in tables}


def write_report(book: Workbook, presentation: Presentation, counts_row: int) -> None:
    """Write title, lines, tables and chart, in the order of the page."""
    sheet = book.add_worksheet("Report")
    sheet.set_column(0, 0, 26)
    sheet.set_column(1, 50, 12)
    bold = book.add_format({"bold": True})
    looks = presentation.report.looks
    lines = textwrap.wrap(looks.title, 50)  # characters may be Chinese
    for line in presentation.lines:
        lines += textwrap.wrap(line, _LINE)
    sheet.write_column(0, 0, lines)
    sheet.write_string(0, 0, lines[0], bold)
    row = len(lines) + 1
    tables = presentation.tables
    for name in ("summary", "chart", *_TABLES):
        if name in tables:
            sheet.write_string(row, 0, presentation.titles[name], bold)
            write_table(book, sheet, row + 1, tables[name], looks)
            row += len(tables[name]) + 3
        elif name == "chart" and presentation.chart:
            scatter = draw(book, presentation.chart, presentation, counts_row)
            sheet.insert_chart(row, 0, scatter)
            row += _CHART_ROWS
        if name in WITH_TOTAL:
            sums = {"type": "no_errors", "format": bold}
            sheet.conditional_format(row - 2, 0, row - 2, 50, sums)


def write_table(
    book: Workbook, sheet: Worksheet, top: int, table: pd.DataFrame, looks: Looks
) -> None:
    """Write a table; texts that are too long shrink."""
    columns = table.drop(columns=[*BOUNDS.values()], errors="ignore")
    for index, (name, column) in enumerate(columns.items()):
        title, _, number_format = column_format(str(name))
        if isinstance(column.dtype, pd.DatetimeTZDtype):
            times = {time: looks.local_time(time) for time in column.dropna().unique()}
            zones = sorted({f"{time:%Z}" for time in times.values()})
            if zones:
                title = f"{title} ({', '.join(zones)})"
            hours = {time: local.replace(tzinfo=None) for time, local in times.items()}
            column = column.map(hours).astype("datetime64[us]")
            number_format = "d mmm yyyy hh:mm"
            sheet.set_column(index, index, 18)
        is_number = pd.api.types.is_numeric_dtype(column) and name != "id"
        style = {"align": "right" if is_number else "left", "shrink": True}
        header = book.add_format({"bold": True, **style})
        cell_format = book.add_format({"num_format": number_format, **style})
        cells = column.astype("object").where(column.notna(), "-").map(exact)
        sheet.write_string(top, index, title, header)
        sheet.write_column(top + 1, index, cells, cell_format)
        if name in BOUNDS:
            at_least = f'"{AT_LEAST}"{number_format}'
            longer_format = book.add_format({"num_format": at_least, **style})
            for row in table.index[table[BOUNDS[name]]]:
                sheet.write(top + 1 + row, index, column[row], longer_format)


def draw(book: Workbook, chart: Chart, presentation: Presentation, top: int) -> Any:
    """Return lines of the counts that stand below a row of the last sheet."""
    counts = presentation.report.tables()["counts"]
    last = top + len(counts)
    scatter = book.add_chart({"type": "scatter", "subtype": "straight"})
    for status, *_ in chart.lines:
        column = [*counts].index(status)
        scatter.add_series(
            {
                "name": [METHOD, top, column],
                "categories": [METHOD, top + 1, 0, last, 0],
                "values": [METHOD, top + 1, column, last, column],
                "line": {"color": presentation.colours[status], "width": 2},
            }
        )
    days = (counts["as_of"].iloc[-1] - counts["as_of"].iloc[0]).days
    scatter.set_x_axis({"num_format": "d mmm yyyy", "major_unit": days // 5 + 1})
    scatter.set_title({"name": chart.title, **LOOKS["chart_title"]})
    grid = {"major_unit": chart.ticks.step, "major_gridlines": LOOKS["grid"]}
    scatter.set_y_axis({"min": 0, "max": chart.ticks[-1], **grid})
    scatter.set_size({"width": 640, "height": 20 * _CHART_ROWS - 20})
    return scatter


def exact(cell: object) -> object:
    """Return huge whole numbers as text, since a spreadsheet rounds them."""
    return str(cell) if isinstance(cell, int) and abs(cell) > EXACT else cell
