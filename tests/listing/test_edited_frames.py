"""
A frame that differs from its listing in anything but its order is not taken for it.
"""

import re

import pandas as pd
import pytest
from inventories import listing_frame
from tables import read_json

from petstore_tools import status_report
from petstore_tools.errors import FrameError
from petstore_tools.listing.completeness import Listing, digest
from petstore_tools.listing.frames import text_dtype


@pytest.fixture
def frame():
    """Three hundred animals, every fourth without a status, ids in no order."""
    statuses = ("available", "pending", "sold", None)
    return listing_frame(
        [(n * 11 % 301, f"Pet {n % 50}", n % 3, statuses[n % 4]) for n in range(300)]
    )


def edited(df, column, label, value):
    changed = df.copy()
    changed.loc[label, column] = value
    return changed


def swapped(df, column):
    changed = df.copy()
    changed.loc[[0, 1], column] = changed.loc[[1, 0], column].to_numpy()
    return changed


EDITS = {
    "a status taken away": lambda df: edited(df, "status", 0, None),
    "a status given": lambda df: edited(df, "status", 3, "sold"),
    "one name": lambda df: edited(df, "name", 0, "pet 0"),
    "a name taken away": lambda df: edited(df, "name", 0, None),
    "two names swapped": lambda df: swapped(df, "name"),
    "two statuses swapped": lambda df: swapped(df, "status"),
    "two categories swapped": lambda df: swapped(df, "categoryId"),
    "ids beyond int64": lambda df: df.assign(id=df["id"].astype("uint64") + 2**63),
    "a row dropped": lambda df: df.drop(index=5),
    "filtered": lambda df: df[df["status"] == "sold"],
    "the first": lambda df: df.head(1),
    "none": lambda df: df.head(0),
    "twice": lambda df: pd.concat([df, df]),
    "merged": lambda df: df.merge(df[["id"]].head(5), on="id"),
    "columns dropped": lambda df: df[["id", "status"]],
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_frame_is_not_complete(frame, edit):
    """
    Another value somewhere, or other rows or columns: cut, and says how many animals it
    has.
    """
    changed = EDITS[edit](frame)
    changed.attrs = frame.attrs

    listing = Listing.of(changed)

    assert (listing.completeness, listing.rows) == ("cut", len(changed))
    reason = "animals?; the listing had 300, and was filtered or edited since"
    assert re.fullmatch(f"{len(changed)} {reason}", listing.reason)
    assert Listing.as_listed(changed).complete


def test_a_report_on_an_edited_frame_says_that_it_is_not_complete(frame):
    """It is refused, unless a part is asked for; then each form says so."""
    changed = edited(frame, "name", 0, "pet 0")

    with pytest.raises(FrameError, match="not complete"):
        status_report(changed)
    report = status_report(changed, partial=True)
    assert '"complete": false' in report.to_json()
    assert "others are missing" in report.headline
    for text in (report.to_html(), report.to_markdown(), str(report)):
        assert "Not complete: animals are missing, because" in text


DTYPES = {"status": text_dtype(), "id": "Int64", "name": "object"}
SAME = {
    "rows shuffled": lambda df: df.sample(frac=1, random_state=1),
    "index sorted": lambda df: df.set_index("id", drop=False).sort_index(),
    "columns added": lambda df: df.assign(label="Dog", weight=1.5),
    "columns moved": lambda df: df[["status", "name", "id", "categoryId"]],
    "other dtypes": lambda df: df.astype(DTYPES),
}


@pytest.mark.parametrize("change", SAME)
def test_only_the_order_may_differ(frame, change):
    """
    The same animals in another order, beside other columns, under other dtypes are the
    same listing.
    """
    changed = SAME[change](frame)

    assert Listing.of(changed) == Listing.of(frame)
    assert status_report(changed).headline == status_report(frame).headline


def test_a_digest_tells_where_one_text_ends():
    """
    `ab` and `c` are not `a` and `bc`, nor a name and a status that join in one place
    those that join in another; no status is not an empty one.
    """
    animals = read_json(__file__, "joined_texts.json")
    digests = {digest([1, 2], names, [0, 0], statuses) for names, statuses in animals}

    assert len(digests) == len(animals)
