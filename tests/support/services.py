"""The service as tests run it: in a thread of this process, or in processes that share a clock."""

from __future__ import annotations

import multiprocessing
import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import requests

from petstore_tools.clock import ManualClock
from petstore_tools.plans import Plan
from petstore_tools.service.app import Service
from petstore_tools.service.database import Database
from petstore_tools.service.server import ThreadedServer

NOON: Final = 1_800_000_000.0
WIDE: Final = Plan(1_000_000_000, 1_000_000_000)


@dataclass(frozen=True)
class SharedClock:
    """A clock that one process sets and others read."""

    seconds: Any

    def now(self) -> float:
        return float(self.seconds.value)


@contextmanager
def locked(where: str, table: str = "usage") -> Iterator[None]:
    """Hold what every request needs, or a table of PostgreSQL, as another program would."""
    if where.startswith("postgresql"):
        import psycopg

        with psycopg.connect(where) as other:
            other.execute(f"LOCK TABLE {table}")
            yield
    else:
        file = sqlite3.connect(where, isolation_level=None)
        file.execute("BEGIN IMMEDIATE")
        yield
        file.execute("ROLLBACK")
        file.close()


@dataclass(frozen=True)
class Caller:
    """Somebody with a key, who opens a connection for each request."""

    base_url: str
    key: str

    def get(self, path: str = "/pets") -> requests.Response:
        return client(self.key).get(self.base_url + path, timeout=30)

    def post(self, name: str = "Rex", **more: Any) -> requests.Response:
        body = {"name": name, "categoryId": 1, **more}
        return client(self.key).post(f"{self.base_url}/pets", json=body, timeout=30)


@contextmanager
def served(where: str, **how: Any) -> Iterator[tuple[Database, Caller]]:
    """Serve a database from a thread: itself, and a caller with a wide plan."""
    database = Database(where, own_time=False)
    server = ThreadedServer(Service(database, ManualClock(NOON), **how)).start()
    try:
        _, key = database.create_key(WIDE, label="", now=NOON)
        yield database, Caller(server.base_url, key)
    finally:
        server.stop()
        database.close()


def _work(url: str, seconds: Any, addresses: Any) -> None:
    service = Service(Database(url, own_time=False), SharedClock(seconds))
    addresses.put(ThreadedServer(service).start().base_url)
    threading.Event().wait()


@contextmanager
def workers(url: str, count: int, now: float) -> Iterator[tuple[list[str], Any]]:
    """Run so many processes of the service on one database and one clock: addresses, and time."""
    spawn = multiprocessing.get_context("spawn")
    seconds = spawn.Value("d", now)
    addresses: Any = spawn.Queue()
    started = [
        spawn.Process(target=_work, args=(url, seconds, addresses), daemon=True)
        for _ in range(count)
    ]
    for worker in started:
        worker.start()
    yield [addresses.get() for _ in started], seconds
    for worker in started:
        worker.kill()
        worker.join()


def client(key: str) -> requests.Session:
    """Return a session with a key."""
    session = requests.Session()
    session.headers["Authorization"] = f"Bearer {key}"
    return session


def free_port() -> int:
    """Return a port that nobody has."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


def refuses(base_url: str) -> bool:
    """Say whether nobody listens there."""
    parts = urlsplit(base_url)
    with suppress(ConnectionError):
        socket.create_connection((str(parts.hostname), parts.port or 0), timeout=5).close()
        return False
    return True


def stored(where: str) -> set[int]:
    """Return the ids of all animals of a database."""
    database = Database(where)
    ids: set[int] = set()
    while page := database.page(after=max(ids, default=0), limit=10_000, status=None):
        ids |= {pet[0] for pet in page}
    database.close()
    return ids


def until(holds: Callable[[], object], seconds: float = 30) -> None:
    """Wait for what another process does."""
    give_up_at = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < give_up_at
        time.sleep(0.02)
