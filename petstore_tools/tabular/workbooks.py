"""
Spreadsheets opened, workbooks in and .xlsx out: every cell is text, and says what it was if it
was none.
"""

from __future__ import annotations

import io
import posixpath
import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from numbers import Real
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

from petstore_tools.errors import SheetError
from petstore_tools.tabular.atomic import replace_file
from petstore_tools.tabular.cells import (
    EXACT,
    MERGED,
    NonTextCell,
    Record,
    Sheet,
    are_blank,
    column_letter,
    column_position,
)
from petstore_tools.tabular.template import CATEGORY_SHEET, rejects_bytes
from petstore_tools.tabular.text_files import read_csv
from petstore_tools.text import option, pluralize

_BOOLEAN_CELL: Final = re.compile(rb'<table:table-cell\b[^>]*\boffice:value-type="boolean"[^>]*>')
_BOOLEAN_VALUE: Final = re.compile(rb'\boffice:(?:boolean-)?value="([^"]*)"')
_REPEATED: Final = re.compile(rb'-repeated="(\d+)"')
_BROKEN: Final = (
    *(zipfile.BadZipFile, zlib.error, EOFError, KeyError, IndexError, RuntimeError, ValueError),
    ElementTree.ParseError,
)
_MOST_BYTES: Final = 1 << 28  # of an unpacked workbook: a million rows of three columns take half
_MOST_CELLS: Final = 8_000_000  # from A1 to the last one
_DATES: Final = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}  # as Excel counts
_DATE_CODE: Final = re.compile(r'"[^"]*"|\\.|\[[^]]*\]|General|([dmyhs])', re.IGNORECASE)
# the record of a sheet of .xls that says how far it goes
_XLS_SIZE: Final = re.compile(
    rb"\x00\x02\x0e\x00....(..[\x00\x01]\x00...[\x00\x01])\x00\x00", re.DOTALL
)
_ENCRYPTED: Final = "EncryptedPackage".encode("utf-16-le")
_ESCAPED: Final = re.compile("_x([0-9A-Fa-f]{4})_")


@dataclass(frozen=True, kw_only=True)
class Worksheet(Sheet):
    """
    A sheet of a workbook.

    Attributes:
        rows: Its cells from column A on, by the number of the row; empty rows may be left out.
    """

    suffix: str = ".xlsx"
    delimiter: str = " "
    rows: Mapping[int, list[str]]

    def records(self) -> Iterator[Record]:
        """Yield each row with its number."""
        yield from self.rows.items()

    def content(self, header: Sequence[str], rows: Iterable[Sequence[str]], **helps: Any) -> bytes:
        """Return a workbook; bad cells and drop-downs as `template.rejects_bytes` takes them."""
        return rejects_bytes(header, rows, **helps)

    def escape(self, cell: str) -> str:
        """Return the cell as it is: a text cell of a workbook runs nothing."""
        return cell

    unescape = escape


def text_of(value: Any, exact: int = EXACT) -> str:
    """
    Return a cell's value as text; one that was no text keeps what it was
    (`importing.values.NonTextCell`).

    Args:
        value: As the reader gave it.
        exact: The number from which on its neighbours cannot be told apart.
    """
    match value:
        case str():
            return str(value)
        case bool():
            return NonTextCell("TRUE" if value else "FALSE", "a boolean")
        case Real():
            number = float(value)
            if abs(number) >= exact:
                point = 0 if exact == EXACT else 1  # so few digits would look exact
                return NonTextCell(f"{number:.{point}f}", "a number that may have been rounded")
            return NonTextCell(
                str(int(number)) if number.is_integer() else repr(number), "a number"
            )
        case datetime() | date():
            return NonTextCell(value.isoformat(), "a date")
        case time() | timedelta():
            return NonTextCell(str(value), "a time")
    return NonTextCell(str(value), f"of type {type(value).__name__}")


def read_workbook(
    path: Path, sheet: str | None = None, encoding: str | None = None
) -> list[Worksheet]:
    """
    Return the sheets that may be meant: the one named, else all that are visible.

    Raises:
        SheetError: It cannot be opened, or has no such sheet; or an encoding is given.
        OSError: It cannot be read.
    """
    if encoding is not None:
        raise SheetError(f"an encoding is for text files, and {path.name} is a workbook")
    try:
        with zipfile.ZipFile(path) as book:
            if sum(part.file_size for part in book.infolist()) > _MOST_BYTES:
                raise SheetError(
                    f"{path.name} is too large: it unpacks to more than {_MOST_BYTES >> 20} MB; "
                    "delete what is no table, or save the sheet as CSV"
                )
            if "xl/workbook.xml" in book.namelist():
                return _chosen(path, sheet, _Xlsx(book))
    except zipfile.BadZipFile:
        pass  # another format, or its reader says what is wrong with it
    except SheetError:
        raise
    except _BROKEN as error:
        raise _unreadable(path, error) from error
    return _chosen(path, sheet, _Other(path))


def _unreadable(path: Path, error: Exception) -> SheetError:
    return SheetError(
        f"{path.name} is not a workbook that can be read ({error}): "
        "open it in a spreadsheet program, and save it as .xlsx"
    )


def _locked(path: Path) -> SheetError:
    return SheetError(f"{path.name} has a password: remove it, and save the file")


def _chosen(path: Path, sheet: str | None, book: _Xlsx | _Other) -> list[Worksheet]:
    every = tuple(name for name in book.sheets if name != CATEGORY_SHEET)
    names = [name for name in every if name == sheet or (sheet is None and book.sheets[name])]
    if not names:
        listed = ", ".join(map(repr, every))
        what = "no visible sheet" if sheet is None else f"no sheet {sheet!r}"
        which = option('sheet="…"')
        raise SheetError(f"{path.name} has {what}; it has {listed}: name one ({which})")
    return [replace(book.read(name), names=every) for name in names]


class _Other:
    """A workbook that calamine reads: .xls, .xlsb and .ods; `sheets` says which are visible."""

    def __init__(self, path: Path) -> None:
        import python_calamine

        try:
            self._book = python_calamine.CalamineWorkbook.from_object(_checked(path))
        except python_calamine.PasswordError as error:
            raise _locked(path) from error
        except (python_calamine.CalamineError, python_calamine.ZipError) as error:
            raise _unreadable(path, error) from error
        visible = python_calamine.SheetVisibleEnum.Visible
        self.sheets = {found.name: found.visible == visible for found in self._book.sheets_metadata}

    def read(self, name: str) -> Worksheet:
        sheet = self._book.get_sheet_by_name(name)
        rows = {
            number: [cell if isinstance(cell, str) else text_of(cell) for cell in cells]
            for number, cells in enumerate(sheet.to_python(skip_empty_area=False), start=1)
        }
        notes = (
            "whether rows are hidden, formulas without a value and error cells cannot be seen in "
            "this kind of workbook: look, or save it as .xlsx",
        )
        _mark_merged(rows, [(*first, *last) for first, last in sheet.merged_cell_ranges or ()])
        return Worksheet(name=name, rows=rows, notes=notes, is_unseen=True)


def _checked(path: Path) -> io.BytesIO:
    """
    Return a workbook for calamine, which reads each cell from A1 to the last one.

    Booleans of .ods are written as OpenDocument says: some programs write `value="1"`, which reads
    as a number.

    Raises:
        SheetError: The last cell is too far away, or it has a password.
    """
    whole = path.read_bytes()
    try:
        with zipfile.ZipFile(io.BytesIO(whole)) as book:
            parts = {part: book.read(part) for part in book.namelist()}
    except _BROKEN:
        parts = {}
    if _ENCRYPTED in whole or b"encryption-data" in parts.get("META-INF/manifest.xml", b""):
        raise _locked(path)
    content = parts.get("content.xml", b"")
    sizes = [_size(table) for table in content.split(b"<table:table ")[1:]]
    sizes += [_binary_size(part) for name, part in parts.items() if "/worksheets/" in name]
    sizes += [struct.unpack("<I2xH", found) for found in _XLS_SIZE.findall(whole)]
    rows, columns = max(sizes, default=(0, 0), key=lambda size: size[0] * size[1])
    if rows * columns > _MOST_CELLS:
        raise SheetError(
            f"{path.name} has a cell in row {rows:,} and one in column {column_letter(columns - 1)}"
            ": delete the rows and columns beyond the table, and save it"
        )
    if not content:
        return io.BytesIO(whole)
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as book:
        for name, part in parts.items():
            is_content = name == "content.xml"
            book.writestr(name, _BOOLEAN_CELL.sub(_plain_boolean, part) if is_content else part)
    memory.seek(0)
    return memory


def _size(table: bytes) -> tuple[int, int]:
    """Return the last row and the last column of a table of .ods that hold something."""
    height = number = width = 0
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


def _binary_size(part: bytes) -> tuple[int, int]:
    """Return the last row and the last column that a sheet of .xlsb says it has."""
    at = part.find(b"\x94\x01\x10", 0, 4_096)
    if at < 0:
        return 0, 0
    _, row, _, column = struct.unpack_from("<4I", part, at + 3)
    return row + 1, column + 1


def _plain_boolean(cell: re.Match[bytes]) -> bytes:
    return _BOOLEAN_VALUE.sub(
        lambda value: (
            b'office:boolean-value="%s"' % (b"true" if value[1] in (b"1", b"true") else b"false")
        ),
        cell[0],
    )


def _mark_merged(
    rows: Mapping[int, list[str]], ranges: Iterable[tuple[int, int, int, int]]
) -> None:
    """Name the cells that a merged one covers; ranges are rows and columns from 0."""
    for top, left, bottom, right in ranges:
        first = rows.get(top + 1, [])[left : left + 1]
        if first and first[0].strip():
            kind = f"{MERGED} {column_letter(left)}{top + 1} {first[0][:40]!r}"
            for number in rows.keys() & range(top + 1, bottom + 2):
                cells = rows[number]
                for at in range(left, min(right + 1, len(cells))):
                    if not cells[at] and (number, at) != (top + 1, left):
                        cells[at] = NonTextCell("", kind)


class _Xlsx:
    """A workbook of Excel, read from its XML; `sheets` says which are visible."""

    def __init__(self, book: zipfile.ZipFile) -> None:
        self._book = book
        index = ElementTree.fromstring(book.read("xl/workbook.xml"))
        links = ElementTree.fromstring(book.read("xl/_rels/workbook.xml.rels"))
        targets = {
            link.get("Id"): posixpath.normpath(posixpath.join("/xl", link.get("Target", "")))[1:]
            for link in links
            if link.get("Type", "").endswith("/worksheet")
        }
        self._parts: dict[str, str] = {}
        self.sheets: dict[str, bool] = {}
        for entry in index.iterfind(".//{*}sheet"):
            link = next((value for key, value in entry.items() if key.endswith("}id")), None)
            if link in targets:
                name = entry.get("name", "")
                self._parts[name] = targets[link]
                self.sheets[name] = entry.get("state", "visible") == "visible"
        properties = index.find("{*}workbookPr")
        since_1904 = properties is not None and properties.get("date1904") in ("1", "true")
        self._day_0 = datetime(1904, 1, 1) if since_1904 else datetime(1899, 12, 30)
        self._strings = [_text_in(item) for item in self._part("xl/sharedStrings.xml")]
        self._dates = self._date_styles()

    def _part(self, name: str) -> ElementTree.Element:
        """Return a part of the book, an empty one where it has none."""
        known = {part.casefold(): part for part in self._book.namelist()}
        found = known.get(name.casefold())
        return ElementTree.fromstring(self._book.read(found) if found else "<none/>")

    def _date_styles(self) -> set[str]:
        """Return the styles under which a number is a date."""
        styles = self._part("xl/styles.xml")
        codes = {
            number.get("numFmtId"): any(_DATE_CODE.findall(number.get("formatCode", "")))
            for number in styles.iterfind("{*}numFmts/{*}numFmt")
        }
        formats = [style.get("numFmtId", "0") for style in styles.iterfind("{*}cellXfs/{*}xf")]
        return {
            str(at) for at, number in enumerate(formats) if codes.get(number, int(number) in _DATES)
        }

    def read(self, name: str) -> Worksheet:
        """Read the XML of a sheet once, row by row; nothing outside the file is loaded."""
        rows: dict[int, list[str]] = {}
        others: set[str] = set()
        hidden: set[int] = set()
        hidden_columns: set[int] = set()
        formulas: Counter[int] = Counter()
        merged = []
        number = 0
        with self._book.open(self._parts[name]) as xml:
            for _, element in ElementTree.iterparse(xml):
                if element.tag in others:  # most of them
                    continue
                space, end, tag = element.tag.rpartition("}")
                if tag == "row" and "drawing" not in space:
                    number = int(element.get("r", number + 1))
                    cells = self._cells(element, space + end, formulas)
                    if not are_blank(cells):
                        rows[number] = cells
                        if element.get("hidden") in ("1", "true"):
                            hidden.add(number)
                    element.clear()
                elif tag == "mergeCell":
                    merged.append(_range(element.get("ref", "")))
                elif tag == "col" and element.get("hidden") in ("1", "true"):
                    first = int(element.get("min", 1))
                    last = int(element.get("max", 1))
                    hidden_columns.update(range(first - 1, last))
                elif tag != "col":
                    others.add(element.tag)
        _mark_merged(rows, merged)
        listed = ", ".join(
            f"column {column_letter(at)} ({pluralize(count, 'cell')})"
            for at, count in sorted(formulas.items())
        )
        return Worksheet(
            name=name,
            rows=rows,
            hidden=frozenset(hidden),
            hidden_columns=frozenset(hidden_columns),
            notes=(f"formulas, whose saved values are read: {listed}",) if listed else (),
        )

    def _cells(self, row: ElementTree.Element, space: str, formulas: Counter[int]) -> list[str]:
        cells: list[str] = []
        formula_tag = f"{space}f"
        value_tag = f"{space}v"
        at = -1
        for cell in row:
            at += 1
            if not len(cell):
                continue
            if place := cell.get("r"):
                at = column_position(place.rstrip("0123456789"))
            kind = cell.get("t", "n")
            value = ""
            has_formula = False
            for part in cell:
                if part.tag == value_tag:
                    value = part.text or ""
                elif part.tag == formula_tag:
                    has_formula = True
            found = self._value(cell, kind, value)
            if has_formula:
                formulas[at] += 1
                if not value and kind != "str":
                    found = NonTextCell("", "a formula without a saved value")
            if found or isinstance(found, NonTextCell):
                cells.extend([""] * (at - len(cells)))
                cells[at:] = [found]
        return cells

    def _value(self, cell: ElementTree.Element, kind: str, value: str) -> str:
        match kind:
            case "s":
                return self._strings[int(value)] if value else ""
            case "str":
                return _plain(value)
            case "inlineStr":
                return "".join(map(_text_in, cell.iterfind("{*}is")))
            case "b":
                return NonTextCell("FALSE" if value in ("0", "false") else "TRUE", "a boolean")
            case "e":
                return NonTextCell(value, f"the error {value}")
            case "d":
                return NonTextCell(value, "a date")
        if not value:
            return ""
        if cell.get("s") in self._dates:
            with suppress(OverflowError):
                days = timedelta(days=float(value))
                day = self._day_0 + days
                if days < timedelta(days=1):
                    return text_of(days)
                return text_of(day if day.time() != time() else day.date())
        return text_of(float(value))


def _text_in(item: ElementTree.Element) -> str:
    """Return the text of a string, with that of its runs, and without how it is pronounced."""
    if len(item) == 1 and item[0].tag.endswith("t"):
        return _plain(item[0].text or "")
    return "".join(
        _plain(part.text or "") for path in ("{*}t", "{*}r/{*}t") for part in item.iterfind(path)
    )


def _plain(text: str) -> str:
    return _ESCAPED.sub(lambda code: chr(int(code[1], 16)), text) if "_x" in text else text


def _range(reference: str) -> tuple[int, int, int, int]:
    """Return the corners of a range, rows and columns from 0: `A1:B2` is (0, 0, 1, 1)."""
    from xlsxwriter.utility import xl_cell_to_rowcol

    first, _, last = reference.partition(":")
    return (*xl_cell_to_rowcol(first), *xl_cell_to_rowcol(last or first))


def write_xlsx(
    path: Path, header: Sequence[str], rows: Iterable[Sequence[str]], *, note: str = ""
) -> None:
    """Write a workbook, whole or not at all; `template.rejects_bytes` says what it raises."""
    replace_file(path, rejects_bytes(header, rows, note=note))


_TEXTS: Final = (".csv", ".tsv", ".txt")
FORMATS: Final = (*_TEXTS, ".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_WORKBOOKS: Final = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  # what their files begin with


def open_sheets(
    path: Path, sheet: str | None = None, encoding: str | None = None
) -> Sequence[Sheet]:
    """
    Open a spreadsheet.

    Args:
        path: Its ending is one of `FORMATS`; whether it is a text or a workbook, its content tells.
        sheet: Which sheet of a workbook; None: all that are visible.
        encoding: Of a text file; None: it is found.

    Returns:
        Each sheet of a workbook that may be meant; the one of a text.

    Raises:
        SheetError: It is not there, has another format, or cannot be read.
    """
    if path.suffix.casefold() not in FORMATS:
        endings = ", ".join(FORMATS)
        raise SheetError(
            f"{path.name or path} cannot be imported; save the sheet as one of these: {endings}"
        )
    try:
        with path.open("rb") as file:  # programs call texts .xls, and people rename files
            is_workbook = file.read(4).startswith(_WORKBOOKS)
        if is_workbook:
            return read_workbook(path, sheet, encoding)
        suffix = path.suffix if path.suffix.casefold() in _TEXTS else ".csv"
        return [replace(read_csv(path, sheet, encoding), suffix=suffix)]
    except FileNotFoundError as error:
        raise SheetError(
            f"there is no file {path.name} in the folder {path.absolute().parent}"
        ) from error
    except PermissionError as error:
        raise SheetError(
            f"{path.name} cannot be read: close it in Excel, or check its permissions"
        ) from error
    except OSError as error:
        raise SheetError(f"{path.name} cannot be read: {error.strerror}") from error
