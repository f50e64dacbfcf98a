"""Tables as a workbook: real numbers, native charts, text that no spreadsheet runs."""

from __future__ import annotations

import io
import textwrap
from datetime import tzinfo
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from petstore_tools.reporting.presentation import (
    DAYS,
    IDS,
    SHARES,
    TITLES,
    WORDS,
    Presentation,
    colour,
    named,
    rows_without_total,
)
from petstore_tools.reporting.tables import named_statuses
from petstore_tools.tabular.cells import EXACT
from petstore_tools.tabular.template import LONGEST_CELL, WRITER_OPTIONS

if TYPE_CHECKING:
    from petstore_tools.reporting.report import StatusReport

FORMATS: Final = {
    "change": "+#,##0;-#,##0;0",
    **dict.fromkeys(SHARES.values(), "0.0%"),
    **{WORDS[name]: "#,##0.0" for name in DAYS},
    **dict.fromkeys(IDS, "0"),
}
SHEETS: Final = {**TITLES, "animals": "All animals", "made": "How this was made"}
CHARTS: Final = {
    "breakdown": {"type": "column"},
    "counts": {"type": "area", "subtype": "stacked"},
}
_MOST_ROWS: Final = 1_048_000  # of a sheet
_LINE: Final = 80  # characters of a line above a table, so that it is printed whole
_WIDEST: Final = 550  # pixels of a column; longer texts shrink
_TIME_WIDTH: Final = 19  # characters of a column of times


def workbook(report: StatusReport) -> bytes:
    """
    Return a workbook with a sheet for each table, for all animals, and for how it was made.

    Times are in the zone of the report; Excel knows no zones, so titles name it.
    """
    read = Presentation(report)
    animals = report.animals.assign(status=named_statuses(report.animals))
    tables = {
        **read.tables(),
        "animals": named(animals, report.categories),
        "made": pd.DataFrame({"in sentences": textwrap.wrap(read.made, _LINE)}),
    }
    memory = io.BytesIO()
    with pd.ExcelWriter(
        memory,
        engine="xlsxwriter",
        datetime_format="yyyy-mm-dd hh:mm:ss",
        engine_kwargs={"options": WRITER_OPTIONS},
    ) as writer:
        bold = writer.book.add_format({"bold": True})
        plain = writer.book.add_format({"align": "left"})  # not the format of the column
        heading = textwrap.wrap(report.title, _LINE)
        for name, table in tables.items():
            facts = read.facts[: 2 if writer.sheets else None]  # all of them on the first one
            lines = [part for fact in facts for part in textwrap.wrap(fact, _LINE)]
            top = len(heading) + len(lines) + 2
            cells = _sheet_cells(table.rename(columns=WORDS), report.timezone)
            cells.to_excel(writer, sheet_name=SHEETS[name], index=False, startrow=top)
            sheet = writer.sheets[SHEETS[name]]
            for at, (title, column) in enumerate(cells.items()):
                style: dict[str, object] = {"shrink": True}
                if pd.api.types.is_numeric_dtype(column):
                    style = {"num_format": FORMATS.get(str(title), "#,##0")}
                width = _TIME_WIDTH if pd.api.types.is_datetime64_dtype(column) else None
                sheet.set_column(at, at, width, writer.book.add_format(style))
            sheet.autofit(_WIDEST)
            sheet.write_column(0, 0, heading, bold)
            sheet.write_column(len(heading), 0, lines, plain)
            sheet.write_string(top - 1, 0, SHEETS[name], bold)
            last = len(cells.columns) - 1
            sheet.autofilter(top, 0, top + max(rows_without_total(name, cells), 1), last)
            sheet.freeze_panes(top + 1, 1)
            sheet.repeat_rows(top)
            if name in CHARTS:
                sheet.insert_chart(top, last + 2, _chart(writer.book, name, cells, top))
            sheet.set_landscape()
            sheet.fit_to_pages(1, 0)
    return memory.getvalue()


def _sheet_cells(table: pd.DataFrame, zone: tzinfo | None) -> pd.DataFrame:
    """
    Return a table as a sheet can hold it.

    Args:
        table: At most `_MOST_ROWS` of its rows are taken.
        zone: Time zone of the times, None for that of this machine. Excel knows no zones, so the
            title of a column names its zone, or both where it has summer and winter times.
    """
    cells: dict[str, Any] = {}
    for name, column in table.head(_MOST_ROWS).items():
        if isinstance(column.dtype, pd.DatetimeTZDtype):
            local = column.dt.tz_convert(zone or "tzlocal()")
            zones = sorted(local.dt.strftime("%Z").unique())
            cells[f"{name} ({', '.join(zones)})"] = local.dt.tz_localize(None)
        else:
            cells[str(name)] = [_cell(value) for value in column.tolist()]
    return pd.DataFrame(cells)


def _cell(value: Any) -> Any:
    """Return a value as a cell holds it: long texts are cut, huge whole numbers are text."""
    if isinstance(value, str):
        return value[:LONGEST_CELL]
    return str(value) if isinstance(value, int) and abs(value) > EXACT else value


def _chart(book: Any, name: str, cells: pd.DataFrame, top: int) -> Any:
    """Return a chart of the numbers of a table, without its sums and shares."""
    sheet = TITLES[name]
    last = top + rows_without_total(name, cells)
    of_statuses = name == "breakdown"
    chart = book.add_chart(CHARTS[name])
    for at, (title, column) in enumerate(cells.items()):
        if pd.api.types.is_integer_dtype(column):
            statuses = cells.iloc[:, 0] if of_statuses else [title]
            colours = [{"fill": {"color": colour(str(status))}} for status in statuses]
            chart.add_series(
                {
                    "name": [sheet, top, at],
                    "categories": [sheet, top + 1, 0, last, 0],
                    "values": [sheet, top + 1, at, last, at],
                    "points": colours if of_statuses else None,
                    **colours[0],
                }
            )
    chart.set_title({"name": sheet})
    chart.set_legend({"none": of_statuses})
    # a date axis draws one listing a day
    chart.set_x_axis({"text_axis": True, "num_format": "yyyy-mm-dd hh:mm"})
    return chart
