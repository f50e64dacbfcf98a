"""
Pure: the pager decides which page comes next, and what the end of a listing proves
(§4.1).

The document shows no paging mechanism. The pager follows what the service names (`Link
rel="next"`, a next-cursor header). Where it names nothing, the pager finds out whether
the service signals pages at all, and else tries the usual ways to page. The size of a
page proves nothing.

An example: 250 animals, with the ids 1 to 250, of a service that knows the parameter
`page` and names no next page. `feed` hands the pager a reply with the ids from `first`
to `last`, and shows what the pager does next.

>>> def feed(first=1, last=0):
...     step = pager.feed(PageReply(pager.next.url, tuple(range(first, last + 1))))
...     return getattr(step, "url", step)

The first page has as many animals as were asked for, and names no next page. Does this
service name one where it must, behind a page of one animal?

>>> pager = Pager("/pets?limit=100")
>>> feed(1, 100)
'/pets?limit=1'

It does not, so the usual parameters are tried, at a position of the page in hand. Both
`offset` and `skip` bring the first page again: the service does not know them.

>>> feed(1, 1)
'/pets?limit=100&offset=99'
>>> feed(1, 100)
'/pets?limit=100&skip=99'
>>> feed(1, 100)
'/pets?limit=33&page=2'

The second page of 33 begins behind the first 33 animals of the page in hand: `page` is
proven, and counts from 1. The listing goes on by it, with pages of the full size.

>>> feed(34, 66)
'/pets?limit=100&page=2'
>>> feed(101, 200)
'/pets?limit=100&page=3'

A page of 50 is no end, since a service may cut pages short. Nor is one empty page: the
answer may be wrong, or the last animal of the page before was removed. So the pager
asks again for the page before, and then for the empty page.

>>> feed(201, 250)
'/pets?limit=100&page=4'
>>> feed()
'/pets?limit=100&page=3'
>>> feed(201, 250)
'/pets?limit=100&page=4'

The second answer is empty, too. Since a service may hide the animals of a page, the
pager asks for the page after it, twice if that is empty. Then the end is proven. `page`
repeats no animal, so there may be a hole.

>>> feed()
'/pets?limit=100&page=5'
>>> feed()
'/pets?limit=100&page=5'
>>> feed()
End(completeness='complete', reason="no animal follows the last one, paged by 'page'")
>>> pager.record.evidence.scheme.parameter, pager.record.may_have_hole
('page', True)
"""

from collections.abc import Generator, Iterable
from dataclasses import replace
from itertools import islice
from math import inf
from typing import TypeAlias, TypeVar

from petstore_tools.listing import schemes
from petstore_tools.listing.completeness import End
from petstore_tools.listing.evidence import (
    ENDS,
    ENDS_OF_ONE_PAGE,
    Evidence,
    NextPage,
    PageRecord,
    PageReply,
)
from petstore_tools.listing.schemes import (
    PAGE,
    SCHEMES,
    Scheme,
    follow,
    with_query,
)
from petstore_tools.text import pluralize

EMPTY_PAGES = 50  # in a row, each promising more
T = TypeVar("T")
# asks for pages, is sent their replies (None: refused), and returns what that showed
Steps: TypeAlias = Generator[NextPage, PageReply | None, T]


class PageChanged(Exception):  # noqa: N818 - no fault: the inventory changed while it was read
    """The page in hand has changed while the way to page was tried."""


class Pager:
    """
    Reads one listing.

    Args:
        url: Address of the first page, with its query.
        first: Stop when so many animals came, None for all.
        evidence: What earlier listings proved of this service.
        pagination: How the service pages, as the caller named it.

    Attributes:
        next: What comes next.
        record: What came so far, and what is proved by now.
    """

    def __init__(
        self,
        url: str,
        *,
        first: int | None = None,
        evidence: Evidence | None = None,
        pagination: Scheme | None = None,
    ) -> None:
        evidence = replace(evidence or Evidence())
        evidence.scheme = pagination or evidence.scheme
        if pagination is not None and pagination.header:
            evidence.signals = False  # by other headers
        self._first = first or inf
        self.record = PageRecord(url, evidence, pagination)
        self._steps = _read_to_end(self.record)
        self.next: NextPage | End = next(self._steps)

    def feed(self, reply: PageReply | None) -> NextPage | End:
        """Take a reply, None where a trial was refused, and return what comes next."""
        self.record.new_ids = []
        try:
            step: NextPage | End = self._steps.send(reply)
        except StopIteration as stop:
            step = stop.value
        row_count = self.record.row_count
        goes_on = isinstance(step, NextPage)
        if row_count > self._first or (row_count == self._first and goes_on):
            step = End("cut", f"the listing was limited to the first {self._first:,}")
        self.next = step
        return step

    def predict_urls(self, count: int) -> list[str]:
        """
        Return up to so many addresses that follow if each page is full and nothing
        moves.
        """
        scheme = self.record.scheme
        if scheme is None or scheme.counts == "id":
            return []
        return [_next_page(self.record, scheme, pages).url for pages in range(count)]


def _read_to_end(record: PageRecord) -> Steps[End]:
    try:
        end = yield from _read_listing(record)
    except PageChanged:
        return record.end_unproven("a page begins at another animal than expected")
    total = record.total or 0
    if end.completeness == "complete" and total > record.row_count:
        counted = pluralize(total, "animal")
        return End("unproven", f"{end.reason}, but the service counts {counted}")
    return end


def _read_listing(record: PageRecord) -> Steps[End]:
    page = NextPage(record.url)
    reply = yield from _ask_twice(record, page)
    assert reply is not None
    record.take(page, reply)
    scheme, pagination = record.evidence.scheme, record.pagination
    if pagination is None or pagination.counts == "token":
        end = yield from _follow_signs(record, reply)
        if end is not None:
            return end
    if not record.row_count and (
        not record.is_filtered or record.evidence.filters_first
    ):
        return (yield from _end_without_animals(record))
    if record.row_count and scheme is not None and scheme.counts != "token":
        end = yield from _try_schemes(record, [scheme])
        if end is not None:
            return end
        if pagination is not None and record.row_count > 1:
            return record.end_unproven(f"it does not page by {scheme.parameter!r}")
    return (yield from _find_way(record))


def _ask_twice(record: PageRecord, page: NextPage) -> Steps[PageReply | None]:
    """
    Ask for a page. If the answer shows an end, ask again for the page before it, to see
    whether the inventory has moved, and then for the page itself: the second answer
    counts.
    """
    reply = yield page
    if not _shows_end(record, page, reply):
        return reply
    if record.last_page and not record.empty_pages:
        last = yield NextPage(record.last_url, is_trial=True, continues=True)
        ids = set(last.ids) if last is not None else set()
        has_new = not page.is_gapless and not ids <= record.ids.keys()
        record.has_moved |= has_new or record.last_page[-1] not in ids
    second = yield page
    if second is not None and not (reply and reply.is_end):
        second = replace(second, is_end=False)  # a 404 counts if both answers are 404
    return second


def _shows_end(record: PageRecord, page: NextPage, reply: PageReply | None) -> bool:
    """
    Say whether an answer shows an end: it is refused or empty, or it repeats the last
    animals. As long as no way is proven, a next page that it names speaks against it.
    """
    if reply is None:
        return True
    ids = reply.ids
    if ids and (ids[-1] not in record.ids or len(ids) == page.overlap):
        return False
    last_ids = islice(reversed(record.ids), len(ids))
    if [*last_ids] != [*reversed(ids)]:
        return False
    target = schemes.next_target(reply.headers, record.url, record.pagination)
    return record.scheme is not None or not target


def _follow_signs(record: PageRecord, reply: PageReply) -> Steps[End | None]:
    """Read on as the service names the next page; None where it signals nothing."""
    evidence = record.evidence
    # what it did once it may have stopped doing; one animal is too few to ask
    signals = evidence.signals and ("Link" in reply.headers or record.row_count < 2)
    while True:
        target = schemes.next_target(reply.headers, record.url, record.pagination)
        if target is None and not signals:
            return None
        if not target:
            return record.end_complete("the service said that there is no next page")
        if record.empty_pages >= EMPTY_PAGES:
            return End(
                "cut",
                f"{EMPTY_PAGES} pages in a row were empty, and each named a next page",
            )
        url = follow(reply.url, target)
        if isinstance(url, End):
            return url
        if url in record.urls:
            return record.end_unproven("it names a next page that was read before")
        # nobody knows yet whether a service takes a token by its usual parameter
        is_trial = not evidence.signals and "Link" not in reply.headers
        page = NextPage(url, is_trial=is_trial)
        next_reply = yield from _ask_twice(record, page)
        is_lost = False
        if next_reply and next_reply.ids:
            is_lost = record.ids.keys() >= set(next_reply.ids)
        elif next_reply and is_trial:
            is_lost = not (yield from _takes_token(record))
        if next_reply is None or is_lost:
            return record.end_unproven(
                "it names a next page, and no new animal is found there"
            )
        record.take(page, next_reply)
        signals = evidence.signals = True
        reply = next_reply


def _takes_token(record: PageRecord) -> Steps[bool]:
    """
    Say whether the service finds a second animal by its token: it may take a parameter
    that it does not know for a filter.
    """
    first = yield from _ask(record, limit=1, status=None)
    if first is None:
        return False
    target = schemes.next_target(first.headers, first.url, record.pagination)
    url = follow(first.url, target or "")
    if not target or isinstance(url, End):
        return False
    second = yield NextPage(url, is_trial=True)
    return second is not None and bool(set(second.ids) - set(first.ids))


def _find_way(record: PageRecord) -> Steps[End]:
    """
    Find out whether the service signals pages, and else read on by a usual way.
    """
    # of two animals it must name the second one, also under the filter
    query = {} if record.row_count > 1 else {"status": None}
    probe = yield from _ask(record, limit=1, **query)
    if probe is not None:
        if schemes.next_target(probe.headers, record.url, record.pagination):
            record.evidence.signals = True
            return record.end_complete(
                "the service names a next page where there is one"
            )
        if not probe.ids and not record.row_count:
            return (yield from _end_without_animals(record))
    if not record.row_count:
        return record.end_unproven(
            "no animal came, so the way to a next page could not be tried"
        )
    end = yield from _try_schemes(record, SCHEMES.values())
    if end is not None:
        return end
    if record.row_count > 1:
        return record.end_unproven("the usual parameters do not lead to a next page")
    return (yield from _end_of_filter(record, "the service shows no other animal"))


def _end_without_animals(record: PageRecord) -> Steps[End]:
    """
    End a listing whose first page is empty: a row of the second one, which is asked for
    by a way that is known, else by the two usual numbers, proves that more exist.
    """
    scheme = record.evidence.scheme
    is_numbered = scheme is not None and scheme.counts in ("rows", "pages")
    for numbered in [scheme] if scheme and is_numbered else [SCHEMES["offset"], PAGE]:
        value = numbered.base + 1 if numbered.counts == "pages" else record.limit
        reply = yield from _ask(record, **{numbered.parameter: value})
        if reply is not None and reply.ids:
            return record.end_unproven(
                "its first page is empty, and a later one is not"
            )
    return record.end_complete("the service has no animals")


def _ask(record: PageRecord, **query: object) -> Steps[PageReply | None]:
    """Ask for a page that may be refused; its animals are not taken."""
    url = with_query(record.url, query)
    named = record.pagination
    is_named = named is not None and named.parameter in query
    return (yield NextPage(url, is_trial=True, continues=is_named))


def _try_schemes(record: PageRecord, usual: Iterable[Scheme]) -> Steps[End | None]:
    """Read on by the first of these ways that is proven, None where none is."""
    for scheme in usual:
        proven_scheme = yield from _prove(record, scheme)
        if proven_scheme is not None:
            return (yield from _read_on_by(record, proven_scheme))
    return None


def _read_on_by(record: PageRecord, scheme: Scheme) -> Steps[End]:
    """Read on by a way that is proven."""
    record.scheme = record.evidence.scheme = scheme
    while True:
        page = _next_page(record, scheme)
        reply = yield from _ask_twice(record, page)
        if reply is None:
            return record.end_unproven(
                f"it refuses the next page by {scheme.parameter!r}"
            )
        if not page.overlap and _shows_end(record, page, reply):
            if reply.is_end or scheme.counts == "id":
                return (yield from _end_of_way(record, page, scheme))
            record.take(page, replace(reply, ids=()))
            if not (yield from _skip_empty_page(record, scheme)):
                return (yield from _end_of_way(record, page, scheme))
            continue
        record.take(page, reply)
        if page.overlap and not reply.ids:
            # unproven: an overlap that does not come is no end
            return record.end_complete("")
        if len(reply.ids) - len(record.new_ids) > max(page.overlap, len(reply.ids) / 2):
            return record.end_unproven("most animals of a page had come before")


def _skip_empty_page(record: PageRecord, scheme: Scheme) -> Steps[bool]:
    """
    Take the page behind one without new animals; False where that shows none, either,
    or is refused.

    A service that cuts and then hides rows sends an empty page in the middle. One whose
    pages have another size than the first one repeats a part of it.
    """
    # numbers of pages counted it already
    page = _next_page(record, scheme, int(scheme.counts == "rows"))
    page = replace(page, is_gapless=False, continues=False)
    reply = yield from _ask_twice(record, page)
    if reply is None or record.ids.keys() >= set(reply.ids):
        return False
    record.skipped += record.longest
    record.take(page, reply)
    return True


def _end_of_way(record: PageRecord, page: NextPage, scheme: Scheme) -> Steps[End]:
    """End behind the last page of a way."""
    record.may_have_hole |= not page.is_gapless
    if record.may_count_rows and not (yield from _counts_ids(record, scheme)):
        return record.end_unproven(f"{scheme.parameter!r} seems to count rows")
    reason = f"no animal follows the last one, paged by {scheme.parameter!r}"
    return (yield from _end_of_filter(record, reason))


def _counts_ids(record: PageRecord, scheme: Scheme) -> Steps[bool]:
    """
    Say whether a way that goes on behind an id does not skip as many rows in its place:
    where the ids begin with 1, 2, 3, what proved it is the same for both.
    """
    ids = [*record.ids]
    # up to the first id that is not its row's number, none can have been skipped
    index = next((i for i, pet_id in enumerate(ids) if pet_id != i + 1), None)
    if index is None:
        return True
    value, expected = ids[index], ids[index + 1 : index + 2]
    if not expected or with_query(record.url, {scheme.parameter: value}) in record.urls:
        value, expected = ids[index] - 1, ids[index : index + 1]
    reply = yield from _ask(record, **{scheme.parameter: value})
    return reply is not None and [*reply.ids[:1]] == expected


def _next_page(record: PageRecord, scheme: Scheme, full_pages: int = 0) -> NextPage:
    """Return the page of a scheme behind what came and so many full pages."""
    overlap = record.overlap
    rows = record.row_count + record.skipped - overlap
    pages = record.page_count + full_pages
    values = {
        "rows": rows + full_pages * record.rows_per_page,
        "pages": pages + scheme.base,
        "id": record.last_page[-1],
    }
    query: dict[str, object] = {scheme.parameter: values[scheme.counts]}
    ends = ENDS
    if scheme.counts == "pages":  # a limit that is cut may be counted as it was asked
        query["limit"] = record.longest
        ends = ENDS_OF_ONE_PAGE if record.page_count == 1 else ENDS
    url = with_query(record.url, query)
    is_gapless = scheme.counts == "id" or record.repeats_only
    return NextPage(
        url,
        is_trial=True,
        overlap=overlap,
        is_gapless=is_gapless,
        continues=True,
        ends=ends,
    )


def _prove(record: PageRecord, scheme: Scheme) -> Steps[Scheme | None]:
    """
    Return the way that a scheme turns out to be, None where it leads nowhere.

    Raises:
        PageChanged: The page in hand has changed.
    """
    if scheme.counts == "pages":
        return (yield from _prove_page_numbers(record, scheme))
    page = record.last_page
    position = max(1, len(page) - 1)
    value = position if scheme.counts == "rows" else page[position - 1]
    reply = yield from _ask(record, **{scheme.parameter: value})
    if reply is None or reply.ids[:1] == page[:1]:
        return None
    if not reply.ids:
        is_end = len(page) == 1 and scheme == record.evidence.scheme
        return scheme if is_end else None
    if len(page) == 1:  # then another animal must not come by itself
        first_page = yield from _ask(record)
        if first_page is not None and first_page.ids == page:
            return scheme
        raise PageChanged
    if reply.ids[:1] == page[position:]:
        is_by_id = scheme.counts == "id"
        record.may_count_rows = is_by_id and value == position
        record.take(NextPage(reply.url, overlap=1, is_gapless=is_by_id), reply)
        return scheme
    if scheme.counts == "rows":
        raise PageChanged
    return None


def _prove_page_numbers(record: PageRecord, likely: Scheme) -> Steps[Scheme | None]:
    """Tell page numbers that begin at 1 from those that begin at 0, and from none."""
    page = record.last_page
    parameter = likely.parameter
    schemes_by_base = [
        replace(likely, base=base) for base in (likely.base, 1 - likely.base)
    ]
    query = {"limit": max(1, len(page) // 3), parameter: 2}
    reply = yield from _ask(record, **query)
    if reply is None or not reply.ids:
        # a service whose pages have one size may have one page
        likely_schemes = [likely] if reply is None else schemes_by_base
        scheme = yield from _find_base(record, likely_schemes)
        if scheme is None:
            return None
        reply = yield from _ask(record, **query)
        if reply is None or not reply.ids:
            return scheme
    if reply.ids[:1] == page[:1]:
        return None
    size = len(reply.ids)
    for scheme in schemes_by_base:
        start = (2 - scheme.base) * size
        if reply.ids == page[start : start + size]:
            return scheme
    scheme = yield from _find_base(record, schemes_by_base)
    if scheme is None and set(reply.ids) & set(page):
        raise PageChanged
    return scheme


def _find_base(record: PageRecord, usual: Iterable[Scheme]) -> Steps[Scheme | None]:
    """Return the scheme whose first page is the page in hand, None if there is none."""
    for scheme in usual:
        first_page = yield from _ask(record, **{scheme.parameter: scheme.base})
        if first_page is not None and first_page.ids == record.last_page:
            return scheme
    return None


def _end_of_filter(record: PageRecord, reason: str) -> Steps[End]:
    """
    End behind the last page of a way; under a filter only where that is applied first.
    """
    evidence = record.evidence
    if not record.is_filtered or evidence.filters_first or record.has_other_status:
        return record.end_complete(reason)
    size = record.longest
    all_statuses = yield from _ask(record, limit=size, status=None)
    filtered = yield from _ask(record, limit=size)
    if all_statuses is not None and filtered is not None:
        is_as_long = len(filtered.ids) >= len(all_statuses.ids)
        is_other_page = not set(filtered.ids) <= set(all_statuses.ids)
        evidence.filters_first = is_as_long and is_other_page
    if evidence.filters_first:
        return record.end_complete(reason)
    return record.end_unproven("it may cut before it filters")
