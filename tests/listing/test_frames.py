"""
Frames with the same columns and dtypes, whatever came; and what each kind of file keeps
of them.
"""

import json

import pandas as pd
import pytest
from inventories import listing_frame
from tables import read_json

from petstore_tools import Sandbox, status_report
from petstore_tools.errors import FrameError
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import ENDINGS, PetColumns, text_dtype, write_frame


def animals(count, **more):
    statuses = ("available", "pending", "sold", None)
    return listing_frame(
        [(n, f"Pet {n}", n % 3, statuses[n % 4]) for n in range(count)], **more
    )


def test_dtypes_are_the_same_when_empty_when_huge_and_when_a_status_is_missing():
    """
    int64 keeps every digit, status is an ordered category, absent is missing (§2.2).
    """
    huge = [2**53 + 1, "NA", 2**63 - 1]
    one = listing_frame([(*huge, None)])

    for frame in (animals(0), one, animals(8)):
        dtypes = ["int64", text_dtype(), "int64", "category"]
        assert [str(dtype) for dtype in frame.dtypes] == dtypes
        statuses = frame["status"].cat
        assert [*statuses.categories] == ["available", "pending", "sold"]
        assert statuses.ordered
    assert one.loc[0, ["id", "name", "categoryId"]].tolist() == huge
    assert one["status"].isna().all()


def test_a_status_the_document_does_not_name_is_kept_behind_the_three():
    """A newer service may send one: it is a further category of that frame."""
    frame = listing_frame([(1, "Rex", 1, "resting")])

    names = ["available", "pending", "sold", "resting"]
    assert [*frame["status"].cat.categories] == names
    assert status_report(frame).breakdown.loc["resting", "count"] == 1


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (lambda df: df.drop(columns="name"), "lacks name"),
        (lambda df: df.astype({"id": "float64"}), "not int64"),
        (
            lambda df: pd.DataFrame(df.to_dict("list")),
            "does not say what it is a listing of",
        ),
        (lambda df: df.assign(status=1), "no text"),
        (lambda df: [1], "does not say what it is a listing of"),
        (lambda df: df["status"], "does not say what it is a listing of"),
    ],
)
def test_a_frame_that_cannot_be_reported_on_says_why(broken, message):
    """Columns, dtypes, and where it came from."""
    with pytest.raises(FrameError, match=message):
        status_report(broken(animals(4)))


@pytest.mark.parametrize("instant", ["id", "name", "categoryId", "status"])
def test_a_page_that_ctrl_c_tore_apart_is_left_out_whole(instant):
    """
    It came between two columns: the frame has the pages before, and no column is longer
    than another.
    """

    class Row(dict[str, object]):
        def get(self, name, default=None):
            if name == instant:
                raise KeyboardInterrupt
            return super().get(name, default)

    row = {"id": 1, "name": "Rex", "categoryId": 3, "status": "sold"}
    columns = PetColumns()
    columns.add([row])

    with pytest.raises(KeyboardInterrupt):
        columns.add([Row(row | {"id": 2})])

    assert len(columns) == 1
    assert columns.to_frame(Listing.as_listed(animals(0)))["id"].tolist() == [1]


def test_a_listing_says_that_it_may_have_a_hole():
    """Its report, too, with a sentence that says what a hole is."""
    frame = listing_frame([(1, "Rex", 3, "sold")], may_have_hole=True)

    words = "complete, may have a hole"
    listing = f"{words}: 1 animal of the inventory of sandbox"
    assert repr(Listing.of(frame)).startswith(listing)
    report = status_report(frame)
    assert report.provenance.startswith(words)
    assert report.caution.startswith("May have a hole: an animal that was removed")
    unproven = listing_frame([], completeness="unproven", may_have_hole=True)
    assert repr(Listing.of(unproven)).startswith("unproven: 0 animals")


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
