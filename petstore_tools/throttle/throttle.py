"""
Pure: the throttle, which decides whether a request may go now.

It is asked (`ask`), is given what came back (`answered`, `lost`, `unsent`), and keeps what it knows
in a
`Budget` that a ledger shares between threads, processes and restarts. Why it causes no 429:

- *Own count.* A request counts from its grant until a whole period after the last moment at which
  it may have arrived (`WindowBudget`); so every period the service could choose holds at most the
  plan.
- *Remaining.* An answer that says `Remaining: R` allows R requests after the moment it was made.
  What was answered later is in a smaller R of the same window, or is taken off (`unreported`); so
  is what is in flight. Of answers whose order is not known, the least R counts.
- *Probe.* When a window's reset has passed, nothing is known: one request goes, the others wait for
  it.
- *Turns.* A process that waits goes before any that began to wait later, people before bulk runs:
  with `n` processes and `L` requests in a window, each is served within `n / L` windows, rounded
  up.
- *Block.* After a 429, or a 503 with a Retry-After, nothing goes before the time it named; then one
  probe.

Other programs on the same key show in R; between two answers they can take what R promised. Spec:
§8.2 to §8.4; the gaps there (window, unit, ban) are read as the service's README says.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from math import inf
from typing import Final

from petstore_tools import spec
from petstore_tools.plans import DOCUMENTED, PERIODS, Plan, Window, WindowName
from petstore_tools.throttle import rate_headers
from petstore_tools.throttle.budget import GUARD_S, Budget, InFlight, Reading, Waiter
from petstore_tools.throttle.rate_headers import Answer

PROBE_LEASE_S: Final = 5.0
LOST_AFTER_S: Final = 60.0  # longer than any request lives here: its process died
POLL_S: Final = 0.05  # how soon to ask again when only an answer is missing
BLOCK_MARGIN_S: Final = 0.5
BACKOFF_BASE_S: Final = 5.0  # after a 429 that names no usable time
BACKOFF_LONGEST_S: Final = 900.0
TENTH: Final = 10  # the part of a minute that a bulk run leaves to people


@dataclass(frozen=True, slots=True)
class Go:
    """Send now, and report what came back under `token`."""

    token: str


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
class Requester:
    """
    Who asks.

    Attributes:
        name: One name per process.
        bulk: A bulk run lets people go first.
        reserve_per_day: Requests of the day that a bulk run leaves for others.
        patience_s: The longest wait it accepts; where the wait is longer it gives up its turn.
    """

    name: str = ""
    bulk: bool = False
    reserve_per_day: int = 0
    patience_s: float = inf

    @property
    def place(self) -> str:
        """Its name in the queue: a process may import while a person asks in it."""
        return f"{self.name} bulk" if self.bulk else self.name


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
        self._named, self.budget = plan, budget

    @property
    def plan(self) -> Plan:
        """The plan in force: the named one, the learnt one, else the smallest documented."""
        return self._named or self.budget.learned or DOCUMENTED[0]

    def ask(self, now: float, requester: Requester = Requester()) -> Decision:
        """May a request of `requester` go at `now`? A Go is spent at once."""
        self.settle(now)
        decision = self._decide(now, requester)
        b = self.budget
        if not requester.bulk:
            b.note_person(requester.name, now)
        before = b.waiting.pop(requester.place, None)
        if isinstance(decision, Wait) and decision.until - now <= requester.patience_s:
            since = before.since if before else now
            b.waiting[requester.place] = Waiter(since, now, decision.until, requester.bulk)
        return decision

    def _decide(self, now: float, requester: Requester) -> Decision:
        b = self.budget
        if now < b.blocked_until:
            return (Stop if b.banned else Wait)(b.blocked_until, b.reason)
        if b.needs_probe and any(
            r.probe and now - r.sent_at < PROBE_LEASE_S for r in b.in_flight.values()
        ):
            return Wait(now + POLL_S, "the first request that shows what is left")
        ahead = self._ahead(now, requester)
        waits = [wait for name in PERIODS if (wait := self._check(name, now, requester, ahead))]
        if waits:
            longest = max(waits, key=lambda wait: wait.until)
            return Wait(max(longest.until, now + POLL_S), longest.why)
        b.granted += 1
        for window in b.windows.values():
            window.spend(requester.name, 1)
        unreported: dict[str, int] = {name: window.unreported for name, window in b.windows.items()}
        token = str(b.granted)
        b.in_flight[token] = InFlight(requester.name, now, b.needs_probe, unreported)
        return Go(token)

    def _ahead(self, now: float, requester: Requester) -> int:
        """
        Count the others whose turn is before the requester's: people first, then who waits longest.
        """
        own = self.budget.waiting.get(requester.place)
        turn = (requester.bulk, own.since if own else now)
        return sum(
            (waiter.bulk, waiter.since) < turn and waiter.is_due(now) and waiter is not own
            for waiter in self.budget.waiting.values()
        )

    def unsent(self, token: str, now: float) -> None:
        """Take a grant back: it is proven that no byte left."""
        self.budget.follow(now)
        request = self.budget.in_flight.pop(token, None)
        if request is not None:
            for window in self.budget.windows.values():
                window.spend(request.by, -1)

    def lost(self, token: str, now: float) -> None:
        """Note that no answer came: the request may have been counted."""
        self.budget.in_flight.pop(token, None)
        self._count(now, reported=None)

    def answered(self, token: str, now: float, answer: Answer) -> None:
        """Note what came back."""
        b = self.budget
        b.follow(now)
        completed = b.in_flight.pop(token, None)
        unreported: dict[str, int] = {name: window.unreported for name, window in b.windows.items()}
        request = completed or InFlight(
            "", now, False, unreported
        )  # given up, so it is counted already
        refused = answer.status == HTTPStatus.TOO_MANY_REQUESTS
        reported: WindowName | None = None
        if (
            answer.status != HTTPStatus.UNAUTHORIZED
        ):  # its headers are not this key's (our choice, §5)
            b.learn_skew(answer.date, sent_at=request.sent_at, now=now)
            reported = self._read(int(token) if completed else 0, answer, request, now)
        if completed:
            self._count(now, reported=reported, refused=refused)
        if refused:
            self._refused(answer, request, now)
        elif answer.status == HTTPStatus.SERVICE_UNAVAILABLE and answer.retry_after_s is not None:
            self._block(now + answer.retry_after_s, "the service asked for a pause (503)")
        elif answer.status != HTTPStatus.UNAUTHORIZED:
            if request.sent_at > b.refused_at:
                b.consecutive_429s = 0
            if request.probe:
                b.needs_probe = False
                for window in b.windows.values():
                    window.probe_allowance = 0

    def state(self, name: WindowName, now: float) -> WindowState:
        """Say what a window has left at `now`, without asking for it."""
        b, in_flight = self.budget, len(self.budget.in_flight)
        window, ceiling = b.windows[name], self._ceiling(name)
        if window.reading is not None:
            limit, remaining = window.reading.under(ceiling)
            return WindowState(
                limit, remaining - in_flight, b.client_time(window.reading.reset) + GUARD_S, True
            )
        if ceiling is None:
            return WindowState(None, inf, now, False)
        used, ends_at = window.used, None
        if name == "day" and b.utc_day:
            midnight = b.client_time(Window(1, spec.DAY_S).start(b.service_time(now)))
            used, ends_at = window.since(midnight), midnight + spec.DAY_S + GUARD_S
        left = max(ceiling - used, window.probe_allowance) - in_flight
        return WindowState(ceiling, left, ends_at or window.frees_at(max(1, 1 - left)), False)

    def _ceiling(self, name: WindowName) -> int | None:
        return self.plan.per_minute if name == "minute" else self.plan.per_day

    def _check(self, name: WindowName, now: float, requester: Requester, ahead: int) -> Wait | None:
        """Return why a window holds a request back, if it does."""
        state = self.state(name, now)
        reserve = self._reserve(name, state, now, requester)
        if state.limit is None or state.left > reserve + ahead:
            return None
        if state.left > reserve:
            return Wait(now + POLL_S, "other requests that have waited longer")
        if state.left + len(self.budget.in_flight) > reserve:
            return Wait(now + POLL_S, "the answers to requests that were sent before")
        why = f"the {state.limit:,} requests of this {name} are used"
        if state.left > 0:
            why = (
                f"the last {state.left:.0f} of the {state.limit:,} requests of this {name} "
                "are reserved"
            )
        return Wait(state.frees_at, why)

    def _reserve(
        self, name: WindowName, state: WindowState, now: float, requester: Requester
    ) -> int:
        """
        Return how many requests a bulk run leaves for people: of a minute none in its last tenth.
        """
        if not requester.bulk:
            return 0
        if name == "day":
            return requester.reserve_per_day
        present = any(who != requester.name for who in self.budget.people)
        ends = state.by_headers and now >= state.frees_at - PERIODS[name] / TENTH
        return (state.limit or 0) // TENTH if present and not ends else 0

    def settle(self, now: float) -> None:
        """
        Apply the passing of time: requests of dead processes are spent, old counts and readings
        end.
        """
        b = self.budget
        b.follow(now)
        for token, request in list(b.in_flight.items()):
            if now - request.sent_at >= LOST_AFTER_S:
                self.lost(token, now)
        b.forget(now)
        service_now = b.service_time(now)
        for name, window in b.windows.items():
            window.settle(now, service_now)
            if (reading := window.reading) is None:
                continue
            ahead_s = reading.reset - service_now
            if not -GUARD_S < ahead_s <= window.period_s + 3 * GUARD_S:
                window.reading, b.needs_probe = None, True
                if ahead_s <= 0:
                    window.probe_allowance = reading.under(self._ceiling(name))[1] + 1

    def _count(self, now: float, *, reported: WindowName | None, refused: bool = False) -> None:
        """Count one request; a refused one costs the day nothing (our choice, §7)."""
        for name, window in self.budget.windows.items():
            if refused and name == "day":
                continue
            window.add(now)
            if name != reported:
                window.unreported += 1
                window.probe_allowance = max(0, window.probe_allowance - 1)
                if window.reading is not None:
                    window.reading.remaining -= 1
                    window.reading.as_of = self.budget.granted

    def _read(
        self, number: int, answer: Answer, request: InFlight, now: float
    ) -> WindowName | None:
        """Take in the rate headers; return the window they reported on, None where they did not."""
        b, reset = self.budget, answer.reset
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
        b, window = self.budget, self.budget.windows["minute"]
        if (known := window.reading) is None:
            state, reset = self.state("minute", now), b.service_time(now) + spec.MINUTE_S
            remaining = int(min(remaining, state.left + len(b.in_flight) - 1))
            window.reading = Reading(
                state.limit or limit, remaining, reset, b.granted, assumed=True
            )
        else:
            known.remaining, known.as_of = min(known.remaining - 1, remaining), b.granted

    def _refused(self, answer: Answer, request: InFlight, now: float) -> None:
        """Block all requests after a 429 (§8.4)."""
        b = self.budget
        if request.sent_at > b.refused_at:  # those in flight together are one refusal
            b.consecutive_429s += 1
            b.refused_at = now
        wait_s = self._requested_wait_s(answer, now)
        if wait_s is not None:
            for window in b.windows.values():
                window.probe_allowance = 1
        wait_s = BACKOFF_BASE_S if wait_s is None else wait_s
        longer_s = max(wait_s, 1.0) * (2 ** min(b.consecutive_429s - 1, 10) - 1)
        until = now + wait_s + min(longer_s, BACKOFF_LONGEST_S)
        if answer.banned:
            self._block(until, "the service has banned this key (429)", banned=True)
        else:
            self._block(until, "the service answered 429 (too many requests)")

    def _block(self, until: float, reason: str, *, banned: bool = False) -> None:
        """Let nothing go before a time, and then one probe."""
        b = self.budget
        b.needs_probe = True
        if until + BLOCK_MARGIN_S > b.blocked_until:
            b.blocked_until, b.reason, b.banned = until + BLOCK_MARGIN_S, reason, banned

    def _requested_wait_s(self, answer: Answer, now: float) -> float | None:
        """
        Return the seconds that the service asked to wait for, None where it named no usable time.
        """
        if answer.retry_after_s is not None:
            return answer.retry_after_s
        ahead_s = 0.0 if answer.reset is None else answer.reset - self.budget.service_time(now)
        return ahead_s + GUARD_S if 0 < ahead_s <= spec.DAY_S else None
