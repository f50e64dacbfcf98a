"""The gate between callers and the ledger."""

from pathlib import Path

import pytest

from petstore_tools.clock import ManualClock
from petstore_tools.errors import LedgerError, QuotaError
from petstore_tools.plans import Plan
from petstore_tools.throttle.gate import CallOptions, Gate
from petstore_tools.throttle.ledger import MemoryLedger, SqliteLedger
from petstore_tools.throttle.throttle import Wait

T0 = 1_800_000_000.0
SAID = {
    "X-RateLimit-Limit": "60",
    "X-RateLimit-Remaining": "59",
    "X-RateLimit-Reset": f"{T0 + 60:.0f}",
}


@pytest.fixture
def gates() -> tuple[Gate, Gate]:
    """Two clients of one key, whose probe has come back with ample room."""
    ledger = MemoryLedger()
    clock = ManualClock(T0)
    one, two = (Gate(ledger, Plan(60, 1_000), clock, max_wait_s=0.0) for _ in range(2))
    one.record_reply(one.acquire(), 200, SAID, "")
    return one, two


def in_flight(gate: Gate) -> int:
    return len(gate.read_budget().in_flight)


def test_a_ledger_that_fails_at_an_answer_keeps_the_request_spent(
    tmp_path: Path,
) -> None:
    """
    The answer is not lost to the caller, and the request counts as in flight until it
    is given up.
    """
    there = tmp_path / "elsewhere" / "budget.db"
    path = tmp_path / "state" / "budget.db"
    clock = ManualClock(T0)
    gate = Gate(SqliteLedger(path, "key"), Plan(60, 1_000), clock, max_wait_s=0.0)
    go = gate.acquire()
    path.parent.rename(there.parent)

    gate.record_reply(go, 200, {}, "")

    with pytest.raises(LedgerError, match="it was removed"):
        gate.acquire()
    other = Gate(SqliteLedger(there, "key"), Plan(60, 1_000), clock, max_wait_s=0.0)
    assert in_flight(other) == 1
    other.close()
    gate.close()


def test_an_answer_may_be_recorded_with_the_next_question(
    gates: tuple[Gate, Gate],
) -> None:
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


@pytest.mark.case("P14")
@pytest.mark.parametrize("status", [429, 503])
def test_a_refusal_is_recorded_at_once_though_more_follow(
    gates: tuple[Gate, Gate], status: int
) -> None:
    """Everybody has to know."""
    one, two = gates

    one.record_reply(one.acquire(), status, {"Retry-After": "30"}, "", more_follow=True)

    with pytest.raises(QuotaError):
        two.acquire()


@pytest.mark.case("P94")
@pytest.mark.parametrize(
    ("took_s", "lease_s"), [(0.2, 4), (4, 12), (62, 60), (600, 60), (28_800, 60)]
)
def test_a_lost_probe_silences_nobody_for_longer_than_a_minute(
    took_s: float, lease_s: float
) -> None:
    """
    It is given up after three times what answers take: its process may have slept for
    hours, and been killed. Who waits is told of the whole wait, and asks ever more
    rarely.
    """
    ledger = MemoryLedger()
    clock = ManualClock(T0)
    killed, hasty, patient = (
        Gate(ledger, Plan(60, 1_000), clock, max_wait_s=max_wait_s)
        for max_wait_s in (0, lease_s - 1, lease_s)
    )
    go = killed.acquire()
    clock.advance(took_s)
    killed.record_reply(go, 200, SAID, "")
    clock.advance(70)
    sent_at = clock.now()
    assert killed.acquire().probe  # no answer comes

    waits: list[Wait | None] = []
    with pytest.raises(QuotaError) as raised:
        hasty.acquire()
    assert patient.acquire(CallOptions(on_wait=waits.append)).probe

    assert raised.value.resumes_at == clock.now() == sent_at + lease_s
    assert len(waits) < 40


def test_who_waits_for_the_probe_of_another_process_asks_soon_for_its_answer() -> None:
    """Nobody wakes it: its clock is its own."""
    ledger = MemoryLedger()
    clock = ManualClock(T0)
    first = Gate(ledger, Plan(60, 1_000), ManualClock(T0), max_wait_s=90)
    second = Gate(ledger, Plan(60, 1_000), clock, max_wait_s=90)
    answers = [first.acquire()]

    def answer(_: object) -> None:
        while answers:
            first.record_reply(answers.pop(), 200, SAID, "")

    second.acquire(CallOptions(on_wait=answer))

    assert T0 < clock.now() < T0 + 1
