"""Spreadsheets opened by what they hold, and what only the XML of a workbook shows."""

from __future__ import annotations

import resource
import zipfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
import xlsxwriter
from click.testing import CliRunner

from petstore_tools import Sandbox
from petstore_tools.cli import cli
from petstore_tools.errors import SheetError
from petstore_tools.importing.options import ImportOptions
from petstore_tools.importing.sheet import read_table
from petstore_tools.tabular.workbooks import FORMATS, SheetMarks, open_sheets, read_marks

CORPUS = Path(__file__).parents[1] / "importing" / "corpus"
SPACE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


@pytest.mark.parametrize(
    ("source", "name", "written"),
    [
        ("plain.xlsx", "pets.csv", ".xlsx"),
        ("plain.xls", "pets.xlsx", ".xlsx"),
        ("plain.csv", "pets.xlsx", ".csv"),
        ("unicode_text.txt", "pets.txt", ".txt"),
        ("plain.xlsb", "pets.xlsb", ".xlsx"),
        ("plain.xlsm", "pets.xlsm", ".xlsx"),
    ],
)
def test_a_file_is_read_as_what_it_holds_whatever_its_name_says(
    sandbox: Sandbox, tmp_path: Path, source: str, name: str, written: str
) -> None:
    """People rename files, and programs call a text .xls; result files have the right ending."""
    (tmp_path / name).write_bytes((CORPUS / source).read_bytes())
    columns = {"Tiername": "name", "Kategorie": "categoryId"} if written == ".txt" else None
    categories = CORPUS / "kategorien.csv" if columns else None

    result = sandbox.store.import_pets(
        tmp_path / name, columns=columns, categories=categories, progress=False
    )

    assert (result.created, result.complete) == (3, True)
    assert [file.name for file in result.files] == [f"pets.sandbox.created{written}"]
    assert len(list(open_sheets(result.files[0])[0].records())) == 4


def test_each_ending_is_named_by_the_help_and_by_the_refusal_of_another(tmp_path: Path) -> None:
    """Both take them from the table."""
    shown = CliRunner().invoke(cli, ["import", "--help"]).output
    with pytest.raises(SheetError, match="save the sheet as one of these: ") as refused:
        open_sheets(tmp_path / "pets.doc")

    assert all(ending in shown and ending in str(refused.value) for ending in FORMATS)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("gone.csv", "there is no file gone.csv in the folder"),
        ("gone.xlsx", "there is no file gone.xlsx in the folder"),
        ("folder.xlsx", "folder.xlsx cannot be read: Is a directory"),
        ("pets.csv", "pets.csv is not a workbook: it has no sheet 'A'"),
        ("cut.xlsx", r"cut.xlsx is not a workbook that can be read \(.*\): open it in"),
    ],
)
def test_what_cannot_be_opened_is_named(tmp_path: Path, name: str, why: str) -> None:
    """One sentence each, whatever the format."""
    (tmp_path / "folder.xlsx").mkdir()
    (tmp_path / "pets.csv").write_text("name\nRex\n")
    (tmp_path / "cut.xlsx").write_bytes((CORPUS / "plain.xlsx").read_bytes()[:500])

    with pytest.raises(SheetError, match=why):
        open_sheets(tmp_path / name, "A")


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A workbook with an empty sheet."""
    with xlsxwriter.Workbook(tmp_path / "book.xlsx") as made:
        made.add_worksheet("notes")
        made.add_worksheet("animals & more")
    return tmp_path / "book.xlsx"


def marks(path: Path, rows: str, *, before: str = "", after: str = "") -> SheetMarks | None:
    """Write the XML of the second sheet, and return its marks."""
    sheet = (
        f'<?xml version="1.0"?>{before}<x:worksheet xmlns:x="{SPACE}" xmlns="{SPACE}">'
        f"<x:sheetData>{rows}</x:sheetData>{after}</x:worksheet>"
    )
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    with zipfile.ZipFile(path, "w") as book:
        for name, content in (parts | {"xl/worksheets/sheet2.xml": sheet.encode()}).items():
            book.writestr(name, content)
    return read_marks(path, "animals & more")


@pytest.mark.case("P51")
@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        ("", {}),
        ('<row r="2" hidden="1"><c r="A2"><v>1</v></c></row>', {"hidden": {2}}),
        ("<x:row r='2' hidden='true'/>", {"hidden": {2}}),
        ('<row r="3"><c r="B3"><f>1+2</f><v>3</v></c></row>', {"formulas": {1: [3]}}),
        (
            "<x:row r='3'><x:c r='AA3' t='e'><x:v>#REF!</x:v></x:c></x:row>",
            {"errors": {(3, 26): "#REF!"}},
        ),
        (
            '<row r="2"><c r="A2" t="str"><f>""</f><v></v></c><c r="B2"><f>1</f></c>'
            '<c r="C2"><f>1</f><v/></c></row>',  # an empty text is a saved value
            {"formulas": {0: [2], 1: [2], 2: [2]}, "unsaved": {(2, 1), (2, 2)}},
        ),
        (
            "".join(f'<row r="{n}" hidden="1"/>' for n in range(1, 9_000)),
            {"hidden": set(range(1, 9_000))},
        ),
    ],
)
def test_hidden_rows_formulas_and_errors_are_found_by_row_and_column(
    book: Path, rows: str, wanted: dict[str, object]
) -> None:
    """Rows count from 1 and columns from 0; the place of a button is no row."""
    button = '<d:row xmlns:d="http://schemas.openxmlformats.org/drawingml/2006/x">4</d:row>'

    assert marks(book, rows, after=button) == SheetMarks(**wanted)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rows", "before"),
    [
        ('<row r="2" hidden="1"><c</row>', ""),
        ('<row r="2" hidden="1">', ""),
        ('<row hidden="1"></row>', ""),
        ("<row r='2'>&a;</row>", '<!DOCTYPE x [<!ENTITY a SYSTEM "/etc/passwd">]>'),
    ],
    ids=["broken", "never closed", "no row number", "document type"],
)
def test_marks_that_cannot_be_read_are_not_known(
    book: Path, tmp_path: Path, rows: str, before: str
) -> None:
    """Nobody may take such a sheet for one without marks; no entity is followed."""
    (tmp_path / "text.xlsx").write_text("name,categoryId")

    assert marks(book, rows, before=before) is None
    assert read_marks(tmp_path / "text.xlsx", "notes") is None
    assert read_marks(book, "others") is None


def grown_by_reading(path: Path) -> tuple[int, int]:
    """Return how many rows a sheet has, and by how many KiB reading it makes a process grow."""
    import python_calamine  # noqa: F401 - loaded before it is measured

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rows = sum(1 for row in read_table(ImportOptions(path)).rows())
    return rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before


@pytest.mark.case("P51")
def test_a_hundred_thousand_rows_stay_within_their_memory(tmp_path: Path) -> None:
    """At most 150 MB beyond the process."""
    with xlsxwriter.Workbook(tmp_path / "big.xlsx", {"constant_memory": True}) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["name", "categoryId", "status"])
        for number in range(1, 100_001):
            sheet.write_row(number, 0, [f"Pet {number}", number % 12, "sold"])

    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        rows, grown = processes.submit(grown_by_reading, tmp_path / "big.xlsx").result()

    assert rows == 100_000
    assert grown < 150 * 1024
