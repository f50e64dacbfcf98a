"""The service's quotas: whole minutes and whole UTC days, and a ban for those who keep knocking (§8)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import Final

from petstore_tools import spec
from petstore_tools.core.windows import Window

KNOCKS: Final = 10  # §8.4.3 names no number, no length: both are our choice
GRACE_S: Final = 2.0  # what was in flight when the 429 left is no knock
BAN_S: Final = 900.0


@dataclass(frozen=True, slots=True)
class Usage:
    """
    What a caller has used; Unix seconds of the service's clock.

    Attributes:
        minute_start, day_start: Windows that the counts belong to.
        minute_used, day_used: Requests accepted in them.
        refused_at, refused_until: The first 429 of a closed window, and its end.
        knocks: Requests that came inside it all the same.
        banned_until: End of a ban.
    """

    minute_start: int = 0
    minute_used: int = 0
    day_start: int = 0
    day_used: int = 0
    refused_at: float = 0.0
    refused_until: float = 0.0
    knocks: int = 0
    banned_until: float = 0.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """
    What becomes of a request, and the numbers of the headers (§8.3).

    Attributes:
        allowed: It is answered; else it gets a 429.
        limit, remaining, reset: Of the window with fewer requests left; on a tie, the later reset.
        retry_after_s: Whole seconds, for a 429.
        banned: The 429 is a ban.
    """

    allowed: bool
    limit: int
    remaining: int
    reset: int
    retry_after_s: int = 0
    banned: bool = False


def take(usage: Usage, minute: Window, day: Window, now: float) -> tuple[Usage, Verdict]:
    """Count a request that arrives at `now`; a refused one costs nothing (our choice, §8.4)."""
    usage = _roll(usage, minute, day, now)
    room = (minute.limit - usage.minute_used, day.limit - usage.day_used)
    if now >= usage.banned_until and min(room) > 0:
        usage = replace(usage, minute_used=usage.minute_used + 1, day_used=usage.day_used + 1, knocks=0)
        return usage, _verdict(usage, minute, day, now)
    if now >= usage.banned_until:
        usage = _knock(usage, (day if room[1] <= 0 else minute).end(now), now)
    banned = now < usage.banned_until
    until = usage.banned_until if banned else usage.refused_until
    shown = _verdict(usage, minute, day, now)
    return usage, replace(shown, allowed=False, retry_after_s=max(1, ceil(until - now)), banned=banned)


def _roll(usage: Usage, minute: Window, day: Window, now: float) -> Usage:
    if usage.minute_start != minute.start(now):
        usage = replace(usage, minute_start=minute.start(now), minute_used=0)
    if usage.day_start != day.start(now):
        usage = replace(usage, day_start=day.start(now), day_used=0)
    return usage


def _knock(usage: Usage, closed_until: float, now: float) -> Usage:
    if now >= usage.refused_until:
        return replace(usage, refused_at=now, refused_until=closed_until, knocks=0)
    if now - usage.refused_at < GRACE_S:
        return usage
    knocks = usage.knocks + 1
    banned_until = now + BAN_S if knocks >= KNOCKS else usage.banned_until
    return replace(usage, knocks=knocks, banned_until=banned_until)


def _verdict(usage: Usage, minute: Window, day: Window, now: float) -> Verdict:
    of_minute = (minute.limit - usage.minute_used, -minute.end(now), minute.limit)
    of_day = (day.limit - usage.day_used, -day.end(now), day.limit)
    remaining, negative_reset, limit = min(of_minute, of_day)
    return Verdict(True, limit, max(0, remaining), -negative_reset)


def free_windows() -> tuple[Window, Window]:
    """Return the budget of callers without a valid key, per address: Free-sized (our choice, §5)."""
    per_minute, per_day = spec.PLANS["free"]
    return Window(per_minute, spec.MINUTE_S), Window(per_day, spec.DAY_S)
