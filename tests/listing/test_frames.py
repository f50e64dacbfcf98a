"""Frames with the same columns and dtypes, whatever came."""

import pandas as pd
import pytest
from inventories import listing_frame

from petstore_tools import status_report
from petstore_tools.errors import FrameError
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import PetColumns, text_dtype


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


def test_a_headline_says_that_a_listing_may_have_a_hole():
    """That of the listing and that of its report, where it is called complete."""
    frame = listing_frame([(1, "Rex", 3, "sold")], may_have_hole=True)

    headline = "omplete, may have a hole: 1 animal of the inventory of sandbox"
    assert repr(Listing.of(frame)).startswith(f"c{headline}")
    assert status_report(frame).headline.startswith(f"C{headline}")
    unproven = listing_frame([], completeness="unproven", may_have_hole=True)
    assert repr(Listing.of(unproven)).startswith("unproven: 0 animals")
