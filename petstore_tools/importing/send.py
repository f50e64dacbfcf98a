"""Sending the rows of a journal: every intent is durable before its bytes leave."""

from __future__ import annotations

import random
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final, Literal, Self, assert_never

from petstore_tools import spec
from petstore_tools.errors import (
    ApiError,
    KeyBannedError,
    ProtocolError,
    QuotaError,
    TransportError,
    UnauthorizedError,
)
from petstore_tools.http import backoff as retry
from petstore_tools.http.client import Client
from petstore_tools.http.responses import expect
from petstore_tools.http.transport import Reply
from petstore_tools.importing import row_states
from petstore_tools.importing.journal import Journal
from petstore_tools.importing.row_states import Entry
from petstore_tools.models import NewPet
from petstore_tools.throttle.forecast import connections
from petstore_tools.throttle.gate import CallCancelled, CallOptions
from petstore_tools.throttle.throttle import Wait

SICK_AFTER: Final = 3  # unknown rows in a row
LAST_ANSWERS_S: Final = 0.8  # what answers under way are given after Ctrl-C
TICK_S: Final = 0.1

Fate = Literal["created", "rejected", "unknown"]
StopKind = Literal["quota", "banned", "key refused", "service", "interrupted", "unknown rows"]


@dataclass(frozen=True)
class Stopped:
    """
    Why a run ended before its last row.

    Attributes:
        kind: For programs.
        why: For people.
        resumes_at: Unix seconds from which it can go on, None where time alone does not help.
        error: What to raise where going on is pointless: the key or our request is wrong, or the program
            was told to end.
        sick: Row after row came to nothing sure, so the service may be well again later.
    """

    kind: StopKind
    why: str
    resumes_at: float | None = None
    error: BaseException | None = None
    sick: bool = False

    @classmethod
    def of(cls, error: Exception) -> Self:
        """Say what kind of end an error is."""
        match error:
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


INTERRUPTED: Final = Stopped("interrupted", "interrupted")
STOPS: Final = (QuotaError, ApiError, ProtocolError, TransportError)


@dataclass(frozen=True)
class Progress:
    """
    How far a run is.

    Attributes:
        done, total: Rows of this run.
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
    One run over the unsent rows of a journal.

    Args:
        client: One key at one service.
        journal: Open, and ours alone.
        call_options: How it waits.
        progress: Called from the caller's thread, now and then.
    """

    def __init__(
        self,
        client: Client,
        journal: Journal,
        call_options: CallOptions,
        *,
        progress: Callable[[Progress], None],
    ) -> None:
        self._client, self._journal, self._progress = client, journal, progress
        self._manner = replace(call_options, cancelled=lambda: self._ended, on_wait=self._note_wait)
        self._changed = threading.Condition()
        self._queue: deque[Entry] = deque()
        self._ids: set[int] = set()  # each belongs to one row
        self._total = self._running = 0
        self._counts: dict[Fate, int] = {"created": 0, "rejected": 0, "unknown": 0}
        self._unknown_in_a_row = 0
        self._waits: Wait | None = None
        self._latency_s: float | None = None
        self._connections: int | None = None
        self._chance = random.Random()
        self._url = client.base_url + spec.PETS_PATH
        self._ended = False
        self._stopped: Stopped | None = None
        self._crash: BaseException | None = None

    def run(self, entries: Sequence[Entry]) -> Stopped | None:
        """
        Send the rows; return why it ended early, None where all were sent.

        Raises:
            LedgerError, JournalError: The state on disk failed; nothing more was sent.
        """
        self._queue.extend(entries)
        self._ids = {e.pet_id for e in self._journal.entries() if e.pet_id is not None}
        self._total = len(entries)
        try:
            while self._running or (self._queue and not self._ended):
                if self._queue and not self._ended and self._running < self._wanted():
                    with self._changed:
                        self._running += 1
                    threading.Thread(target=self._work, name="import", daemon=True).start()
                    continue
                with self._changed:
                    self._changed.wait(TICK_S)
                self._report()
            self._report()
        except BaseException as error:
            self._stop(replace(INTERRUPTED, error=error if isinstance(error, SystemExit) else None))
            if not isinstance(error, KeyboardInterrupt | SystemExit):
                self._crash = error
            with suppress(KeyboardInterrupt), self._changed:  # a second Ctrl-C ends this too
                self._changed.wait_for(lambda: not self._running, LAST_ANSWERS_S)
        finally:
            self._ended = True
        if self._crash is not None:
            raise self._crash
        return self._stopped

    def _wanted(self) -> int:
        """Return how many connections to use: one until its first answer shows the latency."""
        if self._latency_s is None:
            return 1
        if self._connections is None:
            plan, _ = self._client.gate.read()
            self._connections = connections(plan.per_minute, self._latency_s)
        return self._connections

    def _work(self) -> None:
        try:
            with self._client.clock.working():
                while (entry := self._next()) is not None:
                    self._send(entry)
        except CallCancelled:
            pass  # the run has ended; the row it waited for is still unsent
        except STOPS as error:
            self._stop(Stopped.of(error))
        except BaseException as error:
            if not self._ended:  # what comes later comes of the journal being closed
                self._crash = error
                self._stop(Stopped("service", str(error)))
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def _next(self) -> Entry | None:
        with self._changed:
            return self._queue.popleft() if self._queue and not self._ended else None

    def _send(self, entry: Entry) -> None:
        failures = 0
        while True:
            try:
                reply = self._attempt(entry)
            except TransportError as error:
                if error.may_have_left:
                    self._record(entry, row_states.Unknown(str(error)))
                    return
                self._transition(entry, "unsent")
                failures += 1
                if failures >= retry.ATTEMPTS:
                    raise
                self._client.gate.pause(retry.backoff_s(failures, self._chance), self._manner)
                continue
            except ProtocolError as error:
                self._record(entry, row_states.Unknown(str(error)))
                raise
            if reply.status != HTTPStatus.TOO_MANY_REQUESTS:
                self._record(entry, row_states.judge(reply.status, reply.body, entry.content), reply)
                return
            self._transition(entry, "unsent")  # a refused request created nothing (§8.4)

    def _attempt(self, entry: Entry) -> Reply:
        name, category_id, status = entry.content
        pet = NewPet(name=name, category_id=category_id, status=status)  # type: ignore[arg-type]
        left_at = 0.0

        def intend() -> None:
            nonlocal left_at
            if self._ended:
                raise CallCancelled
            self._transition(entry, "sending")
            left_at = time.perf_counter()

        reply = self._client.attempt("POST", self._url, pet.wire(), call_options=self._manner, before=intend)
        self._latency_s = self._latency_s or time.perf_counter() - left_at
        return reply

    def _record(self, entry: Entry, outcome: row_states.Outcome, reply: Reply | None = None) -> None:
        match self._once(outcome):
            case row_states.Created(pet_id, status):
                if entry.content[2] is None:
                    self._journal.learn_default(status)
                self._transition(entry, "created", pet_id=pet_id)
                self._count("created")
            case row_states.Rejected(why):
                self._transition(entry, "rejected", detail=why)
                self._count("rejected")
            case row_states.Unknown(why, pet_id):
                candidates = () if pet_id is None else (pet_id,)
                self._transition(entry, "unknown", detail=why, candidates=candidates)
                self._count("unknown", why)
            case row_states.Refused():
                self._transition(entry, "unsent")
                assert reply is not None
                expect(reply, HTTPStatus.CREATED, "POST", self._url)
            case _:
                assert_never(outcome)

    def _once(self, outcome: row_states.Outcome) -> row_states.Outcome:
        """Doubt an answer whose id is another row's already."""
        if not isinstance(outcome, row_states.Created):
            return outcome
        with self._changed:
            if outcome.pet_id in self._ids:
                return row_states.Unknown(
                    f"201 with the id of another row ({outcome.pet_id})", outcome.pet_id
                )
            self._ids.add(outcome.pet_id)
        return outcome

    def _count(self, fate: Fate, why: str = "") -> None:
        with self._changed:
            self._counts[fate] += 1
            self._unknown_in_a_row = self._unknown_in_a_row + 1 if fate == "unknown" else 0
            sick = self._unknown_in_a_row >= SICK_AFTER
            self._changed.notify_all()
        if sick:
            said = f"{SICK_AFTER} rows in a row came to nothing sure: {why}"
            self._stop(Stopped("service", said, sick=True))

    def _transition(
        self,
        entry: Entry,
        state: row_states.State,
        *,
        pet_id: int | None = None,
        detail: str = "",
        candidates: Sequence[int] = (),
    ) -> None:
        now = self._client.clock.now()
        self._journal.transition(entry, state, now=now, pet_id=pet_id, detail=detail, candidates=candidates)

    def _stop(self, stopped: Stopped) -> None:
        with self._changed:
            self._stopped = self._stopped or stopped
            self._ended = True
            self._changed.notify_all()
        self._client.clock.poke()

    def _note_wait(self, wait: Wait | None) -> None:
        self._waits = wait

    def _report(self) -> None:
        with self._changed:
            done, waits = sum(self._counts.values()), self._waits
            progress = Progress(
                done,
                self._total,
                **self._counts,
                waits_until=None if waits is None else waits.until,
                waits_for="" if waits is None else waits.why,
            )
        self._progress(progress)
