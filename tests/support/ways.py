"""Services in memory that page in any of the usual ways, and in some unusual ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from requests.structures import CaseInsensitiveDict

from petstore_tools.listing.links import End, NextPage, Response
from petstore_tools.listing.pager import Pager, Proven
from petstore_tools.listing.schemes import SCHEMES, Scheme

Animal = tuple[int, str]
STATUSES = ("available", "pending", "sold")


def animals(count: int, *, first: int = 7, step: int = 3) -> list[Animal]:
    """Animals with ascending ids."""
    return [(first + n * step, STATUSES[n % 3]) for n in range(count)]


@dataclass(frozen=True)
class Way:
    """
    How a service pages.

    Args:
        speaks: Name of a scheme, `link`, `HEADER=PARAMETER`, or `nothing`.
        cap: Longest page.
        size: Page size whatever is asked; None: as asked.
        everywhere: A sign stands on the last page, too, and says that no page follows.
        by_id: The token of the next page is the last id, else the rows before it.
        strict: Status that answers unknown parameters, 0 for none.
        total: What `X-Total-Count` counts: `listing`, `page`, `all`; "" for none.
        total_header: In which header.
        estimate: What a total makes of the number: it may be capped, or rounded.
        behind: What comes behind the last page: `empty`, `repeat`, or a status.
        order: Of the animals: `ascending`, `descending`, `shuffled`, or as they are `kept`.
        filters: When the status is looked at: `first`, `late` (behind the cut), `scan` (of twice as
            many animals as a page holds, behind the cut) or `never`.
        has_more: Says `X-Has-More`.
        depth: So many animals at most, however they are asked for; None for no such cap.
        relations: Of links that stand on each answer and name no next page.
        host: Where links lead to; "" for a relative target.
    """

    speaks: str = "link"
    cap: int = 100
    size: int | None = None
    everywhere: bool = True
    by_id: bool = False
    strict: int = 0
    total: str = ""
    total_header: str = "X-Total-Count"
    estimate: Callable[[int], int] = int
    behind: str = "empty"
    order: str = "ascending"
    filters: str = "first"
    has_more: bool = False
    depth: int | None = None
    relations: str = ""
    host: str = ""


@dataclass
class Service:
    """A service with animals that may change between its answers."""

    way: Way
    rows: list[Animal]
    change: Callable[[Service], None] = lambda service: None
    asked: list[dict[str, str]] = field(default_factory=list)

    def listed(self, status: str | None) -> list[Animal]:
        """Return the animals in the order of a listing."""
        rows = self.rows
        if self.way.order != "kept":
            rows = sorted(rows, reverse=self.way.order == "descending")
        if self.way.order == "shuffled":
            rows.sort(key=lambda animal: Random(animal[0]).random())
        if status is not None and self.way.filters == "first":
            rows = [row for row in rows if row[1] == status]
        return rows if self.way.depth is None else rows[: self.way.depth]

    def answer(self, query: dict[str, str]) -> tuple[int, dict[str, str], list[Animal]]:
        """Return status, headers and animals."""
        way = self.way
        status = query.get("status")
        header, _, parameter = way.speaks.partition("=")
        scheme = SCHEMES.get(way.speaks)
        takes = parameter or (scheme.parameter if scheme else "cursor" if header == "link" else "")
        if way.strict and not set(query) <= {"limit", "status", takes}:
            return way.strict, {}, []
        size = way.size or min(int(query.get("limit", 20)), way.cap)
        rows = self.listed(status)
        start = self._start(rows, query.get(takes), size)
        if way.behind == "repeat" and rows and start >= len(rows):
            start = (len(rows) - 1) // size * size
        if way.behind.isdecimal() and start >= len(rows) and (start or way.behind == "204"):
            return int(way.behind), {}, []
        if status is not None and way.filters == "scan":
            start, size = 2 * start, 2 * size
        page = rows[start : start + size]
        headers = self._signs(rows, page, start + size, query, takes)
        counted = {"listing": len(rows), "page": len(page), "all": len(self.rows)}
        if status is not None and way.filters in ("late", "scan"):
            page = [row for row in page if row[1] == status]
        total = way.estimate(counted.get(way.total, 0))
        if way.total and way.total_header == "Content-Range":
            headers["Content-Range"] = f"items {start}-{start + size}/{total}"
        elif way.total:
            headers[way.total_header] = str(total)
        return 200, headers, page

    def _start(self, rows: list[Animal], value: str | None, size: int) -> int:
        scheme = SCHEMES.get(self.way.speaks)
        if value is None or self.way.speaks == "nothing":
            return 0
        number = int(value.removeprefix("id").removeprefix("t"))
        if self.way.by_id or (scheme is not None and scheme.counts == "id"):
            ids = [pet_id for pet_id, _ in rows]
            if self.way.order in ("ascending", "kept"):
                return next((at for at, pet_id in enumerate(ids) if pet_id > number), len(ids))
            return ids.index(number) + 1 if number in ids else len(ids)
        if scheme is not None and scheme.counts == "pages":
            return max(0, (number - scheme.base) * size)
        return number

    def _signs(
        self,
        rows: list[Animal],
        page: list[Animal],
        stop: int,
        query: dict[str, str],
        takes: str,
    ) -> dict[str, str]:
        way = self.way
        more = stop < len(rows)
        header, _, parameter = way.speaks.partition("=")
        headers = {"X-Has-More": str(more).lower()} if way.has_more else {}
        token = f"id{page[-1][0]}" if way.by_id and page else f"t{stop}"
        if header == "link" and more:
            onward = urlencode({**query, takes: token})
            headers["Link"] = f'< {way.host}/v1/pets?{onward} >; rel="next"'
        elif way.relations or (header == "link" and way.everywhere):
            headers["Link"] = f'</v1/pets?limit=1>; rel="{way.relations or "first"}"'
        if parameter and (more or way.everywhere):
            headers[header] = token if more else ""
        return headers


@dataclass(frozen=True)
class Outcome:
    """What came of a listing."""

    end: End
    ids: list[int]
    requests: int
    proven: Proven
    may_have_hole: bool

    @property
    def complete(self) -> bool:
        """Whether it is called complete."""
        return self.end.completeness == "complete"


def listed(
    service: Service,
    status: str | None = None,
    *,
    proven: Proven | None = None,
    limit: int = 100,
    first: int | None = None,
    told: Scheme | None = None,
) -> Outcome:
    """Let a pager read a service to its end."""
    query = {"limit": str(limit)} | ({} if status is None else {"status": status})
    url = f"https://host/v1/pets?{urlencode(query)}"
    pager = Pager(url, first=first, proven=proven, told=told)
    ids: dict[int, None] = {}
    before = len(service.asked)
    step = pager.next
    while isinstance(step, NextPage):
        asked = dict(parse_qsl(urlsplit(step.url).query))
        service.change(service)
        service.asked.append(asked)
        answered, headers, rows = service.answer(asked)
        if step.is_refused(answered):
            step = pager.feed(None)
            continue
        assert answered in (200, 204) or step.is_end(answered), "only a trial may be refused"
        unfiltered = status is not None and any(row[1] != status for row in rows)
        found = tuple(pet_id for pet_id, _ in rows)
        headers_ = CaseInsensitiveDict(headers)
        step = pager.feed(Response(step.url, found, headers_, unfiltered))
        given = dict(rows)
        ids.update((n, None) for n in pager.new if status in (None, given[n]))
    requests = len(service.asked) - before
    return Outcome(step, list(ids), requests, pager.proven, pager.received.may_have_hole)


def _ways() -> dict[str, Way]:
    ways = {}
    for scheme in SCHEMES:
        for cap in (1, 7, 33, 48, 64, 99, 100):
            ways[f"{scheme}, at most {cap}"] = Way(scheme, cap=cap)
        base = Way(scheme)
        ways |= {
            f"{scheme}, strict": replace(base, strict=400),
            f"{scheme}, 10 whatever is asked": replace(base, size=10),
            f"{scheme}, the last page again": replace(base, behind="repeat"),
            f"{scheme}, total": replace(base, cap=64, total="listing"),
            f"{scheme}, total of the page": replace(base, cap=64, total="page"),
            f"{scheme}, descending": replace(base, order="descending"),
        }
    for scheme in ("offset", "page", "after"):
        ways[f"{scheme}, filter behind the cut"] = Way(scheme, filters="late")
        ways[f"{scheme}, no filter"] = Way(scheme, filters="never")
    for scheme in ("offset", "page"):
        ways[f"{scheme}, shuffled"] = Way(scheme, order="shuffled")
    for signs in ("link", "X-Next-Cursor=cursor", "Next-Cursor=after", "X-Next-Page-Token=cursor"):
        base = Way(signs)
        ways |= {
            f"{signs}": base,
            f"{signs}, by id": replace(base, by_id=True),
            f"{signs}, only where more follows": replace(base, everywhere=False),
            f"{signs}, only where more follows, strict": replace(
                base, everywhere=False, strict=400
            ),
            f"{signs}, at most 64": replace(base, cap=64, everywhere=False),
            f"{signs}, at most 1": replace(base, cap=1),
            f"{signs}, total of all": replace(base, total="all", everywhere=False),
            f"{signs}, filter behind the cut": replace(base, filters="late", everywhere=False),
        }
    for cap in (1, 7, 33, 64, 100):
        ways[f"nothing, at most {cap}"] = Way("nothing", cap=cap)
    ways |= {
        "nothing, strict": Way("nothing", strict=400),
        "nothing, all at once": Way("nothing", size=100_000),
        "nothing, total": Way("nothing", cap=64, total="listing"),
        "nothing, total of the page": Way("nothing", cap=64, total="page"),
        "nothing, has more": Way("nothing", cap=64, has_more=True),
        "offset, has more": Way("offset", cap=64, has_more=True),
        "offset, Content-Range": Way(
            "offset", cap=64, total="listing", total_header="Content-Range"
        ),
        "page, Total-Count": Way("page", cap=33, total="listing", total_header="Total-Count"),
        "page, 400 behind the end": Way("page", behind="400"),
        "offset, 400 behind the end": Way("offset", behind="400"),
    }
    return ways


def _ordinary() -> list[Way]:
    """Services whose totals, links and refusals mislead who believes them."""
    estimates = (partial(min, 1_000), partial(min, 100), partial(round, ndigits=-1), (-1).__add__)
    rules: list[dict[str, Any]] = [
        {"total": "listing", "estimate": estimate, "cap": cap}
        for estimate in estimates
        for cap in (50, 100)
    ]
    rules += [{"behind": status} for status in ("204", "404", "416")]
    rules += [{"strict": 403}, {"strict": 500}, {"relations": "first last"}]
    schemes = ("offset", "page", "page0", "after", "nothing")
    ways = [Way(scheme, **rule) for scheme in schemes for rule in rules]
    capped = Way("page", total="listing", estimate=partial(min, 1_000), behind="400")
    return [*ways, capped, Way(host="http://inner:8080"), Way(host="http://host")]


WAYS = _ways()
ORDINARY = _ordinary()
