"""The pager against services in memory: an end is believed when it is proven (§4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from math import ceil
from random import Random

import pytest
from ways import ORDINARY, STATUSES, WAYS, Animal, Outcome, Service, Way, animals, listed

from petstore_tools.errors import SettingsError
from petstore_tools.listing import schemes
from petstore_tools.listing.links import NextPage, Response
from petstore_tools.listing.pager import EMPTY_PAGES, Pager, Proven

COUNTS = (0, 1, 2, 5, 8, 40, 64, 65, 100, 101, 250)
FILTERS = (None, None, "sold", "sold")  # each listing knows what those before proved
SIGNALLED = [name for name, way in WAYS.items() if way.speaks == "link" or "=" in way.speaks]
USUAL = [name for name, way in WAYS.items() if way.speaks in schemes.SCHEMES]
TOLD_ABOUT = {  # why a service that gives all may not be believed
    "it may cut before it filters": "the filtered page may be what is left of a whole one",
    "no animal came, so": "a filter without an animal proves nothing",
    "do not lead to a next page": "it shows no way to page",
    "it refuses the next page": "a refusal is no empty page",
    "a page begins at another animal": "pages that were filtered behind the cut hold no place",
    "the service says that more follow": "it says so and names no way",
    "it names a next page": "no usual parameter takes the token",
}


def truth(rows: list[Animal], status: str | None) -> list[int]:
    return [pet_id for pet_id, value in rows if status in (None, value)]


def four_times(way: Way, count: int, filters: Sequence[str | None] = FILTERS) -> list[Outcome]:
    """List a service whole, again, filtered, and filtered again."""
    outcomes: list[Outcome] = []
    for status in filters:
        proven = outcomes[-1].proven if outcomes else None
        outcomes.append(listed(Service(way, animals(count)), status, proven=proven))
    return outcomes


@pytest.mark.case("P1", "P2", "P4", "P7", "P84")
@pytest.mark.parametrize("name", [name for name in WAYS if name != "nothing, at most 1"])
def test_what_is_complete_is_whole_and_what_is_not_says_why(name: str) -> None:
    """Each way to page, at each size, whole and filtered, for the first time and again."""
    for count in COUNTS:
        for status, outcome in zip(FILTERS, four_times(WAYS[name], count), strict=True):
            whole = sorted(outcome.ids) == truth(animals(count), status)

            assert whole or not outcome.complete, (count, status, outcome.end)
            assert len(set(outcome.ids)) == len(outcome.ids)
            if whole and not outcome.complete:
                assert any(why in outcome.end.reason for why in TOLD_ABOUT), outcome.end


@pytest.mark.case("P93")
@pytest.mark.parametrize("way", ORDINARY)
def test_no_total_and_no_link_that_names_no_next_page_hides_animals(way: Way) -> None:
    """Totals that are capped, rounded or late; ends that are a status; refused trials; told or not."""
    told = schemes.SCHEMES.get(way.speaks)
    may_be_unproven = way.speaks == "nothing" or way.behind == "400"
    for count, scheme in product((0, 1, 5, 99, 100, 101, 250, 1_000, 1_001, 1_250), (None, told)):
        proven = None
        for status, least in ((None, 2), ("sold", 99)):
            service = Service(way, animals(count))
            outcome = listed(service, status, proven=proven, told=scheme)
            proven = outcome.proven
            whole = sorted(outcome.ids) == truth(animals(count), status)

            assert whole or not outcome.complete, (count, status, outcome.end)
            if whole and count >= least and not may_be_unproven:
                assert outcome.complete or "the service counts" in outcome.end.reason


@pytest.mark.parametrize(
    ("count", "total", "expected"),
    [
        (5, "listing", 1),
        (100, "listing", 1),
        (250, "listing", 1),
        (250, "", 0),
        (1_000, "listing", 0),
    ],
)
def test_the_total_decides_where_the_page_behind_the_last_is_refused(
    count: int, total: str, expected: int
) -> None:
    """Told or not; else the listing is unproven, as it is where the total may be a cap."""
    for told in (None, schemes.PAGE):
        service = Service(Way("page", total=total, behind="400"), animals(count))

        assert listed(service, told=told).complete == expected


@pytest.mark.case("P93")
@pytest.mark.parametrize("status", [400, 403, 404, 416, 422, 500, 503])
def test_a_service_that_refuses_each_trial_says_what_can_be_passed(status: int) -> None:
    """No error, and no animal too few."""
    outcome = listed(Service(Way("nothing", strict=status), animals(100)))

    assert outcome.end.completeness == "unproven"
    assert "pagination=" in outcome.end.reason


@pytest.mark.case("P7")
def test_a_filtered_answer_that_is_not_full_does_not_prove_that_the_filter_comes_first() -> None:
    """It looks at twice as many animals as a page holds, so it holds others than the whole page."""
    sold = {*range(0, 200, 3), *range(400, 500)}
    rows = [(n, "sold" if n in sold else "pending") for n in range(500)]

    assert not listed(Service(Way("page", filters="scan"), rows), "sold").complete


@pytest.mark.case("P85")
@pytest.mark.parametrize("name", SIGNALLED)
def test_a_service_that_names_its_pages_raises_no_false_alarm(name: str) -> None:
    """At most one request more the first time, and none the second; filtered or not, in any order."""
    way = WAYS[name]
    for count, filters in product((*COUNTS[2:], 13, 99), (FILTERS, FILTERS[::-1])):
        for turn, outcome in enumerate(four_times(way, count, filters)):
            rows = len(truth(animals(count), filters[turn]))
            more = outcome.requests - max(1, ceil(rows / way.cap))

            assert outcome.complete, (count, outcome.end)
            if way.filters == "first" and way.total != "all":
                assert more <= (1 if turn == 0 or filters is not FILTERS else 0), (count, turn)


@pytest.mark.parametrize("name", USUAL)
def test_a_usual_parameter_is_found_and_remembered_at_a_bounded_cost(name: str) -> None:
    """At most 8 requests more the first time and 3 the second, and 5 more once for a filter."""
    way = WAYS[name]
    if way.behind == "400" or way.filters != "first":
        return
    for count in (64, 101, 250):
        for turn, outcome in enumerate(four_times(way, count)):
            rows = len(truth(animals(count), FILTERS[turn]))
            page = way.size or way.cap
            more = outcome.requests - max(1, ceil(rows / page))

            assert outcome.complete, (count, outcome.end)
            assert more <= (8, 3, 8, 3)[turn], (count, turn)


@pytest.mark.case("P7")
@pytest.mark.parametrize("speaks", ["page", "page0", "after", "offset", "nothing"])
@pytest.mark.parametrize("empty", [0, 1])
def test_an_empty_page_under_a_filter_is_no_end_where_the_filter_comes_late(
    speaks: str, empty: int
) -> None:
    """Of 300 animals one hundred has none that is sold, so that its page is empty."""
    rows = [(n, "pending" if n // 100 == empty else "sold") for n in range(300)]

    assert not listed(Service(Way(speaks, filters="late"), rows), "sold").complete


@pytest.mark.parametrize("name", WAYS)
def test_an_empty_inventory_takes_one_request(name: str) -> None:
    """An empty first answer without a filter is complete."""
    outcome = listed(Service(WAYS[name], []), None)

    assert (outcome.complete, outcome.requests) == (True, 1)


class Changing:
    """Animals that come, go or change before each answer, as chance has it."""

    def __init__(self, kind: str, seed: str) -> None:
        self.kind = kind
        self.rng = Random(f"{seed} {kind}")
        self.start = animals(self.rng.choice((2, 5, 64, 101, 130)))
        self.touched: set[int] = set()
        self._low = self.start[0][0]
        self._high = self.start[-1][0]

    def __call__(self, service: Service) -> None:
        """Change the animals of a service, for its first answers."""
        if self.rng.random() < 0.5 or len(service.asked) > 60:
            return
        status = self.rng.choice(STATUSES)
        if self.kind == "added":
            self._high += 1
            service.rows.append((self._high, status))
        elif self.kind == "added at the head":
            self._low -= 1
            service.rows.append((self._low, status))
        elif len(service.rows) > 1:
            pet_id, _ = service.rows.pop(self.rng.randrange(len(service.rows)))
            self.touched.add(pet_id)
            if self.kind == "edited":
                service.rows.append((pet_id, status))


@pytest.mark.case("P5", "P77")
@pytest.mark.parametrize("kind", ["added", "added at the head", "removed", "edited"])
def test_what_is_complete_while_animals_change_lacks_none_that_stood(kind: str) -> None:
    """Else it may have a hole and says so."""
    for name, way in WAYS.items():
        changing = Changing(kind, name)
        proven = None
        for status in (None, None, "sold"):
            changing.touched.clear()
            service = Service(way, list(changing.start), changing)
            outcome = listed(service, status, proven=proven)
            proven = outcome.proven
            stood = set(truth(changing.start, status)) - changing.touched

            if name != "nothing, at most 1" and outcome.complete and not outcome.may_have_hole:
                assert stood <= set(outcome.ids), (name, status)


@pytest.mark.case("P77")
def test_which_ways_may_hide_an_animal_that_another_one_left_behind() -> None:
    """Not those that go on from an id, or repeat the last animal; else a listing says so."""
    may_hide = {
        "after, at most 100": False,
        "offset, at most 100": False,
        "page, at most 100": True,
        "link": True,
        "link, by id": False,
        "X-Next-Cursor=cursor": True,
    }
    for name, expected in may_hide.items():
        assert listed(Service(WAYS[name], animals(250))).may_have_hole is expected, name
        assert listed(Service(WAYS["link"], animals(100))).may_have_hole is False


@pytest.mark.case("P5")
def test_a_head_that_moves_while_the_way_is_learnt_is_learnt_again() -> None:
    """An animal comes at the head before the second and the third request: all rows, and one way."""

    def change(service: Service) -> None:
        if len(service.asked) in (1, 2):
            service.rows.append((4 - len(service.asked), "sold"))

    for name in ("offset, at most 100", "after, at most 100"):
        way = WAYS[name]
        outcome = listed(Service(way, animals(250), change))

        assert set(truth(animals(250), None)) <= set(outcome.ids)
        assert outcome.proven.scheme == schemes.parse(way.speaks)


@pytest.mark.parametrize("told", ["offset", "page", "after"])
def test_a_scheme_that_is_told_is_used_without_a_question(told: str) -> None:
    """And one that the service does not speak is named, with what can be passed."""
    scheme = schemes.parse(told)
    spoken = listed(Service(Way(told), animals(250)), told=scheme)
    other = listed(Service(Way("nothing"), animals(250)), told=scheme)

    assert spoken.complete
    assert spoken.requests <= 6
    assert f"it does not page by '{told}'" in other.end.reason
    assert "pagination=" in other.end.reason


@pytest.mark.case("P1")
def test_a_total_is_believed_only_where_it_counts_more_than_a_page() -> None:
    """Several pages, or an answer of one animal, show which of both it counts."""
    believed = listed(Service(Way("nothing", total="listing"), animals(64)))
    again = listed(Service(Way("nothing", total="listing"), animals(64)), proven=believed.proven)
    page = listed(Service(Way("nothing", cap=64, total="page"), animals(250)))

    assert (believed.complete, believed.requests) == (True, 2)
    assert (again.complete, again.requests) == (True, 1)
    assert not page.complete


@pytest.mark.case("P93")
def test_a_total_beside_one_page_is_believed_only_where_it_may_not_count_that_page() -> None:
    """Round, as large as the page that was asked for, or beside a way: the ways come first."""
    rounded = Way("page", cap=50, total="listing", estimate=partial(round, ndigits=-1))
    behind = Way("page", cap=64, total="listing", estimate=(-1).__add__)
    exact = Way("nothing", total="listing")
    whole = listed(Service(exact, animals(64))).proven
    late = Way("nothing", cap=64, total="page", filters="late")
    filtered = listed(Service(late, animals(250)), "sold").proven

    assert len(listed(Service(rounded, animals(54))).ids) == 54
    assert len(listed(Service(behind, animals(34)), limit=33).ids) == 34
    assert len(listed(Service(behind, animals(65)), told=schemes.PAGE, proven=whole).ids) == 65
    assert listed(Service(exact, animals(50))).complete
    assert listed(Service(exact, animals(1)), "sold", proven=whole).complete
    assert not listed(Service(late, animals(250)), proven=filtered).complete


def test_a_way_that_is_told_is_tried_again_after_a_5xx() -> None:
    """No other way follows it."""
    for told, once in ((None, True), (schemes.PAGE, False)):
        pager = Pager("https://host/v1/pets?limit=100", told=told, proven=Proven(schemes.PAGE))
        step = pager.feed(Response("", tuple(range(100))))

        assert isinstance(step, NextPage)
        assert step.once is once


def test_a_service_that_says_that_more_follow_is_never_complete() -> None:
    """`X-Has-More: true`, and no way named."""
    outcome = listed(Service(Way("nothing", cap=64, has_more=True), animals(250)))

    assert outcome.end.completeness == "unproven"


@pytest.mark.case("P3")
@pytest.mark.parametrize(("empty", "found"), [(EMPTY_PAGES - 1, 5), (EMPTY_PAGES, 0)])
def test_empty_pages_that_name_a_next_one_are_read_on_and_bounded(empty: int, found: int) -> None:
    """Then all rows, or a listing that is cut."""

    class Hollow(Service):
        def answer(self, query: dict[str, str]) -> tuple[int, dict[str, str], list[Animal]]:
            at = int(query.get("cursor", 0))
            if at < empty:
                return 200, {"Link": f'<?cursor={at + 1}>; rel="next"'}, []
            return 200, {"Link": '<?limit=1>; rel="first"'}, self.rows

    outcome = listed(Hollow(Way(), animals(5)))

    assert len(outcome.ids) == found
    assert outcome.end.completeness == ("complete" if found else "cut")


def test_a_known_way_that_brings_nothing_any_more_is_no_end() -> None:
    """The animal that was asked for again does not come."""

    class Mute(Service):
        def answer(self, query: dict[str, str]) -> tuple[int, dict[str, str], list[Animal]]:
            return (200, {}, []) if "after" in query else super().answer(query)

    proven = Proven(scheme=schemes.SCHEMES["after"])

    outcome = listed(Mute(Way("nothing"), animals(250)), proven=proven)

    assert outcome.end.completeness == "unproven"


@pytest.mark.parametrize("told", ["seek", "cursor=", "none", ""])
def test_an_unknown_scheme_is_refused_with_the_known_ones(told: str) -> None:
    """The message lists them."""
    with pytest.raises(SettingsError, match="offset, .* or cursor=PARAMETER, not"):
        schemes.parse(told)
