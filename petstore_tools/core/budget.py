"""What is known of one key's budget: plain, serialisable, shared by all who use the key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from petstore_tools.core.windows import PERIODS, Window, WindowName

Kind = Literal["minute", "day", "either"]


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
        since: Start of each window, the service's Unix seconds.
        requests: Requests let go in each.
    """

    since: dict[WindowName, int] = field(default_factory=dict)
    requests: dict[WindowName, int] = field(default_factory=dict)

    def add(self, n: int, service_now: float) -> None:
        """Count `n` requests in both windows."""
        for window, period_s in PERIODS.items():
            start = Window(1, period_s).start(service_now)
            before = self.requests.get(window, 0) if self.since.get(window) == start else 0
            self.since[window], self.requests[window] = start, before + n

    def of(self, window: WindowName, service_now: float) -> int:
        """Return what counts in the window that holds `service_now`."""
        start = Window(1, PERIODS[window]).start(service_now)
        return self.requests.get(window, 0) if self.since.get(window) == start else 0


@dataclass(slots=True)
class Budget:
    """
    The shared state of a throttle; times are the client's Unix seconds unless said otherwise.

    Attributes:
        readings: What the headers said, by the window they may mean.
        minute, day: Requests by bucket (`windows.Log`), whatever the headers say.
        in_flight: Requests let go and not answered, by token.
        unspoken: How many answers did not speak of each window.
        unsure: Nothing is known of the windows now, so one scout goes first.
        excused: Requests that a scout may send although our own count of a window is full, since the
            service said that something of it is free again.
        scout_until: End of the scout's lease.
        gate_until, gate_why: After a 429 nothing goes before this time.
        refusals: Answers of 429 in a row, those in flight together counted once.
        refused_at: When the last one was read.
        banned_until: The service said that the key is banned.
        skew_low, skew_high: The service's clock less ours lies between these; None until known.
        utc_day: A reset at midnight UTC proved that days are whole UTC days.
        learned: Numbers and name of the plan that the headers showed.
        hint: A limit that would raise the learned plan, and when it was first seen.
        asked: Interactive callers by name, and when each asked last.
        spent: Who spent what, by process, for people to see; no decision rests on it.
        tokens: How many grants there were.
    """

    readings: dict[Kind, Reading] = field(default_factory=dict)
    minute: dict[int, int] = field(default_factory=dict)
    day: dict[int, int] = field(default_factory=dict)
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
    spent: dict[str, Spent] = field(default_factory=dict)
    tokens: int = 0

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
