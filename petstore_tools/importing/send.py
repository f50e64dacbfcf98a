"""Sending the rows of a journal: every intent is durable before its bytes leave."""

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from http import HTTPStatus
from traceback import clear_frames
from typing import Literal, Self

from petstore_tools import spec
from petstore_tools.errors import (
    ApiError,
    JournalError,
    KeyBannedError,
    ProtocolError,
    QuotaError,
    TransportError,
    UnauthorizedError,
)
from petstore_tools.http.client import Client
from petstore_tools.http.responses import expect
from petstore_tools.importing.entries import Entry
from petstore_tools.importing.journal import Journal
from petstore_tools.importing.options import Progress
from petstore_tools.importing.reconcile import Outcome, judge
from petstore_tools.models import NewPet
from petstore_tools.text import option, pluralize, utc_text
from petstore_tools.throttle.gate import CallCancelled, CallOptions
from petstore_tools.throttle.quota import connections
from petstore_tools.throttle.throttle import Wait

MAX_UNKNOWN_IN_A_ROW = 3
LAST_ANSWERS_S = 0.8  # how long answers under way are awaited after Ctrl-C
TICK_S = 0.1

StopKind = Literal[
    "quota",
    "banned",
    "key refused",
    "service",
    "interrupted",
    "unknown rows",
    "first rows",
]


@dataclass(frozen=True)
class Stopped:
    """
    Why a run ended before its last row.

    Attributes:
        kind: For programs.
        reason: For people.
        resumes_at: Unix seconds from which it can go on, None where time alone does not
            help.
        error: What to raise where going on is pointless: the key or our request is
            wrong, the state on disk failed, or the program was told to end.
    """

    kind: StopKind
    reason: str
    resumes_at: float | None = None
    error: BaseException | None = None

    @classmethod
    def of(cls, error: BaseException) -> Self:
        """Say what kind of end an error is."""
        match error:
            case KeyboardInterrupt() | SystemExit():
                return cls("interrupted", "interrupted", error=error)
            case QuotaError():
                return cls("quota", error.reason, error.resumes_at)
            case KeyBannedError():
                return cls("banned", error.message, error.retry_at)
            case UnauthorizedError():
                return cls("key refused", str(error), error=error)
        may_pass = isinstance(error, TransportError) or (
            isinstance(error, ApiError) and error.status >= 500
        )
        return cls("service", str(error), error=None if may_pass else error)


def await_answers(
    client: Client, lost_s: Sequence[float], calls: CallOptions
) -> Stopped | None:
    """
    Wait until a listing can settle lost rows: until then they may still arrive.

    Args:
        client: What sent them.
        lost_s: Seconds since each was lost.
        calls: Whether it may wait for long, and what shows the wait.

    Returns:
        None, or where that is too long to wait, a stop that says when a listing can.
    """
    clock = client.clock
    after_s = client.reconcile_after_s
    left_s = after_s - min(lost_s, default=after_s)
    if left_s > client.max_wait_s and not calls.wait:
        resumes_at = clock.now() + left_s
        reason = (
            "what became of the unknown rows can be found out from"
            f" {utc_text(resumes_at)} on; run the same call again then, or pass"
            f" {option('wait', True)}"
        )
        return Stopped("unknown rows", reason, resumes_at)
    rows = pluralize(len(lost_s), "row")
    reason = f"a listing that shows what became of {rows} whose answer was lost"
    if left_s > 0:
        client.gate.log_wait(Wait(clock.now() + left_s, reason))
        client.gate.pause(left_s, reason, calls)
    return None


class Sender:
    """
    Sends rows, over as many connections as the plan and the latency call for.

    Args:
        client: One key at one service.
        journal: Open, and ours alone.
        progress: Called from the caller's thread, now and then.

    Attributes:
        usable: Answers of this run that said what became of a row.
        failing: Why the other rows were kept back, "" where they were not.
        wait: What a connection, or the caller's thread, waits for.
    """

    def __init__(
        self, client: Client, journal: Journal, progress: Callable[[Progress], None]
    ) -> None:
        self.client = client
        self.journal = journal
        self.usable = 0
        self.failing = ""
        self.wait: Wait | None = None
        self._progress = progress
        self._changed = threading.Condition()
        self._queue: deque[Entry] = deque()
        self._counts: Counter[str] = Counter()
        self._unknown_in_a_row = 0
        self._running = 0
        self._connections: int | None = None  # until the first answer shows the latency
        self._error: BaseException | None = None

    @property
    def has_ended(self) -> bool:
        """Whether nothing more may leave."""
        return self._error is not None or self.failing != ""

    def run(self, entries: Sequence[Entry], call_options: CallOptions) -> None:
        """
        Send rows; after three in a row without a usable answer the others are kept
        back.

        Raises:
            BaseException: What ended it: an interrupt before anything else, then what
                came first.
        """
        self._queue = deque(entries)
        self._counts = self.journal.counts()
        self._unknown_in_a_row = 0
        self.usable = 0
        self.failing = ""
        try:
            self.show()
            while self._running or self._queue:
                if self._queue and self._running < (self._connections or 1):
                    with self._changed:
                        self._running += 1
                    threading.Thread(
                        target=self._work,
                        name=self.journal.id,
                        args=(call_options,),
                        daemon=True,
                    ).start()
                    continue
                with self._changed:
                    self._changed.wait(TICK_S)
                self.show()
            self.show()
        except BaseException as error:
            # else a lock that one holds stops the connections
            clear_frames(error.__traceback__)
            self.stop(error)
            # a second Ctrl-C ends this too
            with suppress(KeyboardInterrupt), self._changed:
                self._changed.wait_for(lambda: not self._running, LAST_ANSWERS_S)
        self.client.gate.flush()
        if self._error is not None:
            raise self._error

    def count(self, outcome: Outcome) -> None:
        """Count what became of a row."""
        with self._changed:
            self._counts[outcome.state] += 1
            self._counts["unsent"] -= 1
            if outcome.state in ("created", "rejected"):
                self.usable += 1
            is_unknown = outcome.state == "unknown"
            self._unknown_in_a_row = self._unknown_in_a_row + 1 if is_unknown else 0
            if self._unknown_in_a_row >= MAX_UNKNOWN_IN_A_ROW:
                rows = f"{MAX_UNKNOWN_IN_A_ROW} rows in a row"
                self.failing = f"{rows} got no usable answer: {outcome.detail}"
                self._keep_back()

    def stop(self, error: BaseException) -> None:
        """Let nothing more leave."""
        with self._changed:
            if self._error is None or not isinstance(error, Exception):
                self._error = error
            self._keep_back()

    def _keep_back(self) -> None:
        self._queue.clear()
        self._changed.notify_all()
        self.client.clock.wake_sleepers()

    def show_wait(self, wait: Wait | None) -> None:
        """Show what the caller's thread waits for."""
        self.wait = wait
        self.show()

    def show(self) -> None:
        """Show how far the run is."""
        states = ("created", "rejected", "unknown", "unsent")
        with self._changed:
            created, rejected, unknown, unsent = [self._counts[s] for s in states]
        done = created + rejected + unknown
        total = done + unsent
        self._progress(Progress(done, total, created, rejected, unknown, self.wait))

    def _work(self, call_options: CallOptions) -> None:
        """
        Send one row after the other, until there is none left or the run has ended; an
        outcome and the next intent are one commit.
        """
        outcomes: list[tuple[Entry, Outcome]] = []  # not recorded yet

        def on_wait(wait: Wait | None) -> None:
            self._record(outcomes)
            self.wait = wait

        call_options = replace(
            call_options, cancelled=lambda: self.has_ended, on_wait=on_wait
        )
        try:
            with self.client.clock.working():
                for entry in iter(self._take_row, None):
                    with suppress(CallCancelled):  # the row is unsent
                        self._send(entry, outcomes, call_options)
        except BaseException as error:
            self.stop(error)  # at once: a commit takes time
        try:
            self._record(outcomes)
        except BaseException as error:  # after an interrupt, the journal is closed
            self.stop(error)
        with self._changed:
            self._running -= 1
            self._changed.notify_all()

    def _take_row(self) -> Entry | None:
        with self._changed:
            return self._queue.popleft() if self._queue else None

    def _send(
        self,
        entry: Entry,
        outcomes: list[tuple[Entry, Outcome]],
        call_options: CallOptions,
    ) -> None:
        left_at = 0.0

        def before() -> None:
            nonlocal left_at
            if self.has_ended:
                raise CallCancelled
            self._record(outcomes, entry)
            left_at = time.perf_counter()

        def on_no_effect() -> None:
            outcomes.append((entry, Outcome("unsent")))
            self._record(outcomes)

        def note(outcome: Outcome) -> None:
            outcomes.append((entry, outcome))
            self.count(outcome)

        try:
            reply = self.client.call(
                "POST",
                self.client.base_url + spec.PETS_PATH,
                NewPet.of(*entry.content).wire(),
                call_options=call_options,
                before=before,
                on_no_effect=on_no_effect,
            )
        except TransportError as error:
            if not error.may_have_left:
                raise
            note(Outcome("unknown", detail=str(error)))
            return
        except ProtocolError as error:
            note(Outcome("unknown", detail=str(error)))
            raise
        if self._connections is None:
            answer_s = time.perf_counter() - left_at
            latency_s = answer_s + self.client.ledger.transaction_s
            self._connections = connections(self.client.plan.per_minute, latency_s)
        outcome = judge(reply.status, reply.body, entry)
        note(outcome)
        if outcome.state == "unsent" or 300 <= reply.status < 400:
            # the request is wrong, so no other row can be created
            expect(reply, HTTPStatus.CREATED)

    def _record(
        self, outcomes: list[tuple[Entry, Outcome]], intent: Entry | None = None
    ) -> None:
        """Record what is known, and which row is next."""
        if outcomes or intent is not None:
            self.journal.record(outcomes, intent=intent)
            outcomes.clear()


def await_threads(journal: Journal, max_wait_s: float) -> None:
    """
    Let the threads of an interrupted run of an import end.

    Raises:
        JournalError: One still awaits an answer.
    """
    for thread in threading.enumerate():
        # without a number an interrupt came before it was started
        if thread.name != journal.id or thread.ident is None:
            continue
        thread.join(min(max_wait_s, threading.TIMEOUT_MAX))
        if thread.is_alive():
            raise JournalError(
                "the last run of this import still awaits an answer: run the same call"
                " again in a minute"
            )
