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
from petstore_tools.service.messages import Answer, Asked

MOST_AT_ONCE: Final = 256  # requests in one commit
LONGEST_S: Final = 10.0  # a request waits at most so long, and two seconds more
AT_ONCE_S: Final = 0.5  # what can be answered without the database waits so long for it
BEAT_S: Final = 1.0
QUICK_S: Final = 0.05
_log = logging.getLogger(__name__)


def elapsed() -> float:
    """Return seconds that also pass while the machine sleeps, where it can tell."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if sys.platform == "linux" else time.monotonic()


class Batches:
    """
    The requests that wait, and those that are being answered.

    Args:
        work: Answers requests together, in the database's thread, or `here`, where nothing may wait: then it
            returns None where another program holds the database up.
        refuse: Answers one that could not wait longer, and why.
        local: Says whether nothing but another program and a slow disk hold the database up, so that quick
            batches are answered without the thread, which takes a fifth more of the processor.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Asked], bool], list[Answer | None] | None],
        refuse: Callable[[Asked, UnavailableError], Answer],
        *,
        local: Callable[[], bool],
    ) -> None:
        self._work, self._refuse, self._local = work, refuse, local
        self._pending: list[Asked] = []
        self._under_way: list[Asked] = []
        self._begun_at = self._took_s = 0.0
        self._beats = (0.0, 0.0)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = ThreadPoolExecutor(1, "petstore database")

    async def answer(self, asked: Asked, *, at_once: bool = False) -> Answer | None:
        """
        Have a request answered in the next batch.

        Args:
            asked: The request; None comes back where its body is needed.
            at_once: It can be refused without the database, and is where that is slow.
        """
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._begin(loop)
        if asked.answer.done():  # it was asked without its body
            asked.answer = loop.create_future()
        if at_once and self._under_way and time.monotonic() - self._begun_at > AT_ONCE_S:
            return self._refuse(asked, UnavailableError(SILENT))
        asked.since = self._beats[0]
        self._pending.append(asked)
        if len(self._pending) == 1 and not self._under_way:
            loop.call_soon(self._next)  # what else comes in this turn of the loop joins it
        if at_once and not (await asyncio.wait((asked.answer,), timeout=AT_ONCE_S))[0]:
            asked.answer.set_result(self._refuse(asked, UnavailableError(SILENT)))
        return await asked.answer

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop, self._beats = loop, (elapsed(), elapsed())
        self._pending, self._under_way = [], []
        loop.call_later(BEAT_S, self._beat)

    def _next(self) -> None:
        """Have what is pending answered."""
        assert self._loop is not None
        waiting = [asked for asked in self._pending if not asked.answer.done()]
        self._under_way, self._pending = waiting[:MOST_AT_ONCE], waiting[MOST_AT_ONCE:]
        if not self._under_way:
            return
        if self._local() and self._took_s < QUICK_S:
            answers = self._attempt(self._under_way, here=True)
            if answers is not None:
                self._done(self._under_way, answers)
                return
        self._begun_at = time.monotonic()
        self._thread.submit(self._run, self._under_way, self._loop)

    def _run(self, batch: Sequence[Asked], loop: asyncio.AbstractEventLoop) -> None:
        answers = self._attempt(batch, here=False)
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(self._done, batch, answers or [])

    def _attempt(self, batch: Sequence[Asked], *, here: bool) -> list[Answer | None] | None:
        begun_at = time.monotonic()
        try:
            return self._work(batch, here)
        except Exception:
            _log.exception("a batch of requests failed")
            return [self._refuse(asked, UnavailableError("failed", unknown=True)) for asked in batch]
        finally:
            self._took_s = time.monotonic() - begun_at

    def _done(self, batch: Sequence[Asked], answers: Sequence[Answer | None]) -> None:
        for asked, answer in zip(batch, answers, strict=True):
            if not asked.answer.done():
                asked.answer.set_result(answer)
        self._under_way = []
        if self._pending:
            assert self._loop is not None
            self._loop.call_soon(self._next)

    def _beat(self) -> None:
        """
        Refuse what has waited too long, each second.

        A request that is read now may have come at any time since the last beat but one: this process may
        have been stopped meanwhile, and its caller be gone for long.
        """
        assert self._loop is not None
        self._loop.call_later(BEAT_S, self._beat)
        self._beats = self._beats[1], elapsed()
        before = self._beats[0] - LONGEST_S
        for asked in self._under_way:
            if asked.since < before and not asked.answer.done():
                late = UnavailableError(SILENT, unknown=asked.method == "POST" and asked.body is not None)
                asked.answer.set_result(self._refuse(asked, late))
        for asked in self._pending:
            if asked.since < before and not asked.answer.done():
                asked.answer.set_result(self._refuse(asked, UnavailableError(SILENT)))
        self._pending = [asked for asked in self._pending if not asked.answer.done()]
