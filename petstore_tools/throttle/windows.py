"""Requests of the last period, for a window whose borders nobody told."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import floor

from petstore_tools import spec


@dataclass(slots=True)
class Log:
    """
    Requests of the last period, in buckets, for a window whose borders nobody told us.

    A request is noted at the last moment at which it may have arrived, and counts until a whole
    period after its bucket ends: so any period of the service's own choosing holds at most what this
    log counted, whatever the latency was.

    Attributes:
        width_s: Seconds of a bucket.
        buckets: Buckets in the period.
        first: Number of the first bucket, in widths since 1970.
        counts: Requests of that bucket and those after it.
        noted: Requests in all of them.
    """

    width_s: int
    buckets: int
    first: int = 0
    counts: list[int] = field(default_factory=list)
    noted: int = 0

    @classmethod
    def of_minute(cls) -> Log:
        """Return an empty log of a minute, by the second."""
        return cls(1, spec.MINUTE_S)

    @classmethod
    def of_day(cls) -> Log:
        """Return an empty log of a day, by ten minutes."""
        return cls(600, spec.DAY_S // 600)

    def add(self, at: float) -> None:
        """Note a request that arrived no later than `at`; never before one that is noted already."""
        bucket = floor(at / self.width_s)
        if bucket - self.first > len(self.counts) + self.buckets:
            self.counts, self.noted = [], 0  # all of them have expired
        if not self.counts:
            self.first = bucket
        self.counts.extend([0] * (bucket - self.first - len(self.counts) + 1))
        self.counts[-1] += 1
        self.noted += 1

    def prune(self, now: float) -> None:
        """Drop what no longer counts, and pull back what a clock set backwards left in the future."""
        latest = floor(now / self.width_s)
        expired = min(len(self.counts), max(0, latest - self.buckets - self.first))
        if expired:
            self.noted -= sum(self.counts[:expired])
            del self.counts[:expired]
            self.first += expired
        if self.counts and self.first + len(self.counts) - 1 > latest:
            self.first = min(self.first, latest)
            ahead = sum(self.counts[latest - self.first :])
            self.counts[latest - self.first :] = [ahead]

    def since(self, at: float) -> int:
        """Count the requests that may have arrived at or after `at`."""
        return sum(self.counts[max(0, floor(at / self.width_s) - self.first) :])

    def frees_at(self, needed: int = 1) -> float:
        """Return when `needed` of the noted requests stop counting, `inf` where there are fewer."""
        for bucket, n in enumerate(self.counts, start=self.first):
            needed -= n
            if needed <= 0:
                return float((bucket + 1 + self.buckets) * self.width_s)
        return float("inf")
