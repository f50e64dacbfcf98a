"""
Spreadsheets opened: .xlsx from its XML, other workbooks through calamine. Every cell is
text, and says what it was if it was none.
"""

from __future__ import annotations

import posixpath
import re
import struct
import zipfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from dataclasses import field as member
from datetime import datetime, time, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

from python_calamine import CalamineWorkbook, PasswordError, SheetVisibleEnum

from petstore_tools.errors import PetstoreError, SheetError
from petstore_tools.tabular.cells import (
    FORMATTED,
    MERGED,
    NonTextCell,
    Record,
    Sheet,
    column_letter,
    column_position,
    is_blank,
    text_of,
)
from petstore_tools.tabular.template import CATEGORY_SHEET, rejects_bytes
from petstore_tools.text import option

# of an unpacked workbook: a million rows of three columns take half
_MOST_BYTES: Final = 1 << 28
# of a sheet that calamine reads, from A1 to the last one
_MOST_CELLS: Final = 8_000_000
# bytes of XML parsed at once: of more, Python walks their elements again
_PIECE: Final = 1 << 12
_EMPTY: Final = re.compile(  # cells and rows of .xlsx that have a format alone
    rb'<row r="[^/>]*>(?:<c r="[^/>]*/>)*</row>|<row r="[^/>]*/>|<c r="[^/>]*/>'
)
_TOLD: Final = ("row", "col", "mergeCell")  # elements of a sheet that say something
_TRUE: Final = ("1", "true")
_DATES: Final = (*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59))
_FORMATS: Final = {  # as Excel counts those that every workbook has
    **{str(number): "d" for number in _DATES},
    "0": "General",
    "1": "0",
    "49": "@",
}
_DAY_0: Final = datetime(1899, 12, 30)
_PLAIN: Final = ("General", "@", "0", "#")  # formats that show a number as it was typed
_DATE_CODE: Final = re.compile(
    r'"[^"]*"|\\.|\[[^]]*\]|General|([dmyhs])', re.IGNORECASE
)
# the record that says how far a sheet goes: of .xls, and of .xlsb
_XLS_SIZE: Final = re.compile(
    rb"\x00\x02\x0e\x00....(..[\x00\x01]\x00...[\x00\x01])\x00\x00", re.DOTALL
)
_XLSB_SIZE: Final = re.compile(rb"\x94\x01\x10....(.{12})", re.DOTALL)
_REPEATED: Final = re.compile(rb'-repeated="(\d+)"')
_ODD_BOOLEAN: Final = re.compile(  # a boolean as a number, which may be shown as TRUE
    rb'<table:table-cell(?![^>]*boolean-value="(?:true|false)")[^>]*value-type="boolean"'
    rb'|value-type="float"[^>]*><text:p>[^\W\d]+</text:p>'
)
_COVERED_VALUE: Final = re.compile(rb"<table:covered-table-cell[^>]*office:value-type")
_SHOWN_NUMBER: Final = re.compile(
    rb'office:value="([^"]+)"[^>]*><text:p(?:/>|>([^<]*))'
)
_ZIP: Final = b"PK\x03\x04"  # what such a file begins with
_OLE: Final = b"\xd0\xcf\x11\xe0"
_ENCRYPTED: Final = "EncryptedPackage".encode("utf-16-le")
_ESCAPED: Final = re.compile("_x([0-9A-Fa-f]{4})_")


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
    rows: dict[int, list[str]] = member(default_factory=dict)
    hidden: set[int] = member(default_factory=set)
    hidden_columns: set[int] = member(default_factory=set)
    merged: list[tuple[int, int, int, int]] = member(default_factory=list)
    content = staticmethod(rejects_bytes)

    def add(self, number: int, cells: Iterable[tuple[int, str]]) -> None:
        """Keep a row, unless it holds nothing."""
        found = {at: cell for at, cell in cells if not is_blank(cell)}
        if found:
            if number <= next(reversed(self.rows), 0):
                raise ValueError(f"row {number} is not in its place")
            self.rows[number] = [found.get(at, "") for at in range(max(found) + 1)]

    def records(self) -> Iterator[Record]:
        """Yield each row with its number."""
        yield from self.rows.items()

    def escape(self, cell: str) -> str:
        """Return the cell as it is: a text cell of a workbook runs nothing."""
        return cell

    unescape = escape

    def finished(self, names: tuple[str, ...]) -> Worksheet:
        """
        Return the sheet, in which each cell that a merged one covers says so, whatever
        it holds.
        """
        width = max(map(len, self.rows.values()), default=0)
        for top, left, bottom, right in self.merged:
            end = min(right + 1, width)
            kind = f"{MERGED} {column_letter(left)}{top + 1}"
            for number in self.rows.keys() & range(top + 1, bottom + 2):
                cells = self.rows[number]
                cells.extend([""] * (end - len(cells)))
                for column in range(left, end):
                    if (number, column) != (top + 1, left):
                        cells[column] = NonTextCell(cells[column], kind)
        return replace(self, names=names)


_UNSAVED: Final = NonTextCell("", "a formula without a saved value")


def _elements(
    book: zipfile.ZipFile, part: str
) -> Iterator[tuple[str, ElementTree.Element]]:
    """
    Yield the elements of a sheet that say something, each with its name; nothing
    outside is read.
    """
    parser: Any = ElementTree.XMLPullParser()
    with book.open(part) as xml:
        while piece := xml.read(_PIECE):
            parser.feed(_EMPTY.sub(b"", piece))
            for _, element in parser.read_events():
                if element.tag.endswith(_TOLD):
                    yield element.tag.rpartition("}")[2], element
                    element.clear()
    parser.close()


class _Xlsx:
    """A workbook of Excel, read from its XML; `sheets` says which are visible."""

    def __init__(self, book: zipfile.ZipFile) -> None:
        self._book = book
        index = self._part("xl/workbook.xml")
        links = {
            link.get("Id"): link for link in self._part("xl/_rels/workbook.xml.rels")
        }
        self._sheets: dict[str, str] = {}
        self.sheets: dict[str, bool] = {}
        for entry in index.iterfind(".//{*}sheet"):
            link = next(
                links[value] for key, value in entry.items() if key.endswith("}id")
            )
            name = entry.get("name", "")
            place = posixpath.join("/xl", link.get("Target", ""))
            self._sheets[name] = posixpath.normpath(place)[1:]
            self.sheets[name] = entry.get("state", "visible") == "visible"
        self._strings = dict(
            enumerate(map(_text_in, self._part("xl/sharedStrings.xml")))
        )
        formats = self._formats()
        self._dates = {
            style for style, code in formats.items() if any(_DATE_CODE.findall(code))
        }
        self._formatted = {
            style for style, code in formats.items() if code not in _PLAIN
        }

    def _part(self, name: str) -> ElementTree.Element:
        """Return a part of the book, an empty one where it has none."""
        parts = {part.casefold(): part for part in self._book.namelist()}
        found = parts.get(name.casefold())
        return ElementTree.fromstring(self._book.read(found) if found else "<none/>")

    def _formats(self) -> dict[str, str]:
        """Return the format of each style."""
        styles = self._part("xl/styles.xml")
        codes = dict(_FORMATS)
        for number in styles.iterfind("{*}numFmts/{*}numFmt"):
            codes[number.get("numFmtId", "")] = number.get("formatCode", "")
        numbers = [
            style.get("numFmtId", "0") for style in styles.iterfind("{*}cellXfs/{*}xf")
        ]
        return {
            str(style): codes.get(number, "?") for style, number in enumerate(numbers)
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
                    if element.get("hidden") in _TRUE:
                        sheet.hidden.add(number)
                case "col" if element.get("hidden") in _TRUE:
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
        at = -1
        for cell in row:
            place = cell.get("r")
            at = column_position(place.rstrip("0123456789")) if place else at + 1
            text = cell.findtext(value) or ""
            is_unsaved = (
                not text and cell.get("t") != "str" and cell.find(formula) is not None
            )
            yield at, _UNSAVED if is_unsaved else self._value(cell, text)

    def _value(self, cell: ElementTree.Element, text: str) -> str:
        match cell.get("t", "n"):
            case "inlineStr":
                return "".join(map(_text_in, cell))
            case "str":
                return _unescaped(text)
            case _ if not text:
                return ""
            case "s":
                return self._strings[int(text)]
            case "b":
                return text_of(text in _TRUE)
            case "e":
                return NonTextCell(text, f"the error {text}")
            case "d":
                return NonTextCell(text, "a date")
        if cell.get("s") in self._dates:
            with suppress(OverflowError, ValueError):
                days = timedelta(seconds=round(float(text) * 86_400))
                day = _DAY_0 + days
                if days < timedelta(days=1):
                    return text_of(days)
                return text_of(day if day.time() != time() else day.date())
        if "_" in text:  # Python reads 1_0 as 10
            raise ValueError(f"{text!r} is not a number")
        is_formatted = cell.get("s") in self._formatted
        return text_of(float(text), FORMATTED if is_formatted else "a number")


def _text_in(item: ElementTree.Element) -> str:
    """
    Return the text of a string, with that of its runs, and without how it is
    pronounced.
    """
    runs = (run for run in item if not run.tag.endswith("rPh"))
    texts = (
        part.text or ""
        for run in runs
        for part in run.iter()
        if part.tag.endswith("}t")
    )
    return _unescaped("".join(texts))


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda code: chr(int(code[1], 16)), text)


def _corners(reference: str) -> tuple[int, int, int, int]:
    """
    Return the corners of a range, rows and columns from 0: `A1:B2` is (0, 0, 1, 1).
    """
    from xlsxwriter.utility import xl_cell_to_rowcol

    first, _, last = reference.partition(":")
    return (*xl_cell_to_rowcol(first), *xl_cell_to_rowcol(last))


_UNSEEN: Final = (
    "whether rows are hidden, merged cells, formulas without a value, errors and how a"
    " number is shown cannot be seen in this kind of workbook"
)


class _Other:
    """
    A workbook that calamine reads: .xls, .xlsb and .ods; `sheets` says which are
    visible.

    Args:
        path: Of the file.
        sizes: Rows and columns of its sheets.
        formatted: Numbers of which a cell shows another text.
    """

    def __init__(
        self,
        path: Path,
        sizes: Iterable[tuple[int, int]],
        formatted: Collection[float] = (),
    ) -> None:
        self._formatted = formatted
        # calamine keeps them all
        if any(rows * columns > _MOST_CELLS for rows, columns in sizes):
            raise _too_large(path)
        self._book = CalamineWorkbook.from_filelike(BytesIO(path.read_bytes()))
        visible = SheetVisibleEnum.Visible
        self.sheets = {
            sheet.name: sheet.visible == visible for sheet in self._book.sheets_metadata
        }

    def read(self, name: str) -> Worksheet:
        """Read a sheet, each cell from A1 to the last one."""
        sheet = self._book.get_sheet_by_name(name)
        found = Worksheet(name=name, notes=(_UNSEEN,), is_unseen=True)
        for number, cells in enumerate(sheet.to_python(skip_empty_area=False), start=1):
            found.add(number, enumerate(map(self._cell, cells)))
        found.merged.extend(
            (*first, *last) for first, last in sheet.merged_cell_ranges or ()
        )
        return found

    def _cell(self, value: Any) -> str:
        return text_of(value, FORMATTED if value in self._formatted else "a number")


def _too_large(path: Path) -> SheetError:
    return SheetError(
        f"{path.name} is too large: delete what is beyond the table, or save the sheet"
        " as CSV"
    )


def _open_zip(path: Path, book: zipfile.ZipFile) -> _Xlsx | _Other:
    parts = book.namelist()
    if sum(part.file_size for part in book.infolist()) > _MOST_BYTES:
        raise _too_large(path)
    if "xl/workbook.xml" in parts:
        return _Xlsx(book)
    if "content.xml" in parts:
        if b"encryption-data" in book.read("META-INF/manifest.xml"):
            raise PasswordError
        content = book.read("content.xml")
        if _ODD_BOOLEAN.search(content):
            raise ValueError("it has booleans that are written as numbers")
        if _COVERED_VALUE.search(content):
            raise ValueError("a merged cell covers a value")
        numbers = _SHOWN_NUMBER.findall(content)
        formatted = {
            float(number)
            for number, text in numbers
            if text.strip().replace(b",", b".") != number
        }
        return _Other(path, map(_size, content.split(b"<table:table ")[1:]), formatted)
    sheets = [book.read(part)[:4_096] for part in parts if "/worksheets/" in part]
    ends = [
        struct.unpack("<I4xI", end)
        for part in sheets
        for end in _XLSB_SIZE.findall(part)
    ]
    return _Other(path, ends)


def _open_ole(path: Path) -> _Other:
    whole = path.read_bytes()
    if _ENCRYPTED in whole:
        raise PasswordError
    return _Other(
        path, [struct.unpack("<I2xH", size) for size in _XLS_SIZE.findall(whole)]
    )


def _size(table: bytes) -> tuple[int, int]:
    """
    Return the last row and the last column of a table of .ods that hold something.
    """
    height = 0
    width = 0
    number = 0
    for row in table.split(b"<table:table-row")[1:]:
        number += _repeated(row.partition(b">")[0])
        cells = row.rpartition(b"office:value-type")[0]
        if cells:
            height = number
            width = max(width, sum(map(_repeated, cells.split(b"-cell")[1:])))
    return height, width


def _repeated(element: bytes) -> int:
    found = _REPEATED.search(element)
    return int(found[1]) if found else 1


def _sheets(path: Path, sheet: str | None, book: _Xlsx | _Other) -> list[Worksheet]:
    every = tuple(name for name in book.sheets if name != CATEGORY_SHEET)
    names = [
        name for name in every if name == sheet or (sheet is None and book.sheets[name])
    ]
    if not names:
        listed = ", ".join(map(repr, every))
        lack = "no visible sheet" if sheet is None else f"no sheet {sheet!r}"
        which = option("sheet", "…")
        raise SheetError(f"{path.name} has {lack}; it has {listed}: name one ({which})")
    return [book.read(name).finished(every) for name in names]


def is_workbook(path: Path) -> bool:
    """Say whether a file begins as a workbook does."""
    return _signature(path) in (_ZIP, _OLE)


def _signature(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4)


def read_workbook(path: Path, sheet: str | None = None) -> list[Worksheet]:
    """
    Read the sheets of a workbook that may be meant.

    Args:
        path: Of the file.
        sheet: The one that is meant; None: all that are visible.

    Raises:
        SheetError: It has no such sheet, has a password, is too large or damaged.
        OSError: It cannot be opened.
    """
    try:
        if _signature(path) == _OLE:
            return _sheets(path, sheet, _open_ole(path))
        with zipfile.ZipFile(path) as book:
            return _sheets(path, sheet, _open_zip(path, book))
    except (PetstoreError, OSError):
        raise
    except PasswordError as error:
        raise SheetError(
            f"{path.name} has a password: remove it, and save the file"
        ) from error
    except Exception as error:  # whatever a foreign file makes its readers raise
        raise SheetError(
            f"{path.name} is not a workbook that can be read ({error}): "
            "open it in a spreadsheet program, and save it as .xlsx"
        ) from error
