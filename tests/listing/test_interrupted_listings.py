"""What an interrupted listing is gone on with, and when it is not."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType

import pytest
from paging_server import PagingService, pets

from petstore_tools import PetStore, Plan
from petstore_tools.errors import ProtocolError
from petstore_tools.listing.completeness import Listing
from petstore_tools.service.server import ThreadedServer

STRIDE = 5  # every which instant is tried; 1 takes a minute
AMPLE = Plan(1_000_000, 100_000_000)


@contextmanager
def stores(service: PagingService, folder: Path, count: int) -> Iterator[list[PetStore]]:
    """Give stores on one service and one state folder, as processes of one user have them."""
    server = ThreadedServer(service).start()
    told = {"plan": AMPLE, "state_dir": folder, "progress": False}
    found = [PetStore(base_url=server.base_url, api_key="k", **told) for _ in range(count)]  # type: ignore[arg-type]
    try:
        yield found
    finally:
        for store in found:
            store.close()
        server.stop()


def interrupt(store: PetStore, service: PagingService, status: str | None = None) -> None:
    """Break off a listing after two pages: the third answer is no JSON."""
    service.asked = []
    service.before = lambda number: setattr(service, "garbled", number == 3)
    with pytest.raises(ProtocolError, match="not a list of animals"):
        store.list_pets(status=status)
    service.before = lambda number: setattr(service, "garbled", False)
    service.asked = []


@pytest.fixture
def service() -> PagingService:
    """It pages by links, and answers what is no JSON where it is `garbled`."""
    service = PagingService(pets(450))
    answer = service.answer

    def garbled(query: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        status, headers, body = answer(query)
        return status, headers, b"<html>" if getattr(service, "garbled", False) else body

    service.answer = garbled  # type: ignore[method-assign]
    return service


@pytest.mark.case("P10")
@pytest.mark.parametrize("other", [True, False])
@pytest.mark.parametrize(
    "whole",
    [
        lambda store: store.list_pets(resume=False),
        lambda store: store.list_pets(resume=False, max_requests=50),
        lambda store: store.list_pets(first=9_999),
        lambda store: list(store.pages()),
        lambda store: store.list_pets(max_age="1h", resume=False),
    ],
    ids=["list", "bounded", "first of fewer", "pages", "max_age"],
)
def test_a_whole_listing_since_ends_what_was_interrupted(
    service: PagingService,
    whole: Callable[[PetStore], object],
    other: bool,
    tmp_path: Path,
) -> None:
    """However it was made, and by whichever process: the next listing begins anew."""
    with stores(service, tmp_path, 2) as (store, second):
        interrupt(store, service)
        whole(second if other else store)
        service.rows.pop(0)

        service.asked = []
        frame = store.list_pets()

    assert frame["id"].tolist() == list(range(2, 451))
    assert Listing.of(frame).notes == ()
    assert len(service.asked) == 5


@pytest.mark.case("P10")
@pytest.mark.parametrize("between", ["sold", "nothing", "not whole"])
def test_what_was_interrupted_is_gone_on_with_until_then(
    service: PagingService, between: str, tmp_path: Path
) -> None:
    """
    A listing with another filter, and one that was not whole, end nothing; nor does a whole one
    before.
    """
    with stores(service, tmp_path, 2) as (store, second), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        second.list_pets()
        interrupt(store, service)
        if between == "sold":
            second.list_pets(status="sold")
        elif between == "not whole":
            second.list_pets(max_requests=2, resume=False)

        service.asked = []
        frame = store.list_pets()

    assert len(frame) == 450
    assert "went on after a pause" in Listing.of(frame).notes[0]
    assert len(service.asked) == 4


@pytest.mark.case("P10")
def test_an_interrupted_state_that_cannot_be_read_is_begun_anew(
    service: PagingService, tmp_path: Path
) -> None:
    """A file of another version, or of none."""
    with stores(service, tmp_path, 2) as (store, second):
        interrupt(store, service)
        kept = store.checkpoints.of(None)
        assert kept is not None
        broken = {"next": 5} | dict.fromkeys(set(kept.state) - {"last"}, None)
        store.checkpoints.keep(replace(kept, state=broken))

        assert len(second.list_pets()) == 450
    assert len(service.asked) == 5


@pytest.mark.case("P10")
def test_a_listing_that_cannot_be_gone_on_with_is_tried_once(
    service: PagingService, tmp_path: Path
) -> None:
    """
    Its last page has changed; the next listing is bounded, and the one after that asks no page
    twice.
    """
    with stores(service, tmp_path, 1) as (store,), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        interrupt(store, service)
        service.rows.pop(0)
        store.list_pets(max_requests=3)

        service.asked = []
        frame = store.list_pets()

    assert frame["id"].tolist() == list(range(2, 451))
    assert len(service.asked) == 5


@pytest.mark.case("P10")
@pytest.mark.parametrize("speaks", ["link", "offset"])
def test_ctrl_c_at_any_instant_loses_no_page(speaks: str, tmp_path: Path) -> None:
    """Wherever it falls in the work on a page: the next call has each animal once."""
    calls = 0

    def at(number: int) -> Callable[[FrameType, str, object], None]:
        """Return what counts the calls of functions that list, and interrupts one of them."""

        def note(frame: FrameType, event: str, _: object) -> None:
            nonlocal calls
            code = frame.f_code  # Python itself loses an interrupt of a generator that it closes
            listing = (
                Path(code.co_filename).parent.name == "listing" and code.co_name != "<genexpr>"
            )
            if event == "call" and listing:
                calls += 1
                if calls == number:
                    raise KeyboardInterrupt

        return note

    service = PagingService(pets(250), speaks)
    with stores(service, tmp_path, 1) as (store,), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of the pause
        store.list_pets()
        sys.setprofile(at(0))
        store.list_pets()
        sys.setprofile(None)
        total, whole = calls, 0

        for number in range(1, total, STRIDE):
            calls = 0
            sys.setprofile(at(number))
            with suppress(KeyboardInterrupt):
                store.list_pets()
                whole += 1
            sys.setprofile(None)

            frame = store.list_pets()
            assert (number, frame["id"].tolist()) == (number, list(range(1, 251)))
            assert Listing.of(frame).complete

    assert total > 100
    assert whole < total / STRIDE / 5


@pytest.mark.case("P10")
def test_another_process_goes_on_with_a_listing_of_the_same_filter_only(
    service: PagingService, tmp_path: Path
) -> None:
    """What a listing of the sold animals has is no part of a listing of all."""
    with stores(service, tmp_path, 2) as (store, second), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        service.rows = pets(1_200)
        interrupt(store, service, status="sold")

        everything, sold = second.list_pets(), second.list_pets(status="sold")

    assert everything["id"].tolist() == list(range(1, 1_201))
    assert Listing.of(everything).notes == ()
    assert "went on after a pause" in Listing.of(sold).notes[0]


@pytest.mark.case("P10")
def test_without_the_extra_parquet_the_pages_stay_in_memory(
    service: PagingService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same store goes on; another process, which finds no file, begins anew."""
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with stores(service, tmp_path, 2) as (store, second), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        interrupt(store, service)
        here = store.list_pets()
        interrupt(store, service)
        there = second.list_pets()

    assert "went on after a pause" in Listing.of(here).notes[0]
    assert Listing.of(there).notes == ()
    assert len(here) == len(there) == 450
