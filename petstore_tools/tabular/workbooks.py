"""
Spreadsheets opened, workbooks in and .xlsx out: every cell is text, and says what it was if it
was none.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from numbers import Real
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

from petstore_tools.errors import SheetError
from petstore_tools.tabular.atomic import replace_file
from petstore_tools.tabular.cells import (
    EXACT,
    NonTextCell,
    Record,
    Sheet,
    column_letter,
    column_position,
)
from petstore_tools.tabular.template import CATEGORY_SHEET, rejects_bytes
from petstore_tools.tabular.text_files import read_csv
from petstore_tools.text import option, pluralize

_BOOLEAN_CELL: Final = re.compile(rb'<table:table-cell\b[^>]*\boffice:value-type="boolean"[^>]*>')
_BOOLEAN_VALUE: Final = re.compile(rb'\boffice:(?:boolean-)?value="([^"]*)"')
_DAMAGED: Final = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, RuntimeError)


@dataclass(frozen=True, kw_only=True)
class Worksheet(Sheet):
    """
    A sheet of a workbook.

    Attributes:
        rows: Its cells from A1 on.
    """

    suffix: str = ".xlsx"
    delimiter: str = " "
    rows: list[list[Any]]

    def records(self) -> Iterator[Record]:
        """Yield each row with its number."""
        for number, cells in enumerate(self.rows, start=1):
            yield number, [cell if isinstance(cell, str) else text_of(cell) for cell in cells]

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
    import python_calamine

    if encoding is not None:
        raise SheetError(f"an encoding is for text files, and {path.name} is a workbook")
    try:
        book = python_calamine.CalamineWorkbook.from_object(_with_plain_booleans(path))
    except python_calamine.PasswordError as error:
        raise SheetError(f"{path.name} is protected by a password: save it without one") from error
    except (python_calamine.CalamineError, python_calamine.ZipError) as error:
        raise SheetError(
            f"{path.name} is not a workbook that can be read ({error}): "
            "open it in a spreadsheet program, and save it as .xlsx"
        ) from error
    visible = python_calamine.SheetVisibleEnum.Visible
    hidden = [found.name for found in book.sheets_metadata if found.visible != visible]
    every = tuple(name for name in book.sheet_names if name != CATEGORY_SHEET)
    names = [name for name in every if name == sheet or (sheet is None and name not in hidden)]
    if not names:
        listed = ", ".join(map(repr, every))
        what = "no visible sheet" if sheet is None else f"no sheet {sheet!r}"
        which = option('sheet="…"')
        raise SheetError(f"{path.name} has {what}; it has {listed}: name one ({which})")
    return [_read(book, name, every, path) for name in names]


def _with_plain_booleans(path: Path) -> io.BytesIO:
    """
    Write booleans as OpenDocument says: some programs write `value="1"`, which reads as a number.
    """
    try:
        with zipfile.ZipFile(path) as book:
            cells = _BOOLEAN_CELL.sub(_plain_boolean, book.read("content.xml"))
            parts = {part: book.read(part) for part in book.namelist()} | {"content.xml": cells}
    except _DAMAGED:
        return io.BytesIO(
            path.read_bytes()
        )  # another format, or its reader says what is wrong with it
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as book:
        for part, content in parts.items():
            book.writestr(part, content)
    memory.seek(0)
    return memory


def _plain_boolean(cell: re.Match[bytes]) -> bytes:
    return _BOOLEAN_VALUE.sub(
        lambda value: (
            b'office:boolean-value="%s"' % (b"true" if value[1] in (b"1", b"true") else b"false")
        ),
        cell[0],
    )


def _read(book: Any, name: str, every: tuple[str, ...], path: Path) -> Worksheet:
    sheet = book.get_sheet_by_name(name)
    others = [other for other in every if other != name]
    notes = []
    if others:
        notes += [f"sheet {name!r}", f"not read: sheet {', '.join(map(repr, others))}"]
    if sheet.merged_cell_ranges:
        notes.append("cells are merged: only the first of them has a value")
    rows = sheet.to_python(skip_empty_area=False)
    marks = read_marks(path, name)
    if marks is None:
        notes.append(
            "hidden rows, formulas and error cells of this kind of workbook cannot be seen"
        )
        marks = SheetMarks()
    notes += _add_marks(rows, marks)
    hidden = frozenset(
        number for number in marks.hidden if number <= len(rows) and any(rows[number - 1])
    )
    return Worksheet(name=name, names=every, rows=rows, hidden=hidden, notes=tuple(notes))


def _add_marks(rows: list[list[Any]], marks: SheetMarks) -> list[str]:
    """
    Call errors and formulas without a value what they are; return what should be known of formulas.
    """
    kinds = {place: (error, f"the error {error}") for place, error in marks.errors.items()}
    kinds |= dict.fromkeys(marks.unsaved - kinds.keys(), ("", "a formula without a saved value"))
    for (number, at), kind in kinds.items():
        if number <= len(rows) and at < len(rows[number - 1]) and not rows[number - 1][at]:
            rows[number - 1][at] = NonTextCell(*kind)
    found = ", ".join(
        f"column {column_letter(at)} ({pluralize(len(numbers), 'cell')})"
        for at, numbers in sorted(marks.formulas.items())
    )
    return [f"formulas, whose saved values are read: {found}"] if found else []


def write_xlsx(
    path: Path, header: Sequence[str], rows: Iterable[Sequence[str]], *, note: str = ""
) -> None:
    """Write a workbook, whole or not at all; `template.rejects_bytes` says what it raises."""
    replace_file(path, rejects_bytes(header, rows, note=note))


_ROWS: Final = {
    "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}row",
    "{http://purl.oclc.org/ooxml/spreadsheetml/main}row",
}
_LARGEST_INDEX: Final = 1 << 24  # bytes of the list of sheets: no person has more
_BROKEN: Final = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ElementTree.ParseError)


@dataclass(frozen=True, slots=True)
class SheetMarks:
    """
    What the cells of a sheet do not show; rows count from 1, columns from 0
    (`tabular.cells.column_letter`).

    Attributes:
        hidden: Rows that a person or a filter hides; empty ones at the end may be left out.
        formulas: Rows with a formula, by column.
        unsaved: Cells (row, column) whose formula has no saved value: they read as empty.
        errors: What an error cell (row, column) shows, such as `#N/A`.
    """

    hidden: set[int] = field(default_factory=set)
    formulas: dict[int, list[int]] = field(default_factory=dict)
    unsaved: set[tuple[int, int]] = field(default_factory=set)
    errors: dict[tuple[int, int], str] = field(default_factory=dict)


def read_marks(path: Path, sheet: str) -> SheetMarks | None:
    """
    Read the XML of a sheet once, row by row; nothing outside the file is loaded.

    Args:
        path: Of the workbook.
        sheet: Its name.

    Returns:
        The marks, or None where there is no such XML: then nobody knows whether there are any.
    """
    marks = SheetMarks()
    try:
        with zipfile.ZipFile(path) as book, book.open(_part(book, sheet)) as xml:
            for _, element in ElementTree.iterparse(xml):
                if element.tag in _ROWS:
                    _mark_row(marks, element, element.tag.removesuffix("row"))
                    element.clear()
    except (*_BROKEN, OSError, LookupError, ValueError):
        return None
    return marks


def _part(book: zipfile.ZipFile, sheet: str) -> str:
    """Return where in the file a sheet lies; raises LookupError."""
    parts = (book.open(name) for name in ("xl/workbook.xml", "xl/_rels/workbook.xml.rels"))
    index, links = (ElementTree.fromstring(part.read(_LARGEST_INDEX)) for part in parts)
    targets = {link.get("Id"): link.get("Target", "") for link in links}
    for entry in index.iterfind(".//{*}sheet"):
        if entry.get("name") == sheet:
            link = next((value for key, value in entry.items() if key.endswith("}id")), None)
            return posixpath.normpath(posixpath.join("/xl", targets[link])).lstrip("/")
    raise LookupError(sheet)


def _mark_row(marks: SheetMarks, row: ElementTree.Element, space: str) -> None:
    number = int(row.attrib["r"])
    if row.get("hidden") in ("1", "true"):
        marks.hidden.add(number)
    for cell in row:
        formula, error = cell.find(space + "f") is not None, cell.get("t") == "e"
        if formula or error:
            column, value = (
                column_position(cell.attrib["r"].rstrip("0123456789")),
                cell.findtext(space + "v", ""),
            )
            if error:
                marks.errors[number, column] = value
            if formula:
                marks.formulas.setdefault(column, []).append(number)
                if not value and cell.get("t") != "str":
                    marks.unsaved.add((number, column))


# by ending: a function of the path, and the sheet and the encoding that are asked for, which gives
# each sheet that may be meant
FORMATS: Final[Mapping[str, Callable[[Path, str | None, str | None], Sequence[Sheet]]]] = {
    ".csv": read_csv,
    ".tsv": read_csv,
    ".txt": read_csv,
    ".xlsx": read_workbook,
    ".xlsm": read_workbook,
    ".xlsb": read_workbook,
    ".xls": read_workbook,
    ".ods": read_workbook,
}
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
    read = FORMATS.get(path.suffix.casefold())
    if read is None:
        endings = ", ".join(FORMATS)
        raise SheetError(
            f"{path.name or path} cannot be imported; save the sheet as one of these: {endings}"
        )
    try:
        with path.open("rb") as file:  # programs call texts .xls, and people rename files
            is_workbook = file.read(4).startswith(_WORKBOOKS)
        if read is read_workbook and not is_workbook:
            return [replace(found, suffix=".csv") for found in read_csv(path, sheet, encoding)]
        return (read_workbook if is_workbook and read is read_csv else read)(path, sheet, encoding)
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
