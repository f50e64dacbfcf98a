"""A ledger database that is far away: few round trips, and threads that wait are served together."""

from __future__ import annotations

import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from postgres import Postgres
from pydantic import SecretStr
from tcp_proxy import TcpProxy

from petstore_tools.clock import SystemClock
from petstore_tools.errors import LedgerError
from petstore_tools.plans import Plan
from petstore_tools.throttle.budget import Budget
from petstore_tools.throttle.gate import Gate
from petstore_tools.throttle.ledger import Ledger, PostgresLedger, SqliteLedger


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Ledger:
    if request.param == "sqlite":
        return SqliteLedger(tmp_path / "budget.db", "key")
    server: Postgres = request.getfixturevalue("postgres")
    return PostgresLedger(SecretStr(server.database()), "key")


def test_an_acquire_takes_two_round_trips_and_so_does_a_record(postgres: Postgres) -> None:
    """One takes the row, one keeps it; nothing is asked before or after."""
    with TcpProxy(postgres.port) as proxy:
        ledger = PostgresLedger(SecretStr(proxy.url(postgres.database())), "key")
        gate = Gate(ledger, Plan(1_000, 100_000), SystemClock(), max_wait_s=0)
        gate.read()
        proxy.round_trips = 0

        token = gate.acquire()
        assert proxy.round_trips == 2
        gate.answered(token, 200, {}, "")
        assert proxy.round_trips == 4
        ledger.close()


def test_threads_that_wait_at_one_instant_are_granted_in_one_transaction(postgres: Postgres) -> None:
    """Sixteen connections of an import, 50 ms away: all are granted in two or three transactions."""
    with TcpProxy(postgres.port, delay_s=0.05) as proxy:
        ledger = PostgresLedger(SecretStr(proxy.url(postgres.database())), "key")
        gate = Gate(ledger, Plan(1_000, 100_000), SystemClock(), max_wait_s=60)
        gate.answered(gate.acquire(), 200, {}, "")
        proxy.round_trips = 0

        with ThreadPoolExecutor(16) as threads:
            tokens = set(threads.map(lambda _: gate.acquire(), range(16)))

        assert len(tokens) == 16
        assert proxy.round_trips <= 6
        ledger.close()


class Held:
    """A ledger whose budget a thread holds, so that others queue."""

    def __init__(self, ledger: Ledger, error: BaseException | None = None) -> None:
        self.ledger, self._error = ledger, error
        self.free, held = threading.Event(), threading.Event()

        def hold(_: Budget) -> None:
            held.set()
            self.free.wait(20)
            if self._error is not None:
                raise self._error

        self.threads = ThreadPoolExecutor(9)
        self.holding = self.threads.submit(ledger.update, hold)
        held.wait(20)

    def queue(self, n: int) -> list[object]:
        """Let threads queue, set the budget free, and return what each got: its budget, or its error."""
        waiting = [self.threads.submit(self.ledger.update, lambda budget: budget) for _ in range(n)]
        time.sleep(0.1)
        self.free.set()
        return [one.exception() or one.result() for one in waiting]


def test_what_one_thread_queues_while_another_has_the_budget_is_done_together(ledger: Ledger) -> None:
    """In a file and in a database: the eight get the budget of one transaction, each its own result."""
    budgets = Held(ledger).queue(8)

    assert len({id(budget) for budget in budgets}) == 1
    ledger.close()


def test_a_change_that_fails_fails_alone(ledger: Ledger) -> None:
    """The one that has the budget is interrupted: the others are served all the same."""
    held = Held(ledger, KeyboardInterrupt())

    assert all(isinstance(budget, Budget) for budget in held.queue(4))
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
