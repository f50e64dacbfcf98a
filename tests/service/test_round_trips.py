"""
The service on a PostgreSQL at a distance: few round trips, and refusals that need no database.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator

import pytest
import requests
from postgres import Postgres
from services import NOON, WIDE, client, post, served
from tcp_proxy import TcpProxy

from petstore_tools.clock import ManualClock
from petstore_tools.plans import Plan
from petstore_tools.service.app import Service
from petstore_tools.service.database import Database
from petstore_tools.service.messages import Request, Response


@pytest.fixture
def proxy(postgres: Postgres) -> Iterator[TcpProxy]:
    with TcpProxy(postgres.port) as made:
        yield made


def batch_of(service: Service, key: str, count: int) -> list[Response]:
    """Answer so many creates together."""

    async def ask() -> list[Response]:
        made = asyncio.get_running_loop().create_future
        bodies = [json.dumps({"name": f"Pet {n}", "categoryId": n}).encode() for n in range(count)]
        batch = [
            Request("POST", "/v1/pets", b"", key, "application/json", body, "h", made())
            for body in bodies
        ]
        return [answer for answer in service._respond_to(batch, False) or () if answer is not None]

    return asyncio.run(ask())


def test_creates_that_wait_together_cost_three_round_trips_however_many(
    postgres: Postgres, proxy: TcpProxy
) -> None:
    """
    One for callers and counters, one for all animals, one to commit; ids in the order of requests.
    """
    database = Database(proxy.url(postgres.database()), own_time=False)
    _, key = database.create_key(WIDE, label="", now=NOON)
    service, trips, made = Service(database, ManualClock(NOON)), [], []
    batch_of(service, key, 1)
    for count in (1, 16, 200):
        proxy.round_trips = 0
        made = batch_of(service, key, count)
        trips.append(proxy.round_trips)
    stored = database.page(after=18, limit=300, status=None)
    database.close()

    assert trips == [3, 3, 3]
    assert [answer.status for answer in made] == [201] * 200
    bodies = [json.loads(answer.body) for answer in made]
    assert [(pet["id"], pet["name"], pet["categoryId"]) for pet in bodies] == [
        pet[:3] for pet in stored
    ]
    assert [pet[2] for pet in stored] == list(range(200))
    assert {answer.headers[1][0] for answer in made} == {b"x-ratelimit-limit"}


def test_what_needs_no_database_is_answered_at_once_while_it_is_silent(
    postgres: Postgres, proxy: TcpProxy
) -> None:
    """
    No connection is cut and no packet comes: refusals and health do not wait for it, a create does.
    """
    with served(proxy.url(postgres.database())) as (database, base_url):
        _, key = database.create_key(WIDE, label="", now=NOON)
        _, full = database.create_key(Plan(1, 1), label="", now=NOON)
        known, used_up = client(key), client(full)
        assert post(known, base_url).status_code == 201
        for _ in range(2):
            used_up.get(f"{base_url}/pets", timeout=5)
        proxy.flowing.clear()
        asked = {
            "no key": lambda: requests.get(f"{base_url}/pets", timeout=20),
            "health": lambda: requests.get(f"{base_url}/health", timeout=20),
            "no JSON": lambda: known.post(f"{base_url}/pets", data=b"{", timeout=20),
            "limit": lambda: known.get(f"{base_url}/pets?limit=0", timeout=20),
            "path": lambda: known.get(f"{base_url}/cats", timeout=20),
            "method": lambda: known.delete(f"{base_url}/pets", timeout=20),
            "large": lambda: known.post(f"{base_url}/pets", data=b"x" * (2 << 20), timeout=20),
            "used up": lambda: used_up.get(f"{base_url}/pets", timeout=20),
            "orders": lambda: known.get(f"{base_url}/store/orders", timeout=20),
        }
        answers, took_s = {}, {}
        for what, ask in asked.items():
            begun_at = time.monotonic()
            answers[what], took_s[what] = ask(), time.monotonic() - begun_at
        begun_at = time.monotonic()
        waited = post(known, base_url)
        waited_s = time.monotonic() - begun_at
        proxy.flowing.set()
        back = post(known, base_url)

    statuses = {what: answer.status_code for what, answer in answers.items()}
    assert statuses == {
        "no key": 401,
        "health": 503,
        "no JSON": 400,
        "limit": 400,
        "path": 404,
        "method": 405,
        "large": 413,
        "used up": 429,
        "orders": 501,
    }
    assert max(took_s.values()) < 1.5
    assert (waited.status_code, waited_s < 10) == (503, True)
    assert back.status_code == 201
