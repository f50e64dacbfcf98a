"""A status report as a workbook and as a chart."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Final

from petstore_tools.errors import MissingExtraError
from petstore_tools.reporting.breakdown import UNSET
from petstore_tools.tabular.cells import EXACT
from petstore_tools.tabular.workbooks import LONGEST_CELL
from petstore_tools.text import pluralize, utc_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from petstore_tools.reporting.report import StatusReport

COLOURS: Final = {"available": "#2f7d5b", "pending": "#c98a1b", "sold": "#4a6fa5", UNSET: "#9aa3af"}
OTHER: Final = "#8b5e9b"
MOST_ROWS: Final = 1_048_000  # of a sheet


def to_excel(report: StatusReport) -> bytes:
    """Make a workbook: facts, breakdown and a native chart; categories, changes and history on sheets."""
    import xlsxwriter

    memory = io.BytesIO()
    with xlsxwriter.Workbook(memory, {"in_memory": True}) as book:
        formats = {
            "title": book.add_format({"bold": True, "font_size": 16}),
            "head": book.add_format({"bold": True, "bottom": 1}),
            "number head": book.add_format({"bold": True, "bottom": 1, "align": "right"}),
            "warn": book.add_format({"bold": True, "font_color": "#8a4b00", "bg_color": "#fff3e0"}),
            "int": book.add_format({"num_format": "#,##0"}),
            "share": book.add_format({"num_format": "0.0%"}),
            "change": book.add_format({"num_format": "+#,##0;-#,##0;0"}),
            "time": book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"}),
        }
        _front(book, formats, report)
        _sheet(book, formats, "By category", report.by_category.reset_index())
        if report.changes is not None and report.moved is not None:
            _sheet(book, formats, "Changes", report.changes.reset_index(), change="change")
            _sheet(book, formats, "Moved", report.moved.head(MOST_ROWS))
        if report.history is not None:
            told = report.history.reset_index()
            told["as_of"] = told["as_of"].dt.tz_localize(None)
            _sheet(book, formats, "History", told)
    return memory.getvalue()


def _front(book: Any, formats: dict[str, Any], report: StatusReport) -> None:
    sheet, listing = book.add_worksheet("Report"), report.listing
    sheet.set_column(0, 0, 28)
    sheet.set_column(1, 2, 14)
    _cell(sheet, 0, 0, "Status report", formats["title"])
    _cell(sheet, 1, 0, report.face, None if listing.complete else formats["warn"])
    _cell(sheet, 2, 0, f"{listing.reason}; as of {utc_text(listing.ended_at)}, {report.cost}")
    _table(sheet, formats, 4, report.breakdown.reset_index(), {"share": formats["share"]})
    rows = len(report.breakdown)
    sheet.write_string(5 + rows, 0, "total", formats["head"])
    sheet.write_number(5 + rows, 1, listing.rows, formats["int"])
    chart = book.add_chart({"type": "bar"})
    chart.add_series(
        {
            "categories": ["Report", 5, 0, 4 + rows, 0],
            "values": ["Report", 5, 1, 4 + rows, 1],
            "points": [{"fill": {"color": COLOURS.get(name, OTHER)}} for name in report.breakdown.index],
            "data_labels": {"value": True},
        }
    )
    chart.set_title({"name": "Animals by status"})
    chart.set_legend({"none": True})
    chart.set_y_axis({"reverse": True})
    sheet.insert_chart(8 + rows, 0, chart)
    sheet.set_landscape()
    sheet.fit_to_pages(1, 0)
    sheet.freeze_panes(5, 0)


def _sheet(book: Any, formats: dict[str, Any], name: str, table: pd.DataFrame, *, change: str = "") -> None:
    sheet = book.add_worksheet(name)
    _table(sheet, formats, 0, table, {change: formats["change"]} if change else {})
    sheet.freeze_panes(1, 1)
    sheet.autofit()


def _table(
    sheet: Any, formats: dict[str, Any], top: int, table: pd.DataFrame, special: dict[str, Any]
) -> None:
    import pandas as pd

    for column, name in enumerate(table.columns):
        text = pd.api.types.is_string_dtype(table[name])
        _cell(sheet, top, column, str(name), formats["head" if text else "number head"])
        number = special.get(str(name), formats["int"])
        exact = None if str(name) in ("id", "categoryId") else number
        for row, value in enumerate(table[name].tolist(), start=top + 1):
            _cell(sheet, row, column, value, formats["time"] if hasattr(value, "year") else exact)


def _cell(sheet: Any, row: int, column: int, value: object, style: Any = None) -> None:
    """Write a number as a number, a time as a time, and all else as text that no spreadsheet runs."""
    if isinstance(value, int | float) and abs(value) <= EXACT:
        sheet.write_number(row, column, value, style)
    elif hasattr(value, "year"):
        sheet.write_datetime(row, column, value, style)
    else:
        sheet.write_string(row, column, str(value)[:LONGEST_CELL], None if isinstance(value, int) else style)


def figure(report: StatusReport) -> Figure:
    """Draw the shares as bars, and the history as areas where there is one."""
    try:
        from matplotlib.dates import ConciseDateFormatter
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("plot", "a figure") from error

    class Drawn(Figure):
        def _repr_png_(self) -> bytes:  # a notebook shows figures of pyplot only
            memory = io.BytesIO()
            self.savefig(memory, format="png")
            return memory.getvalue()

    has_history = report.history is not None and len(report.history) > 1
    drawn = Drawn(figsize=(8, 6 if has_history else 3), layout="constrained")
    axes: Any = drawn.subplots(2 if has_history else 1, 1, squeeze=False)[:, 0]
    counts = report.breakdown["count"]
    colours = [COLOURS.get(name, OTHER) for name in counts.index]
    bars = axes[0].barh(counts.index.tolist(), counts.to_numpy(), color=colours)
    shares = report.breakdown["share"]
    axes[0].bar_label(bars, [f"{n:,} ({s:.1%})" for n, s in zip(counts, shares, strict=True)], padding=4)
    axes[0].invert_yaxis()
    axes[0].margins(x=0.2)
    axes[0].set(title=report.face, xlabel=f"animals, as of {utc_text(report.listing.ended_at)}")
    if has_history and report.history is not None:
        table = report.history
        axes[1].stackplot(
            table.index.to_numpy(),
            *(table[name].to_numpy() for name in table.columns),
            labels=table.columns.tolist(),
            colors=[COLOURS.get(name, OTHER) for name in table.columns],
        )
        axes[1].set(title=f"{pluralize(len(table), 'snapshot')}", ylabel="animals")
        axes[1].legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=len(table.columns), frameon=False
        )
        concise: Any = ConciseDateFormatter
        axes[1].xaxis.set_major_formatter(concise(axes[1].xaxis.get_major_locator()))
        axes[1].margins(x=0)
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
    return drawn
