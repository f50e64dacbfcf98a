"""A service that pages in any of the usual ways, over a real socket."""

import asyncio
import json
from contextlib import contextmanager
from functools import lru_cache
from urllib.parse import parse_qsl

from starlette.responses import Response
from ways import Service, Way, animals

from petstore_tools import PetStore, Plan
from petstore_tools.service.server import ThreadedServer

AMPLE = Plan(1_000_000, 100_000_000)


@lru_cache(maxsize=20_000)
def page_body(page):
    """Return the body of an answer with these animals."""
    rows = [
        {
            "id": pet_id,
            "name": f"Pet {pet_id}",
            "categoryId": pet_id % 7,
            "status": status,
        }
        for pet_id, status in page
    ]
    return json.dumps(rows, separators=(",", ":")).encode()


class PagingService(Service):
    """
    Lists animals over a socket, in one way; `rows` may be changed while it serves.

    Args:
        count: Of animals.
        way: As `Way.read` reads it.
        step: From one id to the next; the first is 1.
        latency_s: Before each answer.
    """

    def __init__(self, count, way, *, step=1, latency_s=0.0):
        super().__init__(Way.read(way), animals(count, first=1, step=step))
        self.latency_s = latency_s
        self.max_concurrency = self._open_requests = 0

    async def __call__(self, scope, receive, send):
        """Answer one request."""
        query = dict(parse_qsl(scope["query_string"].decode()))
        self.queries.append(query)
        self._open_requests += 1
        self.max_concurrency = max(self.max_concurrency, self._open_requests)
        self.change(self)
        if self.latency_s:
            await asyncio.sleep(self.latency_s)
        self._open_requests -= 1
        status, headers, page = self.answer(query)
        body = page_body(tuple(page)) if status == 200 else b""
        texts = {name: str(value) for name, value in headers.items()}
        response = Response(body, status, texts, "application/json")
        await response(scope, receive, send)


@contextmanager
def open_store(service, folder, **options):
    """Serve in a thread, and open a store on a plan that does not stand in the way."""
    server = ThreadedServer(service).start()
    settings = {"api_key": "k", "plan": AMPLE, "state_dir": folder} | options
    try:
        with PetStore(base_url=server.base_url, **settings) as store:
            yield store
    finally:
        server.stop()
