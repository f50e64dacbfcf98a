"""
Pure: what a pager gets and answers: a response, the next page, the end; and `Link` headers (§4.1).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qsl, urlencode, urljoin, urlsplit, urlunsplit

from petstore_tools.listing.completeness import Completeness

# requests' own parser loses `rel` behind a parameter without a value, and splits at a `, <` inside
# quotes
_PARAMETER = r";\s*([^\s=;,<>\"]+)\s*(?:=\s*(\"(?:[^\"\\]|\\.)*\"|[^\s;,\"]*))?\s*"
_LINK = re.compile(rf"<([^>]*)>\s*((?:{_PARAMETER})*)")
_EACH = re.compile(_PARAMETER)


@dataclass(frozen=True, slots=True)
class Response:
    """
    What a pager needs of a response.

    Attributes:
        url: The address that was asked.
        ids: int64 ids in the order they came.
        headers: Found in any case.
    """

    url: str
    ids: tuple[int, ...]
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NextPage:
    """
    The page to ask for next.

    Attributes:
        url: Its address.
        trial: The service may refuse it with a 4xx, which `Pager.refused` takes.
        overlap: How many animals of the page before it repeats if nothing has moved.
    """

    url: str
    trial: bool = False
    overlap: int = 0


@dataclass(frozen=True, slots=True)
class End:
    """The listing ends here; whether it is complete, and why."""

    completeness: Completeness
    reason: str


def links(header: str | None) -> dict[str, str]:
    """Read a `Link` header into targets by relation; the first of each relation counts."""
    found: dict[str, str] = {}
    for target, parameters, *_ in _LINK.findall(header or ""):
        relation = next(
            (v for name, v in _EACH.findall(parameters) if name.casefold() == "rel"), ""
        )
        for name in relation.strip('"').split():
            found.setdefault(name.casefold(), target)
    return found


def with_query(url: str, query: Mapping[str, object]) -> str:
    """Return an address with further parameters, or other values of those that it has."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(query=urlencode({**dict(parse_qsl(parts.query)), **query})))


def follow(asked: str, target: str) -> str | End:
    """
    Return the address that a page names as the next one, if the key may go there: to no other
        service.

    Args:
        asked: The address of the page.
        target: What it names, relative or absolute; capitals and the default port make no other
            service.
    """
    path = asked.partition("?")[0]
    try:
        here, there = (
            urlsplit(path),
            urlsplit(path + target if target[:1] == "?" else urljoin(asked, target)),
        )
        same = _origin(here) == _origin(there)
    except ValueError:
        return End("cut", "the service gave an address of the next page that is not valid")
    if not same:
        place = f"{there.scheme}://{there.netloc.rpartition('@')[2]}"
        return End(
            "cut", f"the service says that the next page is at {place}; the key is not sent there"
        )
    return urlunsplit(there._replace(scheme=here.scheme, netloc=here.netloc))


def _origin(url: SplitResult) -> tuple[str, str | None, int | None]:
    return url.scheme, url.hostname, url.port or {"http": 80, "https": 443}.get(url.scheme)
