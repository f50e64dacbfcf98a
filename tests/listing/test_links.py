"""Addresses of next pages: how they are named, whether the key may go there, and what they hold."""

from typing import Any

import pytest

from petstore_tools import Listing, Sandbox
from petstore_tools.errors import ArgumentError
from petstore_tools.listing.links import (
    End,
    ListQuery,
    NextPage,
    Response,
    holds_id,
    links,
)
from petstore_tools.listing.pager import Pager

URL = "https://host/v1/pets?limit=100"
NEXT = '<?limit=100&cursor=b>; rel="next"'


def page(ids: range | list[int], link: str | None = None, url: str = URL) -> Response:
    return Response(url, tuple(ids), {} if link is None else {"Link": link})


def pager_of(limit: int = 100, **told: Any) -> Pager:
    return Pager(f"https://host/v1/pets?limit={limit}", **told)


@pytest.mark.parametrize(
    ("header", "found"),
    [
        (None, {}),
        ("", {}),
        ('<?a=1>; rel="next"', {"next": "?a=1"}),
        ("<?a=1>; rel=next", {"next": "?a=1"}),
        ('<?a=1>; title="x, y"; rel="next last"', {"next": "?a=1", "last": "?a=1"}),
        ('<a>; rel="first", <b>;rel="NEXT"', {"first": "a", "next": "b"}),
        ("<a>; rel=prev , <b?x=1,2>; rel=next", {"prev": "a", "next": "b?x=1,2"}),
        ("nonsense", {}),
        ("<a>; rel='next'", {"next": "a"}),
        (
            "<a>; rel='next last'; title='x', <b>; rel='prev'",
            {"next": "a", "last": "a", "prev": "b"},
        ),
        ("< ?a=1 >; rel=next", {"next": "?a=1"}),
        ('</a>; rel="first", <?c=1>; crossorigin; rel="next"', {"first": "/a", "next": "?c=1"}),
        ('<?c=1>; title="a; rel=x"; rel="next"', {"next": "?c=1"}),
        ('<?c=1>; title="a \\"b\\", <x>; rel=y"; rel=next', {"next": "?c=1"}),
    ],
)
def test_link_headers_in_their_forms(header: str | None, found: dict[str, str]) -> None:
    """Several links, any order of parameters, quoted or not."""
    assert links(header) == found


@pytest.mark.case("P8", "P93")
@pytest.mark.parametrize(
    "place",
    [
        "https://other",
        "http://host",
        "https://host:8443",
        "http://host:443",
        "https://host@other",
        "https://host.:443",
    ],
)
def test_the_key_does_not_follow_a_link_to_another_place(place: str) -> None:
    """
    Another host, plain http, another port: cut, and the place is named; where the path is the one
    that was asked, a proxy stands before it, and it is asked at our own address.
    """
    end = pager_of(limit=2).feed(page([1, 2], f"<{place}/v1/animals?cursor=b>; rel=next"))
    step = pager_of(limit=2).feed(page([1, 2], f"<{place}/v1/pets?cursor=b>; rel=next"))

    assert step == NextPage("https://host/v1/pets?cursor=b")
    assert isinstance(end, End)
    assert end.completeness == "cut"
    assert "the key is not sent there" in end.reason


@pytest.mark.case("P8")
@pytest.mark.parametrize("name", ["Link", "X-Next-Cursor"])
@pytest.mark.parametrize(
    "target",
    [
        "https://HOST/v1/pets?cursor=b",
        "https://host:443/v1/pets?cursor=b",
        "HTTPS://Host:443/v1/pets?cursor=b",
        "https://user:word@host/v1/pets?cursor=b",
        "/v1/pets?cursor=b",
        "?cursor=b",
    ],
)
def test_the_services_own_address_in_another_spelling_is_followed(name: str, target: str) -> None:
    """
    Capitals and the default port change no host; what is asked is spelt as before, without a user.
    """
    header = f"<{target}>; rel=next" if name == "Link" else target

    step = pager_of(limit=2).feed(Response(URL, (1, 2), {name: header}))

    assert step == NextPage("https://host/v1/pets?cursor=b")


@pytest.mark.case("P2", "P8")
@pytest.mark.parametrize("before", [[], ["b"], ["b", "c"]], ids=len)
def test_a_page_that_was_read_is_known_in_another_spelling(before: list[str]) -> None:
    """A cycle of one, two or three pages ends the listing, whatever its addresses look like."""
    pager = pager_of()
    step: NextPage | End = NextPage(URL)
    for number, link in enumerate([*(f"?cursor={cursor}" for cursor in before), URL]):
        assert isinstance(step, NextPage)
        other = link.replace("host", "HOST:443")
        step = pager.feed(page([number], f"<{other}>; rel=next", step.url))

    assert isinstance(step, End)
    assert (step.completeness, "read before" in step.reason) == ("unproven", True)


@pytest.mark.case("P8")
@pytest.mark.parametrize(
    "target", ["http://[x", "https://host:port/v1/pets", "https://host:99999/v1/pets"]
)
def test_a_next_page_that_is_no_address_ends_the_listing(target: str) -> None:
    """Cut, and said so; never a crash."""
    end = pager_of(limit=2).feed(page([1, 2], f'<{target}>; rel="next"'))

    assert isinstance(end, End)
    assert (end.completeness, "not valid" in end.reason) == ("cut", True)


@pytest.mark.case("P5")
def test_an_animal_that_comes_twice_makes_the_listing_unproven() -> None:
    """One was added at the head meanwhile, so the pages have moved: it is kept once, and said."""
    pager = pager_of()
    step = pager.feed(page(range(100), NEXT))
    assert isinstance(step, NextPage)

    end = pager.feed(page(range(99, 150), '<?limit=100>; rel="first"', step.url))

    assert (pager.rows, pager.received.doubles) == (150, 1)
    assert isinstance(end, End)
    assert (end.completeness, "changed while it was read" in end.reason) == ("unproven", True)


@pytest.mark.case("P93")
@pytest.mark.parametrize(
    ("page", "ends", "refusals"),
    [
        (NextPage(URL), [], []),
        (NextPage(URL, trial=True), [], [400, 403, 404, 416, 422, 500, 503]),
        (NextPage(URL, trial=True, behind=True), [404, 416], [400, 403, 422]),
    ],
)
def test_what_a_status_means_depends_on_why_a_page_is_asked_for(
    page: NextPage, ends: list[int], refusals: list[int]
) -> None:
    """A page that the service named must come; a trial may be refused; a way has an end."""
    statuses = (200, 204, 400, 401, 403, 404, 416, 422, 500, 503)

    assert [status for status in statuses if page.is_end(status)] == ends
    assert [status for status in statuses if page.is_refused(status)] == refusals


HELD = {  # whether a query holds the last id; of 100 animals it is 100 or -7000
    "last_id=100": True,
    "cursor=id100.3fa4": True,
    "cursor=id:100": True,
    "cursor=t100": False,  # it may count rows
    "offset=100": False,
    "cursor=id1000": False,
    "cursor=aWQxMDA": False,
    "page=2": False,
    "since=-7000": True,  # no service has so many more animals than came
    "since=7000": False,
    "since=150": False,  # of a hundred animals, some may have been removed
}


@pytest.mark.case("P77")
@pytest.mark.parametrize(("query", "held"), HELD.items())
def test_a_number_that_may_count_rows_is_no_id(query: str, held: bool) -> None:
    """Ids of a new inventory begin at 1, so the hundredth animal has the id 100."""
    last_id = next((number for number in (-7_000, 150) if str(abs(number)) in query), 100)

    assert holds_id(f"https://host/v1/pets?{query}", last_id, rows=100) is held


@pytest.mark.case("P77")
def test_our_own_service_shows_the_last_id() -> None:
    """So its listings have no hole, filtered or not."""
    with Sandbox(animals=1_000) as box:
        for status in (None, "available"):
            frame = box.store.list_pets(status=status)
            listing = Listing.of(frame)

            assert (listing.complete, listing.may_have_hole) == (True, False)
            assert listing.pages > 1


@pytest.mark.parametrize("most", [{"limit": 1}, {"limit": 100}, {"first": 1}])
def test_a_query_may_be_as_small_and_as_large_as_the_document_says(most: dict[str, Any]) -> None:
    """1 to 100 a page (§4.1), and one animal at least."""
    assert ListQuery(**most) is not None


@pytest.mark.case("P9")
@pytest.mark.parametrize(
    "wrong",
    [
        *[{"limit": limit} for limit in (0, 101, "abc", True, 20.0)],
        {"first": 0},
        {"first": 1.5},
        {"require": "all"},
    ],
    ids=str,
)
def test_a_query_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    """The message names the parameter and what was given."""
    ((name, given),) = wrong.items()

    with pytest.raises(ArgumentError, match=f"^{name} must be .*, not {given!r}$"):
        ListQuery(**wrong)
