"""
Pure: what is known of one window, the minute or the day: our own count and the service's word.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import floor, inf
from typing import Final

from petstore_tools.plans import Window

GUARD_S: Final = 1.0  # headers carry whole seconds: a reset may be up to one later than written
MOST_PROCESSES: Final = 20  # whose requests are counted apart
FINISHED: Final = "finished processes"
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
    What is known of one window; times are the client's Unix seconds unless said otherwise.

    A request is counted at the last moment at which it may have arrived, and until a whole period
    after its bucket ends. So any period that the service may choose holds at most what is counted
    here, whatever the latency was.

    Attributes:
        period_s: Seconds of the window.
        counts: Requests by bucket; a bucket's number is its start since 1970 in bucket widths.
        reading: What the headers said, None where they have said nothing that still holds.
        unreported: How many answers so far did not report on this window.
        probe_allowance: Requests that a probe may send although our own count is full, since the
            service said that something of the window is free again.
        started_at: Start of the whole window in which `spent_by` was counted, the service's Unix
            seconds.
        spent_by: Requests by process in that window, the last to send at the end; no decision rests
            on it.
    """

    period_s: int
    counts: dict[int, int] = field(default_factory=dict)
    reading: Reading | None = None
    unreported: int = 0
    probe_allowance: int = 0
    started_at: int = 0
    spent_by: dict[str, int] = field(default_factory=dict)

    @property
    def width_s(self) -> int:
        """Seconds of a bucket."""
        return max(1, self.period_s // _BUCKETS)

    @property
    def used(self) -> int:
        """Requests of the last period."""
        return sum(self.counts.values())

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

    def settle(self, now: float, service_now: float) -> None:
        """
        Drop what no longer counts; what a clock set backwards left in the future counts as of now.
        """
        latest = floor(now / self.width_s)
        oldest = latest - self.period_s // self.width_s
        for bucket in [at for at in self.counts if not oldest <= at <= latest]:
            n = self.counts.pop(bucket)
            if bucket > latest:
                self.counts[latest] = self.counts.get(latest, 0) + n
        start = Window(1, self.period_s).start(service_now)
        if start != self.started_at:
            self.started_at, self.spent_by = start, {}

    def since(self, at: float) -> int:
        """Count the requests that may have arrived at or after `at`."""
        return sum(n for bucket, n in self.counts.items() if bucket >= floor(at / self.width_s))

    def frees_at(self, needed: int = 1) -> float:
        """
        Return when `needed` of the counted requests stop counting, `inf` where there are fewer.
        """
        for bucket in sorted(self.counts):
            needed -= self.counts[bucket]
            if needed <= 0:
                return (bucket + 1) * self.width_s + self.period_s
        return inf

    def spend(self, name: str, n: int) -> None:
        """
        Count `n` requests of a process; of many processes only those that sent last are counted
        apart.
        """
        self.spent_by[name] = max(0, self.spent_by.pop(name, 0) + n)
        if len(self.spent_by) > MOST_PROCESSES:
            older = list(self.spent_by)[: -MOST_PROCESSES // 2]
            self.spent_by[FINISHED] = sum(self.spent_by.pop(name) for name in older)
