"""
Pure: requests that find out how a service pages, each at a position of the page in
hand, and whether it filters before it cuts a page (§4.1).
"""

from __future__ import annotations

from petstore_tools.listing.protocol import End, NextPage
from petstore_tools.listing.schemes import PAGE, PAGE_0, Scheme, landing_position
from petstore_tools.listing.state import ListingState, Moved, Steps


def prove(state: ListingState, scheme: Scheme) -> Steps[Scheme | None]:
    """
    Return the way that a scheme turns out to be, None where it leads nowhere.

    Raises:
        Moved: The page in hand has changed.
    """
    if scheme.counts == "pages":
        return (yield from _prove_pages(state, scheme))
    page = state.last_page
    position = max(1, len(page) - 1)
    value = position if scheme.counts == "rows" else page[position - 1]
    reply = yield from state.ask(**{scheme.parameter: value})
    if reply is None or reply.ids[:1] == page[:1]:
        return None
    if not reply.ids:
        is_end = len(page) == 1 and scheme == state.evidence.scheme
        return scheme if is_end else None
    if len(page) == 1:  # then another animal must not come by itself
        first_page = yield from state.ask()
        if first_page is not None and first_page.ids == page:
            return scheme
        raise Moved
    if landing_position(page, reply.ids) == position:
        is_by_id = scheme.counts == "id"
        state.take(NextPage(reply.url, overlap=1, is_gapless=is_by_id), reply)
        return scheme
    if scheme.counts == "rows":
        raise Moved
    return None


def _prove_pages(state: ListingState, likely: Scheme) -> Steps[Scheme | None]:
    """Tell page numbers that begin at 1 from those that begin at 0, and from none."""
    page = state.last_page
    reply = yield from state.ask(limit=max(1, len(page) // 3), page=2)
    if reply is None or reply.ids[:1] == page[:1]:
        return None
    position = landing_position(page, reply.ids)
    size = len(reply.ids)
    if position and position in (size, 2 * size):
        return PAGE if position == size else PAGE_0
    for scheme in sorted((PAGE, PAGE_0), key=lambda scheme: scheme != likely):
        first_page = yield from state.ask(page=scheme.base)
        if first_page is not None and first_page.ids == page:
            return scheme
    if position is not None:
        raise Moved
    return None


def end_of_filter(state: ListingState, reason: str) -> Steps[End]:
    """
    End behind the last page of a way; under a filter only where that is applied first.
    """
    evidence = state.evidence
    if not state.is_filtered or evidence.filters_first or state.unfiltered:
        return state.end(reason)
    size = state.longest
    all_statuses = yield from state.ask(limit=size, status=None)
    filtered = yield from state.ask(limit=size)
    if all_statuses is not None and filtered is not None:
        is_as_long = len(filtered.ids) >= len(all_statuses.ids)
        is_other_page = not set(filtered.ids) <= set(all_statuses.ids)
        evidence.filters_first = is_as_long and is_other_page
    if evidence.filters_first:
        return state.end(reason)
    return state.unproven("it may cut before it filters")
