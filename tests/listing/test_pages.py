"""
`pages()` and `pets()`: iterated twice, left in the middle, after an error, by two
threads; and retries.
"""

import json
import re
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from urllib.parse import parse_qsl, urlsplit

import pytest
import responses
from commands import needs_signals
from paging_server import (
    PagingService,
    open_store,
    page_body,
)
from pandas import DataFrame
from ways import alternatives

from petstore_tools import PetStore, Sandbox
from petstore_tools.errors import (
    ApiError,
    IncompleteListingError,
    Interrupted,
    ProtocolError,
)
from petstore_tools.listing.completeness import Listing, ListQuery
from petstore_tools.sandbox.faults import Fault


def slow_service(count=2_050, way="offset total=listing"):
    """Return a service that is slow enough to be asked for several pages at once."""
    return PagingService(count, way, latency_s=0.02)


REFUSED, FAILS = str(11 * 99), str(13 * 99)  # pages 12 and 14: each repeats an animal


def test_pages_that_were_left_are_read_anew(tmp_path):
    """The listing says that its end was not read."""
    with open_store(slow_service(), tmp_path, pagination="offset") as store:
        pages = store.pages()
        assert len([*islice(pages, 5)]) == 5
        left = pages.listing
        ids = [row["id"] for page in pages for row in page.rows]

    assert left.completeness == "cut"
    assert left.reason == "the listing was not read to its end"
    assert ids == [*range(1, 2_051)]
    assert pages.listing.complete


def test_pages_are_read_anew_after_an_error():
    """
    Each time from the first page on; `listing` is the last one's, with its own
    requests. The reason of the first time names the error.
    """
    garbage = Fault("garbage", method="GET", numbers=(2,))
    with Sandbox(animals=250, faults=[garbage]) as box:
        pages = box.store.pages()
        with pytest.raises(ProtocolError, match="not a list of animals"):
            list(pages)

        assert pages.listing.completeness == "cut"
        assert "not a list of animals" in pages.listing.reason
        assert sum(map(len, pages)) == 250
        text = "Pages(complete: 250 animals of the inventory of sandbox (3 requests"
        assert repr(pages).startswith(text)
        assert box.store.client.sent == 5
        assert repr(next(iter(pages))) == "Page(100 animals)"


def test_threads_that_iterate_the_same_pages_read_the_whole_each():
    """Also where none of them was first."""
    with (
        Sandbox(animals=500, plan="100000/1000000", clock="system") as box,
        ThreadPoolExecutor(8) as pool,
    ):
        pages = box.store.pages()
        counts = list(pool.map(lambda _: sum(map(len, pages)), range(8)))

    assert counts == [500] * 8


def test_an_error_is_retried_and_one_on_every_try_of_a_page_ends_the_listing():
    """
    The second page comes at its second try; five tries of the third; the part is kept.
    """
    faults = [Fault("error_before", method="GET", numbers=(2, 4, 5, 6, 7, 8, 10))]
    with Sandbox(animals=500, plan="100000/1000000", faults=faults) as box:
        with pytest.raises(ApiError, match="500 internal_error"):
            box.store.list_pets()
        part = Listing.of(box.store.last_partial)
        whole = Listing.of(box.store.list_pets())

        assert (part.rows, part.completeness, part.requests) == (200, "cut", 8)
        assert (whole.rows, whole.completeness, whole.requests) == (500, "complete", 6)
        assert box.store.client.sent == 8 + 6


@pytest.mark.parametrize(
    "way", ["link", "page", "page past_end=404", "X-Next-Cursor=cursor"]
)
def test_a_way_is_learnt_and_remembered_on_disk(way, tmp_path):
    """A store of another process need not learn it again."""
    service = PagingService(1_050, way)
    with open_store(service, tmp_path) as store:
        frames = [store.list_pets()]
        cost = len(service.queries)
        with PetStore.from_settings(store.settings) as other:
            frames.append(other.list_pets())

    for listing in map(Listing.of, frames):
        assert (listing.rows, listing.completeness) == (1_050, "complete")
    ends = 3 if "404" in way else 5  # an empty page is no end alone
    assert len(service.queries) - cost <= min(cost, 11 + 1 + ends)


OTHER = "cursor=X-Other:token"


@pytest.mark.filterwarnings("ignore:This listing")
@pytest.mark.parametrize(
    ("way", "rows_by_name"),
    [
        ("X-Token=token", {"cursor=X-Token:token": 250, None: 100, OTHER: 100}),
        ("link", {None: 250, OTHER: 100}),
    ],
)
def test_a_header_that_was_named_proves_nothing_where_it_is_not(
    way, rows_by_name, tmp_path
):
    """
    A token in a header of the service's own is read on to the end; a later listing
    without the name does not know that header; nor are other signs of the service those
    of a header that is named.
    """
    service = PagingService(250, f"{way} everywhere=no")
    with open_store(service, tmp_path) as store:
        for pagination, rows in rows_by_name.items():
            settings = replace(store.settings, pagination=pagination)
            with PetStore.from_settings(settings) as other:
                listing = Listing.of(other.list_pets())

            assert (listing.rows, listing.complete) == (rows, rows == 250)


@pytest.mark.parametrize(
    "way",
    [
        *alternatives(
            "page past_end=204|past_end=404|past_end=416|strict=403|strict=500"
            "|relation=first"
        ),
        "page total=listing estimate=at_most_1000",
        "link host=http://inner:8080",
    ],
)
def test_ordinary_services_are_read_to_their_end(way, tmp_path):
    """Whole, as complete, and a way that is answered by a 5xx is asked for once."""
    latency_s = 0.02 if "estimate" in way else 0.0
    service = PagingService(1_250, way, latency_s=latency_s)
    with open_store(service, tmp_path) as store:
        listing = Listing.of(store.list_pets())

    assert (listing.rows, listing.completeness) == (1_250, "complete")
    assert sum("offset" in query for query in service.queries) <= 1


def test_a_service_that_ignores_the_filter_is_read_and_told(tmp_path):
    """Animals of another status are left out and counted."""
    service = PagingService(500, "link filters=never")
    with (
        open_store(service, tmp_path) as store,
        pytest.warns(UserWarning, match="of another status, which") as warnings,
    ):
        frame = store.status_report(status="sold", partial=True).animals

    assert {warning.filename for warning in warnings} == {__file__}  # who called

    sold_ids = [pet_id for pet_id, status in service.rows if status == "sold"]
    assert frame["id"].tolist() == sold_ids
    assert Listing.of(frame).rows == len(sold_ids)


@pytest.mark.parametrize(("animals", "commits"), [(0, False), (1, False), (0, True)])
@pytest.mark.parametrize(
    "way",
    alternatives(
        "offset|page|page0|after|link past_end=empty|past_end=404|past_end=416"
        "|past_end=422"
    ),
)
def test_a_shop_of_none_or_one_is_complete_and_an_import_there_reconciles(
    way, animals, commits, store
):
    """
    The answer to the first create is lost, and the animal was made or not: a listing of
    none or one shows it.
    """
    service = PagingService(animals, way)
    added = (animals + 1, "sold")
    attempts = []

    def list_page(request):
        query = dict(parse_qsl(urlsplit(str(request.url)).query))
        status, headers, page = service.answer(query)
        return status, headers, page_body(tuple(page))

    def create(request):
        attempts.append(request)
        is_lost = len(attempts) == 1
        if commits or not is_lost:
            service.rows.append(added)
        if is_lost:
            raise ConnectionError
        return 201, {}, page_body((added,))[1:-1]

    frame = DataFrame(json.loads(page_body((added,)))).drop(columns="id")
    with responses.RequestsMock(assert_all_requests_are_fired=False) as wire:
        wire.add_callback("GET", re.compile(".*"), callback=list_page)
        wire.add_callback("POST", re.compile(".*"), callback=create)
        listing = Listing.of(store.list_pets(require="complete"))
        result = store.import_pets(frame, name="animals")

    assert listing.rows == animals
    assert (result.created, result.unknown) == (1, 0)
    assert service.rows[animals:] == [added]


@pytest.mark.filterwarnings("ignore:")
@pytest.mark.parametrize(("animals", "first"), [(250, None), (250, 5), (0, None)])
def test_a_status_that_the_service_writes_otherwise_makes_a_filter_unproven(
    animals, first, tmp_path
):
    """
    `Sold` under `sold` is another status, and left out; but nobody can say that none is
    sold.
    """
    service = PagingService(animals, "offset filters=never")
    service.rows = [(pet_id, "Sold") for pet_id, _ in service.rows]
    with open_store(service, tmp_path) as store:
        listing = Listing.of(store.list_pets(status="sold", first=first))

    assert listing.rows == 0
    assert listing.complete == (animals == 0)
    if animals and first is None:
        assert "the service writes the status 'Sold'" in listing.reason


def test_completeness_can_be_required(tmp_path):
    """It raises in place of warning; what came is kept, labelled."""
    with open_store(PagingService(250, "nothing"), tmp_path) as store:
        with pytest.raises(
            IncompleteListingError, match="listing of 100 animals may be incomplete"
        ) as caught:
            store.list_pets(require="complete")

        assert len(store.last_partial) == 100
    assert caught.value.listing == Listing.of(store.last_partial)


@pytest.mark.parametrize(
    "way", ["offset", "page", "offset total=listing", "page total=listing"]
)
def test_a_slow_service_is_asked_side_by_side_and_not_past_its_end(way, tmp_path):
    """
    Where the size is told, or known from last time; in order, whole, and not past the
    end.
    """
    service = slow_service(way=way)
    with open_store(service, tmp_path) as store:
        store.list_pets()
        first_time = len(service.queries)
        service.queries = []
        frame = store.list_pets()

    assert frame["id"].tolist() == list(range(1, 2_051))
    assert Listing.of(frame).complete
    assert service.max_concurrency > 3
    assert first_time <= 21 + 11
    assert len(service.queries) <= 21 + 6


def test_pages_fetched_ahead_that_turn_out_wrong_are_not_believed(tmp_path):
    """Animals come and go while pages are under way: the listing says so."""
    service = slow_service(2_000)
    service.change = lambda _: len(service.queries) == 10 and service.rows.pop(3)
    with (
        open_store(service, tmp_path) as store,
        pytest.warns(UserWarning, match="changed while it was read"),
    ):
        listing = Listing.of(store.list_pets())

    assert listing.completeness == "unproven"
    assert listing.may_have_hole


def test_what_a_page_that_is_fetched_ahead_waits_for_is_shown(tmp_path):
    """From the caller's thread, and no longer than it waits."""
    service = slow_service()
    answer = service.answer
    refusals = [(429, {"Retry-After": "1"}, [])]

    def refusing(query):
        is_late = int(query.get("offset", 0)) > 1_000
        return refusals.pop() if is_late and refusals else answer(query)

    service.answer = refusing
    calls = []

    def show(read, total, wait):
        assert threading.current_thread() is threading.main_thread()
        calls.append((read, total, wait.reason if wait else ""))

    with open_store(service, tmp_path) as store:
        store.inventory.list_pets(ListQuery(), wait=False, show=show)

    assert any("the service answered 429" in reason for _, _, reason in calls)
    assert calls[-1] == (2_050, 2_050, "")


def test_a_wait_for_the_plan_is_shown_on_a_bar(capsys):
    """Until when and why, beside the animals so far."""
    with Sandbox(plan="4/1000", animals=500) as box:
        box.store.progress = True
        box.store.list_pets()

    printed = capsys.readouterr().err
    assert re.search(
        r"400/.*, waits until 20.* UTC: all 4 requests of this minute are used", printed
    )


@needs_signals
@pytest.mark.parametrize("way", ["link", "offset total=listing"])
def test_an_interrupted_listing_keeps_what_came(way, tmp_path):
    """
    Ctrl-C, also while eight pages are fetched side by side by a service that takes its
    time: those that came, labelled; the next call begins anew.
    """
    service = PagingService(2_000, way, latency_s=0.05)
    main = threading.get_ident()

    def interrupt(_):
        if len(service.queries) == 12:
            signal.pthread_kill(main, signal.SIGINT)

    service.change = interrupt
    with open_store(service, tmp_path) as store:
        with pytest.raises(Interrupted, match="listing was interrupted") as raised:
            store.list_pets()
        part = Listing.of(store.last_partial)
        assert (part.completeness, part.reason) == ("cut", "it was interrupted")
        assert 100 <= part.rows < 2_000
        assert f"last_partial has {part.rows:,} animals" in str(raised.value)
        assert len(store.list_pets()) == 2_000
        assert store.last_partial is None


def test_the_end_of_a_listing_ends_what_is_fetched_ahead(tmp_path):
    """
    Page 12 is a redirect while page 14 waits for another try: nothing more is sent, and
    no thread that fetched ahead stays behind.
    """
    service = PagingService(5_000, "offset total=listing")
    answer = service.answer

    def refusing(query):
        failures = {
            REFUSED: (302, {"Location": "https://elsewhere.example/v1"}, []),
            FAILS: (503, {"Retry-After": "1"}, []),
        }
        return failures.get(query.get("offset")) or answer(query)

    def wait_longer(_):
        is_refused = service.queries[-1].get("offset") == REFUSED
        service.latency_s = 0.4 if is_refused else 0.02

    service.answer, service.change = refusing, wait_longer
    with open_store(service, tmp_path, pagination="offset") as store:
        with pytest.raises(ProtocolError, match="elsewhere"):
            store.list_pets()
        for thread in threading.enumerate():
            if thread.name == "page":
                thread.join(60)
                assert not thread.is_alive()

    assert [query.get("offset") for query in service.queries].count(FAILS) == 1
