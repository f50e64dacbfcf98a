"""Listings of the real service over a real socket."""

import pytest
from tables import read_json

from petstore_tools import Sandbox
from petstore_tools.errors import ArgumentError, QuotaError
from petstore_tools.listing.completeness import Listing


@pytest.mark.parametrize(
    ("animals", "first", "second"),
    read_json(__file__, "request_counts.json"),
)
def test_all_rows_come_with_no_request_too_many(animals, first, second):
    """
    ceil(N/100) requests, also where N is a multiple of 100, and one more until a next
    page was named; two more behind an empty first page; the listing is complete and has
    no hole, since our links show the last id.
    """
    with Sandbox(animals=animals) as box:
        for requests in (first, second):
            frame = box.store.list_pets()

            listing = Listing.of(frame)
            assert frame["id"].tolist() == list(range(1, animals + 1))
            assert (listing.requests, listing.label) == (requests, "complete")


def test_changes_while_paging_make_no_hole_and_no_double():
    """Keyset order: an animal removed behind and one added ahead."""
    with Sandbox(animals=250) as box:
        listed = box.store.pages(limit=100)
        pages = iter(listed)
        first = next(pages)
        box.remove(5)
        added = box.store.create_pet("New", category_id=1).id
        ids = [row["id"] for page in (first, *pages) for row in page.rows]

    assert ids == [*range(1, 251), added]
    assert listed.listing.completeness == "complete"


def test_pets_come_lazily():
    """One page is asked for when one animal is; a status is checked before."""
    with Sandbox(animals=250) as box:
        with pytest.raises(ArgumentError, match="status must be one of"):
            box.store.pets(status="avialable")
        pet = next(box.store.pets())

        assert (pet.id, box.store.client.sent) == (1, 1)


def test_a_listing_stopped_by_the_days_quota_says_when_and_keeps_its_pages():
    """
    Three of the five pages fit in the day: QuotaError with the time, no sleep, the part
    is labelled.
    """
    with Sandbox(plan="60/3", animals=450) as box:
        before = box.clock.now()
        with pytest.raises(
            QuotaError, match="all 3 requests of this day are used"
        ) as raised:
            box.store.list_pets()

        assert box.clock.now() == before
        assert raised.value.resumes_at == before // 86_400 * 86_400 + 86_401
        part = box.store.last_partial
    assert (len(part), Listing.of(part).completeness) == (300, "cut")
