"""
Workbooks opened: .xlsx by a reader of its own, others through calamine. Every cell is
text, and says what it was if it was none.
"""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Collection, Iterable
from dataclasses import replace
from io import BytesIO
from typing import Any

from python_calamine import CalamineWorkbook, PasswordError, SheetVisibleEnum

from petstore_tools.errors import SheetError
from petstore_tools.tabular.cells import FORMATTED, text_of
from petstore_tools.tabular.xlsx import CATEGORY_SHEET, Worksheet, XlsxBook
from petstore_tools.text import option

# of an unpacked workbook: a million rows of three columns take half
_MAX_BYTES = 1 << 28
# of a sheet that calamine reads, from A1 to the last one
_MAX_CELLS = 8_000_000
# the record that says how far a sheet goes: of .xls, and of .xlsb
_XLS_SIZE = re.compile(
    rb"\x00\x02\x0e\x00....(..[\x00\x01]\x00...[\x00\x01])\x00\x00", re.DOTALL
)
_XLSB_SIZE = re.compile(rb"\x94\x01\x10....(.{12})", re.DOTALL)
_REPEAT_COUNT = re.compile(rb'-repeated="(\d+)"')
_NUMERIC_BOOLEAN = re.compile(  # which may be shown as TRUE
    rb'<table:table-cell(?![^>]*boolean-value="(?:true|false)")[^>]*value-type="boolean"'
    rb'|value-type="float"[^>]*><text:p>[^\W\d]+</text:p>'
)
_COVERED_VALUE = re.compile(rb"<table:covered-table-cell[^>]*office:value-type")
_DISPLAYED_NUMBER = re.compile(rb'office:value="([^"]+)"[^>]*><text:p(?:/>|>([^<]*))')
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")


_UNSEEN_NOTE = (
    "whether rows are hidden, merged cells, formulas without a value, errors and how a"
    " number is shown cannot be seen in this kind of workbook"
)


class _CalamineBook:
    """
    A workbook that calamine reads: .xls, .xlsb and .ods; `sheets` says which are
    visible.

    Args:
        content: Of the file.
        sizes: Rows and columns of its sheets.
        formatted: Numbers of which a cell shows another text.
    """

    def __init__(
        self,
        content: bytes,
        sizes: Iterable[tuple[int, int]],
        formatted: Collection[float] = (),
    ) -> None:
        self._formatted = formatted
        # calamine keeps them all
        if any(rows * columns > _MAX_CELLS for rows, columns in sizes):
            raise MemoryError
        self._book = CalamineWorkbook.from_filelike(BytesIO(content))
        visible = SheetVisibleEnum.Visible
        self.sheets = {
            sheet.name: sheet.visible == visible for sheet in self._book.sheets_metadata
        }

    def read(self, name: str) -> Worksheet:
        """Read a sheet, each cell from A1 to the last one."""
        sheet = self._book.get_sheet_by_name(name)
        worksheet = Worksheet(name=name, notes=(_UNSEEN_NOTE,), is_unseen=True)
        for number, cells in enumerate(sheet.to_python(skip_empty_area=False), start=1):
            worksheet.add(number, enumerate(map(self._cell, cells)))
        worksheet.merged.extend(
            (*first, *last) for first, last in sheet.merged_cell_ranges or ()
        )
        return worksheet

    def _cell(self, value: Any) -> str:
        return text_of(value, FORMATTED if value in self._formatted else "a number")


_REASONS: dict[type[Exception], str] = {
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
    sheets = [book.read(part)[:4_096] for part in parts if "/worksheets/" in part]
    ends = [end for sheet in sheets for end in _XLSB_SIZE.findall(sheet)]
    return _CalamineBook(content, [struct.unpack("<I4xI", end) for end in ends])


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
    tables = xml.split(b"<table:table ")[1:]
    return _CalamineBook(content, map(_used_size, tables), formatted)


def _open_ole(content: bytes) -> _CalamineBook:
    if _ENCRYPTED in content:
        raise PasswordError
    sizes = _XLS_SIZE.findall(content)
    return _CalamineBook(content, [struct.unpack("<I2xH", size) for size in sizes])


def _used_size(table: bytes) -> tuple[int, int]:
    """Return the last row and column of a table of .ods that hold something."""
    height = 0
    width = 0
    number = 0
    for row in table.split(b"<table:table-row")[1:]:
        number += _repeat_count(row.partition(b">")[0])
        cells = row.rpartition(b"office:value-type")[0]
        if cells:
            height = number
            width = max(width, sum(map(_repeat_count, cells.split(b"-cell")[1:])))
    return height, width


def _repeat_count(element: bytes) -> int:
    count = _REPEAT_COUNT.search(element)
    return int(count[1]) if count else 1


# by what such a file begins with
_OPENERS = {b"PK\x03\x04": _open_zip, b"\xd0\xcf\x11\xe0": _open_ole}


def is_workbook(content: bytes) -> bool:
    """
    Say whether a file begins as a workbook does.

    >>> is_workbook(b"name,categoryId")
    False
    """
    return content[:4] in _OPENERS


def read_workbook(
    content: bytes, name: str, sheet: str | None = None
) -> list[Worksheet]:
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
        book = _OPENERS[content[:4]](content)
        sheet_names = tuple(title for title in book.sheets if title != CATEGORY_SHEET)
        worksheets = [
            replace(book.read(title), names=sheet_names)
            for title in sheet_names
            if title == sheet or (sheet is None and book.sheets[title])
        ]
        for worksheet in worksheets:
            worksheet.mark_merged()
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
