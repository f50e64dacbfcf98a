"""What categories are called, from whatever people keep it in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xlsxwriter

from petstore_tools.errors import ArgumentError, SheetError
from petstore_tools.importing.options import read_categories

WANTED = {3: "Dogs", 4: "Cats"}


@pytest.mark.parametrize(
    "source",
    [
        {3: "Dogs", 4: " Cats "},
        {"Dogs": 3, "Cats": 4},
        {"3": "Dogs", "4": "Cats"},
        {np.int64(3): "Dogs", np.int64(4): "Cats"},
        pd.Series({3: "Dogs", 4: "Cats"}),
        pd.Series({"Dogs": 3.0, "Cats": 4.0}),
        pd.DataFrame({"name": ["Dogs", "Cats"], "id": [3, 4], "more": [1, 2]}),
        pd.DataFrame({"ID": [3.0, 4.0], "Name": ["Dogs", "Cats"]}),
    ],
    ids=["ids", "names", "texts", "numpy", "series", "series of ids", "frame", "frame of floats"],
)
def test_ids_are_the_whole_numbers(source: Any) -> None:
    """Keys or values, of any kind of whole number."""
    assert read_categories(source) == WANTED


def test_a_file_names_categories(tmp_path: Path) -> None:
    """Semicolons, a title above the header, blank rows, columns in any order."""
    path = tmp_path / "categories.csv"
    path.write_text("\ufeffOur categories;;\n\nName;x;ID\nDogs;;3\n;;\nCats;;4\n", encoding="utf-8")

    assert read_categories(path) == WANTED
    assert read_categories(str(path)) == WANTED


def test_the_first_sheet_with_both_columns_is_read(tmp_path: Path) -> None:
    """Other sheets of the workbook are left alone."""
    with xlsxwriter.Workbook(tmp_path / "categories.xlsx") as book:
        book.add_worksheet("notes").write_row(0, 0, ["name", "phone"])
        sheet = book.add_worksheet("categories")
        for number, row in enumerate([("id", "name"), (3, "Dogs"), (4, "Cats")]):
            sheet.write_row(number, 0, row)

    assert read_categories(tmp_path / "categories.xlsx") == WANTED


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ({"Dogs": "Cats"}, "either all keys or all values must be ids.*neither are"),
        ({3: "Dogs", "x": "Cats"}, "neither are"),
        ({3: 4}, "both are"),
        ({True: "Dogs"}, "neither are"),
        ({3.5: "Dogs"}, "neither are"),
        ({}, "lists no category"),
        ({"Dogs": 3, "Hunde": 3}, "3 is called 'Dogs' and 'Hunde'; give each id one name"),
        ({2**63: "Dogs"}, "not an id"),
        (7, "give a dict, a Series"),
        (pd.DataFrame({"id": [3], "label": ["Dogs"]}), "has no columns id and name"),
        (
            pd.DataFrame({"id": [3, None], "name": ["Dogs", "Cats"]}),
            "the DataFrame row 1: '' is not an id",
        ),
    ],
)
def test_what_says_nothing_or_two_things_is_refused(source: Any, why: str) -> None:
    """Before any row is read."""
    with pytest.raises(ArgumentError, match=why):
        read_categories(source)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("id,label\n3,Dogs\n", "categories.csv has no columns id and name"),
        ("id,name\n3,Dogs\nx,Cats\n", "categories.csv row 3: 'x' is not an id"),
        ("id,name\n3,Dogs\n3,Cats\n", "categories.csv row 3: 3 is called 'Dogs' and 'Cats'"),
        ('id,name\n3,Dogs\n4,"Cats\n', "categories.csv row 3: '4,\"Cats' is not an id"),
        ("id,name\n", "lists no category"),
    ],
)
def test_a_bad_row_of_a_file_is_named(tmp_path: Path, text: str, why: str) -> None:
    """File and row stand in the message."""
    (tmp_path / "categories.csv").write_text(text)

    with pytest.raises(ArgumentError, match=why):
        read_categories(tmp_path / "categories.csv")


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    """As for the animals themselves."""
    with pytest.raises(SheetError, match=r"there is no file categories\.csv"):
        read_categories(tmp_path / "categories.csv")
