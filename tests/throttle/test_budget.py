"""The budget: what counts in a window, and the ledger's time where clocks are set."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from petstore_tools.throttle.budget import (
    CLOCK_STEP_S,
    MOST_CLOCKS,
    Beginning,
    Budget,
    Reading,
    WindowBudget,
)

T0 = 1_800_000_000.0


def test_behind_a_lost_probe_a_window_that_slides_counts_all():
    """
    Two Resets came within a period: only what ended for sure is free, and the probe
    took it.
    """
    minute = WindowBudget(60, beginning=Beginning("possible", T0 + 70, 2))
    for reset in (60, 70):
        minute.record_reading(Reading(5, 0, T0 + reset), grant=1, now=T0)
        minute.count_request(T0 + 10)

    assert minute.count_used(T0 + 71, 0.0)[0] == 0
    assert minute.count_used(T0 + 75, T0 + 71)[0] == 2


@pytest.mark.parametrize(("used", "state"), [(2, "proven"), (3, "possible")])
def test_an_answer_proves_a_reset_where_no_more_was_used_than_was_sent_since(
    used, state
):
    """One request before the Reset, one behind it, and the one that is answered."""
    minute = WindowBudget(60, beginning=Beginning("possible", T0, 1))
    minute.count_request(T0 - 1)
    minute.count_request(T0 + 1)

    minute.record_reading(Reading(5, 5 - used, T0 + 60), grant=3, now=T0 + 5)

    assert minute.beginning.state == state


STEPS = st.lists(
    st.tuples(
        st.floats(0, 900),  # seconds that pass
        # clock set
        st.sampled_from([0.0, 0.0, 3_600.0, -3_600.0, 7_776_000.0, -7_776_000.0]),
        st.sampled_from(["a", "a", "b"]),  # the machine that asks
    ),
    min_size=1,
    max_size=20,
)


@given(STEPS)
@settings(max_examples=100, deadline=None)
def test_the_ledgers_time_passes_as_time_does(steps):
    """
    Whatever step any clock makes, on one machine or two: no block is lifted or
    lengthened.
    """
    budget = Budget()
    real = clock = T0
    for name in "ab":
        began_at = budget.follow_clock(clock, name, real)
    for passed_s, step_s, name in steps:
        real += passed_s
        clock += passed_s + step_s

        now = budget.follow_clock(clock, name, real)

        assert now - began_at == pytest.approx(
            real - T0, abs=(CLOCK_STEP_S + 1) * len(steps)
        )


def test_clocks_that_drift_apart_were_not_set():
    """By a thousandth: after a day, 20 s are no step."""
    budget = Budget()
    budget.follow_clock(T0, "boot", 100.0)

    assert budget.follow_clock(T0 + 86_420, "boot", 86_500.0) == T0 + 86_420


def test_without_a_clock_that_nobody_sets_time_does_not_go_back():
    """After a start of the machine its clock tells nothing of the time before."""
    budget = Budget()
    budget.follow_clock(T0, "one boot", 5_000.0)

    assert budget.follow_clock(T0 - 3_600, "another boot", 7.0) == T0
    assert budget.follow_clock(T0 - 3_590, "another boot", 17.0) == T0 + 10


def test_a_clock_of_the_service_that_was_set_is_followed():
    """Ahead or back; of many machines the clocks of the last ones are kept."""
    budget = Budget()
    for skew in (0, 90, -90):
        budget.learn_skew(T0 + skew, sent_at=T0, now=T0)
        assert budget.skew == skew
    for machine in range(20):
        budget.follow_clock(T0, str(machine), 7.0)

    assert len(budget.clocks) == MOST_CLOCKS
