"""
`pages()` and `pets()`: iterated twice, left in the middle, after an error, by two threads; and
retries.
"""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from paging_server import PagingService, pets
from ways import Animal, Service

from petstore_tools import PetStore, Plan, Sandbox
from petstore_tools.errors import ApiError, IncompleteListingError, Interrupted, ProtocolError
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.links import ListQuery
from petstore_tools.sandbox.faults import Fault
from petstore_tools.service.server import ThreadedServer
from petstore_tools.throttle.throttle import Wait

AMPLE = Plan(1_000_000, 100_000_000)
REFUSED, FAILS = str(11 * 99), str(13 * 99)  # pages 12 and 14: each repeats an animal


@pytest.mark.case("P73")
def test_pages_that_are_iterated_twice_are_read_twice() -> None:
    """Each time from the first page on; `listing` is the last one's, with its own requests."""
    with Sandbox(animals=250) as box:
        pages = box.store.pages()
        both = [[row["id"] for page in pages for row in page.rows] for _ in range(2)]

        assert both == [list(range(1, 251))] * 2
        assert (pages.listing.completeness, pages.listing.requests, box.store.client.sent) == (
            "complete",
            3,
            6,
        )
        assert repr(pages).startswith("Pages(complete: 250 animals of the inventory of sandbox (3")
        assert repr(next(iter(pages))) == "Page(1, 100 animals)"
        assert repr(box.store.inventory) == "Inventory(Client(sandbox, on this machine))"


@pytest.mark.case("P73")
def test_pages_that_were_left_are_read_anew(tmp_path: Path) -> None:
    """The listing says that its end was not read; no thread that fetched ahead stays behind."""
    service = PagingService(pets(2_050), "offset", latency_s=0.02, total="listing")
    with store_of(service, tmp_path, pagination="offset") as store:
        pages = store.pages()
        for page in pages:
            if page.number == 5:
                break
        left = pages.listing
        ids = [row["id"] for page in pages for row in page.rows]

    assert (left.completeness, left.reason) == ("cut", "the listing was not read to its end")
    assert ids == list(range(1, 2_051))
    assert pages.listing.complete
    for thread in threading.enumerate():
        if thread.name == "page":
            thread.join(5)
            assert not thread.is_alive()


@pytest.mark.case("P73")
def test_pages_are_read_anew_after_an_error() -> None:
    """The reason of the first time names the error; the second time is complete."""
    with Sandbox(animals=250, faults=[Fault("garbage", method="GET", at=(2,))]) as box:
        pages = box.store.pages()
        with pytest.raises(ProtocolError, match="not a list of animals"):
            list(pages)
        broken = pages.listing

        assert (broken.completeness, "not a list of animals" in broken.reason) == ("cut", True)
        assert sum(len(page) for page in pages) == 250
        assert pages.listing.complete


@pytest.mark.case("P73")
def test_threads_that_iterate_the_same_pages_read_the_whole_each() -> None:
    """Also where none of them was first."""
    with (
        Sandbox(animals=500, plan="100000/1000000", clock="system") as box,
        ThreadPoolExecutor(8) as pool,
    ):
        pages = box.store.pages()
        counts = list(pool.map(lambda _: sum(len(page) for page in pages), range(8)))

    assert counts == [500] * 8


@pytest.mark.case("P72")
def test_an_error_on_every_tenth_page_is_retried() -> None:
    """Each retry is a request, and the listing is whole."""
    fails = Fault("error_before", method="GET", every=10)
    with Sandbox(animals=2_050, plan="100000/1000000", faults=[fails]) as box:
        frame = box.store.list_pets()

        listing = Listing.of(frame)
        assert (len(frame), listing.completeness, listing.pages) == (2_050, "complete", 21)
        assert listing.requests == box.store.client.sent == 23


@pytest.mark.case("P72")
def test_an_error_on_every_try_of_a_page_ends_the_listing() -> None:
    """Five tries of the third page; it raises, and keeps the part."""
    faults = [Fault("error_before", method="GET", at=(3, 4, 5, 6, 7))]
    with Sandbox(animals=500, plan="100000/1000000", faults=faults) as box:
        with pytest.raises(ApiError, match="500 internal_error"):
            box.store.list_pets()

        part = box.store.last_partial
        assert part is not None
        assert (len(part), Listing.of(part).completeness, box.store.client.sent) == (200, "cut", 7)
        assert len(box.store.list_pets()) == 500


@contextmanager
def store_of(service: PagingService, folder: Path, **told: object) -> Iterator[PetStore]:
    server = ThreadedServer(service).start()
    given = {"base_url": server.base_url, "api_key": "k", "plan": AMPLE, "progress": False}
    try:
        with PetStore(state_dir=folder, **given | told) as store:  # type: ignore[arg-type]
            yield store
    finally:
        server.stop()


@pytest.mark.parametrize("speaks", ["link", "page", "X-Next-Cursor=cursor"])
def test_a_way_is_learnt_and_remembered_on_disk(speaks: str, tmp_path: Path) -> None:
    """A store of another process need not learn it again."""
    service = PagingService(pets(1_050), speaks)
    with store_of(service, tmp_path) as store:
        first = store.list_pets()
        asked = len(service.asked)
        service.asked = []
        base_url = store.settings.base_url
        told = {"plan": AMPLE, "state_dir": tmp_path, "progress": False}
        with PetStore(base_url=base_url, api_key="k", **told) as other:  # type: ignore[arg-type]
            again = other.list_pets()

    for frame in (first, again):
        assert (len(frame), Listing.of(frame).completeness) == (1_050, "complete")
    assert len(service.asked) <= asked
    assert len(service.asked) <= 11 + 2


@pytest.mark.case("P93")
@pytest.mark.parametrize(
    "way",
    [
        *[{"behind": status} for status in ("204", "404", "416")],
        *[{"strict": status} for status in (403, 500)],
        {"total": "listing", "estimate": partial(min, 1_000), "latency_s": 0.02},
        {"relations": "first last"},
        {"speaks": "link", "host": "http://inner:8080"},
    ],
    ids=str,
)
def test_ordinary_services_are_read_to_their_end(way: dict[str, Any], tmp_path: Path) -> None:
    """Whole, as complete, and a way that is answered by a 5xx is asked for once."""
    service = PagingService(pets(1_250), **{"speaks": "page", **way})
    with store_of(service, tmp_path) as store:
        frame = store.list_pets()

    assert (len(frame), Listing.of(frame).completeness) == (1_250, "complete")
    assert sum("offset" in query for query in service.asked) <= 1


@pytest.mark.case("P7")
def test_a_service_that_ignores_the_filter_is_read_and_told(tmp_path: Path) -> None:
    """Animals of another status are left out and counted."""
    service = PagingService(pets(500), "link", filters="never")
    with (
        store_of(service, tmp_path) as store,
        pytest.warns(UserWarning, match="of another status, which are left out"),
    ):
        frame = store.list_pets(status="sold")

    wanted = [pet_id for pet_id, status in service.rows if status == "sold"]
    assert frame["id"].tolist() == wanted
    assert Listing.of(frame).rows == len(wanted)


def test_completeness_can_be_required(tmp_path: Path) -> None:
    """It raises in place of warning; what came is kept, labelled."""
    with store_of(PagingService(pets(250), "nothing"), tmp_path) as store:
        with pytest.raises(
            IncompleteListingError, match="may be incomplete: 100 animals were read"
        ) as caught:
            store.list_pets(require="complete")

        assert store.last_partial is not None
        assert len(store.last_partial) == 100
    assert caught.value.listing == Listing.of(store.last_partial)


@pytest.mark.parametrize("speaks", ["offset", "page"])
@pytest.mark.parametrize("total", ["listing", ""])
def test_a_slow_service_is_asked_side_by_side_and_not_past_its_end(
    speaks: str, total: str, tmp_path: Path
) -> None:
    """Where the size is told, or known from last time; in order, whole, and not past the end."""
    service = PagingService(pets(2_050), speaks, latency_s=0.02, total=total)
    with store_of(service, tmp_path) as store:
        store.list_pets()
        first_time = len(service.asked)
        service.asked = []
        frame = store.list_pets()

    assert frame["id"].tolist() == list(range(1, 2_051))
    assert Listing.of(frame).complete
    assert service.most_at_once > 3
    assert first_time <= 21 + 8
    assert len(service.asked) <= 21 + 3


def test_pages_fetched_ahead_that_turn_out_wrong_are_not_believed(tmp_path: Path) -> None:
    """Animals come and go while pages are under way: the listing says so."""
    service = PagingService(pets(2_000), "offset", latency_s=0.02, total="listing")
    service.change = lambda _: len(service.asked) == 10 and service.rows.pop(3) and None
    with (
        store_of(service, tmp_path) as store,
        pytest.warns(UserWarning, match="changed while it was read"),
    ):
        frame = store.list_pets()

    assert Listing.of(frame).completeness == "unproven"
    assert Listing.of(frame).may_have_hole


def test_a_business_key_lists_side_by_side(tmp_path: Path) -> None:
    """At 100 ms an answer its 1,000 requests a minute need two connections, and one to spare."""
    service = PagingService(pets(1_000), "offset", latency_s=0.1, total="listing")
    with store_of(service, tmp_path, plan="business") as store:
        store.list_pets()

    assert 1 < service.most_at_once < 8


@pytest.mark.case("P30")
def test_what_a_page_that_is_fetched_ahead_waits_for_is_shown(tmp_path: Path) -> None:
    """From the caller's thread, and no longer than it waits."""
    service = PagingService(pets(2_050), "offset", latency_s=0.02, total="listing")
    answer = service.answer
    refusals = [(429, {"Retry-After": "1"}, [])]

    def refusing(query: dict[str, str]) -> tuple[int, dict[str, str], list[Animal]]:
        is_late = int(query.get("offset", 0)) > 1_000
        return refusals.pop() if is_late and refusals else answer(query)

    service.answer = refusing  # type: ignore[method-assign]
    shown = []

    def show(read: int, total: int | None, wait: Wait | None) -> None:
        assert threading.current_thread() is threading.main_thread()
        shown.append((read, total, wait.why if wait else ""))

    with store_of(service, tmp_path) as store:
        store.inventory.fetch(ListQuery(), wait=False, show=show)

    assert "the service answered 429 (too many requests)" in [why for _, _, why in shown]
    assert shown[-1] == (2_050, 2_050, "")


@pytest.mark.parametrize("read", [PetStore.list_pets, lambda store: list(store.pages())])
def test_a_wait_for_the_plan_is_shown_on_a_bar(
    read: Callable[[PetStore], object], capsys: pytest.CaptureFixture[str]
) -> None:
    """Until when and why, beside the animals so far, and also where there is no bar else."""
    with Sandbox(plan="4/1000", animals=500) as box:
        box.store.progress = True
        read(box.store)

    shown = capsys.readouterr().err
    assert re.search(r"400/.*, waits until 20.* UTC: all 4 requests of this minute are used", shown)


@pytest.mark.case("P10")
@pytest.mark.skipif(os.name != "posix", reason="needs a signal to a thread")
@pytest.mark.parametrize("speaks", ["link", "offset"])
def test_an_interrupted_listing_keeps_what_came(speaks: str, tmp_path: Path) -> None:
    """
    Ctrl-C, also while eight pages are fetched side by side by a service that takes its time: those
    that came, labelled; the next call begins anew.
    """
    service = PagingService(pets(5_000), speaks, latency_s=0.05, total="listing")
    main = threading.get_ident()

    def interrupt(_: Service) -> None:
        if len(service.asked) == 30:
            signal.pthread_kill(main, signal.SIGINT)

    service.change = interrupt
    with store_of(service, tmp_path) as store:
        with pytest.raises(Interrupted, match="animals so far, in last_partial") as raised:
            store.list_pets()
        assert store.last_partial is not None
        part = Listing.of(store.last_partial)
        assert (part.completeness, part.reason) == ("cut", "it was interrupted")
        assert 100 <= part.rows < 5_000
        assert f"{part.rows:,} animals so far" in str(raised.value)
        assert len(store.list_pets()) == 5_000
        assert store.last_partial is None


def test_the_end_of_a_listing_ends_what_is_fetched_ahead(tmp_path: Path) -> None:
    """Page 12 is a redirect while page 14 waits for another try: nothing more is sent."""
    service = PagingService(pets(5_000), "offset", total="listing")
    answer = service.answer

    def refusing(query: dict[str, str]) -> tuple[int, dict[str, str], list[Animal]]:
        if query.get("offset") == REFUSED:
            return 302, {"Location": "https://elsewhere.example/v1"}, []
        return (503, {"Retry-After": "1"}, []) if query.get("offset") == FAILS else answer(query)

    def wait_longer(_: Service) -> None:
        service.latency_s = 0.4 if service.asked[-1].get("offset") == REFUSED else 0.02

    service.answer, service.change = refusing, wait_longer  # type: ignore[method-assign]
    with store_of(service, tmp_path, pagination="offset") as store:
        with pytest.raises(ProtocolError, match="elsewhere"):
            store.list_pets()
        asked = [query.get("offset") for query in service.asked]
        time.sleep(2.5)

    assert asked.count(FAILS) == 1
    assert len(service.asked) == len(asked)
