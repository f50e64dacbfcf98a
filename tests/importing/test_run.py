"""
Imports into a real service: what is lost, garbled, killed, edited and interrupted on
the way.
"""

import json
import signal
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from unicodedata import normalize

import pytest
from commands import needs_signals
from inventories import (
    connect_through,
    faulty_creates,
    stored_animals,
    write_rows,
)
from paging_server import PagingService, open_store
from proxy import FaultProxy, message_body, replace_body
from raw import reply_bytes

from petstore_tools import Listing, PetStore, Sandbox
from petstore_tools.cli import shared
from petstore_tools.errors import Interrupted, JournalError, LedgerError, PetstoreError
from petstore_tools.importing.imports import Target, list_imports
from petstore_tools.importing.journal import read_journal
from petstore_tools.plans import Plan
from petstore_tools.sandbox import samples

SLOW = Plan(60, 100_000)  # one connection is enough, so rows go in order


def outcomes(result):
    """Return the outcomes of the rows, by row."""
    return " ".join(result.frame["outcome"])


def _rows(count):
    """Return so many rows of a file."""
    return [f"Rex {n},3,sold" for n in range(count)]


def _interrupted(_, __):
    """Press Ctrl-C while a request is under way."""
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    return b""


@needs_signals
@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("drop before", 5),
        (reply_bytes(500), 5),
        (reply_bytes(401), 3),
        (reply_bytes(429, Retry_After="80000"), 4),
        (_interrupted, 130),
    ],
    ids=["service down", "service failing", "key refused", "day used up", "Ctrl-C"],
)
def test_a_first_run_that_ends_before_its_first_create_says_why(
    fast, tmp_path, end, code
):
    """Also beside a row with a problem, the list is written; the next run goes on."""
    path = write_rows(tmp_path / "a.csv", "Rex,3,sold", "Mia,cats,sold")
    fate = [end]
    with FaultProxy(fast.base_url, lambda method, number: fate[0]) as proxy:
        store = connect_through(fast, proxy)
        try:
            ended = shared.result_code(store.import_pets(path))
        except (PetstoreError, Interrupted) as error:
            ended = shared.error_code(error)
        files = sorted(path.name for path in tmp_path.glob("a*"))
        fate[0] = "pass"
        fast.advance(days=1)
        result = store.import_pets(path)

    assert (ended, files) == (code, ["a.csv", "a.sandbox.imported.csv"])
    assert outcomes(result) == "created rejected"
    assert result.list_file.name == files[1]


class Stepped:
    """A clock that is stepped forward where the test wants it."""

    def __init__(self, clock):
        self._clock = clock
        self.ahead_s = 0.0

    def __getattr__(self, name):
        return getattr(self._clock, name)

    def now(self):
        return self._clock.now() + self.ahead_s

    def sleep_until(self, deadline):
        self._clock.sleep_until(deadline - self.ahead_s)


def test_a_commit_seen_late_is_not_taken_for_absent(fast, tmp_path):
    """A listing begins 60 s after a row was lost, though a clock is set forward."""
    path = write_rows(tmp_path / "a.csv", "Rex,3,sold")
    clock = Stepped(fast.clock)
    held = []

    def hold(_, request):
        held.append(request)
        return reply_bytes(504)

    with faulty_creates(fast, lambda n: hold if n == 1 else "pass") as proxy:
        settings = connect_through(fast, proxy).settings
        store = PetStore.from_settings(settings, clock=clock)

        def step_and_commit(progress):
            if progress.wait and held:
                if clock.ahead_s:
                    proxy.ask(held.pop())
                clock.ahead_s = 60.0

        result = store.import_pets(path, progress=step_and_commit)

    assert not held
    assert (result.created, stored_animals(fast)) == (1, {("Rex", 3, "sold"): 1})


def _changing(change):
    """Let a service change each name that it stores."""

    def fate(ask, request):
        pet = json.loads(message_body(request))
        pet["name"] = change(pet["name"])
        return ask(replace_body(request, json.dumps(pet).encode()))

    return fate


@pytest.mark.parametrize(
    "fate",
    [
        _changing(lambda name: normalize("NFC", name)),
        _changing(lambda name: name[:10]),
        lambda ask, request: replace_body(ask(request), b"{}"),
    ],
    ids=["NFC", "cut", "no answer"],
)
def test_a_201_is_final(fast, tmp_path, fate):
    """Whatever the service made of the values; a listing finds the ids."""
    names = "Rex the Second of York|Zoe\u0308|MIA|Rex the Second of Kent|Tom".split("|")
    path = write_rows(tmp_path / "a.csv", *(f"{name},3,sold" for name in names))
    with faulty_creates(fast, lambda _: fate) as proxy:
        store = connect_through(fast, proxy)
        results = [store.import_pets(path) for _ in range(4)]

    assert [result.created for result in results] == [5] * 4
    assert stored_animals(fast).total() == 5
    assert sorted(results[0].frame["id"]) == [1, 2, 3, 4, 5]


def test_four_imports_at_once_with_equal_rows(fast, tmp_path):
    """Each animal is one row's; what becomes doubtful meanwhile is left out."""
    rows = _rows(12)
    paths = [write_rows(tmp_path / f"{n}.csv", *rows) for n in range(4)]
    with faulty_creates(fast, lambda n: "pass" if n % 5 else "drop after") as proxy:

        def send(path):
            return connect_through(fast, proxy).import_pets(path, doubtful="skip")

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(send, paths))
        results = [send(path) for path in paths]

    assert stored_animals(fast) == {(f"Rex {i}", 3, "sold"): 1 for i in range(12)}
    assert sum(result.created for result in results) == 12
    assert sum(result.left_out for result in results) == 36


@pytest.mark.parametrize(("status", "unknown"), [(401, 0), (404, 0), (304, 1)])
def test_a_wrong_key_or_address_stops_after_one_request(fast, file, status, unknown):
    """
    Such an answer is about the request: nothing is called rejected. After a redirect,
    also after one without an address, no one knows whether the row was created.
    """
    with faulty_creates(fast, lambda _: reply_bytes(status)) as proxy:
        with pytest.raises(PetstoreError, match=str(status)) as caught:
            connect_through(fast, proxy).import_pets(file)
        assert proxy.counts["POST"] == 1
    result = caught.value.result
    assert (result.not_sent, result.unknown) == (60 - unknown, unknown)


def test_a_create_that_is_answered_408_after_it_was_done_is_made_once(fast, tmp_path):
    """The row is unknown, and a listing shows its animal."""
    path = write_rows(tmp_path / "a.csv", *_rows(4))

    def finish_late(ask, request):
        ask(request)
        return reply_bytes(408)

    with faulty_creates(fast, lambda n: finish_late if n == 2 else "pass") as proxy:
        store = connect_through(fast, proxy, plan=SLOW)
        first = store.import_pets(path)
        store.import_pets(path)

    assert outcomes(first) == "created created created created"
    assert stored_animals(fast).total() == 4


def test_a_budget_that_fails_ends_the_run_with_its_result(fast, file):
    """What is known is written, and the same call goes on."""

    def remove(progress):
        if progress.created:
            (fast.state_dir / "budget.db").unlink(missing_ok=True)

    with pytest.raises(LedgerError) as caught:
        fast.store.import_pets(file, progress=remove)
    result = caught.value.result

    assert result.list_file
    assert result.created == stored_animals(fast).total()
    assert fast.connect().import_pets(file).created == 60


def test_a_refused_row_is_rejected_and_goes_again_in_the_next_run(fast, tmp_path):
    """The others are not shifted; a 429 marks no row."""
    path = write_rows(tmp_path / "a.csv", *_rows(6))
    answers = {
        1: reply_bytes(400),
        3: reply_bytes(429, Retry_After="1"),
        7: reply_bytes(422),
    }
    with faulty_creates(fast, lambda n: answers.get(n, "pass")) as proxy:
        store = connect_through(fast, proxy, plan=SLOW)
        first = store.import_pets(path)
        second = store.import_pets(path)

    assert outcomes(first) == "rejected created created created created rejected"
    assert (second.created, stored_animals(fast).total()) == (6, 6)


def test_a_preview_counts_the_requests_of_a_listing_by_page_numbers(tmp_path):
    """With those that find the way again, and those for an end."""
    path = write_rows(tmp_path / "a.csv", *_rows(2))
    with open_store(PagingService(250, "page"), tmp_path) as store:
        store.list_pets()
        requests = Listing.of(store.list_pets()).requests

        assert store.preview_import(path).forecast.baseline == requests


@pytest.mark.parametrize("is_created", [False, True], ids=["never", "always"])
def test_a_service_without_usable_answers_is_given_up(fast, tmp_path, is_created):
    """After three listings without one, also where it made every animal."""
    path = write_rows(tmp_path / "a.csv", *_rows(300))

    def broken(ask, request):
        if is_created:
            ask(request)
        return reply_bytes(500)

    with faulty_creates(fast, lambda _: broken) as proxy:
        result = connect_through(fast, proxy, plan=SLOW).import_pets(path)

    assert result.to_dict()["stopped"] == "service"
    assert proxy.counts["GET"] <= 20  # of an empty shop
    assert proxy.counts["POST"] <= 12
    assert stored_animals(fast).total() == result.created + result.unknown * is_created


def test_an_animal_removed_during_a_listing_hides_no_lost_row(fast, tmp_path):
    """One listing with a hole does not call the row absent."""
    fast.add([(f"Old {n}", 1, None) for n in range(150)])
    path = write_rows(tmp_path / "a.csv", "Rex,3,sold")

    def hidden(ask, request):
        answer = ask(request)
        rows = [pet for pet in json.loads(message_body(answer)) if pet["name"] != "Rex"]
        return replace_body(answer, json.dumps(rows).encode())

    def fate(method, number):
        if method == "POST":
            return "drop after" if number == 1 else "pass"
        # both pages of the first one after the loss
        return hidden if number in (3, 4) else "pass"

    with FaultProxy(fast.base_url, fate) as proxy:
        result = connect_through(fast, proxy).import_pets(path)

    assert (result.created, proxy.counts["POST"]) == (1, 1)


def test_a_wait_of_another_import_costs_this_one_nothing(file, tmp_path):
    """One waits for tomorrow, with its lock; another of the place goes on and ends."""
    with Sandbox(plan=Plan(60, 200), animals=0, clock="system") as box:
        waiting = threading.Event()
        store = box.connect(max_wait_s=1.0)
        path = write_rows(tmp_path / "long.csv", *_rows(500))

        def show(progress):
            if progress.wait is not None:
                waiting.set()

        def long():
            with pytest.raises(Exception):  # noqa: B017, PT011 - the sandbox ends before the day
                box.connect().import_pets(path, progress=show, wait=True)

        threading.Thread(target=long, daemon=True).start()
        assert waiting.wait(60)
        settings = box.store.settings
        target = Target(settings.environment, settings.service_id, path)
        with read_journal(box.store.journal_folder, target) as journal:
            # what is known is recorded before a wait
            assert journal.counts()["sending"] == 0
        began = time.monotonic()
        result = store.import_pets(file)

        assert result.to_dict()["stopped"] == "quota"
        assert time.monotonic() - began < 30


def test_the_same_import_twice_at_once_is_refused(fast, file):
    """The second says so; nothing is made twice."""
    second = []

    def show(progress):
        if progress.created and not second:
            with pytest.raises(JournalError, match="running already") as caught:
                fast.connect().import_pets(file)
            second.append(caught.value)

    result = fast.store.import_pets(file, progress=show)

    assert second
    assert (result.created, stored_animals(fast)) == (60, Counter(samples.animals(60)))


def test_a_list_of_imports_counts_the_rejects_that_the_result_counts(fast, tmp_path):
    """
    A total is none; a row that was corrected in the returned list alone still is one.
    """
    path = tmp_path / "a.csv"
    write_rows(path, "Rex,3,sold", ",4,sold", "Total,2,")
    list_file = tmp_path / "a.sandbox.imported.csv"
    counts = []

    for text in ("", "Mia,4,sold", ""):
        if text:
            list_file.write_text(
                list_file.read_text().replace("\n,4,sold", f"\n{text}")
            )
        result = fast.store.import_pets(list_file if text else path)
        infos, _ = list_imports(fast.store.journal_folder)
        states = next(i.states for i in infos if i.target.id == result.journal)
        counts.append((result.rejected, states["rejected"]))

    assert counts == [(1, 1), (0, 0), (1, 1)]
