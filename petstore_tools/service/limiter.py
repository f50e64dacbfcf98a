"""
Pure: the service's quotas, whole minutes and whole UTC days, and a ban for callers that
ignore a 429.
"""

from __future__ import annotations

from math import ceil, floor
from typing import Final, NamedTuple

from petstore_tools import spec
from petstore_tools.plans import Window

# §8.4.3 names no number and no length: both are our choice
RETRIES_BEFORE_BAN: Final = 10
GRACE_S: Final = 2.0  # what was in flight when the 429 left is not counted
BAN_S: Final = 900.0


class Usage(NamedTuple):
    """
    What a caller has used; Unix seconds of the service's clock.

    Attributes:
        minute_start, day_start: Windows that the counts belong to.
        minute_used, day_used: Requests accepted in them.
        refused_at, refused_until: The first 429 of a closed window, and its end.
        retries_during_block: Requests that came between the two all the same.
        banned_until: End of a ban.
    """

    minute_start: int = 0
    minute_used: int = 0
    day_start: int = 0
    day_used: int = 0
    refused_at: float = 0.0
    refused_until: float = 0.0
    retries_during_block: int = 0
    banned_until: float = 0.0


class Decision(NamedTuple):
    """
    Whether a request is answered, and the numbers of the headers (§8.3).

    Attributes:
        allowed: It is answered; else it gets a 429.
        limit, remaining, reset: Of the window with fewer requests left; on a tie, the
            later reset.
        retry_after_s: Whole seconds, for a 429.
        banned: The 429 is a ban.
    """

    allowed: bool
    limit: int
    remaining: int
    reset: int
    retry_after_s: int = 0
    banned: bool = False


def consume(
    usage: Usage, minute: Window, day: Window, now: float
) -> tuple[Usage, Decision]:
    """
    Count a request that arrives at `now`; a refused one costs nothing (our choice,
    §8.4).

    Whatever the clock does, no window grants its requests twice, and no wait is longer
    than the window or the ban that is waited for. A window that lies ahead, because the
    clock was set back, goes on from `now`.
    """
    usage = _roll(usage, minute, day, now)
    both = (
        (
            minute.limit - usage.minute_used,
            -usage.minute_start - minute.period_s,
            minute.limit,
        ),
        (day.limit - usage.day_used, -usage.day_start - day.period_s, day.limit),
    )
    left, negative_reset, limit = min(both)
    if now >= usage.banned_until and left > 0:
        minute_used = usage.minute_used + 1
        day_used = usage.day_used + 1
        usage = usage._replace(
            minute_used=minute_used, day_used=day_used, retries_during_block=0
        )
        return usage, Decision(True, limit, left - 1, -negative_reset)
    closed_until = max((-end for requests, end, _ in both if requests <= 0), default=0)
    if now >= usage.banned_until:
        usage = _retry_during_block(usage, closed_until, now)
    wait_s = ceil(max(usage.banned_until, closed_until) - now)
    banned = now < usage.banned_until
    return usage, Decision(False, limit, left, -negative_reset, wait_s, banned)


def _roll(usage: Usage, minute: Window, day: Window, now: float) -> Usage:
    """Return what was used of the windows that hold `now`."""
    minute_start = _start(usage.minute_start, minute, now)
    day_start = _start(usage.day_start, day, now)
    return usage._replace(
        minute_start=minute_start,
        minute_used=usage.minute_used if minute_start <= usage.minute_start else 0,
        day_start=day_start,
        day_used=usage.day_used if day_start <= usage.day_start else 0,
        banned_until=min(usage.banned_until, now + BAN_S),
    )


def _start(start: int, window: Window, now: float) -> int:
    """
    Return when the window began that holds `now`: whole ones, but none before the last
    one has ended.
    """
    if now < start:
        return floor(now)
    end = start + window.period_s
    return start if now < end else max(window.start(now), end)


def _retry_during_block(usage: Usage, closed_until: float, now: float) -> Usage:
    """
    Count a request that came while its window was closed; too many are a ban (§8.4.3).
    """
    if not usage.refused_at <= now < usage.refused_until:
        return usage._replace(
            refused_at=now, refused_until=closed_until, retries_during_block=0
        )
    if now - usage.refused_at < GRACE_S:
        return usage
    if usage.retries_during_block + 1 < RETRIES_BEFORE_BAN:
        return usage._replace(retries_during_block=usage.retries_during_block + 1)
    return usage._replace(retries_during_block=0, banned_until=now + BAN_S)


def windows(per_minute: int, per_day: int) -> tuple[Window, Window]:
    """Return the minute and the day of a plan (§8.2)."""
    return Window(per_minute, spec.MINUTE_S), Window(per_day, spec.DAY_S)
