"""The gate between callers and the ledger."""

import re
import threading
import time
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from wires import BASE, KEY, NO_MORE, PET, T0

from petstore_tools import PetStore, Sandbox
from petstore_tools.clock import ManualClock
from petstore_tools.errors import (
    ApiError,
    KeyBannedError,
    LedgerError,
    QuotaError,
)
from petstore_tools.plans import Plan
from petstore_tools.throttle.gate import CallOptions, Gate
from petstore_tools.throttle.ledger import SqliteLedger

SAID = {
    "X-RateLimit-Limit": "60",
    "X-RateLimit-Remaining": "59",
    "X-RateLimit-Reset": f"{T0 + 60:.0f}",
}


def gate_on(ledger, clock, max_wait_s=0.0):
    """Return a client of a budget, on plan Free."""
    return Gate(ledger, Plan(60, 1_000), clock, max_wait_s=max_wait_s)


@pytest.fixture
def gates(tmp_path):
    """Two clients of one key, whose probe has come back with ample room."""
    ledger = SqliteLedger(tmp_path / "budget.db", "key")
    clock = ManualClock(T0)
    one, two = (gate_on(ledger, clock) for _ in range(2))
    one.record_reply(one.acquire(), 200, SAID, "")
    return one, two


def in_flight(gate):
    return len(gate.read_budget().budget.in_flight)


def test_a_ledger_that_fails_at_an_answer_keeps_the_request_spent(tmp_path):
    """
    The answer is not lost to the caller, and the request counts as in flight until it
    is given up.
    """
    there = tmp_path / "elsewhere" / "budget.db"
    path = tmp_path / "state" / "budget.db"
    clock = ManualClock(T0)
    gate = gate_on(SqliteLedger(path, "key"), clock)
    go = gate.acquire()
    path.parent.rename(there.parent)

    gate.record_reply(go, 200, {}, "")

    with pytest.raises(LedgerError, match="it was removed"):
        gate.acquire()
    other = gate_on(SqliteLedger(there, "key"), clock)
    assert in_flight(other) == 1
    other.close()
    gate.close()


def test_an_answer_may_be_recorded_with_the_next_question(gates):
    """
    Where the caller says that one follows; else everybody who shares the budget sees
    it.
    """
    one, two = gates

    for _ in range(2):
        one.record_reply(one.acquire(), 200, {}, "", more_follow=True)
        assert in_flight(two) == 1
    one.flush()
    assert in_flight(two) == 0
    one.record_reply(one.acquire(CallOptions(bulk=True)), 200, {}, "")
    assert in_flight(two) == 0
    assert two.read_budget().window_quota("minute", T0).left == 56


@pytest.mark.parametrize("status", [429, 503])
def test_a_refusal_is_recorded_at_once_though_more_follow(gates, status):
    """Everybody has to know."""
    one, two = gates

    one.record_reply(one.acquire(), status, {"Retry-After": "30"}, "", more_follow=True)

    with pytest.raises(QuotaError):
        two.acquire()


@pytest.mark.parametrize(
    ("took_s", "lease_s"), [(0.2, 4), (4, 12), (62, 60), (600, 60), (28_800, 60)]
)
def test_a_lost_probe_silences_nobody_for_longer_than_a_minute(
    tmp_path, took_s, lease_s
):
    """
    It is given up after three times what answers take: its process may have slept for
    hours, and been killed. Who waits is told of the whole wait, and asks ever more
    rarely.
    """
    ledger = SqliteLedger(tmp_path / "budget.db", "key")
    clock = ManualClock(T0)
    killed, hasty, patient = (
        gate_on(ledger, clock, max_wait_s) for max_wait_s in (0, lease_s - 1, lease_s)
    )
    go = killed.acquire()
    clock.advance(took_s)
    killed.record_reply(go, 200, SAID, "")
    clock.advance(70)
    sent_at = clock.now()
    assert killed.acquire().probe  # no answer comes

    waits = []
    with pytest.raises(QuotaError) as raised:
        hasty.acquire()
    assert patient.acquire(CallOptions(on_wait=waits.append)).probe

    assert raised.value.resumes_at == clock.now() == sent_at + lease_s
    assert len(waits) < 40


def test_who_waits_for_the_probe_of_another_process_asks_soon_for_its_answer(tmp_path):
    """Nobody wakes it: its clock is its own."""
    ledger = SqliteLedger(tmp_path / "budget.db", "key")
    clock = ManualClock(T0)
    first = gate_on(ledger, ManualClock(T0), 90)
    second = gate_on(ledger, clock, 90)
    answers = [first.acquire()]

    def answer(_):
        while answers:
            first.record_reply(answers.pop(), 200, SAID, "")

    second.acquire(CallOptions(on_wait=answer))

    assert T0 < clock.now() < T0 + 1


def date(at):
    return format_datetime(datetime.fromtimestamp(at, UTC), usegmt=True)


@pytest.mark.parametrize(
    ("said", "least_s"),
    [
        ("20", 20),
        (date(T0 + 40), 40),
        ("1000000000", 300),
        (date(4_102_444_800), 300),
        ("soon", 0),
    ],
)
def test_a_503_is_asked_again_when_it_said(wire, store, said, least_s):
    """
    Seconds, a date, or at most five minutes; nonsense is a failure like any other,
    under backoff.
    """
    headers = {"Retry-After": said, "Date": date(T0)}
    wire.get(f"{BASE}/pets", status=503, headers=headers)
    wire.get(f"{BASE}/pets", json=[PET], headers=NO_MORE)

    assert len(store.list_pets(wait=True)) == 1

    assert least_s <= store.client.clock.now() - T0 <= least_s + 2


def test_whoever_shares_the_budget_keeps_the_pause(wire, store):
    """
    A create of one process is answered 503: a listing of another waits, and says until
    when.
    """
    wire.post(f"{BASE}/pets", status=503, headers={"Retry-After": "200"})
    wire.get(f"{BASE}/pets", json=[PET], headers=NO_MORE)
    with pytest.raises(ApiError, match="503"):
        store.create_pet("Rex", category_id=3)

    with PetStore.from_settings(store.settings, clock=store.client.clock) as other:
        why = r"the service asked for a pause \(503\)\. Run the same call"
        with pytest.raises(QuotaError, match=why) as caught:
            other.list_pets()
        assert caught.value.resumes_at == pytest.approx(T0 + 200, abs=1)
        assert other.quota().blocked_until == caught.value.resumes_at
        assert len(other.list_pets(wait=True)) == 1

    assert store.client.clock.now() >= T0 + 200


def test_a_clock_set_back_while_a_request_is_blocked_makes_the_wait_no_longer(
    wire, tmp_path, monkeypatch
):
    """By an hour: a Retry-After of 1 s is over in under three by a stopwatch."""
    real = time.time
    back_s = [0.0]
    monkeypatch.setattr(time, "time", lambda: real() - back_s[0])

    def refuse(_):
        threading.Timer(0.5, lambda: back_s.__setitem__(0, 3_600.0)).start()
        return 429, {"Retry-After": "1"}, ""

    wire.add_callback("GET", f"{BASE}/pets/17", callback=refuse)
    wire.get(f"{BASE}/pets/17", json=PET)
    with PetStore(base_url=BASE, api_key=KEY, plan="pro", state_dir=tmp_path) as store:
        began_at = time.monotonic()
        assert store.client.get(17).id == 17
        took_s = time.monotonic() - began_at

    assert back_s == [3_600.0]
    assert 1.5 <= took_s < 3


def refuse(wire, path, code, seconds):
    """Answer 429, with a code."""
    body = {"code": code, "message": "no", "status": 429}
    headers = {"Retry-After": str(seconds)}
    wire.get(f"{BASE}/{path}", json=body, status=429, headers=headers)


@pytest.mark.parametrize("code", ["key_banned", "KeyBanned", "TempBan", "BANNED"])
def test_a_ban_is_named_with_its_time_and_nothing_more_is_sent(wire, store, code):
    """One request learns of it; the next call sends none."""
    refuse(wire, "pets", code, 900)

    for _ in range(2):
        with pytest.raises(KeyBannedError, match="^No request .* banned") as raised:
            store.list_pets(wait=True)

    assert raised.value.retry_at == pytest.approx(T0 + 900, abs=2)
    assert len(wire.calls) == 1


@pytest.mark.parametrize("code", ["bandwidth_exceeded", "rate_limited", ""])
def test_a_429_whose_code_names_no_ban_is_waited_for(wire, store, code):
    """Whatever letters it has."""
    refuse(wire, "pets/17", code, 2)
    wire.get(f"{BASE}/pets/17", json=PET)

    assert store.client.get(17).id == 17


TIME = r"20[0-9-]{8} [0-9:]{8} UTC"


def test_threads_that_wait_for_the_same_moment_log_one_line(log):
    """130 requests of eight threads at 60 a minute meet the end of the minute twice."""
    with Sandbox(plan="60/1000", animals=1) as box:

        def read():
            for _ in range(17):
                box.store.client.call("GET", f"{box.base_url}/pets")

        with box.clock.working():
            threads = [threading.Thread(target=read) for _ in range(8)]
            for thread in threads:
                thread.start()
        for thread in threads:
            thread.join(60)

    assert len(log.messages) == len(set(log.messages)) == 2
    for line in log.messages:
        assert re.fullmatch(
            rf"Waiting until {TIME}: all 60 requests of this minute are used\.", line
        )
