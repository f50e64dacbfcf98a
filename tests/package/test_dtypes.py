"""
Every frame that the toolkit returns has the same columns and dtypes with pandas 2.2 and
with pandas 3.
"""

import pandas as pd
import pytest
from tables import read_json

from petstore_tools import Sandbox
from petstore_tools.listing.frames import text_dtype

TABLES = read_json(__file__, "dtypes.json")
TEXT = text_dtype()


@pytest.fixture(scope="module")
def box():
    """Two days of an inventory."""
    with Sandbox(animals=60, plan="pro") as sandbox:
        sandbox.store.snapshot()
        sandbox.advance(days=1)
        sandbox.change(5, status="sold")
        yield sandbox


def dtypes(frame):
    """Return the dtypes of the columns by their names, `text` for that of texts."""
    names = frame.dtypes.astype(str).replace(TEXT, "text")
    return dict(zip(frame.columns.astype(str), names, strict=True))


def test_text_is_str_with_pandas_3_and_string_with_pandas_2():
    """Never `object`, which `str` means in pandas 2."""
    assert (
        {"2": "string", "3": "str"}[pd.__version__[0]]
        == TEXT
        == str(pd.Series(["x"], dtype=TEXT).dtype)
    )


def test_listings_and_snapshots(box):
    """The four columns of the document, also when empty and when read from a file."""
    listed = box.store.list_pets()
    snapshot = box.store.history_database.rebuild(box.store.snapshots()[0])

    for frame in (listed, listed.head(0), snapshot):
        assert dtypes(frame) == TABLES["listing"]
    assert dtypes(box.traffic()) == TABLES["traffic"]


def test_reports(box):
    """Each table, and its index."""
    report = box.store.status_report(since="1d", categories={1: "Dogs"})

    for name, expected in TABLES["report"].items():
        table = getattr(report, name)
        assert dtypes(table.reset_index(names="index")) == expected


def test_imports(box, tmp_path, monkeypatch):
    """Problems, also where there are none, and results."""
    monkeypatch.chdir(tmp_path)
    animals = pd.DataFrame({"name": ["Rex", "Mia", None], "categoryId": [3, 4, 5]})
    tables = [box.store.imports()]

    clean, faulty = [
        box.store.preview_import(rows, name="spring")
        for rows in (animals.head(2), animals)
    ]
    result = box.store.import_pets(animals, name="spring")

    for preview in (clean, faulty):
        assert dtypes(preview.fixes) == TABLES["fixes"]
        assert dtypes(preview.doubtful) == TABLES["doubtful"]
    assert dtypes(result.frame) == TABLES["result"]
    tables.append(box.store.imports())
    assert [*map(len, tables)] == [0, 1]
    assert [*map(dtypes, tables)] == [TABLES["imports"]] * 2
