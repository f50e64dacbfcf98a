"""A source understood: its header, its rows as the spreadsheet counts them, and what is said."""

from __future__ import annotations

import datetime
import zipfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xlsxwriter

from petstore_tools import Sandbox
from petstore_tools.errors import SheetError
from petstore_tools.importing.options import ImportOptions
from petstore_tools.importing.sheet import Table, read_table
from petstore_tools.importing.values import BadRow, LeftOut, Row, count_matches
from petstore_tools.tabular.template import rejects_bytes
from petstore_tools.tabular.text_files import CsvSource

GOOD = ("Rex", 3, "sold")
ROUNDED = "is a number that may have been rounded"
H = "name,categoryId,status\n"


def table(tmp_path: Path, content: str | bytes, name: str = "pets.csv") -> Table:
    (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return read_table(ImportOptions(tmp_path / name))


def read(table: Table) -> list[object]:
    """Return of each row its values, its first problem, or None."""
    return [
        row.content
        if isinstance(row, Row)
        else row and (row.why if isinstance(row, LeftOut) else row.problems[0].rule)
        for row in table.rows()
    ]


@pytest.mark.case("P44")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_encoding_delimiter_and_line_ending_are_found(
    tmp_path: Path, encoding: str, ending: str, delimiter: str
) -> None:
    """Whatever program saved it: the same animal, without a last newline."""
    text = f"{H}Zoë,3,sold".replace(",", delimiter).replace("\n", ending)

    found = table(tmp_path, text.encode(encoding))

    assert read(found) == [("Zoë", 3, "sold")]
    assert isinstance(found.source, CsvSource)
    assert (found.source.delimiter, found.source.line_ending) == (delimiter, ending)


@pytest.mark.case("P44")
@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("cp1250", "'Žofka', 'Øízek', 'Müsli'"),
        ("mac_roman", "'MŸsli'"),
        ("cp1252", "'Müsli'"),
    ],
)
def test_names_are_shown_as_they_were_read_where_the_encoding_was_guessed(
    tmp_path: Path, encoding: str, shown: str
) -> None:
    """A file in the letters of Prague is garbled for good, unless somebody sees it."""
    names = ["Rex", "Žofka", "Řízek", "Žofka", "Müsli", "Čert"]
    text = H + "".join(f"{name},3,\n" for name in names if encoding == "cp1250" or name == "Müsli")

    found = table(tmp_path, text.encode(encoding))

    assert found.notes == (
        "read with the encoding cp1252, since it is not UTF-8",
        f"the encoding was guessed, and names read so: {shown}; if a letter is wrong, save the "
        'file as CSV UTF-8, or name its encoding: encoding="…" (--encoding NAME)',
    )


@pytest.mark.case("P50")
def test_what_was_found_and_may_surprise_is_told(tmp_path: Path) -> None:
    """A header further down, a title that may be the status, and no status."""
    found = table(tmp_path, "Stock list\n\nname,categoryId,State\nRex,3,sold\n")

    assert found.notes == (
        "'State' may be status",
        "no column for status: the animals will have none, and it cannot be added later",
    )
    assert (found.header, found.above) == ("row 3: 'name', 'categoryId', 'State'", (1,))
    assert 'columns={"State": "status"}' in found.questions()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Stock list of 2026,a,b,c\nTier,Art,,\nRex,3,brown,2024\n", "has 'Tier', 'Art'"),
        ("Stock list\nBez,Sorte,Alter\nRex,3,1\n", "has 'Bez', 'Sorte'"),
        ("Stock\nName,Name,categoryId,\n1001,Rex,3,x\n", "A 'Name' and B"),
        ("", "pets.csv is empty"),
        ("  \n\n", "pets.csv is empty"),
        ("animal,kind\nRex,1\n", "pets.csv: no column for name and categoryId"),
        (
            "name,colour\nRex,1\n",
            'no column for categoryId.*columns={"…": "categoryId"}.*--columns "…=ca',
        ),
        ("<html><table>", "is a web page or XML: open it in a spreadsheet program"),
    ],
)
def test_a_refusal_is_about_the_likeliest_header(tmp_path: Path, text: str, said: str) -> None:
    """The row with most known titles, or two of one title; of equal ones that with most cells."""
    with pytest.raises(SheetError, match=said):
        table(tmp_path, text)


@pytest.mark.case("P44a", "P45")
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (f"{H}Rex,3,sold\nMia\nRex,3,sold\n", [GOOD, "has 1 cell where the header has 3", GOOD]),
        (f"{H}Mia,4\nRex,3,sold\n", [("Mia", 4, None), GOOD]),
        (f"{H}Mia,4,sold,x\nRex,3,sold\n", ["has 4 cells where the header has 3", GOOD]),
        ("name,categoryId,status,\nRex,3,sold,\nRex,3,sold,\n", [GOOD, GOOD]),
        (f"{H}Rex,3,sold\n\nRex,3,sold\n", [GOOD, None, GOOD]),
        (f'{H}"Mia,4,sold\nRex,3,sold\n', ["has a quotation mark that is never closed", GOOD]),
        (f'{H}"Rex" the dog,3,sold\nRex,3,sold\n', ["cannot be split", GOOD]),
        (f'{H}Re"x,3,sold\n', [('Re"x', 3, "sold")]),
        (f"{H}Re\0x,3,sold\nRex,3,sold\n", ["holds a NUL character", GOOD]),
        (f'{H}"Re\nx",3,sold\nRex,3,sold\n', [("Re\nx", 3, "sold"), GOOD]),
        (f"{H}NA,3,sold\nNone,3,sold\n", [("NA", 3, "sold"), ("None", 3, "sold")]),
        (" name , categoryId , status \nRex,3,sold\n", [GOOD]),
        ("status,name,categoryId\nsold,Rex,3\n", [GOOD]),
        (f"{H}Rex,3,sold\n{H}Rex,3,sold\n", [GOOD, "the header again", GOOD]),
        (f"{H}Re\u2028x\x0by,3,sold\n", [("Re\u2028x\x0by", 3, "sold")]),
    ],
)
def test_a_hostile_file_is_answered_row_by_row(
    tmp_path: Path, text: str, wanted: list[object]
) -> None:
    """None is refused whole, none is read wrongly, and rows count from 2 on without a gap."""
    found = table(tmp_path, text)

    assert read(found) == wanted
    numbers = [row and row.number for row in found.rows()]
    assert numbers == [row and at for at, row in enumerate(found.rows(), start=2)]


def typed(path: Path, *columns: list[Any], xml: dict[str, str] | None = None) -> Path:
    """Write a workbook of columns with typed cells; `xml` replaces what Excel would write."""
    with xlsxwriter.Workbook(path, {"default_date_format": "yyyy-mm-dd"}) as book:
        sheet = book.add_worksheet("animals")
        for at, column in enumerate(columns):
            sheet.write_column(0, at, column)
    with zipfile.ZipFile(path) as book:
        parts = {part: book.read(part).decode() for part in book.namelist()}
    for old, new in (xml or {}).items():
        parts["xl/worksheets/sheet1.xml"] = parts["xl/worksheets/sheet1.xml"].replace(old, new)
    with zipfile.ZipFile(path, "w") as book:
        for part, content in parts.items():
            book.writestr(part, content)
    return path


@pytest.mark.case("P48", "P51")
def test_cells_of_a_workbook_that_are_no_text_are_taken_or_named_never_rounded(
    tmp_path: Path,
) -> None:
    """9007199254740993 and its neighbour are one double: nobody can tell which was typed."""
    day = datetime.date(2024, 5, 1)
    huge = {"700001": str(2**53), "700002": str(2**53 + 1), "700003": "1e300"}
    names: list[Any] = ["name", day, True, 2.0**60, "Rex", "Rex", "Rex", "Rex", "Rex", "Rex", 7]
    ids: list[Any] = ["categoryId", 3, 3, 3, day, True, 7.5, 700_001, 700_002, 700_003, 7.0]

    found = read_table(ImportOptions(typed(tmp_path / "pets.xlsx", names, ids, xml=huge)))

    assert read(found) == [
        *("is a date", "is a boolean", ROUNDED, "is a date", "is a boolean"),
        *("is not a whole number", ROUNDED, ROUNDED, ROUNDED, ("7", 7, None)),
    ]
    (last,) = [row for row in found.rows() if isinstance(row, Row)]
    assert type(last.content.name) is str
    assert [str(match) for match in count_matches([last], found.columns, found.matcher)] == [
        "name: the number 7 is read as '7' in 1 row"
    ]


@pytest.mark.case("P48", "P51")
@pytest.mark.parametrize(
    ("attributes", "wanted"),
    [
        (f'office:value-type="float" office:value="{2**53 - 1}"', ("Rex", 2**53 - 1, None)),
        (f'office:value-type="float" office:value="{2**53}"', ROUNDED),
        ('office:value-type="boolean" office:boolean-value="true"', "is a boolean"),
        ('office:value-type="boolean" office:value="1"', None),  # PHPExcel
        ('office:value="1" office:value-type="boolean"', None),
        ('office:value-type="boolean" office:boolean-value="1"', None),  # Spout
        ('office:value-type="boolean" office:value=""', None),  # PHPExcel's FALSE
    ],
)
def test_cells_of_an_ods_file_however_they_were_written(
    tmp_path: Path, attributes: str, wanted: object
) -> None:
    """A boolean is not the number 1; where it is written as one, the file is refused."""
    space = "urn:oasis:names:tc:opendocument:xmlns"
    text = 'office:value-type="string"'
    body = "".join(
        "<table:table-row>"
        f"<table:table-cell {text}><text:p>{name}</text:p></table:table-cell>"
        f"<table:table-cell {kind}><text:p>{value}</text:p></table:table-cell>"
        "</table:table-row>"
        for name, kind, value in (("name", text, "categoryId"), ("Rex", attributes, "1"))
    )
    with zipfile.ZipFile(tmp_path / "p.ods", "w") as book:
        book.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        book.writestr("META-INF/manifest.xml", "<manifest/>")
        book.writestr(
            "content.xml",
            f'<office:document-content xmlns:office="{space}:office:1.0" '
            f'xmlns:table="{space}:table:1.0" xmlns:text="{space}:text:1.0"><office:body>'
            f'<office:spreadsheet><table:table table:name="Pets">{body}</table:table>'
            "</office:spreadsheet></office:body></office:document-content>",
        )

    if wanted:
        assert read(read_table(ImportOptions(tmp_path / "p.ods"))) == [wanted]
    else:
        with pytest.raises(SheetError, match="booleans that are written as numbers"):
            read_table(ImportOptions(tmp_path / "p.ods"))


@pytest.mark.case("P48")
@pytest.mark.parametrize("dtype", ["float64", "Float64"])
def test_a_float_column_of_a_frame_is_exact_only_below_its_precision(dtype: str) -> None:
    """From 2^53 on a double stands for several whole numbers."""
    values = [2.0**53 - 1, -(2.0**53) + 1, 2.0**53, -(2.0**53)]
    frame = pd.DataFrame({"name": "Rex", "categoryId": pd.array(values, dtype=dtype)})

    exact = [("Rex", sign * (2**53 - 1), None) for sign in (1, -1)]
    assert read(read_table(ImportOptions(frame, name="f"))) == [*exact, ROUNDED, ROUNDED]


@pytest.mark.case("P48")
def test_values_of_any_type_in_a_frame_are_exact_or_a_problem() -> None:
    """Integers and decimals are exact whatever their size; missing values are empty."""
    cells: list[tuple[Any, object]] = [
        *((kind(2**53 + 1), 2**53 + 1) for kind in (int, np.int64, Decimal)),
        (-(2**63), -(2**63)),
        (Decimal("7.0"), 7),
        (np.float64(7), 7),
        (2.0**53, ROUNDED),
        (np.float32(7), 7),
        (float("inf"), ROUNDED),
        (Decimal("3.00000000000000000001"), "is not a whole number"),
        (10**5_000, "is too large"),
        (2**64, "is too large"),
        (b"7", "is of type bytes"),
        (None, "stands alone in its row"),
    ]
    values = pd.Series([value for value, _ in cells], dtype="object")

    found = read(
        read_table(ImportOptions(pd.DataFrame({"name": "Rex", "categoryId": values}), name="f"))
    )

    assert found == [want if isinstance(want, str) else ("Rex", want, None) for _, want in cells]


def test_a_frame_is_a_sheet_whose_rows_are_named_by_their_labels() -> None:
    """Floats beside missing values, categories, and names of any type."""
    frame = pd.DataFrame(
        {
            "name": ["Rex", "Mia", 7, None, "half \ud800"],
            "categoryId": [3.0, None, 7.0, 1.0, 1.0],
            "status": pd.Categorical(["sold", None, "pending", None, None]),
        },
        index=[10, 11, 12, 13, 14],
    )

    found = read_table(ImportOptions(frame, name="f"))

    assert read(found)[::2] == [
        ("Rex", 3, "sold"),
        ("7", 7, "pending"),
        "is a text with a broken character",
    ]
    problems = [row.why for row in found.rows() if isinstance(row, BadRow)]
    assert problems[0].startswith("row 11, column A (name): 'Mia' stands alone in its row")
    assert problems[1] == "row 13, column A (name) is empty; give a name"


@pytest.mark.parametrize(
    "how",
    [
        {"columns": {"A": "name", "B": "categoryId", "C": "status"}},
        {"columns": {"A": "name", "B": "categoryId", "C": "status"}, "header": False},
        {"columns": {0: "name", 1: "categoryId", 2: "status"}},
    ],
)
def test_columns_that_pandas_counted_are_titles_and_no_animal(how: dict[str, Any]) -> None:
    """`read_csv(header=None)` calls them 0, 1, 2, and 1 looks like a category; words, too."""
    frame = pd.DataFrame([["Rex", 3, 7]])

    found = read_table(ImportOptions(frame, name="f", statuses={7: "sold"}, **how))  # type: ignore[dict-item]

    assert read(found) == [GOOD]


@pytest.mark.case("P51")
def test_hidden_sheets_are_not_read_unless_named_and_two_are_asked_about(tmp_path: Path) -> None:
    """One visible sheet has the columns: it is taken, and the others are told."""
    sheets = {"Notes": ["milk"], "Pets": ["name", "Rex"], "old": ["name", "Old"], "Two": []}
    path = tmp_path / "p.xlsx"

    def write(**columns: list[str]) -> None:
        with xlsxwriter.Workbook(path) as book:
            for name, column in columns.items():
                sheet = book.add_worksheet(name)
                sheet.write_column(0, 0, column)
                sheet.write_column(0, 1, ["categoryId", 3] if len(column) > 1 else [])
                if name == "old":
                    sheet.hide()

    write(**sheets)
    found = read_table(ImportOptions(path))

    assert read(found) == [("Rex", 3, None)]
    assert found.notes[0] == "sheet 'Pets'; not read: 'Notes', 'old', 'Two'"
    assert read(read_table(ImportOptions(path, sheet="old"))) == [("Old", 3, None)]
    with pytest.raises(SheetError, match="no sheet 'Petz'; it has 'Notes', 'Pets', 'old', 'Two'"):
        read_table(ImportOptions(path, sheet="Petz"))
    write(**sheets | {"Two": ["name", "Bo"]})
    with pytest.raises(SheetError, match="sheets 'Pets', 'Two' may be meant: name one"):
        read_table(ImportOptions(path))


@pytest.mark.case("P51")
def test_hidden_rows_stay_and_errors_and_formulas_are_called_what_they_are(
    fast: Sandbox, tmp_path: Path
) -> None:
    """None of them is ever sent, in the rejects file neither."""
    path = tmp_path / "pets.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("animals")
        sheet.write_column(0, 0, ["name", "Rex", "Mia", "Bo", "Tom"])
        sheet.write_column(0, 1, ["categoryId", 3, 4, 4, 5])
        sheet.write_formula(1, 1, "=1+2", None, 3)
        sheet.write_formula(2, 1, "=NA()", None, "#N/A")
        sheet.write_formula(3, 1, "=1+3", None, "")
        sheet.set_row(4, options={"hidden": True})

    first = fast.store.import_pets(path)
    again = fast.store.import_pets(tmp_path / "pets.sandbox.rejected.xlsx")

    said = [str(problem) for problem in first.problems]
    assert "column B (categoryId): '#N/A' is the error #N/A" in said[0]
    assert "column B (categoryId) is a formula without a saved value" in said[1]
    assert (first.created, first.rejected, again.created_now, again.rejected) == (1, 2, 0, 2)
    preview = fast.store.preview_import(path)
    assert preview.left_out == (LeftOut(5, "hidden"),)


@pytest.mark.case("P40")
def test_every_text_survives_a_workbook_of_ours(tmp_path: Path) -> None:
    """Formulas, leading zeros, line breaks, tabs, quotes."""
    cells = ["=1+1", "007", "a\nb", "tab\there", '"q"', "'x", "+7", "@home", "a\u2028b", "http://x"]
    content = rejects_bytes(["name", "categoryId"], [[cell, "1"] for cell in cells])
    (tmp_path / "o.xlsx").write_bytes(content)

    assert read(read_table(ImportOptions(tmp_path / "o.xlsx"))) == [
        (cell, 1, None) for cell in cells
    ]
