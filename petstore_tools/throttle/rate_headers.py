"""Pure: what the headers of an answer say about limits and time (§8.3, §8.4)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final

from petstore_tools import plans, spec
from petstore_tools.throttle.budget import Budget

# after a 429; more is taken for nonsense: our choice
LONGEST_RETRY_AFTER_S: Final = 7 * spec.DAY_S
LONGEST_PAUSE_S: Final = 300.0  # after a 503: a service that fails cannot say how long


@dataclass(frozen=True, slots=True)
class Answer:
    """
    The facts of an answer that a throttle needs.

    Attributes:
        status: HTTP status code.
        limit: X-RateLimit-Limit, None where absent or no whole number that can be
            meant.
        remaining: X-RateLimit-Remaining, likewise.
        reset: X-RateLimit-Reset in the service's Unix seconds, not yet believed.
        retry_after_s: Seconds from the answer on, at most 300 after a 503; None where
            absent, negative or nonsense.
        date: The service's clock, whole seconds rounded down.
        banned: The body says that the key is banned.
    """

    status: int
    limit: int | None = None
    remaining: int | None = None
    reset: float | None = None
    retry_after_s: float | None = None
    date: float | None = None
    banned: bool = False


def read(
    status: int, headers: Mapping[str, str], *, now: float, banned: bool = False
) -> Answer:
    """
    Read an answer's headers.

    Args:
        status: HTTP status code.
        headers: Case-insensitive mapping.
        now: The service's Unix seconds as far as they are known, for a Retry-After that
            is a date when no `Date` came.
        banned: The body's code names a ban.

    Spec: §8.3, §8.4.
    """
    date = _http_date(headers.get("Date"))
    return Answer(
        status,
        _count(headers.get(spec.HEADER_LIMIT)),
        _count(headers.get(spec.HEADER_REMAINING)),
        _number(headers.get(spec.HEADER_RESET)),
        _retry_after_s(status, headers.get(spec.HEADER_RETRY_AFTER), date or now),
        date,
        banned,
    )


def _count(text: str | None) -> int | None:
    """Read requests of a window; more than nine digits are beyond reason."""
    found = re.fullmatch(r"\s*\d{1,9}\s*", text or "", re.ASCII)
    return int(found[0]) if found else None


def _number(text: str | None) -> float | None:
    found = re.fullmatch(r"\s*\d{1,20}(\.\d{1,20})?\s*", text or "", re.ASCII)
    return float(found[0]) if found else None


def _retry_after_s(status: int, text: str | None, now: float) -> float | None:
    seconds = _number(text)
    if seconds is None:
        at = _http_date(text)
        seconds = None if at is None else at - now
    if seconds is None or seconds < 0:
        return None
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        return min(seconds, LONGEST_PAUSE_S)
    return seconds if seconds <= LONGEST_RETRY_AFTER_S else None


def _http_date(text: str | None) -> float | None:
    try:
        date = parsedate_to_datetime(text or "")
        # without a zone, or with -0000, it is UTC, whatever the zone of this machine
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def learn(
    budget: Budget, limit: int, now: float, *, short: bool, day_ends: bool
) -> None:
    """
    Let a header's limit show the plan, where the caller named none.

    The strictest reading that fits holds first; a lower one holds at once; a higher one
    only when an answer of a later minute agrees.

    Args:
        budget: Holds what is learnt.
        limit: X-RateLimit-Limit.
        now: The ledger's time.
        short: X-RateLimit-Reset is no further ahead than a minute's can be.
        day_ends: It is midnight UTC, or when days were seen to end, so it may be a
            day's, too.
    """
    strict = plans.strictest(limit, minute=short, day=True)
    known = budget.learned or strict
    is_day = known.per_day == limit and (day_ends or not short)
    if short and known.per_minute == limit:
        budget.hint = 0, 0.0  # what another one said was of the day
    elif not is_day:
        if (strict.per_minute or 0) < (known.per_minute or 0):
            known = strict
        if budget.hint[0] != limit:
            budget.hint = limit, now
        elif now - budget.hint[1] > spec.MINUTE_S:
            known = plans.strictest(limit, minute=short, day=not short)
    budget.learned = known
