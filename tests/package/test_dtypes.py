"""
Every frame that the toolkit returns has the same columns and dtypes with pandas 2.2 and
with pandas 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from petstore_tools import Sandbox
from petstore_tools.listing.frames import text_dtype

TEXT = text_dtype()
PET = {"id": "int64", "name": TEXT, "categoryId": "int64", "status": "category"}
TIME = "datetime64[us, UTC]"
COUNTS = dict.fromkeys(("available", "pending", "sold", "unset"), "int64")


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    """Two days of an inventory."""
    with Sandbox(animals=60, plan="pro") as sandbox:
        sandbox.store.snapshot()
        sandbox.advance(days=1)
        sandbox.change(5, status="sold")
        yield sandbox


def dtypes(frame: pd.DataFrame) -> dict[str, str]:
    return {str(name): str(dtype) for name, dtype in frame.dtypes.items()}


def test_text_is_str_with_pandas_3_and_string_with_pandas_2() -> None:
    """Never `object`, which `str` means in pandas 2."""
    assert (
        {"2": "string", "3": "str"}[pd.__version__[0]]
        == TEXT
        == str(pd.Series(["x"], dtype=TEXT).dtype)
    )


def test_listings_and_snapshots(box: Sandbox) -> None:
    """The four columns of the document, also when empty and when read from a file."""
    listed = box.store.list_pets()

    assert dtypes(listed) == dtypes(listed.head(0)) == PET
    assert dtypes(box.store.snapshots()[0].frame()) == PET
    assert dtypes(box.traffic()) == {
        "at": "datetime64[us, UTC]",
        "method": TEXT,
        "path": TEXT,
        "status": "int64",
    }


def test_reports(box: Sandbox) -> None:
    """Each table, and its index."""
    report = box.store.status_report(since="1d", categories={1: "Dogs"})
    tables = [
        report.breakdown,
        report.by_category,
        report.events,
        report.days,
        report.counts,
    ]
    assert all(table is not None for table in tables)

    assert [dtypes(table) for table in tables if table is not None] == [
        {"count": "int64", "share": "float64", "before": "int64", "change": "int64"},
        {"label": TEXT, "total": "int64", "change": "int64", **COUNTS},
        {
            "event": TEXT,
            "id": "int64",
            "name": TEXT,
            "categoryId": "int64",
            "from": TEXT,
            "to": TEXT,
            "after": TIME,
            "by": TIME,
        },
        {
            "stays": "int64",
            "median_days": "float64",
            "days_90": "float64",
            "open_stays": "int64",
            "longest_days": "float64",
        },
        COUNTS,
    ]
    assert [str(table.index.dtype) for table in tables if table is not None] == [
        *(TEXT, "int64", "int64", TEXT, TIME)
    ]


def test_imports(box: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Problems, also where there are none, and results."""
    monkeypatch.chdir(tmp_path)
    animals = pd.DataFrame({"name": ["Rex", "Mia", None], "categoryId": [3, 4, 5]})

    clean, faulty = [
        box.store.preview_import(rows, name="spring")
        for rows in (animals.head(2), animals)
    ]
    result = box.store.import_pets(animals, name="spring", progress=False)

    texts = ("numbers", "column", "field", "values", "rule", "help")
    for preview in (clean, faulty):
        assert dtypes(preview.fixes) == {
            **dict.fromkeys(("rows", "row"), "int64"),
            **dict.fromkeys(texts, TEXT),
        }
        assert dtypes(preview.doubtful) == {
            "row": "int64",
            **dict.fromkeys(("name", "reason", "because"), TEXT),
        }
    assert dtypes(result.frame) == dict.fromkeys(result.frame.columns, TEXT) | {
        "row": "int64",
        "categoryId": "Int64",
        "status": "category",
        "id": "Int64",
        "at": "datetime64[s, UTC]",
    }
