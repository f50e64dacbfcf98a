"""
Pure: the throttle, which decides whether a request may go now.

It is asked (`ask`), is given what came back (`answered`, `lost`, `unsent`), and keeps what it knows
in a `Budget` that a ledger shares between threads, processes and restarts. Why it causes no 429:

- *Own count.* A request counts from its grant until a whole period after the last moment at which
  it may have arrived (`WindowBudget`), or to the end of the window that a passed Reset opened. So
  every window holds at most the plan, whatever Remaining says.
- *Remaining.* An answer that says `Remaining: R` allows R requests after the moment it was made.
  What was answered later is in a smaller R of the same window, or is taken off (`unreported`); so
  is what is in flight. Of answers whose order is not known, the least R counts.
- *Probe.* When a window's reset has passed, nothing is known: one request goes, the others wait for
  it, for a few seconds; then another one goes.
- *Block.* After a 429, or a 503 with a Retry-After, nothing goes before the time it named; then one
  probe. Where 429s come that neither our count nor the headers explain, the plan is lowered for the
  day to what was granted.

Other programs on the same key show in R; between two answers they can take what R promised. Spec:
§8.2 to §8.4; the gaps there (window, unit, ban) are read as the service's README says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from http import HTTPStatus
from math import inf
from typing import Final

from petstore_tools import spec
from petstore_tools.plans import DOCUMENTED, PERIODS, Plan, Window, WindowName
from petstore_tools.throttle import rate_headers
from petstore_tools.throttle.budget import GUARD_S, Budget, InFlight, Lowered, Reading
from petstore_tools.throttle.rate_headers import Answer

PROBE_LEASE_S: Final = 4.0
SLOWER: Final = 0.9  # how much of the longest wait for an answer is remembered at each answer
LOST_AFTER_S: Final = 60.0  # longer than any request lives here: its process died
POLL_S: Final = 0.05  # how soon to ask again when only an answer is missing
BLOCK_MARGIN_S: Final = 0.5
BACKOFF_BASE_S: Final = 5.0  # after a 429 that names no usable time
BACKOFF_LONGEST_S: Final = 900.0
TENTH: Final = 10  # the part of a window that a bulk run leaves to people
MOST_RESERVED: Final = 20  # requests of a day that it leaves at most


@dataclass(frozen=True, slots=True)
class Go:
    """
    Send now, and report what came back under `token`; a probe's answer is what others wait for.
    """

    token: str
    probe: bool = False


@dataclass(frozen=True, slots=True)
class Wait:
    """
    Ask again at `until` (client's Unix seconds) or when an answer came in; `why` is for people.
    """

    until: float
    why: str


@dataclass(frozen=True, slots=True)
class Stop:
    """Do not ask again before `resumes_at` (client's Unix seconds): the key is banned."""

    resumes_at: float
    why: str


Decision = Go | Wait | Stop


@dataclass(frozen=True, slots=True)
class WindowState:
    """
    What one window has left.

    Attributes:
        limit: The number in force, None where it is not known.
        left: Requests, `inf` where the limit is not known; in flight is spent.
        frees_at: Client's Unix seconds at which more is left.
        by_headers: The service's headers say so; else our own count.
    """

    limit: int | None
    left: float
    frees_at: float
    by_headers: bool


class Throttle:
    """
    The rules over one budget.

    Args:
        plan: The named plan, a ceiling; None to learn it from the headers.
        budget: The shared state; changed in place.
    """

    def __init__(self, plan: Plan | None, budget: Budget) -> None:
        self._named = plan
        self.budget = budget

    @property
    def plan(self) -> Plan:
        """The plan in force: the named one, the learnt one, else the smallest documented."""
        plan = self._named or self.budget.learned or DOCUMENTED[0]
        lowered = self.budget.lowered
        if not lowered:
            return plan
        per_minute = min(
            [n for n in (plan.per_minute, _limit(lowered.get("minute"))) if n], default=None
        )
        per_day = min([n for n in (plan.per_day, _limit(lowered.get("day"))) if n], default=None)
        return replace(plan, per_minute=per_minute, per_day=per_day)

    def ask(self, now: float, *, bulk: bool = False) -> Decision:
        """May a request go at `now`? A Go is spent at once."""
        self.settle(now)
        b = self.budget
        if now < b.blocked_until:
            return (Stop if b.banned else Wait)(b.blocked_until, b.reason)
        # where answers take long, a probe that is under way is not lost yet
        if b.needs_probe and now < b.probe_at + max(PROBE_LEASE_S, 2 * b.slowest_s):
            return Wait(now + POLL_S, "the first request that shows what is left")
        waits = [wait for name in PERIODS if (wait := self._check(name, now, bulk=bulk))]
        if waits:
            longest = max(waits, key=lambda wait: wait.until)
            return Wait(max(longest.until, now + POLL_S), longest.why)
        b.granted += 1
        if b.needs_probe:
            b.probe_at = now
        unreported: dict[str, int] = {name: window.unreported for name, window in b.windows.items()}
        token = str(b.granted)
        b.in_flight[token] = InFlight(now, b.needs_probe, unreported)
        return Go(token, b.needs_probe)

    def unsent(self, token: str) -> None:
        """Take a grant back: it is proven that no byte left."""
        request = self.budget.in_flight.pop(token, None)
        if request is not None and request.probe:
            self.budget.probe_at = 0.0

    def lost(self, token: str, now: float) -> None:
        """Note that no answer came: the request may have been counted."""
        if self.budget.in_flight.pop(token, None) is not None:
            self._count(now, reported=None)

    def answered(self, token: str, now: float, answer: Answer) -> None:
        """Note what came back."""
        b = self.budget
        completed = b.in_flight.pop(token, None)
        unreported: dict[str, int] = {name: window.unreported for name, window in b.windows.items()}
        request = completed or InFlight(
            now, False, unreported
        )  # given up, so it is counted already
        if request.probe:
            b.probe_at = 0.0
        refused = answer.status == HTTPStatus.TOO_MANY_REQUESTS
        reported: WindowName | None = None
        if (
            answer.status != HTTPStatus.UNAUTHORIZED
        ):  # its headers are not this key's (our choice, §5)
            b.learn_skew(answer.date, sent_at=request.sent_at, now=now)
            reported = self._read(int(token) if completed else 0, answer, request, now)
        if completed:
            b.slowest_s = max(SLOWER * b.slowest_s, now - request.sent_at)
            self._count(now, reported=reported, refused=refused)
        if refused:
            self._refused(answer, request, reported, now)
        elif answer.status == HTTPStatus.SERVICE_UNAVAILABLE and answer.retry_after_s is not None:
            self._block(now + answer.retry_after_s, "the service asked for a pause (503)")
        elif answer.status != HTTPStatus.UNAUTHORIZED:
            if request.sent_at > b.refused_at:
                b.consecutive_429s = 0
            if request.probe:
                b.needs_probe = b.invited = False
                for window in b.windows.values():
                    window.may_open_at = None

    def state(self, name: WindowName, now: float) -> WindowState:
        """Say what a window has left at `now`, without asking for it."""
        b = self.budget
        in_flight = len(self.budget.in_flight)
        window = b.windows[name]
        ceiling = self._ceiling(name)
        counted = WindowState(None, inf, now, False)
        if ceiling is not None:
            left = ceiling - window.used(now) - in_flight
            # what is in flight stops counting after it was answered or lost: then ask again
            frees_at = window.frees_at(now, max(1, 1 - left - in_flight))
            counted = WindowState(ceiling, left, frees_at, False)
        if window.reading is None:
            return counted
        limit, remaining = window.reading.under(ceiling)
        ends_at = b.client_time(window.reading.reset) + GUARD_S
        reported = WindowState(limit, remaining - in_flight, ends_at, True)
        return min(reported, counted, key=lambda state: state.left)

    def _ceiling(self, name: WindowName) -> int | None:
        return self.plan.per_minute if name == "minute" else self.plan.per_day

    def _check(self, name: WindowName, now: float, *, bulk: bool) -> Wait | None:
        """Return why a window holds a request back, if it does."""
        state = self.state(name, now)
        reserve = reserved(name, state.limit) if bulk else 0
        b = self.budget
        may_open = b.invited or b.windows[name].may_open_at is not None
        is_invited = b.needs_probe and may_open and not state.by_headers
        if state.limit is None or state.left > reserve:
            return None
        if is_invited:
            if len(b.in_flight) < state.limit:
                return None
            # they may have taken the whole new window, whether their answers come or are lost
            oldest = min(request.sent_at for request in b.in_flight.values())
            return Wait(oldest + LOST_AFTER_S, "the answers to requests that were sent before")
        if state.left + len(b.in_flight) > reserve:
            return Wait(now + POLL_S, "the answers to requests that were sent before")
        why = f"the {state.limit:,} requests of this {name} are used"
        if state.left > 0:
            why = (
                f"the last {state.left:.0f} of the {state.limit:,} requests of this {name} "
                "are reserved"
            )
        return Wait(state.frees_at, why)

    def settle(self, now: float) -> None:
        """
        Apply the passing of time: requests of dead processes are spent, old counts and readings
        end.
        """
        b = self.budget
        for token, request in list(b.in_flight.items()):
            if now - request.sent_at >= LOST_AFTER_S:
                self.lost(token, now)
        b.lowered = {name: lowered for name, lowered in b.lowered.items() if now < lowered.until}
        b.unexplained = {name: until for name, until in b.unexplained.items() if now < until}
        service_now = b.service_time(now)
        for name, window in b.windows.items():
            window.settle(now)
            if window.may_open_at is not None and now >= window.may_open_at + window.period_s:
                window.may_open_at = None
            if name == "day" and b.utc_day:
                self._open(name, b.client_time(Window(1, spec.DAY_S).start(service_now)))
            if (reading := window.reading) is None:
                continue
            ahead_s = reading.reset - service_now
            if not -GUARD_S < ahead_s <= window.period_s + 3 * GUARD_S:
                window.reading = None
                b.needs_probe = True
                if ahead_s <= 0 and not reading.assumed:
                    window.may_open_at = b.client_time(reading.reset)

    def _count(self, now: float, *, reported: WindowName | None, refused: bool = False) -> None:
        """Count one request; a refused one costs the day nothing (our choice, §7)."""
        for name, window in self.budget.windows.items():
            if refused and name == "day":
                continue
            window.add(now)
            if name != reported:
                window.unreported += 1
                if window.reading is not None:
                    window.reading.remaining -= 1
                    window.reading.as_of = self.budget.granted

    def _read(
        self, number: int, answer: Answer, request: InFlight, now: float
    ) -> WindowName | None:
        """Take in the rate headers; return the window they reported on, None where they did not."""
        b = self.budget
        reset = answer.reset
        if answer.limit is None or answer.remaining is None:
            return None
        service_now = b.service_time(now)
        if reset is not None and rate_headers.is_believable(reset - service_now):
            if self._named is None:
                rate_headers.learn(b, answer.limit, reset, now)
            name = rate_headers.window(answer.limit, reset - service_now, self.plan)
            window = b.windows[name]
            remaining = answer.remaining - (window.unreported - request.unreported[name])
            window.believe(Reading(answer.limit, remaining, reset, b.granted), number=number)
            if window.may_open_at is not None:
                # what surely came since, and this one: with anything older it is not fresh
                ours = b.windows["minute"].since(window.may_open_at + GUARD_S) + 1
                if answer.limit - answer.remaining <= ours:
                    self._open(name, window.may_open_at)
                window.may_open_at = None
            b.utc_day = b.utc_day or (name == "day" and reset % spec.DAY_S == 0)
            return name
        if (
            reset is not None
            and b.service_time(request.sent_at) - 2 * GUARD_S < reset <= service_now
        ):
            return None  # it was true when it was sent, and its window has ended since
        self._hold(answer.limit, answer.remaining, now)
        return "minute"

    def _hold(self, limit: int, remaining: int, now: float) -> None:
        """Keep to a Remaining that came without a believable time for a minute; it only lowers."""
        b = self.budget
        window = self.budget.windows["minute"]
        if (known := window.reading) is None:
            state = self.state("minute", now)
            reset = b.service_time(now) + spec.MINUTE_S
            remaining = int(min(remaining, state.left + len(b.in_flight) - 1))
            window.reading = Reading(
                state.limit or limit, remaining, reset, b.granted, assumed=True
            )
        else:
            known.remaining = min(known.remaining - 1, remaining)
            known.as_of = b.granted

    def _refused(
        self, answer: Answer, request: InFlight, reported: WindowName | None, now: float
    ) -> None:
        """Block all requests after a 429 (§8.4)."""
        b = self.budget
        requested_s = self._requested_wait_s(answer, now)
        if request.sent_at > b.refused_at:  # those in flight together are one refusal
            b.consecutive_429s += 1
            b.refused_at = now
            is_explained = reported is not None and answer.remaining == 0
            if requested_s is not None and not answer.banned and not is_explained:
                self._doubt_plan(_window_of(requested_s), requested_s, now)
        if requested_s is not None:
            b.invited = True
        wait_s = BACKOFF_BASE_S if requested_s is None else requested_s
        longer_s = max(wait_s, 1.0) * (2 ** min(b.consecutive_429s - 1, 10) - 1)
        until = now + wait_s + min(longer_s, BACKOFF_LONGEST_S)
        if answer.banned:
            self._block(until, "the service has banned this key (429)", banned=True)
        else:
            self._block(until, "the service answered 429 (too many requests)")

    def _open(self, name: WindowName, at: float) -> None:
        windows = self.budget.windows
        windows[name].open(at, later=windows["minute"].since(at))

    def _doubt_plan(self, name: WindowName, wait_s: float, now: float) -> None:
        """Lower the plan to what was granted where refusals go on that nothing explains."""
        b = self.budget
        ceiling = self._ceiling(name)
        window = b.windows[name]
        granted = window.since(now + wait_s - window.period_s) - (name == "minute")
        service_now = b.service_time(now)
        until = now + Window(1, spec.DAY_S).end(service_now) - service_now
        if name in b.unexplained and (ceiling is None or granted < ceiling):
            b.lowered[name] = Lowered(max(1, granted), until)
        b.unexplained[name] = until

    def _block(self, until: float, reason: str, *, banned: bool = False) -> None:
        """Let nothing go before a time, and then one probe."""
        b = self.budget
        b.needs_probe = True
        if until + BLOCK_MARGIN_S > b.blocked_until:
            b.blocked_until = until + BLOCK_MARGIN_S
            b.reason = reason
            b.banned = banned

    def _requested_wait_s(self, answer: Answer, now: float) -> float | None:
        """
        Return the seconds that the service asked to wait for, None where it named no usable time.
        """
        if answer.retry_after_s is not None:
            return answer.retry_after_s
        ahead_s = 0.0 if answer.reset is None else answer.reset - self.budget.service_time(now)
        return ahead_s + GUARD_S if 0 < ahead_s <= spec.DAY_S else None


def reserved(name: WindowName, limit: int | None) -> int:
    """Return how many requests of a window a bulk run leaves to people."""
    if limit is None:
        return MOST_RESERVED if name == "day" else 0
    return limit // TENTH if name == "minute" else min(MOST_RESERVED, limit // TENTH)


def _window_of(wait_s: float) -> WindowName:
    """Tell which window refused a request: it ends when the wait does."""
    return "minute" if wait_s <= spec.MINUTE_S + GUARD_S else "day"


def _limit(lowered: Lowered | None) -> int | None:
    return None if lowered is None else lowered.limit
