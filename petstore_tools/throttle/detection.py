"""Which window the rate headers mean, and which plan they show: the document tells neither (§8.4)."""

from __future__ import annotations

from typing import Final

from petstore_tools import plans, spec
from petstore_tools.plans import Plan
from petstore_tools.throttle.budget import Budget, Kind

GUARD_S: Final = 1.0  # headers carry whole seconds: a reset may be up to one later than written


def window(limit: int, reset: float, *, service_now: float, plan: Plan) -> Kind | None:
    """
    Tell a header's window by its number and by how far its reset is away.

    Args:
        limit: X-RateLimit-Limit.
        reset: X-RateLimit-Reset, the service's Unix seconds.
        service_now: The service's Unix seconds, the earliest possible.
        plan: The plan as far as it is known.

    Returns:
        The window, `either` where both readings fit, or None where the reset cannot be believed
        (past, in milliseconds, years ahead).
    """
    ahead_s = reset - service_now
    if not -GUARD_S < ahead_s <= spec.DAY_S + 2 * GUARD_S:
        return None
    if not is_short(ahead_s):
        return "day"
    if limit == plan.per_minute != plan.per_day:
        return "minute"
    midnight = reset % spec.DAY_S == 0
    if limit == plan.per_day and midnight:
        return "day"
    if plan.per_minute is None and not midnight:
        return "minute"
    return "either"


def is_short(ahead_s: float) -> bool:
    """Say whether a reset so many seconds ahead may be a minute's."""
    return ahead_s <= spec.MINUTE_S + 2 * GUARD_S


def learn(budget: Budget, limit: int, reset: float, now: float) -> None:
    """
    Let a header's limit teach the plan, where the caller named none.

    The strictest reading that fits holds first; a lower one holds at once; a higher one only when an
    answer of a later minute agrees.
    """
    ahead_s = reset - budget.service_time(now)
    if not -GUARD_S < ahead_s <= spec.DAY_S + 2 * GUARD_S:
        return
    short = is_short(ahead_s)
    strict = plans.reading(limit, minute=short, day=True)
    loose = plans.reading(limit, minute=short, day=not short)
    if budget.learned is None:
        _adopt(budget, strict)
    known = learned(budget)
    if known is None or _agrees(known, limit, short=short, midnight=reset % spec.DAY_S == 0):
        return
    if (strict.per_minute or 0) < (known.per_minute or 0):
        _adopt(budget, strict)
    if budget.hint is None or budget.hint[0] != limit:
        budget.hint = (limit, now)
    elif now - budget.hint[1] > spec.MINUTE_S + 2 * GUARD_S:
        _adopt(budget, loose)


def learned(budget: Budget) -> Plan | None:
    """Return the plan that the headers showed, if they did."""
    return None if budget.learned is None else Plan(*budget.learned)


def _adopt(budget: Budget, plan: Plan) -> None:
    budget.learned = (plan.per_minute, plan.per_day, plan.name)
    budget.hint = None


def _agrees(plan: Plan, limit: int, *, short: bool, midnight: bool) -> bool:
    as_minute = short and plan.per_minute == limit
    return as_minute or ((not short or midnight) and plan.per_day == limit)
