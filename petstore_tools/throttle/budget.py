"""
Pure: what is known of one key's budget, by window: our own count, what the service
said, and how its window began.

It is plain, serialisable, and shared by all who use the key.
"""

from dataclasses import dataclass, field, replace
from math import floor
from typing import Literal

from petstore_tools import spec
from petstore_tools.plans import PERIODS, Plan, WindowName, strictest_plan

# headers carry whole seconds: a reset may be up to one later than written
GUARD_S = 1.0
PROBE_LEASE_S = 4.0
LONGEST_LEASE_S = 60.0  # also behind a process that was stopped for hours
# a clock that differs by more from one that nobody sets was set
CLOCK_STEP_S = 1.0
CLOCK_DRIFT = 1e-3  # of two clocks that nobody sets
MOST_CLOCKS = 8  # of machines that share the budget
BULK_DIVISOR = 10  # a bulk run leaves a tenth of a window to people
MOST_RESERVED = 20  # requests of a day that it leaves at most
_BUCKETS = 144  # of a day: ten minutes each; those of a minute are one second


@dataclass
class Reading:
    """
    What the headers said of a window (§8.3).

    Attributes:
        limit: The limit in force.
        remaining: Least Remaining of this window, less the answers since that did not
            report on it.
        reset: The service's Unix seconds at which the window ends.
    """

    limit: int
    remaining: int
    reset: float


@dataclass(frozen=True)
class Beginning:
    """
    How the service's window began at the last Reset, as far as is known.

    Attributes:
        state: `unknown`: no Reset has passed, or the probe's answer did not tell.
            `possible`: all requests before it ended, or, where the window slides, the
            first of them alone; a probe finds out. `proven`: all of them ended.
        reset_at: The latest that our clock can show at that Reset.
        requests_before: Requests that surely came before it.
    """

    state: Literal["unknown", "possible", "proven"] = "unknown"
    reset_at: float = 0.0
    requests_before: int = 0


@dataclass(frozen=True)
class WindowQuota:
    """
    What is left of one window.

    Attributes:
        window: `minute` or `day`.
        limit: Requests, None where the number is not known.
        left: Requests that may go now, None where the number is not known; those in
            flight are spent.
        frees_at: Unix seconds at which more is left, None while nothing is used or
            known.
        by_headers: The service's headers say so; else our own count.
    """

    window: WindowName
    limit: int | None = None
    left: int | None = None
    frees_at: float | None = None
    by_headers: bool = False

    @property
    def reserve(self) -> int:
        """
        How many requests of it a bulk run leaves to people.

        >>> [WindowQuota("day", limit).reserve for limit in (1_000, 50, None)]
        [20, 5, 0]
        """
        tenth = (self.limit or 0) // BULK_DIVISOR
        return tenth if self.window == "minute" else min(MOST_RESERVED, tenth)

    @property
    def left_for_imports(self) -> int | None:
        """Requests that a bulk run may send now, None where the number is not known."""
        return None if self.left is None else max(0, self.left - self.reserve)


@dataclass
class WindowBudget:
    """
    What is known of one window; times are the ledger's Unix seconds unless said
    otherwise.

    A request is counted at the last moment at which it may have arrived, and until a
    whole period after its bucket ends. So any period that the service may choose holds
    at most what is counted here, whatever the latency was.

    Attributes:
        period_s: Seconds of the window.
        counts: Requests by bucket; a bucket's number is its start since 1970 in bucket
            widths.
        requests: Those so far.
        reading: What the headers said, None where they have said nothing that still
            holds.
        unreported_grant: The last grant before the last answer that did not report on
            this window.
        beginning: How the service's window began.
        last_reset: The latest believable Reset (the service's Unix seconds).
        slides: Two Resets came within one period, so not all requests end at a Reset.
    """

    period_s: int
    counts: dict[int, int] = field(default_factory=dict)
    requests: int = 0
    reading: Reading | None = None
    unreported_grant: int = 0
    beginning: Beginning = Beginning()
    last_reset: float = 0.0
    slides: bool = False

    @property
    def width_s(self) -> int:
        """Seconds of a bucket."""
        return max(1, self.period_s // _BUCKETS)

    def record_reading(self, reading: Reading, *, grant: int, now: float) -> None:
        """
        Take in what the answer to `grant` says: within one window it only lowers.

        Where it says that no more was used than was sent since the Reset, the window's
        beginning is proven.
        """
        current = self.reading
        passed_s = reading.reset - self.last_reset
        self.slides |= GUARD_S < passed_s < self.period_s - GUARD_S
        self.last_reset = max(self.last_reset, reading.reset)
        if current is None or reading.reset > current.reset + GUARD_S:
            self.reading = reading
        elif reading.reset >= current.reset - GUARD_S:
            if grant <= self.unreported_grant:
                # what was answered meanwhile may not be in the new one
                current.remaining -= 1
            current.remaining = min(current.remaining, reading.remaining)
            current.reset = max(current.reset, reading.reset)
        is_enough = reading.limit - reading.remaining <= self.requests_since_reset + 1
        if is_enough and self.counts_from_reset(now, probe_at=0.0):
            self.beginning = replace(self.beginning, state="proven")

    def count_request(self, arrived_by: float) -> None:
        """Count a request that arrived no later than `arrived_by`."""
        bucket = floor(arrived_by / self.width_s)
        self.counts[bucket] = self.counts.get(bucket, 0) + 1
        self.requests += 1

    def drop_old_counts(self, now: float) -> None:
        """Forget the requests that no longer count."""
        oldest = floor(now / self.width_s) - self.period_s // self.width_s
        for bucket in [bucket for bucket in self.counts if bucket < oldest]:
            del self.counts[bucket]

    @property
    def requests_since_reset(self) -> int:
        """Requests that may have come since the last Reset."""
        return self.requests - self.beginning.requests_before

    def counts_from_reset(self, now: float, probe_at: float) -> bool:
        """
        Say whether only what came since the Reset counts: it is proven, or a probe may
        find out.

        One request ended for sure, which the first probe takes if nothing was sent
        since. Behind a lost one another goes, unless the window is known to slide.
        """
        reset_at = self.beginning.reset_at
        if not reset_at <= now < reset_at + self.period_s:
            return False
        is_first_probe = probe_at < reset_at and not self.requests_since_reset
        is_next_probe = not self.slides and now >= reset_at + PROBE_LEASE_S
        return self.beginning.state == "proven" or is_first_probe or is_next_probe

    def count_used(self, now: float, probe_at: float) -> tuple[int, float]:
        """
        Return the requests that count at `now`, and when the first of them stop
        counting.

        Args:
            now: The ledger's time.
            probe_at: When the last probe went.
        """
        reset_at = self.beginning.reset_at
        if self.counts_from_reset(now, probe_at):
            return self.requests_since_reset, reset_at + self.period_s + GUARD_S
        first_bucket = min(self.counts, default=0)
        frees_at: float = (first_bucket + 1) * self.width_s + self.period_s
        next_probe_at = reset_at + PROBE_LEASE_S
        if not self.slides and now < next_probe_at:
            frees_at = min(frees_at, next_probe_at)
        return sum(self.counts.values()), frees_at

    def count_since(self, start: float) -> int:
        """Count the requests that may have arrived at or after `start`."""
        oldest = floor(start / self.width_s)
        return sum(
            requests for bucket, requests in self.counts.items() if bucket >= oldest
        )


@dataclass
class Budget:
    """
    The shared state of a throttle; times are the ledger's Unix seconds unless said
    otherwise.

    Attributes:
        windows: Minute and day.
        in_flight: When the requests that are not answered were allowed, by token: the
            number of the grant.
        needs_probe: Nothing is known of the windows now, so one request goes first.
        probe_at: When the last one went.
        slowest_s: What an answer took at most, of late.
        blocked_until, reason: After a 429, or a 503 that names a time, nothing goes
            before this time.
        banned: The block is a ban of the key.
        consecutive_429s: Answers of 429 in a row, those in flight together counted
            once.
        refused_at: When the last one was read.
        skew: The least that the service's clock can be ahead of ours; None until known.
        has_utc_days: Its days begin at midnight UTC: the last Reset of the day said so,
            and none that it slides.
        learned_plan: The plan that the headers showed.
        limit_hint: The last limit that did not fit the learned plan, and when it was
            first seen.
        grants: How many requests were allowed so far.
        ahead_s: The ledger's clock less the clock it is read from: what steps of that
            one made.
        seen_at: The latest time that was seen.
        clocks: Of the machines that used the budget last: their clock that nobody sets,
            and the ledger's time then.
    """

    windows: dict[WindowName, WindowBudget] = field(
        default_factory=lambda: {
            name: WindowBudget(period_s) for name, period_s in PERIODS.items()
        }
    )
    in_flight: dict[int, float] = field(default_factory=dict)
    needs_probe: bool = True
    probe_at: float = 0.0
    slowest_s: float = 0.0
    blocked_until: float = 0.0
    reason: str = ""
    banned: bool = False
    consecutive_429s: int = 0
    refused_at: float = 0.0
    skew: float | None = None
    has_utc_days: bool = False
    learned_plan: Plan | None = None
    limit_hint: tuple[int, float] = 0, 0.0
    grants: int = 0
    ahead_s: float = 0.0
    seen_at: float = 0.0
    clocks: dict[str, tuple[float, float]] = field(default_factory=dict)

    def follow_clock(self, clock_s: float, machine: str, steady_s: float) -> float:
        """
        Return the ledger's time, which neither jumps nor goes back when a clock is set.

        Args:
            clock_s: Unix seconds of the clock that is shared, which may be set.
            machine: Name of a machine since its last start.
            steady_s: Seconds of its clock that nobody sets.

        >>> budget = Budget()
        >>> budget.follow_clock(1_000.0, "a machine", 50.0)
        1000.0
        >>> budget.follow_clock(4_601.0, "a machine", 51.0)  # it was set by an hour
        1001.0
        """
        now = clock_s + self.ahead_s
        last_steady_s, last_now = self.clocks.pop(machine, (steady_s, now))
        passed_s = max(0.0, steady_s - last_steady_s)
        expected = last_now + passed_s
        if abs(now - expected) > CLOCK_STEP_S + CLOCK_DRIFT * passed_s:
            now = expected
        now = max(now, self.seen_at)
        self.ahead_s = now - clock_s
        self.seen_at = now
        self.clocks[machine] = steady_s, now
        if len(self.clocks) > MOST_CLOCKS:
            del self.clocks[next(iter(self.clocks))]
        return now

    def learn_day(self, reset: float) -> None:
        """
        Learn from a Reset of the day whether days are UTC days; where it contradicts
        that, nothing is known of this one's beginning.
        """
        day = self.windows["day"]
        are_utc_days = reset % spec.DAY_S == 0 and not day.slides
        if self.has_utc_days and not are_utc_days:
            day.beginning = Beginning()
        self.has_utc_days = are_utc_days

    def learn_plan(
        self,
        limit: int,
        now: float,
        policy_window: WindowName | None = None,
        *,
        is_short: bool,
        ends_day: bool,
    ) -> None:
        """
        Let a header's limit show the plan, where the caller named none.

        The strictest reading that fits holds first; a lower one holds at once; a higher
        one only when an answer of a later minute agrees, or where the service names the
        window.

        Args:
            limit: X-RateLimit-Limit.
            now: The ledger's time.
            policy_window: The window that `RateLimit-Policy` names, None for none.
            is_short: X-RateLimit-Reset is no further ahead than a minute's can be.
            ends_day: It is midnight UTC, so it may be a day's, too.
        """
        safe_plan = strictest_plan(
            limit,
            minute=is_short and policy_window != "day",
            day=policy_window != "minute",
        )
        plan = self.learned_plan or safe_plan
        is_day = plan.per_day == limit and (ends_day or not is_short)
        if policy_window is not None:
            if plan.limit(policy_window) != limit:
                plan = safe_plan
        elif is_short and plan.per_minute == limit:
            self.limit_hint = 0, 0.0  # what another one said was of the day
        elif not is_day:
            if (safe_plan.per_minute or 0) < (plan.per_minute or 0):
                plan = safe_plan
            hinted_limit, hinted_at = self.limit_hint
            if hinted_limit != limit:
                self.limit_hint = limit, now
            elif now - hinted_at > spec.MINUTE_S:
                plan = strictest_plan(limit, minute=is_short, day=not is_short)
        self.learned_plan = plan

    def service_time(self, now: float) -> float:
        """Return the earliest that the service's clock can show at our `now`."""
        return now + (self.skew or 0.0)

    def client_time(self, service_time: float) -> float:
        """Return the latest that our clock can show at a time of the service's."""
        return service_time - (self.skew or 0.0)

    def learn_skew(self, date: float | None, *, sent_at: float, now: float) -> None:
        """
        Narrow the skew by an answer's `Date`, whole seconds rounded down.

        The service wrote it between `sent_at` and `now`; where that contradicts what
        was believed, a clock was set, and only the new answer counts.

        >>> budget = Budget()
        >>> for date, now in (100, 100.9), (110, 110.0), (120, 120.9):
        ...     budget.learn_skew(date, sent_at=now, now=now)
        >>> budget.skew
        0.0
        """
        if date is not None:
            least = date - now
            most = date + 1 - sent_at
            if self.skew is None or not least <= self.skew <= most:
                self.skew = least
