"""
Pure: the service's quotas, whole minutes and whole UTC days, and a ban for callers that
ignore a 429.
"""

from math import ceil, floor
from typing import NamedTuple

from petstore_tools import spec

# §8.4.3 names no number and no length: both are our choice
RETRIES_BEFORE_BAN = 10
GRACE_S = 2.0  # what was in flight when the 429 left is not counted
BAN_S = 900.0


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
    usage: Usage, per_minute: int, per_day: int, now: float
) -> tuple[Usage, Decision]:
    """
    Count a request that arrives at `now`; a refused one costs nothing (our choice,
    §8.4).

    Whatever the clock does, no window grants its requests twice, and no wait is longer
    than the window or the ban that is waited for. A window that lies ahead, because the
    clock was set back, goes on from `now`.

        >>> usage, decision = consume(Usage(), 1, 1_000, now=15.0)
        >>> usage, decision = consume(usage, 1, 1_000, now=15.5)
        >>> decision.allowed, decision.reset, decision.retry_after_s
        (False, 60, 45)
    """
    minute_start, minute_used = _roll(spec.MINUTE_S, *usage[:2], now)
    day_start, day_used = _roll(spec.DAY_S, *usage[2:4], now)
    banned_until = min(usage.banned_until, now + BAN_S)
    usage = Usage(
        minute_start, minute_used, day_start, day_used, *usage[4:7], banned_until
    )
    minute = (per_minute - minute_used, minute_start + spec.MINUTE_S, per_minute)
    day = (per_day - day_used, day_start + spec.DAY_S, per_day)
    # headers tell of the window with fewer left; on a tie, of the one that ends later
    remaining, end, limit = min(day, minute, key=lambda window: (window[0], -window[1]))
    if remaining > 0 and now >= banned_until:
        usage = usage._replace(
            minute_used=minute_used + 1, day_used=day_used + 1, retries_during_block=0
        )
        return usage, Decision(True, limit, remaining - 1, end)
    closed_until = max(
        (ends_at for left, ends_at, _ in (minute, day) if left <= 0), default=0
    )
    if now >= banned_until:
        usage = _count_refusal(usage, closed_until, now)
    wait_s = ceil(max(usage.banned_until, closed_until) - now)
    banned = now < usage.banned_until
    return usage, Decision(False, limit, remaining, end, wait_s, banned)


def _count_refusal(usage: Usage, closed_until: float, now: float) -> Usage:
    """
    Count a request whose window is closed; too many of them are a ban (§8.4.3).

    The first one is told to wait until `closed_until`. What comes before that is a
    retry, but for what may have been sent before the 429 was read.
    """
    if not usage.refused_at <= now < usage.refused_until:
        return usage._replace(
            refused_at=now, refused_until=closed_until, retries_during_block=0
        )
    if now - usage.refused_at < GRACE_S:
        return usage
    retries = usage.retries_during_block + 1
    if retries < RETRIES_BEFORE_BAN:
        return usage._replace(retries_during_block=retries)
    return usage._replace(retries_during_block=0, banned_until=now + BAN_S)


def _roll(period_s: int, start: int, used: int, now: float) -> tuple[int, int]:
    """
    Return when the window that holds `now` began, and what was used of it.

    Windows are whole ones, but none begins before the last one has ended.
    """
    if now < start:
        return floor(now), used
    end = start + period_s
    if now < end:
        return start, used
    return max(floor(now / period_s) * period_s, end), 0
