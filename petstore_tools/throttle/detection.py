"""
Pure: which window the rate headers mean, and which plan they show: the document states neither
(§8.4).
"""

from __future__ import annotations

from typing import Final

from petstore_tools import plans, spec
from petstore_tools.plans import Plan, WindowName
from petstore_tools.throttle.budget import Budget
from petstore_tools.throttle.windows import GUARD_S

_SHORT_S: Final = spec.MINUTE_S + 2 * GUARD_S  # a minute's reset is never further ahead


def is_believable(ahead_s: float) -> bool:
    """Say whether a reset so far ahead can be one: not past, in milliseconds or years ahead."""
    return -GUARD_S < ahead_s <= spec.DAY_S + 2 * GUARD_S


def window(limit: int, ahead_s: float, plan: Plan) -> WindowName:
    """
    Detect a header's window by its number and by how far its reset is ahead.

    Where it may be either, the minute is the safe reading: the day has used no less than the
    minute, so what is left of the day is never too much for the minute. It holds until that reset,
    as the day's would.

    Args:
        limit: X-RateLimit-Limit.
        ahead_s: Seconds until X-RateLimit-Reset.
        plan: The plan as far as it is known.
    """
    return "day" if ahead_s > _SHORT_S or limit == plan.per_day != plan.per_minute else "minute"


def learn(budget: Budget, limit: int, reset: float, now: float) -> None:
    """
    Let a header's limit show the plan, where the caller named none.

    The strictest reading that fits holds first; a lower one holds at once; a higher one only when
    an answer of a later minute agrees.
    """
    short = reset - budget.service_time(now) <= _SHORT_S
    strict = plans.strictest(limit, minute=short, day=True)
    known = budget.learned or strict
    may_be_day = not short or reset % spec.DAY_S == 0
    if (short and known.per_minute == limit) or (may_be_day and known.per_day == limit):
        budget.learned = known
        return
    if (strict.per_minute or 0) < (known.per_minute or 0):
        known, budget.hint = strict, None
    if budget.hint is None or budget.hint[0] != limit:
        budget.hint = limit, now
    elif now - budget.hint[1] > _SHORT_S:
        known, budget.hint = plans.strictest(limit, minute=short, day=not short), None
    budget.learned = known
