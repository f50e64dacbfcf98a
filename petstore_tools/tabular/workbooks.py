"""
Workbooks opened: .xlsx by a reader of its own, others through calamine. Every cell is
text, and says what it was if it was none.
"""

import re
import struct
import zipfile
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from io import BytesIO

from python_calamine import CalamineWorkbook, PasswordError, SheetVisibleEnum

from petstore_tools.errors import SheetError
from petstore_tools.tabular.cells import (
    FORMATTED,
    NUMBER,
    is_total_formula,
    text_of,
)
from petstore_tools.tabular.xlsx import CATEGORY_SHEET, Worksheet, XlsxBook
from petstore_tools.text import option

# of an unpacked workbook: a million rows of three columns take half
_MAX_BYTES = 1 << 28
# of a sheet that calamine reads, from A1 to the last one
_MAX_CELLS = 8_000_000
# the records of .xlsb and of .xls that say how far a sheet goes
_XLSB_SIZE = re.compile(rb"\x94\x01\x10....(.{12})", re.DOTALL)
_XLS_SIZE = re.compile(rb"\x00\x02\x0e\x00(.{12})\x00\x00", re.DOTALL)
_ODS_ROW = re.compile(rb"<table:table-row(?=[\s/>])")
_ODS_CELL = re.compile(rb"<table:(?:covered-)?table-cell([^>]*)>")
_HIDDEN = re.compile(rb'table:visibility="(?!visible)')
_FORMULA = re.compile(rb'table:formula="([^"]*)"')
_REPEAT_COUNT = re.compile(rb'-repeated="(\d+)"')
_NUMERIC_BOOLEAN = re.compile(  # which may be shown as TRUE
    rb'<table:table-cell(?![^>]*boolean-value="(?:true|false)")[^>]*value-type="boolean"'
    rb'|value-type="float"[^>]*><text:p>[^\W\d]+</text:p>'
)
_COVERED_VALUE = re.compile(rb"<table:covered-table-cell[^>]*office:value-type")
_DISPLAYED_NUMBER = re.compile(rb'office:value="([^"]+)"[^>]*><text:p(?:/>|>([^<]*))')
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_UNSEEN_NOTE = (
    "this kind of workbook hides formulas without a value, errors and, except in .ods,"
    " how a number is shown"
)


class _CalamineBook:
    """
    A workbook that calamine reads: .xls, .xlsb and .ods; `sheets` says which are
    visible.

    Args:
        content: Of the file.
        views: Of each sheet, what calamine does not tell: the rows that are not shown,
            and the cells that sum their column; none where that cannot be seen.
        formatted: Numbers of which a cell shows another text.
    """

    def __init__(
        self,
        content: bytes,
        views: Iterable[Worksheet] = (),
        formatted: Collection[float] = (),
    ) -> None:
        self._formatted = formatted
        self._book = CalamineWorkbook.from_filelike(BytesIO(content))
        self.sheets = {
            sheet.name: sheet.visible == SheetVisibleEnum.Visible
            for sheet in self._book.sheets_metadata
        }
        self._views = dict(zip(self.sheets, views, strict=False))

    def read(self, name: str) -> Worksheet:
        """Read a sheet, each cell from A1 to the last one."""
        sheet = self._book.get_sheet_by_name(name)
        worksheet = replace(
            self._views.get(name, Worksheet(is_unseen=True)),
            name=name,
            notes=(_UNSEEN_NOTE,),
            merged=sheet.merged_cell_ranges or [],
        )
        rows = sheet.to_python(skip_empty_area=False)
        for number, values in enumerate(rows, start=1):
            cells = [
                text_of(value, FORMATTED if value in self._formatted else NUMBER)
                for value in values
            ]
            worksheet.add(number, enumerate(cells))
        return worksheet


_REASONS = {
    MemoryError: (
        "is too large: delete what is beyond the table, or save the sheet as CSV"
    ),
    PasswordError: "has a password: remove it, and save the file",
}


def _open_zip(content: bytes) -> XlsxBook | _CalamineBook:
    book = zipfile.ZipFile(BytesIO(content))
    parts = book.namelist()
    if sum(part.file_size for part in book.infolist()) > _MAX_BYTES:
        raise MemoryError
    if "xl/workbook.xml" in parts:
        return XlsxBook(book)
    if "content.xml" in parts:
        return _open_ods(content, book)
    for part in parts:
        if "/worksheets/" in part:
            for end in _XLSB_SIZE.findall(book.read(part)[:4_096]):
                _check_size(*struct.unpack("<I4xI", end))
    return _CalamineBook(content)


def _check_size(rows: int, columns: int) -> None:
    """Refuse a sheet of which calamine would keep too many cells."""
    if rows * columns > _MAX_CELLS:
        raise MemoryError


def _open_ods(content: bytes, book: zipfile.ZipFile) -> _CalamineBook:
    if b"encryption-data" in book.read("META-INF/manifest.xml"):
        raise PasswordError
    xml = book.read("content.xml")
    if _NUMERIC_BOOLEAN.search(xml):
        raise ValueError("it has booleans that are written as numbers")
    if _COVERED_VALUE.search(xml):
        raise ValueError("a merged cell covers a value")
    formatted = {
        float(number)
        for number, text in _DISPLAYED_NUMBER.findall(xml)
        if text.strip().replace(b",", b".") != number
    }
    views = map(_scan_table, xml.split(b"<table:table ")[1:])
    return _CalamineBook(content, [*views], formatted)


def _scan_table(table: bytes) -> Worksheet:
    """
    Return which rows of a table of .ods are not shown and hold something, and which
    cells sum their column.
    """
    view = Worksheet()
    width = 0
    next_number = 1
    for row in _ODS_ROW.split(table)[1:]:
        element = row.partition(b">")[0]
        number = next_number
        next_number += _repeat_count(element)
        cells = row.rpartition(b"office:value-type")[0]
        if cells:
            width = max(width, sum(map(_repeat_count, cells.split(b"-cell")[1:])))
            _check_size(next_number - 1, width)
            if _HIDDEN.search(element):
                view.hidden.update(range(number, next_number))
        if b"table:formula=" in row:
            view.total_cells.update((number, column) for column in _total_columns(row))
    return view


def _total_columns(row: bytes) -> Iterator[int]:
    """Yield the columns of a row of .ods whose cells are totals."""
    column = 0
    for cell in _ODS_CELL.findall(row):
        formula = _FORMULA.search(cell)
        if formula and is_total_formula(formula[1].decode()):
            yield column
        column += _repeat_count(cell)


def _repeat_count(element: bytes) -> int:
    count = _REPEAT_COUNT.search(element)
    return int(count[1]) if count else 1


def _open_ole(content: bytes) -> _CalamineBook:
    if _ENCRYPTED in content:
        raise PasswordError
    for size in _XLS_SIZE.finditer(content):
        top, rows, left, columns = struct.unpack("<2I2H", size[1])
        if top < rows <= 1 << 16 and left < columns <= 1 << 8:
            _check_size(rows, columns)
    return _CalamineBook(content)


# by the four bytes that such a file begins with
OPENERS = {b"PK\x03\x04": _open_zip, b"\xd0\xcf\x11\xe0": _open_ole}


def read_workbook(content: bytes, name: str, sheet: str | None) -> list[Worksheet]:
    """
    Read the sheets of a workbook that may be meant.

    Args:
        content: Of the file.
        name: Of the file, for messages.
        sheet: The one that is meant; None: all that are visible.

    Raises:
        SheetError: It has no such sheet, has a password, is too large or damaged.
    """
    try:
        book = OPENERS[content[:4]](content)
        sheet_names = tuple(title for title in book.sheets if title != CATEGORY_SHEET)
        worksheets = [
            replace(book.read(title), names=sheet_names)
            for title in sheet_names
            if title == sheet or (sheet is None and book.sheets[title])
        ]
        for worksheet in worksheets:
            worksheet.mark_merged()
            worksheet.drop_running_totals()
    except Exception as error:  # whatever a foreign file makes its readers raise
        unreadable = (
            f"is not a workbook that can be read ({error}): open it in a spreadsheet"
            " program, and save it as .xlsx"
        )
        reason = _REASONS.get(type(error), unreadable)
        raise SheetError(f"{name} {reason}") from error
    if not worksheets:
        listed = ", ".join(map(repr, sheet_names))
        lack = "no visible sheet" if sheet is None else f"no sheet {sheet!r}"
        spelling = option("sheet", "…")
        raise SheetError(f"{name} has {lack}; it has {listed}: name one ({spelling})")
    return worksheets
