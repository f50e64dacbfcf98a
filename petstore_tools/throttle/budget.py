"""
Pure: what is known of one key's budget: our own count and the service's word, by window.

It is plain, serialisable, and shared by all who use the key.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import floor, inf
from typing import Final

from petstore_tools.plans import PERIODS, Plan, WindowName

GUARD_S: Final = 1.0  # headers carry whole seconds: a reset may be up to one later than written
STEP_S: Final = 1.0  # a clock that differs by more from one that nobody sets was set
DRIFT: Final = 1e-3  # of two clocks that nobody sets
MOST_CLOCKS: Final = 8  # of machines that share the budget
_BUCKETS: Final = 144  # of a day: ten minutes each; those of a minute are one second


@dataclass(slots=True)
class Reading:
    """
    What the headers said of a window (§8.3).

    Attributes:
        limit: The limit in force.
        remaining: Least Remaining of this window, less the answers since that did not report on it.
        reset: The service's Unix seconds at which the window ends.
        as_of: Grants until the last answer that shaped it: the answer to a later grant is newer.
        assumed: No believable Reset came, so the reading holds for a minute.
    """

    limit: int
    remaining: int
    reset: float
    as_of: int
    assumed: bool = False

    def under(self, ceiling: int | None) -> tuple[int, int]:
        """Return limit and remaining where the plan allows no more than `ceiling`."""
        over = 0 if ceiling is None else max(0, self.limit - ceiling)
        return self.limit - over, self.remaining - over


@dataclass(slots=True)
class WindowBudget:
    """
    What is known of one window; times are the ledger's Unix seconds unless said otherwise.

    A request is counted at the last moment at which it may have arrived, and until a whole period
    after its bucket ends. So any period that the service may choose holds at most what is counted
    here, whatever the latency was.

    Attributes:
        period_s: Seconds of the window.
        counts: Requests by bucket; a bucket's number is its start since 1970 in bucket widths.
        reading: What the headers said, None where they have said nothing that still holds.
        unreported: How many answers so far did not report on this window.
        may_open_at: When a Reset passed: then the service's window began anew, or only some of its
            requests ended, which the next answer shows.
        opened_at: When the service's window began, as an answer showed; None where not known.
        counted_before: Requests of the bucket of that moment that came before it.
    """

    period_s: int
    counts: dict[int, int] = field(default_factory=dict)
    reading: Reading | None = None
    unreported: int = 0
    may_open_at: float | None = None
    opened_at: float | None = None
    counted_before: int = 0

    @property
    def width_s(self) -> int:
        """Seconds of a bucket."""
        return max(1, self.period_s // _BUCKETS)

    def believe(self, new: Reading, *, number: int) -> None:
        """
        Take in the reading of the answer to grant `number`; of two in unknown order the least
        counts.
        """
        known = self.reading
        if known is None or known.assumed or new.reset > known.reset + GUARD_S:
            self.reading = new
        elif new.reset >= known.reset - GUARD_S:
            if number <= known.as_of:
                new.remaining = min(known.remaining, new.remaining)
            new.reset = max(known.reset, new.reset)
            self.reading = new

    def add(self, at: float) -> None:
        """Count a request that arrived no later than `at`."""
        bucket = floor(at / self.width_s)
        self.counts[bucket] = self.counts.get(bucket, 0) + 1

    def open(self, at: float, *, later: int) -> None:
        """Note that the service's window began anew, unless it cannot have; `later` came since."""
        if self.opened_at is None or at >= self.opened_at + self.period_s - GUARD_S:
            in_bucket = self.counts.get(floor(at / self.width_s), 0)
            self.opened_at = at
            self.counted_before = max(0, in_bucket - later)

    def settle(self, now: float) -> None:
        """Drop what no longer counts."""
        oldest = floor(now / self.width_s) - self.period_s // self.width_s
        for bucket in [at for at in self.counts if at < oldest]:
            del self.counts[bucket]

    def used(self, now: float) -> int:
        """Return the requests that count at `now`."""
        if self.opened_at is not None and now < self.opened_at + self.period_s:
            return self.since(self.opened_at) - self.counted_before
        return sum(self.counts.values())

    def since(self, at: float) -> int:
        """Count the requests that may have arrived at or after `at`."""
        return sum(n for bucket, n in self.counts.items() if bucket >= floor(at / self.width_s))

    def frees_at(self, now: float, needed: int = 1) -> float:
        """
        Return when `needed` of the counted requests stop counting, `inf` where there are fewer.
        """
        if self.opened_at is not None and now < self.opened_at + self.period_s:
            return self.opened_at + self.period_s + GUARD_S
        for bucket in sorted(self.counts):
            needed -= self.counts[bucket]
            if needed <= 0:
                return (bucket + 1) * self.width_s + self.period_s
        return inf


@dataclass(slots=True)
class InFlight:
    """
    A request that was allowed and is not answered yet.

    Attributes:
        sent_at: The ledger's Unix seconds of the grant.
        probe: It is the one request that shows what is left.
        unreported: `WindowBudget.unreported` of each window at the grant.
    """

    sent_at: float
    probe: bool
    unreported: dict[str, int]


@dataclass(slots=True)
class Lowered:
    """
    A number of the plan that the service did not keep to.

    Attributes:
        limit: Requests that were granted before it refused.
        until: The ledger's Unix seconds at which the plan is tried again.
    """

    limit: int
    until: float


@dataclass(slots=True)
class Budget:
    """
    The shared state of a throttle; times are the ledger's Unix seconds unless said otherwise.

    Attributes:
        windows: Minute and day.
        in_flight: Requests allowed and not answered, by token: the number of the grant, as text.
        needs_probe: Nothing is known of the windows now, so one request goes first.
        probe_at: When the last one went.
        slowest_s: What an answer took at most, of late.
        invited: The service named a time from which requests may go, so that a probe may go then
            although our own count is full.
        blocked_until, reason: After a 429, or a 503 that names a time, nothing goes before this
            time.
        banned: The block is a ban of the key.
        consecutive_429s: Answers of 429 in a row, those in flight together counted once.
        refused_at: When the last one was read.
        unexplained: Refusals of this day that neither our count nor the headers explain, by window.
        lowered: Numbers of the plan that hold in its place for the rest of the day.
        skew: The service's clock less ours lies between these; None until known.
        utc_day: A reset at midnight UTC proved that days are whole UTC days.
        learned: The plan that the headers showed.
        hint: A limit that would raise the learned plan, and when it was first seen.
        granted: How many requests were allowed so far.
        ahead_s: The ledger's clock less the clock it is read from: what steps of that one made.
        seen_at: The latest time that was seen.
        clocks: Of the machines that used the budget last: their clock that nobody sets, and the
            ledger's time then.
    """

    windows: dict[WindowName, WindowBudget] = field(
        default_factory=lambda: {name: WindowBudget(period_s) for name, period_s in PERIODS.items()}
    )
    in_flight: dict[str, InFlight] = field(default_factory=dict)
    needs_probe: bool = True
    probe_at: float = 0.0
    slowest_s: float = 0.0
    invited: bool = False
    blocked_until: float = 0.0
    reason: str = ""
    banned: bool = False
    consecutive_429s: int = 0
    refused_at: float = 0.0
    unexplained: dict[WindowName, float] = field(default_factory=dict)
    lowered: dict[WindowName, Lowered] = field(default_factory=dict)
    skew: tuple[float, float] | None = None
    utc_day: bool = False
    learned: Plan | None = None
    hint: tuple[int, float] | None = None
    granted: int = 0
    ahead_s: float = 0.0
    seen_at: float = 0.0
    clocks: dict[str, tuple[float, float]] = field(default_factory=dict)

    def follow(self, clock_s: float, steady: tuple[str, float] | None = None) -> float:
        """
        Return the ledger's time, which neither jumps nor goes back when a clock is set.

        Args:
            clock_s: Unix seconds of the clock that is shared, which may be set.
            steady: Name of a machine since its last start, and seconds of its clock that nobody
                sets.
        """
        now = clock_s + self.ahead_s
        if steady is not None:
            name, steady_s = steady
            known = self.clocks.pop(name, None)
            if known is not None:
                passed_s = max(0.0, steady_s - known[0])
                expected = known[1] + passed_s
                if abs(now - expected) > STEP_S + DRIFT * passed_s:
                    now = expected
        now = max(now, self.seen_at)
        self.ahead_s = now - clock_s
        self.seen_at = now
        if steady is not None:
            self.clocks[steady[0]] = steady[1], now
            self.clocks = dict(list(self.clocks.items())[-MOST_CLOCKS:])
        return now

    def service_time(self, now: float) -> float:
        """Return the earliest that the service's clock can show at our `now`."""
        return now + (self.skew[0] if self.skew else 0.0)

    def client_time(self, at: float) -> float:
        """Return the latest that our clock can show when the service's shows `at`."""
        return at - (self.skew[0] if self.skew else 0.0)

    def learn_skew(self, date: float | None, *, sent_at: float, now: float) -> None:
        """
        Narrow the skew by an answer's `Date`, whole seconds rounded down.

        The service wrote it between `sent_at` and `now`; where that contradicts what was believed,
        a clock was set, and only the new answer counts.
        """
        if date is None:
            return
        low, high = new = date - now, date + 1 - sent_at
        if self.skew is not None:
            low = max(low, self.skew[0])
            high = min(high, self.skew[1])
        self.skew = (low, high) if low <= high else new
