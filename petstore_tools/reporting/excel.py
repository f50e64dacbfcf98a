"""Tables as a workbook: real numbers, native charts, text that no spreadsheet runs."""

from __future__ import annotations

import io
import textwrap
from datetime import tzinfo
from typing import Any

import pandas as pd
from xlsxwriter import Workbook

from petstore_tools.listing.frames import named_statuses
from petstore_tools.reporting.facts import TITLES, TOTAL, Facts
from petstore_tools.reporting.presentation import (
    COLOURS,
    KINDS,
    WORDS,
    Presentation,
    named,
    rows_without_total,
)
from petstore_tools.tabular.cells import EXACT
from petstore_tools.tabular.xlsx import WRITER_OPTIONS

SHEETS = {**TITLES, "animals": "All animals", "made": "How this was made"}
CHARTS = {
    "breakdown": {"type": "column"},
    "counts": {"type": "area", "subtype": "stacked"},
}
_LINE = 80  # characters of a line above a table, so that it is printed whole


def workbook(report: Facts) -> bytes:
    """
    Return a workbook with a sheet for each table, for all animals, and for how it was
    made.

    Times are in the zone of the report; Excel knows no zones, so titles name it.
    """
    read = Presentation(report)
    animals = report.animals.assign(status=named_statuses(report.animals))
    tables = {
        **read.tables(),
        "animals": named(animals, report.categories),
        "made": pd.DataFrame({"in sentences": textwrap.wrap(read.made, _LINE)}),
    }
    heading = textwrap.wrap(report.title, 60)  # characters may be Chinese
    lines = [line for fact in read.facts for line in textwrap.wrap(fact, _LINE)]
    top = len(heading) + len(lines) + 2
    memory = io.BytesIO()
    with Workbook(memory, WRITER_OPTIONS) as book:
        left = book.add_format({"align": "left"})  # not the format of the column
        bold = book.add_format({"bold": True})
        for name, table in tables.items():
            sheet = book.add_worksheet(SHEETS[name])
            for index, (key, column) in enumerate(table.items()):
                is_number = pd.api.types.is_numeric_dtype(column) and key != "id"
                side = {"align": "right" if is_number else "left"}
                _, number_format = KINDS.get(str(key), (str, "#,##0"))
                style = {"num_format": number_format, "shrink": True, **side}
                width = 19 if key == "as_of" else None  # characters
                sheet.set_column(index, index, width, book.add_format(style))
                title, values = _cells(str(key), column, report.timezone)
                sheet.write_string(
                    top, index, title, book.add_format({"bold": True, **side})
                )
                sheet.write_column(top + 1, index, values)
            last = len(table.columns) - 1
            end = top + max(rows_without_total(name, table), 1)
            sheet.autofilter(top, 0, end, last)
            sheet.autofit(550)  # pixels at most; longer texts shrink
            sheet.write_column(0, 0, heading, bold)
            sheet.write_column(len(heading), 0, lines, left)
            sheet.write_string(top - 1, 0, SHEETS[name], bold)
            is_sum = f'=$A{top + 2}="{TOTAL}"'
            sums = {"type": "formula", "criteria": is_sum, "format": bold}
            sheet.conditional_format(top + 1, 0, top + len(table), last, sums)
            sheet.freeze_panes(top + 1, 1)
            sheet.repeat_rows(top)
            if name in CHARTS:
                sheet.insert_chart(top, last + 2, _chart(book, name, table, top))
            sheet.set_landscape()
            sheet.fit_to_pages(1, 0)
    return memory.getvalue()


def _cells(
    key: str, column: pd.Series[Any], zone: tzinfo | None
) -> tuple[str, list[Any]]:
    """
    Return title and cells of a column as a sheet can hold them; huge whole numbers are
    text.

    Args:
        key: Its name in the table.
        column: What it holds.
        zone: Time zone of the times, None for that of this machine. Excel knows no
            zones, so the title of a column names its zone, or both where it has summer
            and winter times.
    """
    title = WORDS.get(key, key)
    if key == "as_of":
        local = column.dt.tz_convert(zone or "tzlocal()")
        zones = sorted(local.dt.strftime("%Z").unique())
        return f"{title} ({', '.join(zones)})", local.dt.tz_localize(None).tolist()
    values = column.astype("object").where(column.notna(), "-").tolist()
    return title, [
        str(v) if isinstance(v, int) and abs(v) > EXACT else v for v in values
    ]


def _chart(book: Workbook, name: str, table: pd.DataFrame, top: int) -> Any:
    """Return a chart of the numbers of a table, without its sums and shares."""
    sheet = TITLES[name]
    last = top + rows_without_total(name, table)
    of_statuses = name == "breakdown"
    chart = book.add_chart(CHARTS[name])
    for index, (title, column) in enumerate(table.items()):
        if pd.api.types.is_integer_dtype(column):
            statuses = table.iloc[:, 0] if of_statuses else [title]
            codes = [COLOURS.get(str(status), COLOURS["other"]) for status in statuses]
            colours = [{"fill": {"color": code}} for code in codes]
            chart.add_series(
                {
                    "name": [sheet, top, index],
                    "categories": [sheet, top + 1, 0, last, 0],
                    "values": [sheet, top + 1, index, last, index],
                    "points": colours if of_statuses else None,
                    **colours[0],
                }
            )
    chart.set_legend({"none": of_statuses})
    # a date axis draws one listing a day
    chart.set_x_axis({"text_axis": True, "num_format": "yyyy-mm-dd hh:mm"})
    return chart
