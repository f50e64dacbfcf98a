"""Whose turn it is: people before bulk runs, and whoever has waited longest."""

import itertools

import pytest

from petstore_tools.plans import Plan
from petstore_tools.throttle.budget import Budget
from petstore_tools.throttle.rate_headers import Answer
from petstore_tools.throttle.throttle import Decision, Go, Requester, Throttle, Wait

T0 = 1_800_000_000.0
BULK = Requester("bulk", bulk=True)


def go(decision: Decision) -> str:
    assert isinstance(decision, Go), decision
    return decision.token


def test_a_bulk_run_leaves_a_tenth_of_the_minute_while_people_ask() -> None:
    """A person in another process finds room; nobody there, and the run takes all."""
    throttle = Throttle(Plan(60, 1_000), Budget())
    throttle.answered(go(throttle.ask(T0, BULK)), T0, Answer(200, 60, 6, T0 + 60, date=T0))
    assert isinstance(throttle.ask(T0, BULK), Go)

    throttle.ask(T0, Requester("a person"))
    decision = throttle.ask(T0, BULK)

    assert isinstance(decision, Wait)
    assert isinstance(throttle.ask(T0, Requester("a person")), Go)


def test_a_bulk_run_leaves_its_reserve_of_the_day() -> None:
    """The last 20 of the day are for others."""
    throttle = Throttle(Plan(1_000, 30), Budget())
    granted = 0
    while isinstance(
        decision := throttle.ask(T0 + granted, Requester(bulk=True, reserve_per_day=20)), Go
    ):
        throttle.answered(decision.token, T0 + granted, Answer(200))
        granted += 1

    assert granted == 10
    assert isinstance(throttle.ask(T0 + 11, Requester("a person")), Go)


def served(throttle: Throttle, names: list[str], now: float) -> list[str]:
    """Let processes ask in this order until the window is used, as greedily as they can."""
    granted = []
    while True:
        before = len(granted)
        for name in names:
            while isinstance(decision := throttle.ask(now, Requester(name, bulk=True)), Go):
                throttle.answered(decision.token, now, Answer(200))
                granted.append(name)
        if len(granted) == before:
            return granted


@pytest.mark.case("P21")
def test_none_of_six_processes_starves_beside_a_greedy_one() -> None:
    """
    Four a minute, and the first always asks first: each is served within two windows, all the
    while.
    """
    throttle = Throttle(Plan(4, 1_000), Budget(needs_probe=False))
    names = [f"process {n}" for n in range(6)]
    windows = [served(throttle, names, T0 + 62 * window) for window in range(9)]

    assert windows[0] == ["process 0"] * 4
    assert all(len(window) == 4 for window in windows)
    for one, two in itertools.pairwise(windows[1:]):
        assert set(one + two) == set(names)


def test_a_waiter_that_died_holds_nobody_up() -> None:
    """It should have asked again and did not: two seconds later its turn is gone."""
    throttle = Throttle(Plan(1, 1_000), Budget(needs_probe=False))
    throttle.answered(go(throttle.ask(T0, Requester("a"))), T0, Answer(200))
    dead = throttle.ask(T0, Requester("dead"))
    assert isinstance(dead, Wait)

    assert isinstance(throttle.ask(dead.until, Requester("a")), Wait)
    assert isinstance(throttle.ask(dead.until + 2, Requester("a")), Go)
    assert throttle.budget.waiting == {}


def test_a_person_goes_before_a_bulk_run_that_waits_longer() -> None:
    """One request is free, and a bulk run has waited for it: the person gets it."""
    throttle = Throttle(Plan(1, 1_000), Budget(needs_probe=False))
    throttle.answered(go(throttle.ask(T0, BULK)), T0, Answer(200))
    wait = throttle.ask(T0, BULK)
    assert isinstance(wait, Wait)

    assert isinstance(throttle.ask(wait.until, Requester("a person")), Go)
