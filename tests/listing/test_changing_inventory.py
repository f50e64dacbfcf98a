"""Listings of an inventory that changes while it is read: at its head, and at its end."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from pathlib import Path

import pytest
from paging_server import PagingService, Row, pets

from petstore_tools import PetStore, Plan
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.pager import EMPTY_PAGES
from petstore_tools.service.server import ThreadedServer

AMPLE = Plan(1_000_000, 100_000_000)
LEARNT = ("offset", "skip", "page", "page0", "after", "starting_after")


def newcomer(number: int) -> Row:
    return {"id": number, "name": "New", "categoryId": 1, "status": "sold"}


@contextmanager
def store_of(service: PagingService, folder: Path, **told: object) -> Iterator[PetStore]:
    server = ThreadedServer(service).start()
    settings = {"plan": AMPLE, "state_dir": folder, "progress": False, **told}
    try:
        with PetStore(base_url=server.base_url, api_key="k", **settings) as store:  # type: ignore[arg-type]
            yield store
    finally:
        server.stop()


@pytest.mark.case("P5")
@pytest.mark.parametrize(("cap", "times"), [(100, 1), (100, 2), (100, 3), (20, 1)])
@pytest.mark.parametrize("change", ["insert", "delete", "delete eight"])
@pytest.mark.parametrize("speaks", LEARNT)
def test_a_head_that_changes_while_paging_is_learnt_is_read_again(
    speaks: str, change: str, cap: int, times: int, tmp_path: Path
) -> None:
    """Up to three times: every animal that is there comes, once, and the listing is complete."""
    service = PagingService(pets(450), speaks, cap=cap)

    def staff(number: int) -> None:
        asks_how = service.asked[-1]["limit"] != "100"
        if not asks_how or len(changed) == times:
            return
        changed.append(number)
        if change == "insert":
            service.rows.insert(0, newcomer(-number))
        else:
            del service.rows[: 8 if "eight" in change else 1]

    changed: list[int] = []
    service.before = staff
    with store_of(service, tmp_path) as store:
        frame = store.list_pets()

    assert Listing.of(frame).completeness == "complete"
    assert {int(str(row["id"])) for row in service.rows[-425:]} <= set(frame["id"])
    assert frame["id"].is_unique
    assert len(service.asked) <= ceil(453 / (cap - 1)) + 3 + 4 * times


@pytest.mark.case("P5")
@pytest.mark.parametrize("speaks", ["offset", "page", "nothing"])
def test_a_head_that_changes_each_time_ends_unproven(speaks: str, tmp_path: Path) -> None:
    """After three more tries, and a page and a question each; no animal comes twice."""
    service = PagingService(pets(450), speaks)
    service.before = lambda number: service.rows.insert(0, newcomer(-number))
    with (
        store_of(service, tmp_path) as store,
        pytest.warns(UserWarning, match="inventory changed each time"),
    ):
        frame = store.list_pets()

    assert Listing.of(frame).completeness == "unproven"
    assert frame["id"].is_unique
    assert len(service.asked) <= 12


@pytest.mark.case("P5")
@pytest.mark.parametrize("first", [100, 102, 150, 300])
def test_the_first_n_are_n_also_where_the_head_changed(first: int, tmp_path: Path) -> None:
    """Animals that came and are gone since count as well."""
    service = PagingService(pets(450), "offset")
    service.before = lambda number: (number == 2 and service.rows.__delitem__(slice(0, 3))) or None
    with store_of(service, tmp_path) as store:
        frame = store.list_pets(first=first)

    listing = Listing.of(frame)
    assert (len(frame), listing.rows, listing.completeness) == (first, first, "cut")
    assert frame["id"].is_unique


@pytest.mark.case("P5")
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("each", [1, 3, 10])
@pytest.mark.parametrize("speaks", ["offset", "skip", "after", "starting_after"])
def test_two_short_pages_in_a_row_are_the_end_while_animals_are_added(
    speaks: str, each: int, known: bool, tmp_path: Path
) -> None:
    """300 additions cost no request of their own; its reason says how the listing ended."""
    service = PagingService(pets(450), speaks)

    def staff(number: int) -> None:
        for _ in range(each):
            if len(service.rows) < 750:
                service.rows.append(newcomer(10_000 + len(service.rows)))

    service.before = staff
    with store_of(service, tmp_path, **({"pagination": speaks} if known else {})) as store:
        frame = store.list_pets()

    listing = Listing.of(frame)
    assert listing.completeness == "complete"
    assert len(service.asked) <= 7 + (0 if known else 3)
    assert set(range(1, 451)) <= set(frame["id"])
    if known:
        assert (
            listing.reason
            == f"two pages in a row were short while animals were added, paged by '{speaks}'"
        )


@pytest.mark.case("P5")
@pytest.mark.parametrize("speaks", ["page", "page0"])
def test_two_short_pages_with_numbers_are_no_end(speaks: str, tmp_path: Path) -> None:
    """
    The first of them has grown since: what was added to it is missing, so the listing is not
    complete.
    """
    service = PagingService(pets(450), speaks)

    def staff(number: int) -> None:
        if number == 6:
            service.rows.extend(newcomer(10_000 + n) for n in range(55))

    service.before = staff
    with (
        store_of(service, tmp_path, pagination=speaks) as store,
        pytest.warns(UserWarning, match="an empty page followed short ones"),
    ):
        frame = store.list_pets()

    assert (len(frame), Listing.of(frame).completeness) == (455, "unproven")


@pytest.mark.case("P7")
@pytest.mark.parametrize("speaks", ["offset", "after"])
def test_short_pages_before_the_end_are_none(speaks: str, tmp_path: Path) -> None:
    """A service that cuts its pages at different lengths is read to its end."""
    service = PagingService(pets(1_000), speaks)
    service.before = lambda number: setattr(service, "cap", (100, 60, 30, 80)[number % 4])
    with store_of(service, tmp_path, pagination=speaks) as store, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = store.list_pets()

    assert len(frame) == 1_000
    assert Listing.of(frame).completeness == ("complete" if speaks == "offset" else "unproven")


@pytest.mark.case("P7")
@pytest.mark.parametrize("speaks", ["offset", "after"])
def test_a_filter_that_thins_pages_out_is_read_on_with_a_bound(speaks: str, tmp_path: Path) -> None:
    """
    Two short pages prove nothing there; fifty in a row, each with one animal more, end unproven.
    """
    service = PagingService(pets(450), speaks)

    def staff(number: int) -> None:
        service.rows.append(newcomer(10_000 + len(service.rows)))

    service.before = staff
    with (
        store_of(service, tmp_path, pagination=speaks) as store,
        pytest.warns(
            UserWarning, match=f"{EMPTY_PAGES} pages in a row held hardly any new animals"
        ),
    ):
        store.list_pets(status="sold")

    assert len(service.asked) <= 2 + EMPTY_PAGES + 1
