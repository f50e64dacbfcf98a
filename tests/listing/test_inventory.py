"""
Listings of the real service over a real socket; and the first animals alone, by which
is said what is left out.
"""

from math import ceil

import pytest
from tables import read_json
from ways import list_animals

from petstore_tools import Sandbox, status_report
from petstore_tools.errors import ArgumentError, FrameError, QuotaError
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.schemes import SCHEMES


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
