"""
Workbooks of Excel (.xlsx): read from their XML, row by row, and written with examples,
drop-downs and bad cells in colour.
"""

import re
import zipfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from io import BytesIO
from typing import Any
from xml.etree import ElementTree

from petstore_tools import spec
from petstore_tools.errors import SheetError
from petstore_tools.tabular.cells import (
    EXACT,
    FORMATTED,
    MERGED,
    NUMBER,
    NonTextCell,
    Record,
    Sheet,
    column_index,
    column_letter,
    is_blank,
    is_total_formula,
    text_of,
)

# hidden, and by its name never read as animals
CATEGORY_SHEET = "petstore_categories"
LAST_ROW = 1_048_575  # of a sheet, counted from 0
WRITER_OPTIONS = {  # text is never a formula or a link
    "in_memory": True,
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "default_date_format": "yyyy-mm-dd hh:mm",
    "nan_inf_to_errors": True,
}
_TOO_LONG = -2  # XlsxWriter's answer to a text longer than Excel keeps
_HINTS = {
    "name": "The animal's name; it must not be empty.\nExample: Rex",
    "categoryId": "The category's id, or its name where one can be chosen.\nExample: 3",
    "status": (
        f"One of {', '.join(spec.STATUSES)}; it may be empty.\nExample: available"
    ),
}
_TEXT_FORMAT = {"num_format": "@"}  # so that 007 stays 007
# what spreadsheets call bad
_BAD_FORMAT = {"bg_color": "#FFC7CE", "font_color": "#9C0006", **_TEXT_FORMAT}
# bytes of XML parsed at once: of more, Python walks their elements again
_CHUNK_BYTES = 1 << 12
_EMPTY_ELEMENTS = re.compile(  # cells and rows of .xlsx that have a format alone
    rb'<row r="[^/>]*>(?:<c r="[^/>]*/>)*</row>|<row r="[^/>]*/>|<c r="[^/>]*/>'
)
_SHEET_ELEMENTS = ("row", "mergeCell")  # those that say something
_DATE = "a date"
_TRUE_WORDS = ("1", "true")
_DATE_NUMBERS = (*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59))
_BUILT_IN_CODES = {  # as Excel counts the formats that every workbook has
    **dict.fromkeys(map(str, _DATE_NUMBERS), "d"),
    **dict.fromkeys(("0", "1", "49"), "@"),
}
_DAY_0 = datetime(1899, 12, 30)
_CREATED = datetime(2000, 1, 1)  # so that the same rows are the same bytes
_PLAIN_FORMATS = ("General", "@", "0", "#")  # they show a number as typed
_DATE_CODE = re.compile(r'"[^"]*"|\\.|\[[^]]*\]|General|([dmyhs])', re.IGNORECASE)
_ESCAPED_LETTER = re.compile("_x([0-9A-Fa-f]{4})_")
# the first and the last cell of an area: row and column from 0
Corners = tuple[tuple[int, int], tuple[int, int]]


def template_bytes(categories: Mapping[int, str] | None = None) -> bytes:
    r"""
    Return an empty workbook (.xlsx) to be filled in, one row for each animal.

    >>> template_bytes({3: "Dogs"})[:4]
    b'PK\x03\x04'

    Args:
        categories: Name by id: with it, a category is chosen by its name.
    """
    import xlsxwriter

    memory = BytesIO()
    drop_downs: dict[str, Any] = {"status": [*spec.STATUSES]}
    with xlsxwriter.Workbook(memory, WRITER_OPTIONS) as book:
        sheet = book.add_worksheet("animals")
        sheet.write_row(0, 0, _HINTS, book.add_format({"bold": True}))
        sheet.freeze_panes(1, 0)
        if categories:
            names = sorted(set(categories.values()))
            hidden_sheet = book.add_worksheet(CATEGORY_SHEET)
            hidden_sheet.write_column(0, 0, names)
            hidden_sheet.hide()
            drop_downs["categoryId"] = f"={CATEGORY_SHEET}!$A$1:$A${len(names)}"
        for column, (title, hint) in enumerate(_HINTS.items()):
            rule = {
                "validate": "list" if title in drop_downs else "any",
                "source": drop_downs.get(title),
                "error_type": "warning",  # words and ids are accepted, too
                "input_message": hint,
            }
            sheet.data_validation(1, column, LAST_ROW, column, rule)
            sheet.set_column(column, column, 24, book.add_format(_TEXT_FORMAT))
    return memory.getvalue()


def workbook_bytes(
    titles: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    above: Sequence[Sequence[str]] = (),
    bad_cells: Collection[tuple[int, int]] = (),
    note: str = "",
    name: str = "animals",
) -> bytes:
    """
    Return a workbook (.xlsx) of rows, which may wait for a correction.

    Args:
        titles: Of the columns.
        rows: Cells as text; one that was none (`NonTextCell`) is written as what it
            was, and shown as it was.
        above: Rows above the titles.
        bad_cells: Positions of the row and of the cell in it that are coloured, both
            from 0.
        note: For the properties of the workbook.
        name: Of its sheet; one that Excel does not allow is replaced.

    Raises:
        SheetError: A cell is longer than Excel keeps.
    """
    import xlsxwriter

    memory = BytesIO()
    with xlsxwriter.Workbook(memory, WRITER_OPTIONS) as book:
        book.set_properties({"comments": note, "created": _CREATED})
        try:
            sheet = book.add_worksheet(name)
        except xlsxwriter.exceptions.XlsxWriterException:
            sheet = book.add_worksheet("animals")

        @cache
        def cell_format(number_format: str | int, *, is_bad: bool) -> Any:
            style: dict[str, Any] = {**_BAD_FORMAT} if is_bad else {}
            if number_format:
                style["num_format"] = number_format
            return book.add_format(style) if style else None

        first_row = len(above) + 1
        for row, cells in enumerate((*above, titles, *rows)):
            for column, cell in enumerate(cells):
                is_bad = (row - first_row, column) in bad_cells
                style = cell_format(getattr(cell, "number_format", 0), is_bad=is_bad)
                value = _written_value(cell, is_bad=is_bad)
                if sheet.write(row, column, value, style) == _TOO_LONG:
                    raise SheetError(
                        f"a cell of {len(cell):,} characters is too long for a"
                        " workbook: use CSV"
                    )
        sheet.set_row(first_row - 1, None, book.add_format({"bold": True}))
        sheet.freeze_panes(first_row, 0)
        sheet.autofit()
    return memory.getvalue()


def _written_value(cell: str, *, is_bad: bool) -> Any:
    """
    Return what is written: a bad cell that was no text does not pass for corrected.
    """
    if not isinstance(cell, NonTextCell):
        return cell
    if is_bad and cell.kind == FORMATTED and not cell.number_format:
        return "#N/A"
    if cell.kind in (NUMBER, FORMATTED) and abs(float(cell)) < EXACT:
        return float(cell)
    if cell.value is not None:
        return cell.value
    return "#N/A" if is_bad and "error" not in cell.kind else str(cell)


@dataclass(frozen=True, kw_only=True)
class Worksheet(Sheet):
    """
    A sheet of a workbook.

    Attributes:
        rows: Its cells from column A on, by the number of the row; empty rows may be
            left out.
        merged: The corners of each merged cell.
    """

    suffix: str = ".xlsx"
    rows: dict[int, Sequence[str]] = field(default_factory=dict)
    merged: list[Corners] = field(default_factory=list)
    content = staticmethod(workbook_bytes)

    def add(self, number: int, cells: Iterable[tuple[int, str]]) -> None:
        """Keep a row, cells by column, unless it holds nothing."""
        filled = {column: cell for column, cell in cells if not is_blank(cell)}
        if filled:
            if number <= next(reversed(self.rows), 0):
                raise ValueError(f"row {number} stands twice, or behind a later one")
            columns = range(max(filled) + 1)
            # a tuple of texts is nothing that Python's garbage collector walks again
            self.rows[number] = tuple([filled.get(column, "") for column in columns])

    def records(self) -> Iterator[Record]:
        """Yield each row with its number."""
        yield from self.rows.items()

    def drop_running_totals(self) -> None:
        """Take no column for totals of which most cells are: it counts its rows."""
        counts = Counter(column for _, column in self.total_cells)
        running = {column for column in counts if 2 * counts[column] >= len(self.rows)}
        self.total_cells.difference_update(
            {cell for cell in self.total_cells if cell[1] in running}
        )

    def mark_merged(self) -> None:
        """Let each cell that a merged one covers say so, whatever it holds."""
        width = max(map(len, self.rows.values()), default=0)
        for (top, left), (bottom, right) in self.merged:
            end = min(right + 1, width)
            kind = f"{MERGED} {column_letter(left)}{top + 1}"
            for number in self.rows.keys() & range(top + 1, bottom + 2):
                cells = [*self.rows[number]]
                cells += [""] * (end - len(cells))
                start = left + 1 if number == top + 1 else left
                covered = slice(start, end)
                cells[covered] = [NonTextCell(cell, kind) for cell in cells[covered]]
                self.rows[number] = cells


def _elements(book: zipfile.ZipFile, part: str) -> Iterator[ElementTree.Element]:
    """Yield what says something in a sheet; nothing outside is read."""
    parser: Any = ElementTree.XMLPullParser()
    with book.open(part) as xml:
        while piece := xml.read(_CHUNK_BYTES):
            parser.feed(_EMPTY_ELEMENTS.sub(b"", piece))
            for _, element in parser.read_events():
                if element.tag.endswith(_SHEET_ELEMENTS):
                    yield element
                    element.clear()
    parser.close()


class XlsxBook:
    """A workbook of Excel, read from its XML; `sheets` says which are visible."""

    def __init__(self, book: zipfile.ZipFile) -> None:
        self._book = book
        index = self._part("xl/workbook.xml")
        relations = self._part("xl/_rels/workbook.xml.rels")
        links = {link.get("Id"): link.get("Target", "") for link in relations}
        self._sheets: dict[str, str] = {}
        self.sheets: dict[str, bool] = {}
        for sheet in index.iterfind(".//{*}sheet"):
            link = next(
                links[value] for key, value in sheet.items() if key.endswith("}id")
            )
            name = sheet.get("name", "")
            self._sheets[name] = "xl/" + link.removeprefix("/xl/")
            self.sheets[name] = sheet.get("state", "visible") == "visible"
        strings = map(_string_text, self._part("xl/sharedStrings.xml"))
        self._strings = dict(enumerate(strings))  # of a list, -1 would be the last one
        self._styles = self._read_styles()
        self._shared_totals: set[str] = set()  # of one sheet

    def _part(self, name: str) -> ElementTree.Element:
        """Return a part of the book, an empty one where it has none."""
        for part in self._book.namelist():
            if part.casefold() == name.casefold():
                return ElementTree.fromstring(self._book.read(part))
        return ElementTree.Element("none")

    def _read_styles(self) -> dict[str, tuple[str, str | int]]:
        """
        Return what a number of each style is, a date, as typed, or not, and its format.
        """
        part = self._part("xl/styles.xml")
        codes = {
            code.get("numFmtId"): code.get("formatCode", "")
            for code in part.iterfind("{*}numFmts/{*}numFmt")
        }
        styles: dict[str, tuple[str, str | int]] = {}
        for index, style in enumerate(part.iterfind("{*}cellXfs/*")):
            id_ = style.get("numFmtId", "0")
            code = codes.get(id_) or _BUILT_IN_CODES.get(id_, "")
            kind = NUMBER if code in _PLAIN_FORMATS else FORMATTED
            if any(_DATE_CODE.findall(code)):
                kind = _DATE
            styles[str(index)] = kind, codes.get(id_) or int(id_)
        return styles

    def read(self, name: str) -> Worksheet:
        """Read a sheet row by row."""
        sheet = Worksheet(name=name)
        self._shared_totals.clear()
        self._note_totals_rows(sheet)
        number = 0
        for element in _elements(self._book, self._sheets[name]):
            match element.tag.rpartition("}")[2]:
                case "row":
                    number = int(element.get("r", number + 1))
                    sheet.add(number, self._cells(element, number, sheet))
                    if element.get("hidden") in _TRUE_WORDS:
                        sheet.hidden.add(number)
                case "mergeCell":
                    sheet.merged.append(_corners(element))
        return sheet

    def _note_totals_rows(self, sheet: Worksheet) -> None:
        """Note the cells that tables of a sheet have in their totals rows."""
        folder, _, file = self._sheets[sheet.name].rpartition("/")
        for link in self._part(f"{folder}/_rels/{file}.rels"):
            if link.get("Type", "").endswith("/table"):
                target = link.get("Target", "").removeprefix("/xl/")
                table = self._part("xl/" + target.removeprefix("../"))
                if int(table.get("totalsRowCount", 0)):
                    (_, left), (bottom, right) = _corners(table)
                    columns = range(left, right + 1)
                    sheet.total_cells.update((bottom + 1, n) for n in columns)

    def _cells(
        self, row: ElementTree.Element, number: int, sheet: Worksheet
    ) -> Iterator[tuple[int, str]]:
        space = row.tag.removesuffix("row")
        column = -1
        for cell in row:
            column += 1
            if reference := cell.get("r"):
                column = column_index(reference.rstrip("0123456789"))
            if len(cell) > 1 and self._is_total(cell.find(space + "f")):
                sheet.total_cells.add((number, column))
            yield column, self._value(cell, space)

    def _is_total(self, formula: ElementTree.Element | None) -> bool:
        """
        Say whether a formula is a total; the first of those that are shared has the
        text.
        """
        if formula is None:
            return False
        shared = formula.get("si", "")
        if is_total_formula(formula.text or ""):
            self._shared_totals.add(shared)
            return True
        return shared != "" and not formula.text and shared in self._shared_totals

    def _value(self, cell: ElementTree.Element, space: str) -> str:
        text = cell.findtext(space + "v", "")
        cell_type = cell.get("t", "n")
        if not text and cell_type != "str" and cell.find(space + "f") is not None:
            return NonTextCell("", "a formula without a saved value")
        match cell_type:
            case "inlineStr":
                return "".join(map(_string_text, cell))
            case "str":
                return _unescape(text)
            case _ if not text:
                return ""
            case "s":
                return self._strings[int(text)]
            case "b":
                return text_of(text in _TRUE_WORDS)
            case "e":
                return NonTextCell(text, f"the error {text}")
            case "d":
                return NonTextCell(text, "a date")
        kind, number_format = self._styles.get(cell.get("s", ""), (NUMBER, 0))
        if kind == _DATE:
            kind = FORMATTED  # of a number that stands for no date
            with suppress(OverflowError, ValueError):
                span = timedelta(seconds=round(float(text) * 86_400))
                value = _DAY_0 + span if span.days > 0 else span
                return text_of(value, number_format=number_format)
        if "_" in text:  # Python reads 1_0 as 10
            raise ValueError(f"{text!r} is not a number")
        return text_of(float(text), kind, number_format)


def _corners(area: ElementTree.Element) -> Corners:
    """Return the corners of an area such as `B2:D9`; a cell is its own last one."""
    from xlsxwriter.utility import xl_cell_to_rowcol

    first, _, last = area.get("ref", "").partition(":")
    return xl_cell_to_rowcol(first), xl_cell_to_rowcol(last or first)


def _string_text(item: ElementTree.Element) -> str:
    """Return the text of a string and its runs, without how it is pronounced."""
    texts = [
        part.text or ""
        for run in item
        if not run.tag.endswith("rPh")
        for part in run.iter()
        if part.tag.endswith("}t")
    ]
    return _unescape("".join(texts))


def _unescape(text: str) -> str:
    return _ESCAPED_LETTER.sub(lambda code: chr(int(code[1], 16)), text)
