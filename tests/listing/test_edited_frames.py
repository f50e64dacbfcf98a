"""A frame that differs from its listing in anything but its order is not taken for it."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest
from inventories import framed

from petstore_tools import status_report
from petstore_tools.errors import FrameError
from petstore_tools.listing.completeness import Listing, digest
from petstore_tools.listing.frames import text_dtype


@pytest.fixture
def frame() -> pd.DataFrame:
    """Three hundred animals, every fourth without a status, ids in no order."""
    statuses = ("available", "pending", "sold", None)
    return framed([(n * 11 % 301, f"Pet {n % 50}", n % 3, statuses[n % 4]) for n in range(300)])


def edited(df: pd.DataFrame, column: str, at: int, value: object) -> pd.DataFrame:
    changed = df.copy()
    changed.loc[at, column] = value
    return changed


def swapped(df: pd.DataFrame, column: str) -> pd.DataFrame:
    changed = df.copy()
    changed.loc[[0, 1], column] = changed.loc[[1, 0], column].to_numpy()
    return changed


@pytest.mark.case("P69", "P53a")
@pytest.mark.parametrize(
    "change",
    [
        lambda df: edited(df, "status", 0, None),
        lambda df: edited(df, "status", 3, "sold"),
        lambda df: edited(df, "name", 0, "pet 0"),
        lambda df: edited(df, "name", 0, None),
        lambda df: swapped(df, "name"),
        lambda df: swapped(df, "status"),
        lambda df: swapped(df, "categoryId"),
        lambda df: df.assign(id=df["id"].astype("uint64") + 2**63),
    ],
    ids=[
        "a status taken away",
        "a status given",
        "one name",
        "a name taken away",
        "two names swapped",
        "two statuses swapped",
        "two categories swapped",
        "ids beyond int64",
    ],
)
def test_an_edited_frame_is_not_complete(
    frame: pd.DataFrame, change: Callable[[pd.DataFrame], pd.DataFrame]
) -> None:
    """As many animals with the same ids, and another value somewhere."""
    changed = change(frame)

    with pytest.raises(FrameError, match="not complete"):
        status_report(changed)
    listing = Listing.of(changed)
    assert not listing.complete
    assert listing.reason == "300 animals; the listing had 300, and was filtered or edited since"
    report = status_report(changed, partial=True)
    assert '"complete": false' in report.to_json()
    for shown in (report.headline, report.to_html(), report.to_markdown(), repr(report)):
        assert "Not complete" in shown


@pytest.mark.case("P69", "P53a")
@pytest.mark.parametrize(
    ("change", "left"),
    [
        (lambda df: df.drop(index=5), "299 animals"),
        (lambda df: df[df["status"] == "sold"], "75 animals"),
        (lambda df: df.head(1), "1 animal"),
        (lambda df: df.head(0), "0 animals"),
        (lambda df: pd.concat([df, df]), "600 animals"),
        (lambda df: df.merge(df[["id"]].head(5), on="id"), "5 animals"),
        (lambda df: df[["id", "status"]], "300 animals"),
    ],
)
def test_a_frame_with_other_rows_says_how_many(
    frame: pd.DataFrame, change: Callable[[pd.DataFrame], pd.DataFrame], left: str
) -> None:
    """Rows dropped, filtered or added; columns dropped."""
    changed = change(frame)
    changed.attrs = frame.attrs

    listing = Listing.of(changed)

    assert (listing.completeness, listing.rows) == ("cut", len(changed))
    assert listing.reason == f"{left}; the listing had 300, and was filtered or edited since"


@pytest.mark.case("P69")
@pytest.mark.parametrize(
    "change",
    [
        lambda df: df.sample(frac=1, random_state=1),
        lambda df: df.sort_values("name"),
        lambda df: df.set_index("id", drop=False).sort_index(),
        lambda df: df.assign(label="Dog", weight=1.5),
        lambda df: df[["status", "name", "id", "categoryId"]],
        lambda df: df.astype({"status": text_dtype(), "id": "Int64", "name": "object"}),
        lambda df: df.copy().reset_index(),
    ],
    ids=[
        "rows shuffled",
        "sorted",
        "index sorted",
        "columns added",
        "columns moved",
        "other dtypes",
        "index reset",
    ],
)
def test_only_the_order_may_differ(
    frame: pd.DataFrame, change: Callable[[pd.DataFrame], pd.DataFrame]
) -> None:
    """
    The same animals in another order, beside other columns, under other dtypes are the same
    listing.
    """
    changed = change(frame)

    assert Listing.of(changed) == Listing.of(frame)
    assert status_report(changed).headline == "Complete: 300 animals of the inventory of sandbox"


def test_a_digest_tells_where_one_text_ends() -> None:
    """`ab` and `c` are not `a` and `bc`; no status is not an empty one."""
    animals = [
        (["ab", "c"], [None, None]),
        (["a", "bc"], [None, None]),
        (["ab", "c"], ["", None]),
        (["ab", "c"], [None, ""]),
        (["c", "ab"], [None, None]),
    ]
    told = [digest([1, 2], names, [0, 0], statuses) for names, statuses in animals]

    assert len(set(told)) == len(animals)
    assert digest([2, 1], ["c", "ab"], [0, 0], [None, None]) == told[0]


@pytest.mark.case("P69")
def test_a_frame_is_complete_again_when_the_edit_is_undone(frame: pd.DataFrame) -> None:
    """What it carries is what was listed."""
    before = frame["name"].copy()
    frame["name"] = "Rex"
    assert not Listing.of(frame).complete
    assert Listing.as_listed(frame).complete

    frame["name"] = before

    assert Listing.of(frame).complete
