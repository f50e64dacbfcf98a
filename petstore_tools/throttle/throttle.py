"""
The throttle: tells whether a request may go now.

A pure machine. It is asked (`ask`) and told (`answered`, `lost`, `unsent`), and keeps what it knows in
a `Budget` that a ledger shares between threads, processes and restarts. Why it earns no 429 of its own:

- *Own count.* A request counts from its grant until a whole period after the last moment at which it
  may have arrived (`windows.Log`); so every period the service could choose holds at most the plan.
- *Credit.* An answer that says `Remaining: R` allows R requests after the moment it was made. What was
  answered later is in a smaller R of the same window, or is taken off (`Budget.unspoken`); what is in
  flight is taken off as spent. Of answers whose order is not known, the least R counts.
- *Scout.* When a window's reset has passed, nothing is known. One request goes; the others wait for its
  answer.
- *Turns.* A process that waits goes before any that began to wait later, people before bulk runs: with `n`
  processes and `L` requests in a window, each is served within `n / L` windows, rounded up.
- *Gate.* After a 429, or a 503 with a Retry-After, nothing goes before the time it named; then one scout.

Strangers on the same key are seen in R; between two answers they can take what R promised, and no policy
could know. Spec: §8.2 to §8.4; the gaps there (window, unit, ban) are read as the README's table says.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from math import inf
from typing import Final

from petstore_tools import spec
from petstore_tools.plans import DOCUMENTED, PERIODS, Plan, Window, WindowName
from petstore_tools.throttle import detection as recognise
from petstore_tools.throttle.budget import Budget, Flight, Kind, Reading, Waiter
from petstore_tools.throttle.detection import GUARD_S
from petstore_tools.throttle.rate_headers import Answer
from petstore_tools.throttle.windows import Log

SCOUT_LEASE_S: Final = 5.0
LOST_AFTER_S: Final = 60.0  # longer than any request lives here: its process died
POLL_S: Final = 0.05  # how soon to ask again when only an answer is missing
GATE_MARGIN_S: Final = 0.5
BACKOFF_BASE_S: Final = 5.0  # after a 429 that names no usable time
BACKOFF_LONGEST_S: Final = 900.0
TENTH: Final = 10  # the part of a minute that a bulk run leaves to people


@dataclass(frozen=True, slots=True)
class Go:
    """Send now, and report what came back under `token`."""

    token: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Ask again at `until` (client's Unix seconds) or when an answer came in; `why` is for people."""

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
        patience_s: Longest wait that it takes upon itself; told of a longer one it gives up its turn.
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
        limit: The number in force, None where nobody told.
        left: Requests, `inf` where nobody told; in flight is spent.
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
        return self._named or recognise.learned(self.budget) or DOCUMENTED[0]

    def ask(self, now: float, requester: Requester = Requester()) -> Decision:
        """May a request of `requester` go at `now`? A Go is spent at once."""
        self.settle(now)
        decision = self._decide(now, requester)
        b = self.budget
        if not requester.bulk:
            b.asked[requester.name] = now
        if isinstance(decision, Wait) and decision.until - now <= requester.patience_s:
            since = b.waiting[requester.place].since if requester.place in b.waiting else now
            b.waiting[requester.place] = Waiter(since, now, decision.until, requester.bulk)
        else:
            b.waiting.pop(requester.place, None)
        return decision

    def _decide(self, now: float, requester: Requester) -> Decision:
        b = self.budget
        if now < b.banned_until:
            return Stop(b.banned_until, b.gate_why)
        if now < b.gate_until:
            return Wait(b.gate_until, b.gate_why)
        if b.unsure and now < b.scout_until:
            return Wait(now + POLL_S, "a first request to show what is left")
        ahead = self._ahead(now, requester)
        checks = [self._check(window, now, requester, ahead) for window in PERIODS]
        checks.append(self._check_either(now, ahead))
        waits = [check for check in checks if isinstance(check, Wait)]
        if waits:
            longest = max(waits, key=lambda wait: wait.until)
            return Wait(max(longest.until, now + POLL_S), longest.why)
        b.tokens += 1
        token = str(b.tokens)
        b.spend(requester.name, now)
        b.in_flight[token] = Flight(requester.name, now, b.tokens, b.unsure, dict(b.unspoken))
        if b.unsure:
            b.scout_until = now + SCOUT_LEASE_S
        return Go(token)

    def _ahead(self, now: float, requester: Requester) -> int:
        """Count the others whose turn is before the requester's: people first, then who waits longest."""
        own = self.budget.waiting.get(requester.place)
        turn = (requester.bulk, own.since if own else now)
        return sum(
            (waiter.bulk, waiter.since) < turn and waiter.lives(now) and waiter is not own
            for waiter in self.budget.waiting.values()
        )

    def unsent(self, token: str, now: float) -> None:
        """Take a grant back: it is proven that no byte left."""
        flight = self._landed(token)
        if flight is not None and flight.by in self.budget.spent:
            self.budget.spent[flight.by].add(-1, self.budget.service_time(now))

    def lost(self, token: str, now: float) -> None:
        """Note that no answer came: the request may have been counted."""
        self._landed(token)
        self._count(now, spoken=None)

    def answered(self, token: str, now: float, answer: Answer) -> None:
        """Note what came back."""
        b = self.budget
        b.follow(now)
        landed = self._landed(token)
        flight = landed or Flight("", now, 0, False, dict(b.unspoken))  # given up, so it is counted already
        if answer.status == HTTPStatus.UNAUTHORIZED:  # its headers are not this key's (our choice, §5)
            if landed:
                self._count(now, spoken=None)
            return
        b.learn_skew(answer.date, sent_at=flight.sent_at, now=now)
        spoken = self._read(answer, flight, now)
        if landed:
            self._count(now, spoken=spoken, refused=answer.status == HTTPStatus.TOO_MANY_REQUESTS)
        if answer.status == HTTPStatus.TOO_MANY_REQUESTS:
            self._shut(answer, flight, now)
            return
        if answer.status == HTTPStatus.SERVICE_UNAVAILABLE and answer.retry_after_s is not None:
            self._block(now + answer.retry_after_s, "the service asked for a pause (503)")
            return
        if flight.sent_at > b.refused_at:
            b.refusals = 0
        if flight.scout:
            b.unsure, b.excused = False, {}

    def state(self, window: WindowName, now: float) -> WindowState:
        """Say what a window has left at `now`, without asking for it."""
        b, flying = self.budget, len(self.budget.in_flight)
        ceiling = self._ceiling(window)
        reading = b.readings.get(window)
        if reading is not None:
            over = 0 if ceiling is None else max(0, reading.limit - ceiling)
            frees_at = b.client_time(reading.reset) + GUARD_S
            left = reading.remaining - over - flying
            return WindowState(reading.limit - over, left, frees_at, True)
        if ceiling is None:
            return WindowState(None, inf, now, False)
        log = self._log(window)
        if window == "day" and b.utc_day:
            midnight = b.client_time(Window(ceiling, spec.DAY_S).start(b.service_time(now)))
            used, ends_at = log.since(midnight), midnight + spec.DAY_S + GUARD_S
        else:
            used, ends_at = log.noted, None
        left = max(ceiling - used, b.excused.get(window, 0)) - flying
        frees_at = log.frees_at(max(1, 1 - left)) if ends_at is None else ends_at
        return WindowState(ceiling, left, frees_at, False)

    def _ceiling(self, window: WindowName) -> int | None:
        return self.plan.per_minute if window == "minute" else self.plan.per_day

    def _check(self, window: WindowName, now: float, requester: Requester, ahead: int) -> Wait | None:
        """Return why a window holds a request back, if it does."""
        room = self.state(window, now)
        if room.limit is None:
            return None
        keep, keep_until = self._keep(window, room, now, requester)
        if room.left > keep + ahead:
            return None
        if room.left > keep:
            return Wait(now + POLL_S, "others that wait longer")
        if room.left + len(self.budget.in_flight) > keep:
            return Wait(now + POLL_S, "the answers under way")
        why = f"the {window}'s {room.limit:,} requests are used"
        if room.left > 0:
            return Wait(min(room.frees_at, keep_until), f"{why}, but for {room.left:.0f} kept for others")
        return Wait(room.frees_at, why)

    def _check_either(self, now: float, ahead: int) -> Wait | None:
        b = self.budget
        reading = b.readings.get("either")
        if reading is None or reading.remaining - len(b.in_flight) > ahead:
            return None
        if reading.remaining > 0:
            return Wait(now + POLL_S, "the answers under way")
        until = b.client_time(reading.reset) + GUARD_S
        return Wait(until, f"the service's {reading.limit:,} requests are used")

    def _keep(
        self, window: WindowName, room: WindowState, now: float, requester: Requester
    ) -> tuple[int, float]:
        """Return how many requests a bulk run leaves for people, and until when."""
        if not requester.bulk:
            return 0, inf
        if window == "day":
            return requester.reserve_per_day, inf
        present = any(name != requester.name for name in self.budget.asked)
        tenth_begins = room.frees_at - PERIODS[window] / TENTH
        if not present or room.limit is None or (room.by_headers and now >= tenth_begins):
            return 0, inf
        return room.limit // TENTH, tenth_begins if room.by_headers else inf

    def settle(self, now: float) -> None:
        """Let time do its work: dead flights are spent, old counts go, readings past their reset go."""
        b = self.budget
        b.follow(now)
        for token, flight in list(b.in_flight.items()):
            if not -LOST_AFTER_S < now - flight.sent_at < LOST_AFTER_S:
                self.lost(token, now)
        for window in PERIODS:
            self._log(window).prune(now)
        service_now = b.service_time(now)
        b.forget(now)
        for kind, reading in list(b.readings.items()):
            ahead_s = reading.reset - service_now
            if -GUARD_S < ahead_s <= (spec.DAY_S if kind == "day" else spec.MINUTE_S) + 3 * GUARD_S:
                continue
            del b.readings[kind]
            b.unsure = True
            if ahead_s <= 0 and kind != "either":
                ceiling = self._ceiling(kind)
                over = 0 if ceiling is None else max(0, reading.limit - ceiling)
                b.excused[kind] = reading.remaining - over + 1

    def _landed(self, token: str) -> Flight | None:
        flight = self.budget.in_flight.pop(token, None)
        if flight is not None and flight.scout:
            self.budget.scout_until = 0.0
        return flight

    def _log(self, window: WindowName) -> Log:
        return self.budget.minute if window == "minute" else self.budget.day

    def _count(self, now: float, *, spoken: Kind | None, refused: bool = False) -> None:
        """Count one request; a refused one costs the day nothing (our choice, §7)."""
        b = self.budget
        for window in PERIODS:
            if not (refused and window == "day"):
                self._log(window).add(now)
        for kind in b.unspoken:
            if kind != spoken and not (refused and kind == "day"):
                b.unspoken[kind] += 1
                if kind in b.readings:
                    b.readings[kind].remaining -= 1
                    b.readings[kind].as_of = b.tokens
                if kind != "either" and kind in b.excused:
                    b.excused[kind] -= 1

    def _read(self, answer: Answer, flight: Flight, now: float) -> Kind | None:
        """Take in the rate headers; return the window they spoke of, None where they did not."""
        b = self.budget
        if answer.limit is None or answer.remaining is None:
            return None
        service_now = b.service_time(now)
        reset = answer.reset
        if reset is not None:
            if self._named is None:
                recognise.learn(b, answer.limit, reset, now)
            kind = recognise.window(answer.limit, reset, service_now=service_now, plan=self.plan)
            if kind is not None:
                self._believe(kind, answer.limit, answer.remaining, reset, flight)
                return kind
            if b.service_time(flight.sent_at) - 2 * GUARD_S < reset <= service_now:
                return None  # true when it was sent; its window has ended since
        held = b.readings.get("either")  # Remaining without a time: hold it for a minute
        until = held.reset if held else service_now + spec.MINUTE_S
        self._believe("either", answer.limit, answer.remaining, until, flight)
        return "either"

    def _believe(self, kind: Kind, limit: int, remaining: int, reset: float, flight: Flight) -> None:
        b = self.budget
        remaining -= b.unspoken[kind] - flight.unspoken.get(kind, 0)
        if kind == "day" and reset % spec.DAY_S == 0:
            b.utc_day = True
        known = b.readings.get(kind)
        if known is None or (kind != "either" and reset > known.reset + GUARD_S):
            b.readings[kind] = Reading(limit, remaining, reset, b.tokens)
        elif kind == "either" or reset >= known.reset - GUARD_S:
            known.limit = limit
            newer = kind != "either" and flight.number > known.as_of
            known.remaining = remaining if newer else min(known.remaining, remaining)
            known.reset = max(known.reset, reset)
            known.as_of = b.tokens

    def _shut(self, answer: Answer, flight: Flight, now: float) -> None:
        """Close the gate after a 429 (§8.4)."""
        b = self.budget
        if flight.sent_at > b.refused_at:  # those in flight together are one refusal
            b.refusals += 1
            b.refused_at = now
        wait_s, asked = self._refusal_wait(answer, now)
        again_s = max(wait_s, 1.0) * (2 ** min(b.refusals - 1, 10) - 1)
        wait_s += min(again_s, BACKOFF_LONGEST_S)
        self._block(now + wait_s, "the service refused a request (429)")
        if answer.banned:
            b.banned_until, b.gate_why = b.gate_until, "the service has banned this key (429)"
        if asked:
            b.excused = dict.fromkeys(PERIODS, 1)

    def _block(self, until: float, why: str) -> None:
        """Let nothing go before a time, and then one probe."""
        b = self.budget
        if until + GATE_MARGIN_S > b.gate_until:
            b.gate_until, b.gate_why = until + GATE_MARGIN_S, why
        b.unsure = True

    def _refusal_wait(self, answer: Answer, now: float) -> tuple[float, bool]:
        """Return seconds to wait, and whether the service named them."""
        if answer.retry_after_s is not None:
            return answer.retry_after_s, True
        if answer.reset is not None:
            ahead_s = answer.reset - self.budget.service_time(now)
            if 0 < ahead_s <= spec.DAY_S:
                return ahead_s + GUARD_S, True
        return BACKOFF_BASE_S, False
