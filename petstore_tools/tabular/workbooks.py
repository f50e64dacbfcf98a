"""
Workbooks read: .xlsx from its XML, others through calamine. Every cell is text, and
says what it was if it was none.
"""

from __future__ import annotations

import posixpath
import re
import struct
import zipfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, time, timedelta
from io import BytesIO
from typing import Any
from xml.etree import ElementTree

from python_calamine import CalamineWorkbook, PasswordError, SheetVisibleEnum

from petstore_tools.errors import SheetError
from petstore_tools.tabular.cells import (
    FORMATTED,
    MERGED,
    NonTextCell,
    Record,
    Sheet,
    column_index,
    column_letter,
    is_blank,
    text_of,
)
from petstore_tools.tabular.template import CATEGORY_SHEET, workbook_bytes
from petstore_tools.text import option

# of an unpacked workbook: a million rows of three columns take half
_MAX_BYTES = 1 << 28
# of a sheet that calamine reads, from A1 to the last one
_MAX_CELLS = 8_000_000
# bytes of XML parsed at once: of more, Python walks their elements again
_CHUNK_BYTES = 1 << 12
_EMPTY_ELEMENTS = re.compile(  # cells and rows of .xlsx that have a format alone
    rb'<row r="[^/>]*>(?:<c r="[^/>]*/>)*</row>|<row r="[^/>]*/>|<c r="[^/>]*/>'
)
_SHEET_ELEMENTS = ("row", "col", "mergeCell")  # those that say something
_NUMBER = "a number"
_DATE = "a date"
_TRUE_WORDS = ("1", "true")
_DATE_NUMBERS = (*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59))
_KINDS_BUILT_IN = {  # as Excel counts the formats that every workbook has
    **dict.fromkeys(map(str, _DATE_NUMBERS), _DATE),
    **dict.fromkeys(("0", "1", "49"), _NUMBER),
}
_DAY_0 = datetime(1899, 12, 30)
_PLAIN_FORMATS = ("General", "@", "0", "#")  # they show a number as typed
_DATE_CODE = re.compile(r'"[^"]*"|\\.|\[[^]]*\]|General|([dmyhs])', re.IGNORECASE)
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
_ESCAPED_LETTER = re.compile("_x([0-9A-Fa-f]{4})_")


@dataclass(frozen=True, kw_only=True)
class Worksheet(Sheet):
    """
    A sheet of a workbook.

    Attributes:
        rows: Its cells from column A on, by the number of the row; empty rows may be
            left out.
        merged: The corners of merged cells: rows and columns from 0.
    """

    suffix: str = ".xlsx"
    rows: dict[int, Sequence[str]] = field(default_factory=dict)
    hidden: set[int] = field(default_factory=set)
    hidden_columns: set[int] = field(default_factory=set)
    merged: list[tuple[int, int, int, int]] = field(default_factory=list)
    content = staticmethod(workbook_bytes)

    def add(self, number: int, cells: Iterable[tuple[int, str]]) -> None:
        """Keep a row, cells by column, unless it holds nothing."""
        filled = {column: cell for column, cell in cells if not is_blank(cell)}
        if filled:
            if number <= next(reversed(self.rows), 0):
                raise ValueError(f"row {number} is not in its place")
            columns = range(max(filled) + 1)
            # a tuple of texts is nothing that Python's garbage collector walks again
            self.rows[number] = tuple([filled.get(column, "") for column in columns])

    def records(self) -> Iterator[Record]:
        """Yield each row with its number."""
        yield from self.rows.items()

    def escape(self, cell: str) -> str:
        """Return the cell as it is: a text cell of a workbook runs nothing."""
        return cell

    unescape = escape

    def mark_merged(self) -> None:
        """Let each cell that a merged one covers say so, whatever it holds."""
        width = max(map(len, self.rows.values()), default=0)
        for top, left, bottom, right in self.merged:
            end = min(right + 1, width)
            kind = f"{MERGED} {column_letter(left)}{top + 1}"
            for number in self.rows.keys() & range(top + 1, bottom + 2):
                cells = self.rows[number] = [*self.rows[number]]
                cells.extend([""] * (end - len(cells)))
                for column in range(left, end):
                    if (number, column) != (top + 1, left):
                        cells[column] = NonTextCell(cells[column], kind)


_UNSAVED_FORMULA = NonTextCell("", "a formula without a saved value")


def _elements(
    book: zipfile.ZipFile, part: str
) -> Iterator[tuple[str, ElementTree.Element]]:
    """Yield what says something in a sheet, by name; nothing outside is read."""
    parser: Any = ElementTree.XMLPullParser()
    with book.open(part) as xml:
        while piece := xml.read(_CHUNK_BYTES):
            parser.feed(_EMPTY_ELEMENTS.sub(b"", piece))
            for _, element in parser.read_events():
                if element.tag.endswith(_SHEET_ELEMENTS):
                    yield element.tag.rpartition("}")[2], element
                    element.clear()
    parser.close()


class _XlsxBook:
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
            self._sheets[name] = posixpath.normpath(posixpath.join("/xl", link))[1:]
            self.sheets[name] = sheet.get("state", "visible") == "visible"
        strings = map(_string_text, self._part("xl/sharedStrings.xml"))
        self._strings = dict(enumerate(strings))  # of a list, -1 would be the last one
        self._kinds = self._kinds_by_style()

    def _part(self, name: str) -> ElementTree.Element:
        """Return a part of the book, an empty one where it has none."""
        for part in self._book.namelist():
            if part.casefold() == name.casefold():
                return ElementTree.fromstring(self._book.read(part))
        return ElementTree.Element("none")

    def _kinds_by_style(self) -> dict[str, str]:
        """Return what a number of each style is: a date, as typed, or not."""
        styles = self._part("xl/styles.xml")
        kinds = dict(_KINDS_BUILT_IN)
        for number in styles.iterfind("{*}numFmts/{*}numFmt"):
            code = number.get("formatCode", "")
            kind = _NUMBER if code in _PLAIN_FORMATS else FORMATTED
            is_date = any(_DATE_CODE.findall(code))
            kinds[number.get("numFmtId", "")] = _DATE if is_date else kind
        return {
            str(index): kinds.get(style.get("numFmtId", "0"), FORMATTED)
            for index, style in enumerate(styles.iterfind("{*}cellXfs/{*}xf"))
        }

    def read(self, name: str) -> Worksheet:
        """Read a sheet row by row."""
        sheet = Worksheet(name=name)
        number = 0
        for tag, element in _elements(self._book, self._sheets[name]):
            match tag:
                case "row":
                    number = int(element.get("r", number + 1))
                    sheet.add(number, self._cells(element))
                    if element.get("hidden") in _TRUE_WORDS:
                        sheet.hidden.add(number)
                case "col" if element.get("hidden") in _TRUE_WORDS:
                    first = int(element.get("min", 1)) - 1
                    sheet.hidden_columns.update(
                        range(first, int(element.get("max", 1)))
                    )
                case "mergeCell":
                    sheet.merged.append(_corners(element.get("ref", "")))
        return sheet

    def _cells(self, row: ElementTree.Element) -> Iterator[tuple[int, str]]:
        space = row.tag.removesuffix("row")
        formula = f"{space}f"
        value = f"{space}v"
        column = -1
        for cell in row:
            column += 1
            if reference := cell.get("r"):
                column = column_index(reference.rstrip("0123456789"))
            text = cell.findtext(value) or ""
            is_unsaved = (
                not text and cell.get("t") != "str" and cell.find(formula) is not None
            )
            yield column, _UNSAVED_FORMULA if is_unsaved else self._value(cell, text)

    def _value(self, cell: ElementTree.Element, text: str) -> str:
        match cell.get("t", "n"):
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
        kind = self._kinds.get(cell.get("s", ""), _NUMBER)
        if kind == _DATE:
            kind = FORMATTED  # of a number that stands for no date
            with suppress(OverflowError, ValueError):
                days = timedelta(seconds=round(float(text) * 86_400))
                day = _DAY_0 + days
                if days < timedelta(days=1):
                    return text_of(days)
                return text_of(day if day.time() != time() else day.date())
        if "_" in text:  # Python reads 1_0 as 10
            raise ValueError(f"{text!r} is not a number")
        return text_of(float(text), kind)


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


def _corners(reference: str) -> tuple[int, int, int, int]:
    """Return the corners of a range, counted from 0: `A1:B2` is (0, 0, 1, 1)."""
    from xlsxwriter.utility import xl_cell_to_rowcol

    first, _, last = reference.partition(":")
    return (*xl_cell_to_rowcol(first), *xl_cell_to_rowcol(last))


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


def _open_zip(content: bytes) -> _XlsxBook | _CalamineBook:
    book = zipfile.ZipFile(BytesIO(content))
    parts = book.namelist()
    if sum(part.file_size for part in book.infolist()) > _MAX_BYTES:
        raise MemoryError
    if "xl/workbook.xml" in parts:
        return _XlsxBook(book)
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
