"""The service as tests run it: in a thread of this process, or in processes that share a clock."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import requests

from petstore_tools.clock import ManualClock
from petstore_tools.plans import Plan
from petstore_tools.sandbox.shared_clock import ClockServer
from petstore_tools.service.app import Service
from petstore_tools.service.database import Database
from petstore_tools.service.server import ThreadedServer

NOON: Final = 1_800_000_000.0
WIDE: Final = Plan(1_000_000, 100_000_000)
WORKER: Final = """
    import os, socket, sys
    from petstore_tools.service import app, batches
    from petstore_tools.service.database import Database
    from petstore_tools.service.server import bind, serve
    from petstore_tools.sandbox.shared_clock import RemoteClock
    if "LATEST_S" in os.environ:
        app.LATEST_S, batches.TICK_S = float(os.environ["LATEST_S"]), 0.2
    listener = bind("127.0.0.1", 0)
    listener.listen()
    print(listener.getsockname()[1], flush=True)
    clock = RemoteClock(os.environ["CLOCK"], os.environ["SECRET"])
    serve(app.Service(Database(os.environ["URL"], own_time=False), clock), listener)
"""


@contextmanager
def locked(where: str) -> Iterator[None]:
    """Hold what every request needs, as another program would."""
    if where.startswith("postgresql"):
        import psycopg

        with psycopg.connect(where) as other:
            other.execute("LOCK TABLE usage IN EXCLUSIVE MODE")
            yield
    else:
        file = sqlite3.connect(where, isolation_level=None)
        file.execute("BEGIN IMMEDIATE")
        yield
        file.execute("ROLLBACK")
        file.close()


@contextmanager
def served(
    where: str, clock: ManualClock | None = None, **how: Any
) -> Iterator[tuple[Database, str]]:
    """Serve a database from a thread: itself, and the base address."""
    database = Database(where, own_time=False)
    server = ThreadedServer(Service(database, clock or ManualClock(NOON), **how)).start()
    try:
        yield database, server.base_url
    finally:
        server.stop()
        database.close()


@contextmanager
def workers(url: str, clock: ClockServer, count: int, **more: str) -> Iterator[list[str]]:
    """Run so many processes of the service on one database and one clock."""
    with processes(url, clock, count, **more) as started:
        yield [base_url for _, base_url in started]


@contextmanager
def processes(
    url: str, clock: ClockServer, count: int, **more: str
) -> Iterator[list[tuple[int, str]]]:
    """Run so many processes of the service: the process id and base address of each."""
    env = {**os.environ, "URL": url, "CLOCK": clock.address, "SECRET": clock.secret, **more}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(WORKER)],
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        )
        for _ in range(count)
    ]
    try:
        ports = [worker.stdout.readline().strip() for worker in started if worker.stdout]
        yield [
            (worker.pid, f"http://127.0.0.1:{port}/v1")
            for worker, port in zip(started, ports, strict=True)
        ]
    finally:
        for worker in started:
            worker.kill()
            worker.communicate()


def client(key: str) -> requests.Session:
    """Return a session with a key."""
    session = requests.Session()
    session.headers["Authorization"] = f"Bearer {key}"
    return session


def post(session: requests.Session, base_url: str, name: str = "Rex") -> requests.Response:
    """Create an animal."""
    return session.post(f"{base_url}/pets", json={"name": name, "categoryId": 1}, timeout=20)


def until(holds: Callable[[], object]) -> None:
    """Wait for what another process does, for half a minute."""
    give_up_at = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < give_up_at
        time.sleep(0.02)
