"""
Quotas at the borders of minutes: with one, two and four services never a request over
the plan.
"""

import time
from collections import Counter
from contextlib import ExitStack
from functools import partial

import pytest
from services import NOON, Caller, calling, serve_in_thread, wait_until

from petstore_tools.clock import ManualClock
from petstore_tools.plans import Plan

LIMIT = 25
CALLERS = 12
STEP_S, STEPS = 0.01, 20  # the clock passes a border in so many steps


def cross_borders(url, count, borders):
    """
    Hammer services on one database with one key while their clock passes a border, with
    another key at each.

    Returns:
        For each border, the reset that each accepted response named.
    """
    clock = ManualClock(NOON + 59.9)
    resets_by_border = []
    with ExitStack() as running:
        services = [
            running.enter_context(serve_in_thread(url, clock=clock))
            for _ in range(count)
        ]
        for _ in range(borders):
            _, key = services[0][0].create_key(Plan(LIMIT, 10_000), label="", now=NOON)
            resets = []
            calls = [
                partial(hammer, Caller(caller.base_url, key), resets)
                for _, caller in services
            ]
            with calling(*calls * (CALLERS // count)):
                wait_until(lambda: len(resets) >= LIMIT)  # noqa: B023
                for _ in range(STEPS):
                    time.sleep(0.02)
                    clock.advance(STEP_S)
                wait_until(lambda: len(resets) >= 2 * LIMIT)  # noqa: B023
                time.sleep(0.1)
            resets_by_border.append(resets)
            clock.advance(60 - STEP_S * STEPS)
    return resets_by_border


def hammer(caller, resets):
    answer = caller.get("/pets?limit=1")
    if answer.status_code == 200:
        resets.append(answer.headers["X-RateLimit-Reset"])
    else:
        assert answer.status_code == 429, answer.text


@pytest.mark.parametrize("borders", [1, pytest.param(40, marks=pytest.mark.soak)])
@pytest.mark.parametrize("count", [1, pytest.param(2, marks=pytest.mark.soak), 4])
def test_no_request_over_the_plan_at_borders(postgres, count, borders):
    """And none short of it: both windows are used up exactly."""
    for resets in cross_borders(postgres.database(), count, borders):
        assert list(Counter(resets).values()) == [LIMIT, LIMIT]
