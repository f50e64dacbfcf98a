"""
A ledger database that is far away: few round trips, and threads that wait are served together.
"""

from __future__ import annotations

import copy
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from postgres import Postgres
from pydantic import SecretStr
from tcp_proxy import TcpProxy

from petstore_tools import sqlite
from petstore_tools.clock import SystemClock
from petstore_tools.errors import LedgerError, QuotaError
from petstore_tools.plans import Plan
from petstore_tools.throttle.budget import Budget
from petstore_tools.throttle.gate import Gate
from petstore_tools.throttle.ledger import Ledger, PostgresLedger, SqliteLedger


def distant(postgres: Postgres, proxy: TcpProxy, url: str = "") -> PostgresLedger:
    """Open a ledger behind a proxy."""
    return PostgresLedger(SecretStr(proxy.url(url or postgres.database())), "key")


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Ledger:
    if request.param == "sqlite":
        return SqliteLedger(tmp_path / "budget.db", "key")
    server: Postgres = request.getfixturevalue("postgres")
    return PostgresLedger(SecretStr(server.database()), "key")


def test_an_acquire_takes_two_round_trips_and_shares_them_with_the_answer_before(
    postgres: Postgres,
) -> None:
    """
    One takes the row, one keeps it; nothing is asked before or after, and nobody waits for a
    record.
    """
    with TcpProxy(postgres.port, delay_s=0.1) as proxy:
        gate = Gate(distant(postgres, proxy), Plan(1_000, 100_000), SystemClock(), max_wait_s=0)
        gate.answered(gate.acquire(), 200, {}, "")
        gate.read()
        proxy.round_trips = 0

        token = gate.acquire()
        assert proxy.round_trips == 2
        before = time.monotonic()
        gate.answered(token, 200, {}, "")
        assert time.monotonic() - before < 0.1
        gate.acquire()
        assert proxy.round_trips == 4
        assert len(gate.read()[1].budget.in_flight) == 1
        assert 0.2 <= gate.ledger.takes_s < 2  # an import opens more connections for it
        gate.close()


def test_a_request_after_a_429_finds_the_block(postgres: Postgres) -> None:
    """
    A transaction is under way when the 429 comes: what asks next does not overtake the record of
    it.
    """
    with TcpProxy(postgres.port, delay_s=0.3) as proxy, ThreadPoolExecutor(1) as threads:
        gate = Gate(distant(postgres, proxy), Plan(1_000, 100_000), SystemClock(), max_wait_s=0)
        gate.answered(gate.acquire(), 200, {}, "")
        token = gate.acquire()
        reading = threads.submit(gate.read)
        time.sleep(0.1)

        gate.answered(token, 429, {"Retry-After": "30"}, "")
        with pytest.raises(QuotaError, match="429"):
            gate.acquire()

        reading.result()
        gate.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that forks")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_process_that_is_forked_while_an_answer_is_recorded_can_ask(postgres: Postgres) -> None:
    """
    The thread that records is the parent's: the child has a turn of its own, and a connection.
    """
    with TcpProxy(postgres.port, delay_s=0.3) as proxy:
        gate = Gate(distant(postgres, proxy), Plan(1_000, 100_000), SystemClock(), max_wait_s=0)
        gate.answered(gate.acquire(), 200, {}, "")
        gate.answered(gate.acquire(), 200, {}, "")

        if not (child := os.fork()):
            try:
                signal.alarm(10)
                os._exit(gate.read()[1].budget.granted)
            finally:
                os._exit(99)

        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
        gate.close()


def test_a_ledger_that_is_closed_has_recorded_what_was_posted(postgres: Postgres) -> None:
    """The answer came just before: another machine finds it."""
    url = postgres.database()
    with TcpProxy(postgres.port, delay_s=0.1) as proxy:
        gate = Gate(
            distant(postgres, proxy, url), Plan(1_000, 100_000), SystemClock(), max_wait_s=0
        )
        gate.answered(gate.acquire(), 200, {}, "")
        gate.close()

    other = PostgresLedger(SecretStr(url), "key")
    assert other.update(lambda budget: (budget.granted, len(budget.in_flight))) == (1, 0)
    other.close()


def test_threads_that_wait_at_one_instant_are_granted_in_one_transaction(
    postgres: Postgres,
) -> None:
    """
    Sixteen connections of an import, 50 ms away: all are granted in two or three transactions.
    """
    with TcpProxy(postgres.port, delay_s=0.05) as proxy:
        ledger = distant(postgres, proxy)
        gate = Gate(ledger, Plan(1_000, 100_000), SystemClock(), max_wait_s=60)
        gate.answered(gate.acquire(), 200, {}, "")
        proxy.round_trips = 0

        with ThreadPoolExecutor(16) as threads:
            tokens = set(threads.map(lambda _: gate.acquire(), range(16)))

        assert len(tokens) == 16
        assert proxy.round_trips <= 6
        ledger.close()


def test_an_answer_never_counts_as_older_than_it_is(postgres: Postgres) -> None:
    """
    The row was asked for before it came, 0.3 s away: it waits for a transaction and a time of its
    own.
    """
    with TcpProxy(postgres.port, delay_s=0.3) as proxy, ThreadPoolExecutor(3) as threads:
        ledger = distant(postgres, proxy)
        ledger.update(lambda budget: None)

        def when(late: bool) -> tuple[float, float]:
            came_at = time.time()  # the database's clock is this machine's
            return came_at, ledger.update(lambda _: time.time() + ledger.ahead_s, late=late)

        first = threads.submit(when, False)
        time.sleep(0.15)
        asked, answered = threads.submit(when, True), threads.submit(when, False)

        assert first.result()[1] >= first.result()[0]
        assert asked.result()[1] < asked.result()[0]  # it joined
        assert answered.result()[1] >= answered.result()[0]
        ledger.close()


class Held:
    """A ledger whose budget a thread holds, so that others queue."""

    def __init__(self, ledger: Ledger, error: BaseException | None = None) -> None:
        self.ledger, self._error, self.transactions = ledger, error, 0
        self.free, held = threading.Event(), threading.Event()
        transact = ledger._transact  # type: ignore[union-attr]

        def counted(changed: Callable[[bytes], bytes]) -> None:
            self.transactions += 1
            transact(changed)

        def hold(_: Budget) -> None:
            held.set()
            self.free.wait(20)
            if self._error is not None:
                raise self._error

        ledger._transact = counted  # type: ignore[union-attr, method-assign]
        self.threads = ThreadPoolExecutor(9)
        self.holding = self.threads.submit(ledger.update, hold)
        held.wait(20)

    def queue(self, n: int) -> list[object]:
        """
        Let threads queue, set the budget free, and return what each got: its number, or its error.
        """

        def number(budget: Budget) -> int:
            budget.granted += 1
            return budget.granted

        waiting = [self.threads.submit(self.ledger.update, number) for _ in range(n)]
        time.sleep(0.1)
        self.free.set()
        return [one.exception() or one.result() for one in waiting]


def test_what_threads_queue_while_another_has_the_budget_is_done_together(ledger: Ledger) -> None:
    """
    In a file and in a database: eight are served in one transaction, each gets its own result.
    """
    held = Held(ledger)

    assert sorted(map(str, held.queue(8))) == list("12345678")
    assert held.transactions == 2
    assert ledger.update(lambda budget: budget.granted) == 8
    ledger.close()


def test_a_change_that_fails_fails_alone(ledger: Ledger) -> None:
    """The one that has the budget is interrupted: the others are served all the same."""
    held = Held(ledger, KeyboardInterrupt())

    assert sorted(map(str, held.queue(4))) == list("1234")
    assert isinstance(held.holding.exception(), KeyboardInterrupt)
    ledger.close()


def test_a_ledger_that_cannot_be_used_is_an_error_for_all_that_wait(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each thread hears of it at once, not one after the other when its own time is over."""
    held = Held(ledger)

    def broken(_: object) -> None:
        time.sleep(0.5)
        raise OSError("the disk is gone")

    monkeypatch.setattr(ledger, "_transact", broken)
    before = time.monotonic()

    assert all(isinstance(error, LedgerError) for error in held.queue(8))
    assert time.monotonic() - before < 2


def test_a_budget_that_another_process_changed_is_read_again(ledger: Ledger) -> None:
    """
    What is kept decoded between two transactions holds only for the state that it was decoded from.
    """
    other = copy.copy(ledger)
    other._connection = sqlite.PerProcess(other._open)  # type: ignore[union-attr]
    ledger.update(lambda budget: setattr(budget, "granted", 1))
    other.update(lambda budget: setattr(budget, "granted", budget.granted + 1))

    assert ledger.update(lambda budget: budget.granted) == 2
    with pytest.raises(LookupError):
        ledger.update(half_a_change)
    assert ledger.update(lambda budget: budget.granted) == 2
    ledger.close()
    other.close()


def half_a_change(budget: Budget) -> None:
    budget.granted = 99
    raise LookupError


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs a signal for one thread")
def test_who_is_interrupted_while_it_waits_is_granted_nothing(ledger: Ledger) -> None:
    """Ctrl-C in a cell whose request is queued: no request is spent for it."""
    held, me = Held(ledger), threading.main_thread().ident
    assert me is not None
    threading.Timer(0.2, signal.pthread_kill, (me, signal.SIGINT)).start()

    def grant(budget: Budget) -> None:
        budget.granted += 1

    with pytest.raises(KeyboardInterrupt):
        ledger.update(grant)
    held.free.set()

    assert ledger.update(lambda budget: budget.granted) == 0
    ledger.close()
