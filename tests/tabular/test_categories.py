"""What categories are called: dicts, Series, frames and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from petstore_tools.errors import ArgumentError, SheetError
from petstore_tools.tabular.categories import read_categories

FRAME = pd.DataFrame({"id": [3, 4], "name": ["Dogs", "Cats"]})


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ({3: "Dogs", 4: " Cats "}, ""),
        ({"Dogs": 3, "Cats": 4}, ""),
        ({"3": "Dogs", "4": "Cats"}, ""),
        ({np.int64(3): "Dogs", np.int64(4): "Cats"}, ""),
        (pd.Series({3: "Dogs", 4: "Cats"}), ""),
        (pd.Series({"Dogs": 3.0, "Cats": 4.0}), ""),
        (FRAME.assign(more=1), ""),
        (pd.DataFrame({"ID": [3.0, 4.0], "Name": ["Dogs", "Cats"]}), ""),
        ("\ufeffOur categories;;\n\nName;x;ID\nDogs;;3\n;;\nCats;;4\n", ""),
        *(
            (pairs, "either all keys or all values must be ids .*, and not both")
            for pairs in (
                {"Dogs": "Cats"},
                {3: 4},
                {True: "Dogs"},
                {3.5: "Dogs"},
                {2**63: "Dogs"},
            )
        ),
        ({}, "there is no category in it"),
        (
            {"Dogs": 3, "Hunde": 3},
            "3 is called 'Dogs' and 'Hunde'; give each id one name",
        ),
        (7, "give the path of a file or a DataFrame, not int"),
        (pd.DataFrame({"id": [3], "label": ["Dogs"]}), "has no columns id and name"),
        (FRAME.assign(id=[3, None]), "the DataFrame row 1: '' is not an id"),
        ("id,label\n3,Dogs\n", "c.csv has no columns id and name"),
        ("id,name\n3,Dogs\nx,Cats\n", "c.csv row 3: 'x' is not an id"),
        ("id,name\n3,Dogs\n3,Cats\n", "c.csv row 3: 3 is called 'Dogs' and 'Cats'"),
        ('id,name\n3,Dogs\n4,"Cats\n', "c.csv row 3: '4,\"Cats' is not an id"),
        ("id,name\n", "there is no category in it"),
    ],
)
def test_categories_come_from_whatever_people_keep_them_in(
    tmp_path: Path, source: Any, reason: str
) -> None:
    """
    Keys or values, of any kind of whole number; else a sentence says where it is wrong.
    """
    table = source
    if isinstance(source, str):
        table = tmp_path / "c.csv"
        table.write_text(source, encoding="utf-8")

    if reason:
        with pytest.raises((ArgumentError, SheetError), match=reason):
            read_categories(table)
    else:
        assert read_categories(table) == {3: "Dogs", 4: "Cats"}
