"""Tables as a workbook: real numbers, native charts, text that no spreadsheet runs."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Mapping, Sequence
from datetime import tzinfo
from typing import Any, Final

import pandas as pd

from petstore_tools.reporting.tables import (
    DAYS,
    IDS,
    SHARES,
    TITLES,
    WITH_TOTAL,
    WORDS,
    colour,
)
from petstore_tools.tabular.frames import excel_writer, sheet_cells

FORMATS: Final = {
    "change": "+#,##0;-#,##0;0",
    **dict.fromkeys(SHARES.values(), "0.0%"),
    **{WORDS[name]: "#,##0.0" for name in DAYS},
    **dict.fromkeys(IDS, "0"),
}
CHARTS: Final = {
    "breakdown": {"type": "bar"},
    "counts": {"type": "area", "subtype": "stacked"},
}
_CHART_ROWS, _CHART_COLUMNS = 16, 9  # that a chart covers
_LINE: Final = 100  # characters of a sentence


def workbook(
    facts: Sequence[str],
    tables: Mapping[str, pd.DataFrame],
    *,
    zone: tzinfo | None,
    end: Sequence[str],
) -> bytes:
    """
    Return a workbook with a sheet for each table.

    Args:
        facts: Title, headline and time, which stand on each sheet, and more for the first one.
        tables: By name, without an index.
        zone: Times are written in it, None for that of this machine; Excel knows no zones, so
            titles name it.
        end: How it was made, below the first table.
    """
    memory = io.BytesIO()
    with excel_writer(memory) as writer:
        bold = writer.book.add_format({"bold": True})
        for name, table in tables.items():
            is_first = not writer.sheets
            lines = facts if is_first else facts[:3]
            top = len(lines) + 2
            sheet, cells = _sheet(writer, name, table, top, zone)
            for at, line in enumerate([*lines, "", TITLES[name]]):
                sheet.write_string(at, 0, line, None if 0 < at < top - 1 else bold)
            rows = max(len(cells), 1)
            last = len(cells.columns) - 1
            sheet.autofilter(top, 0, top + max(rows - (name in WITH_TOTAL), 1), last)
            sheet.freeze_panes(top + 1, 1)
            sheet.repeat_rows(top)
            if name in CHARTS:
                sheet.insert_chart(top, last + 2, _chart(writer.book, name, cells, top))
                rows = max(rows, _CHART_ROWS)
                last = last + 1 + _CHART_COLUMNS
            if is_first:
                sentences = ["How this was made", *textwrap.wrap(" ".join(end), _LINE)]
                for at, sentence in enumerate(sentences, top + rows + 2):
                    sheet.write_string(at, 0, sentence)
                rows += 2 + len(sentences)
            sheet.print_area(0, 0, top + rows, max(last, _CHART_COLUMNS))
            sheet.set_landscape()
            sheet.fit_to_pages(1, 0)
    return memory.getvalue()


def _sheet(
    writer: Any, name: str, table: pd.DataFrame, top: int, zone: tzinfo | None
) -> tuple[Any, pd.DataFrame]:
    """Write a table, with titles, widths and number formats; numbers stand at the right."""
    columns = dict(table.rename(columns=WORDS).items())
    for name_of_times in table.rename(columns=WORDS).select_dtypes("datetimetz"):
        zones = [at.to_pydatetime().astimezone(zone).tzname() for at in columns[name_of_times]]
        if len(set(zones)) > 1:  # in autumn, an hour comes twice
            columns["zone"] = pd.Series(zones, index=table.index)
    cells = sheet_cells(pd.DataFrame(columns), zone)
    cells.to_excel(writer, sheet_name=TITLES[name], index=False, startrow=top)
    sheet = writer.sheets[TITLES[name]]
    for at, (title, column) in enumerate(cells.items()):
        if pd.api.types.is_numeric_dtype(column):
            style = {"num_format": FORMATS.get(str(title), "#,##0")}
            if title in IDS:
                style["align"] = "left"
            sheet.set_column(at, at, None, writer.book.add_format(style))
    sheet.autofit()
    return sheet, cells


def _chart(book: Any, name: str, cells: pd.DataFrame, top: int) -> Any:
    """Return a chart of the numbers of a table, without its sums and shares."""
    sheet = TITLES[name]
    last = top + len(cells) - (name in WITH_TOTAL)
    chart = book.add_chart(CHARTS[name])
    for at, (title, column) in enumerate(cells.items()):
        if pd.api.types.is_integer_dtype(column):
            statuses = cells.iloc[:, 0] if name == "breakdown" else [title]
            colours = [{"fill": {"color": colour(str(status))}} for status in statuses]
            chart.add_series(
                {
                    "name": [sheet, top, at],
                    "categories": [sheet, top + 1, 0, last, 0],
                    "values": [sheet, top + 1, at, last, at],
                    "points": colours if name == "breakdown" else None,
                    **colours[0],
                }
            )
    chart.set_title({"name": sheet})
    # a date axis draws one listing a day
    chart.set_x_axis({"text_axis": True, "num_format": "yyyy-mm-dd hh:mm"})
    return chart
