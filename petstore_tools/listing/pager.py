"""
Pure: the pager decides which page comes next, and what the end of a listing proves (§4.1).

The document shows no paging mechanism. The pager follows what the service names (`Link
rel="next"`, a next-cursor header). Where it names nothing, the pager finds out whether the service
signals pages at all, and else tries the usual ways to page. The size of a page proves nothing.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Final, TypeAlias

from petstore_tools.listing import schemes
from petstore_tools.listing.links import (
    End,
    NextPage,
    Response,
    follow,
    holds_id,
    links,
    with_query,
)
from petstore_tools.listing.schemes import PAGE, PAGE_0, Scheme
from petstore_tools.text import option, pluralize

PAGING: Final = frozenset(
    {"first", "prev", "previous", "next", "last"}
)  # relations that speak of pages
EMPTY_PAGES: Final = 50  # in a row, each promising more
OVERLAPPED: Final = 40  # animals of a page from which on each page repeats one
FIRST_PAGES: Final = 4  # which repeat one whatever their size
RESTARTS: Final = 3  # where the inventory changes while the way to page is learnt


@dataclass(frozen=True)
class Proven:
    """
    What answers of a service have proved; an absence proves nothing, and is not kept.

    Attributes:
        scheme: A way to page that brought an animal.
        signals: The service names the next page where there is one.
        totals: Its totals count a listing, not a page.
        filters_first: It filters before it cuts a page.
    """

    scheme: Scheme | None = None
    signals: bool = False
    totals: bool = False
    filters_first: bool = False


class Moved(Exception):  # noqa: N818 - no fault: the inventory changed while it was looked at
    """The page in hand has changed while the way to page was learnt."""


Asking: TypeAlias = Generator[NextPage, Response | None, Response | None]
Reading: TypeAlias = Generator[NextPage, Response | None, End | None]


class Received:
    """
    The animals of one listing since it began, by their ids.

    Attributes:
        ids: The different ids, in the order they came.
        new: Ids of the last page that had not come before.
        last: Ids of the last page that was not empty.
        full: Length of the longest page.
        pages: Pages that were taken.
        empty: Empty pages in a row.
        doubles: Animals that came twice.
        moved: Whether a page began at another animal than it should have.
        may_have_hole: Whether a next request neither held the last animal's id nor repeated that
            animal.
        totals: How many animals the service counted, on each answer that said so.
        says_more: The last answer said that more follow.
        unfiltered: An animal came that does not bear the status asked for.
    """

    def __init__(self) -> None:
        self.ids: dict[int, None] = {}
        self.new: list[int] = []
        self.last: tuple[int, ...] = ()
        self.full = self.pages = self.empty = self.doubles = 0
        self.moved = self.may_have_hole = self.says_more = self.unfiltered = False
        self.totals: list[int | None] = []

    def take(self, response: Response, overlap: int = 0) -> None:
        """Count a page in, whose first animals should repeat the end of the page before."""
        ids = response.ids
        repeats = overlap if overlap and ids[:overlap] == self.last[-overlap:] else 0
        self.moved |= repeats != overlap
        self.new = [pet_id for pet_id in dict.fromkeys(ids) if pet_id not in self.ids]
        self.ids.update(dict.fromkeys(self.new))
        if ids != self.last:
            self.doubles += len(ids) - len(self.new) - repeats
        self.pages += 1
        self.full = max(self.full, len(ids))
        self.empty = 0 if ids else self.empty + 1
        self.last = ids or self.last
        self.unfiltered |= response.unfiltered
        self.totals.append(schemes.total(response.headers))
        self.says_more = response.headers.get(schemes.MORE_HEADER, "").strip().casefold() == "true"

    @property
    def total(self) -> int | None:
        """How many animals the service counts, None where its answers do not agree."""
        return self.totals[0] if self.totals and len(set(self.totals)) == 1 else None


class Pager:
    """
    Reads one listing.

    Args:
        url: Address of the first page, with its query.
        limit: The page size that is asked for.
        first: Stop when so many animals came, None for all.
        proven: What earlier listings proved of this service.
        fixed: The caller named the scheme in `proven`; None with `fixed` never tries.

    Attributes:
        proven: What is proved by now.
        next: What comes next.
        received: What came so far.
        pages: Requests that were answered.
    """

    def __init__(
        self,
        url: str,
        *,
        limit: int,
        first: int | None = None,
        proven: Proven | None = None,
        fixed: bool = False,
    ) -> None:
        self._url = url
        self._limit = limit
        self._first = first or inf
        self.proven = proven or Proven()
        self._fixed = fixed
        self.received = Received()
        self._earlier = set[int]()  # ids that came before the listing began anew
        self._asked: set[str] = set()
        self._one: Response | None = None  # the answer to one animal of the whole inventory
        self._turned = self._restarts = 0  # pages of the scheme; times that it began anew
        self.pages = 0
        self._steps = self._listing()
        self.next: NextPage | End = next(self._steps)

    @property
    def rows(self) -> int:
        """Different animals so far."""
        return len(self.received.ids)

    @property
    def came(self) -> int:
        """Different animals so far, those included that came before the listing began anew."""
        return self.rows + len(self._earlier.difference(self.received.ids))

    @property
    def new(self) -> list[int]:
        """Ids of the last answer that never came before."""
        return [pet_id for pet_id in self.received.new if pet_id not in self._earlier]

    @property
    def step(self) -> int:
        """New animals on a full page of the scheme."""
        return max(1, self.received.full - self._overlap)

    def feed(self, response: Response) -> NextPage | End:
        """Take a response and return what comes next."""
        return self._send(response)

    def refused(self) -> NextPage | End:
        """Take the refusal of a trial, and return what comes next."""
        return self._send(None)

    def predicted(self, most: int) -> list[str]:
        """Return up to so many addresses that follow if each page is full and nothing moves."""
        scheme = self.proven.scheme
        if scheme is None or scheme.counts not in ("rows", "pages") or not self._turned:
            return []
        return [self._page_at(self.rows + n * self.step, self._turned + n).url for n in range(most)]

    def _send(self, response: Response | None) -> NextPage | End:
        self.pages += 1
        self.received.new = []
        try:
            step: NextPage | End = self._steps.send(response)
        except StopIteration as stop:
            step = stop.value
        is_more = isinstance(step, NextPage)
        if self.rows > self._first or (self.rows == self._first and is_more):
            step = End("cut", f"the listing was limited to the first {self._first:,}")
        self.next = step
        return step

    @property
    def _is_filtered(self) -> bool:
        return "status=" in self._url

    # requests

    def _try(self, query: dict[str, object], *, whole: bool = False) -> Asking:
        """Ask for what may be refused; its animals are not taken."""
        url = with_query(self._url, query)
        return (yield NextPage(with_query(url, {"status": None}) if whole else url, trial=True))

    def _take(self, page: NextPage) -> Asking:
        """Ask for a page of the listing, and take its animals."""
        response = yield page
        if response is not None:
            self._accept(page, response)
        return response

    def _accept(self, page: NextPage, response: Response) -> None:
        came = self.received
        if came.last and not page.safe and not page.overlap:
            came.may_have_hole |= not holds_id(page.url, came.last[-1], rows=self.rows)
        came.take(response, page.overlap)
        self._asked.add(page.url)

    # the listing

    def _listing(self) -> Generator[NextPage, Response | None, End]:
        while True:
            try:
                return (yield from self._once())
            except Moved:
                self._restarts += 1
                self._earlier.update(self.received.ids)
                self._asked = set()
                self.received = Received()
                self._turned = 0
                self.proven = replace(self.proven, scheme=None)

    def _note_move(self) -> None:
        """Begin anew, a few times: the page in hand is not as it was."""
        if self._restarts < RESTARTS:
            raise Moved

    def _once(self) -> Generator[NextPage, Response | None, End]:
        response = yield from self._take(NextPage(self._url))
        assert response is not None
        scheme = self.proven.scheme
        if not (self._fixed and scheme is not None and scheme.counts != "token"):
            end = yield from self._follow(response)
            if end is not None:
                return end
        if not self.rows and not self._is_filtered:
            return self._done("the service has none")
        if self._counted:
            return self._done("the service counts as many animals as came")
        end = yield from self._by_way()
        if end is None:
            return self._unproven("the usual parameters do not lead to a next page")
        return end

    def _follow(self, response: Response) -> Reading:
        """Read on as the service names the next page; None where it signals nothing."""
        signals = False
        while True:
            found = links(response.headers.get("Link"))
            token, parameters = self._token(response)
            more = response.headers.get(schemes.MORE_HEADER, "").strip().casefold()
            says_end = token == "" or more == "false" or not PAGING.isdisjoint(found)
            if "next" in found and not (self._fixed and self.proven.scheme):
                page: NextPage | End | None = self._named(response, found["next"])
            elif not token:
                if self.proven.signals or signals or says_end:
                    return (yield from self._signalled_end())
                return None
            else:
                page = None
            signals = True
            self.proven = replace(self.proven, signals=True)
            if isinstance(page, End):
                return page
            if page is None:
                answer = yield from self._with_token(response, token or "", parameters)
                if isinstance(answer, End):
                    return answer
                response = answer
            else:
                answered = yield from self._take(page)
                assert answered is not None
                response = answered
            if response.ids and not self.received.new:
                return self._unproven("a page held no new animal")

    def _signalled_end(self) -> Generator[NextPage, Response | None, End]:
        total = self.received.total
        if total is not None and total > self.rows and self._is_filtered:
            one = yield from self._one_animal()
            if one is not None and schemes.total(one.headers) == total:
                self.received.totals = []  # it counts all, whatever the filter
        return self._done("the service said that there is no next page")

    def _token(self, response: Response) -> tuple[str | None, Sequence[str]]:
        """Return the token of the next page, "" where a header says that there is none."""
        for name, parameters in schemes.CURSOR_HEADERS:
            text = response.headers.get(name)
            if text is not None:
                return text.strip() if schemes.is_token(name, text) else "", parameters
        return None, ()

    def _named(self, response: Response, target: str) -> NextPage | End:
        url = follow(response.url, target)
        if isinstance(url, End):
            return url
        if url in self._asked:
            return self._unproven("it names a next page that was read before")
        if self.received.empty >= EMPTY_PAGES:
            return End(
                "cut", f"{EMPTY_PAGES} pages in a row were empty, and each named a next page"
            )
        return NextPage(url)

    def _with_token(
        self, response: Response, token: str, parameters: Sequence[str]
    ) -> Generator[NextPage, Response | None, Response | End]:
        """Hand a token back by the parameter that takes it."""
        scheme = self.proven.scheme
        if token.casefold().startswith(("/", "?", "http:", "https:")):
            page = self._named(response, token)
            if isinstance(page, End):
                return page
            answer = yield from self._take(page)
            assert answer is not None
            return answer
        if scheme is not None and scheme.counts == "token":
            parameters = (scheme.parameter,)
        elif self._fixed:
            parameters = ()
        for parameter in parameters:
            page = self._named(response, with_query(self._url, {parameter: token}))
            if isinstance(page, End):
                return page
            answer = yield replace(page, trial=True)
            if answer is None or (answer.ids and self.received.ids.keys() >= set(answer.ids)):
                continue
            self._accept(page, answer)
            self.proven = replace(self.proven, scheme=schemes.parse(schemes.CURSOR + parameter))
            return answer
        return self._unproven("a header names a next page, but no usual parameter leads there")

    # without signs

    def _one_animal(self) -> Asking:
        """Ask once for one animal of the whole inventory."""
        if self._one is None:
            self._one = yield from self._try({"limit": 1}, whole=True)
        return self._one

    def _by_way(self) -> Reading:
        """Find out whether the service signals pages, and else read on by a usual way."""
        scheme = self.proven.scheme
        if scheme is None or scheme.counts == "token" or not self.rows:
            one = yield from self._one_animal()
            if one is not None:
                end = self._judge_one(one)
                if end is not None:
                    return end
            if self._fixed and self.rows:
                return self._unproven()
            if not self.rows:
                if self.proven.filters_first:
                    return self._done("the service has none")
                return self._unproven("no animal came by which the way on could be tried")
            return (yield from self._learn())
        return (yield from self._turn())

    def _judge_one(self, one: Response) -> End | None:
        """Return the end that an answer of one animal proves, None for none."""
        token, _ = self._token(one)
        if token or "next" in links(one.headers.get("Link")):
            self.proven = replace(self.proven, signals=True)
            return self._done("the service names a next page where there is one")
        if not one.ids and not self.rows:
            return self._done("the service has none")
        counted = schemes.total(one.headers)
        if counted is not None and counted > len(one.ids):
            self.proven = replace(self.proven, totals=True)
            if self._counted:
                return self._done("the service counts as many animals as came")
        return None

    @property
    def _counted(self) -> bool:
        """Whether a total, the same on all answers, equals what came."""
        came = self.received
        several = came.pages > 1 or self.proven.totals
        return several and came.total == self.rows

    def _learn(self) -> Reading:
        """Try the usual ways one after the other, each at a place of the page in hand."""
        for scheme in schemes.TRIED:
            found = yield from self._prove(scheme)
            if found is not None:
                self.proven = replace(self.proven, scheme=found)
                return (yield from self._turn())
        if self.rows == 1:
            if not self._is_filtered or (yield from self._filters_first()):
                return self._done("the service shows no other animal")
            return self._unproven("it may cut before it filters")
        return None

    def _prove(self, scheme: Scheme) -> Generator[NextPage, Response | None, Scheme | None]:
        """Return the way that a scheme turns out to be, None where it leads nowhere."""
        page = self.received.last
        if scheme.counts == "pages":
            return (yield from self._prove_pages(page))
        at = max(1, len(page) - 1)
        value = at if scheme.counts == "rows" else page[at - 1]
        answer = yield from self._try({scheme.parameter: value})
        if answer is None or not answer.ids or answer.ids[0] == page[0]:
            return None
        landed = schemes.place(page, answer.ids)
        if len(page) == 1:  # then another animal must not come by itself
            again = yield from self._try({})
            if again is not None and again.ids == page:
                self._turned = 1
                return scheme
            self._note_move()
            self.received.moved = True
            return None
        if landed == at:
            self._accept(NextPage(answer.url, overlap=1, safe=scheme.counts == "id"), answer)
            self._turned = 1
            return scheme
        if scheme.counts == "rows":
            self._note_move()
        return None

    def _prove_pages(
        self, page: tuple[int, ...]
    ) -> Generator[NextPage, Response | None, Scheme | None]:
        """Tell page numbers that begin at 1 from those that begin at 0, and from none."""
        size = max(1, len(page) // 3)
        answer = yield from self._try({"limit": size, PAGE.parameter: 2})
        if answer is None or (answer.ids and answer.ids[0] == page[0]):
            return None
        landed = schemes.place(page, answer.ids)
        if landed is not None and len(page) > 2 * size:
            for scheme, pages in ((PAGE, 1), (PAGE_0, 2)):
                if landed == pages * len(answer.ids):
                    self._turned = 1
                    return scheme
        for scheme in (PAGE, PAGE_0):
            answer = yield from self._try({PAGE.parameter: scheme.base})
            if answer is not None and answer.ids == page:
                self._turned = 1
                return scheme
        if landed is not None:
            self._note_move()
        return None

    def _turn(self) -> Reading:
        """Read on by a way that is proven, or believed since an earlier listing."""
        scheme = self.proven.scheme
        came = self.received
        assert scheme is not None
        while True:
            if self._counted:
                return self._done("the service counts as many animals as came")
            is_first = not self._turned
            before = came.last
            page = self._page_at(self.rows, max(1, self._turned))
            answer = yield replace(page, trial=True)
            if answer is None:
                return (yield from self._learn_anew(scheme))
            if not page.overlap and self._repeats(answer):
                if is_first and answer.ids:
                    return (yield from self._learn_anew(scheme))
                was_alone = scheme.counts == "rows" and came.full > 1
                came.may_have_hole |= not (page.safe or was_alone)
                return (yield from self._at_end(scheme))
            if is_first and page.overlap and answer.ids[:1] != before[-1:]:
                return (yield from self._learn_anew(scheme))
            self._accept(page, answer)
            self._turned = max(1, self._turned) + 1
            if page.overlap and not answer.ids:
                return self._done("")  # an overlap that does not come is no end
            if not came.new and len(answer.ids) > page.overlap:
                return self._unproven("a page held no new animal")

    def _repeats(self, answer: Response) -> bool:
        """Whether an answer is empty, or the end of what came."""
        size = len(answer.ids)
        return answer.ids == (tuple(self.received.ids)[-size:] if size else ())

    def _learn_anew(self, scheme: Scheme) -> Reading:
        """Try whether a way that led nowhere is spoken at all, or another one."""
        if self._turned:
            return self._unproven(f"it refuses the next page by {scheme.parameter!r}")
        if (yield from self._prove(scheme)) == scheme:
            return (yield from self._turn())
        if self._fixed:
            return self._unproven(f"it does not page by {scheme.parameter!r}")
        self.proven = replace(self.proven, scheme=None)
        return (yield from self._by_way())

    def _at_end(self, scheme: Scheme) -> Generator[NextPage, Response | None, End]:
        """End behind the last page of a way; under a filter only where that is applied first."""
        if self._is_filtered and not (yield from self._filters_first()):
            return self._unproven("it may cut before it filters")
        return self._done(f"no animal follows the last one, paged by {scheme.parameter!r}")

    def _filters_first(self) -> Generator[NextPage, Response | None, bool]:
        """Find out whether the service filters before it cuts a page."""
        if self.proven.filters_first or not self.rows or self.received.unfiltered:
            return self.proven.filters_first or self.received.unfiltered
        sizes = dict.fromkeys((1, min(self.rows, self._limit)))
        for size in sizes:
            every = yield from self._one_animal() if size == 1 else self._all(size)
            some = yield from self._try({"limit": size})
            if every is None or some is None or not every.ids:
                continue
            is_full = len(some.ids) >= len(every.ids)
            if is_full and not set(some.ids) <= set(every.ids):
                self.proven = replace(self.proven, filters_first=True)
                return True
        return False

    def _all(self, size: int) -> Asking:
        return (yield from self._try({"limit": size}, whole=True))

    def _page_at(self, rows: int, turned: int) -> NextPage:
        """Return the page of the scheme behind so many rows and pages."""
        scheme = self.proven.scheme
        last = self.received.last
        assert scheme is not None
        overlap = self._overlap
        value = scheme.value(rows=rows - overlap, pages=turned, last_id=last[-1] if last else 0)
        url = with_query(self._url, {scheme.parameter: value})
        return NextPage(url, overlap=overlap, safe=scheme.counts == "id")

    @property
    def _overlap(self) -> int:
        """
        How many animals the next page repeats, so that an insertion or a deletion shows.

        None behind a page that held nothing else; and of small pages only the first ones, since
        that would cost many requests.
        """
        scheme = self.proven.scheme
        came = self.received
        counts_rows = scheme is not None and scheme.counts == "rows"
        was_alone = came.pages > 1 and not came.new and len(came.last) == 1
        is_cheap = came.full >= OVERLAPPED or came.pages < FIRST_PAGES
        return int(counts_rows and came.full > 1 and is_cheap and not was_alone)

    # ends

    def _done(self, why: str) -> End:
        """End as complete, unless what came shows that the inventory moved or has more."""
        came = self.received
        if came.doubles or came.moved:
            twice = f"{pluralize(came.doubles, 'animal')} came twice"
            how = twice if came.doubles else "a page began at another animal than expected"
            return End(
                "unproven",
                f"the inventory changed while it was read: {how}, so some may be missing",
            )
        if came.says_more:
            return End("unproven", f"{why}, but the service says that more follow")
        if came.total is not None and came.total > self.rows:
            return End(
                "unproven", f"{why}, but the service counts {pluralize(came.total, 'animal')}"
            )
        return End("complete", why)

    def _unproven(self, why: str = "") -> End:
        """End with the animals that came, and say what the user can do."""
        read = f"{pluralize(self.rows, 'animal')} {'was' if self.rows == 1 else 'were'} read"
        named = option('"offset" (or "page", "cursor=NAME")', "offset (or page, cursor=NAME)")
        advice = (
            f"If you know how it pages, pass {option('pagination=', 'PETSTORE_PAGINATION=')}{named}"
        )
        unsaid = "the service did not show whether more follow"
        return End("unproven", f"{read}, and {unsaid}{why and f' ({why})'}. {advice}")
