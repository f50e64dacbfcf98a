"""
Requests that wait for the database: one thread uses it, and answers all that wait
together.

So whatever holds up the database holds up no other answer, and none waits for it
without end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from petstore_tools.clock import SystemClock
from petstore_tools.service.engine import SILENT, UnavailableError
from petstore_tools.service.messages import Request, Response

MAX_AT_ONCE = 256  # requests in one commit
TICK_S = 0.25
# seconds that also pass while the machine sleeps, where it can tell
elapsed = SystemClock().steady


class Batch:
    """
    Requests that are answered together. They are committed, or given up: never both.
    """

    def __init__(self, requests: Sequence[Request] = ()) -> None:
        self.requests = requests
        self._outcome: dict[str, str] = {}

    def decide(self, outcome: str) -> bool:
        """
        Decide that it is `outcome`, and say whether that is so: the first call decides.
        """
        return self._outcome.setdefault("is", outcome) == outcome


class Batches:
    """
    The requests that wait, and those that are being answered.

    Args:
        answer_batch: Answers a batch, in a thread of its own.
        refuse: Answers a request that has waited too long.
    """

    def __init__(
        self,
        answer_batch: Callable[[Batch], Sequence[Response | None]],
        refuse: Callable[[Request, UnavailableError], Response],
    ) -> None:
        self._answer_batch = answer_batch
        self._refuse = refuse
        self._pending: list[Request] = []
        self._batch = Batch()
        self._answering: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, "petstore service")

    async def respond(self, request: Request) -> Response | None:
        """
        Return the answer of the next batch to a request, None where its body is needed.
        """
        self._loop = asyncio.get_running_loop()
        if self._answering is None:
            self._ticks = elapsed(), elapsed()  # the last but one, and the last
            self._loop.call_later(TICK_S, self._refuse_late_requests)
        request.response = self._loop.create_future()
        request.sent_after = self._ticks[0]
        self._pending.append(request)
        if self._answering is None or self._answering.done():
            self._answering = self._loop.create_task(self._answer())
        return await request.response

    async def _answer(self) -> None:
        """Answer all that wait, batch by batch."""
        while self._pending:
            self._batch = Batch(self._pending[:MAX_AT_ONCE])
            self._pending = self._pending[MAX_AT_ONCE:]
            responses = await self._loop.run_in_executor(
                self._thread, self._answer_batch, self._batch
            )
            for request, response in zip(self._batch.requests, responses, strict=True):
                if not request.response.done():
                    request.response.set_result(response)
            self._batch = Batch()

    def close(self) -> None:
        """End the thread that answers, when no request comes any more."""
        self._thread.shutdown()

    def _refuse_late_requests(self) -> None:
        """
        Refuse requests that have waited too long, every quarter of a second.

        A request that is read now may have come at any time since the last tick but
        one: this process may have been paused meanwhile, and its caller may have given
        up long ago.
        """
        self._loop.call_later(TICK_S, self._refuse_late_requests)
        self._ticks = self._ticks[1], elapsed()
        for request in (*self._batch.requests, *self._pending):
            is_late = self._ticks[1] - request.sent_after > request.patience_s
            if is_late and not request.response.done():
                unknown = request.pet is not None and not (
                    request in self._pending or self._batch.decide("given up")
                )
                request.response.set_result(
                    self._refuse(request, UnavailableError(SILENT, unknown=unknown))
                )
        self._pending = [
            request for request in self._pending if not request.response.done()
        ]
