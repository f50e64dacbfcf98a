"""What an age, a date or a time means: the instant from which something is compared or shown."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, date, datetime

from petstore_tools import spec
from petstore_tools.errors import ArgumentError
from petstore_tools.text import parse_duration, utc_text


def instant(given: str | date, now: float) -> float:
    """
    Return the Unix seconds that an age, a date (its end) or a time means; UTC where it names no
    time zone.

    Raises:
        ArgumentError: It is none of these, or in the future.
    """
    if isinstance(given, str) and (age_s := parse_duration(given)) is not None:
        return now - age_s
    at = _date(given.strip()) if isinstance(given, str) else given
    if not isinstance(at, date):
        raise ArgumentError(
            f"since {given!r} cannot be read: write a date as 2026-03-05 (year, month, day) or "
            "05.03.2026 "
            "(day, month, year), an age such as 7d (in s, min, h, d or w), or the word last"
        )
    whole_day = not isinstance(at, datetime)
    moment = at if isinstance(at, datetime) else datetime(at.year, at.month, at.day)
    means_at = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    means_at += spec.DAY_S - 1e-6 if whole_day else 0.0
    if means_at > now:
        why = "a date means its end, and " if whole_day else ""
        raise ArgumentError(f"since {given} is in the future: {why}it is {utc_text(now)} now")
    return means_at


def _date(text: str) -> date | None:
    """
    Read `2026-03-05`, `2026-03-05T14:00+01:00` or `05.03.2026`; None for all else: nothing is
    guessed.
    """
    for read in (date.fromisoformat, datetime.fromisoformat, _day_first):
        with suppress(ValueError):
            return read(text)
    return None


def _day_first(text: str) -> date:
    return datetime.strptime(text, "%d.%m.%Y").date()
