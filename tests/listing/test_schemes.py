"""Learning how a service pages: few asks, and belief only where the answers prove it."""

from __future__ import annotations

import json
from math import ceil
from random import Random
from urllib.parse import parse_qsl, urlsplit

import pytest
from paging_server import PagingService, pets
from requests.structures import CaseInsensitiveDict

from petstore_tools.errors import PagingError, SettingsError
from petstore_tools.listing import schemes
from petstore_tools.listing.links import End, NextPage, Response
from petstore_tools.listing.pager import Pager

EVERY = tuple(scheme.name for scheme in schemes.SCHEMES)
CURSORS = (
    "X-Next-Cursor=cursor",
    "next-cursor=after",
    "X-Next-Page-Token=page_token",
    "X-Next-Page=page",
)


def walk(service: PagingService, pager: Pager) -> End:
    """Let a pager read a service to its end."""
    step = pager.next
    while isinstance(step, NextPage):
        query = dict(parse_qsl(urlsplit(step.url).query))
        service.asked.append(query)
        service.before(len(service.asked))
        status, headers, body = service.answer(query)
        if status != 200:
            assert step.trial, "only a trial may be refused"
            step = pager.refused()
        else:
            ids = tuple(int(str(row["id"])) for row in json.loads(body))
            step = pager.feed(Response(step.url, ids, CaseInsensitiveDict(headers)))
    return step


def pager_of(limit: int = 100, **told: object) -> Pager:
    return Pager(f"https://host/v1/pets?limit={limit}", limit=limit, **told)  # type: ignore[arg-type]


@pytest.mark.case("P1")
@pytest.mark.parametrize(
    "count", [0, 1, 37, 50, 99, 100, 101, 150, 198, 199, 200, 250, 1_000, 1_003]
)
@pytest.mark.parametrize("speaks", EVERY)
def test_a_scheme_is_learnt_by_few_asks_and_remembered_for_one(speaks: str, count: int) -> None:
    """All rows, whole; at most 3 requests more than rows / 100 the first time, at most 1 after."""
    service = PagingService(pets(count, step=3), speaks)
    pager = pager_of()

    end = walk(service, pager)
    first_time = len(service.asked)

    assert (end.completeness, pager.rows, pager.received.doubles) == ("complete", count, 0)
    assert list(pager.received.ids) == [row["id"] for row in service.rows]
    assert first_time - max(1, ceil(count / 100)) <= 3
    if pager.scheme is None:
        assert count < 100
        return
    assert pager.scheme.name == speaks

    again = pager_of(scheme=pager.scheme)
    end = walk(service, again)

    assert (end.completeness, again.rows, again.received.doubles) == ("complete", count, 0)
    assert len(service.asked) - first_time - ceil(count / 100) <= 1


@pytest.mark.parametrize("count", [99, 100, 250])
@pytest.mark.parametrize("speaks", CURSORS)
def test_a_token_in_a_header_is_handed_back(speaks: str, count: int) -> None:
    """By the parameter that the header's name suggests, else by the next usual one."""
    service = PagingService(pets(count), speaks)
    pager = pager_of()

    end = walk(service, pager)

    assert (end.completeness, pager.rows, pager.received.doubles) == ("complete", count, 0)
    assert len(service.asked) <= ceil(count / 100) + 1

    again = pager_of(scheme=pager.scheme)
    before = len(service.asked)
    assert walk(service, again).completeness == "complete"
    assert len(service.asked) - before == ceil(count / 100)


def test_a_token_that_no_usual_parameter_takes_is_no_end() -> None:
    """The service said that there is more: unproven, after three tries."""
    service = PagingService(pets(250), "X-Next-Cursor=weiter")

    end = walk(service, pager_of())

    assert end.completeness == "unproven"
    assert len(service.asked) == 4
    told = pager_of(scheme=schemes.parse("cursor=weiter"), fixed=True)
    assert walk(service, told).completeness == "complete"
    assert told.rows == 250


@pytest.mark.case("P1", "P2")
@pytest.mark.parametrize(("strict", "count"), [(True, 250), (False, 250), (False, 100), (True, 20)])
def test_a_service_without_usual_parameters_ends_unproven(strict: bool, count: int) -> None:
    """It ignores or refuses them: one ask more, then an end; never a loop, never a silent cut."""
    service = PagingService(pets(count), "nothing", strict=strict)

    end = walk(service, pager_of())

    assert end.completeness == "unproven"
    assert "whether more follow" in end.reason
    assert len(service.asked) == 2


@pytest.mark.case("P4")
@pytest.mark.parametrize("cap", [8, 20, 50, 75])
@pytest.mark.parametrize("speaks", [*EVERY, "link"])
def test_a_clamped_page_size_skips_no_row(speaks: str, cap: int) -> None:
    """100 asked for, fewer given: the next page begins behind what came."""
    service = PagingService(pets(403), speaks, cap=cap)
    pager = pager_of(scheme=None if speaks == "link" or cap % 5 == 0 else schemes.parse(speaks))

    end = walk(service, pager)

    assert (end.completeness, pager.rows) == ("complete", 403)


def test_pages_of_a_size_of_the_services_own_are_learnt() -> None:
    """It gives 25 whatever is asked: page 1 is the first one again, and page 2 is new."""
    service = PagingService(pets(110), "page", size=25)
    pager = pager_of()

    assert walk(service, pager).completeness == "complete"
    assert (pager.rows, pager.scheme) == (110, schemes.PAGE)


@pytest.mark.parametrize("told", [True, False])
def test_a_scheme_that_is_no_longer_spoken_is_learnt_anew_unless_told(told: bool) -> None:
    """What was remembered is given up for what the answers prove; what was told is not."""
    service = PagingService(pets(250), "page")
    pager = pager_of(scheme=schemes.parse("offset"), fixed=told)

    end = walk(service, pager)

    if told:
        assert (end.completeness, pager.rows) == ("unproven", 100)
    else:
        assert (end.completeness, pager.rows, pager.scheme) == ("complete", 250, schemes.PAGE)


@pytest.mark.case("P5")
@pytest.mark.parametrize("speaks", ["offset", "skip"])
@pytest.mark.parametrize("change", ["insert", "delete"])
@pytest.mark.parametrize("at", [2, 3, 4])
def test_a_change_at_the_head_shows_where_pages_count_rows(
    speaks: str, change: str, at: int
) -> None:
    """
    The animal asked for once more is not in its place: others may be missing, and the end says so.
    """
    service = PagingService(pets(480), speaks)

    def staff(number: int) -> None:
        if number == at and change == "insert":
            service.rows.insert(0, {"id": 10_000, "name": "New", "categoryId": 1})
        elif number == at:
            del service.rows[0]

    service.before = staff
    end = walk(service, pager_of(scheme=schemes.parse(speaks)))

    assert end.completeness == "unproven"
    assert "changed while it was read" in end.reason


@pytest.mark.case("P5")
@pytest.mark.parametrize("speaks", ["after", "starting_after"])
def test_a_change_at_the_head_does_no_harm_where_pages_follow_an_id(speaks: str) -> None:
    """No hole, no double."""
    service = PagingService(pets(480), speaks)
    service.before = lambda number: service.rows.pop(0) and None if number == 3 else None
    pager = pager_of(scheme=schemes.parse(speaks))

    assert (walk(service, pager).completeness, pager.rows, pager.received.doubles) == (
        "complete",
        480,
        0,
    )


@pytest.mark.case("P7")
@pytest.mark.parametrize("speaks", ["link", "offset", "page", "after"])
def test_pages_that_a_filter_thinned_out_are_no_end(speaks: str) -> None:
    """Short pages before the last one: paging goes on, and no row is lost silently."""
    service = PagingService(pets(500), speaks, filtered=True)
    for row in service.rows[100:300]:
        row["status"] = "available" if row["categoryId"] else "sold"
    pager = Pager(
        "https://host/v1/pets?limit=100&status=sold",
        limit=100,
        scheme=None if speaks == "link" else schemes.parse(speaks),
    )

    end = walk(service, pager)

    wanted = sum(row["status"] == "sold" for row in service.rows)
    assert (
        (pager.rows == wanted)
        if speaks == "link"
        else (pager.rows == wanted or end.completeness == "unproven")
    )


@pytest.mark.case("P2")
def test_a_short_last_page_that_comes_again_is_the_end_and_a_full_one_is_named() -> None:
    """A service that shows its last page for any page behind it."""
    assert (
        walk(PagingService(pets(250), "page", repeats_last=True), pager_of()).completeness
        == "complete"
    )
    with pytest.raises(PagingError, match="no new animal"):
        walk(PagingService(pets(300), "page", repeats_last=True), pager_of())


@pytest.mark.parametrize(
    "speaks", ["link", "offset", "skip", "page", "page0", "X-Next-Cursor=cursor"]
)
def test_ids_in_no_order_are_read_all_the_same(speaks: str) -> None:
    """Nothing is assumed of the order of a list (§4.1)."""
    service = PagingService(pets(333), speaks)
    Random(1).shuffle(service.rows)
    pager = pager_of()

    assert walk(service, pager).completeness == "complete"
    assert sorted(pager.received.ids) == [row["id"] for row in pets(333)]


@pytest.mark.parametrize("speaks", ["link", "offset", "page", "after", "X-Next-Cursor=cursor"])
@pytest.mark.parametrize("stop", [1, 2, 3, 4])
def test_a_pass_goes_on_where_another_stopped(speaks: str, stop: int) -> None:
    """Its state is plain JSON; together they read what one would have read."""
    service = PagingService(pets(480), speaks)
    scheme = None if speaks == "link" else schemes.parse(speaks.replace("X-Next-Cursor", "cursor"))
    first = pager_of(scheme=scheme)
    step = first.next
    for _ in range(stop):
        assert isinstance(step, NextPage)
        _, headers, body = service.answer(dict(parse_qsl(urlsplit(step.url).query)))
        ids = tuple(int(str(row["id"])) for row in json.loads(body))
        step = first.feed(Response(step.url, ids, CaseInsensitiveDict(headers)))

    second = pager_of()
    state = first.state()
    assert state is not None
    second.resume(json.loads(json.dumps(state)), first.received.ids)

    assert walk(service, second).completeness == "complete"
    assert list(second.received.ids) == [row["id"] for row in service.rows]


@pytest.mark.parametrize("speaks", ["offset", "page"])
def test_a_late_short_page_is_no_end(speaks: str) -> None:
    """Page 250 of 300 holds 60 animals only: paging goes on."""
    service = PagingService(pets(30_000), speaks)
    answer = service.answer

    def thinned(query: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        service.cap = 60 if len(service.asked) == 250 and speaks == "offset" else 100
        return answer(query)

    service.answer = thinned  # type: ignore[method-assign]
    pager = pager_of(scheme=schemes.parse(speaks))

    assert (walk(service, pager).completeness, pager.rows) == ("complete", 30_000)


@pytest.mark.case("P7")
@pytest.mark.parametrize("speaks", ["offset", "page", "after"])
def test_a_filtered_first_page_that_is_short_is_asked_about(speaks: str) -> None:
    """
    The filter may work on the page that was cut: 33 of 100 is no end before the way to page is
    known.
    """
    service = PagingService(pets(450), speaks, filtered=True)
    pager = Pager("https://host/v1/pets?limit=100&status=sold", limit=100)

    end = walk(service, pager)

    assert pager.rows == 150 or end.completeness == "unproven"


def test_a_page_size_of_one_is_paged_too() -> None:
    """No animal is asked for again where a page holds but one."""
    pager = pager_of(limit=1, scheme=schemes.parse("offset"), fixed=True)

    assert (walk(PagingService(pets(7), "offset"), pager).completeness, pager.rows) == (
        "complete",
        7,
    )
    assert pager.step == 1


@pytest.mark.case("P10")
@pytest.mark.parametrize("speaks", ["page", "link", "X-Next-Cursor=cursor"])
def test_a_pass_that_goes_on_where_pages_have_moved_says_so(speaks: str) -> None:
    """The last page is read again first: animals deleted meanwhile would hide others."""
    service = PagingService(pets(900), speaks)
    first = pager_of(scheme=schemes.PAGE if speaks == "page" else None)
    step = first.next
    for _ in range(4):
        assert isinstance(step, NextPage)
        _, headers, body = service.answer(dict(parse_qsl(urlsplit(step.url).query)))
        ids = tuple(int(str(row["id"])) for row in json.loads(body))
        step = first.feed(Response(step.url, ids, CaseInsensitiveDict(headers)))
    del service.rows[:50]
    state = first.state()
    assert state is not None
    second = pager_of()
    second.resume(state, first.received.ids)

    assert isinstance(second.next, NextPage)
    _, headers, body = service.answer(dict(parse_qsl(urlsplit(second.next.url).query)))
    second.feed(
        Response(second.next.url, tuple(int(str(r["id"])) for r in json.loads(body)), headers)
    )

    assert second.received.moved


@pytest.mark.case("P1")
def test_a_total_that_the_service_tells_saves_a_request_and_gives_a_cut_away() -> None:
    """As many as it counts is the end; fewer is none, whatever else looks like one."""
    whole = PagingService(pets(200), "offset", total=True)
    assert walk(whole, pager_of(scheme=schemes.parse("offset"))).completeness == "complete"
    one_page = PagingService(pets(100), "nothing", total=True)
    assert (walk(one_page, pager_of()).completeness, len(one_page.asked)) == ("complete", 1)

    end = pager_of().feed(
        Response("https://host/v1/pets?limit=100", tuple(range(37)), {"X-Total-Count": "250"})
    )

    assert isinstance(end, End)
    assert (end.completeness, "counts 250" in end.reason) == ("unproven", True)


@pytest.mark.parametrize(
    ("first", "proved"), [((), "unclear"), (tuple(range(200, 299)), schemes.PAGE)]
)
def test_page_numbers_are_believed_only_where_they_led_to_other_animals(
    first: tuple[int, ...], proved: object
) -> None:
    """
    Page 1 is the page in hand also where a service ignores the parameter and another one confused
    it.
    """
    ids = tuple(range(100))

    second = schemes.Probe(ids).judge(first)

    assert isinstance(second, schemes.Probe)
    assert second.judge(ids[:99]) == proved


@pytest.mark.case("P5")
@pytest.mark.parametrize("speaks", EVERY)
def test_an_answer_that_goes_on_otherwise_proves_nothing(speaks: str) -> None:
    """
    An animal near the end of the page goes while paging is learnt: page and question are sent
    again.
    """
    service = PagingService(pets(450), speaks)
    service.before = lambda number: service.rows.pop(97) and None if number == 2 else None
    pager = pager_of()

    end = walk(service, pager)

    assert (end.completeness, pager.scheme) == ("complete", schemes.parse(speaks))
    assert list(pager.received.ids) == [row["id"] for row in service.rows]


@pytest.mark.case("P1")
def test_a_link_that_does_not_speak_of_pages_is_no_sign_of_paging() -> None:
    """A full page with `describedby` may be cut like any other."""
    link = {"Link": '<https://host/openapi.json>; rel="describedby"'}

    step = pager_of().feed(Response("https://host/v1/pets?limit=100", tuple(range(100)), link))

    assert isinstance(step, NextPage)
    assert step.trial


@pytest.mark.parametrize("told", ["seek", "cursor=", ""])
def test_an_unknown_scheme_is_refused_with_the_known_ones(told: str) -> None:
    """The message lists them."""
    with pytest.raises(SettingsError, match="offset, .*cursor=PARAMETER or none"):
        schemes.parse(told)
