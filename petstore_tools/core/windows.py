"""Windows of time: the one arithmetic of the throttle, the ledger and the service's limiter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import floor
from typing import ClassVar, Final, Literal

from petstore_tools import spec

WindowName = Literal["minute", "day"]
PERIODS: Final[dict[WindowName, int]] = {"minute": spec.MINUTE_S, "day": spec.DAY_S}


@dataclass(frozen=True, slots=True)
class Window:
    """
    A number of requests in a period.

    Args:
        limit: Requests.
        period_s: Seconds; windows begin at whole multiples of it (§8.2 is silent: our choice).
    """

    limit: int
    period_s: int

    def start(self, now: float) -> int:
        """Return the Unix second at which the whole window that holds `now` began."""
        return floor(now / self.period_s) * self.period_s

    def end(self, now: float) -> int:
        """Return the Unix second at which the whole window that holds `now` ends."""
        return self.start(now) + self.period_s


class Log:
    """
    Requests of the last period, in buckets, for a window whose borders nobody told us.

    A request is noted at the last moment at which it may have arrived, and counts until a whole
    period after its bucket ends: so any period of the service's own choosing holds at most what this
    log counted, whatever the latency was.

    Args:
        period_s: Seconds of the window.
        counts: Requests by bucket; owned by the caller's state, changed in place.
    """

    BUCKETS: ClassVar = {spec.MINUTE_S: 60, spec.DAY_S: 288}  # of a second, of five minutes

    def __init__(self, period_s: int, counts: dict[int, int]) -> None:
        self.period_s, self.counts = period_s, counts
        self._width_s = period_s // self.BUCKETS[period_s]

    def add(self, at: float, n: int = 1) -> None:
        """Note `n` requests that arrived no later than `at`."""
        bucket = floor(at / self._width_s)
        self.counts[bucket] = self.counts.get(bucket, 0) + n

    def prune(self, now: float) -> None:
        """Drop what no longer counts, and pull back what a clock set backwards left in the future."""
        latest = floor(now / self._width_s)
        for bucket in [b for b in self.counts if self._expires(b) <= now]:
            del self.counts[bucket]
        for bucket in [b for b in self.counts if b > latest]:
            self.counts[latest] = self.counts.get(latest, 0) + self.counts.pop(bucket)

    def total(self, since: float = float("-inf")) -> int:
        """Count the requests that may have arrived at or after `since`."""
        return sum(n for b, n in self.counts.items() if (b + 1) * self._width_s > since)

    def frees_at(self, needed: int = 1) -> float:
        """Return when `needed` of the noted requests stop counting, `inf` where there are fewer."""
        for at, n in self._leaving():
            needed -= n
            if needed <= 0:
                return at
        return float("inf")

    def _leaving(self) -> Iterator[tuple[float, int]]:
        return ((self._expires(b), self.counts[b]) for b in sorted(self.counts))

    def _expires(self, bucket: int) -> float:
        return (bucket + 1) * self._width_s + self.period_s
