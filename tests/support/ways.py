"""Services in memory that page in any of the usual ways, and in some unusual ones."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from random import Random
from urllib.parse import parse_qsl, urlencode, urlsplit

from pydantic.dataclasses import dataclass as parsed_dataclass
from requests.structures import CaseInsensitiveDict

from petstore_tools.listing.completeness import End
from petstore_tools.listing.evidence import Evidence, NextPage, PageReply
from petstore_tools.listing.pager import Pager
from petstore_tools.listing.schemes import SCHEMES, Scheme, parse

Animal = tuple[int, str]
STATUSES = ("available", "pending", "sold")


def animals(count, *, first=7, step=3):
    """Animals with ascending ids."""
    return [(first + n * step, STATUSES[n % 3]) for n in range(count)]


ESTIMATES = {
    "": int,
    "at_most_100": partial(min, 100),
    "at_most_500": partial(min, 500),
    "at_most_1000": partial(min, 1_000),
    "rounded": partial(round, ndigits=-1),
    "late": (-1).__add__,
    "early": (1).__add__,
}


def with_status(rows, status):
    """Return the animals with a status, all for None."""
    return rows if status is None else [row for row in rows if row[1] == status]


@parsed_dataclass(frozen=True)
class Way:
    """
    How a service pages.

    Args:
        speaks: Name of a scheme, `link`, `HEADER=PARAMETER`, or `nothing`.
        cap: Longest page.
        size: Page size whatever is asked; None: as asked.
        numbers_asked: The numbers of pages count the limit as asked, not as cut.
        everywhere: A sign stands on the last page, too, and says that no page follows.
        by_id: The token of the next page is the last id, else the rows before it.
        strict: Status that answers unknown parameters, 0 for none.
        unfiltered: It has signs only where no status is asked for.
        depth: Rows that its signs lead to, 0 for all.
        total: What `X-Total-Count` counts: `listing`, the same on the `first` answer
            alone, `page`, `all`; "" for none.
        estimate: What a total makes of the number, a name of `ESTIMATES`.
        past_end: What comes behind the last page: `empty`, `repeat`, or a status.
        order: Of the animals: as they are `kept`, `descending` or `shuffled`.
        filters: When the status is looked at: `first`, `late` (behind the cut), `scan`
            (of twice as many animals as a page holds, behind the cut) or `never`.
        relation: Of a link that stands on each answer and names no next page.
        host: Where links lead to; "" for a relative target.
        parameter: Of the scheme, where it is not its usual one.
        whole: What becomes of an offset that is no multiple of the limit: `refused`
            (400), `rounded` down, "" for nothing.
        hides: Rows that are hidden behind the cut, such as `100-200`; "" for none.
        stride: Rows that a page number stands for, whatever a page has; 0 for its size.
        numbered: Rows of a page that is asked for by its number; 0 for those of others.
        looks_up: The animal behind an id is looked up: without it the page is empty.
    """

    speaks: str = "link"
    cap: int = 100
    size: int | None = None
    numbers_asked: bool = False
    everywhere: bool = True
    by_id: bool = False
    strict: int = 0
    unfiltered: bool = False
    depth: int = 0
    total: str = ""
    estimate: str = ""
    past_end: str = "empty"
    order: str = "kept"
    filters: str = "first"
    relation: str = ""
    host: str = ""
    parameter: str = ""
    whole: str = ""
    hides: str = ""
    stride: int = 0
    numbered: int = 0
    looks_up: bool = False

    @classmethod
    def read(cls, line):
        """Read a way such as `offset cap=64 total=listing`."""
        speaks, *rules = line.split()
        return cls(speaks, **dict(rule.split("=", 1) for rule in rules))

    @cached_property
    def scheme(self):
        """How the next page is named."""
        parameter = "cursor" if self.speaks == "link" else self.speaks.partition("=")[2]
        usual = {**SCHEMES, "page0": Scheme("page", "pages")}
        scheme = usual.get(
            self.speaks, Scheme(parameter, "id" if self.by_id else "rows")
        )
        return replace(scheme, parameter=self.parameter or scheme.parameter)


@dataclass
class Service:
    """A service with animals that may change between its answers."""

    way: Way
    rows: list[Animal]
    change: Callable = lambda service: None
    queries: list[dict[str, str]] = field(default_factory=list)

    def listed(self, status):
        """Return the animals in the order of a listing."""
        rows = self.rows
        if self.way.order == "descending":
            rows = rows[::-1]
        if self.way.order == "shuffled":
            rows = sorted(rows, key=lambda animal: Random(animal[0]).random())
        return with_status(rows, status) if self.way.filters == "first" else rows

    def answer(self, query):
        """Return status, headers and animals."""
        way = self.way
        status = query.get("status")
        if way.strict and not set(query) <= {"limit", "status", way.scheme.parameter}:
            return way.strict, {}, []
        limit = int(query.get("limit", 20))
        size = way.size or min(limit, way.cap)
        if way.numbered and way.scheme.parameter in query:
            size = way.numbered
        rows = self.listed(status)
        page_size = limit if way.numbers_asked else size
        start = self._start(rows, query.get(way.scheme.parameter), page_size)
        if way.whole == "refused" and start % limit:
            return 400, {}, []
        start -= start % limit if way.whole else 0
        if way.past_end == "repeat" and rows and start >= len(rows):
            start = (len(rows) - 1) // size * size
        if (
            way.past_end.isdecimal()
            and start >= len(rows)
            and (start or way.past_end == "204")
        ):
            return int(way.past_end), {}, []
        if status is not None and way.filters == "scan":
            start, size = 2 * start, 2 * size
        page = rows[start : start + size]
        headers = self._signs(query, page, start + size, len(rows))
        counted = {"listing": len(rows), "page": len(page), "all": len(self.rows)}
        counted["first"] = len(rows)
        if way.total and not (way.total == "first" and start):
            headers["X-Total-Count"] = str(ESTIMATES[way.estimate](counted[way.total]))
        if way.hides:
            first, last = map(int, way.hides.split("-"))
            hidden = rows[first:last]
            page = [row for row in page if row not in hidden]
        if way.filters in ("late", "scan"):
            page = with_status(page, status)
        return 200, headers, page

    def _start(self, rows, value, size):
        scheme = self.way.scheme
        if value is None:
            return 0
        number = int(value)
        ids = [pet_id for pet_id, _ in rows]
        if self.way.looks_up and number not in ids:
            return len(rows)
        if scheme.counts == "id":
            sign = -1 if self.way.order == "descending" else 1
            return len([pet_id for pet_id in ids if sign * pet_id <= sign * number])
        if scheme.counts == "pages":
            return max(0, (number - scheme.base) * (self.way.stride or size))
        return number

    def _signs(self, query, page, stop, count):
        way = self.way
        if way.unfiltered and "status" in query:
            return {}
        more = stop < min(count, way.depth or count)
        header, _, parameter = way.speaks.partition("=")
        headers = {}
        token = str(page[-1][0] if way.by_id and page else stop)
        if header == "link" and more:
            onward = urlencode({**query, way.scheme.parameter: token})
            headers["Link"] = f'< {way.host}/v1/pets?{onward} >; rel="next"'
        elif way.relation or (header == "link" and way.everywhere):
            headers["Link"] = f'</v1/pets?limit=1>; rel="{way.relation or "first"}"'
        if parameter and (more or way.everywhere):
            headers[header] = token if more else ""
        return headers


WRONG_ANSWERS = {"404": 404, "500": 500, "empty 200": 200, "empty 204": 204}
DISTURBANCES = [
    *WRONG_ANSWERS,
    "repeat",
    "removed",
    "last removed",
    "added",
    "inserted",
]


@dataclass
class DisturbedService(Service):
    """
    A service that something happens to, once.

    Args:
        kind: One of `DISTURBANCES`: a wrong answer, also the last one again; the middle
            animal, or the last one of the last page, is removed; an animal is added at
            the end, or inserted at the head.
        number: Of the request, from 0.
    """

    kind: str = ""
    number: int = 0
    touched: set[int] = field(default_factory=set)
    happened: bool = False
    last_answer: tuple = (200, {}, [])

    def answer(self, query):
        """Return status, headers and animals."""
        if len(self.queries) - 1 == self.number:
            self.happened = True
            if self.kind in WRONG_ANSWERS:
                return WRONG_ANSWERS[self.kind], {}, []
            if self.kind == "repeat":
                return self.last_answer
            self._disturb()
        self.last_answer = super().answer(query)
        return self.last_answer

    def _disturb(self):
        position = len(self.rows) // 2
        if self.kind == "last removed" and self.last_answer[2]:
            position = self.rows.index(self.last_answer[2][-1])
        if "removed" in self.kind:
            pet_id, _ = self.rows.pop(position)
        elif self.kind == "added":
            pet_id = self.rows[-1][0] + 1
            self.rows.append((pet_id, "sold"))
        else:
            pet_id = self.rows[0][0] - 1
            self.rows.insert(0, (pet_id, "sold"))
        self.touched.add(pet_id)


@dataclass(frozen=True)
class Outcome:
    """What came of a listing."""

    end: End
    ids: list[int]
    requests: int
    evidence: Evidence
    may_have_hole: bool

    @property
    def complete(self):
        """Whether it is called complete."""
        return self.end.completeness == "complete"


def read_service(service, status=None, *, limit=100, pagination=None, **options):
    """Let a pager read a service to its end."""
    first_query = {"limit": str(limit)} | ({} if status is None else {"status": status})
    url = f"https://host/v1/pets?{urlencode(first_query)}"
    pager = Pager(url, pagination=parse(pagination), **options)
    ids = []
    instruction = pager.next
    while isinstance(instruction, NextPage):
        sent_query = dict(parse_qsl(urlsplit(instruction.url).query))
        service.change(service)
        service.queries.append(sent_query)
        assert len(service.queries) < 5_000, "the listing does not end"
        status_code, headers, rows = service.answer(sent_query)
        if instruction.is_refused(status_code):
            instruction = pager.feed(None)
            continue
        if status_code not in (200, 204) and not instruction.is_end(status_code):
            assert isinstance(service, DisturbedService), "only a trial may be refused"
            # after a 5xx the client asks again, up to five times
            if status_code < 500 or service.queries[-5:] == [sent_query] * 5:
                instruction = End("cut", f"the service answered {status_code}")
            continue
        statuses = dict(rows)
        is_unfiltered = status is not None and any(value != status for _, value in rows)
        instruction = pager.feed(
            PageReply(
                instruction.url,
                tuple(statuses),
                CaseInsensitiveDict(headers),
                is_unfiltered,
                instruction.is_end(status_code),
            )
        )
        ids += [
            pet_id
            for pet_id in pager.record.new_ids
            if status in (None, statuses[pet_id])
        ]
    state = pager.record
    return Outcome(
        instruction,
        ids,
        len(service.queries),
        state.evidence,
        state.may_have_hole,
    )


def list_animals(way, count=250, status=None, **options):
    """Read a service of so many animals to its end."""
    return read_service(Service(Way.read(way), animals(count)), status, **options)


def alternatives(line):
    """Spell out a line: `offset|page cap=1|cap=7` is four ways."""
    choices = [word.split("|") for word in line.split()]
    return [" ".join(words) for words in product(*choices)]


def _read_ways(name):
    lines = Path(__file__).with_name(name).read_text("utf-8").splitlines()
    return [way for line in lines for way in alternatives(line)]


WAYS = _read_ways("ways.txt")
ORDINARY = _read_ways("ordinary_ways.txt")
