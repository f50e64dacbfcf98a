"""
The gate that every request of a key passes: it asks the throttle, waits, and records
what came back.
"""

import logging
import re
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from http import HTTPStatus
from math import inf
from numbers import Real
from typing import TypeVar

from petstore_tools.clock import Clock
from petstore_tools.errors import KeyBannedError, LedgerError, QuotaError, SettingsError
from petstore_tools.plans import Plan
from petstore_tools.text import utc_text
from petstore_tools.throttle import rate_headers
from petstore_tools.throttle.budget import Budget
from petstore_tools.throttle.ledger import Ledger
from petstore_tools.throttle.throttle import Go, Throttle, Wait

LOGGED_FROM_S = 1.0  # shorter waits are not logged: the next answer ends them
_log = logging.getLogger(__name__)
T = TypeVar("T")


class CallCancelled(Exception):  # noqa: N818 - no fault: the caller no longer wants the answer
    """The caller withdrew a call that was still waiting; nothing was sent."""


@dataclass(frozen=True)
class CallOptions:
    """
    How a call behaves while it has to wait.

    Attributes:
        bulk: It leaves the last tenth of each window to people.
        wait: Wait as long as the plan requires; else no longer than the client's
            `max_wait_s`.
        cancelled: Asked before each attempt; True ends the call.
        on_wait: Called with each wait, a retry's included, and with None behind each
            attempt.
        on_sent: Called with each request that may have reached the service.
        more_follow: Another call follows soon, so the answer may be recorded with it;
            who sets it calls `Gate.flush` behind the last one.
    """

    bulk: bool = False
    wait: bool = False
    cancelled: Callable[[], bool] = lambda: False
    on_wait: Callable[[Wait | None], None] = lambda _: None
    on_sent: Callable[[], object] = lambda: None
    more_follow: bool = False


ALONE = CallOptions()


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
        is_number = isinstance(max_wait_s, Real) and not isinstance(max_wait_s, bool)
        if not (is_number and max_wait_s >= 0):
            raise SettingsError(
                "max_wait_s must be a number of seconds, 0 or more, not"
                f" {max_wait_s!r:.60}"
            )
        self.ledger = ledger
        self._plan = plan
        self._clock = clock
        self._max_wait_s = max_wait_s
        self._ahead_s = 0.0  # how far the ledger's time is ahead of this machine's
        self._logged_until = 0.0
        self._queued_updates: deque[Callable[[Throttle], None]] = deque()

    def acquire(
        self, call_options: CallOptions = ALONE, *, waited_s: float = 0.0
    ) -> Go:
        """
        Ask until the throttle allows a request; the one loop that waits for a limit.

        Args:
            call_options: How the call waits.
            waited_s: Seconds that it has waited already, which are taken off
                `max_wait_s`.

        Raises:
            QuotaError: The wait is longer than allowed.
            KeyBannedError: The service has banned the key.
            CallCancelled: The caller withdrew.
        """
        patience_s = inf if call_options.wait else self._max_wait_s - waited_s
        while True:
            if call_options.cancelled():
                raise CallCancelled
            decision = self._update(
                lambda throttle: throttle.ask(
                    throttle.budget.seen_at, bulk=call_options.bulk
                )
            )
            if isinstance(decision, Go):
                return decision
            reason = decision.reason
            until = self.local_time(decision.until)
            if decision.banned:
                raise KeyBannedError(reason, retry_at=until)
            if until - self._clock.now() > patience_s:
                raise QuotaError(reason, resumes_at=until)
            wait = Wait(until, reason, self.local_time(decision.ask_at))
            self.log_wait(wait)
            call_options.on_wait(wait)
            self._clock.sleep_until(min(until, wait.ask_at))

    def log_wait(self, wait: Wait) -> None:
        """
        Log a wait of a second or more; calls that wait for the same moment share one
        line.
        """
        soonest = min(wait.until, wait.ask_at)
        if soonest >= max(self._logged_until, self._clock.now()) + LOGGED_FROM_S:
            self._logged_until = wait.until
            _log.info("Waiting until %s: %s.", utc_text(wait.until), wait.reason)

    def record_reply(
        self,
        go: Go,
        status: int,
        headers: Mapping[str, str],
        code: str,
        *,
        more_follow: bool = False,
    ) -> None:
        """
        Record an answer: status, headers, and the code of a 429's Error body, which may
        name a ban.

        An answer that others need, a probe's or a refusal, is recorded at once.
        """
        words = re.sub("(?<=[a-z])(?=[A-Z])", " ", code).casefold()
        banned = re.search("banned|(?<![a-z])ban(?![a-z])", words) is not None
        now = self.now()
        reply = rate_headers.read_reply(status, headers, now=now, banned=banned)
        self._queued_updates.append(
            lambda throttle: throttle.record_reply(go, now, reply)
        )
        if go.probe or not more_follow or status >= HTTPStatus.BAD_REQUEST:
            self.flush()

    def record_failure(self, go: Go, *, may_have_left: bool) -> None:
        """
        Record that no answer came: the request is spent, unless it is proven that
        nothing left.
        """
        now = self.now()
        self._queued_updates.append(
            lambda throttle: (
                throttle.record_loss(go.token, now)
                if may_have_left
                else throttle.cancel_grant(go)
            )
        )
        self.flush()

    def flush(self) -> None:
        """Record the answers that waited for another call."""
        if self._queued_updates:
            # an error of the ledger must not cost the answer that is in hand: the next
            # `acquire` meets the error, and until then the request counts as in flight
            with suppress(LedgerError):
                self._update(lambda _: None)
            self._clock.wake_sleepers()

    def now(self) -> float:
        """Return the ledger's Unix seconds."""
        return self._clock.now() + self._ahead_s

    def local_time(self, ledger_time: float) -> float:
        """Return what this machine's clock shows at a time of the ledger's."""
        return ledger_time - self._ahead_s

    def read_budget(self) -> Throttle:
        """Return a throttle over a copy of the budget; costs no request."""
        throttle = self._update(deepcopy)
        throttle.advance_to(self.now())
        return throttle

    def pause(
        self, seconds: float, reason: str, call_options: CallOptions = ALONE
    ) -> None:
        """
        Sleep, unless the call is withdrawn; a clock that is set makes it no longer.
        """
        ends_at = self._clock.steady() + seconds
        while (left_s := ends_at - self._clock.steady()) > 0:
            if call_options.cancelled():
                raise CallCancelled
            wait = Wait(self._clock.now() + left_s, reason)
            call_options.on_wait(wait)
            self._clock.sleep_until(wait.until)

    def close(self) -> None:
        """Close the ledger."""
        self.flush()
        self.ledger.close()

    def _update(self, change: Callable[[Throttle], T]) -> T:
        """
        Let `change` work on the budget; the time is read while the budget is held, not
        before: it is the latest that was seen.
        """

        def apply_change(budget: Budget) -> T:
            clock_s = self._clock.now()
            ledger_s = clock_s + self.ledger.ahead_s
            now = budget.follow_clock(
                ledger_s, self._clock.machine, self._clock.steady()
            )
            self._ahead_s = now - clock_s
            throttle = Throttle(budget, self._plan)
            while self._queued_updates:
                self._queued_updates.popleft()(throttle)
            return change(throttle)

        return self.ledger.update(apply_change)
