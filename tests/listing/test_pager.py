"""The pager against services in memory: an end is believed when it is proven (§4.1)."""

import re
from itertools import cycle, islice, product
from math import ceil
from random import Random

import pytest
from tables import read_json, soak_parts
from ways import (
    DISTURBANCES,
    ORDINARY,
    STATUSES,
    WAYS,
    DisturbedService,
    Service,
    Way,
    alternatives,
    animals,
    list_animals,
    read_service,
    with_status,
)

from petstore_tools.errors import SettingsError
from petstore_tools.listing import schemes

COUNTS = (0, 1, 2, 5, 8, 40, 64, 65, 99, 100, 101, 250)
MANY = (1_000, 1_001, 1_250)  # where totals are capped
FILTERS = (None, None, "sold", "sold")  # each listing knows what those before proved
SIGNALLED = [way for way in WAYS if way.startswith("link") or "=" in way.split()[0]]
USUAL = [
    way
    for way in WAYS
    if way.split()[0] in (*schemes.SCHEMES, "page0")
    and not re.search("past_end=400|filters=|stride=|numbered=", way)
]
ENDS = read_json(__file__, "ends.json")
# why a service that gives all may not be believed
TOLD_ABOUT = read_json(__file__, "doubts.json")


def truth(count, status):
    return [pet_id for pet_id, _ in with_status(animals(count), status)]


def four_times(way, count, filters=FILTERS, pagination=None):
    """Yield status and outcome: whole, again, filtered, and filtered again."""
    evidence = None
    for status in filters:
        outcome = list_animals(
            way, count, status, evidence=evidence, pagination=pagination
        )
        evidence = outcome.evidence
        yield status, outcome


def third_of(counts, number):
    """Return a third of some sizes, another one for the next number."""
    return counts[number % 3 :: 3]


@pytest.mark.parametrize("part", soak_parts(range(3)))
@pytest.mark.parametrize("way", [*WAYS, *ORDINARY])
def test_what_is_complete_is_whole_and_what_is_not_says_why(way, part):
    """
    Each way to page, at each size, whole and filtered, for the first time and again;
    and what is ordinary (totals that are capped, rounded or late; ends that are a
    status; refused trials) is complete, told or not, unless a wrong total speaks
    against it.
    """
    number = [*WAYS, *ORDINARY].index(way)
    is_ordinary = way in ORDINARY
    scheme = way.split()[0].removesuffix("0")  # page0: named as `page`
    pagination = scheme if is_ordinary and scheme in schemes.SCHEMES else None
    counts = [*COUNTS, *MANY] if is_ordinary else COUNTS
    for count, name in product(third_of(counts, number + part), {None, pagination}):
        for status, outcome in four_times(way, count, pagination=name):
            whole = sorted(outcome.ids) == truth(count, status)
            must_be_complete = is_ordinary and len(outcome.ids) >= 5
            reasons = ["the service counts"] if must_be_complete else TOLD_ABOUT

            assert whole or not outcome.complete, (count, status, outcome.end)
            assert len(set(outcome.ids)) == len(outcome.ids)
            if whole and not outcome.complete:
                assert any(reason in outcome.end.reason for reason in reasons), (
                    outcome.end
                )
            if count == 0 and status is None:
                assert outcome.complete
                assert outcome.requests <= 4


COSTS = {  # requests more than pages, of four listings
    "signs": (SIGNALLED, (*COUNTS[2:], 13), FILTERS, (1, 0, 0, 0)),
    "signs, filtered first": (SIGNALLED, (*COUNTS[2:], 13), FILTERS[::-1], (1,) * 4),
    "usual parameters": (USUAL, (64, 101, 250), FILTERS, (12, 7, 12, 7)),
}


@pytest.mark.parametrize("part", soak_parts(range(3)))
@pytest.mark.parametrize("case", COSTS)
def test_a_way_to_page_is_found_and_remembered_at_a_bounded_cost(case, part):
    """
    A service that names its pages raises no false alarm: it costs at most one request
    more the first time, and none the second, in any order, but for one page whose
    answer has no header that names any, and for an empty first page, which is asked for
    twice. A usual parameter costs at most 12 more the first time and 7 the second, and
    5 more once for a filter.
    """
    ways, counts, filters, bounds = COSTS[case]
    pairs = [
        (way, count)
        for number, way in enumerate(ways)
        for count in third_of(counts, number + part)
    ]
    for way, count in pairs:
        rules = Way.read(way)
        has_bound = ways is USUAL or (rules.filters == "first" and not rules.total)
        # under a filter, the total of all animals is a larger one
        played = [None] * 4 if rules.total == "all" else filters
        outcomes = four_times(way, count, played)
        for bound, (_, outcome) in zip(bounds, outcomes, strict=True):
            pages = ceil(len(outcome.ids) / (rules.size or rules.cap))

            assert outcome.complete, (way, count, outcome.end)
            if pages < 2 and not rules.everywhere:
                bound = max(bound, 1)
            bound += not outcome.ids
            if has_bound:
                assert outcome.requests - max(1, pages) <= bound, (way, count, bound)


FORECAST = (
    "link|X-Next-Cursor=cursor|offset|skip|page|page0|after|starting_after"
    " past_end=empty|past_end=404"
)


@pytest.mark.parametrize("way", alternatives(FORECAST))
def test_a_forecast_counts_the_requests_of_an_end(way):
    """Of a way that is known: no fewer than a listing takes, and at most three more."""
    evidence = list_animals(way).evidence
    for count in (0, 5, 99, 100, 101, 250, 1_000):
        outcome = list_animals(way, count, evidence=evidence)
        forecast = evidence.count_requests(count)

        assert outcome.requests <= forecast <= outcome.requests + 3, (way, count)


def play(way, story):
    """Read a service as a story of `ends.json` tells."""
    rows = animals(story.get("animals", 0))
    for first, last in story.get("id_spans", []):
        rows += animals(last - first + 1, first=first, step=1)
    for statuses, count in story.get("runs", []):
        turns = islice(cycle(statuses.split()), count)
        rows += enumerate(turns, start=len(rows))
    before = story.get("before")
    evidence = play(before["way"], before).evidence if before else None
    options = {name: story[name] for name in ("pagination", "limit") if name in story}
    requests, index = story.get("removes", (-1, 0))

    def change(service):
        if requests in (len(service.queries), "each"):
            del service.rows[index]
        if len(service.queries) in story.get("head_grows", []):
            service.rows.insert(0, (service.rows[0][0] - 1, "sold"))

    service = Service(Way.read(way), rows, change)
    return read_service(service, story.get("status"), evidence=evidence, **options)


@pytest.mark.parametrize("story", ENDS, ids=str)
def test_how_a_listing_ends(story):
    """
    What a total decides, what may hide an animal, a way that is told, and what is no
    end. A parameter called `after` or `page` that counts rows is told by the first gap
    of the ids, or by its first page; as long as ids are numbers of rows, nothing tells.
    An animal that comes at the head makes a trial land elsewhere, or comes twice: it is
    kept once.
    """
    for way in alternatives(story["way"]):
        outcome = play(way, story)

        assert outcome.end.completeness == story["end"], outcome.end
        assert story.get("reason", "") in outcome.end.reason
        assert outcome.requests <= story.get("requests", outcome.requests)
        assert len(set(outcome.ids)) == len(outcome.ids)
        if "ids" in story:
            assert len(outcome.ids) == story["ids"]
        if "may_have_hole" in story:
            assert outcome.may_have_hole == story["may_have_hole"]


class Changing:
    """Animals that come, go or change before each answer, as chance has it."""

    def __init__(self, kind, seed):
        self.kind = kind
        self.rng = Random(f"{seed} {kind}")
        self.start = animals(self.rng.choice((2, 5, 64, 101, 130)))
        self.touched = set()

    def __call__(self, service):
        """Change the animals of a service, for its first answers."""
        rows = service.rows
        if self.rng.random() < 0.5 or len(service.queries) > 60:
            return
        status = self.rng.choice(STATUSES)
        if self.kind == "added":
            rows.append((rows[-1][0] + 1, status))
        elif self.kind == "added at the head":
            rows.insert(0, (rows[0][0] - 1, status))
        elif len(rows) > 1:
            position = self.rng.randrange(len(rows))
            pet_id, _ = rows[position]
            self.touched.add(pet_id)
            rows[position : position + 1] = (
                [(pet_id, status)] if self.kind == "edited" else []
            )


@pytest.mark.parametrize("kind", ["added", "added at the head", "removed", "edited"])
def test_what_is_complete_while_animals_change_lacks_none_that_stood(kind):
    """Else it may have a hole and says so."""
    for way in WAYS:
        changing = Changing(kind, way)
        evidence = None
        for status in (None, None, "sold"):
            changing.touched.clear()
            service = Service(Way.read(way), list(changing.start), changing)
            outcome = read_service(service, status, evidence=evidence)
            evidence = outcome.evidence
            stood = {pet_id for pet_id, _ in with_status(changing.start, status)}

            if outcome.complete and not outcome.may_have_hole:
                assert stood - changing.touched <= set(outcome.ids), (way, status)


LOOKED_UP = alternatives(
    "after|starting_after|link|X-Next-Cursor=cursor cap=7|cap=100 by_id=yes"
    " looks_up=yes"
)
HIDING = alternatives("offset|page|page0 cap=33 hides=33-66")  # a whole page
LATE = "link everywhere=no filters=late"
DISTURBED = [way for way in [*WAYS, *ORDINARY] if "cap=1 " not in f"{way} "]
DISTURBED_PARTS = [[*HIDING, *LOOKED_UP, LATE], *(DISTURBED[n::16] for n in range(16))]


@pytest.mark.parametrize("ways", soak_parts(DISTURBED_PARTS))
@pytest.mark.parametrize("kind", DISTURBANCES)
def test_what_happens_once_ends_no_listing_as_complete_that_is_not(kind, ways):
    """
    A wrong answer, or an animal that comes or goes, at each request of a listing: none
    is complete that lacks an animal that came when nothing happened. One animal may be
    hidden if the listing says that it may have a hole.
    """
    for way, count, status in product(ways, (5, 101), (None, "sold")):
        first = list_animals(way, count, status)
        for evidence in (None, first.evidence):
            number = 0
            has_happened = first.complete
            while has_happened:
                service = DisturbedService(Way.read(way), animals(count), kind=kind)
                service.number = number
                outcome = read_service(service, status, evidence=evidence)
                has_happened = service.happened
                number += 1
                hidden = {*first.ids} - service.touched - {*outcome.ids}
                is_one = outcome.may_have_hole and len(hidden) == 1
                # what a service hides moves when an animal comes or goes
                is_told = service.touched and (is_one or way in HIDING)

                assert not (hidden and outcome.complete) or is_told, (way, service)


RULES = "strict=400|strict=500|cap=64|order=descending|past_end=404|past_end=repeat"
NAMED_WAYS = {  # how services page, and how a person says so
    f"offset {RULES} parameter=startAt": "offset=startAt",
    f"skip {RULES} parameter=start_index": "skip=start_index",
    f"page|page0 {RULES} parameter=p": "page=p",
    f"page|page0 {RULES} parameter=page[number]": "page=page[number]",
    f"page0 {RULES} parameter=pageNo": "page=pageNo",
    f"after {RULES} parameter=since_id": "after=since_id",
    f"starting_after {RULES} parameter=from": "starting_after=from",
    "X-Next=token everywhere=yes|everywhere=no|by_id=yes|cap=64": "cursor=X-Next:token",
    "X-Next-Cursor=token everywhere=yes|cap=64|strict=400": "cursor=token",
}


@pytest.mark.parametrize(
    ("way", "pagination"),
    [(way, name) for line, name in NAMED_WAYS.items() for way in alternatives(line)],
)
def test_a_way_that_is_named_with_its_parameter_is_complete(way, pagination):
    """
    At each size, filtered or not; without the name it is never complete while rows are
    missing.
    """
    for count, name in product(COUNTS, (pagination, None)):
        for status, outcome in four_times(way, count, pagination=name):
            is_whole = sorted(outcome.ids) == truth(count, status)

            # a filter without an animal proves nothing: a limit that is stated
            if name is not None and (status is None or outcome.ids):
                assert outcome.complete, (count, status, outcome.end)
            assert is_whole or not outcome.complete, (count, status, outcome.end)


@pytest.mark.parametrize(
    "pagination", ["seek", "seek=p", "cursor=", "cursor=X:", "page=a b", "none", ""]
)
def test_an_unknown_scheme_is_refused_with_the_known_ones(pagination):
    """The message lists them."""
    with pytest.raises(SettingsError, match="offset, .* or cursor=HEADER:PARAMETER, n"):
        schemes.parse(pagination)


class Counted(int):
    """An id that counts how often one is looked up."""

    lookups = 0

    def __hash__(self):
        Counted.lookups += 1
        return super().__hash__()


def test_a_page_is_not_compared_with_each_animal_before_it():
    """Twice as many pages look up about twice as many animals."""
    lookups = []
    for count in (2_000, 4_000):
        rows = [(Counted(pet_id), status) for pet_id, status in animals(count)]
        Counted.lookups = 0
        read_service(Service(Way("link"), rows))
        lookups.append(Counted.lookups)

    assert lookups[1] < 3 * lookups[0]
