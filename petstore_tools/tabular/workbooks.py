"""Workbooks in, .xlsx out; every cell is text, and what was no text says what it was."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from numbers import Real
from pathlib import Path
from typing import Any, Final

from petstore_tools.errors import SheetError
from petstore_tools.tabular.atomic import replace_file
from petstore_tools.tabular.cells import EXACT, NonTextCell, Record, Sheet, column_letter
from petstore_tools.tabular.ooxml import SheetMarks, read_marks
from petstore_tools.tabular.template import CATEGORY_SHEET, rejects_bytes
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
    (`importing.rows.NonTextCell`).

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
