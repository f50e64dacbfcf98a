"""
The gate that every request of a key passes: it asks the throttle, waits, and records what came
back.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
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
from petstore_tools.text import utc_text
from petstore_tools.throttle import rate_headers
from petstore_tools.throttle.budget import Budget
from petstore_tools.throttle.ledger import Ledger
from petstore_tools.throttle.throttle import Go, Requester, Stop, Throttle, Wait

LOGGED_FROM_S: Final = 1.0  # shorter waits are not logged: the next answer ends them
_HOST: Final = socket.gethostname()
_log = logging.getLogger(__name__)
_REFUSALS: Final[dict[int, str]] = {
    401: "it does not know the key",
    429: "there were too many requests",
}
T = TypeVar("T")


class CallCancelled(Exception):  # noqa: N818 - no fault: the caller no longer wants the answer
    """The caller withdrew a call that was still waiting; nothing was sent."""


@dataclass(frozen=True)
class CallOptions:
    """
    How a call behaves while it has to wait.

    Attributes:
        bulk: People on the same key go first.
        reserve_per_day: Requests of the day that a bulk run leaves for others.
        wait: Wait as long as the plan requires; else no longer than the client's `max_wait_s`.
        cancelled: Asked before each attempt; True ends the call.
        on_wait: Called with each wait, and with None when it is over.
        on_sent: Called with each request that may have reached the service.
        more_follow: Another call follows soon, so the answer may be recorded with it.
    """

    bulk: bool = False
    reserve_per_day: int = 0
    wait: bool = False
    cancelled: Callable[[], bool] = lambda: False
    on_wait: Callable[[Wait | None], None] = lambda wait: None  # noqa: ARG005
    on_sent: Callable[[], None] = lambda: None
    more_follow: bool = False


ALONE: Final = CallOptions()


class Gate:
    """
    The gate of one key.

    Args:
        ledger: Keeps the budget.
        plan: The named plan, None to learn it.
        clock: Tells time and sleeps.
        max_wait_s: Longest wait of a call that was not asked to wait.

    Raises:
        SettingsError: `max_wait_s` is not a number of seconds.
    """

    def __init__(
        self, ledger: Ledger, plan: Plan | None, clock: Clock, *, max_wait_s: float
    ) -> None:
        given: object = max_wait_s
        if not isinstance(given, Real) or isinstance(given, bool) or not max_wait_s >= 0:
            raise SettingsError(
                f"max_wait_s must be a number of seconds, 0 or more, not {given!r:.60}"
            )
        self.ledger, self._plan, self._clock, self._max_wait_s = ledger, plan, clock, max_wait_s
        self._logged_until, self._logging = 0.0, threading.Lock()

    @property
    def name(self) -> str:
        """What the ledger calls this process."""
        return f"{_HOST} {os.getpid()}"

    def acquire(self, call_options: CallOptions = ALONE) -> str:
        """
        Ask until the throttle allows a request, and return its token; the one loop that waits for a
        limit.

        Raises:
            QuotaError: The wait is longer than allowed.
            KeyBannedError: The service has banned the key.
            CallCancelled: The caller withdrew.
        """
        patience_s = inf if call_options.wait else self._max_wait_s
        requester = Requester(
            self.name, call_options.bulk, call_options.reserve_per_day, patience_s
        )
        waited = False
        while True:
            if call_options.cancelled():
                raise CallCancelled
            decision = self._update(lambda throttle, now: throttle.ask(now, requester), late=True)
            match decision:
                case Go(token):
                    if waited:
                        call_options.on_wait(None)
                    return token
                case Stop(resumes_at, why):
                    retry_at = self.local_time(resumes_at)
                    status = HTTPStatus.TOO_MANY_REQUESTS
                    raise KeyBannedError(status, "", f"{why}.", "not sent", retry_at=retry_at)
                case Wait(until, why):
                    wait = Wait(self.local_time(until), why)
                    if wait.until - self._clock.now() > patience_s:
                        raise QuotaError(why, plan=str(self.read()[0]), resumes_at=wait.until)
                    waited = True
                    self.log_wait(wait)
                    call_options.on_wait(wait)
                    self._clock.sleep_until(wait.until)

    def log_wait(self, wait: Wait) -> None:
        """Log a wait of a second or more; calls that wait for the same moment share one line."""
        with self._logging:
            is_new = wait.until >= max(self._logged_until, self._clock.now()) + LOGGED_FROM_S
            if is_new:
                self._logged_until = wait.until
        if is_new:
            _log.info("Waiting until %s: %s.", utc_text(wait.until), wait.why)

    def answered(self, token: str, status: int, headers: Mapping[str, str], code: str) -> None:
        """
        Record an answer: status, headers, and the code of an Error body, which may name a ban.
        """
        banned = status == HTTPStatus.TOO_MANY_REQUESTS and "ban" in code.casefold()
        if status in _REFUSALS:
            why = "it has banned the key" if banned else _REFUSALS[status]
            _log.warning("The service refused a request (%d): %s.", status, why)

        def record(throttle: Throttle, now: float) -> None:
            service_now = throttle.budget.service_time(now)
            answer = rate_headers.read(status, headers, now=service_now, banned=banned)
            throttle.answered(token, now, answer)

        self._record(record)

    def failed(self, token: str, *, may_have_left: bool) -> None:
        """
        Record that no answer came: the request is spent, unless it is proven that nothing left.
        """
        self._record(lambda t, now: t.lost(token, now) if may_have_left else t.unsent(token, now))

    def now(self) -> float:
        """Return the ledger's Unix seconds."""
        return self._clock.now() + self.ledger.ahead_s

    def local_time(self, at: float) -> float:
        """Return what this machine's clock shows when the ledger's shows `at`."""
        return at - self.ledger.ahead_s

    def read(self) -> tuple[Plan, Throttle]:
        """Return the plan in force and a throttle over a copy of the budget; costs no request."""

        def copied(throttle: Throttle, now: float) -> tuple[Plan, Throttle]:
            throttle.settle(now)
            return throttle.plan, Throttle(self._plan, deepcopy(throttle.budget))

        return self._update(copied)

    def flush(self) -> None:
        """Record the answers that waited for another call."""

    def pause(self, seconds: float, call_options: CallOptions = ALONE) -> None:
        """
        Sleep, unless the call is withdrawn; a clock that is set back ends it early, never late.
        """
        began_at = self._clock.now()
        while began_at <= self._clock.now() < began_at + seconds:
            if call_options.cancelled():
                raise CallCancelled
            self._clock.sleep_until(began_at + seconds)

    def close(self) -> None:
        """Close the ledger."""
        self.ledger.close()

    def _record(self, change: Callable[[Throttle, float], None]) -> None:
        # an error of the ledger must not cost the answer that is in hand: the next `acquire` meets
        # the error, and until then the request counts as in flight
        def work(budget: Budget) -> None:
            self._change(budget, change)
            self._clock.poke()

        with suppress(LedgerError):
            self.ledger.post(work)

    def _update(self, change: Callable[[Throttle, float], T], *, late: bool = False) -> T:
        return self.ledger.update(lambda budget: self._change(budget, change), late=late)

    def _change(self, budget: Budget, change: Callable[[Throttle, float], T]) -> T:
        """
        Let `change` work on the budget; the time is read while the budget is held, not before.
        """
        now = self.now()
        budget.follow(
            now, (_HOST, time.monotonic()) if isinstance(self._clock, SystemClock) else None
        )
        return change(Throttle(self._plan, budget), now)
