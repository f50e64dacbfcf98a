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
from petstore_tools.importing.journal import Journal
from petstore_tools.importing.row_states import Entry, Outcome, State, judge
from petstore_tools.models import NewPet
from petstore_tools.throttle.gate import ALONE, CallCancelled, CallOptions
from petstore_tools.throttle.quota import connections
from petstore_tools.throttle.throttle import Wait

MAX_UNKNOWN_IN_A_ROW: Final = 3
LAST_ANSWERS_S: Final = 0.8  # what answers under way are given after Ctrl-C
TICK_S: Final = 0.1

DONE: Final[tuple[State, ...]] = ("created", "rejected", "unknown")  # earlier runs included

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


STOPS: Final = (QuotaError, ApiError, ProtocolError, TransportError, KeyboardInterrupt)


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
    Sends the unsent rows of a journal, over as many connections as the plan and the latency call
    for.

    Args:
        client: One key at one service.
        journal: Open, and ours alone.
        progress: Called from the caller's thread, now and then.
        total: Rows that will be sent.
    """

    def __init__(
        self, client: Client, journal: Journal, progress: Callable[[Progress], None], total: int
    ) -> None:
        self._client, self._journal, self._progress, self._total = client, journal, progress, total
        self._call_options = ALONE
        self._changed = threading.Condition()
        self._queue: deque[Entry] = deque()
        self._ids: set[int] = set()  # each belongs to one row
        self._counts: Counter[State] = Counter()
        self._unknown_in_a_row = self._running = 0
        self._wait: Wait | None = None
        self._connections: int | None = None  # until the first answer shows the latency
        self._stopped: Stopped | None = None

    def run(self, entries: Sequence[Entry], call_options: CallOptions) -> Stopped | None:
        """Send the rows; return why it ended early, None where all were sent."""
        self._queue, self._stopped = deque(entries), None
        self._call_options = replace(
            call_options, cancelled=lambda: self._stopped is not None, on_wait=self._note_wait
        )
        self._ids = {e.pet_id for e in self._journal.entries() if e.pet_id is not None}
        states = self._journal.states()
        self._counts = Counter({state: states[state] for state in DONE})
        self._total, self._unknown_in_a_row = len(entries) + self._counts.total(), 0
        self._show()
        try:
            while self._running or (self._queue and not self._stopped):
                if self._queue and not self._stopped and self._running < (self._connections or 1):
                    with self._changed:
                        self._running += 1
                    threading.Thread(target=self._work, name="import", daemon=True).start()
                    continue
                with self._changed:
                    self._changed.wait(TICK_S)
                self._show()
            self._show()
        except BaseException as error:
            self._stop(Stopped.of(error))
            with suppress(KeyboardInterrupt), self._changed:  # a second Ctrl-C ends this too
                self._changed.wait_for(lambda: not self._running, LAST_ANSWERS_S)
        return self._stopped

    def show_wait(self, wait: Wait | None) -> None:
        """Show what the caller's thread waits for."""
        self._note_wait(wait)
        self._show()

    def _work(self) -> None:
        try:
            with self._client.clock.working():
                while (entry := self._next()) is not None:
                    self._send(entry)
        except CallCancelled:
            pass  # the run has ended; the row that waited is still unsent
        except BaseException as error:  # after the first one, they come of the journal being closed
            self._stop(Stopped.of(error))
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def _next(self) -> Entry | None:
        with self._changed:
            return self._queue.popleft() if self._queue and not self._stopped else None

    def _send(self, entry: Entry) -> None:
        name, category_id, status = entry.content
        pet = NewPet(name=name, category_id=category_id, status=status)  # type: ignore[arg-type]
        url = self._client.base_url + spec.PETS_PATH
        left_at = 0.0

        def before() -> None:
            nonlocal left_at
            if self._stopped:
                raise CallCancelled
            self._transition(entry, Outcome("sending"))
            left_at = time.perf_counter()

        try:
            reply = self._client.call(
                "POST",
                url,
                pet.wire(),
                call_options=self._call_options,
                before=before,
                on_no_effect=lambda: self._transition(entry, Outcome("unsent")),
            )
        except TransportError as error:
            if not error.may_have_left:
                raise
            self._record(entry, Outcome("unknown", detail=str(error)))
            return
        except ProtocolError as error:
            self._record(entry, Outcome("unknown", detail=str(error)))
            raise
        latency_s = time.perf_counter() - left_at + self._client.ledger.takes_s
        outcome = judge(reply.status, reply.body, entry.content)
        self._record(entry, outcome)
        if outcome.state == "unsent":  # our request is wrong, not the row
            expect(reply, HTTPStatus.CREATED)
        if self._connections is None:
            self._connections = connections(self._client.plan.per_minute, latency_s)

    def _record(self, entry: Entry, outcome: Outcome) -> None:
        pet_id = outcome.pet_id
        if pet_id is not None:
            with self._changed:
                if pet_id in self._ids:
                    why = f"the answer is 201, but with the id of another row ({pet_id})"
                    outcome = Outcome("unknown", detail=why, candidates=(pet_id,))
                self._ids.add(pet_id)
        if outcome.state == "created" and entry.content[2] is None:
            self._journal.learn_default(outcome.shown_status)
        self._transition(entry, outcome)
        with self._changed:
            self._counts[outcome.state] += 1
            self._unknown_in_a_row = self._unknown_in_a_row + 1 if outcome.state == "unknown" else 0
            fails = self._unknown_in_a_row >= MAX_UNKNOWN_IN_A_ROW
            self._changed.notify_all()
        if fails:
            why = f"{MAX_UNKNOWN_IN_A_ROW} rows in a row got no usable answer: {outcome.detail}"
            self._stop(Stopped("service", why, may_recover=True))

    def _transition(self, entry: Entry, outcome: Outcome) -> None:
        self._journal.transition([(entry, outcome)], now=self._client.clock.now())

    def _stop(self, stopped: Stopped) -> None:
        with self._changed:
            self._stopped = self._stopped or stopped
            self._changed.notify_all()
        self._client.clock.poke()

    def _note_wait(self, wait: Wait | None) -> None:
        self._wait = wait

    def _show(self) -> None:
        with self._changed:
            created, rejected, unknown = (self._counts[state] for state in DONE)
            until, why = (self._wait.until, self._wait.why) if self._wait else (None, "")
        done = created + rejected + unknown
        self._progress(Progress(done, self._total, created, rejected, unknown, until, why))
