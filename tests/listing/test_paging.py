"""The pager: where a listing ends, and what its end proves."""

from typing import Any

import pytest

from petstore_tools.errors import ArgumentError, PagingError
from petstore_tools.listing.links import End, ListQuery, NextPage, Response, links, parse_age
from petstore_tools.listing.pager import EMPTY_PAGES, Pager

URL = "https://host/v1/pets?limit=100"
NEXT = '<?limit=100&cursor=b>; rel="next"'


def page(ids: range | list[int], link: str | None = None, url: str = URL) -> Response:
    return Response(url, tuple(ids), {} if link is None else {"Link": link})


def pager_of(limit: int = 100, **told: Any) -> Pager:
    return Pager(f"https://host/v1/pets?limit={limit}", limit=limit, **told)


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
        ('</a>; rel="first", <?c=1>; crossorigin; rel="next"', {"first": "/a", "next": "?c=1"}),
        ('<?c=1>; title="a; rel=x"; rel="next"', {"next": "?c=1"}),
        ('<?c=1>; title="a \\"b\\", <x>; rel=y"; rel=next', {"next": "?c=1"}),
    ],
)
def test_link_headers_in_their_forms(header: str | None, found: dict[str, str]) -> None:
    """Several links, any order of parameters, quoted or not."""
    assert links(header) == found


def test_a_relative_next_is_read_against_the_page() -> None:
    """`?cursor=b` keeps host and path."""
    assert pager_of(limit=100).feed(page(range(100), NEXT)) == NextPage(
        "https://host/v1/pets?limit=100&cursor=b"
    )


@pytest.mark.case("P1")
@pytest.mark.parametrize(("limit", "count"), [(100, 100), (100, 250), (37, 37), (100, 20)])
def test_a_full_page_without_any_sign_of_paging_is_unproven(limit: int, count: int) -> None:
    """
    The document shows no paging (§4.1): such a listing is never called complete, nor a short round
    one.
    """
    end = pager_of(limit=limit, fixed=True).feed(page(range(count)))

    assert isinstance(end, End)
    assert end.completeness == "unproven"
    assert "whether more follow" in end.reason


@pytest.mark.case("P1")
@pytest.mark.parametrize(
    ("count", "link"), [(0, None), (37, None), (100, '<?limit=100>; rel="first"')]
)
def test_an_end_that_the_service_showed_is_complete(count: int, link: str | None) -> None:
    """Nothing at all, an odd short page, or a page with links and none that leads on."""
    end = pager_of(limit=100).feed(page(range(count), link))

    assert isinstance(end, End)
    assert end.completeness == "complete"


@pytest.mark.case("P2")
def test_a_next_page_that_was_read_before_is_named() -> None:
    """A cycle ends with its first repeated address."""
    pager = pager_of(limit=2)
    pager.feed(page([1, 2], "<?p=2>; rel=next"))

    with pytest.raises(PagingError, match="read before"):
        pager.feed(page([3, 4], "<?limit=100>; rel=next", "https://host/v1/pets?p=2"))


@pytest.mark.case("P2")
def test_a_page_without_a_new_animal_that_promises_more_is_named() -> None:
    """The last page, again and again, under new addresses."""
    pager = pager_of(limit=2)
    pager.feed(page([1, 2], "<?p=2>; rel=next"))

    with pytest.raises(PagingError, match="no new animal"):
        pager.feed(page([2, 1], "<?p=3>; rel=next", "https://host/v1/pets?p=2"))


@pytest.mark.case("P3")
def test_empty_pages_that_promise_more_are_read_on_and_bounded() -> None:
    """One empty page is no end; fifty are, and the listing says so."""
    pager = pager_of(limit=2)
    for number in range(EMPTY_PAGES - 1):
        step = pager.feed(
            page([], f"<?p={number + 1}>; rel=next", f"https://host/v1/pets?p={number}")
        )
        assert isinstance(step, NextPage)

    end = pager.feed(page([], "<?p=99>; rel=next", "https://host/v1/pets?p=98"))

    assert isinstance(end, End)
    assert end.completeness == "cut"


@pytest.mark.case("P8")
@pytest.mark.parametrize(
    "target",
    [
        "https://other/v1/pets",
        "http://host/v1/pets",
        "https://host:8443/v1/pets",
        "http://host:443/v1/pets",
        "https://host@other/v1/pets",
        "https://host.:443/v1/pets",
    ],
)
def test_the_key_does_not_follow_a_link_to_another_place(target: str) -> None:
    """Another host, plain http, another port: cut, and the place is named."""
    end = pager_of(limit=2).feed(page([1, 2], f"<{target}>; rel=next"))

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
def test_a_page_that_was_read_is_known_in_another_spelling() -> None:
    """A cycle is one, whatever its addresses look like."""
    with pytest.raises(PagingError, match="read before"):
        pager_of(limit=2).feed(page([1, 2], f"<{URL.replace('host', 'HOST:443')}>; rel=next"))


@pytest.mark.case("P8")
@pytest.mark.parametrize("base", ["https://HOST/v1", "https://host:443/v1"])
def test_a_base_address_in_another_spelling_follows_its_links(base: str) -> None:
    """The setting may have the capitals or the port."""
    pager = Pager(f"{base}/pets?limit=2", limit=2)

    step = pager.feed(
        page([1, 2], "<https://host/v1/pets?cursor=b>; rel=next", f"{base}/pets?limit=2")
    )

    assert step == NextPage(f"{base}/pets?cursor=b")


@pytest.mark.case("P8")
@pytest.mark.parametrize(
    "target", ["http://[x", "https://host:port/v1/pets", "https://host:99999/v1/pets"]
)
def test_a_next_page_that_is_no_address_ends_the_listing(target: str) -> None:
    """Cut, and said so; never a crash."""
    end = pager_of(limit=2).feed(page([1, 2], f'<{target}>; rel="next"'))

    assert isinstance(end, End)
    assert (end.completeness, "not valid" in end.reason) == ("cut", True)


def test_the_first_n_end_as_asked() -> None:
    """Cut because it was asked for; complete where there are no more."""
    pager = pager_of(limit=50, first=50)
    assert pager.feed(page(range(50), NEXT)) == End(
        "cut", "the listing was limited to the first 50"
    )

    few = pager_of(limit=50, first=50).feed(page(range(3), '<?limit=50>; rel="first"'))
    assert isinstance(few, End)
    assert few.completeness == "complete"


def test_animals_that_come_twice_are_counted_as_doubles() -> None:
    """Within a page and over pages."""
    pager = pager_of(limit=3)
    pager.feed(page([1, 2, 2], "<?p=2>; rel=next"))
    pager.feed(page([2, 3, 4], None, "https://host/v1/pets?p=2"))

    assert (pager.received.doubles, pager.rows) == (2, 4)


@pytest.mark.case("P5")
def test_an_animal_that_comes_twice_makes_the_listing_unproven() -> None:
    """One was added at the head meanwhile, so the pages have moved: it is kept once, and said."""
    pager = pager_of()
    step = pager.feed(page(range(100), NEXT))
    assert isinstance(step, NextPage)

    end = pager.feed(page(range(99, 150), '<?limit=100>; rel="first"', step.url))

    assert (pager.rows, pager.received.doubles) == (150, 1)
    assert isinstance(end, End)
    assert (end.completeness, "1 animal came twice" in end.reason) == ("unproven", True)


@pytest.mark.parametrize("bound", [{"first": 5}, {"max_requests": 2}])
def test_an_age_is_refused_for_a_listing_that_is_bounded(bound: dict[str, int]) -> None:
    """A kept listing is complete, so that it is no answer."""
    with pytest.raises(ArgumentError, match="max_age .* cannot be combined with first"):
        parse_age("1h", ListQuery(**bound))
