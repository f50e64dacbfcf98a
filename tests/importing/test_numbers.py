"""Numbers of workbooks and frames: exact, or a problem; never rounded without a word."""

from __future__ import annotations

import zipfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xlsxwriter

from petstore_tools.importing.sheet import Table, read_table
from petstore_tools.importing.titles import read_titles
from petstore_tools.importing.values import BadRow, Matcher, Row, ValueRules, read_rows

ROUNDED = "is a number that may have been rounded"
TYPED = ["9007199254740992", "9007199254740993", "-9007199254740993", "1e300"]


def rules(table: Table) -> list[str]:
    """Return what is wrong with each row, "" where nothing is."""
    return [
        "" if isinstance(row, Row) else row.problems[0].rule
        for row in table.rows()
        if row is not None
    ]


def xlsx(path: Path, numbers: list[str]) -> Path:
    """
    Write a workbook whose cells hold the digits as a person typed them, which no double can hold.
    """
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["name", "categoryId"])
        for at, _ in enumerate(numbers, start=1):
            sheet.write_row(at, 0, ["Rex", 700_000 + at])
    with zipfile.ZipFile(path) as book:
        parts = {part: book.read(part) for part in book.namelist()}
    for at, number in enumerate(numbers, start=1):
        sheet1 = parts["xl/worksheets/sheet1.xml"]
        parts["xl/worksheets/sheet1.xml"] = sheet1.replace(
            f"{700_000 + at}".encode(), number.encode()
        )
    with zipfile.ZipFile(path, "w") as book:
        for part, content in parts.items():
            book.writestr(part, content)
    return path


def ods(path: Path, cells: list[str]) -> Path:
    """Write an .ods file with the name Rex and one cell a row, given as its attributes."""
    space = "urn:oasis:names:tc:opendocument:xmlns"
    rows = [("name", 'office:value-type="string"', "categoryId")] + [
        ("Rex", cell, "1") for cell in cells
    ]
    body = "".join(
        f'<table:table-row><table:table-cell office:value-type="string"><text:p>{name}</text:p>'
        f"</table:table-cell><table:table-cell {cell}><text:p>{text}</text:p></table:table-cell>"
        "</table:table-row>"
        for name, cell, text in rows
    )
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        book.writestr("META-INF/manifest.xml", "<manifest/>")
        book.writestr(
            "content.xml",
            f'<office:document-content xmlns:office="{space}:office:1.0" xmlns:table="{space}:table:1.0"'
            f' xmlns:text="{space}:text:1.0"><office:body><office:spreadsheet>'
            f'<table:table table:name="Pets">{body}</table:table></office:spreadsheet></office:body>'
            "</office:document-content>",
        )
    return path


@pytest.mark.case("P48")
def test_every_number_of_a_workbook_from_two_to_the_53_on_is_a_problem(tmp_path: Path) -> None:
    """9007199254740993 and its neighbour are one double: nobody can tell which was typed."""
    below = [str(2**53 - 1), str(1 - 2**53)]

    assert rules(read_table(xlsx(tmp_path / "p.xlsx", TYPED + below))) == [ROUNDED] * 4 + [""] * 2
    cells = [f'office:value-type="float" office:value="{number}"' for number in TYPED + below]
    assert rules(read_table(ods(tmp_path / "p.ods", cells))) == [ROUNDED] * 4 + [""] * 2


@pytest.mark.case("P48")
@pytest.mark.parametrize(
    ("dtype", "bits"),
    [("float64", 53), ("Float64", 53), ("float32", 24), ("Float32", 24), ("float16", 11)],
)
def test_a_float_column_of_a_frame_is_exact_only_below_its_precision(dtype: str, bits: int) -> None:
    """A float32 cannot tell 16777217 from 16777216, though both are far below 2^53."""
    values = [2.0**bits - 1, -(2.0**bits) + 1, 2.0**bits, -(2.0**bits)]
    frame = pd.DataFrame({"name": "Rex", "categoryId": pd.array(values, dtype=dtype)})

    table = read_table(frame)

    assert rules(table) == ["", "", ROUNDED, ROUNDED]
    assert [row.content.category_id for row in table.rows() if isinstance(row, Row)] == [
        2**bits - 1,
        1 - 2**bits,
    ]


@pytest.mark.case("P48")
def test_numbers_of_any_type_in_a_column_of_objects_are_exact_or_a_problem() -> None:
    """Integers and decimals are exact whatever their size; a fraction is none."""
    values: list[Any] = [
        2**53 + 1,
        np.int64(2**53 + 1),
        Decimal(2**53 + 1),
        Decimal("7.0"),
        2.0**53,
    ]
    values += [np.float32(2**24), Decimal("3.00000000000000000001"), float("inf"), 10**5_000, 2**64]
    table = read_table(
        pd.DataFrame({"name": "Rex", "categoryId": pd.Series(values, dtype="object")})
    )

    found = [
        row.content.category_id if isinstance(row, Row) else row.problems[0].rule
        for row in table.rows()
        if row
    ]
    assert found == [
        *[2**53 + 1] * 3,
        7,
        ROUNDED,
        ROUNDED,
        "is not a whole number",
        ROUNDED,
        "is too large",
        "is too large",
    ]


@pytest.mark.case("P48")
@pytest.mark.parametrize("typed", ["9007199254740992.0", "-9007199254740992.00"])
def test_a_decimal_of_text_from_two_to_the_53_on_was_a_double_once(typed: str) -> None:
    """A program that writes .0 behind whole numbers held them as doubles."""
    titles = read_titles(["name", "categoryId"])

    (row,) = read_rows([(2, ["Rex", typed])], titles, Matcher(ValueRules()))

    assert isinstance(row, BadRow)
    assert row.problems[0].rule == "may have been rounded"


@pytest.mark.case("P51")
@pytest.mark.parametrize(
    "cell",
    [
        'office:value-type="boolean" office:boolean-value="true"',
        'office:value-type="boolean" office:value="1"',  # as PHPExcel writes it
        'office:value="1" office:value-type="boolean"',
        'office:value-type="boolean" office:boolean-value="1"',  # as Spout wrote it
    ],
)
def test_a_boolean_of_an_ods_file_is_a_boolean_however_it_was_written(
    tmp_path: Path, cell: str
) -> None:
    """Not the number 1, of which a category or a name would be made."""
    (row,) = read_table(ods(tmp_path / "p.ods", [cell])).rows()

    assert isinstance(row, BadRow)
    assert str(row.problems[0]).startswith("row 2, column B (categoryId): 'TRUE' is a boolean")


@pytest.mark.case("P51")
@pytest.mark.parametrize(
    "cell",
    ['office:value-type="boolean" office:value=""', 'office:value-type="boolean" office:value="0"'],
)
def test_a_false_of_an_ods_file_is_a_boolean_too(tmp_path: Path, cell: str) -> None:
    """PHPExcel writes it as nothing: it made the whole file unreadable."""
    (row,) = read_table(ods(tmp_path / "p.ods", [cell])).rows()

    assert isinstance(row, BadRow)
    assert str(row.problems[0]).startswith("row 2, column B (categoryId): 'FALSE' is a boolean")
