"""Blocks under a clock that is set as it likes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from petstore_tools.plans import Plan
from petstore_tools.throttle.budget import SET_BACK_S, Budget
from petstore_tools.throttle.rate_headers import Answer
from petstore_tools.throttle.throttle import BLOCK_MARGIN_S, Go, Throttle

BUDGET = TypeAdapter(Budget)
T0 = 1_800_000_000.0
STEPS = st.tuples(st.floats(0.1, 400), st.one_of(st.just(0.0), st.floats(-90_000, 90_000)))


@pytest.mark.case("P17", "P29")
@given(
    told_s=st.floats(0, 900),
    banned=st.booleans(),
    steps=st.lists(STEPS, max_size=12),
    restarts=st.lists(st.booleans(), min_size=13, max_size=13),
)
def test_no_block_lasts_longer_than_told_whatever_the_clock_does(
    told_s: float, banned: bool, steps: list[tuple[float, float]], restarts: list[bool]
) -> None:
    """Time passes, the clock is set to and fro, processes come and go, and at times nobody asks."""
    budget, real, ahead = Budget(), 100.0, T0
    budget.follow(ahead + real, ("desk", real))
    throttle = Throttle(Plan(60, 1_000), budget)
    decision = throttle.ask(ahead + real)
    assert isinstance(decision, Go)
    answer = Answer(429, retry_after_s=told_s, banned=banned)
    throttle.answered(decision.token, ahead + real, answer)
    ends_at = real + told_s + BLOCK_MARGIN_S

    for (passed_s, step_s), restart in zip([*steps, (told_s + 1, 0.0)], restarts, strict=False):
        real, ahead = real + passed_s, ahead + step_s
        if restart:
            budget = BUDGET.validate_json(BUDGET.dump_json(budget))
        budget.follow(ahead + real, ("desk", real))
        latest = ends_at + SET_BACK_S * (len(steps) + 1)
        left_s = budget.blocked_until - (ahead + real)
        assert real + left_s <= latest + 1e-3
