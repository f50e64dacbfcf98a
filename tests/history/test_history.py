"""What the kept listings say about each animal over time."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest

from petstore_tools import Sandbox, spec
from petstore_tools.errors import ArgumentError, FrameError
from petstore_tools.history import export, of_0_1
from petstore_tools.history.snapshots import SnapshotStore
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import Columns

OLD = Path(__file__).parents[1] / "fixtures" / "0.1" / "snapshots" / "sandbox-0.1"
T0 = 1_767_603_600.0


def test_the_history_of_one_animal_has_a_row_for_each_status() -> None:
    """With the times between which it changed."""
    with Sandbox(animals=20) as box:
        for status in ("available", "available", "pending", None):
            box.change(4, status=status)
            box.store.snapshot()
            box.advance(days=1)

        history = box.store.history(id=4)

    assert history["status"].astype("object").where(history["status"].notna(), None).tolist() == [
        "available",
        "pending",
        None,
    ]
    assert history["ended_between"].isna().tolist() == [False, False, True]
    assert history["ended_between"][0].left == history["last_seen"][0]
    assert history["ended_between"][0].right == pd.Timestamp("2026-01-07 09:00", tz="UTC")
    assert list(history.columns) == [*spec.PET_FIELDS, "first_seen", "last_seen", "ended_between"]


def test_an_empty_history_has_the_same_columns_and_dtypes() -> None:
    """Before the first listing, of an animal that never was, and of a full one."""
    with Sandbox(animals=3) as box:
        before = box.store.history()
        box.store.snapshot()
        full, of_nobody = box.store.history(), box.store.history(id=99)

    assert len(before) == len(of_nobody) == 0
    assert before.dtypes.astype(str).to_dict() == full.dtypes.astype(str).to_dict()
    assert of_nobody.dtypes.astype(str).to_dict() == full.dtypes.astype(str).to_dict()


def test_since_leaves_out_what_had_ended_before() -> None:
    """What is still so is always in it."""
    with Sandbox(animals=10) as box:
        for pet_id in (1, 2):
            box.store.snapshot()
            box.advance(days=10)
            box.remove(pet_id)
        box.store.snapshot()
        every, recent = box.store.history(), box.store.history(since="5d")

        with pytest.raises(ArgumentError, match="in the future"):
            box.store.history(since="2999-01-01")

    assert sorted(every["id"]) == list(range(1, 11))
    assert sorted(recent["id"]) == list(range(2, 11))


def test_history_costs_no_request() -> None:
    """It reads files."""
    with Sandbox(animals=10) as box:
        box.store.snapshot()
        asked = len(box.traffic())
        box.store.history()

        assert len(box.traffic()) == asked


def test_a_damaged_file_of_the_history_is_named() -> None:
    """The next listing begins anew; nothing is stuck."""
    with Sandbox(animals=10) as box:
        box.store.snapshot()
        (opened,) = box.store.snapshots().folder.glob("open/*.parquet")
        opened.write_bytes(b"PAR1")

        with pytest.raises(FrameError, match="open/000001"):
            box.store.history()
        with pytest.warns(UserWarning, match="begins anew"):
            box.store.snapshot()

        assert [len(snapshot.frame()) for snapshot in box.store.snapshots()[1:]] == [10]
        assert len(box.store.history()) == 10


@pytest.mark.parametrize(
    ("started_at", "ended_at", "gone_by"),
    [(-30, 60, 60), (-7_200, -7_190, 0), (30, 40, 30)],
    ids=["overlaps", "clock set back", "follows"],
)
def test_a_change_between_listings_that_overlap_has_an_interval(
    tmp_path: Path, started_at: int, ended_at: int, gone_by: int
) -> None:
    """
    Two programs list at once, or the clock was set back: the interval never ends before it begins.
    """
    store = SnapshotStore(tmp_path)
    for status, start, end in (("sold", -60, 0), (None, started_at, ended_at)):
        columns = Columns()
        columns.add([{"id": 1, "name": "Rex", "categoryId": 3, "status": status}])
        listing = Listing("complete", "x", None, 1, "", 1, 1, 0, T0 + start, T0 + end, "sandbox")
        store.keep(columns.to_frame(listing))

    ended = store.history(now=T0 + 100)["ended_between"][0]

    assert [ended.left.timestamp() - T0, ended.right.timestamp() - T0] == [0, gone_by]


def test_a_snapshot_of_0_1_that_is_not_rebuilt_in_all_columns_keeps_its_file(
    tmp_path: Path,
) -> None:
    """Its digest is of the ids alone, so the values are compared, too."""
    shutil.copytree(OLD, tmp_path, dirs_exist_ok=True)
    store = SnapshotStore(tmp_path)
    assert len(of_0_1.folded_in(store.storage)) == len(store.all()) == 2
    (opened,) = tmp_path.glob("stays/open/*.parquet")
    stays = pd.read_parquet(opened)
    stays.assign(name="another").to_parquet(opened, index=False)

    assert of_0_1.folded_in(store.storage) == []


def test_the_last_report_of_0_1_is_known_after_its_files_are_deleted(tmp_path: Path) -> None:
    """It noted the name of a file, which the history holds as the source of a listing."""
    shutil.copytree(OLD, tmp_path, dirs_exist_ok=True)
    store = SnapshotStore(tmp_path)
    oldest, *_ = files = of_0_1.folded_in(store.storage)
    (tmp_path / "reported").mkdir()
    (tmp_path / "reported" / "inventory.txt").write_text(f"{oldest.name}\n")
    for path in files:
        path.unlink()

    frame, notes = store.since("last", status=None, now=2 * T0)

    assert (Listing.as_listed(frame), notes) == (store.all()[0].listing, ())


def test_the_only_place_may_be_one_of_version_0_1(tmp_path: Path) -> None:
    """
    Nobody has listed with this version yet; the folder of a listing that was begun is no history.
    """
    shutil.copytree(OLD, tmp_path / "snapshots" / "production-0123456789ab")
    (tmp_path / "snapshots" / "staging-0123456789ab" / "begun").mkdir(parents=True)

    assert len(SnapshotStore.only(tmp_path, None).all()) == 2


def test_a_workbook_of_the_history_rounds_no_id(tmp_path: Path) -> None:
    """What Excel would round is text, and times that are not there are empty."""
    with Sandbox(plan="pro", animals=0) as sandbox:
        sandbox.add([("Rex", 2**53 + 1, "sold")])
        sandbox.store.snapshot()
        export.write(sandbox.store.history(), tmp_path / "history.xlsx")

    frame = pd.read_excel(tmp_path / "history.xlsx", engine="calamine", dtype=str)
    assert frame["categoryId"].tolist() == [str(2**53 + 1)]
    assert frame["ended_before (UTC)"].isna().all()
