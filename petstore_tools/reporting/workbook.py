"""A report as a workbook: real numbers, native charts, text that no program runs."""

import io
import textwrap
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property
from itertools import zip_longest
from typing import Any

import pandas as pd
from xlsxwriter import Workbook
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from petstore_tools import spec
from petstore_tools.listing.frames import named_statuses
from petstore_tools.reporting import sentences
from petstore_tools.reporting.chart import round_ticks
from petstore_tools.reporting.facts import Facts
from petstore_tools.reporting.presentation import (
    LOOKS,
    TOP,
    WITH_TOTAL,
    Presentation,
    column_format,
    with_names,
)
from petstore_tools.reporting.sentences import AT_LEAST
from petstore_tools.reporting.tables import BOUNDS, CHANGED
from petstore_tools.reporting.tiles import Tile
from petstore_tools.tabular.cells import EXACT
from petstore_tools.tabular.workbooks import WRITER_OPTIONS

SHEETS: dict[str, str] = LOOKS["sheets"]  # of single animals, by their tables
FIRST, METHOD = "Report", "How this was made"
_LINE = 80  # characters of a line, so that it is printed whole
_LAST_COLUMN = 6  # of what is printed, if no table is wider
_TILE_COLUMNS = [(0, 0), (1, 2), (3, 4), (5, 6)]
_DETAIL = 28  # characters of a line of a tile
_CHART_ROWS = 14
_COLOURED = 200  # rows of a table whose statuses have their colours
_TABLES = ("breakdown", "transitions", "by_category", "ageing", "days")
_DAY_ZERO = datetime(1899, 12, 30)  # of a spreadsheet


def workbook(presentation: Presentation) -> bytes:
    """
    Return a workbook: the report on its first sheet, then single animals, and how it
    was made.

    Times are in the zone of the report; Excel knows no zones, so titles name it. Only
    the first sheet and the last one are printed, unless you choose more.
    """
    memory = io.BytesIO()
    with Workbook(memory, WRITER_OPTIONS) as book:
        report = presentation.report
        method = textwrap.wrap(presentation.method, _LINE)
        writer = _Writer(book, presentation, counts_row=len(method) + 1)
        writer.write_report()
        for name, table in animal_lists(report).items():
            table = with_names(table, report.looks.categories)
            sheet = writer.add_sheet(SHEETS[name])
            writer.write_table(sheet, 0, table)
            last_column = len(table.columns) - 1
            sheet.autofilter(0, 0, max(len(table), 1), last_column)
            sheet.autofit(550)  # pixels at most; longer texts shrink
            sheet.freeze_panes(1, 0)
            sheet.repeat_rows(0)
            if last_column > 5:
                sheet.set_landscape()
            # an empty cell: else a program that prints all sheets prints each animal
            sheet.print_area(0, last_column + 1, 0, last_column + 1)
        sheet = writer.add_sheet(METHOD)
        sheet.write_column(0, 0, method)
        if report.counts is not None:
            counts = report.counts.reset_index()
            writer.write_table(sheet, writer.counts_row, counts)
        sheet.set_column(0, 50, 19)
    return memory.getvalue()


def animal_lists(report: Facts) -> dict[str, pd.DataFrame]:
    """Return the tables of single animals; of events those that a sheet names."""
    animals = report.animals.assign(status=named_statuses(report.animals))
    tables = {**report.tables(), "animals": animals}
    if "events" in tables:
        events = tables["events"][::-1]
        tables["events"] = events[events["event"] != CHANGED]
    return {name: tables[name] for name in SHEETS if name in tables}


@dataclass(frozen=True)
class _Writer:
    """
    Writes sheets of one workbook.

    Attributes:
        counts_row: Of the last sheet, where the counts over time begin.
    """

    book: Workbook
    presentation: Presentation
    counts_row: int

    def add_sheet(self, name: str) -> Worksheet:
        """Add a sheet that is printed in the width of a page."""
        sheet = self.book.add_worksheet(name)
        sheet.set_paper(9)  # A4
        sheet.fit_to_pages(1, 0)
        return sheet

    @cached_property
    def formats(self) -> dict[str, Format]:
        """The formats of texts, by their names in looks.json."""
        return {name: self.book.add_format(f) for name, f in LOOKS["formats"].items()}

    def write_report(self) -> None:
        """Write what a page shows, in its order."""
        sheet = self.add_sheet(FIRST)
        sheet.set_column(0, 0, 24)
        sheet.set_column(1, 50, 11.5)
        sheet.hide_gridlines(2)
        row = self.write_lines(sheet)
        row = self.write_tiles(sheet, row)
        presentation = self.presentation
        for name in _TABLES:
            if name in presentation.tables:
                if name == "by_category":
                    sheet.set_h_pagebreaks([row])
                top = self.write_heading(sheet, row, name)
                table = presentation.tables[name]
                self.write_table(sheet, top, table, has_total=name in WITH_TOTAL)
                row = top + len(table) + 2
                row = self.insert_chart(sheet, name, row, top, table)
        widths = [
            len(table.columns) - 1
            for name, table in presentation.tables.items()
            if name in _TABLES and name != "days"  # some of its columns are flags
        ]
        sheet.print_area(0, 0, row, max([_LAST_COLUMN, *widths]))
        sheet.set_footer("&L&8&A&R&8&P / &N")

    def write_heading(self, sheet: Worksheet, row: int, name: str) -> int:
        """Write the title of a table, and a line below it; return the next row."""
        presentation = self.presentation
        title = presentation.findings.get(name) or presentation.titles[name]
        sheet.write_string(row, 0, title, self.formats["title"])
        lead = presentation.leads.get(name, "")
        if not lead:
            return row + 1
        self.write_line(sheet, row + 1, lead, "soft", 110)
        return row + 2

    def write_line(
        self, sheet: Worksheet, row: int, words: str, name: str, width: int
    ) -> None:
        """Write a text over all columns that are printed, as high as it needs."""
        line_count = len(textwrap.wrap(words, width)) or 1
        sheet.set_row(row, (22 if name == "lead" else 15) * line_count + 2)
        sheet.merge_range(row, 0, row, _LAST_COLUMN, "", self.formats[name])
        sheet.write_string(row, 0, words, self.formats[name])

    def write_lines(self, sheet: Worksheet) -> int:
        """Write alerts, headline and provenance; return the next free row."""
        presentation = self.presentation
        report = presentation.report
        boxes = [(words, "box", 90) for words in sentences.alerts(report)]
        caution = sentences.caution(report)
        cautions = [(caution, "box", 90)] if caution else []
        notes = [f"Note: {note}" for note in report.notes]
        lines = [
            *boxes,
            (sentences.headline(report), "lead", 62),
            *cautions,
            *((words, "soft", 100) for words in [presentation.source, *notes]),
        ]
        for row, line in enumerate(lines):
            self.write_line(sheet, row, *line)
        return len(lines) + 1

    def write_tiles(self, sheet: Worksheet, top: int) -> int:
        """Write the tiles beside each other; return the next free row."""
        tiles = self.presentation.tiles
        depth = 2 + max(len(tile.details) for tile in tiles)
        for columns, tile in zip(_TILE_COLUMNS, tiles, strict=False):
            self.write_tile(sheet, top, columns, tile, depth)
        details = zip_longest(*(tile.details for tile in tiles), fillvalue="")
        for row, texts in enumerate(details, top + 2):
            is_long = max(map(len, texts)) > _DETAIL
            sheet.set_row(row, 26 if is_long else 14)
        sheet.set_row(top, 28)
        return top + depth + 1

    def write_tile(
        self,
        sheet: Worksheet,
        top: int,
        columns: tuple[int, int],
        tile: Tile,
        depth: int,
    ) -> None:
        """Write a tile below a row, in one column or two."""
        first, last = columns
        kind = "urgent" if tile.is_urgent else "tile"
        texts = [tile.value, tile.label, *tile.details]
        for row in range(depth):
            style = ("value", "label")[row] if row < 2 else "detail"
            cell_format = self.formats[f"{kind} {style}"]
            words = texts[row] if row < len(texts) else ""
            if first < last:
                sheet.merge_range(top + row, first, top + row, last, "", cell_format)
            sheet.write_string(top + row, first, words, cell_format)

    def write_table(
        self,
        sheet: Worksheet,
        top: int,
        table: pd.DataFrame,
        *,
        has_total: bool = False,
    ) -> None:
        """Write a table; texts that are too long shrink."""
        columns = table.drop(columns=[*BOUNDS.values()], errors="ignore")
        for index, (name, column) in enumerate(columns.items()):
            title, _, number_format = column_format(str(name))
            if isinstance(column.dtype, pd.DatetimeTZDtype):
                column, zones = self.local_times(column)
                title = f"{title} ({', '.join(zones)})" if zones else title
                number_format = "d mmm yyyy hh:mm"
                sheet.set_column(index, index, 18)
            is_number = pd.api.types.is_numeric_dtype(column) and name != "id"
            style: dict[str, Any] = {"shrink": True}
            style["align"] = "right" if is_number else "left"
            header = self.format(**LOOKS["header"], **style)
            sheet.write_string(top, index, title, header)
            style["num_format"] = number_format
            cells = column.astype("object").where(column.notna(), "-").map(exact)
            sheet.write_column(top + 1, index, cells, self.format(**style))
            if name in ("status", "from", "to") and len(table) <= _COLOURED:
                self.mark_statuses(sheet, top, index, cells)
            if has_total:
                last = top + len(table)
                total = self.format(bold=True, **style)
                sheet.write(last, index, cells.iloc[-1], total)
            self.mark_bounds(sheet, top, index, table, str(name))

    def mark_statuses(
        self, sheet: Worksheet, top: int, index: int, cells: pd.Series
    ) -> None:
        """Give each status its colour, as a line beside it."""
        for row, status in enumerate(cells, top + 1):
            colour = self.presentation.colours.get(status)
            if colour is not None:
                line = {"left": 5, "left_color": colour, "indent": 1, "shrink": True}
                sheet.write(row, index, status, self.format(**line))

    def mark_bounds(
        self, sheet: Worksheet, top: int, index: int, table: pd.DataFrame, name: str
    ) -> None:
        """Write a sign in front of the numbers that are lower bounds."""
        if name == "days" and "since" in table:
            is_bound = table["since"].isna()
        elif name in BOUNDS:
            is_bound = table[BOUNDS[name]]
        else:
            return
        _, _, number_format = column_format(name)
        at_least = f'"{AT_LEAST}"{number_format}'
        cell_format = self.format(num_format=at_least, align="right", shrink=True)
        for row in table.index[is_bound]:
            sheet.write(top + 1 + row, index, table[name][row], cell_format)

    def format(self, **looks: Any) -> Format:
        """Return a format, made once."""
        return self._made_format(tuple(sorted(looks.items())))

    @cached_property
    def _made_format(self) -> Any:
        return cache(lambda looks: self.book.add_format(dict(looks)))

    def local_times(self, column: pd.Series) -> tuple[pd.Series, list[str]]:
        """Return times in the zone of the report, without it, and its names."""
        looks = self.presentation.report.looks
        times = {time: looks.local_time(time) for time in column.dropna().unique()}
        hours = {time: local.replace(tzinfo=None) for time, local in times.items()}
        zones = sorted({f"{time:%Z}" for time in times.values()})
        return column.map(hours).astype("datetime64[us]"), zones

    def insert_chart(
        self, sheet: Worksheet, name: str, row: int, top: int, table: pd.DataFrame
    ) -> int:
        """Insert the chart of a table below it; return the next free row."""
        chart = None
        if name == "breakdown" and self.presentation.charts:
            chart = self.draw_lines()
        elif name == "by_category" and len(table) > 2:
            chart = self.draw_categories(top, table)
        elif name == "ageing":
            chart = self.draw_ageing(top, table)
        if chart is None:
            return row
        chart.set_size({"width": 690, "height": 20 * _CHART_ROWS - 10})
        sheet.insert_chart(row, 0, chart)
        return row + _CHART_ROWS

    def draw_lines(self) -> Any:
        """Return lines of the counts that stand on the last sheet."""
        presentation = self.presentation
        report = presentation.report
        assert report.counts is not None
        counts = report.counts.reset_index()
        last = self.counts_row + len(counts)
        chart = self.book.add_chart({"type": "scatter", "subtype": "straight"})
        for line in presentation.charts:
            column = [*counts].index(line.status)
            rows = [self.counts_row + 1, last]
            chart.add_series(
                {
                    "name": [METHOD, self.counts_row, column],
                    "categories": [METHOD, rows[0], 0, rows[1], 0],
                    "values": [METHOD, rows[0], column, rows[1], column],
                    "line": {"color": presentation.colours[line.status], "width": 2},
                }
            )
        begin, end = (
            (report.looks.local_time(time).replace(tzinfo=None) - _DAY_ZERO)
            for time in counts["as_of"].iloc[[0, -1]]
        )
        days = (end - begin).total_seconds() / spec.DAY_S
        first_day = begin.total_seconds() / spec.DAY_S
        unit = days / 5 if days < 5 else int(days // 5 + 1)
        span = {"min": first_day, "max": first_day + days, "major_unit": unit}
        form = "d mmm hh:mm" if days < 5 else "d mmm yyyy"
        chart.set_x_axis({"num_format": form, **span})
        ticks = round_ticks(int(report.counts.to_numpy().max()))
        grid = {"major_unit": ticks.step, "major_gridlines": LOOKS["grid"]}
        chart.set_y_axis({"min": 0, "max": ticks[-1], **grid})
        words = f"Animals by status, {presentation.lines_title}"
        chart.set_title({"name": words, **LOOKS["chart_title"]})
        return chart

    def draw_categories(self, top: int, table: pd.DataFrame) -> Any:
        """Return a bar for each category, with a part for each status."""
        chart = self.book.add_chart({"type": "bar", "subtype": "stacked"})
        last = top + min(TOP, len(table) - 1)
        for status in self.presentation.statuses:
            if status in table:
                column = [*table].index(status)
                self.add_bars(chart, (top, last), column, status)
        chart.set_y_axis({"reverse": True})
        chart.set_x_axis({"major_gridlines": LOOKS["grid"], "min": 0})
        title = "Animals by category and status"
        chart.set_title({"name": title, **LOOKS["chart_title"]})
        return chart

    def draw_ageing(self, top: int, table: pd.DataFrame) -> Any:
        """Return a bar for each row of the ageing of pending animals."""
        rows = len(self.presentation.ageing_bars)
        if not rows:
            return None
        chart = self.book.add_chart({"type": "bar"})
        first = top
        if "status" in table:
            first += int(table.index[table["status"] == "pending"][0])
        self.add_bars(chart, (first, first + rows), 1, "pending")
        chart.set_y_axis({"reverse": True})
        chart.set_x_axis({"major_gridlines": LOOKS["grid"], "min": 0})
        chart.set_legend({"none": True})
        title = "Pending animals by days in this status"
        chart.set_title({"name": title, **LOOKS["chart_title"]})
        return chart

    def add_bars(
        self,
        chart: Any,
        rows: tuple[int, int],
        column: int,
        status: str,
    ) -> None:
        """Add the bars of a column of the first sheet, from below a row to a row."""
        top, last = rows
        chart.add_series(
            {
                "name": status,
                "categories": [FIRST, top + 1, 0, last, 0],
                "values": [FIRST, top + 1, column, last, column],
                "fill": {"color": self.presentation.colours[status]},
                "gap": 40,
            }
        )


def exact(cell: object) -> object:
    """Return huge whole numbers as text, since a spreadsheet rounds them."""
    return str(cell) if isinstance(cell, int) and abs(cell) > EXACT else cell
