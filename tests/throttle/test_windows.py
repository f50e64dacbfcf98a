"""Window arithmetic."""

import pytest

from petstore_tools.plans import PERIODS, Window
from petstore_tools.throttle.budget import Reading, WindowBudget


@pytest.fixture
def minute() -> WindowBudget:
    return WindowBudget(PERIODS["minute"])


def test_a_whole_window_holds_its_start_and_not_its_end() -> None:
    """A window of a minute begins at whole minutes."""
    window = Window(60, 60)

    assert (window.start(119.9), window.end(119.9)) == (60, 120)
    assert window.start(120.0) == 120


def test_a_request_counts_a_whole_period_after_its_bucket_ended(minute: WindowBudget) -> None:
    """
    A request counted at 10.2 counts until 71: no period of 60 s can hold it and one sent at 71.
    """
    minute.add(10.2)

    minute.settle(70.999, 70.999)
    assert minute.used == 1
    assert minute.frees_at() == 71

    minute.settle(71, 71)
    assert minute.used == 0


def test_the_window_says_when_enough_requests_stop_counting(minute: WindowBudget) -> None:
    """Three requests at three times: the second leaves with its own bucket."""
    for at in (1.0, 2.0, 3.0):
        minute.add(at)

    assert minute.frees_at(2) == 63
    assert minute.frees_at(4) == float("inf")


def test_counts_from_a_clock_set_back_are_not_lost(minute: WindowBudget) -> None:
    """What lies in the future after a clock was set back counts as of now."""
    minute.add(1_000.0)

    minute.settle(500.0, 500.0)

    assert minute.used == 1
    assert minute.frees_at() == 561


def test_a_day_is_counted_since_midnight_by_buckets_that_end_after_it() -> None:
    """The bucket that ends at midnight belongs to the day before."""
    day = WindowBudget(PERIODS["day"])
    day.add(86_399.0)
    day.add(86_401.0)

    assert day.since(86_400) == 1


def test_who_spent_is_counted_in_the_whole_window_of_the_service(minute: WindowBudget) -> None:
    """The next minute begins with nobody."""
    minute.settle(59.0, 59.0)
    minute.spend("here", 3)

    minute.settle(59.5, 59.5)
    assert minute.spent_by == {"here": 3}

    minute.settle(59.6, 60.1)
    assert minute.spent_by == {}


@pytest.mark.case("P19")
@pytest.mark.parametrize(
    ("ceiling", "expected"), [(None, (300, 250)), (300, (300, 250)), (60, (60, 10))]
)
def test_a_reading_above_the_plan_is_lowered_to_it(
    ceiling: int | None, expected: tuple[int, int]
) -> None:
    """50 of 300 are used, so 10 of the plan's 60 are left."""
    assert Reading(300, 250, 0.0, 1).under(ceiling) == expected
