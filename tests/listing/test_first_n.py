"""`list_pets(first=)`: what is left out is said."""

from __future__ import annotations

import warnings
from math import ceil

import pytest
from paging_server import PagingService, pets

from petstore_tools import PetStore, Plan, Sandbox, status_report
from petstore_tools.errors import ArgumentError, FrameError
from petstore_tools.listing.completeness import Listing
from petstore_tools.service.server import ThreadedServer

AMPLE = Plan(1_000_000, 100_000_000)
WAYS = (
    "link",
    "offset",
    "skip",
    "page",
    "page0",
    "after",
    "starting_after",
    "X-Next-Cursor=cursor",
    "nothing",
)


@pytest.mark.case("P53")
@pytest.mark.parametrize("first", [1, 99, 100, 101, 110, 117])
def test_a_listing_that_leaves_animals_out_is_never_complete(first: int) -> None:
    """Of 118 animals: also where the last page was read and cut."""
    with Sandbox(animals=118) as box:
        frame = box.store.list_pets(first=first)

        listing = Listing.of(frame)
        assert (len(frame), listing.requests) == (first, ceil(first / 100))
        assert (listing.completeness, listing.reason) == (
            "cut",
            f"the listing was limited to the first {first}",
        )
        with pytest.raises(FrameError, match="not complete"):
            status_report(frame)


def test_the_first_n_are_never_answered_by_a_kept_listing() -> None:
    """That one is complete, so it is no answer."""
    with (
        Sandbox(animals=3) as box,
        pytest.raises(ArgumentError, match="max_age .* cannot be combined with first"),
    ):
        box.store.list_pets(first=2, max_age="1h")


@pytest.mark.parametrize("first", [118, 119, 5_000])
def test_the_first_n_of_fewer_are_complete(first: int) -> None:
    """Nothing was left out, and the service said that no page follows."""
    with Sandbox(animals=118) as box:
        frame = box.store.list_pets(first=first)

    assert (len(frame), Listing.of(frame).completeness) == (118, "complete")


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("speaks", WAYS)
def test_each_way_to_page_two_ends_with_enough(speaks: str, known: bool, tmp_path: object) -> None:
    """
    As many as asked for, cut where there are more, and no page is read behind the last that is
    needed.
    """
    service = PagingService(pets(250), speaks)
    server = ThreadedServer(service).start()
    told = {"plan": AMPLE, "state_dir": tmp_path, "progress": False}
    with PetStore(base_url=server.base_url, api_key="k", **told) as store:  # type: ignore[arg-type]
        if known:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                store.list_pets()
        for first in (1, 20, 99, 100, 101, 150, 198, 199, 200, 201, 249):
            service.asked = []
            frame = store.list_pets(first=first)
            reached = 100 if speaks == "nothing" else 250
            listing = Listing.of(frame)
            assert len(frame) == min(first, reached), first
            assert listing.completeness == ("cut" if first <= reached else "unproven"), first
            if first <= reached:
                learning = 0 if speaks in ("link", "nothing") else 7
                assert len(service.asked) <= ceil(first / 100) + (
                    1 if known and learning else learning
                ), first
    server.stop()
