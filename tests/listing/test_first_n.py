"""`list_pets(first=)`: what is left out is said."""

from math import ceil

import pytest
from ways import list_animals

from petstore_tools import Sandbox, status_report
from petstore_tools.errors import ArgumentError, FrameError
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.schemes import SCHEMES


@pytest.mark.parametrize("first", [1, 99, 100, 101, 117, 118, 119, 5_000])
def test_a_listing_that_leaves_animals_out_is_never_complete(first):
    """
    Of 118 animals: also where the last page was read and cut; one that leaves none out
    is.
    """
    with Sandbox(animals=118) as box:
        frame = box.store.list_pets(first=first)

        listing = Listing.of(frame)
        assert (len(frame), listing.requests) == (
            min(first, 118),
            ceil(min(first, 118) / 100),
        )
        assert listing.complete == (first >= 118)
        if not listing.complete:
            assert listing.reason == f"the listing was limited to the first {first}"
            with pytest.raises(FrameError, match="not complete"):
                status_report(frame)


def test_the_first_n_are_never_answered_by_a_kept_listing():
    """That one is complete, so it is no answer."""
    with (
        Sandbox(animals=3) as box,
        pytest.raises(ArgumentError, match="max_age .* cannot be combined with first"),
    ):
        box.store.list_pets(first=2, max_age="1h")


@pytest.mark.parametrize("is_learnt", [False, True])
@pytest.mark.parametrize("way", [*SCHEMES, "link", "X-Next-Cursor=cursor", "nothing"])
def test_each_way_to_page_two_ends_with_enough(way, is_learnt):
    """
    As many as asked for, cut where there are more, and no page is read behind the last
    that is needed.
    """
    evidence = list_animals(way).evidence if is_learnt else None
    trials = 1 if is_learnt else 7
    if way in ("link", "nothing"):
        trials = 0
    for first in (1, 20, 99, 100, 101, 150, 198, 199, 200, 201, 249):
        outcome = list_animals(way, evidence=evidence, first=first)

        is_enough = first <= 100 or way != "nothing"
        assert outcome.end.completeness == ("cut" if is_enough else "unproven"), first
        if is_enough:
            assert len(outcome.ids) >= first
            assert outcome.requests <= ceil(first / 100) + trials, first
