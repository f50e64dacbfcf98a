"""
Pure: what a pager gets and answers: a response, the next page, the end; and `Link`
headers (§4.1).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import (
    SplitResult,
    parse_qsl,
    unquote_plus,
    urlencode,
    urljoin,
    urlsplit,
    urlunsplit,
)

from petstore_tools import spec
from petstore_tools.errors import ArgumentError
from petstore_tools.listing.completeness import Completeness

# requests' parser loses `rel` behind a parameter without a value, and splits at a
# quoted `, <`
_VALUE = r"\"(?:[^\"\\]|\\.)*\"|'[^'\"<>;,]*'|[^\s;,\"]*"
_PARAMETER = rf";\s*([^\s=;,<>\"]+)\s*(?:=\s*({_VALUE}))?\s*"
_LINK = re.compile(rf"<([^>]*)>\s*((?:{_PARAMETER})*)")
_EACH = re.compile(_PARAMETER)


@dataclass(frozen=True, slots=True)
class PageReply:
    """
    What a pager needs of a response.

    Attributes:
        url: The address that was asked.
        ids: int64 ids in the order they came.
        headers: Found in any case.
        unfiltered: It holds an animal without the status asked for.
    """

    url: str
    ids: tuple[int, ...]
    headers: Mapping[str, str] = field(default_factory=dict)
    unfiltered: bool = False


_ENDS: Final = (404, 416)
_REFUSED: Final = (400, 403, *_ENDS, 422)


@dataclass(frozen=True, slots=True)
class NextPage:
    """
    The page to ask for next.

    Attributes:
        url: Its address.
        trial: It finds out how the service pages, so the service may refuse it.
        behind: It is behind a page of a way that is proven or told.
        overlap: How many animals of the page before it repeats if nothing has moved.
        safe: It asks for what follows the last animal, by its id.
    """

    url: str
    trial: bool = False
    overlap: int = 0
    safe: bool = False
    behind: bool = False

    @property
    def once(self) -> bool:
        """Whether a 5xx is an answer, since another way can be tried."""
        return self.trial and not self.behind

    def is_end(self, status: int) -> bool:
        """Say whether a status means that no such page exists."""
        return self.behind and status in _ENDS

    def is_refused(self, status: int) -> bool:
        """Say whether a status means that the service does not page so."""
        is_refusal = status in _REFUSED or (self.once and status >= 500)
        return self.trial and is_refusal and not self.is_end(status)


@dataclass(frozen=True, slots=True)
class End:
    """The listing ends here; whether it is complete, and why."""

    completeness: Completeness
    reason: str


def links(header: str | None) -> dict[str, str]:
    """
    Read a `Link` header into targets by relation; the first of each relation counts.
    """
    found: dict[str, str] = {}
    for target, parameters, *_ in _LINK.findall(header or ""):
        relation = next(
            (v for name, v in _EACH.findall(parameters) if name.casefold() == "rel"), ""
        )
        for name in relation.strip("\"'").split():
            found.setdefault(name.casefold(), target.strip())
    return found


def with_query(url: str, query: Mapping[str, object]) -> str:
    """
    Return an address with further parameters, or other values of those that it has; a
    value of None takes the parameter off.
    """
    parts = urlsplit(url)
    values = {**dict(parse_qsl(parts.query)), **query}
    named = {name: value for name, value in values.items() if value is not None}
    return urlunsplit(parts._replace(query=urlencode(named)))


def follow(asked: str, target: str) -> str | End:
    """
    Return the address that a page names as the next one, always at the service that was
    asked.

    A service behind a proxy names its inner host: a link to another place is followed
    where its path is the one that was asked, else it is an End, since the key must not
    get there.

    Args:
        asked: The address of the page.
        target: What it names, relative or absolute; capitals and the default port make
            no other service.
    """
    asked_parts = urlsplit(asked)
    try:
        parts = urlsplit(urljoin(asked, target))
        same = _origin(asked_parts) == _origin(parts)
    except ValueError:
        return End(
            "cut", "the service gave an address of the next page that is not valid"
        )
    if not same and parts.path != asked_parts.path:
        place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        return End(
            "cut",
            f"the service says that the next page is at {place}; the key is not sent"
            " there",
        )
    return urlunsplit(
        parts._replace(scheme=asked_parts.scheme, netloc=asked_parts.netloc)
    )


def holds_id(url: str, last_id: int, *, rows: int) -> bool:
    """
    Say whether an address asks for what follows an animal, by its id.

    Args:
        url: Address of the next page.
        last_id: Id of the last animal of the page before.
        rows: Animals so far: a number near it may count rows, so it is believed only
            behind `id`.
    """
    name = "" if abs(last_id) > 2 * rows else "(?<![a-z])id[^a-z0-9-]*"
    query = unquote_plus(urlsplit(url).query)
    return bool(
        re.search(rf"{name}(?<![0-9-]){last_id}(?![0-9])", query, re.IGNORECASE)
    )


def _origin(url: SplitResult) -> tuple[str, str | None, int | None]:
    return (
        url.scheme,
        url.hostname,
        url.port or {"http": 80, "https": 443}.get(url.scheme),
    )


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
    """

    status: str | None = None
    limit: int = spec.LIMIT_MAX
    first: int | None = None
    require: str | None = None

    def __post_init__(self) -> None:
        check_status(self.status)
        limit = spec.whole(self.limit)
        if type(limit) is not int or not spec.LIMIT_MIN <= limit <= spec.LIMIT_MAX:
            raise ArgumentError(
                f"limit must be between {spec.LIMIT_MIN} and {spec.LIMIT_MAX}, not"
                f" {self.limit!r}"
            )
        first = spec.whole(self.first)
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
