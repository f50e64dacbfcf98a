"""Imports that the plan or the service slows down: 429, bans, and days that end."""

from __future__ import annotations

from pathlib import Path

import pytest
from inventories import ROWS, existing, expected, on_plan, through
from proxy import FaultProxy, reply

from petstore_tools import Sandbox
from petstore_tools.plans import Plan
from petstore_tools.sandbox import samples


@pytest.mark.case("P39")
def test_a_429_never_marks_a_row_failed(fast: Sandbox, file: Path) -> None:
    """Every seventh request is refused: it waits, goes again, and every row is created once."""
    refusal = reply(429, Retry_After="1")
    with FaultProxy(fast.base_url, lambda method, n: refusal if n % 7 == 0 else "pass") as proxy:
        result = through(fast, proxy).import_pets(file)

    assert (result.created, result.rejected, result.unknown) == (ROWS, 0, 0)
    assert existing(fast) == expected()


@pytest.mark.case("P29")
def test_a_ban_stops_an_import_with_its_time(fast: Sandbox, file: Path) -> None:
    """The fifth request learns of it: no further one leaves, and the result says when to go on."""
    ban = reply(429, b'{"code":"key_banned","message":"no","status":429}', Retry_After="900")
    with FaultProxy(fast.base_url, lambda method, n: ban if n >= 5 else "pass") as proxy:
        result = on_plan(through(fast, proxy), Plan(60, 100_000)).import_pets(file, wait=True)

    assert result.stopped is not None
    assert (result.stopped.kind, result.created, result.unsent) == ("banned", 4, ROWS - 4)
    assert proxy.counts["POST"] == 5
    assert result.resumes_at is not None


@pytest.mark.case("P27")
def test_an_import_stops_at_the_days_quota_and_goes_on_the_next_day(file: Path) -> None:
    """It sleeps through no night: it says when, and the same call goes on."""
    with Sandbox(plan="30/40", animals=0) as box:
        started = box.clock.now()
        first = box.store.import_pets(file)
        assert first.stopped is not None
        assert (first.stopped.kind, first.created, first.unsent) == ("quota", 35, 25)
        assert box.clock.now() - started < 180
        assert first.resumes_at == started // 86_400 * 86_400 + 86_401

        box.advance(hours=24)
        second = box.store.import_pets(file)

        assert (second.created, second.created_now, second.complete) == (60, 25, True)
        assert existing(box) == expected()


def test_a_two_day_import_on_the_free_plan_runs_without_a_429(tmp_path: Path) -> None:
    """2,000 rows, real HTTP, real journal; the clock goes on by itself when all wait."""
    path = tmp_path / "many.csv"
    path.write_text(samples.animals_csv(2_000), encoding="utf-8")
    with Sandbox(plan="free", animals=0) as box:
        started = box.clock.now()
        result = box.store.import_pets(path, wait=True)

        assert (result.complete, result.requests) == (True, 2_001)
        assert box.clock.now() - started == pytest.approx(39 * 3_600, abs=120)
        assert existing(box) == expected(2_000)
        assert box.store.client.ledger.update(lambda budget: budget.refused_at) == 0.0
