"""
Pure: what is asked and answered in a listing: by its caller, by the pager, and by the
service; and how it ends (§4.1).

It stands apart from `pages`, so that a store checks arguments before it loads what
sends requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

from petstore_tools import spec
from petstore_tools.errors import ArgumentError
from petstore_tools.listing.completeness import Completeness


@dataclass(frozen=True)
class ListQuery:
    """
    What a listing is asked for.

    Attributes:
        status: The filter, None for all.
        limit: Page size, 1 to 100.
        first: Stop when so many animals came, None for all.
        require: `complete`: raise where the listing is not complete.

    Integers of numpy and pandas are whole numbers, too.

    Raises:
        ArgumentError: The document does not allow it.

    >>> ListQuery("sold", limit=20).query
    'limit=20&status=sold'
    """

    status: str | None = None
    limit: int = spec.LIMIT_MAX
    first: int | None = None
    require: str | None = None

    def __post_init__(self) -> None:
        check_status(self.status)
        limit = spec.plain_integer(self.limit)
        if type(limit) is not int or not spec.LIMIT_MIN <= limit <= spec.LIMIT_MAX:
            raise ArgumentError(
                f"limit must be between {spec.LIMIT_MIN} and {spec.LIMIT_MAX}, not"
                f" {self.limit!r}"
            )
        first = spec.plain_integer(self.first)
        if first is not None and (type(first) is not int or first < 1):
            raise ArgumentError(
                f"first must be a whole number of at least 1, not {self.first!r}"
            )
        if self.require not in (None, "complete"):
            raise ArgumentError(
                f"require must be 'complete' or None, not {self.require!r}"
            )

    @property
    def query(self) -> str:
        """The query of the first page."""
        status = {} if self.status is None else {"status": self.status}
        return urlencode({"limit": self.limit, **status})


def check_status(status: str | None) -> None:
    """Refuse a status that the document does not have (§2.3)."""
    if status is not None and status not in spec.STATUSES:
        raise ArgumentError(
            f"status must be one of {', '.join(spec.STATUSES)}, not {status!r}"
        )


@dataclass(frozen=True, slots=True)
class PageReply:
    """
    A reply to a request for a page, as the pager needs it.

    Attributes:
        url: The address that was asked.
        ids: int64 ids in the order they came.
        headers: Found in any case.
        has_other_status: It holds an animal without the status asked for.
    """

    url: str
    ids: tuple[int, ...]
    headers: Mapping[str, str] = field(default_factory=dict)
    has_other_status: bool = False


_ENDS = (404, 416)
_REFUSED = (400, 403, *_ENDS, 422)


@dataclass(frozen=True, slots=True)
class NextPage:
    """
    The page to ask for next.

    Attributes:
        url: Its address.
        is_trial: It finds out how the service pages, so the service may refuse it.
        overlap: How many animals of the page before it repeats if nothing has moved.
        is_gapless: No animal can hide before it: it is asked for by the last id.
        continues: It goes on by a way to page that is proven, or that the caller named.
    """

    url: str
    is_trial: bool = False
    overlap: int = 0
    is_gapless: bool = False
    continues: bool = False

    @property
    def retries_5xx(self) -> bool:
        """Whether it is asked for again after a 5xx: no other way can be tried."""
        return self.continues or not self.is_trial

    def is_end(self, status: int) -> bool:
        """Say whether a status means that no such page exists."""
        return self.continues and status in _ENDS

    def is_refused(self, status: int) -> bool:
        """Say whether a status means that the service does not page so."""
        is_failure = status >= 500 and not self.retries_5xx
        is_refusal = status in _REFUSED or is_failure
        return self.is_trial and is_refusal and not self.is_end(status)


@dataclass(frozen=True, slots=True)
class End:
    """The end of a listing: whether it is complete, and why."""

    completeness: Completeness
    reason: str
