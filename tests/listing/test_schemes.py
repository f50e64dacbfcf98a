"""
Addresses of next pages: how they are named, whether the key may go there, and what they
hold.
"""

import pytest
from tables import read_json
from wires import BASE, KEY

from petstore_tools.errors import ArgumentError
from petstore_tools.listing.completeness import End, ListQuery
from petstore_tools.listing.evidence import NextPage, PageReply
from petstore_tools.listing.pager import Pager
from petstore_tools.listing.schemes import (
    holds_id,
    next_link,
    next_target,
    parse,
    total,
)

URL = "https://host/v1/pets?limit=2"
EXAMPLES = read_json(__file__, "links.json")


@pytest.mark.parametrize(("header", "target"), EXAMPLES["headers"])
def test_link_headers_in_their_forms(header, target):
    """Several links, any order of parameters, quoted or not."""
    assert next_link(header) == target


@pytest.mark.parametrize(("headers", "count"), EXAMPLES["totals"])
def test_totals_in_their_forms(headers, count):
    """The usual headers, and no number that cannot be one."""
    assert total(headers) == count


@pytest.mark.parametrize(("headers", "scheme", "target"), EXAMPLES["signs"])
def test_headers_that_name_the_next_page_or_none(headers, scheme, target):
    """A token goes into the usual parameter of its header, or the one that is named."""
    assert next_target(headers, "/pets", parse(scheme)) == target


@pytest.mark.parametrize("name", ["Link", "X-Next-Cursor"])
@pytest.mark.parametrize(("target", "expected"), EXAMPLES["targets"])
def test_the_key_does_not_follow_a_link_to_another_place(name, target, expected):
    """
    Another host, plain http, another port: cut, and said; where the path is the one
    that was asked, a proxy stands before it, and it is asked at our own address.
    Capitals, a user and the default port make no other place. What is no address ends
    the listing, and is no crash.
    """
    header = f"<{target}>; rel=next" if name == "Link" else target

    step = Pager(URL).feed(PageReply(URL, (1, 2), {name: header}))

    if isinstance(step, End):
        assert (step.completeness, expected in step.reason) == ("cut", True)
    else:
        assert step == NextPage(expected, is_trial=name != "Link")


@pytest.mark.parametrize(
    "before", [[], ["?cursor=b"], ["?cursor=b", "?cursor=c"]], ids=len
)
def test_a_page_that_was_read_is_known_in_another_spelling(before):
    """
    A cycle of one, two or three pages ends the listing, whatever its addresses look
    like.
    """
    pager = Pager(URL)
    step = pager.next
    for number, target in enumerate([*before, "https://HOST:443/v1/pets?limit=2"]):
        step = pager.feed(
            PageReply(step.url, (number,), {"Link": f"<{target}>; rel=next"})
        )

    assert isinstance(step, End)
    assert (step.completeness, "read before" in step.reason) == ("unproven", True)


@pytest.mark.parametrize(
    ("kind", "ends", "refusals"),
    [
        ({}, [], []),
        ({"is_trial": True}, [], [400, 403, 404, 405, 416, 422, 500, 503]),
        ({"is_trial": True, "continues": True}, [404, 416], [400, 403, 405, 422]),
    ],
)
def test_what_a_status_means_depends_on_why_a_page_is_asked_for(kind, ends, refusals):
    """
    A page that the service named must come; a trial may be refused; a way has an end,
    and is tried again after a 5xx, since no other way follows it.
    """
    page = NextPage(URL, **kind)
    statuses = (200, 204, 400, 401, 403, 404, 405, 416, 422, 500, 503)

    assert [status for status in statuses if page.is_end(status)] == ends
    assert [status for status in statuses if page.is_refused(status)] == refusals
    assert page.retries_5xx is (500 not in refusals)


@pytest.mark.parametrize(("query", "last_id", "expected"), EXAMPLES["queries"])
def test_a_number_that_may_count_rows_is_no_id(query, last_id, expected):
    """
    Ids of a new inventory begin at 1, so the hundredth animal has the id 100; no
    service has so many more animals than came that 7,000 counts rows, and 150 may,
    where some were removed.
    """
    assert holds_id(f"https://host/v1/pets?{query}", last_id, row_count=100) is expected


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
def test_a_query_that_cannot_be_is_refused(wrong):
    """
    The message names the parameter and what was given; the ends of §4.1 are allowed.
    """
    ((name, value),) = wrong.items()

    with pytest.raises(ArgumentError, match=f"^{name} must be .*, not {value!r}$"):
        ListQuery(**wrong)
    assert {ListQuery(limit=limit, first=1).limit for limit in (1, 100)} == {1, 100}


def test_a_link_to_another_host_is_not_followed_and_logged_once(wire, store, log):
    """So is any listing that ends incomplete; one that was asked to be short is not."""
    link = {"Link": f'<https://user:{KEY}@elsewhere.example/v2/pets>; rel="next"'}
    animals = [{"id": n, "name": "Rex", "categoryId": 1} for n in range(1, 101)]
    wire.get(f"{BASE}/pets", json=animals, headers=link)
    wire.get(f"{BASE}/pets", json=animals[:2])

    with pytest.warns(UserWarning, match="elsewhere"):
        store.list_pets()
    store.list_pets(first=2)

    assert log.messages == [
        "A listing is cut: the service says that the next page is at"
        " https://elsewhere.example; the key is not sent there."
    ]
