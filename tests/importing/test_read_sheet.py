"""
A source understood, as no file of the corpus shows it: how a text file is written, and
frames.
"""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from tables import read_json

from petstore_tools.importing.entries import Entry
from petstore_tools.importing.options import ImportOptions
from petstore_tools.importing.read_sheet import open_layout, read_rows
from petstore_tools.tabular.workbooks import workbook_bytes

ROUNDED = "is a number that may have been rounded"


def read(source, **options):
    """Return of each row its values, or its first problem."""
    layout = open_layout(ImportOptions(source, name="f", **options))
    return [
        row.problems[0].rule if row.problems else row.content
        for row in read_rows(layout)
        if isinstance(row, Entry)
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_whatever_program_saved_a_text_it_is_read_alike(
    tmp_path, encoding, ending, delimiter
):
    """Encodings, line ends, signs between cells; without a last newline."""
    lines = [f"name{delimiter}categoryId", f"Zoë{delimiter}3"]
    (tmp_path / "pets.csv").write_bytes(ending.join(lines).encode(encoding))

    layout = open_layout(ImportOptions(tmp_path / "pets.csv"))

    assert read(tmp_path / "pets.csv") == [("Zoë", 3, None)]
    assert layout.sheet.delimiter == delimiter


FLOATS = {
    2.0**53 - 1: 2**53 - 1,
    1 - 2.0**53: 1 - 2**53,
    2.0**53: ROUNDED,
    -(2.0**53): ROUNDED,
}
OBJECTS = {
    **{
        f"2**53 + 1 {kind}": (kind(2**53 + 1), 2**53 + 1)
        for kind in (int, np.int64, Decimal)
    },
    "int64": (-(2**63), -(2**63)),
    "decimal": (Decimal("7.0"), 7),
    "float32": (np.float32(7), 7),
    "infinity": (float("inf"), ROUNDED),
    "many digits": (Decimal("3.00000000000000000001"), "is not the id of a category"),
    "10**5000": (10**5_000, "is not the id of a category"),
    "2**64": (2**64, "is not the id of a category"),
    "bytes": (b"7", "is of type bytes"),
    "missing": (None, "is empty"),
}


@pytest.mark.parametrize(
    ("values", "contents"),
    [
        (pd.array([*FLOATS], dtype="float64"), FLOATS.values()),
        (pd.array([*FLOATS], dtype="Float64"), FLOATS.values()),
        *(
            (pd.Series([value], dtype="object"), [content])
            for value, content in OBJECTS.values()
        ),
    ],
    ids=["float64", "Float64", *OBJECTS],
)
def test_values_of_a_frame_are_exact_or_a_problem(values, contents):
    """Integers and decimals are exact whatever their size, a double below 2^53."""
    frame = pd.DataFrame({"name": "Rex", "categoryId": values})

    assert read(frame) == [
        content if isinstance(content, str) else ("Rex", content, None)
        for content in contents
    ]


def test_missing_values_of_a_frame_are_empty_cells():
    """Floats beside missing values, categories, and names of any type."""
    frame = pd.DataFrame(
        {
            "name": ["Rex", "Mia", 7, None],
            "categoryId": [3.0, None, 7.0, 1.0],
            "status": pd.Categorical(["sold", None, "pending", None]),
        }
    )

    assert read(frame) == [
        ("Rex", 3, "sold"),
        "is empty, and the cell of row 0 is '3'",
        ("7", 7, "pending"),
        "is empty",
    ]


@pytest.mark.parametrize(
    "options",
    [
        *read_json(__file__, "numbered_columns.json"),
        {"columns": {0: "name", 1: "categoryId", 2: "status"}},
    ],
)
def test_columns_that_pandas_counted_are_titles_and_no_animal(options):
    """
    `read_csv(header=None)` calls them 0, 1, 2, and 1 looks like a category; words, too.
    """
    frame = pd.DataFrame([["Rex", 3, 7]])

    assert read(frame, statuses={7: "sold"}, **options) == [("Rex", 3, "sold")]


def test_every_text_survives_a_workbook_of_ours(tmp_path):
    """Formulas, leading zeros, line breaks, tabs, quotes."""
    cells = [
        "=1+1",
        "007",
        "a\nb",
        "tab\there",
        '"q"',
        "'x",
        "+7",
        "@home",
        "a\u2028b",
        "http://x",
    ]
    content = workbook_bytes(["name", "categoryId"], [[cell, "1"] for cell in cells])
    (tmp_path / "o.xlsx").write_bytes(content)

    assert read(tmp_path / "o.xlsx") == [(cell, 1, None) for cell in cells]
