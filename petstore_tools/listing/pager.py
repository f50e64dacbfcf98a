"""
The pager: which page comes next, and what the end of a listing proves (§4.1).

A pure machine: it gets pages and answers with the next address or a verdict. The document shows no paging
mechanism, so the pager follows what the service says (`Link rel="next"`, a next-cursor header), else asks
once how it pages (`schemes`), and believes an end only where the answers have proved it.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Mapping
from math import ceil, inf
from typing import Any, Final, Literal
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from petstore_tools.errors import PagingError
from petstore_tools.listing import schemes
from petstore_tools.listing.links import Ask, End, Page, Seen, follow, links
from petstore_tools.listing.schemes import PAGE, PAGE_0, Scheme

PAGING: Final = frozenset({"first", "prev", "previous", "next", "last"})  # relations that speak of pages
EMPTY_PAGES: Final = 50  # in a row, each promising more, or with next to nothing new
LEARNT_AGAIN: Final = 3  # times, where the inventory changes while the way to page is learnt
FEW_PAGES: Final = 12  # within which a short page may end a listing, so that it costs one request more
MORE_WHEN_LEARNING, MORE_WHEN_KNOWN = 3, 1  # requests beyond rows / page size, before an end is checked
_STATE: Final = ("_full", "_size", "_turned", "_signs", "_moved", "_ragged", "_overlap", "pages", "doubles")
Stage = Literal["", "all", "page", "token"]  # of a trial


class Pager:
    """
    One pass over a listing.

    Args:
        url: Address of the first page, with its query.
        limit: The page size that is asked for.
        first: Stop when so many animals came, None for all.
        scheme: What this service is known to speak, None to learn it.
        told: The scheme was told by the caller and is not given up for another; None with `told` never
            tries.

    Attributes:
        scheme: What the answers have proved, what is told or remembered until then, None where nothing is.
        next: What comes next, as the last page told.
        pages, doubles: Requests that were answered; animals that came twice.
        total: How many animals the service says there are, None where it does not.
    """

    def __init__(
        self,
        url: str,
        *,
        limit: int,
        first: int | None = None,
        scheme: Scheme | None = None,
        told: bool = False,
    ) -> None:
        self._url, self._limit, self._most = url, limit, first or inf
        self._cut = End("cut", f"asked for the first {self._most:,}")
        self.scheme, self._told = scheme, told
        self._allowed = MORE_WHEN_KNOWN if scheme else MORE_WHEN_LEARNING
        self._filtered = "status" in dict(parse_qsl(urlsplit(url).query))
        self._asked: set[str] = set()
        self._stage: Stage = ""
        self._led_on = False
        self._token, self._parameters = "", [""]
        self.next: Ask | End = Ask(url)
        self._turned = 0  # pages of a proven scheme
        self._empty = 0
        self._at = url  # the page that was read last
        self._onward: str | None = None  # what follows it, while it is read again to go on from there
        self._signs = self._repeated = False
        self._believed = False  # a scheme whose first page is under way
        self._learnt_again = 0
        self.pages = 0
        self.total: int | None = None
        self._forget()

    def _forget(self) -> None:
        """Begin with no animal."""
        self._seen = Seen()
        self._last: tuple[int, ...] = ()  # the last page that brought something
        self._size = 0  # its length
        self._overlap = 0  # animals that the page under way repeats if nothing has moved
        self._full = 0  # the longest page: what a service that clamps gives
        self._few = 0  # pages in a row, each after a short one, with next to nothing new
        self._tried = self._moved = self._ragged = self._two_short = False
        self.doubles = 0

    @property
    def rows(self) -> int:
        """Different animals so far."""
        return len(self._seen.ids)

    @property
    def ids(self) -> array[int]:
        """Ids of the different animals so far, in the order they came; a new array where it begins anew."""
        return self._seen.ids

    def feed(self, page: Page) -> Ask | End:
        """
        Take a page and say what comes next.

        Raises:
            PagingError: The service repeats itself: an address it named before, or a page without a
                new animal that names a next one.
        """
        self.pages += 1
        self._asked.add(page.url)
        if self._onward is not None:
            self._moved |= page.ids != self._last
            self.next, self._onward = Ask(self._onward, trial=True), None
            return self.next
        self._at = page.url
        step = self._judge(page) if self._stage else self._read(page)
        enough = self.rows > self._most or (self.rows == self._most and isinstance(step, Ask))
        self.next = self._cut if enough else step
        return self.next

    def refused(self) -> Ask | End:
        """Take the refusal of a trial."""
        self.pages += 1
        if self._stage == "token":
            self.next = self._next_parameter()
        else:
            self._stage, self.scheme = "", None
            self.next = self._unknown("the service refuses to be asked for more by the usual parameters")
        return self.next

    @property
    def moved(self) -> bool:
        """Whether a page began at another animal than it should have."""
        return self._moved

    @property
    def step(self) -> int:
        """New animals on a full page of the proven scheme."""
        repeats = self.scheme is not None and self.scheme.counts == "rows" and self._full > 1
        return self._full - 1 if repeats else self._full

    def following(self, most: int) -> list[Ask]:
        """Return up to so many asks that will follow if each page is full and nothing moves."""
        if self.scheme is None or self.scheme.counts not in ("rows", "pages") or not self._turned:
            return []
        places = ((self.rows + ahead * self.step, self._turned + ahead) for ahead in range(most))
        return [self._ask_scheme(rows, turned) for rows, turned in places]

    def _read(self, page: Page) -> Ask | End:
        new = self._take(page)
        found = links(page.headers.get("Link"))
        self._signs |= not PAGING.isdisjoint(found)
        if self.rows >= self._most and ("next" in found or self._is_full(len(page.ids))):
            return self._cut
        if "next" in found and not (self._told and self.scheme):
            return self._follow(page, found["next"], new)
        return self._by_header(page, new)

    def _take(self, page: Page) -> list[int]:
        """Count a page in: what is new, what came twice, and whether the place is right."""
        ids = page.ids
        repeats = self._overlap if ids[: self._overlap] == self._last[-self._overlap :] else 0
        self._moved |= repeats != self._overlap
        new = self._seen.new(ids)
        self._repeated = ids == self._last
        self.doubles += 0 if self._repeated else len(ids) - len(new) - repeats
        self._seen.add(new)
        self._full = max(self._full, len(ids))
        short_before = bool(new) and bool(self._last) and self._size < self._full
        few = short_before and len(new) <= max(1, self._full // 10) and len(ids) < self._full
        self._few = self._few + 1 if few else 0
        self._two_short = few and not self._ragged and not self._filtered
        self._ragged |= short_before
        self._overlap = 0
        if ids:
            self._last, self._size = ids, len(ids)
        for name in schemes.TOTAL_HEADERS:
            told = page.headers.get(name, "")
            if re.fullmatch(r"[0-9]{1,15}", told):
                self.total = int(told)
        return new

    def _follow(self, page: Page, target: str, new: list[int]) -> Ask | End:
        url = follow(page.url, target)
        if isinstance(url, End):
            return url
        if url in self._asked:
            raise self._repeats("names a next page that was read before")
        if page.ids and not new:
            raise self._repeats("holds no new animal and promises more")
        self._empty = 0 if page.ids else self._empty + 1
        if self._empty >= EMPTY_PAGES:
            return End("cut", f"{EMPTY_PAGES} empty pages in a row, each promising more")
        return Ask(url)

    def _by_header(self, page: Page, new: list[int]) -> Ask | End:
        """Go on by a next-cursor header; without one by a scheme."""
        if self._told and self.scheme and self.scheme.counts != "token":
            return self._by_scheme(page, new)
        for name, parameters in schemes.CURSOR_HEADERS:
            token = page.headers.get(name)
            if token is None:
                continue
            self._signs = True
            if not token.strip():
                break
            if token.casefold().startswith(("/", "?", "http:", "https:")):
                return self._follow(page, token, new)
            if self.scheme and self.scheme.counts == "token":
                return self._follow(page, self._with({self.scheme.parameter: token}), new)
            self._token, self._parameters = token, ["", *parameters] if not self._told else [""]
            return self._next_parameter()
        if self._signs:
            return self._done("the service said that there is no next page")
        return self._by_scheme(page, new)

    def _by_scheme(self, page: Page, new: list[int]) -> Ask | End:
        if self.scheme is None or self.scheme.counts == "token":
            return self._learn(page)
        asked_before, self._turned = self._turned > 0, self._turned + 1
        believed, self._believed = self._believed, False
        if believed and len(page.ids) - len(new) > max(1, self._full // 2):  # what was believed leads nowhere
            return self._learn_again()
        if asked_before and not new:
            return self._no_more(page)
        if not page.ids:
            return self._done("the service has none")
        if self.total == self.rows:
            return self._done(f"as many as the service counts, {self._how}")
        if (
            self._two_short and self.scheme.counts != "pages"
        ):  # what a numbered page got since would be missing
            return self._done(f"two short pages in a row, while animals were added, {self._how}")
        if self._few >= EMPTY_PAGES:
            return End("unproven", f"{EMPTY_PAGES} pages in a row with next to nothing new, so it may be cut")
        more = self.pages + 1 - ceil(self.rows / self._full)
        spent = more > self._allowed and self.pages <= FEW_PAGES
        if not self._is_full(len(page.ids)) and spent and not self._ragged:
            return self._done(f"a short page, {self._how}")
        return self._ask_scheme(self.rows, self._turned)

    def _ask_scheme(self, rows: int, turned: int) -> Ask:
        assert self.scheme is not None
        self._overlap = 1 if self.scheme.counts == "rows" and self._full > 1 else 0
        last_id = self._last[-1] if self._last else 0
        value = self.scheme.value(rows=rows - self._overlap, pages=turned, last_id=last_id)
        return Ask(self._with({self.scheme.parameter: str(value)}), trial=turned == 1)

    def _no_more(self, page: Page) -> Ask | End:
        """Tell an end from a scheme that the service does not speak (any more)."""
        assert self.scheme is not None
        by_rows = self.scheme.counts == "rows"
        if not page.ids or (by_rows and not self._is_full(len(page.ids))):
            if self._ragged and not by_rows:
                return End("unproven", "an empty page after short ones that were not the last: it may be cut")
            return self._done(f"nothing behind the last animal, {self._how}")
        if self._turned > 2:
            if self._repeated and not self._is_full(len(page.ids)):
                return self._done(f"the last page again behind the last one, {self._how}")
            raise self._repeats("holds no new animal")
        spoken, self.scheme = self.scheme.parameter, None
        self.doubles, self._moved, self._turned = 0, False, 0
        if self._told:
            return End("unproven", f"the service does not page by {spoken!r}, so it may be cut")
        return self._learn(page)

    @property
    def _how(self) -> str:
        return f"paged by {self.scheme.parameter!r}" if self.scheme else ""

    def _learn(self, page: Page) -> Ask | End:
        """Ask once by all the usual parameters, where the page looks as if there were more."""
        if not page.ids:
            return self._done("the service has none")
        if self.total == self.rows:
            return self._done("as many as the service counts")
        # a filter may thin out a page that was cut before, as a cap does
        looks_capped = len(page.ids) % 5 == 0 or (self._filtered and len(page.ids) >= schemes.PROBE_LEAST)
        if not self._is_full(len(page.ids)) and not looks_capped:
            return self._done(f"a page of {len(page.ids)} where {self._limit} were asked for")
        if self._told or self._tried or len(self._last) < schemes.PROBE_LEAST:
            return self._unknown("without any sign of paging")
        self._tried, self._stage = True, "all"
        self._allowed = max(self._allowed, MORE_WHEN_LEARNING)
        return Ask(self._with(schemes.probe(self._last)), trial=True)

    def _judge(self, page: Page) -> Ask | End:
        """Believe what a trial proves: an answer that lands in its place."""
        stage, self._stage = self._stage, ""
        place = schemes.landed(self._last, page.ids)
        if stage == "token":
            return self._judge_token(page)
        overlaps = not set(page.ids).isdisjoint(self._last)
        if stage == "all":
            if (scheme := schemes.spoken(self._last, place)) is not None:
                return self._believe(scheme, page)
            if not overlaps:
                self._stage, self._led_on = "page", bool(page.ids)
                return Ask(self._with({"limit": len(self._last) - 1, PAGE.parameter: 1}), trial=True)
        elif place == len(self._last) - 1:
            return self._believe(PAGE_0, page)
        elif place == 0 and self._led_on:  # pages of a size of its own: 1 is the first, and 2 was new
            return self._believe(PAGE, page)
        if (overlaps and place != 0) or (not overlaps and 0 < len(page.ids) < len(self._last)):
            return self._learn_again()
        return self._unknown("the usual parameters change nothing, or lead to no page behind this one")

    def _learn_again(self) -> Ask | End:
        """Begin anew: the page that is in hand has changed while the way to page was asked for."""
        if self._learnt_again == LEARNT_AGAIN:
            return self._unknown("it changed each time that the way to page was asked for")
        self._learnt_again += 1
        self.scheme, self._turned = None, 0
        self._allowed = self.pages + MORE_WHEN_LEARNING
        self._forget()
        return Ask(self._url)

    def _believe(self, scheme: Scheme, page: Page) -> Ask | End:
        self.scheme, self._turned, self._believed = scheme, 1, True
        short = len(page.ids) < len(self._last) - 1
        if short and page.ids[-1] == self._last[-1]:
            return self._done(f"nothing behind the last animal, {self._how}")
        if scheme.counts != "pages":  # those were asked in another size: their rows come again in their place
            self._overlap = len(self._last) - self._last.index(page.ids[0])
            full, self._turned = self._full, 2
            self._take(page)
            self._size = self._size if short else full
        return self._ask_scheme(self.rows, self._turned)

    def _next_parameter(self) -> Ask | End:
        """Try the next parameter that may take the service's token."""
        self._parameters.pop(0)
        if not self._parameters:
            self._stage = ""
            return End(
                "unproven", "a header names a next page, and no usual parameter reaches it: may be cut"
            )
        self._stage = "token"
        return Ask(self._with({self._parameters[0]: self._token}), trial=True)

    def _judge_token(self, page: Page) -> Ask | End:
        if page.ids and not self._seen.new(page.ids):
            return self._next_parameter()
        self.scheme = schemes.cursor_scheme(self._parameters[0])
        return self._by_header(page, self._take(page))

    def _unknown(self, why: str) -> End:
        shape = "a full page" if self._is_full(len(self._last)) else f"a page of {len(self._last)}"
        asked = "" if shape == "a full page" else f" where {self._limit} were asked for"
        return End("unproven", f"{shape}{asked}: {why}, so it may be cut (pagination= can tell how)")

    def _done(self, why: str) -> End:
        """End as complete, unless what came shows that the inventory moved meanwhile."""
        if self.doubles or self._moved:
            twice = f"{self.doubles:,} came twice"
            how = twice if self.doubles else "a page began at another animal than it did"
            why = f"the inventory changed while it was read: {how}, so others may be missing"
            return End("unproven", why)
        if self.total is not None and self.total > self.rows:
            return End("unproven", f"{why}, but it counts {self.total:,} animals, so it may be cut")
        return End("complete", why)

    def _with(self, query: Mapping[str, object]) -> str:
        parts = urlsplit(self._url)
        merged = {**dict(parse_qsl(parts.query)), **query}
        return urlunsplit(parts._replace(query=urlencode(merged)))

    def _repeats(self, what: str) -> PagingError:
        return PagingError(f"page {self.pages} {what}; {self.rows:,} animals came until then")

    def _is_full(self, size: int) -> bool:
        return size >= self._limit or (self._turned > 1 and size >= self._full)

    def state(self) -> dict[str, Any] | None:
        """
        Return what another pager needs to go on behind the last page, as plain JSON values.

        None where the listing has ended, or a trial is under way.
        """
        if isinstance(self.next, End) or self._stage or not self._last:
            return None
        kept = {name: getattr(self, name) for name in _STATE}
        return kept | {
            "scheme": self.scheme and self.scheme.name,
            "last": list(self._last),
            "next": self._onward or self.next.url,
            "at": self._at,
        }

    def resume(self, state: Mapping[str, Any], ids: Iterable[int]) -> None:
        """Take over what `state` told, and the ids that came until then."""
        self._seen = Seen(ids)
        for name in _STATE:
            setattr(self, name, state[name])
        self.scheme = state["scheme"] and schemes.parse(state["scheme"])
        self._last, self._at = tuple(state["last"]), state["at"]
        self.next = Ask(state["next"], trial=True)
        if self.scheme is None or self.scheme.counts not in ("rows", "id"):  # those show by themselves
            self._onward, self.next = state["next"], Ask(self._at, trial=True)
