"""The door between callers and the ledger."""

import pytest

from petstore_tools.clock import ManualClock
from petstore_tools.errors import QuotaError
from petstore_tools.plans import Plan
from petstore_tools.throttle.gate import CallOptions, Gate
from petstore_tools.throttle.ledger import MemoryLedger

T0 = 1_800_000_000.0
BUSY = CallOptions(busy=True)


@pytest.fixture
def doors() -> tuple[Gate, Gate]:
    """Two clients of one key, whose scout has come back with ample room."""
    ledger, clock = MemoryLedger(), ManualClock(T0)
    one, two = (Gate(ledger, Plan(60, 1_000), clock, max_wait_s=0.0) for _ in range(2))
    said = {"X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "59", "X-RateLimit-Reset": f"{T0 + 60:.0f}"}
    one.answered(one.enter(), 200, said, "")
    return one, two


def flying(door: Gate) -> int:
    return len(door.room()[1].budget.in_flight)


def test_a_single_request_is_told_at_once(doors: tuple[Gate, Gate]) -> None:
    """Nobody knows whether this caller asks again."""
    one, two = doors

    one.answered(one.enter(), 200, {}, "")

    assert flying(two) == 0


def test_a_busy_caller_tells_with_its_next_question_or_at_its_end(doors: tuple[Gate, Gate]) -> None:
    """Until then its request counts as under way, which is as good as spent."""
    one, two = doors
    one.answered(one.enter(BUSY), 200, {}, "")
    assert flying(two) == 1

    one.enter(BUSY)
    assert flying(two) == 1
    one.tell()
    assert flying(two) == 1  # the second has no answer yet

    assert two.room()[1].room("minute", T0).left == 57


@pytest.mark.case("P14")
def test_a_refusal_is_told_at_once_however_busy_the_caller_is(doors: tuple[Gate, Gate]) -> None:
    """The gate is closed for all before anything else happens."""
    one, two = doors

    one.answered(one.enter(BUSY), 429, {"Retry-After": "30"}, "")

    with pytest.raises(QuotaError, match="refused a request"):
        two.enter()


def test_who_gives_up_keeps_no_turn(doors: tuple[Gate, Gate]) -> None:
    """Its wait would be too long, so it raises an error: the others need not let it go first."""
    one, _ = doors
    one.answered(one.enter(), 429, {"Retry-After": "30"}, "")

    with pytest.raises(QuotaError):
        one.enter()

    assert one.room()[1].budget.waiting == {}
