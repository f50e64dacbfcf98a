"""Whether the address of a next page holds the id of the last animal."""

from __future__ import annotations

import pytest

from petstore_tools import Listing, Sandbox
from petstore_tools.listing.links import holds_id

HELD = {
    "?last_id=100": True,
    "?cursor=id100.3fa4": True,
    "?cursor=id:100": True,
    "?cursor=t100": False,  # it may count rows
    "?offset=100": False,
    "?cursor=id1000": False,
    "?cursor=aWQxMDA": False,
    "?page=2": False,
}


@pytest.mark.case("P77")
@pytest.mark.parametrize(("query", "held"), HELD.items())
def test_a_number_that_may_count_rows_is_no_id(query: str, held: bool) -> None:
    """Ids of a new inventory begin at 1, so the hundredth animal has the id 100."""
    assert holds_id(f"https://host/v1/pets{query}", 100, rows=100) is held


def test_a_large_number_that_is_the_last_id_counts_nothing() -> None:
    """No service has ten times the animals that came."""
    assert holds_id("https://host/v1/pets?cursor=7000.ab", 7_000, rows=100)
    assert holds_id("https://host/v1/pets?since=-7000", -7_000, rows=100)


@pytest.mark.case("P77")
def test_our_own_service_shows_the_last_id() -> None:
    """So its listings have no hole, filtered or not."""
    with Sandbox(animals=1_000) as box:
        for status in (None, "available"):
            frame = box.store.list_pets(status=status)
            listing = Listing.of(frame)

            assert (listing.complete, listing.may_have_hole) == (True, False)
            assert listing.pages > 1
