"""Tables as a workbook: real numbers, native charts, text that no spreadsheet runs."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from datetime import tzinfo
from typing import Any, Final

import pandas as pd

from petstore_tools.reporting.tables import DAYS, IDS, TITLES, TOTAL, WORDS, colour
from petstore_tools.tabular.frames import excel_writer, sheet_cells

FORMATS: Final = {
    "share": "0.0%",
    "change": "+#,##0;-#,##0;0",
    **dict.fromkeys(DAYS, "#,##0.0"),
    **dict.fromkeys(IDS, "0"),
}
FRONT: Final = "Report"
SHEETS: Final = {
    "summary": FRONT,
    "breakdown": FRONT,
    "changes_by_category": "Change by category",
    "moved": "Moved",
    "flow": "Flow",
    "time_in_status": "Days in a status",
    "time_in_status_by_category": "Days by category",
    "animals": "Animals",
}


def workbook(
    title: str,
    facts: Sequence[str],
    tables: Mapping[str, pd.DataFrame],
    *,
    zone: tzinfo | None,
    complete: bool,
    since: str = "",
    end: Sequence[str] = (),
) -> bytes:
    """
    Return a workbook: a front sheet with facts, breakdown and chart, and a sheet for each further
        table.

    Args:
        title: Of the front sheet.
        facts: Lines below it; the first is the headline.
        tables: By name, without an index; those of the front sheet come first.
        zone: Times are written in it, None for that of this machine; Excel knows no zones, so
            titles name it.
        complete: The headline is no warning.
        since: With what is compared, in words.
        end: How it was made, below the chart of the front sheet.
    """
    memory, row = io.BytesIO(), len(facts) + 3
    with excel_writer(memory) as writer:
        for key, table in tables.items():
            name = SHEETS.get(key, TITLES.get(key, key))
            front = name == FRONT
            cells = sheet_cells(table.rename(columns=WORDS), zone)
            start, freeze = (row, None) if front else (0, (1, 1))
            cells.to_excel(
                writer, sheet_name=name, index=False, startrow=start, freeze_panes=freeze
            )
            sheet = writer.sheets[name]
            sheet.autofit()
            _columns(writer, sheet, table, cells, start)
            if front:
                heading = TITLES[key].format(since=since)
                sheet.write_string(start - 1, 0, heading, writer.book.add_format({"bold": True}))
                row += len(cells) + 3
            else:
                sheet.autofilter(0, 0, max(len(cells), 1), len(cells.columns) - 1)
            if key == "breakdown":
                _front(writer, title, facts, table, start, end, complete=complete)
            if key == "counts":
                _over_time(writer, table)
            sheet.set_landscape()
            sheet.fit_to_pages(1, 0)
    return memory.getvalue()


def _columns(writer: Any, sheet: Any, table: pd.DataFrame, cells: pd.DataFrame, start: int) -> None:
    """
    Give the columns of a sheet their titles, widths and number formats; numbers stand at the right.
    """
    for at, (name, title) in enumerate(zip(table, map(str, cells), strict=True)):
        column = cells.iloc[:, at]
        number = pd.api.types.is_numeric_dtype(column)
        style = {"align": "right" if number and name not in IDS else "left"}
        sheet.write_string(
            start, at, title, writer.book.add_format(style | {"bold": True, "bottom": 1})
        )
        if number:
            shown = {"num_format": FORMATS.get(str(name), "#,##0")}
            sheet.set_column(at, at, max(14, len(title) + 2), writer.book.add_format(style | shown))
        elif pd.api.types.is_datetime64_dtype(column):
            sheet.set_column(at, at, 22)


def _front(
    writer: Any,
    title: str,
    facts: Sequence[str],
    table: pd.DataFrame,
    top: int,
    end: Sequence[str],
    *,
    complete: bool,
) -> None:
    book, sheet = writer.book, writer.sheets[FRONT]
    warning = None if complete else book.add_format({"bold": True, "font_color": "#8a4b00"})
    sheet.write_string(0, 0, title, book.add_format({"bold": True, "font_size": 16}))
    for at, fact in enumerate(facts, 1):
        sheet.write_string(at, 0, fact, warning if at == 1 else None)
    statuses = [status for status in table["status"] if status != TOTAL]
    last = top + len(statuses)
    chart = book.add_chart({"type": "bar"})
    chart.add_series(
        {
            "categories": [FRONT, top + 1, 0, last, 0],
            "values": [FRONT, top + 1, 1, last, 1],
            "points": [{"fill": {"color": colour(status)}} for status in statuses],
            "data_labels": {"value": True},
        }
    )
    chart.set_title({"name": "Animals by status"})
    chart.set_legend({"none": True})
    chart.set_y_axis({"reverse": True})
    sheet.insert_chart(last + 4, 0, chart)
    sheet.set_column(0, 0, 28)
    for at, sentence in enumerate(["How this was made", *end] if end else (), last + 21):
        sheet.write_string(at, 0, sentence)


def _over_time(writer: Any, counts: pd.DataFrame) -> None:
    name = TITLES["counts"]
    chart = writer.book.add_chart({"type": "area", "subtype": "stacked"})
    for at, status in enumerate(counts.columns[1:], 1):
        chart.add_series(
            {
                "name": [name, 0, at],
                "categories": [name, 1, 0, len(counts), 0],
                "values": [name, 1, at, len(counts), at],
                "fill": {"color": colour(str(status))},
            }
        )
    chart.set_title({"name": "Animals over time"})
    chart.set_x_axis({"date_axis": True, "num_format": "yyyy-mm-dd"})
    writer.sheets[name].insert_chart(1, len(counts.columns) + 1, chart)
