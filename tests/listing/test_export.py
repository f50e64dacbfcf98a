"""Listings as files: what each format keeps."""

import json

import pandas as pd
import pytest
from inventories import listing_frame
from tables import read_json

from petstore_tools import Sandbox
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import ENDINGS, write_frame

HOSTILE = read_json(__file__, "hostile.json")


@pytest.mark.parametrize("ending", [".csv", ".xlsx"])
def test_an_exported_listing_goes_back_through_an_import(ending, tmp_path):
    """Every name, number and status arrives as it was, the dangerous ones too."""
    path = tmp_path / f"inventory{ending}"
    write_frame(listing_frame(HOSTILE), path)
    with Sandbox(animals=0) as box:
        result = box.store.import_pets(path, doubtful="send")
        frame = box.store.list_pets()

    assert result.created == result.rows
    expected = listing_frame(HOSTILE).drop(columns="id")
    pd.testing.assert_frame_equal(frame.drop(columns="id"), expected)


def test_exports_keep_what_their_format_can_keep(tmp_path):
    """Parquet all of it; JSON the values."""
    frame = listing_frame(HOSTILE)
    for ending in ENDINGS:
        write_frame(frame, tmp_path / f"out{ending}")

    stored = pd.read_parquet(tmp_path / "out.parquet")
    pd.testing.assert_frame_equal(stored, frame)
    assert Listing.of(stored) == Listing.of(frame)
    rows = json.loads((tmp_path / "out.json").read_text("utf-8"))
    assert [[r["id"], r["name"], r["categoryId"], r["status"]] for r in rows] == HOSTILE
