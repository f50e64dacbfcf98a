"""
`pages()` and `pets()`: iterated twice, left in the middle, after an error, by two threads; and
retries.
"""

from __future__ import annotations

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from pathlib import Path

import pytest
from paging_server import PagingService, pets
from pydantic import SecretStr

from petstore_tools import PetStore, Plan, Sandbox
from petstore_tools.clock import ManualClock
from petstore_tools.errors import ApiError, ProtocolError
from petstore_tools.listing.completeness import Listing
from petstore_tools.plans import parse
from petstore_tools.sandbox.faults import Fault
from petstore_tools.service.server import ThreadedServer
from petstore_tools.settings import Settings

AMPLE = Plan(1_000_000, 100_000_000)


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


@pytest.mark.case("P73")
def test_pages_that_were_left_are_read_anew(tmp_path: Path) -> None:
    """The listing says that its end was not read; no thread that fetched ahead stays behind."""
    server = ThreadedServer(
        PagingService(pets(2_050), "offset", latency_s=0.02, total=True)
    ).start()
    told = {"pagination": "offset", "plan": AMPLE, "state_dir": tmp_path, "progress": False}
    with PetStore(base_url=server.base_url, api_key="k", **told) as store:  # type: ignore[arg-type]
        pages = store.pages()
        for page in pages:
            if page.number == 5:
                break
        left = pages.listing
        ids = [row["id"] for page in pages for row in page.rows]
    server.stop()

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
def test_two_iterations_at_once_do_not_mix() -> None:
    """Each reads the whole."""
    with Sandbox(animals=250) as box:
        pages = box.store.pages()
        pairs = list(zip(pages, pages, strict=True))

    assert [(len(one), len(other)) for one, other in pairs] == [(100, 100), (100, 100), (50, 50)]


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


@pytest.mark.case("P73")
def test_threads_that_list_at_once_count_their_own_requests() -> None:
    """`max_requests` bounds each of them, and `listing.requests` is each one's."""
    with (
        Sandbox(animals=1_000, plan="100000/1000000", clock="system") as box,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        with ThreadPoolExecutor(4) as pool:
            frames = list(pool.map(lambda n: box.store.list_pets(max_requests=n), (5, 6, 7, 20)))

    listings = [Listing.of(frame) for frame in frames]
    assert [len(frame) for frame in frames] == [500, 600, 700, 1_000]
    assert [listing.requests for listing in listings] == [5, 6, 7, 10]
    assert listings[0].reason == "the listing was limited to 5 requests"


def test_pets_checks_its_status_at_once() -> None:
    """Before the first animal is asked for."""
    with Sandbox(animals=0) as box, pytest.raises(ValueError, match="status must be one of"):
        box.store.pets(status="avialable")


@pytest.mark.case("P72")
@pytest.mark.parametrize("animals", [2_050, 15_000])
def test_an_error_on_every_tenth_page_is_retried(animals: int) -> None:
    """Each retry is a request, and the listing is whole."""
    plan = "100000/1000000"
    with Sandbox(
        animals=animals, plan=plan, faults=[Fault("error_before", method="GET", every=10)]
    ) as box:
        frame = box.store.list_pets()

        listing = Listing.of(frame)
        pages = -(-animals // 100)
        assert (len(frame), listing.completeness, listing.pages) == (animals, "complete", pages)
        assert listing.requests == box.store.client.sent == pages + (pages - 1) // 9


@pytest.mark.case("P72")
def test_an_error_on_every_page_ends_the_listing_after_ten_retries() -> None:
    """
    It raises what came, says that it was not asked again, and keeps the part; the same call goes
    on.
    """
    fault = Fault("error_before", method="GET", every=2)
    with Sandbox(animals=2_050, plan="100000/1000000", faults=[fault]) as box:
        with pytest.raises(ApiError, match="500 internal_error") as raised:
            box.store.list_pets()

        part = box.store.last_partial
        assert part is not None
        listing = Listing.of(part)
        assert raised.value.__notes__ == ["it was not retried, since this listing had 10 retries"]
        assert (len(part), listing.completeness, listing.requests) == (1_100, "cut", 22)
        assert listing.reason.endswith(raised.value.__notes__[0])

        box.faults.clear()
        with pytest.warns(UserWarning, match="went on after a pause"):
            assert len(box.store.list_pets()) == 2_050


@pytest.mark.case("P72")
def test_a_known_size_gives_a_long_listing_its_tenth_from_the_start() -> None:
    """Of 300 pages 15 of the first 30 may fail once each."""
    with Sandbox(animals=30_000, plan="100000/1000000") as box:
        box.store.list_pets()
        asked = box.store.client.sent
        box.faults.append(
            Fault("error_before", method="GET", at=tuple(range(asked + 2, asked + 32, 2)))
        )
        frame = box.store.list_pets()

    assert (len(frame), Listing.of(frame).requests) == (30_000, 315)


def test_a_bound_on_requests_bounds_retries_too() -> None:
    """Three requests are three, also where two of them fail."""
    with Sandbox(animals=500, faults=[Fault("error_before", method="GET", at=(2, 3, 4))]) as box:
        with pytest.raises(ApiError, match="500") as raised:
            box.store.list_pets(max_requests=3)

        assert box.store.client.sent == 3
        assert "limited to 3 requests" in raised.value.__notes__[0]


@pytest.mark.parametrize("named", ["business", None])
def test_a_business_key_lists_side_by_side_with_and_without_a_named_plan(
    named: str | None, tmp_path: Path
) -> None:
    """
    Without one, the headers have to say it twice, a minute apart: 100 ms need three connections
    then.
    """
    clock = ManualClock(1_800_000_000.0)
    service = PagingService(pets(1_000), "offset", latency_s=0.1, total=True)

    def quota() -> dict[str, str]:
        minute = clock.now() // 60
        used[minute] = used.get(minute, 0) + 1
        left = {"X-RateLimit-Limit": "1000", "X-RateLimit-Remaining": str(1_000 - used[minute])}
        date = formatdate(clock.now(), usegmt=True)
        return left | {"X-RateLimit-Reset": str(int(minute + 1) * 60), "Date": date}

    used: dict[float, int] = {}
    service.more = quota
    server = ThreadedServer(service).start()
    settings = Settings(
        base_url=server.base_url,
        environment="production",
        api_key=SecretStr("k"),
        plan=parse(named),
        state_dir=tmp_path,
        pagination="offset",
    )
    with PetStore.from_settings(settings, clock=clock) as store:
        for _ in range(2):
            store.list_pets(first=200)
            clock.advance(130)
        service.most_at_once = 0
        store.list_pets()
    server.stop()

    assert service.most_at_once == 3
