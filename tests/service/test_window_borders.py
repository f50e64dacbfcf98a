"""
Quotas at the borders of minutes: with one, two and four processes never a request over the plan.
"""

from __future__ import annotations

import threading
import time
from collections import Counter

import pytest
import requests
from postgres import Postgres
from services import NOON, client, until, workers

from petstore_tools.plans import Plan
from petstore_tools.service.database import Database

LIMIT = 25
CALLERS = 12
STEP_S, STEPS = 0.01, 20  # the clock passes a border in so many steps


def over_borders(url: str, count: int, borders: int) -> list[list[str]]:
    """
    Hammer processes with one key while the clock passes a border, with another key at each.

    Returns:
        For each border, the reset that each accepted response named.
    """
    database = Database(url, own_time=False)
    keys = [database.create_key(Plan(LIMIT, 10_000), label="", now=NOON)[1] for _ in range(borders)]
    database.close()
    accepted = [list[str]() for _ in range(borders)]
    with workers(url, count, NOON + 59.9) as (urls, clock):
        for key, seen in zip(keys, accepted, strict=True):
            over = threading.Event()
            callers = [
                threading.Thread(target=hammer, args=(urls[n % count], key, seen, over))
                for n in range(CALLERS)
            ]
            for caller in callers:
                caller.start()
            until(lambda: len(seen) >= LIMIT)  # noqa: B023
            for _ in range(STEPS):
                time.sleep(0.02)
                clock.value += STEP_S
            until(lambda: len(seen) >= 2 * LIMIT)  # noqa: B023
            time.sleep(0.1)
            over.set()
            for caller in callers:
                caller.join()
            clock.value += 60 - STEP_S * STEPS
    return accepted


def hammer(base_url: str, key: str, seen: list[str], over: threading.Event) -> None:
    with client(key) as session:
        while not over.is_set():
            answer: requests.Response = session.get(f"{base_url}/pets?limit=1", timeout=20)
            if answer.status_code == 200:
                seen.append(answer.headers["X-RateLimit-Reset"])
            else:
                assert answer.status_code == 429, answer.text


@pytest.mark.case("P57", "P59")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("borders", [2, pytest.param(40, marks=pytest.mark.soak)])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_no_request_over_the_plan_at_borders(postgres: Postgres, count: int, borders: int) -> None:
    """And none short of it: both windows are used up exactly."""
    for seen in over_borders(postgres.database(), count, borders):
        assert list(Counter(seen).values()) == [LIMIT, LIMIT]
