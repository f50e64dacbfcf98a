"""What categories are called: dicts, Series, frames and files."""

import numpy as np
import pandas as pd
import pytest
from tables import read_json

from petstore_tools.errors import ArgumentError, SheetError
from petstore_tools.tabular.categories import read_categories

FRAME = pd.DataFrame({"id": [3, 4], "name": ["Dogs", "Cats"]})


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        *read_json(__file__, "categories.json"),
        ({3: "Dogs", 4: " Cats "}, ""),
        ({np.int64(3): "Dogs", np.int64(4): "Cats"}, ""),
        (pd.Series({"Dogs": 3.0, "Cats": 4.0}), ""),
        (FRAME.assign(more=1), ""),
        (pd.DataFrame({"ID": [3.0, 4.0], "Name": ["Dogs", "Cats"]}), ""),
        ({3: 4}, "all keys and all values are ids"),
        *(
            ({word: "Dogs"}, "'Dogs' is not an id")
            for word in ("Cats", True, 3.5, 2**63)
        ),
        (FRAME.rename(columns={"id": "Nr", "name": "Bezeichnung"}), ""),
        ((FRAME, {"Hunde": 3}), ""),
        ([FRAME, {"Fish": 9}], "'Fish' stands for 9, which the list lacks"),
        (FRAME.assign(id=[3, None]), "the DataFrame row 1: '' is not an id"),
    ],
)
def test_categories_come_from_whatever_people_keep_them_in(tmp_path, source, reason):
    """
    Keys or values, of any kind of whole number, and the first of several names; else a
    sentence says where it is wrong.
    """
    table = source
    if isinstance(source, str):
        table = tmp_path / "c.csv"
        table.write_text(source, "utf-8")

    if reason:
        with pytest.raises((ArgumentError, SheetError), match=reason):
            read_categories(table)
    else:
        assert read_categories(table) == {3: "Dogs", 4: "Cats"}
