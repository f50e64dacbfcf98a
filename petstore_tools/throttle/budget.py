"""What is known of one key's budget: plain, serialisable, shared by all who use the key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from petstore_tools import spec
from petstore_tools.plans import PERIODS, Window, WindowName
from petstore_tools.throttle.windows import Log

Kind = Literal["minute", "day", "either"]
SEEN_S: Final = 2.0  # a waiter that lives asks every half second
SET_BACK_S: Final = 0.1  # a clock that shows so much less than before was set back
PEOPLE_S: Final = 600.0  # how long a person counts as present after asking
MOST_SPENDERS: Final = 20  # processes whose requests are counted apart
FINISHED: Final = "finished processes"
_MINUTE, _DAY = (Window(1, period_s) for period_s in PERIODS.values())


@dataclass(slots=True)
class Reading:
    """
    What the headers said of one window (§8.3).

    Attributes:
        limit: The limit in force.
        remaining: Least Remaining of this window, less the answers since that did not speak of it.
        reset: The service's Unix seconds at which the window ends.
        as_of: Grants until the last answer that shaped it: a later grant's answer is newer.
    """

    limit: int
    remaining: int
    reset: float
    as_of: int


@dataclass(slots=True)
class Flight:
    """
    A request that was let go and is not answered yet.

    Attributes:
        by: Who was let go.
        sent_at: Client's Unix seconds of the grant.
        number: Grants until this one.
        scout: It is the one request that looks what the windows are like.
        unspoken: `Budget.unspoken` at the grant.
    """

    by: str
    sent_at: float
    number: int
    scout: bool
    unspoken: dict[Kind, int]


@dataclass(slots=True)
class Spent:
    """
    What one process spent of the whole minute and the whole UTC day it sent in last.

    Attributes:
        minute_start, day_start: Start of each window, the service's Unix seconds.
        minute, day: Requests let go in each.
    """

    minute_start: int = 0
    minute: int = 0
    day_start: int = 0
    day: int = 0

    def add(self, n: int, service_now: float) -> None:
        """Count `n` requests in both windows."""
        self.include(Spent(_MINUTE.start(service_now), n, _DAY.start(service_now), n), service_now)

    def include(self, other: Spent, service_now: float) -> None:
        """Count what another process spent of the windows that hold `service_now`."""
        self.minute = self.of("minute", service_now) + other.of("minute", service_now)
        self.day = self.of("day", service_now) + other.of("day", service_now)
        self.minute_start, self.day_start = _MINUTE.start(service_now), _DAY.start(service_now)

    def of(self, window: WindowName, service_now: float) -> int:
        """Return what counts in the window that holds `service_now`."""
        if window == "minute":
            return self.minute if self.minute_start == _MINUTE.start(service_now) else 0
        return self.day if self.day_start == _DAY.start(service_now) else 0


@dataclass(slots=True)
class Waiter:
    """
    A process that was told to wait.

    Attributes:
        since: When it began to wait.
        seen: When it asked last.
        until: When it was told to ask again.
        bulk: It lets people go first.
    """

    since: float
    seen: float
    until: float
    bulk: bool

    def lives(self, now: float) -> bool:
        """Say whether it will ask again, as far as can be seen: it has just asked, or is just due."""
        return 0 <= now - self.seen < SEEN_S or 0 <= now - self.until < SEEN_S

    def gone(self, now: float) -> bool:
        """Say whether it should have asked by now, or a clock was set back under it."""
        return not -spec.DAY_S < now - max(self.seen, self.until) < SEEN_S


@dataclass(slots=True)
class Budget:
    """
    The shared state of a throttle; times are the client's Unix seconds unless said otherwise.

    Attributes:
        readings: What the headers said, by the window they may mean.
        minute, day: Requests of the last minute and day, whatever the headers say.
        in_flight: Requests let go and not answered, by token.
        unspoken: How many answers did not speak of each window.
        unsure: Nothing is known of the windows now, so one scout goes first.
        excused: Requests that a scout may send although our own count of a window is full, since the
            service said that something of it is free again.
        scout_until: End of the scout's lease.
        gate_until, gate_why: After a 429, or a 503 that names a time, nothing goes before this time.
        refusals: Answers of 429 in a row, those in flight together counted once.
        refused_at: When the last one was read.
        banned_until: The service said that the key is banned.
        skew_low, skew_high: The service's clock less ours lies between these; None until known.
        utc_day: A reset at midnight UTC proved that days are whole UTC days.
        learned: Numbers and name of the plan that the headers showed.
        hint: A limit that would raise the learned plan, and when it was first seen.
        asked: Interactive callers by name, and when each asked last.
        waiting: Processes that wait, by name.
        spent: Who spent what, by process, the last to send at the end; for people, no decision rests on it.
        tokens: How many grants there were.
        seen_at: The latest time that was seen.
        steady: Machine that used the budget last, and its steady clock then.
    """

    readings: dict[Kind, Reading] = field(default_factory=dict)
    minute: Log = field(default_factory=Log.of_minute)
    day: Log = field(default_factory=Log.of_day)
    in_flight: dict[str, Flight] = field(default_factory=dict)
    unspoken: dict[Kind, int] = field(default_factory=lambda: {"minute": 0, "day": 0, "either": 0})
    unsure: bool = True
    excused: dict[WindowName, int] = field(default_factory=dict)
    scout_until: float = 0.0
    gate_until: float = 0.0
    gate_why: str = ""
    refusals: int = 0
    refused_at: float = 0.0
    banned_until: float = 0.0
    skew_low: float | None = None
    skew_high: float | None = None
    utc_day: bool = False
    learned: tuple[int | None, int | None, str] | None = None
    hint: tuple[int, float] | None = None
    asked: dict[str, float] = field(default_factory=dict)
    waiting: dict[str, Waiter] = field(default_factory=dict)
    spent: dict[str, Spent] = field(default_factory=dict)
    tokens: int = 0
    seen_at: float = 0.0
    steady: tuple[str, float] | None = None

    def follow(self, now: float, steady: tuple[str, float] | None = None) -> None:
        """
        Move all times along with a clock that was set back, so that no block, ban or lease lasts longer.

        Args:
            now: Client's Unix seconds.
            steady: Name of the machine, and seconds of a clock of it that nobody sets: it tells how much time
                has passed since that machine used the budget. Without it none is assumed.
        """
        latest = max(self.seen_at, self.refused_at)  # 0.1 noted only when it was refused
        if steady is not None:
            if self.steady is not None and self.steady[0] == steady[0]:
                latest += max(0.0, steady[1] - self.steady[1])  # at least: a restart sets it to nought
            self.steady = steady
        back_s = latest - now
        if back_s <= SET_BACK_S:
            self.seen_at = max(self.seen_at, self.refused_at, now)
            return
        self.seen_at = now
        self.gate_until -= back_s
        self.banned_until -= back_s
        self.scout_until -= back_s
        self.refused_at -= back_s
        for flight in self.in_flight.values():
            flight.sent_at -= back_s
        for waiter in self.waiting.values():
            waiter.since, waiter.seen, waiter.until = (
                at - back_s for at in (waiter.since, waiter.seen, waiter.until)
            )
        self.asked = {name: at - back_s for name, at in self.asked.items()}
        if self.hint is not None:
            self.hint = self.hint[0], self.hint[1] - back_s
        if self.skew_low is not None and self.skew_high is not None:
            self.skew_low, self.skew_high = self.skew_low + back_s, self.skew_high + back_s

    def spend(self, name: str, now: float) -> None:
        """Count a request of a process, and put the process last."""
        spent = self.spent.pop(name, Spent())
        spent.add(1, self.service_time(now))
        self.spent[name] = spent

    def forget(self, now: float) -> None:
        """Drop who is gone; of the day's processes only those that sent last are told apart."""
        recent = [(at, name) for name, at in self.asked.items() if abs(now - at) < PEOPLE_S]
        self.asked = {name: at for at, name in sorted(recent)[-2:]}  # nobody asks for more than one other
        self.waiting = {name: waiter for name, waiter in self.waiting.items() if not waiter.gone(now)}
        service_now = self.service_time(now)
        self.spent = {name: spent for name, spent in self.spent.items() if spent.of("day", service_now)}
        if len(self.spent) > MOST_SPENDERS:
            finished = self.spent.pop(FINISHED, Spent())
            for name in list(self.spent)[: -MOST_SPENDERS // 2]:
                finished.include(self.spent.pop(name), service_now)
            self.spent[FINISHED] = finished

    def service_time(self, now: float) -> float:
        """Return the earliest that the service's clock can show at our `now`."""
        return now + (self.skew_low or 0.0)

    def client_time(self, at: float) -> float:
        """Return the latest that our clock can show when the service's shows `at`."""
        return at - (self.skew_low or 0.0)

    def learn_skew(self, date: float | None, *, sent_at: float, now: float) -> None:
        """
        Narrow the skew by an answer's `Date`, whole seconds rounded down.

        The service wrote it between `sent_at` and `now`; where that contradicts what was believed, a
        clock was set, and only the new answer counts.
        """
        if date is None:
            return
        low, high = date - now, date + 1 - sent_at
        if self.skew_low is not None and self.skew_high is not None:
            narrower = max(low, self.skew_low), min(high, self.skew_high)
            if narrower[0] <= narrower[1]:
                low, high = narrower
        self.skew_low, self.skew_high = low, high
