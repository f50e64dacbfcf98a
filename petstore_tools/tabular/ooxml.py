"""
What only the XML of a workbook of Excel shows: hidden rows, formulas and error cells of a sheet.
"""

from __future__ import annotations

import posixpath
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

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
                    _add_marks(marks, element, element.tag.removesuffix("row"))
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


def _add_marks(marks: SheetMarks, row: ElementTree.Element, space: str) -> None:
    number = int(row.attrib["r"])
    if row.get("hidden") in ("1", "true"):
        marks.hidden.add(number)
    for cell in row:
        formula, error = cell.find(space + "f") is not None, cell.get("t") == "e"
        if formula or error:
            column, value = _column(cell.attrib["r"]), cell.findtext(space + "v", "")
            if error:
                marks.errors[number, column] = value
            if formula:
                marks.formulas.setdefault(column, []).append(number)
                if not value and cell.get("t") != "str":
                    marks.unsaved.add((number, column))


def _column(reference: str) -> int:
    column = 0
    for letter in reference.rstrip("0123456789"):
        column = 26 * column + ord(letter) - ord("A") + 1
    return column - 1
