"""Snapshots: listings kept on disk, answered from, and read by other tools; listings as files."""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from pathlib import Path

import pandas as pd
import pytest

from petstore_tools import Sandbox
from petstore_tools.errors import ArgumentError, IncompleteListingError, MissingExtraError
from petstore_tools.listing import frames as export
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import Columns


def test_a_snapshot_reads_back_as_it_was_listed() -> None:
    """Columns, dtypes, order of the statuses, completeness."""
    with Sandbox(animals=250) as box:
        snapshot = box.store.snapshot()
        listed = box.store.list_pets()
        read = snapshot.frame()

        pd.testing.assert_frame_equal(read, listed)
        assert read["status"].cat.ordered
        assert Listing.of(read) == snapshot.listing
        assert repr(snapshot) == "Snapshot(2026-01-05 09:00:00 UTC, 250 animals)"


def test_within_max_age_a_listing_costs_no_request() -> None:
    """
    Then one is made and kept; a filter is answered from the whole inventory, with a listing of its
    own.
    """
    with Sandbox(animals=250) as box:
        box.store.list_pets(max_age="1h")
        asked = len(box.traffic())
        box.advance(minutes=59)
        again = box.store.list_pets(max_age="1h")
        sold = box.store.list_pets(status="sold", max_age=timedelta(hours=1))
        assert len(box.traffic()) == asked
        assert len(again) == 250
        assert Listing.of(sold).rows == len(sold) == (again["status"] == "sold").sum()
        assert (Listing.of(sold).status, Listing.of(sold).completeness) == ("sold", "complete")

        box.advance(minutes=2)
        box.store.list_pets(max_age=3_600)
        assert len(box.traffic()) > asked
        assert len(box.store.snapshots()) == 2


def test_snapshots_are_kept_in_order_and_none_is_overwritten() -> None:
    """Two of the same instant, too; with a status, each has the animals of that status alone."""
    with Sandbox(animals=30) as box:
        box.store.snapshot()
        box.change(2, status="sold")
        box.store.snapshot()
        box.advance(days=1)
        box.store.snapshot()
        kept = box.store.snapshots()
        sold = box.store.snapshots(status="sold")

        assert repr(kept).startswith("3 snapshots from 2026-01-05 09:00:00 UTC to 2026-01-06")
        assert len(kept[1:]) == 2
        assert [2 in snapshot.frame()["id"].tolist() for snapshot in sold] == [False, True, True]
        assert sold[1].counts == {"sold": len(sold[1].frame())}


def test_the_folder_of_the_stays_is_a_table_to_other_tools() -> None:
    """With the times of each stay in columns."""
    import pyarrow.dataset

    with Sandbox(animals=120) as box:
        box.store.snapshot()
        box.advance(days=1)
        box.remove(7)
        box.store.snapshot()
        folder = box.store.snapshots().folder
        table = (
            pyarrow.dataset.dataset(folder, format="parquet", partitioning="hive")
            .to_table()
            .to_pandas()
        )

    assert len(table) == 120
    assert table.loc[table["gone_by"].notna(), "id"].tolist() == [7]
    assert table["first_seen"].dt.tz is not None


def test_only_whole_inventories_are_kept() -> None:
    """A listing with a filter is compared with those, and the message says what to keep."""
    with Sandbox(animals=30) as box, pytest.raises(ArgumentError, match=r"store\.snapshot\(\)"):
        box.store.snapshot_store.keep(box.store.list_pets(status="sold"))


def test_what_is_not_whole_is_no_snapshot() -> None:
    """Nothing is kept, and the error says why."""
    with Sandbox(animals=250) as box:
        with pytest.raises(IncompleteListingError, match="the listing was limited to the first 50"):
            box.store.snapshot_store.keep(box.store.list_pets(first=50))

        assert len(box.store.snapshots()) == 0
        assert repr(box.store.snapshots()) == "no snapshots yet"


def test_without_parquet_the_extra_is_named_before_anything_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And a listing works all the same."""
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with Sandbox(animals=20) as box:
        for call in (
            box.store.snapshot,
            box.store.snapshots,
            lambda: box.store.list_pets(max_age="1h"),
        ):
            with pytest.raises(MissingExtraError, match="the extra 'parquet'"):
                call()
        assert len(box.traffic()) == 0
        assert len(box.store.list_pets()) == 20


@pytest.mark.parametrize("age", ["soon", -1, "nan", ""])
def test_an_age_that_is_none_is_refused(age: object) -> None:
    """The message shows how one looks."""
    with Sandbox(animals=1) as box, pytest.raises(ValueError, match="'1h'"):
        box.store.list_pets(max_age=age)  # type: ignore[arg-type]


HOSTILE = [
    (1, "=A1+1", 3, "sold"),
    (2, 'Quote "and", comma', 2**53 + 1, None),
    (3, "Zeile\nzwei", -7, "available"),
    (2**53 + 1, "NA", 0, "pending"),
    (5, "Zoë 007", 1, None),
]


def hostile() -> pd.DataFrame:
    columns = Columns()
    keys = ("id", "name", "categoryId", "status")
    columns.add([dict(zip(keys, row, strict=True)) for row in HOSTILE])  # type: ignore[misc]
    listing = Listing("complete", "told", None, 5, "", 1, 1, 0, 0.0, 0.0, "sandbox")
    return columns.to_frame(listing)


@pytest.mark.parametrize("ending", [".csv", ".xlsx"])
def test_an_exported_listing_goes_back_through_an_import(ending: str, tmp_path: Path) -> None:
    """Every name, number and status arrives as it was, the dangerous ones too."""
    path = tmp_path / f"inventory{ending}"
    export.write(hostile(), path)
    with Sandbox(animals=0) as box:
        result = box.store.import_pets(path, existing="send", progress=False)
        frame = box.store.list_pets()

    assert result.complete
    arrived = [
        (name, category, None if status != status else status)
        for name, category, status in frame[["name", "categoryId", "status"]].itertuples(
            index=False
        )
    ]
    assert arrived == [row[1:] for row in HOSTILE]


def test_exports_keep_what_their_format_can_keep(tmp_path: Path) -> None:
    """Parquet all of it; JSON the values; CSV for Excel a mark that stops formulas."""
    frame = hostile()
    for ending in export.ENDINGS:
        export.write(frame, tmp_path / f"out{ending}")
    export.write(frame, tmp_path / "excel.csv", for_excel=True)

    pd.testing.assert_frame_equal(
        pd.read_parquet(tmp_path / "out.parquet").drop(columns="as_of"), frame
    )
    rows = json.loads((tmp_path / "out.json").read_text("utf-8"))
    assert [(r["id"], r["name"], r["categoryId"], r["status"]) for r in rows] == HOSTILE
    marked = (tmp_path / "excel.csv").read_bytes()
    assert marked.startswith("\ufeff".encode())
    assert b",'=A1+1," in marked
    assert b"\r\n" in marked
