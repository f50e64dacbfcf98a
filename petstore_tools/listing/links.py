"""What a pager is told and says: a page, the next ask, the end; links and ids read (§4.1)."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urljoin, urlsplit, urlunsplit

from petstore_tools.listing.completeness import Completeness

_PARAMETER = r";\s*([^\s=;,<>\"]+)\s*(?:=\s*(\"(?:[^\"\\]|\\.)*\"|[^\s;,\"]*))?\s*"
_LINK = re.compile(rf"<([^>]*)>\s*((?:{_PARAMETER})*)")
_EACH = re.compile(_PARAMETER)


@dataclass(frozen=True, slots=True)
class Page:
    """
    What a pager needs of a page.

    Attributes:
        url: The address that was asked.
        ids: int64 ids in the order they came.
        headers: Of the answer, found in any case.
    """

    url: str
    ids: tuple[int, ...]
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask this address next; a `trial` may be refused with a 4xx, which `Pager.refused` takes."""

    url: str
    trial: bool = False


@dataclass(frozen=True, slots=True)
class End:
    """The listing ends here, and this is what it is worth."""

    completeness: Completeness
    reason: str


def links(header: str | None) -> dict[str, str]:
    """Read a `Link` header into targets by relation; the first of each relation counts."""
    found: dict[str, str] = {}
    for target, parameters, *_ in _LINK.findall(header or ""):
        relation = next((v for name, v in _EACH.findall(parameters) if name.casefold() == "rel"), "")
        for name in relation.strip('"').split():
            found.setdefault(name.casefold(), target)
    return found


def follow(asked: str, target: str) -> str | End:
    """
    Return the address that a page names as the next one, if the key may go there: to no other service.

    Args:
        asked: The address of the page.
        target: What it names, relative or whole; capitals and the default port make no other service.
    """
    place = asked.partition("?")[0]
    try:
        here, there = (
            urlsplit(place),
            urlsplit(place + target if target[:1] == "?" else urljoin(asked, target)),
        )
        own = _origin(here) == _origin(there)
    except ValueError:
        return End("cut", "the next page is said to be at what is no address")
    if not own:
        said = f"{there.scheme}://{there.netloc.rpartition('@')[2]}"
        return End("cut", f"the next page is said to be at {said}, where the key does not go")
    return urlunsplit(there._replace(scheme=here.scheme, netloc=here.netloc))


def _origin(url: SplitResult) -> tuple[str, str | None, int | None]:
    return url.scheme, url.hostname, url.port or {"http": 80, "https": 443}.get(url.scheme)


class Seen:
    """The ids that came, in order; a set of them only where they do not ascend."""

    def __init__(self, ids: Iterable[int] = ()) -> None:
        self.ids = array("q")
        self._highest: int | None = None
        self._set: set[int] | None = None
        self.add(list(ids))

    def __contains__(self, pet_id: int) -> bool:
        if self._set is None:
            if self._highest is None or pet_id > self._highest:
                return False
            self._set = set(self.ids)
        return pet_id in self._set

    def new(self, ids: Sequence[int]) -> list[int]:
        """Return those that did not come yet, each once."""
        if self._set is None and ids and (self._highest is None or ids[0] > self._highest):
            ascending = sorted(set(ids))
            if ascending == list(ids):
                return ascending
        return [pet_id for pet_id in dict.fromkeys(ids) if pet_id not in self]

    def add(self, new: list[int]) -> None:
        """Add ids that are new."""
        if self._set is None and new:
            if (self._highest is None or new[0] > self._highest) and new == sorted(new):
                self._highest = new[-1]
            else:
                self._set = set(self.ids)
        if self._set is not None:
            self._set.update(new)
        self.ids.extend(new)
