"""Sending the rows of a journal: every intent is durable before its bytes leave."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final, Literal, Self

from petstore_tools import spec
from petstore_tools.errors import (
    ApiError,
    KeyBannedError,
    ProtocolError,
    QuotaError,
    TransportError,
    UnauthorizedError,
)
from petstore_tools.http.client import Client
from petstore_tools.http.responses import expect
from petstore_tools.importing.doubtful import Entry, State
from petstore_tools.importing.journal import Journal
from petstore_tools.importing.reconcile import Outcome, judge
from petstore_tools.models import NewPet
from petstore_tools.throttle.gate import CallCancelled, CallOptions
from petstore_tools.throttle.quota import connections
from petstore_tools.throttle.throttle import Wait

MAX_UNKNOWN_IN_A_ROW: Final = 3
LAST_ANSWERS_S: Final = 0.8  # what answers under way are given after Ctrl-C
TICK_S: Final = 0.1

StopKind = Literal[
    "quota", "banned", "key refused", "service", "interrupted", "unknown rows", "first rows"
]


@dataclass(frozen=True)
class Stopped:
    """
    Why a run ended before its last row.

    Attributes:
        kind: For programs.
        why: For people.
        resumes_at: Unix seconds from which it can go on, None where time alone does not help.
        error: What to raise where going on is pointless: the key or our request is wrong, the state
            on disk failed, or the program was told to end.
        may_recover: The last rows got no usable answer, so the service may work again a little
            later.
    """

    kind: StopKind
    why: str
    resumes_at: float | None = None
    error: BaseException | None = None
    may_recover: bool = False

    @classmethod
    def of(cls, error: BaseException) -> Self:
        """Say what kind of end an error is."""
        match error:
            case KeyboardInterrupt():
                return cls("interrupted", "interrupted")
            case SystemExit():
                return cls("interrupted", "interrupted", error=error)
            case QuotaError():
                return cls("quota", error.why, error.resumes_at)
            case KeyBannedError():
                return cls("banned", str(error), error.retry_at)
            case UnauthorizedError():
                return cls("key refused", str(error), error=error)
            case ApiError(status=status) if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                return cls("service", str(error))
            case TransportError():
                return cls("service", str(error))
        return cls("service", str(error), error=error)

    def or_worse(self, other: Stopped) -> Stopped:
        """Return which of two reasons ended a run: an interrupt wins, and hope comes last."""
        if other.kind == "interrupted" or (self.may_recover and self.kind != "interrupted"):
            return other
        return self


@dataclass(frozen=True)
class Progress:
    """
    How far a run is.

    Attributes:
        done, total: Rows of the import, those of earlier runs included.
        created, rejected, unknown: Of those done.
        waits_until: Unix seconds, None while it sends.
        waits_for: Why, in words.
    """

    done: int
    total: int
    created: int
    rejected: int
    unknown: int
    waits_until: float | None = None
    waits_for: str = ""


class Sender:
    """
    Sends rows, over as many connections as the plan and the latency call for.

    Args:
        client: One key at one service.
        journal: Open, and ours alone.
        progress: Called from the caller's thread, now and then.
        skip: Rows that become doubtful are left out for good.

    Attributes:
        skip: As given.
        usable: Answers that said what became of a row.
    """

    def __init__(
        self,
        client: Client,
        journal: Journal,
        progress: Callable[[Progress], None],
        *,
        skip: bool,
    ) -> None:
        self.client = client
        self.journal = journal
        self.usable = 0
        self.skip = skip
        self._progress = progress
        self._changed = threading.Condition()
        self._queue: deque[Entry] = deque()
        self._counts: Counter[str] = Counter()
        self._unknown_in_a_row = 0
        self._running = 0
        self._wait: Wait | None = None
        self._connections: int | None = None  # until the first answer shows the latency
        self._stopped: Stopped | None = None

    @property
    def is_stopped(self) -> bool:
        """Whether nothing more may leave."""
        return self._stopped is not None

    def run(self, entries: Sequence[Entry], call_options: CallOptions) -> Stopped | None:
        """Send rows; return why it ended early, None where all were sent."""
        self._queue = deque(entries)
        self._stopped = None
        self._counts = self.journal.counts()
        self._unknown_in_a_row = 0
        try:
            self._show()
            while self._running or (self._queue and not self._stopped):
                if self._queue and not self._stopped and self._running < (self._connections or 1):
                    self._start(call_options)
                    continue
                with self._changed:
                    self._changed.wait(TICK_S)
                self._show()
            self._show()
        except BaseException as error:
            self.stop(Stopped.of(error))
            with suppress(KeyboardInterrupt), self._changed:  # a second Ctrl-C ends this too
                self._changed.wait_for(lambda: not self._running, LAST_ANSWERS_S)
        self.client.gate.flush()
        return self._stopped

    def _start(self, call_options: CallOptions) -> None:
        with self._changed:
            self._running += 1
        connection = _Connection(self, call_options)
        name = thread_name(self.journal)
        threading.Thread(target=connection.work, name=name, daemon=True).start()

    def next(self) -> Entry | None:
        """Take the next row, None where there is none or the run has ended."""
        with self._changed:
            return self._queue.popleft() if self._queue and not self._stopped else None

    def count(self, state: State, detail: str, latency_s: float | None) -> None:
        """Count what became of a row; after three without a usable answer, stop."""
        with self._changed:
            self._counts[state] += 1
            self._counts["unsent"] -= 1
            self.usable += state in ("created", "rejected")
            self._unknown_in_a_row = self._unknown_in_a_row + 1 if state == "unknown" else 0
            fails = self._unknown_in_a_row >= MAX_UNKNOWN_IN_A_ROW
            if self._connections is None and latency_s is not None:
                self._connections = connections(self.client.plan.per_minute, latency_s)
                self._changed.notify_all()  # of other rows the next tick tells
        if fails:
            why = f"{MAX_UNKNOWN_IN_A_ROW} rows in a row got no usable answer: {detail}"
            self.stop(Stopped("service", why, may_recover=True))

    def end(self) -> None:
        """Count a connection as ended."""
        with self._changed:
            self._running -= 1
            self._changed.notify_all()

    def stop(self, stopped: Stopped) -> None:
        """Let nothing more leave."""
        with self._changed:
            self._stopped = stopped if self._stopped is None else self._stopped.or_worse(stopped)
            self._changed.notify_all()
        self.client.clock.poke()

    def note_wait(self, wait: Wait | None) -> None:
        """Note what a connection waits for."""
        self._wait = wait

    def show_wait(self, wait: Wait | None) -> None:
        """Show what the caller's thread waits for."""
        self._wait = wait
        self._show()

    def _show(self) -> None:
        with self._changed:
            counts = Counter(self._counts)
            wait = self._wait
        created, rejected, unknown = (counts[s] for s in ("created", "rejected", "unknown"))
        done = created + rejected + unknown
        until, why = (wait.until, wait.why) if wait else (None, "")
        total = done + counts["unsent"]
        self._progress(Progress(done, total, created, rejected, unknown, until, why))


def thread_name(journal: Journal) -> str:
    """Return the name of the threads that send rows of an import."""
    return f"import {journal.id}"


class _LeftOutError(Exception):
    """Another import sent an equal row meanwhile; nothing left."""


class _Connection:
    """
    Sends one row after the other; an outcome and the next intent are one commit.

    Args:
        sender: Gives the rows.
        call_options: How the calls wait.
    """

    def __init__(self, sender: Sender, call_options: CallOptions) -> None:
        self._sender = sender
        self._client = sender.client
        self._journal = sender.journal
        self._url = self._client.base_url + spec.PETS_PATH
        self._outcomes: list[tuple[Entry, Outcome]] = []  # not recorded yet
        self._left_at = 0.0
        self._call_options = replace(
            call_options, cancelled=lambda: sender.is_stopped, on_wait=self._on_wait
        )

    def work(self) -> None:
        """Send until there is no row left, or the run has ended."""
        try:
            with self._client.clock.working():
                while (entry := self._sender.next()) is not None:
                    with suppress(_LeftOutError):
                        self._send(entry)
        except CallCancelled:
            pass  # the run has ended; the row that waited is still unsent
        except BaseException as error:  # after an interrupt, they come of the journal being closed
            self._sender.stop(Stopped.of(error))
        try:
            self._record()
        except BaseException as error:
            self._sender.stop(Stopped.of(error))
        self._sender.end()

    def _send(self, entry: Entry) -> None:
        pet = NewPet.of(*entry.content)

        def before() -> None:
            if self._sender.is_stopped:
                raise CallCancelled
            if not self._record(entry):
                raise _LeftOutError
            self._left_at = time.perf_counter()

        def on_no_effect() -> None:
            self._outcomes.append((entry, Outcome("unsent")))
            self._record()

        try:
            reply = self._client.call(
                "POST",
                self._url,
                pet.wire(),
                call_options=self._call_options,
                before=before,
                on_no_effect=on_no_effect,
            )
        except TransportError as error:
            if not error.may_have_left:
                raise
            self._note(entry, Outcome("unknown", detail=str(error)))
            return
        except ProtocolError as error:
            self._note(entry, Outcome("unknown", detail=str(error)))
            raise
        latency_s = time.perf_counter() - self._left_at + self._client.ledger.takes_s
        outcome = judge(reply.status, reply.body, entry.content)
        self._note(entry, outcome, latency_s)
        if outcome.state == "unsent":  # our request is wrong, not the row
            expect(reply, HTTPStatus.CREATED)

    def _note(self, entry: Entry, outcome: Outcome, latency_s: float | None = None) -> None:
        self._outcomes.append((entry, outcome))
        self._sender.count(outcome.state, outcome.detail, latency_s)

    def _record(self, intent: Entry | None = None) -> bool:
        """Record what is known; return whether the row that is next may leave."""
        if not self._outcomes and intent is None:
            return False
        clock = self._client.clock
        may_leave = self._journal.record(
            self._outcomes,
            intent=intent,
            skip=self._sender.skip,
            now=clock.now(),
            steady=clock.steady(),
        )
        self._outcomes.clear()
        return may_leave

    def _on_wait(self, wait: Wait | None) -> None:
        """Record what is known before a wait."""
        self._record()
        self._sender.note_wait(wait)
