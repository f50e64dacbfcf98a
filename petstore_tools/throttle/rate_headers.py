"""Pure: what the headers of an answer say about limits and time (§8.3, §8.4)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from math import inf

from petstore_tools import spec
from petstore_tools.plans import PERIODS, WindowName
from petstore_tools.text import parse_duration

# after a 429; more is taken for nonsense: our choice
LONGEST_RETRY_AFTER_S = 7 * spec.DAY_S
POLICY_HEADER = "RateLimit-Policy"  # of a draft (IETF), which §8.3 does not name
_POLICY = re.compile(r'"(?:[^"\\]|\\.)*"((?:\s*;[^;,]*)*)')
# the parts of a list; a comma behind a weekday belongs to a date
_PART = re.compile(
    r"(?:\s*(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,)?[^,]+", re.IGNORECASE
)
_PARAMETER = re.compile(r";\s*([a-z]+)\s*=\s*(\d{1,9})(?![\w.])")
LONGEST_PAUSE_S = 300.0  # after a 503: a service that fails cannot say how long


@dataclass(frozen=True)
class RateReply:
    """
    The facts of an answer that a throttle needs.

    Attributes:
        status: HTTP status code.
        limit: X-RateLimit-Limit, None where absent or no whole number that can be
            meant.
        remaining: X-RateLimit-Remaining, likewise.
        reset: X-RateLimit-Reset in the service's Unix seconds, not yet believed.
        retry_after_s: Seconds from the answer on, of several the largest, at most 300
            after a 503; None if the header is missing, negative or nonsense.
        date: The service's clock, whole seconds rounded down.
        banned: The body says that the key is banned.
        policy_window: The window that its headers speak of, as `RateLimit-Policy` says;
            None where it does not.
    """

    status: int
    limit: int | None = None
    remaining: int | None = None
    reset: float | None = None
    retry_after_s: float | None = None
    date: float | None = None
    banned: bool = False
    policy_window: WindowName | None = None


def read_reply(
    status: int, headers: Mapping[str, str], *, now: float, banned: bool = False
) -> RateReply:
    """
    Read an answer's headers.

    >>> headers = {
    ...     "X-RateLimit-Limit": "60",
    ...     "X-RateLimit-Remaining": "59",
    ...     "X-RateLimit-Reset": "1800000060",
    ...     "Retry-After": "Fri, 15 Jan 2027 08:00:30 GMT",
    ...     "Date": "Fri, 15 Jan 2027 08:00:00 GMT",
    ... }
    >>> read_reply(429, headers, now=1_800_000_300.0)  # our clock does not matter
    RateReply(status=429, limit=60, remaining=59, reset=1800000060.0,
              retry_after_s=30.0, date=1800000000.0, banned=False, policy_window=None)

    Args:
        status: HTTP status code.
        headers: Case-insensitive mapping.
        now: The service's Unix seconds as far as they are known, for a Retry-After that
            is a date when no `Date` came.
        banned: The body's code names a ban.

    Spec: §8.3, §8.4.
    """
    date = _read_date(headers.get("Date", ""))
    retry_after = headers.get(spec.HEADER_RETRY_AFTER, "")
    limit = _read_count(headers.get(spec.HEADER_LIMIT, ""))
    return RateReply(
        status,
        limit,
        _read_count(headers.get(spec.HEADER_REMAINING, "")),
        _read_number(headers.get(spec.HEADER_RESET, "")),
        _read_retry_after(status, retry_after, date or now),
        date,
        banned,
        _read_policy(headers.get(POLICY_HEADER, ""), limit),
    )


def _read_policy(text: str, limit: int | None) -> WindowName | None:
    """
    Return the window of the one policy, or of the one with this limit.

    >>> _read_policy('"minute";q=300;w=60, "day";q=10000;w=86400', 10_000)
    'day'
    """
    policies = [dict(_PARAMETER.findall(policy)) for policy in _POLICY.findall(text)]
    if len(policies) > 1:
        policies = [policy for policy in policies if policy.get("q") == str(limit)]
    if len(policies) != 1:
        return None
    seconds = policies[0].get("w")
    return next((name for name in PERIODS if str(PERIODS[name]) == seconds), None)


def _read_count(text: str) -> int | None:
    """Read requests of a window; more than nine digits are beyond reason."""
    return int(text) if re.fullmatch(r"\s*\d{1,9}\s*", text, re.ASCII) else None


def _read_number(text: str) -> float | None:
    is_number = re.fullmatch(r"\s*\d{1,20}(\.\d{1,20})?\s*", text, re.ASCII)
    return float(text) if is_number else None


def _read_retry_after(status: int, text: str, now: float) -> float | None:
    """
    Return the longest wait that the header names: a proxy may add its own to the
    service's, and then a comma stands between them.

    >>> _read_retry_after(429, "5, 12s, Thu, 01 Jan 1970 00:00:30 GMT", now=20.0)
    12.0
    """
    is_pause = status == HTTPStatus.SERVICE_UNAVAILABLE
    waits = [_read_wait(part, now) for part in _PART.findall(text)]
    most_s = inf if is_pause else LONGEST_RETRY_AFTER_S
    longest_s = max((wait for wait in waits if 0 <= wait <= most_s), default=None)
    if is_pause and longest_s is not None:
        return min(longest_s, LONGEST_PAUSE_S)
    return longest_s


def _read_wait(text: str, now: float) -> float:
    """Read seconds, an age such as `12s`, or a date; -1 if it is none of these."""
    seconds = _read_number(text)
    if seconds is None:
        seconds = parse_duration(text)
    if seconds is None and (retry_at := _read_date(text)) is not None:
        seconds = retry_at - now
    return -1.0 if seconds is None else seconds


def _read_date(text: str) -> float | None:
    try:
        date = parsedate_to_datetime(text)
        # without a zone, or with -0000, it is UTC, whatever the zone of this machine
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
