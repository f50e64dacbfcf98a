"""A ledger in a database: threads take turns at it, and one transaction serves all that wait."""

from __future__ import annotations

import json
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final, TypeVar
from weakref import WeakSet

from pydantic import TypeAdapter

from petstore_tools import sqlite
from petstore_tools.errors import LedgerError
from petstore_tools.throttle.budget import Budget, from_0_1

T = TypeVar("T")
_BUDGET: Final = TypeAdapter(Budget)


def _decoded(state: bytes) -> Budget:
    """Return a budget as it was kept; no bytes are no budget yet."""
    if b'"unspoken"' in state:
        return _BUDGET.validate_python(from_0_1(json.loads(state)))
    return _BUDGET.validate_json(state) if state else Budget()


@dataclass(eq=False, slots=True)
class Job:
    """What a thread wants to change; its result, or the error, holds once it is done."""

    change: Callable[[Budget], Any]
    late: bool
    done: bool = False
    result: Any = None
    error: LedgerError | None = None


class DatabaseLedger(ABC):
    """
    What the ledgers that processes share have in common: one transaction serves all threads that
        wait for it.

    A thread queues what it wants to change and waits for its turn. Whoever has the turn takes the
    budget and changes it for all that were queued before; the others find their work done.

    Args:
        subject: Which budget (`subject`).
        connect: Returns a connection; the table is there.
        error: What the database raises.
    """

    ahead_s = takes_s = 0.0

    def __init__(self, subject: str, connect: Callable[[], Any], error: type[Exception]) -> None:
        self._subject, self._unusable = subject, (error, OSError, ValueError)
        self._turn, self._queue = threading.Lock(), list[Job]()
        self._decoded = b"", Budget()  # a state, and what it says
        _LEDGERS.add(self)
        self._connection: sqlite.PerProcess[Any] = sqlite.PerProcess(connect)

    def update(self, change: Callable[[Budget], T], *, late: bool = False) -> T:
        """
        Let `change` work on the budget alone, in one transaction with the others that wait for it.

        Args:
            change: Changes the budget.
            late: It may join a transaction that has begun, and so find a time that the ledger's
                clock showed
                before it was asked: safe for who asks, not for an answer, which must not count as
                older than it is.
        """
        job = Job(change, late)
        self._queue.append(job)
        self._wait_for(job)
        if job.error is not None:
            raise job.error
        result: T = job.result
        return result

    def post(self, change: Callable[[Budget], None]) -> None:
        """Let `change` work on the budget before any later change of this process."""
        self.update(change)

    def _wait_for(self, job: Job) -> None:
        try:
            with self._turn:
                if not job.done:
                    self._serve()
        finally:
            self._queue.remove(job)

    def close(self) -> None:
        """Close the connection, when what was posted is done."""
        with self._turn:
            if self._waiting():
                self._serve()
            self._connection.close()

    def _waiting(self) -> list[Job]:
        return [job for job in self._queue[:] if not job.done]

    def _serve(self) -> None:
        """
        Change the budget for all that wait; where it cannot be used, all of them get the error.
        """
        early, served, error = self._waiting(), list[Job](), None

        def changed(state: bytes) -> bytes:
            known, budget = self._decoded
            if state != known:
                budget = _decoded(state)
            self._decoded = b"", Budget()  # until nothing can fail any more
            served[:] = takewhile(lambda job: job.late or job in early, self._waiting())
            for job in served:
                job.result = job.change(budget)
            self._decoded = _BUDGET.dump_json(budget), budget
            return self._decoded[0]

        try:
            self._transact(changed)
        except BaseException as failure:
            self._connection.close()
            if not isinstance(failure, self._unusable):
                raise
            error = LedgerError(self._message(failure))
            error.__cause__ = failure
            served[:] = self._waiting()
        for job in served:
            job.done, job.error = True, error

    @abstractmethod
    def _transact(self, changed: Callable[[bytes], bytes]) -> None:
        """
        Replace the budget by what `changed` makes of it, in one transaction; nobody else can have
        it.
        """

    @abstractmethod
    def _message(self, error: BaseException) -> str:
        """Say why the budget cannot be used, and what helps."""


_LEDGERS: WeakSet[DatabaseLedger] = WeakSet()


def _forget_threads() -> None:
    """In a forked process: the threads that had a turn or wait for one are the parent's."""
    for ledger in _LEDGERS:
        ledger._turn, ledger._queue = threading.Lock(), []


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
