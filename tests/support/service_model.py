"""
A strict service in simulated time: the windows that §8 leaves open, each in its
strictest form.
"""

from dataclasses import dataclass, field
from math import ceil, floor
from typing import Literal

from petstore_tools.throttle.rate_headers import RateReply

WindowKind = Literal["whole", "first use", "rolling"]


@dataclass
class StrictWindow:
    """
    One limit of the model: whole periods, from the first use on, or any period that
    slides.

    Whole periods begin so many seconds (`begins_s`) after those of UTC.
    """

    kind: WindowKind
    limit: int
    period_s: int
    begins_s: float = 0.0
    request_times: list[float] = field(default_factory=list)

    def _counted_times(self, now):
        if self.kind == "rolling":
            self.request_times = [
                t for t in self.request_times if t > now - self.period_s
            ]
        elif self.kind == "whole":
            end = self._end(now)
            self.request_times = [t for t in self.request_times if self._end(t) == end]
        elif self.request_times and now >= self.request_times[0] + self.period_s:
            self.request_times = []
        return self.request_times

    def _end(self, now):
        return (
            floor((now - self.begins_s) / self.period_s) + 1
        ) * self.period_s + self.begins_s

    def remaining(self, now):
        return self.limit - len(self._counted_times(now))

    def reset(self, now):
        times = self._counted_times(now)
        if self.kind == "whole":
            return self._end(now)
        return (times[0] if times else now) + self.period_s


@dataclass
class StrictService:
    """
    Counts what arrives, refuses what is over, and speaks of one window as `speaks`
    says.
    """

    windows: tuple[StrictWindow, StrictWindow]
    speaks: Literal["tight", "minute", "day", "alternate", "nothing"]
    skew_s: float = 0.0
    refused: int = 0
    accepted: int = 0

    def arrive(self, true_now):
        now = true_now + self.skew_s
        remaining = [w.remaining(now) for w in self.windows]
        if min(remaining) <= 0:
            self.refused += 1
            tight = self.windows[remaining.index(min(remaining))]
            return self._reply(429, now, retry_after_s=ceil(tight.reset(now) - now))
        for w in self.windows:
            w.request_times.append(now)
        self.accepted += 1
        return self._reply(200, now)

    def _reply(self, status, now, retry_after_s=None):
        if self.speaks == "nothing":
            return RateReply(status, retry_after_s=retry_after_s)
        minute, day = self.windows
        spoken = {
            "tight": min(self.windows, key=lambda w: w.remaining(now)),
            "minute": minute,
            "day": day,
            "alternate": self.windows[self.accepted % 2],
        }[self.speaks]
        return RateReply(
            status,
            limit=spoken.limit,
            remaining=spoken.remaining(now),
            reset=floor(spoken.reset(now)),
            retry_after_s=retry_after_s,
            date=floor(now),
        )
