"""The door that requests pass: asks the throttle over a ledger, waits as it says, tells what came back."""

from __future__ import annotations

import os
import socket
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from http import HTTPStatus
from math import inf
from numbers import Real
from typing import Final, TypeVar

from petstore_tools.clock import Clock, SystemClock
from petstore_tools.errors import KeyBannedError, LedgerError, QuotaError, SettingsError
from petstore_tools.plans import Plan
from petstore_tools.throttle import rate_headers as headers
from petstore_tools.throttle.budget import Budget
from petstore_tools.throttle.ledger import Ledger
from petstore_tools.throttle.throttle import Go, Requester, Stop, Throttle, Wait

MAX_WAIT_S: Final = 90.0
_HOST: Final = socket.gethostname()
_URGENT: Final = (  # told to all at once
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.SERVICE_UNAVAILABLE,
)
T = TypeVar("T")


class CallCancelled(Exception):  # noqa: N818 - no fault: the caller no longer wants the answer
    """The caller withdrew a call that was still waiting; nothing was sent."""


@dataclass(frozen=True)
class CallOptions:
    """
    How a call behaves while it has to wait.

    Attributes:
        bulk: People on the same key go first.
        leave_per_day: Requests of the day that a bulk run leaves.
        wait: Wait as long as the plan says; else no longer than the client's `max_wait_s`.
        busy: More requests follow at once: where there is ample room an answer is told together with the
            next question, which halves the ledger's work. The caller ends with `Gate.tell`.
        cancelled: Asked before each attempt; True ends the call.
        on_wait: Called with each wait, and with None when it is over.
        on_sent: Called with each request that may have reached the service.
        may_retry: Asked before each retry; False ends the call with what came.
    """

    bulk: bool = False
    leave_per_day: int = 0
    wait: bool = False
    busy: bool = False
    cancelled: Callable[[], bool] = lambda: False
    on_wait: Callable[[Wait | None], None] = lambda wait: None  # noqa: ARG005
    on_sent: Callable[[], None] = lambda: None
    may_retry: Callable[[], bool] = lambda: True


ALONE: Final = CallOptions()


class Gate:
    """
    The door of one key.

    Args:
        ledger: Keeps the budget.
        plan: The named plan, None to learn it.
        clock: Tells time and sleeps.
        max_wait_s: Longest wait of a call that was not told to wait.

    Raises:
        SettingsError: `max_wait_s` is no number of seconds.
    """

    def __init__(self, ledger: Ledger, plan: Plan | None, clock: Clock, *, max_wait_s: float) -> None:
        given: object = max_wait_s
        if not isinstance(given, Real) or isinstance(given, bool) or not max_wait_s >= 0:
            raise SettingsError(f"max_wait_s must be a number of seconds from 0 on, not {given!r:.60}")
        self.ledger, self._plan, self._clock, self._max_wait_s = ledger, plan, clock, max_wait_s
        self._ample: set[str] = set()  # tokens whose answer may be told late
        self._late: deque[Callable[[Throttle, float], None]] = (
            deque()
        )  # answers to tell with the next question

    @property
    def name(self) -> str:
        """What the ledger calls this process."""
        return f"{_HOST} {os.getpid()}"

    def enter(self, call_options: CallOptions = ALONE) -> str:
        """
        Ask until the throttle lets a request go, and return its token; the one loop that sleeps for a limit.

        Raises:
            QuotaError: The wait is longer than allowed.
            KeyBannedError: The service has banned the key.
            CallCancelled: The caller withdrew.
        """
        patience_s = inf if call_options.wait else self._max_wait_s
        requester = Requester(self.name, call_options.bulk, call_options.leave_per_day, patience_s)
        waited = False
        while True:
            if call_options.cancelled():
                raise CallCancelled
            decision = self._with(lambda throttle, now: throttle.ask(now, requester))
            match decision:
                case Go(token, ample):
                    if ample and call_options.busy:
                        self._ample.add(token)
                    if waited:
                        call_options.on_wait(None)
                    return token
                case Stop(resumes_at, why):
                    raise KeyBannedError(
                        HTTPStatus.TOO_MANY_REQUESTS,
                        "",
                        f"{why}.",
                        "not sent",
                        retry_at=self.here(resumes_at),
                    )
                case Wait(until, why):
                    wait = Wait(self.here(until), why)
                    if wait.until - self._clock.now() > patience_s:
                        raise QuotaError(why, plan=str(self.room()[0]), resumes_at=wait.until)
                    waited = True
                    call_options.on_wait(wait)
                    self._clock.sleep_until(wait.until)

    def answered(self, token: str, status: int, fields: Mapping[str, str], code: str) -> None:
        """Tell what came back: status, header fields, and the code of an Error body, which may name a ban."""
        banned = status == HTTPStatus.TOO_MANY_REQUESTS and "ban" in code.casefold()

        def tell(throttle: Throttle, now: float) -> None:
            service_now = throttle.budget.service_time(now)
            throttle.answered(token, now, headers.read(status, fields, now=service_now, banned=banned))

        late = token in self._ample and status not in _URGENT
        self._ample.discard(token)
        self._tell(tell, late=late)

    def failed(self, token: str, *, may_have_left: bool) -> None:
        """Tell that no answer came: spent, unless it is proven that nothing left."""
        self._ample.discard(token)
        self._tell(lambda t, now: t.lost(token, now) if may_have_left else t.unsent(token, now))

    def now(self) -> float:
        """Return the ledger's Unix seconds."""
        return self._clock.now() + self.ledger.ahead_s

    def here(self, at: float) -> float:
        """Return what this machine's clock shows when the ledger's shows `at`."""
        return at - self.ledger.ahead_s

    def room(self) -> tuple[Plan, Throttle]:
        """Return the plan in force and a throttle over a copy of the budget; costs no request."""

        def look(throttle: Throttle, now: float) -> tuple[Plan, Throttle]:
            throttle.settle(now)
            return throttle.plan, Throttle(self._plan, deepcopy(throttle.budget))

        return self._with(look)

    def pause(self, seconds: float, call_options: CallOptions = ALONE) -> None:
        """Sleep, unless the call is withdrawn; a clock that is set back ends it early, never late."""
        began_at = self._clock.now()
        while began_at <= self._clock.now() < began_at + seconds:
            if call_options.cancelled():
                raise CallCancelled
            self._clock.sleep_until(began_at + seconds)

    def tell(self) -> None:
        """Tell the answers that are not told yet: until then their requests count as under way."""
        # a fault of the ledger must not cost the answer that is in hand: the next `enter` meets it
        with suppress(LedgerError):
            if self._late:
                self._with(lambda throttle, now: None)  # noqa: ARG005
        self._clock.poke()

    def close(self) -> None:
        """Tell what is not told yet, and let go of the ledger."""
        self.tell()
        self.ledger.close()

    def _tell(self, what: Callable[[Throttle, float], None], *, late: bool = False) -> None:
        self._late.append(what)
        if late:
            self._clock.poke()
        else:
            self.tell()

    def _with(self, do: Callable[[Throttle, float], T]) -> T:
        """Let `do` work on the budget; the time is read when the budget is ours, not before."""
        told: list[Callable[[Throttle, float], None]] = []

        def work(budget: Budget) -> T:
            throttle, now = Throttle(self._plan, budget), self.now()
            budget.follow(now, (_HOST, time.monotonic()) if isinstance(self._clock, SystemClock) else None)
            while self._late:
                told.append(self._late.popleft())
                told[-1](throttle, now)
            return do(throttle, now)

        try:
            return self.ledger.update(work)
        except BaseException:
            self._late.extendleft(reversed(told))
            raise
