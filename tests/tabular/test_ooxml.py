"""What only the XML of a workbook shows."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
import xlsxwriter

from petstore_tools.tabular.workbooks import SheetMarks, read_marks

SHEET = "xl/worksheets/sheet1.xml"


def marked(path: Path) -> Path:
    """Write a workbook with hidden rows, formulas and error cells on its second sheet."""
    with xlsxwriter.Workbook(path) as book:
        book.add_worksheet("notes").set_row(0, options={"hidden": True})
        sheet = book.add_worksheet("animals & more")
        sheet.write_row("A1", ["name", "categoryId"])
        sheet.write_row("A2", ["Rex", 3])
        sheet.set_row(1, options={"hidden": True})
        sheet.set_row(3, options={"hidden": True})
        sheet.write_formula("B3", "=1+2", None, 3)
        sheet.write_formula("AA4", "=NA()", None, "#N/A")
        sheet.write_formula("B5", "=A9", None, "")
    return path


def with_part(path: Path, part: str, content: bytes) -> Path:
    """Replace a part of a workbook."""
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    with zipfile.ZipFile(path, "w") as book:
        for name, text in (parts | {part: content}).items():
            book.writestr(name, text)
    return path


def sheet_of(rows: str, *, before: str = "", prefix: str = "") -> bytes:
    """Return the XML of a sheet."""
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    name = f":{prefix.rstrip(':')}" if prefix else ""
    return (
        f'<?xml version="1.0"?>{before}<{prefix}worksheet xmlns{name}="{space}"><{prefix}sheetData>{rows}'
        f"</{prefix}sheetData></{prefix}worksheet>"
    ).encode()


@pytest.fixture
def book(tmp_path: Path) -> Path:
    with xlsxwriter.Workbook(tmp_path / "book.xlsx") as made:
        made.add_worksheet("animals")
    return tmp_path / "book.xlsx"


@pytest.mark.case("P51")
def test_hidden_rows_formulas_and_errors_are_found_by_row_and_column(tmp_path: Path) -> None:
    """Rows count from 1 and columns from 0; a formula without a saved value is told apart."""
    marks = read_marks(marked(tmp_path / "book.xlsx"), "animals & more")

    assert marks == SheetMarks(
        hidden={2, 4}, formulas={1: [3, 5], 26: [4]}, unsaved={(5, 1)}, errors={(4, 26): "#N/A"}
    )


def test_a_plain_sheet_has_no_marks(book: Path) -> None:
    """An empty sheet and one of plain cells have none."""
    assert read_marks(book, "animals") == SheetMarks()


def test_an_empty_text_of_a_formula_is_a_saved_value(book: Path) -> None:
    """`=""` gives a text that is empty; a formula without any value gives nothing."""
    cells = (
        '<c r="A2" t="str"><f>""</f><v></v></c><c r="B2"><f>1+1</f></c><c r="C2"><f>1</f><v/></c>'
    )
    with_part(book, SHEET, sheet_of(f'<row r="2">{cells}</row>'))

    marks = read_marks(book, "animals")

    assert marks is not None
    assert marks.unsaved == {(2, 1), (2, 2)}


def test_prefixes_and_both_quotes_are_understood(book: Path) -> None:
    """Some programs write `x:row` and `hidden='true'`, and an empty row without an end tag."""
    rows = (
        "<x:row r='2' hidden='true'/><x:row r='3'><x:c r='A3' t='e'><x:v>#REF!</x:v></x:c></x:row>"
    )
    with_part(book, SHEET, sheet_of(rows, prefix="x:"))

    assert read_marks(book, "animals") == SheetMarks(hidden={2}, errors={(3, 0): "#REF!"})


def test_marks_are_found_in_a_long_sheet(book: Path) -> None:
    """A row may begin in one block of bytes and end in another."""
    rows = "".join(
        f'<row r="{n}" hidden="1"><c r="A{n}"><f>1</f><v>1</v></c></row>' for n in range(1, 9_000)
    )
    with_part(book, SHEET, sheet_of(rows))

    marks = read_marks(book, "animals")

    assert marks == SheetMarks(hidden=set(range(1, 9_000)), formulas={0: list(range(1, 9_000))})


def test_the_place_of_a_button_is_no_row(book: Path) -> None:
    """It lies in a sheet as an element of the same name, with a number as its text."""
    button = '<x:row xmlns:x="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing">4</x:row>'
    content = sheet_of('<row r="2" hidden="1"/>').replace(
        b"</sheetData>", f"</sheetData>{button}".encode()
    )
    with_part(book, SHEET, content)

    assert read_marks(book, "animals") == SheetMarks(hidden={2})


@pytest.mark.parametrize(
    "content",
    [
        sheet_of('<row r="2" hidden="1"><c</row>'),
        sheet_of('<row r="2" hidden="1"></row>')[:-30],
        sheet_of('<row hidden="1"></row>'),
        sheet_of(
            "<row r='2' hidden='1'>&a;</row>",
            before='<!DOCTYPE x [<!ENTITY a SYSTEM "/etc/passwd">]>',
        ),
    ],
    ids=["broken", "cut off", "no row number", "document type"],
)
def test_what_cannot_be_read_is_said(book: Path, content: bytes) -> None:
    """Nobody may take a sheet that cannot be read for one without marks; no entity is followed."""
    with_part(book, SHEET, content)

    assert read_marks(book, "animals") is None


def test_a_file_that_is_no_workbook_and_a_sheet_that_is_not_there_are_unknown(
    book: Path, tmp_path: Path
) -> None:
    """The answer is that nobody knows, not that there is no mark."""
    (tmp_path / "text.xlsx").write_text("name,categoryId")

    assert read_marks(tmp_path / "text.xlsx", "animals") is None
    assert read_marks(book, "others") is None
    assert read_marks(tmp_path / "absent.xlsx", "animals") is None
