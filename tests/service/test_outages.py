"""
A database that is locked, read-only, silent or gone: 503 while it lasts, and all is well afterwards.
"""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
import requests
from postgres import Postgres, absent, running
from services import (
    NOON,
    WIDE,
    Caller,
    FileClock,
    locked,
    processes,
    served,
    stored,
    until,
)
from serving import Serving, serving
from tcp_proxy import TcpProxy

from petstore_tools.service.database import Database
from petstore_tools.service.engine import UnavailableError
from petstore_tools.service.limiter import Usage

OTHERS = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


def is_refused(answer: requests.Response) -> bool:
    """Say whether it is a 503 that is safe to send again, and says when."""
    if answer.status_code != 503:
        return False
    assert answer.json()["code"] == "unavailable"
    assert "nothing was changed" in answer.json()["message"]
    return answer.headers["Retry-After"] == "5"


class Callers:
    """Callers that create, list and ask for health, each again and again until the end."""

    def __init__(self, served: Serving) -> None:
        self._end = threading.Event()
        self.answers: list[requests.Response] = []
        asks: list[Callable[[], requests.Response]] = [
            served.caller.post,
            served.caller.post,
            lambda: served.caller.get("/pets?limit=1"),
            lambda: served.caller.get("/health"),
        ]
        self._threads = [
            threading.Thread(target=self._run, args=(ask,), daemon=True) for ask in asks * 2
        ]

    def _run(self, ask: Callable[[], requests.Response]) -> None:
        while not self._end.is_set():
            self.answers.append(ask())

    def __enter__(self) -> Callers:
        for thread in self._threads:
            thread.start()
        until(lambda: len(self.answers) > 20)
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join()

    def refused(self, path: str) -> int:
        return sum(is_refused(answer) for answer in self.answers if path in str(answer.url))


def survive(served: Serving, where: str, outage: Any, *, refuses: bool = True) -> None:
    """Go through an outage until callers were refused, and find all well behind it."""
    with Callers(served) as callers:
        with outage:
            if refuses:
                until(lambda: callers.refused("/pets") > 5)
                until(lambda: callers.refused("/health") > 0)
        before = len(callers.answers)
        until(
            lambda: callers.answers[before:].count(None) == 0 and len(callers.answers) > before + 99
        )
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: served.caller.post(), range(100)))

    for answer in callers.answers:
        unknown = answer.status_code == 500 and "not known" in answer.text
        assert answer.ok or unknown or is_refused(answer), answer.text
    assert {answer.status_code for answer in made} == {201}
    acknowledged = [a.json()["id"] for a in (*callers.answers, *made) if a.status_code == 201]
    assert len(acknowledged) == len(set(acknowledged))
    assert set(acknowledged) <= stored(where)


@contextmanager
def table_locked(url: str, table: str) -> Iterator[None]:
    with psycopg.connect(url) as other:
        other.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        yield


@contextmanager
def undone(url: str, do: str, undo: str, *more: str) -> Iterator[None]:
    """Do something to a database, and undo it."""
    with psycopg.connect(url, autocommit=True) as other:
        for statement in (do, *more):
            other.execute(statement)
        yield
        for statement in (undo, *more):
            other.execute(statement)


@contextmanager
def silent(proxy: TcpProxy) -> Iterator[None]:
    proxy.flowing.clear()
    yield
    proxy.flowing.set()


def outages(url: str, proxy: TcpProxy) -> dict[str, Any]:
    """Return what may become of a PostgreSQL."""
    read_only = f"ALTER DATABASE {urlsplit(url).path[1:]} SET default_transaction_read_only ="
    end = f"SELECT pg_terminate_backend(pid) {OTHERS}"
    locks = {name: table_locked(url, name) for name in ("usage", "pet", "key", "inventory")}
    return locks | {
        "hang": silent(proxy),
        "sessions ended": undone(url, end, end),
        "table away": undone(url, "ALTER TABLE pet RENAME TO a", "ALTER TABLE a RENAME TO pet"),
        "read-only": undone(url, f"{read_only} on", f"{read_only} off", end),
    }


@pytest.mark.parametrize(
    ("workers", "which"),
    [
        (1, ("key", "inventory", "hang")),
        (4, ("usage", "pet", "hang", "sessions ended", "table away", "read-only")),
    ],
)
def test_whatever_becomes_of_postgresql_is_a_503_and_passes(
    postgres: Postgres, workers: int, which: tuple[str, ...]
) -> None:
    """With every worker."""
    url = postgres.database()
    with (
        TcpProxy(postgres.port) as proxy,
        serving(proxy.url(url), "--workers", str(workers)) as served,
    ):
        for name in which:
            outage = outages(url, proxy)[name]
            survive(served, url, outage, refuses=name != "sessions ended")


@pytest.mark.skipif(bool(absent()), reason=f"no PostgreSQL: {absent()}")
def test_a_postgresql_that_restarts_is_a_503_and_passes() -> None:
    """While it is gone there are Errors that name a wait; then the service goes on by itself."""

    @contextmanager
    def stopped() -> Iterator[None]:
        server.stop()
        yield
        server.start()

    with running() as server:
        url = server.database()
        with serving(url, "--workers", "2") as served, Callers(served) as callers:
            with stopped():
                until(lambda: callers.refused("/pets") > 5)
            before = len(callers.answers)
            until(lambda: sum(one.ok for one in callers.answers[before:]) > 50)

    assert "secret" not in "".join(answer.text for answer in callers.answers)


def test_whatever_becomes_of_an_sqlite_file_is_a_503_and_passes(tmp_path: Path) -> None:
    """Locked, a table away, replaced by another file."""
    path = tmp_path / "service.db"

    @contextmanager
    def renamed() -> Iterator[None]:
        with closing(sqlite3.connect(path, timeout=10)) as other:
            other.execute("ALTER TABLE usage RENAME TO away")
            yield
            other.execute("ALTER TABLE away RENAME TO usage")

    @contextmanager
    def replaced() -> Iterator[None]:
        path.rename(tmp_path / "aside.db")
        path.touch()
        yield
        (tmp_path / "aside.db").replace(path)

    with serving(path) as served:
        for outage in (locked(str(path)), renamed(), replaced()):
            survive(served, str(path), outage)


def test_a_lock_is_waited_for_by_all_and_a_short_one_costs_no_error(where: str) -> None:
    """Meanwhile health is a 503 within a second, and the document is served."""
    with served(where) as (_, caller), ThreadPoolExecutor(16) as pool:
        with locked(where):
            waiting = [pool.submit(caller.post) for _ in range(12)]
            health = caller.get("/health")
            document = caller.get("/openapi.json")
            assert not any(create.done() for create in waiting)
        made = [create.result().status_code for create in waiting]
        well = caller.get("/health")

    assert is_refused(health)
    assert document.status_code == 200
    assert made == [201] * 12
    assert (well.status_code, well.json()) == (200, {"status": "ok", "database": "ok"})


def test_a_long_lock_refuses_all_creates_and_makes_none(where: str) -> None:
    """Who waits for BEGIN is not unknown."""
    with served(where) as (database, caller), ThreadPoolExecutor(24) as pool:
        with locked(where):
            asked = [pool.submit(caller.post) for _ in range(24)]
            answers = [create.result() for create in asked]
        existing = database.page(after=0, limit=100, status=None)
        back = caller.post()

    assert all(is_refused(answer) for answer in answers)
    assert (existing, back.status_code) == ([], 201)


def test_only_a_create_whose_commit_was_sent_is_not_known(postgres: Postgres) -> None:
    """
    The connection is cut behind COMMIT, before its answer: a 500 that says so, made once; a create
    that would have been refused is safe to send again.
    """
    with (
        TcpProxy(postgres.port, cut_behind=b"COMMIT") as proxy,
        served(proxy.url(postgres.database())) as (database, caller),
    ):
        caller.get()  # now the key is known: no look at it first
        proxy.cutting.set()
        unknown = caller.post()
        invalid = caller.post("")
        listed = caller.get()
        proxy.cutting.clear()
        existing = database.page(after=0, limit=9, status=None)
        back = caller.post()

    assert (unknown.status_code, unknown.json()["code"]) == (500, "internal_error")
    assert "not known" in unknown.json()["message"]
    assert is_refused(invalid)
    assert is_refused(listed)
    assert len(existing) <= 1
    assert back.status_code == 201


def test_what_is_read_outside_a_transaction_has_no_end_of_the_last_one(postgres: Postgres) -> None:
    """As `keys list` beside a service: the time that the last transaction had does not count."""
    database = Database(postgres.database())
    with database.transaction([("", "address 192.0.2.1")], within_s=0.1):
        pass
    time.sleep(0.2)

    assert database.page(after=0, limit=1, status=None) == database.list_keys() == []
    database.close()


def test_a_session_that_stands_still_lets_go_of_what_others_wait_for(postgres: Postgres) -> None:
    """As a machine that was paused within a commit: others do not wait until it wakes."""
    url = postgres.database()
    with served(url) as (database, caller):
        caller.post()
        (key,) = database.list_keys()
        paused = Database(url, own_time=False)
        with suppress(UnavailableError), paused.transaction([("", "h")]):
            paused.save({f"key {key.id}": Usage()})
            (lost,) = paused.add([("lost", 1, None)])
            made = caller.post()
        again = [pet[1] for pet in database.page(after=0, limit=9, status=None)]
        paused.close()

    assert made.status_code == 201
    assert (again, made.json()["id"] > lost) == (["Rex", "Rex"], True)


@pytest.mark.skipif(sys.platform != "linux", reason="stops the service's process")
def test_a_create_whose_caller_is_long_gone_is_not_made(where: str, tmp_path: Path) -> None:
    """
    The service's process was paused when the request came; its caller may have looked for it since.
    """
    database = Database(where, own_time=False)
    clock = FileClock(tmp_path / "clock", NOON)
    _, key = database.create_key(WIDE, label="", now=NOON)
    with processes(where, clock, 1, "2") as ((pid, base_url),):
        caller = Caller(base_url, key)
        made = caller.post()
        os.kill(pid, signal.SIGSTOP)
        head = f"POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n"
        body = '{"name":"late","categoryId":1}'
        kind = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        port = urlsplit(base_url).port or 0
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            connection.sendall((head + kind + body).encode())
            time.sleep(2.5)  # longer than the two seconds that a create may be late
            os.kill(pid, signal.SIGCONT)
            late = connection.recv(65_536)
        until(lambda: caller.post().status_code == 201)
    existing = [pet[1] for pet in database.page(after=0, limit=9, status=None)]
    database.close()

    assert (made.status_code, late.split()[1]) == (201, b"503")
    assert set(existing) == {"Rex"}
