"""
Requests that wait for the database: one thread uses it, and answers all that wait together.

So whatever holds up the database holds up no other answer, and none waits for it without end.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final

from petstore_tools.service.engine import SILENT, UnavailableError
from petstore_tools.service.messages import Request, Response

MAX_AT_ONCE: Final = 256  # requests in one commit
MAX_WAIT_S: Final = 8.0  # a request waits at most so long, and two ticks more
AT_ONCE_S: Final = (
    0.5  # what can be answered without the database waits so long for it, and a tick more
)
TICK_S: Final = 0.25
QUICK_S: Final = 0.05
GATHER_S: Final = 0.005
_log = logging.getLogger(__name__)


def elapsed() -> float:
    """Return seconds that also pass while the machine sleeps, where it can tell."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if sys.platform == "linux" else time.monotonic()


class Batches:
    """
    The requests that wait, and those that are being answered.

    Args:
        work: Answers requests together, in the database's thread, or `here`, where nothing may
            wait: then it returns None where another program holds the database up.
        refuse: Answers one that could not wait longer, and why.
        without: Answers one that does not need the database; None: it does.
        local: Nothing but another program and a slow disk holds the database up: quick
            batches are answered without the thread, which takes a fifth more of the processor.
    """

    _loop: asyncio.AbstractEventLoop  # that answered last

    def __init__(
        self,
        work: Callable[[Sequence[Request], bool], list[Response | None] | None],
        refuse: Callable[[Request, UnavailableError], Response],
        *,
        without: Callable[[Request], Response | None],
        local: bool,
    ) -> None:
        self._work, self._refuse, self._without, self._local = work, refuse, without, local
        self._pending: list[Request] = []
        self._under_way: list[Request] = []
        self._begun_at, self._took_s, self._size = 0.0, 0.0, 0
        self._ticks = (0.0, 0.0)  # the last but one, and the last
        self._thread = ThreadPoolExecutor(1, "petstore database")

    async def respond(self, request: Request) -> Response | None:
        """
        Have a request answered in the next batch, or without the database; None: its body is
        needed.
        """
        loop = asyncio.get_running_loop()
        if loop is not getattr(self, "_loop", None):
            self._loop, self._ticks = loop, (elapsed(), elapsed())
            self._pending, self._under_way = [], []
            loop.call_later(TICK_S, self._tick)
        request.response = loop.create_future()
        if self._is_slow() and (response := self._without(request)) is not None:
            return response
        request.since = self._ticks[0]
        self._pending.append(request)
        if len(self._pending) == 1 and not self._under_way:
            self._begin_soon()
        return await request.response

    def _is_slow(self) -> bool:
        """
        Say whether the database keeps a batch waiting, or kept the last one and has not answered
        since.
        """
        waited_s = time.monotonic() - self._begun_at
        return bool(self._under_way) and max(waited_s, self._took_s) > AT_ONCE_S

    def _begin_soon(self) -> None:
        """
        Begin a batch: what else comes in this turn of the loop joins it.

        Where the database is far and the last batch had many callers, they are given a moment to
        come again: else one begins alone, and all others wait for it and then for each other.
        """
        gather_s = 0.0 if self._local or self._size < 2 else min(self._took_s / 4, GATHER_S)
        self._loop.call_later(gather_s, self._next)

    def _next(self) -> None:
        """Have what is pending answered."""
        if self._under_way:
            return
        waiting = [request for request in self._pending if not request.response.done()]
        self._under_way, self._pending = waiting[:MAX_AT_ONCE], waiting[MAX_AT_ONCE:]
        self._size = len(self._under_way)
        if not self._under_way:
            return
        if self._local and self._took_s < QUICK_S:
            responses = self._attempt(self._under_way, here=True)
            if responses is not None:
                self._done(self._under_way, responses)
                return
        self._begun_at = time.monotonic()
        self._thread.submit(self._run, self._under_way, self._loop)

    def _run(self, batch: Sequence[Request], loop: asyncio.AbstractEventLoop) -> None:
        responses = self._attempt(batch, here=False)
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(self._done, batch, responses or [])

    def _attempt(self, batch: Sequence[Request], *, here: bool) -> list[Response | None] | None:
        begun_at = time.monotonic()
        try:
            return self._work(batch, here)
        except Exception:
            _log.exception("a batch of requests failed")
            return [
                self._refuse(request, UnavailableError("failed", unknown=True)) for request in batch
            ]
        finally:
            self._took_s = time.monotonic() - begun_at

    def _done(self, batch: Sequence[Request], responses: Sequence[Response | None]) -> None:
        for request, response in zip(batch, responses, strict=True):
            if not request.response.done():
                request.response.set_result(response)
        self._under_way = []
        if self._pending:
            self._begin_soon()

    def _tick(self) -> None:
        """
        Answer what has waited too long, and, where the database is slow, what does not need it.

        A request that is read now may have come at any time since the last tick but one: this
        process may have been stopped meanwhile, and its caller may have gone long ago.
        """
        self._loop.call_later(TICK_S, self._tick)
        self._ticks, slow = (self._ticks[1], elapsed()), self._is_slow()
        for requests, begun in ((self._under_way, True), (self._pending, False)):
            for request in [one for one in requests if not one.response.done()]:
                response = self._without(request) if slow else None
                if response is None and request.since < self._ticks[0] - MAX_WAIT_S:
                    unknown = begun and request.method == "POST" and request.body is not None
                    response = self._refuse(request, UnavailableError(SILENT, unknown=unknown))
                if response is not None:
                    request.response.set_result(response)
        self._pending = [request for request in self._pending if not request.response.done()]
