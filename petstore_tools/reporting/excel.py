"""Tables as a workbook: real numbers, a native chart, text that no spreadsheet runs."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from petstore_tools.reporting.tables import IDS, colour
from petstore_tools.tabular.cells import EXACT
from petstore_tools.tabular.workbooks import LONGEST_CELL

FORMATS: Final = {"share": "0.0%", "change": "+#,##0;-#,##0;0", **dict.fromkeys(IDS, "0")}
SHEETS: Final = {"breakdown": "Report", "by_category": "By category", "counts": "Over time"}
MOST_ROWS: Final = 1_048_000  # of a sheet
TOP: Final = 4  # row of the first table's header, below the facts
OPTIONS: Final = {
    "in_memory": True,
    "strings_to_formulas": False,
    "strings_to_numbers": False,
    "strings_to_urls": False,
}


def workbook(headline: str, facts: str, tables: Mapping[str, pd.DataFrame], *, complete: bool) -> bytes:
    """
    Return a workbook.

    Args:
        headline: What it is a report on.
        facts: A line below the headline.
        tables: By name, without an index; the breakdown gets a total and a chart.
        complete: The headline is no warning.
    """
    memory = io.BytesIO()
    with pd.ExcelWriter(
        memory, engine="xlsxwriter", datetime_format="yyyy-mm-dd hh:mm:ss", engine_kwargs={"options": OPTIONS}
    ) as writer:
        for key, table in tables.items():
            name, top = SHEETS.get(key, key.capitalize()), TOP if key == "breakdown" else 0
            cells = _cells(table)
            cells.to_excel(writer, sheet_name=name, index=False, startrow=top, freeze_panes=(top + 1, 1))
            sheet = writer.sheets[name]
            sheet.autofit()
            sheet.set_row(top, None, writer.book.add_format({"bold": True, "bottom": 1}))
            for at, column in enumerate(cells):
                if pd.api.types.is_numeric_dtype(cells[column]):
                    style = writer.book.add_format({"num_format": FORMATS.get(str(column), "#,##0")})
                    sheet.set_column(at, at, 14, style)
        _front(writer, headline, facts, tables["breakdown"], complete=complete)
    return memory.getvalue()


def _cells(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table as a sheet can hold it: times without a zone, long texts cut, huge numbers as text."""
    cells = table.head(MOST_ROWS).copy()
    for name in cells:
        column = cells[name]
        if isinstance(column.dtype, pd.DatetimeTZDtype):
            cells[name] = column.dt.tz_localize(None)
        elif pd.api.types.is_string_dtype(column):
            cells[name] = column.str.slice(0, LONGEST_CELL)
        elif pd.api.types.is_integer_dtype(column) and not column.between(-EXACT, EXACT).all():
            cells[name] = [value if abs(value) <= EXACT else str(value) for value in column.tolist()]
    return cells


def _front(writer: Any, headline: str, facts: str, table: pd.DataFrame, *, complete: bool) -> None:
    book, name = writer.book, SHEETS["breakdown"]
    sheet = writer.sheets[name]
    warning = None if complete else book.add_format({"bold": True, "font_color": "#8a4b00"})
    bold = book.add_format({"bold": True, "num_format": "#,##0"})
    last = TOP + len(table)
    sheet.write_string(0, 0, "Status report", book.add_format({"bold": True, "font_size": 16}))
    sheet.write_string(1, 0, headline, warning)
    sheet.write_string(2, 0, facts)
    sheet.write_string(last + 1, 0, "total", bold)
    sheet.write_number(last + 1, 1, int(table["count"].sum()), bold)
    chart = book.add_chart({"type": "bar"})
    chart.add_series(
        {
            "categories": [name, TOP + 1, 0, last, 0],
            "values": [name, TOP + 1, 1, last, 1],
            "points": [{"fill": {"color": colour(status)}} for status in table["status"]],
            "data_labels": {"value": True},
        }
    )
    chart.set_title({"name": "Animals by status"})
    chart.set_legend({"none": True})
    chart.set_y_axis({"reverse": True})
    sheet.insert_chart(last + 4, 0, chart)
    sheet.set_column(0, 0, 28)
    sheet.set_landscape()
    sheet.fit_to_pages(1, 0)
