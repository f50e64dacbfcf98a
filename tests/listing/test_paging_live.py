"""Listings of services that page in any of the usual ways, over a real socket."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from pathlib import Path

import pytest
from paging_server import PagingService, pets

from petstore_tools import PetStore, Plan
from petstore_tools.errors import IncompleteListingError, PagingError, ProtocolError, TransportError
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import Columns
from petstore_tools.listing.schemes import SCHEMES
from petstore_tools.models import PetRow
from petstore_tools.service.server import ThreadedServer

EVERY = ("link", *(scheme.name for scheme in SCHEMES), "X-Next-Cursor=cursor")
AMPLE = Plan(1_000_000, 100_000_000)
REFUSED, FAILS = (
    str(11 * 99),
    str(13 * 99),
)  # offsets of the pages 12 and 14: each repeats an animal


@contextmanager
def store_of(service: PagingService, folder: Path, **told: object) -> Iterator[PetStore]:
    server = ThreadedServer(service).start()
    try:
        with PetStore(
            base_url=server.base_url,
            api_key="k",
            plan=AMPLE,
            state_dir=folder,
            progress=False,
            **told,  # type: ignore[arg-type]
        ) as store:
            yield store
    finally:
        server.stop()


@pytest.mark.case("P1")
@pytest.mark.parametrize("speaks", EVERY)
def test_each_way_to_page_two_is_learnt_and_remembered_on_disk(speaks: str, tmp_path: Path) -> None:
    """A store of another process asks at most one request more than there are pages."""
    service = PagingService(pets(1_050), speaks)
    with store_of(service, tmp_path) as store:
        frame = store.list_pets()
        base_url, learning = store.settings.base_url, len(service.asked)
        assert (len(frame), Listing.of(frame).completeness) == (1_050, "complete")
        assert learning <= ceil(1_050 / 100) + (0 if speaks == "link" else 3)

        again = PetStore(
            base_url=base_url, api_key="k", plan=AMPLE, state_dir=tmp_path, progress=False
        )
        frame = again.list_pets()

        assert (len(frame), Listing.of(frame).completeness) == (1_050, "complete")
        assert len(service.asked) - learning <= ceil(1_050 / 100) + (0 if speaks == "link" else 1)
        again.close()


@pytest.mark.case("P4")
@pytest.mark.parametrize("speaks", ["link", "offset", "page", "after"])
def test_a_service_that_clamps_gives_all_rows(speaks: str, tmp_path: Path) -> None:
    """30 a page where 100 were asked for: none skipped."""
    with store_of(PagingService(pets(331), speaks, cap=30), tmp_path) as store:
        frame = store.list_pets()

    assert frame["id"].tolist() == list(range(1, 332))
    assert Listing.of(frame).complete


@pytest.mark.case("P7")
def test_a_page_without_any_animal_of_the_status_is_no_end(tmp_path: Path) -> None:
    """
    Nor where the service ignores the filter: others are left out and counted, and paging goes on.
    """
    service = PagingService(pets(500), "link", filtered=True)
    for row in service.rows[100:400]:
        row["status"] = "available"
    with store_of(service, tmp_path) as store:
        emptied = store.list_pets(status="sold")
        service.filtered = False
        service.ignores_filter = True
        with pytest.warns(UserWarning, match="of another status, which are left out"):
            ignored = store.list_pets(status="sold")

    wanted = [row["id"] for row in service.rows if row["status"] == "sold"]
    assert emptied["id"].tolist() == ignored["id"].tolist() == wanted
    assert Listing.of(ignored).rows == len(wanted)
    assert set(ignored["status"]) == {"sold"}


@pytest.mark.case("P2")
def test_told_how_to_page_it_does_not_try_and_none_never_tries(tmp_path: Path) -> None:
    """`pagination=` saves the trial; `none` ends unproven after one request."""
    service = PagingService(pets(250), "offset")
    with store_of(service, tmp_path / "told", pagination="offset") as store:
        assert len(store.list_pets()) == 250
        assert len(service.asked) == 4
        assert all(set(asked) <= {"limit", "offset"} for asked in service.asked)
    with (
        store_of(service, tmp_path / "never", pagination="none") as store,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        assert Listing.of(store.list_pets()).completeness == "unproven"
    assert len(service.asked) == 5


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


def test_a_bound_on_requests_cuts_and_says_so(tmp_path: Path) -> None:
    """Two pages, and no more asked for."""
    service = PagingService(pets(500))
    with (
        store_of(service, tmp_path) as store,
        pytest.warns(UserWarning, match="the listing was limited to 2 requests"),
    ):
        frame = store.list_pets(max_requests=2)

    assert (len(frame), len(service.asked)) == (200, 2)
    assert Listing.of(frame).completeness == "cut"


@pytest.mark.parametrize("speaks", ["offset", "page"])
@pytest.mark.parametrize("total", [True, False])
def test_a_slow_service_is_asked_side_by_side_and_not_past_its_end(
    speaks: str, total: bool, tmp_path: Path
) -> None:
    """Where the size is told, or known from last time; in order, whole, and not past the end."""
    service = PagingService(pets(2_050), speaks, latency_s=0.02, total=total)
    with store_of(service, tmp_path) as store:
        store.list_pets()
        first_time, service.asked = len(service.asked), []
        frame = store.list_pets()

    assert frame["id"].tolist() == list(range(1, 2_051))
    assert Listing.of(frame).complete
    assert service.most_at_once > 3
    assert first_time <= 21 + 3
    assert len(service.asked) <= 21 + 1


def test_pages_fetched_ahead_that_turn_out_wrong_are_not_believed(tmp_path: Path) -> None:
    """Animals come and go while pages are under way: the listing says so."""
    service = PagingService(pets(2_000), "offset", latency_s=0.02, total=True)
    service.before = lambda number: number == 10 and service.rows.pop(3) and None
    with (
        store_of(service, tmp_path) as store,
        pytest.warns(UserWarning, match="changed while it was read"),
    ):
        frame = store.list_pets()

    assert Listing.of(frame).completeness == "unproven"
    assert Listing.of(frame).may_have_hole


@pytest.mark.case("P10")
@pytest.mark.parametrize("disk", [True, False])
@pytest.mark.parametrize("speaks", EVERY)
def test_an_interrupted_pull_goes_on_where_it_stopped(
    speaks: str, disk: bool, tmp_path: Path
) -> None:
    """
    Pages 1 to 3 are not asked for again, by this store or by another process; the frame says so.
    """
    service = PagingService(pets(680), speaks)
    with store_of(
        service, tmp_path, **({"pagination": speaks} if speaks in EVERY[1:-1] else {})
    ) as store:
        real = store.client.call

        def interrupted(method: str, url: str, **how: object) -> object:
            if len(service.asked) == 4:
                raise KeyboardInterrupt
            return real(method, url, **how)  # type: ignore[arg-type]

        store.client.call = interrupted  # type: ignore[assignment,method-assign]
        with pytest.raises(KeyboardInterrupt):
            store.list_pets()
        store.client.call = real  # type: ignore[method-assign]
        assert store.last_partial is not None
        before = len(store.last_partial)
        assert (Listing.of(store.last_partial).completeness, before >= 300) == ("cut", True)

        service.asked = []
        if disk:
            store.checkpoints._memory.clear()
        with pytest.warns(UserWarning, match="went on after a pause"):
            frame = store.list_pets()

        assert frame["id"].tolist() == list(range(1, 681))
        assert Listing.of(frame).complete
        assert len(service.asked) <= ceil((680 - before) / 100) + 2
        assert Listing.of(frame).requests >= 7
        assert store.last_partial is None
        service.asked = []
        store.list_pets()
        assert len(service.asked) >= 7


@pytest.mark.case("P10")
@pytest.mark.parametrize("speaks", ["link", "offset", "page", "after"])
def test_ctrl_c_between_a_page_and_its_columns_loses_no_row(
    speaks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the pager has and the frame has not would be missing for good: then it begins anew."""
    told = {} if speaks == "link" else {"pagination": speaks}
    with store_of(PagingService(pets(450), speaks), tmp_path, **told) as store:
        add, calls = Columns.add, iter(range(9))

        def interrupted(self: Columns, rows: list[PetRow]) -> None:
            if next(calls) == 2:
                raise KeyboardInterrupt
            add(self, rows)

        monkeypatch.setattr(Columns, "add", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.list_pets()
        assert store.last_partial is not None
        assert Listing.of(store.last_partial).rows == len(store.last_partial)
        monkeypatch.setattr(Columns, "add", add)
        frame = store.list_pets()

    assert frame["id"].tolist() == list(range(1, 451))
    assert Listing.of(frame).complete


@pytest.mark.parametrize("speaks", ["link", "offset"])
def test_a_service_that_no_longer_goes_on_there_is_read_anew(speaks: str, tmp_path: Path) -> None:
    """A token that has expired, or an inventory that moved at the joint."""
    service = PagingService(pets(500), speaks)
    with store_of(
        service, tmp_path, **({} if speaks == "link" else {"pagination": speaks})
    ) as store:
        real = store.client.call

        def lost(method: str, url: str, **how: object) -> object:
            if len(service.asked) == 3:
                raise TransportError("gone")
            return real(method, url, **how)  # type: ignore[arg-type]

        store.client.call = lost  # type: ignore[assignment,method-assign]
        with pytest.raises(TransportError):
            store.list_pets()
        store.client.call = real  # type: ignore[method-assign]
        del service.rows[0]
        service.refuses = 1 if speaks == "link" else 0

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            frame = store.list_pets()

    assert frame["id"].tolist() == list(range(2, 501))


@pytest.mark.case("P2")
def test_a_listing_that_contradicts_itself_is_not_gone_on_with(tmp_path: Path) -> None:
    """A named error each time, from the first page on."""
    service = PagingService(pets(300), "page", repeats_last=True)
    with store_of(service, tmp_path) as store:
        for _ in range(2):
            service.asked = []
            with pytest.raises(PagingError, match="no new animal"):
                store.list_pets()
            assert "page" not in service.asked[0]


@pytest.mark.case("P10")
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for another process")
def test_ctrl_c_leaves_within_a_second_while_pages_are_under_way(tmp_path: Path) -> None:
    """Also where eight of them are fetched side by side by a service that takes its time."""
    service = PagingService(pets(20_000), "offset", latency_s=0.2, total=True)
    server = ThreadedServer(service).start()
    code = f"""
        import pandas  # which takes as long as the machine is busy
        from petstore_tools import PetStore, Plan
        told = dict(pagination="offset", state_dir={str(tmp_path)!r}, progress=False)
        store = PetStore(base_url={server.base_url!r}, api_key="k", plan=Plan(100000, 1000000), **told)
        try:
            store.list_pets()
        except KeyboardInterrupt:
            print(len(store.last_partial), store.last_partial.attrs["listing"]["reason"], flush=True)
    """
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True
    )
    try:
        while len(service.asked) < 30:
            assert child.poll() is None
            time.sleep(0.01)
        child.send_signal(signal.SIGINT)
        began_at = time.monotonic()
        said, _ = child.communicate(timeout=5)
        took_s = time.monotonic() - began_at
    finally:
        child.kill()
        server.stop()

    assert child.returncode == 0
    assert said.endswith("interrupted\n")
    assert int(said.split()[0]) >= 100
    assert took_s < 2  # a second, and the interpreter's own end


def test_the_end_of_a_listing_ends_what_is_fetched_ahead(tmp_path: Path) -> None:
    """Page 12 is a redirect while page 14 waits for another try: nothing more is sent."""
    service = PagingService(pets(5_000), "offset", total=True)
    answer = service.answer

    def refusing(query: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        if query.get("offset") == REFUSED:
            return 302, {"Location": "https://elsewhere.example/v1"}, b""
        return (503, {"Retry-After": "1"}, b"") if query.get("offset") == FAILS else answer(query)

    def wait_longer(_: int) -> None:
        service.latency_s = 0.4 if service.asked[-1].get("offset") == REFUSED else 0.02

    service.answer, service.before = refusing, wait_longer  # type: ignore[method-assign]
    with store_of(service, tmp_path, pagination="offset") as store:
        with pytest.raises(ProtocolError, match="elsewhere"):
            store.list_pets()
        asked = [query.get("offset") for query in service.asked]
        time.sleep(2.5)

    assert asked.count(FAILS) == 1
    assert len(service.asked) == len(asked)
