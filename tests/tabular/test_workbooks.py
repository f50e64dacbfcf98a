"""Workbooks and frames as people have them."""

from __future__ import annotations

import datetime
import subprocess
import sys
import zipfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xlsxwriter

from petstore_tools.errors import SheetError
from petstore_tools.importing.sheet import Table, read_table
from petstore_tools.importing.values import BadRow, Row, RowProblem
from petstore_tools.tabular.workbooks import write_xlsx

Cells = list[list[Any]]


def workbook(path: Path, **sheets: Cells) -> Path:
    """Write a workbook with typed cells, as Excel would."""
    with xlsxwriter.Workbook(path) as book:
        day = book.add_format({"num_format": "yyyy-mm-dd"})
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            if name.startswith("hidden"):
                sheet.hide()
            for number, cells in enumerate(rows):
                for at, cell in enumerate(cells):
                    if isinstance(cell, datetime.date):
                        sheet.write_datetime(number, at, cell, day)
                    elif isinstance(cell, str):
                        sheet.write_string(number, at, cell)
                    else:
                        sheet.write(number, at, cell)
    return path


def problems(table: Table) -> list[RowProblem]:
    return [problem for row in table.rows() if isinstance(row, BadRow) for problem in row.problems]


def contents(table: Table) -> list[tuple[str, int, str | None]]:
    return [row.content for row in table.rows() if isinstance(row, Row)]


@pytest.mark.case("P51", "P47")
def test_cells_of_a_workbook_are_text_and_rows_count_from_a1(tmp_path: Path) -> None:
    """
    A header in row 3, blank rows, a numeric category, and names that look like something else.
    """
    names = ["NA", "007", "=A1", " 1e5 ", "TRUE"]
    rows: Cells = [["Stock"], [], ["", "name", "Category ID", "status"], []]
    path = workbook(
        tmp_path / "pets.xlsx", Animals=rows + [["", name, 7, "sold"] for name in names]
    )

    table = read_table(path)

    assert contents(table) == [(name, 7, "sold") for name in names]
    assert [row.number for row in table.rows() if isinstance(row, Row)] == [5, 6, 7, 8, 9]
    assert (
        table.columns.describe()
        == "name ← B 'name', categoryId ← C 'Category ID', status ← D 'status'"
    )


@pytest.mark.case("P48", "P51")
@pytest.mark.parametrize(
    ("name", "category", "rule"),
    [
        (datetime.date(2024, 5, 1), 3, "row 2, column A (name): '2024-05-01' is a date"),
        (True, 3, "row 2, column A (name): 'TRUE' is a boolean"),
        ("Rex", datetime.date(2024, 5, 1), "row 2, column B (categoryId): '2024-05-01' is a date"),
        ("Rex", True, "row 2, column B (categoryId): 'TRUE' is a boolean"),
        ("Rex", 2**53 + 2, "is a number that may have been rounded"),
        (float(2**60), 3, "is a number that may have been rounded"),
        ("Rex", 7.5, "'7.5' is not a whole number"),
    ],
)
def test_a_cell_that_is_no_text_is_taken_or_named_never_rounded(
    tmp_path: Path, name: object, category: object, rule: str
) -> None:
    """With its place, and what helps."""
    found = problems(
        read_table(workbook(tmp_path / "p.xlsx", A=[["name", "categoryId"], [name, category]]))
    )

    assert len(found) == 1
    assert rule in str(found[0])


def test_a_number_in_a_name_is_taken_as_its_digits_and_told(tmp_path: Path) -> None:
    """An animal called 7."""
    table = read_table(workbook(tmp_path / "p.xlsx", A=[["name", "categoryId"], [7, 7.0]]))

    (row,) = table.rows()

    assert isinstance(row, Row)
    assert row.content == ("7", 7, None)
    assert [str(match) for match in table.matches([row])] == [
        "name: the number 7 is read as '7' in 1 row"
    ]
    assert type(row.content.name) is str


@pytest.mark.case("P51")
def test_hidden_sheets_are_not_read_unless_named_and_two_are_asked_about(tmp_path: Path) -> None:
    """One visible sheet has the columns: it is taken, and the others are told."""
    pets: Cells = [["name", "categoryId"], ["Rex", 3]]
    old: Cells = [["name", "categoryId"], ["Old", 4]]
    path = workbook(tmp_path / "p.xlsx", Notes=[["remember the milk"]], Pets=pets, hidden=old)

    table = read_table(path)
    assert (contents(table), table.notes[:2]) == (
        [("Rex", 3, None)],
        ("sheet 'Pets'", "not read: sheet 'Notes', 'hidden'"),
    )
    assert contents(read_table(path, sheet="hidden")) == [("Old", 4, None)]
    with pytest.raises(SheetError, match="no sheet 'Petz'; it has 'Notes', 'Pets', 'hidden'"):
        read_table(path, sheet="Petz")
    with pytest.raises(SheetError, match="sheets 'One', 'Two' all have the columns"):
        read_table(workbook(tmp_path / "two.xlsx", One=pets, Two=old))


def test_merged_cells_are_told(tmp_path: Path) -> None:
    """Only the first of them has a value; the others are empty, and named."""
    with xlsxwriter.Workbook(tmp_path / "m.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["name", "categoryId"])
        sheet.merge_range(1, 0, 2, 0, "Rex")
        sheet.write_column(1, 1, [3, 4])

    table = read_table(tmp_path / "m.xlsx")

    assert "cells are merged: only the first of them has a value" in table.notes
    assert [str(p) for p in problems(table)] == ["row 3, column A (name): is empty; give a name"]


def test_an_ods_file_is_read_like_any_other(tmp_path: Path) -> None:
    """The three parts that make one, by hand."""

    def cell(value: str) -> str:
        return f'<table:table-cell office:value-type="string"><text:p>{value}</text:p></table:table-cell>'

    space = "urn:oasis:names:tc:opendocument:xmlns"
    rows = "".join(
        f"<table:table-row>{cell(name)}{cell(category)}</table:table-row>"
        for name, category in (("name", "categoryId"), ("Żabka", "7"))
    )
    content = (
        f'<office:document-content xmlns:office="{space}:office:1.0" xmlns:table="{space}:table:1.0"'
        f' xmlns:text="{space}:text:1.0"><office:body><office:spreadsheet><table:table table:name="Pets">'
        f"{rows}</table:table></office:spreadsheet></office:body></office:document-content>"
    )
    with zipfile.ZipFile(tmp_path / "pets.ods", "w") as book:
        book.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        book.writestr("META-INF/manifest.xml", "<manifest/>")
        book.writestr("content.xml", content)

    assert contents(read_table(tmp_path / "pets.ods")) == [("Żabka", 7, None)]


@pytest.mark.parametrize("name", ["p.xlsx", "p.ods"])
def test_what_is_no_workbook_is_named(tmp_path: Path, name: str) -> None:
    """A file that was cut off, an empty one, a web page: one sentence each, with what helps."""
    whole = workbook(tmp_path / "whole.xlsx", A=[["name", "categoryId"], ["Rex", 3]]).read_bytes()
    for content, said in (
        (
            whole[:500],
            r"is not a workbook that can be read \(.*\): open it in a spreadsheet program",
        ),
        (b"", "is empty"),
        (
            b"<html><table>",
            "is a web page or XML: open it in a spreadsheet program, and save it as .xlsx",
        ),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(SheetError, match=f"{name} {said}"):
            read_table(tmp_path / name)


@pytest.mark.case("P40")
def test_every_text_survives_a_workbook_of_ours(tmp_path: Path) -> None:
    """Formulas, leading zeros, line breaks, tabs, quotes, blanks around."""
    cells = [
        "=1+1",
        "007",
        "a\nb",
        "tab\there",
        ' "q" ',
        "'x",
        "+7",
        "@home",
        "a\u2028b",
        "{=A1}",
        "http://x",
    ]
    write_xlsx(tmp_path / "o.xlsx", ["name", "categoryId"], [[cell, "1"] for cell in cells])

    assert [row[0] for row in contents(read_table(tmp_path / "o.xlsx"))] == cells


def test_a_frame_is_a_sheet_whose_rows_are_named_by_their_labels() -> None:
    """
    Missing values, numbers that became floats beside them, categories, and names with any type.
    """
    frame = pd.DataFrame(
        {
            "name": ["Rex", "Mia", 7, None],
            "categoryId": [3.0, None, 7.0, 1.0],
            "status": pd.Categorical(["sold", None, "pending", None]),
        },
        index=[10, 11, 12, 13],
    )

    table = read_table(frame)

    assert contents(table) == [("Rex", 3, "sold"), ("7", 7, "pending")]
    assert [str(p) for p in problems(table)] == [
        "row 11, column B (categoryId): is empty; give the id of the category, or "
        'defaults={"categoryId": ID}',
        "row 13, column A (name): is empty; give a name",
    ]


@pytest.mark.case("P48")
def test_values_of_a_frame_are_taken_exactly_or_named() -> None:
    """int64 to its ends, numpy's own types, and what is no cell."""
    values = [2**53 + 1, -(2**63), np.int64(7), 2.0**60, Decimal(7), b"7", np.float64(7)]
    table = read_table(
        pd.DataFrame({"name": "Rex", "categoryId": pd.Series(values, dtype="object")})
    )

    assert [category for _, category, _ in contents(table)] == [2**53 + 1, -(2**63), 7, 7, 7]
    assert [p.rule for p in problems(table)] == [
        "is a number that may have been rounded",
        "is of type bytes",
    ]


def test_a_hundred_thousand_rows_stay_within_their_memory(tmp_path: Path) -> None:
    """At most 150 MB beyond the process, as issue 4 asks."""
    rows: Cells = [
        ["name", "categoryId", "status"],
        *([f"Pet {n}", n % 12, "sold"] for n in range(100_000)),
    ]
    path = workbook(tmp_path / "big.xlsx", A=rows)
    code = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from petstore_tools.importing.sheet import read_table\n"
        "import python_calamine\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "count = sum(1 for row in read_table(Path(sys.argv[1])).rows())\n"
        "print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    count, grown = map(int, done.stdout.split())

    assert count == 100_000
    assert grown < 150 * (1024 if sys.platform == "linux" else 1024 * 1024)
