"""
Requests that wait for the database: one thread uses it, and answers all that wait together.

So whatever holds up the database holds up no other answer, and none waits for it without end.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final

from petstore_tools.service.messages import Request, Response

MAX_AT_ONCE: Final = 256  # requests in one commit
TICK_S: Final = 0.25
QUICK_S: Final = 0.05
GATHER_S: Final = 0.005
Answers = Sequence[Response | None]


def elapsed() -> float:
    """Return seconds that also pass while the machine sleeps, where it can tell."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if sys.platform == "linux" else time.monotonic()


class Batch:
    """Requests that are answered together. They are committed, or given up: never both."""

    def __init__(self, requests: Sequence[Request] = ()) -> None:
        self.requests = requests
        self._given_up = False
        self._decided = threading.Lock()

    def may_commit(self) -> bool:
        """Say, once and for good, whether its changes may be committed."""
        return self._decided.acquire(blocking=False)

    def give_up(self) -> bool:
        """Say whether nothing of it is committed, now and for good."""
        self._given_up = self._given_up or self._decided.acquire(blocking=False)
        return self._given_up


class Batches:
    """
    The requests that wait, and those that are being answered.

    Args:
        work: Answers a batch in the database's thread, or `here`, where nothing may wait: then it
            returns None where another program holds the database up.
        refuse: Answers one that could not wait longer; whether it is unknown what became of it.
        local: Nothing but another program and a slow disk holds the database up: quick
            batches are answered without the thread, which takes a fifth more of the processor.
    """

    def __init__(
        self,
        work: Callable[[Batch, bool], Answers | None],
        refuse: Callable[[Request, bool], Response],
        *,
        local: bool,
    ) -> None:
        self._work = work
        self._refuse = refuse
        self._local = local
        self._pending: list[Request] = []
        self._batch = Batch()
        self._took_s = 0.0
        self._callers = 0  # that asked, or waited, at the end of the last batch
        self._timer: asyncio.TimerHandle | None = None
        self._ticks: tuple[float, float] | None = None  # the last but one, and the last
        self._thread = ThreadPoolExecutor(1, "petstore database")

    async def respond(self, request: Request) -> Response | None:
        """Have a request answered in the next batch; None: its body is needed."""
        self._loop = asyncio.get_running_loop()
        if self._ticks is None:
            self._ticks = elapsed(), elapsed()
            self._loop.call_later(TICK_S, self._tick)
        request.response = self._loop.create_future()
        request.since = self._ticks[0]
        self._pending.append(request)
        if not self._batch.requests:
            self._begin_soon()
        return await request.response

    def _begin_soon(self) -> None:
        """
        Begin a batch as soon as all who asked lately ask again, or a moment later.

        Else one of many callers begins alone, and all others wait for it and then for each other.
        """
        waiting = len(self._pending)
        if self._timer is None or waiting == self._callers:
            if self._timer is not None:
                self._timer.cancel()
            wait_s = 0.0 if waiting >= self._callers else min(self._took_s / 4, GATHER_S)
            self._timer = self._loop.call_later(wait_s, self._begin)

    def _begin(self) -> None:
        self._timer = None
        waiting = [request for request in self._pending if not request.response.done()]
        self._batch = Batch(waiting[:MAX_AT_ONCE])
        self._pending = waiting[MAX_AT_ONCE:]
        if not self._batch.requests:
            return
        if self._local and self._took_s < QUICK_S:
            responses = self._attempt(here=True)
            if responses is not None:
                self._end(responses)
                return
        self._thread.submit(self._run)

    def _run(self) -> None:
        responses = self._attempt(here=False)
        with suppress(RuntimeError):  # the loop has ended meanwhile
            self._loop.call_soon_threadsafe(self._end, responses)

    def _attempt(self, *, here: bool) -> Answers | None:
        begun_at = time.monotonic()
        responses = self._work(self._batch, here)
        self._took_s = time.monotonic() - begun_at
        return responses

    def _end(self, responses: Answers | None) -> None:
        assert responses is not None
        for request, response in zip(self._batch.requests, responses, strict=True):
            if not request.response.done():
                request.response.set_result(response)
        self._callers = len(self._batch.requests) + len(self._pending)
        self._batch = Batch()
        if self._pending:
            self._begin_soon()

    def _tick(self) -> None:
        """
        Answer what has waited too long.

        A request that is read now may have come at any time since the last tick but one: this
        process may have been stopped meanwhile, and its caller may have gone long ago.
        """
        assert self._ticks is not None
        self._loop.call_later(TICK_S, self._tick)
        self._ticks = self._ticks[1], elapsed()
        for requests in (self._batch.requests, self._pending):
            for request in requests:
                late = self._ticks[1] - request.since > request.patience_s
                if late and not request.response.done():
                    begun = requests is self._batch.requests and request.body
                    unknown = bool(begun) and not self._batch.give_up()
                    request.response.set_result(self._refuse(request, unknown))
