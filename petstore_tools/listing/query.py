"""
Pure: what a listing is asked for; what the document does not allow is refused before a request
(§4.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlencode

from petstore_tools import spec
from petstore_tools.errors import ArgumentError
from petstore_tools.models import whole
from petstore_tools.text import option, parse_duration, suggest


@dataclass(frozen=True)
class ListQuery:
    """
    What a listing is asked for.

    Attributes:
        status: The filter, None for all.
        limit: Page size, 1 to 100.
        first: Stop when so many animals came, None for all.
        max_requests: Stop after so many requests, None for no bound.
        require: `complete`: raise where the listing is not complete.

    Integers of numpy and pandas are whole numbers, too.

    Raises:
        ArgumentError: The document does not allow it.
    """

    status: str | None = None
    limit: int = spec.LIMIT_MAX
    first: int | None = None
    max_requests: int | None = None
    require: str | None = None

    def __post_init__(self) -> None:
        check_status(self.status)
        for name in ("limit", "first", "max_requests"):
            object.__setattr__(self, name, whole(getattr(self, name)))
        if type(self.limit) is not int or not spec.LIMIT_MIN <= self.limit <= spec.LIMIT_MAX:
            bounds = f"between {spec.LIMIT_MIN} and {spec.LIMIT_MAX}"
            raise ArgumentError(f"limit must be {bounds}, not {self.limit!r}")
        for name, number in (("first", self.first), ("max_requests", self.max_requests)):
            if number is not None and (type(number) is not int or number < 1):
                raise ArgumentError(f"{name} must be a whole number of at least 1, not {number!r}")
        if self.require not in (None, "complete"):
            raise ArgumentError(f"require must be 'complete' or None, not {self.require!r}")

    @property
    def query(self) -> str:
        """The query of the first page."""
        status = {} if self.status is None else {"status": self.status}
        return urlencode({"limit": self.limit, **status})


def check_status(status: str | None) -> None:
    """Refuse a status that the document does not have (§2.3)."""
    if status is not None and status not in spec.STATUSES:
        near = suggest(status, spec.STATUSES)
        raise ArgumentError(
            f"status must be one of {', '.join(spec.STATUSES)}, not {status!r}{near}"
        )


def parse_age(given: str | float | timedelta, query: ListQuery) -> timedelta:
    """
    Return the greatest age of a kept listing that may answer, as a time span.

    Raises:
        ArgumentError: It is no age, or the listing is limited.
    """
    if query.first is not None or query.max_requests is not None:
        left_out = f"{option('first')} and {option('max_requests')}"
        raise ArgumentError(f"{option('max_age')} cannot be combined with {left_out}")
    seconds = parse_duration(given) if isinstance(given, str) else given
    if isinstance(seconds, timedelta):
        seconds = seconds.total_seconds()
    if seconds is None or not 0 <= seconds <= timedelta.max.total_seconds() / 2:
        raise ArgumentError(
            f"max_age must be an age such as '1h' or '2d' (s, min, h, d or w), not {given!r}"
        )
    return timedelta(seconds=seconds)
