"""Pure: what the headers of an answer say about limits and time (§8.3, §8.4)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final

from petstore_tools import spec
from petstore_tools.plans import MOST_REQUESTS

LONGEST_RETRY_AFTER_S: Final = 7 * spec.DAY_S  # after a 429; more is taken for nonsense: our choice
LONGEST_PAUSE_S: Final = 300.0  # after a 503: a service that fails cannot say how long


@dataclass(frozen=True, slots=True)
class Answer:
    """
    The facts of an answer that a throttle needs.

    Attributes:
        status: HTTP status code.
        limit: X-RateLimit-Limit, None where absent or no whole number that can be meant.
        remaining: X-RateLimit-Remaining, likewise.
        reset: X-RateLimit-Reset in the service's Unix seconds, not yet believed.
        retry_after_s: Seconds from the answer on, at most 300 after a 503; None where absent,
            negative or nonsense.
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


def read(status: int, headers: Mapping[str, str], *, now: float, banned: bool = False) -> Answer:
    """
    Read an answer's headers.

    Args:
        status: HTTP status code.
        headers: Case-insensitive mapping.
        now: The service's Unix seconds as far as they are known, for a Retry-After that is a date
            when no
            `Date` came.
        banned: The body's code names a ban.

    Spec: §8.3, §8.4.
    """
    date = _http_date(headers.get("Date"))
    return Answer(
        status,
        _whole(headers.get(spec.HEADER_LIMIT)),
        _whole(headers.get(spec.HEADER_REMAINING)),
        _number(headers.get(spec.HEADER_RESET)),
        _retry_after_s(status, headers.get(spec.HEADER_RETRY_AFTER), now if date is None else date),
        date,
        banned,
    )


def _number(text: str | None) -> float | None:
    if text is None or not re.fullmatch(r"\d{1,20}(\.\d{1,20})?", text.strip(), re.ASCII):
        return None
    return float(text)


def _whole(text: str | None) -> int | None:
    number = _number(text)
    return (
        int(number)
        if number is not None and number.is_integer() and number <= MOST_REQUESTS
        else None
    )


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
    if text is None:
        return None
    try:
        moment = parsedate_to_datetime(text.strip())
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
