"""A clock that is set back under a block, a ban or a lease."""

from __future__ import annotations

import pytest

from petstore_tools.plans import Plan
from petstore_tools.throttle.budget import Budget
from petstore_tools.throttle.gate import CallCancelled, CallOptions, Gate
from petstore_tools.throttle.ledger import MemoryLedger
from petstore_tools.throttle.rate_headers import Answer
from petstore_tools.throttle.throttle import Decision, Go, Stop, Throttle, Wait

T0 = 1_800_000_000.0
FREE = Plan(60, 1_000, "free")
HOUR = 3_600.0


def go(decision: Decision) -> str:
    assert isinstance(decision, Go), decision
    return decision.token


def refused(status: int, retry_after_s: float, *, banned: bool = False) -> Throttle:
    """Return a throttle whose first request was answered so at T0."""
    throttle = Throttle(FREE, Budget())
    token = go(throttle.ask(T0))
    throttle.answered(
        token, T0, Answer(status, retry_after_s=retry_after_s, banned=banned, date=T0)
    )
    return throttle


@pytest.mark.case("P17")
@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("back_s", [2.0, 30.0, HOUR, 90 * 86_400.0])
def test_a_block_lasts_no_longer_though_the_clock_is_set_back(status: int, back_s: float) -> None:
    """Three of its five seconds are over when the clock is set back: two are left."""
    throttle = refused(status, 5.0)
    assert isinstance(throttle.ask(T0 + 3), Wait)

    decision = throttle.ask(T0 + 3 - back_s)

    assert isinstance(decision, Wait)
    assert decision.until == pytest.approx(T0 + 5.5 - back_s)
    assert isinstance(throttle.ask(T0 + 5.5 - back_s), Go)


@pytest.mark.case("P17", "P29")
def test_a_ban_lasts_no_longer_though_the_clock_is_set_back() -> None:
    """15 minutes stay 15, and are counted once."""
    throttle = refused(429, 900.0, banned=True)

    for asked_s in (0, 300, 600, 899):
        decision = throttle.ask(T0 + asked_s - HOUR)
        assert isinstance(decision, Stop)
        assert decision.resumes_at == pytest.approx(T0 + 900.5 - HOUR)

    assert isinstance(throttle.ask(T0 + 901 - HOUR), Go)


@pytest.mark.case("P17", "P29")
@pytest.mark.parametrize(("uptime_s", "left_s"), [(700.0, 300.0), (650.0, 350.0), (20.0, 900.0)])
def test_time_in_which_nobody_asked_counts_by_a_steady_clock(
    uptime_s: float, left_s: float
) -> None:
    """
    Of 900 s, 600 are over when it is first seen; a machine that slept or was restarted knows of
    less.
    """
    budget = Budget(blocked_until=T0 + 900)
    budget.follow(T0, ("desk", 100.0))

    budget.follow(T0 + 600 - HOUR, ("desk", uptime_s))

    assert budget.blocked_until == pytest.approx(T0 + 600 - HOUR + left_s)


@pytest.mark.case("P17")
def test_the_steady_clock_of_another_machine_tells_nothing() -> None:
    """It has run for a year; none of the 900 s is over for certain."""
    budget = Budget(blocked_until=T0 + 900)
    budget.follow(T0, ("desk", 100.0))

    budget.follow(T0 + 1 - HOUR, ("server", 31_536_000.0))

    assert budget.blocked_until == pytest.approx(T0 + 901 - HOUR)


@pytest.mark.case("P17")
def test_a_clock_that_jumps_ahead_moves_nothing() -> None:
    """A machine that slept looks the same: the times stay what they were."""
    budget = Budget(blocked_until=T0 + 900)
    budget.follow(T0, ("desk", 100.0))

    budget.follow(T0 + HOUR, ("desk", 101.0))

    assert budget.blocked_until == T0 + 900


@pytest.mark.case("P17")
def test_a_clock_that_was_ahead_and_is_put_right_holds_nobody_up() -> None:
    """It jumps an hour ahead, a block begins, it is put right: the block ends as it was told."""
    throttle = Throttle(FREE, Budget())
    throttle.answered(go(throttle.ask(T0)), T0, Answer(200, date=T0))
    token = go(throttle.ask(T0 + HOUR))
    throttle.answered(token, T0 + HOUR, Answer(429, retry_after_s=20.0, date=T0))

    assert isinstance(throttle.ask(T0 + 1), Wait)
    assert isinstance(throttle.ask(T0 + 22), Go)


@pytest.mark.case("P17", "P22")
def test_a_lease_lasts_no_longer_though_the_clock_is_set_back() -> None:
    """
    Who probes has died: another goes after five seconds by any clock, and its request is given up.
    """
    throttle = Throttle(FREE, Budget())
    dead = go(throttle.ask(T0))

    assert isinstance(throttle.ask(T0 - HOUR), Wait)
    assert isinstance(throttle.ask(T0 - HOUR + 5), Go)
    throttle.settle(T0 - HOUR + 60)
    assert dead not in throttle.budget.in_flight
    assert len(throttle.budget.in_flight) == 1


@pytest.mark.case("P17")
def test_an_answer_that_comes_after_the_clock_was_set_back_is_read_by_the_new_clock() -> None:
    """It left before: the block is counted from the answer, and the skew is known at once."""
    throttle = Throttle(FREE, Budget())
    throttle.answered(go(throttle.ask(T0)), T0, Answer(200, date=T0))
    token = go(throttle.ask(T0))

    throttle.answered(token, T0 - HOUR + 1, Answer(429, retry_after_s=30.0, date=T0 + 1))

    decision = throttle.ask(T0 - HOUR + 1)
    assert isinstance(decision, Wait)
    assert decision.until == pytest.approx(T0 - HOUR + 31.5)
    assert throttle.budget.service_time(T0 - HOUR) == pytest.approx(T0, abs=2)


class Jumping:
    """A clock that is set back an hour when somebody sleeps."""

    def __init__(self) -> None:
        self.shown, self.slept = T0, 0.0

    def now(self) -> float:
        return self.shown

    def sleep_until(self, at: float) -> None:
        self.slept += 0.5
        self.shown += 0.5 if self.slept != 0.5 else 0.5 - HOUR

    def poke(self) -> None: ...


def test_a_backoff_ends_early_rather_than_an_hour_late() -> None:
    """The pause between two attempts of a request."""
    clock = Jumping()
    gate = Gate(MemoryLedger(), FREE, clock, max_wait_s=90)  # type: ignore[arg-type]

    gate.pause(8.0)

    assert clock.slept <= 8.0


def test_a_withdrawn_pause_ends() -> None:
    """Nobody wants the answer any more."""
    gate = Gate(MemoryLedger(), FREE, Jumping(), max_wait_s=90)  # type: ignore[arg-type]

    with pytest.raises(CallCancelled):
        gate.pause(8.0, CallOptions(cancelled=lambda: True))
