"""
The service as tests run it, in a thread of this process, and what they do to its
database.
"""

import socket
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import requests

from petstore_tools.clock import ManualClock
from petstore_tools.plans import Plan
from petstore_tools.service.app import Service
from petstore_tools.service.database import Database
from petstore_tools.service.server import ThreadedServer

NOON = 1_800_000_000.0
WIDE_PLAN = Plan(1_000_000_000, 1_000_000_000)


@contextmanager
def database_change(where, apply, undo, *more):
    """Do something to a database as another program would, and undo it."""
    db: Any
    if where.startswith("postgresql"):
        import psycopg

        db = psycopg.connect(where, autocommit=True)
    else:
        db = sqlite3.connect(where, isolation_level=None, timeout=10)
    with closing(db):
        for statement in (apply, *more):
            db.execute(statement)
        yield
        for statement in (undo, *more):
            db.execute(statement)


def database_lock(where):
    """Hold what every request needs, as another program would."""
    on_postgres = where.startswith("postgresql")
    statement = "BEGIN; LOCK TABLE key" if on_postgres else "BEGIN IMMEDIATE"
    return database_change(where, statement, "ROLLBACK")


@dataclass(frozen=True)
class Caller:
    """Somebody with a key, who opens a connection for each request."""

    base_url: str
    key: str

    def request(self, method, path="/pets", **options):
        url = self.base_url + path
        return keyed_session(self.key).request(method, url, timeout=30, **options)

    def get(self, path="/pets"):
        return self.request("GET", path)

    def post(self, name="Rex", **more):
        return self.request("POST", json={"name": name, "categoryId": 1, **more})


@contextmanager
def serve_in_thread(where, *, clock=None):
    """Serve a database from a thread: itself, and a caller with a wide plan."""
    database = Database(where)
    service = Service(database, clock or ManualClock(NOON))
    server = ThreadedServer(service).start()
    try:
        _, key = database.create_key(WIDE_PLAN, label="", now=NOON)
        yield database, Caller(server.base_url, key)
    finally:
        server.stop()
        service.close()
        database.close()


@contextmanager
def calling(*calls):
    """Make each call again and again, in a thread of its own, until the block ends."""
    end = threading.Event()

    def repeat(call):
        while not end.is_set():
            call()

    with ThreadPoolExecutor(len(calls)) as pool:
        threads = [pool.submit(repeat, call) for call in calls]
        try:
            yield
        finally:
            end.set()
    for thread in threads:
        thread.result()


def keyed_session(key):
    """Return a session with a key."""
    session = requests.Session()
    session.headers["Authorization"] = f"Bearer {key}"
    return session


def remaining(answer):
    """Return how many requests are left behind an answer."""
    return int(answer.headers["X-RateLimit-Remaining"])


def free_port():
    """Return a port that nobody has."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def is_port_closed(base_url):
    """Say whether nobody listens there."""
    parts = urlsplit(base_url)
    with socket.socket() as connection:
        connection.settimeout(5)
        return connection.connect_ex((parts.hostname, parts.port)) != 0


def stored_pets(database):
    """Return all animals of a database."""
    return database.run(lambda session: session.page(0, 1_000_000, None))


def stored_ids(where):
    """Return the ids of all animals of a database."""
    database = Database(where)
    ids = {pet[0] for pet in stored_pets(database)}
    database.close()
    return ids


def wait_until(holds, seconds=30):
    """Wait for what another process does."""
    give_up_at = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < give_up_at
        time.sleep(0.02)
