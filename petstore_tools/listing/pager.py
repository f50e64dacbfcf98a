"""
Pure: the pager decides which page comes next, and what the end of a listing proves
(§4.1).

The document shows no paging mechanism. The pager follows what the service names (`Link
rel="next"`, a next-cursor header). Where it names nothing, the pager finds out whether
the service signals pages at all, and else tries the usual ways to page. The size of a
page proves nothing.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field, replace
from itertools import islice
from math import inf
from typing import Final, TypeAlias

from petstore_tools.listing import schemes
from petstore_tools.listing.links import follow, holds_id, link_targets, with_query
from petstore_tools.listing.protocol import End, NextPage, PageReply
from petstore_tools.listing.schemes import PAGE, PAGE_0, Scheme
from petstore_tools.text import pluralize

COUNTED: Final = "the service counts as many animals as came"
CAPS: Final = (1_000, 10_000)  # at which services stop to count
EMPTY_PAGES: Final = 50  # in a row, each promising more
OVERLAPPED: Final = 40  # animals of a page from which on each page repeats one
FIRST_PAGES: Final = 4  # which repeat one whatever their size
RESTARTS: Final = 3  # where the inventory changes while the way to page is learnt


@dataclass(frozen=True)
class Evidence:
    """
    What answers of a service have proved; an absence proves nothing, and is not kept.

    Attributes:
        scheme: A way to page that brought an animal.
        signals: The service names the next page where there is one.
        totals: Its totals count a listing, not a page.
        filters_first: It filters before it cuts a page.
        sizes: Animals in the last complete listing by filter, "" for none.
    """

    scheme: Scheme | None = None
    signals: bool = False
    totals: bool = False
    filters_first: bool = False
    sizes: dict[str, int] = field(default_factory=dict)


class Moved(Exception):  # noqa: N818 - no fault: the inventory changed while it was read
    """The page in hand has changed while the way to page was learnt."""


Asking: TypeAlias = Generator[NextPage, PageReply | None, PageReply | None]
Ending: TypeAlias = Generator[NextPage, PageReply | None, End]
Reading: TypeAlias = Generator[NextPage, PageReply | None, End | None]
Proving: TypeAlias = Generator[NextPage, PageReply | None, Scheme | None]


class ListingState:
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
        moved: Whether a page began at another animal than it should have, or one came
            twice.
        may_have_hole: Whether a next request neither held the last animal's id nor
            repeated that animal, or the inventory changed.
        totals: How many animals the service counted, on each answer that said so.
        says_more: The last answer said that more follow.
        unfiltered: An animal came that does not bear the status asked for.
    """

    def __init__(self) -> None:
        self.ids: dict[int, None] = {}
        self.new: list[int] = []
        self.last: tuple[int, ...] = ()
        self.full = 0
        self.pages = 0
        self.empty = 0
        self.doubles = 0
        self.moved = False
        self.may_have_hole = False
        self.says_more = False
        self.unfiltered = False
        self.totals: set[int | None] = set()

    def take(self, response: PageReply, overlap: int = 0) -> None:
        """
        Count a page in, whose first animals should repeat the end of the page before.
        """
        ids = response.ids
        repeats = overlap if overlap and ids[:overlap] == self.last[-overlap:] else 0
        self.moved |= repeats != overlap
        self.new = [pet_id for pet_id in dict.fromkeys(ids) if pet_id not in self.ids]
        self.ids.update(dict.fromkeys(self.new))
        self.doubles += len(ids) - len(self.new) - repeats
        self.moved |= self.doubles > 0
        self.may_have_hole |= self.moved
        self.pages += 1
        self.full = max(self.full, len(ids))
        self.empty = 0 if ids else self.empty + 1
        self.last = ids or self.last
        self.unfiltered |= response.unfiltered
        self.totals.add(schemes.total(response.headers))
        self.says_more = schemes.says_more(response.headers) == "true"

    @property
    def was_alone(self) -> bool:
        """Whether the last page held nothing but the animal that it repeats."""
        return self.pages > 1 and not self.new and len(self.last) == 1

    @property
    def total(self) -> int | None:
        """How many animals the service counts, None where its answers do not agree."""
        return next(iter(self.totals)) if len(self.totals) == 1 else None


class Pager:
    """
    Reads one listing.

    Args:
        url: Address of the first page, with its query.
        first: Stop when so many animals came, None for all.
        evidence: What earlier listings proved of this service.
        pagination: How the service pages, as the caller named it.

    Attributes:
        evidence: What is proved by now.
        next: What comes next.
        state: What came so far.
        pages: Requests that were answered.
    """

    def __init__(
        self,
        url: str,
        *,
        first: int | None = None,
        evidence: Evidence | None = None,
        pagination: Scheme | None = None,
    ) -> None:
        self._url = url
        self._is_filtered = "status=" in url
        self._first = first or inf
        self._pagination = pagination
        self.evidence = evidence or Evidence()
        if pagination is not None:
            self.evidence = replace(self.evidence, scheme=pagination)
        self.state = ListingState()
        self._earlier = set[int]()  # ids that came before the listing began anew
        self._asked: set[str] = set()
        self._way: Scheme | None = None  # by which this listing goes on
        self._restarts = 0
        self.pages = 0
        self._steps = self._listing()
        self.next: NextPage | End = next(self._steps)

    @property
    def rows(self) -> int:
        """Different animals so far."""
        return len(self.state.ids)

    @property
    def new(self) -> list[int]:
        """Ids of the last answer that never came before."""
        return [pet_id for pet_id in self.state.new if pet_id not in self._earlier]

    @property
    def step(self) -> int:
        """New animals on a full page of the scheme."""
        return max(1, self.state.full - self._overlap)

    def feed(self, response: PageReply | None) -> NextPage | End:
        """
        Take a response, None where a trial was refused, and return what comes next.
        """
        self.pages += 1
        self.state.new = []
        try:
            step: NextPage | End = self._steps.send(response)
        except StopIteration as stop:
            step = stop.value
        if self.rows > self._first or (
            self.rows == self._first and isinstance(step, NextPage)
        ):
            step = End("cut", f"the listing was limited to the first {self._first:,}")
        self.next = step
        return step

    def predicted(self, most: int) -> list[str]:
        """
        Return up to so many addresses that follow if each page is full and nothing
        moves.
        """
        if self._way is None or self._way.counts == "id":
            return []
        return [self._page_behind(self._way, ahead).url for ahead in range(most)]

    # requests

    def _try(self, query: dict[str, object]) -> Asking:
        """Ask for what may be refused; its animals are not taken."""
        url = with_query(self._url, query)
        is_named = self._pagination is not None and self._pagination.parameter in query
        answer = yield NextPage(url, is_trial=True, continues=is_named)
        if answer is not None and "status=" not in url:
            counts_more = (schemes.total(answer.headers) or 0) > len(answer.ids)
            self.evidence = replace(
                self.evidence, totals=self.evidence.totals or counts_more
            )
        return answer

    def _try_whole(self, limit: int) -> Asking:
        """Ask for animals without a filter; they are not taken."""
        return (yield from self._try({"limit": limit, "status": None}))

    def _take(self, page: NextPage, response: PageReply) -> None:
        came = self.state
        if came.last and not page.is_gapless and not page.overlap:
            came.may_have_hole |= not holds_id(page.url, came.last[-1], rows=self.rows)
        came.take(response, page.overlap)
        self._asked.add(page.url)

    # the listing

    def _listing(self) -> Ending:
        while True:
            try:
                return (yield from self._compare((yield from self._once())))
            except Moved:
                if self._restarts == RESTARTS:
                    return self._unproven(
                        "a page begins at another animal than expected"
                    )
                self._restarts += 1
                self._earlier.update(self.state.ids)
                self.state = ListingState()
                self.evidence = replace(self.evidence, scheme=self._pagination)

    def _compare(self, end: End) -> Ending:
        """
        Doubt an end where the service counts more, unless it counts all whatever the
        filter.
        """
        total = self.state.total or 0
        if end.completeness != "complete" or total <= self.rows:
            return end
        if self._is_filtered:
            one = yield from self._try_whole(1)
            if one is not None and schemes.total(one.headers) == total:
                return end
        counted = pluralize(total, "animal")
        return End("unproven", f"{end.reason}, but the service counts {counted}")

    def _once(self) -> Ending:
        page = NextPage(self._url)
        response = yield page
        assert response is not None
        self._take(page, response)
        scheme = self.evidence.scheme
        if self._pagination is None or self._pagination.counts == "token":
            end = yield from self._follow(response)
            if end is not None:
                return end
        if not self.rows and (not self._is_filtered or self.evidence.filters_first):
            return self._done("the service has none")
        if scheme is None and self._counted_at_once:
            return self._done(COUNTED)
        if self.rows and scheme is not None and scheme.counts != "token":
            found = yield from self._prove(scheme)
            if found is not None:
                return (yield from self._turn(found))
            if self._pagination:
                return self._unproven(f"it does not page by {scheme.parameter!r}")
        return (yield from self._ask_for_signs())

    # signs

    def _follow(self, response: PageReply) -> Reading:
        """Read on as the service names the next page; None where it signals nothing."""
        while True:
            named = self._named(response)
            if named is None and not self.evidence.signals:
                return None
            if not named:
                return self._done("the service said that there is no next page")
            if self.state.empty >= EMPTY_PAGES:
                return End(
                    "cut",
                    f"{EMPTY_PAGES} pages in a row were empty, and each named a next"
                    " page",
                )
            self.evidence = replace(self.evidence, signals=True)
            for target, scheme in named.items():
                url = follow(response.url, target)
                if isinstance(url, End):
                    return url
                if url in self._asked:
                    return self._unproven("it names a next page that was read before")
                page = NextPage(url, is_trial=len(named) > 1)
                answer = yield page
                if answer is None or (
                    answer.ids and self.state.ids.keys() >= set(answer.ids)
                ):
                    continue
                self._take(page, answer)
                self.evidence = replace(self.evidence, scheme=scheme)
                response = answer
                break
            else:
                return self._unproven(
                    "it names a next page, and no new animal is found there"
                )

    def _named(self, response: PageReply) -> dict[str, Scheme | None] | None:
        """
        Return the targets that may be the next page, each with its scheme.

        None of them where the service says that there is none, None where it says
        nothing.
        """
        known = self.evidence.scheme
        found = link_targets(response.headers.get("Link"))
        if "next" in found:
            return {found["next"]: known}
        for name, parameters in schemes.CURSOR_HEADERS:
            text = response.headers.get(name)
            if text is None:
                continue
            token = text.strip()
            if token.casefold() in schemes.NO_TOKEN:
                return {}
            if token.casefold().startswith(("/", "?", "http:", "https:")):
                return {token: known}
            if known is not None and known.counts == "token":
                parameters = (known.parameter,)
            return {
                with_query(self._url, {parameter: token}): Scheme(parameter, "token")
                for parameter in parameters
            }
        says_end = schemes.says_more(response.headers) == "false"
        return {} if says_end else None

    def _ask_for_signs(self) -> Ending:
        """
        Find out whether the service signals pages, and else read on by a usual way.
        """
        one = yield from self._try_whole(1)
        if one is not None:
            if self._named(one):
                self.evidence = replace(self.evidence, signals=True)
                return self._done("the service names a next page where there is one")
            if not one.ids and not self.rows:
                return self._done("the service has none")
            if self._counted_at_once:
                return self._done(COUNTED)
        if not self.rows:
            return self._unproven(
                "no animal came, so the way to a next page could not be tried"
            )
        return (yield from self._learn())

    @property
    def _counted(self) -> bool:
        """
        Whether a total, the same on all answers, equals what came, and is no usual cap.
        """
        came = self.state
        several = came.pages > 1 or self.evidence.totals
        return several and came.total == self.rows and self.rows not in CAPS

    @property
    def _counted_at_once(self) -> bool:
        """
        Whether it is neither round, since it may be an estimate, nor one full page.
        """
        is_round = self.rows > 0 and self.rows % 10 == 0
        return self._counted and not is_round and not self._is_full

    @property
    def _is_full(self) -> bool:
        """
        Whether as many came as were asked for, so that a total may count the page.
        """
        return f"limit={self.rows}&" in f"{self._url}&"

    # the usual ways

    def _learn(self) -> Ending:
        """
        Try the usual ways one after the other, each at a place of the page in hand.
        """
        for scheme in schemes.SCHEMES.values():
            if scheme is PAGE_0:  # which is tried with `page`
                continue
            found = yield from self._prove(scheme)
            if found is not None:
                return (yield from self._turn(found))
        if self._counted and not self._is_full:
            return self._done(COUNTED)
        if self.rows > 1:
            return self._unproven("the usual parameters do not lead to a next page")
        return (yield from self._end_of_filter("the service shows no other animal"))

    def _prove(self, scheme: Scheme) -> Proving:
        """Return the way that a scheme turns out to be, None where it leads nowhere."""
        page = self.state.last
        if scheme.counts == "pages":
            return (yield from self._prove_pages(page, scheme))
        at = max(1, len(page) - 1)
        value = at if scheme.counts == "rows" else page[at - 1]
        answer = yield from self._try({scheme.parameter: value})
        if answer is None or answer.ids[:1] == page[:1]:
            return None
        if not answer.ids:
            is_end = len(page) == 1 and scheme == self.evidence.scheme
            return scheme if is_end else None
        if len(page) == 1:  # then another animal must not come by itself
            again = yield from self._try({})
            if again is not None and again.ids == page:
                return scheme
            raise Moved
        if schemes.landing_position(page, answer.ids) == at:
            self._take(
                NextPage(answer.url, overlap=1, is_gapless=scheme.counts == "id"),
                answer,
            )
            return scheme
        if scheme.counts == "rows":
            raise Moved
        return None

    def _prove_pages(self, page: tuple[int, ...], likely: Scheme) -> Proving:
        """
        Tell page numbers that begin at 1 from those that begin at 0, and from none.
        """
        size = max(1, len(page) // 3)
        answer = yield from self._try({"limit": size, "page": 2})
        if answer is None or answer.ids[:1] == page[:1]:
            return None
        landed = schemes.landing_position(page, answer.ids)
        size = len(answer.ids)
        found = {size: PAGE, 2 * size: PAGE_0}.get(landed or -1)
        if found is not None:
            return found
        for scheme in sorted((PAGE, PAGE_0), key=lambda scheme: scheme != likely):
            answer = yield from self._try({"page": scheme.base})
            if answer is not None and answer.ids == page:
                return scheme
        if landed is not None:
            raise Moved
        return None

    def _turn(self, scheme: Scheme) -> Ending:
        """Read on by a way that is proven."""
        self._way = scheme
        self.evidence = replace(self.evidence, scheme=scheme)
        came = self.state
        while True:
            page = self._page_behind(scheme)
            answer = yield page
            if answer is None and self._counted:
                return self._done(COUNTED)
            if answer is None:
                return self._unproven(
                    f"it refuses the next page by {scheme.parameter!r}"
                )
            if not page.overlap and self._repeats(answer):
                came.may_have_hole |= not page.is_gapless
                why = f"no animal follows the last one, paged by {scheme.parameter!r}"
                return (yield from self._end_of_filter(why))
            self._take(page, answer)
            if page.overlap and not answer.ids:
                # unproven: an overlap that does not come is no end
                return self._done("")
            if not came.new and len(answer.ids) > page.overlap:
                return self._unproven("a page held no new animal")

    def _repeats(self, answer: PageReply) -> bool:
        """Whether an answer is empty, or the end of what came."""
        end = islice(reversed(self.state.ids), len(answer.ids))
        return [*end] == [*reversed(answer.ids)]

    def _page_behind(self, scheme: Scheme, ahead: int = 0) -> NextPage:
        """Return the page of the scheme behind what came and so many full pages."""
        came = self.state
        overlap = self._overlap
        values = {
            "rows": self.rows - overlap + ahead * self.step,
            "pages": came.pages + ahead + scheme.base,
            "id": came.last[-1],
        }
        url = with_query(self._url, {scheme.parameter: values[scheme.counts]})
        is_safe = scheme.counts == "id" or came.was_alone
        return NextPage(
            url, is_trial=True, overlap=overlap, is_gapless=is_safe, continues=True
        )

    @property
    def _overlap(self) -> int:
        """
        How many animals the next page repeats, so that an insertion or a deletion
        shows.

        None behind a page that held nothing else; and of small pages only the first
        ones, since that would cost many requests.
        """
        came = self.state
        counts_rows = self._way is not None and self._way.counts == "rows"
        is_cheap = came.full >= OVERLAPPED or came.pages < FIRST_PAGES
        return int(counts_rows and came.full > 1 and is_cheap and not came.was_alone)

    # ends

    def _end_of_filter(self, why: str) -> Ending:
        """
        End behind the last page of a way; under a filter only where that is applied
        first.
        """
        known = (
            not self._is_filtered
            or self.evidence.filters_first
            or self.state.unfiltered
        )
        if not known:
            size = self.state.full
            every = yield from self._try_whole(size)
            some = yield from self._try({"limit": size})
            known = (
                every is not None
                and some is not None
                and len(some.ids) >= len(every.ids)
                and not set(some.ids) <= set(every.ids)
            )
            self.evidence = replace(self.evidence, filters_first=known)
        return (
            self._done(why) if known else self._unproven("it may cut before it filters")
        )

    def _done(self, why: str) -> End:
        """
        End as complete, unless what came shows that the inventory moved or has more.
        """
        came = self.state
        if came.moved:
            return End(
                "unproven",
                "the inventory changed while it was read, so some may be missing",
            )
        if came.says_more:
            return End("unproven", f"{why}, but the service says that more follow")
        return End("complete", why)

    def _unproven(self, why: str) -> End:
        """End with the animals that came, and say what the user can do."""
        read = (
            f"{pluralize(self.rows, 'animal')} {'was' if self.rows == 1 else 'were'}"
            " read"
        )
        advice = (
            'If you know how it pages, pass pagination="offset", "page" or'
            ' "cursor=NAME" (PETSTORE_PAGINATION=offset, page or cursor=NAME)'
        )
        unsaid = f"the service did not show whether more follow ({why})"
        return End("unproven", f"{read}, and {unsaid}. {advice}")
