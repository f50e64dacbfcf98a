"""
The pager: which page comes next, and what the end of a listing proves (§4.1).

A pure machine: it gets pages and answers with the next address or a verdict. The document shows no
paging mechanism; this pager follows `Link rel="next"`, and believes an end only where the service has
shown that it would have said so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin, urlsplit

from petstore_tools.core.listing import Verdict
from petstore_tools.errors import PagingError

EMPTY_PAGES: Final = 50  # in a row, each promising more
_LINK = re.compile(r"<([^>]*)>((?:\s*;\s*[\w*]+\s*=\s*(?:\"[^\"]*\"|[^\s;,]*))*)")
_REL = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s;,]+))", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Page:
    """
    What a pager needs of a page.

    Attributes:
        url: The address that was asked.
        ids: int64 ids in the order they came.
        link: The `Link` header, None where absent.
    """

    url: str
    ids: tuple[int, ...]
    link: str | None


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask this address next."""

    url: str


@dataclass(frozen=True, slots=True)
class End:
    """The listing ends here, and this is what it is worth."""

    verdict: Verdict
    reason: str


def links(header: str | None) -> dict[str, str]:
    """Read a `Link` header into targets by relation; the first of each relation counts."""
    found: dict[str, str] = {}
    for target, parameters in _LINK.findall(header or ""):
        relation = _REL.search(parameters)
        for name in (relation.group(1) or relation.group(2) or "").split() if relation else ():
            found.setdefault(name.casefold(), target)
    return found


class Pager:
    """
    One pass over a listing.

    Args:
        limit: The page size that is asked for.
        first: Stop when so many animals came, None for all.
    """

    def __init__(self, *, limit: int, first: int | None = None) -> None:
        self._limit, self._first = limit, first
        self._asked: set[str] = set()
        self._ids: set[int] = set()
        self._empty = 0
        self._signs = False
        self.pages = 0
        self.doubles = 0

    @property
    def rows(self) -> int:
        """Different animals so far."""
        return len(self._ids)

    def knows(self, pet_id: int) -> bool:
        """Say whether an animal came on a page that was fed."""
        return pet_id in self._ids

    def feed(self, page: Page) -> Ask | End:
        """
        Take a page and say what comes next.

        Raises:
            PagingError: The service repeats itself: an address it named before, or a page without a
                new animal that names a next one.
        """
        self.pages += 1
        self._asked.add(page.url)
        found = links(page.link)
        self._signs = self._signs or bool(found)
        new = set(page.ids) - self._ids
        self.doubles += len(page.ids) - len(new)
        self._ids |= new
        target = found.get("next")
        if self._first is not None and self.rows >= self._first and (target or self._is_full(page)):
            return End("cut", f"asked for the first {self._first:,}")
        if target is None:
            return self._end(page)
        return self._follow(page, target, new)

    def _follow(self, page: Page, target: str, new: set[int]) -> Ask | End:
        try:
            url = urljoin(page.url, target)
            here, there = urlsplit(page.url), urlsplit(url)
        except ValueError:
            return End("cut", "the next page is said to be at what is no address")
        if (here.scheme, here.netloc) != (there.scheme, there.netloc):
            place = f"{there.scheme}://{there.hostname or ''}"
            return End("cut", f"the next page is said to be at {place}, where the key does not go")
        if url in self._asked:
            raise PagingError(
                f"page {self.pages} names a next page that was read before; "
                f"{self.rows:,} animals came until then"
            )
        if page.ids and not new:
            raise PagingError(
                f"page {self.pages} holds no new animal and promises more; "
                f"{self.rows:,} animals came until then"
            )
        self._empty = 0 if page.ids else self._empty + 1
        if self._empty >= EMPTY_PAGES:
            return End("cut", f"{EMPTY_PAGES} empty pages in a row, each promising more")
        return Ask(url)

    def _end(self, page: Page) -> End:
        if self._signs:
            return End("complete", "the service said that there is no next page")
        if not page.ids:
            return End("complete", "the service has none")
        if self._is_full(page):
            return End("unproven", "a full page without any sign of paging, so it may be cut")
        if len(page.ids) % 5 == 0:
            return End(
                "unproven",
                f"a page of {len(page.ids)} where {self._limit} were asked for, without any sign of "
                "paging: the service may cap its pages, so it may be cut",
            )
        return End("complete", f"a page of {len(page.ids)} where {self._limit} were asked for")

    def _is_full(self, page: Page) -> bool:
        return len(page.ids) >= self._limit
