"""
A service that pages in any of the usual ways, over a real socket: what the pager has to learn.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import parse_qs, urlencode

from petstore_tools.listing.schemes import SCHEMES
from petstore_tools.service.messages import Receive, Scope, Send

Row = dict[str, object]


def pets(count: int, *, step: int = 1) -> list[Row]:
    """Animals with ascending ids."""
    statuses = ("available", "pending", "sold")
    return [
        {"id": 1 + n * step, "name": f"Pet {n}", "categoryId": n % 7, "status": statuses[n % 3]}
        for n in range(count)
    ]


@lru_cache(maxsize=20_000)
def _rendered(server: int, start: int, stop: int) -> bytes:
    return json.dumps(_SERVERS[server].rows[start:stop], separators=(",", ":")).encode()


_SERVERS: dict[int, PagingService] = {}


@dataclass
class PagingService:
    """
    Lists `rows` as `speaks` says.

    Args:
        rows: Animals in list order; may be changed while it serves.
        speaks: A scheme's name, `link`, `X-Next-Cursor=after` (header and parameter), or `nothing`.
        cap: Longest page it gives.
        size: Page size it gives whatever is asked.
        strict: Unknown parameters are answered with 400.
        total: Says `X-Total-Count`.
        latency_s: Before each answer.
        rendered: Rows never change: keep the bytes of pages.
        filtered: The status filter works on the page that was cut, not before.
        ignores_filter: The status filter does nothing.
        refuses: So many requests are answered with 400.
        repeats_last: A page behind the end is the last one again.
        before: Called with the number of each request before it is answered.
        more: Gives further headers of each answer.
    """

    rows: list[Row]
    speaks: str = "link"
    cap: int = 100
    size: int | None = None
    strict: bool = False
    total: bool = False
    latency_s: float = 0.0
    rendered: bool = False
    filtered: bool = False
    ignores_filter: bool = False
    refuses: int = 0
    repeats_last: bool = False
    before: Callable[[int], None] = lambda number: None
    more: Callable[[], dict[str, str]] = dict
    asked: list[dict[str, str]] = field(default_factory=list)
    most_at_once: int = 0
    _under_way: int = 0

    def __post_init__(self) -> None:
        _SERVERS[id(self)] = self

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        query = {
            name: values[-1] for name, values in parse_qs(scope["query_string"].decode()).items()
        }
        self.asked.append(query)
        self._under_way += 1
        self.most_at_once = max(self.most_at_once, self._under_way)
        self.before(len(self.asked))
        if self.latency_s:
            await asyncio.sleep(self.latency_s)
        self._under_way -= 1
        status, headers, body = self.answer(query)
        fields = [
            (name.encode(), value.encode()) for name, value in {**headers, **self.more()}.items()
        ]
        fields.append((b"content-length", str(len(body)).encode()))
        await send({"type": "http.response.start", "status": status, "headers": fields})
        await send({"type": "http.response.body", "body": body})

    def answer(self, query: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        header, _, parameter = self.speaks.partition("=")
        scheme = SCHEMES.get(self.speaks)
        known = {"limit", "status", parameter or (scheme.parameter if scheme else "cursor")}
        if self.refuses:
            self.refuses -= 1
            body = {"code": "invalid_parameter", "message": "this token has expired", "status": 400}
            return 400, {}, json.dumps(body).encode()
        if self.strict and not set(query) <= known:
            body = {"code": "invalid_parameter", "message": "unknown parameter", "status": 400}
            return 400, {}, json.dumps(body).encode()
        asked = self.size or min(int(query.get("limit", 20)), self.cap)
        rows = self.rows
        if "status" in query and not self.filtered and not self.ignores_filter:
            rows = [row for row in rows if row.get("status") == query["status"]]
        start = self._start(rows, query, asked, parameter)
        if self.repeats_last and start >= len(rows):
            start = (len(rows) - 1) // asked * asked
        stop = min(start + asked, len(rows))
        headers = {"content-type": "application/json"}
        if self.total:
            headers["x-total-count"] = str(len(rows))
        if stop < len(rows) and header == "link":
            onward = {**query, "limit": str(asked), "cursor": str(stop)}
            headers["link"] = f'<?{urlencode(onward)}>; rel="next"'
        elif header == "link":
            headers["link"] = f'<?{urlencode({"limit": asked})}>; rel="first"'
        if parameter:
            headers[header] = f"t{stop}" if stop < len(rows) else ""
        if self.rendered:
            return 200, headers, _rendered(id(self), start, stop)
        page = rows[start:stop]
        if "status" in query and self.filtered:
            page = [row for row in page if row.get("status") == query["status"]]
        return 200, headers, json.dumps(page).encode()

    def _start(self, rows: list[Row], query: dict[str, str], size: int, parameter: str) -> int:
        speaks = self.speaks
        if parameter:
            return int(query.get(parameter, "t0").removeprefix("t"))
        if speaks == "link":
            return int(query.get("cursor", 0))
        scheme = SCHEMES.get(speaks)
        if scheme is None or scheme.parameter not in query:
            return 0
        value = int(query[scheme.parameter])
        if scheme.counts == "rows":
            return value
        if scheme.counts == "pages":
            return (value - scheme.base) * size
        return next((at for at, row in enumerate(rows) if int(str(row["id"])) > value), len(rows))
