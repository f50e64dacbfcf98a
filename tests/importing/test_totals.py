"""Rows that sum up the others are no animals."""

from __future__ import annotations

from pathlib import Path

import pytest
import xlsxwriter

from petstore_tools import Sandbox
from petstore_tools.importing.sheet import read_table
from petstore_tools.importing.values import BadRow, Row

WORDS = ["Total", "SUMME", " gesamt ", "Subtotal:", "Grand total", "Zwischensumme :"]


def workbook(path: Path, last_row: list[object]) -> Path:
    """Write two animals and a last row, with a sum that Excel worked out."""
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        rows: list[list[object]] = [["name", "categoryId", "price"], ["Rex", 3, 10], ["Mia", 4, 20]]
        for number, cells in enumerate([*rows, last_row]):
            sheet.write_row(number, 0, cells)
        sheet.write_formula(3, 1, "=SUM(B2:B3)", None, 7)
        sheet.write_formula(3, 2, "=SUM(C2:C3)", None, 30)
    return path


@pytest.mark.case("P65")
@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("suffix", [".xlsx", ".csv"])
def test_a_totals_row_is_a_problem_and_not_an_animal(
    sandbox: Sandbox, tmp_path: Path, word: str, suffix: str
) -> None:
    """
    Whatever its case, with blanks around or a colon behind; it says how it is sent all the same.
    """
    path = tmp_path / f"pets{suffix}"
    if suffix == ".xlsx":
        workbook(path, [word])
    else:
        path.write_text(f"name,categoryId,price\nRex,3,10\nMia,4,20\n{word},7,30\n")

    result = sandbox.store.import_pets(path)

    assert (result.created, result.rejected) == (2, 1)
    (problem,) = result.problems
    assert str(problem) == (
        f"row 4, column A (name): {word!r} is a word for a total; delete the row; or, for an animal of that "
        "name: allow_totals=True"
    )


@pytest.mark.case("P65")
def test_an_animal_that_is_called_total_is_imported_when_told(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    """In the middle of the data; the other rows go at once, and nothing goes twice."""
    path = tmp_path / "pets.csv"
    path.write_text("name,categoryId\nRex,3\nTotal,4\nMia,5\n")

    first = sandbox.store.import_pets(path)
    second = sandbox.store.import_pets(path, allow_totals=True)

    assert (first.created, first.rejected, second.created_now, second.complete) == (2, 1, 1, True)
    assert sandbox.store.list_pets()["name"].tolist() == ["Rex", "Mia", "Total"]
    assert sandbox.store.import_pets(path, allow_totals=True).requests == 0


@pytest.mark.case("P65")
@pytest.mark.parametrize(
    "name", ["Totally", "Summer", "Total recall", "Gesa", "Sub", "Tot", "Totalus:"]
)
def test_a_name_that_only_begins_so_is_a_name(tmp_path: Path, name: str) -> None:
    """Only the word alone is a total."""
    (tmp_path / "pets.csv").write_text(f"name,categoryId\n{name},3\n")

    (row,) = read_table(tmp_path / "pets.csv").rows()

    assert isinstance(row, Row)


@pytest.mark.case("P65")
@pytest.mark.parametrize("note", ["as of 31 March", "Stand: 31.03.2026", "Prepared by Ms Total"])
@pytest.mark.parametrize("suffix", [".xlsx", ".csv"])
def test_a_note_below_the_data_is_a_problem_and_not_an_animal(
    tmp_path: Path, note: str, suffix: str
) -> None:
    """It has no category, or too few cells."""
    path = tmp_path / f"pets{suffix}"
    if suffix == ".csv":
        path.write_text(f"name,categoryId\nRex,3\n\n{note}\n")
    else:
        with xlsxwriter.Workbook(path) as book:
            sheet = book.add_worksheet()
            for number, cells in enumerate([["name", "categoryId"], ["Rex", 3], [], [note]]):
                sheet.write_row(number, 0, cells)

    rows = list(read_table(path).rows())

    assert isinstance(rows[0], Row)
    assert rows[1] is None
    assert isinstance(rows[2], BadRow)
