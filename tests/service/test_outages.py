"""
A database that is locked, read-only, silent or gone: what waits for it, how long, and what is said.
"""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
import requests
from postgres import Postgres, absent, running
from services import NOON, WIDE, FileClock, client, locked, post, processes, served, until

from petstore_tools.plans import Plan
from petstore_tools.service import app, postgres_engine
from petstore_tools.service.database import Database
from petstore_tools.service.engine import UnavailableError
from petstore_tools.service.limiter import Usage


def timed(ask: Callable[[], requests.Response]) -> tuple[requests.Response, float]:
    """Return an answer and the seconds it took."""
    begun_at = time.monotonic()
    return ask(), time.monotonic() - begun_at


def is_refused(answer: requests.Response) -> bool:
    """Check a 503 that is safe to send again, and says when."""
    body = answer.json()
    assert (answer.status_code, body["status"], body["code"]) == (503, 503, "unavailable"), (
        answer.text
    )
    assert answer.headers["Retry-After"] == "5"
    assert "nothing was changed" in body["message"]
    return answer.headers["X-RateLimit-Limit"].isdecimal()


def animals(database: Database) -> int:
    return len(database.page(after=0, limit=100, status=None))


def test_a_locked_database_holds_up_only_those_who_need_it(where: str) -> None:
    """
    Health, the OpenAPI document and refusals are answered at once; a short lock costs no error.
    """
    with served(where) as (database, base_url), ThreadPoolExecutor(1) as pool:
        _, key = database.create_key(WIDE, label="", now=NOON)
        _, full = database.create_key(Plan(1, 1), label="", now=NOON)
        for _ in range(2):
            client(full).get(f"{base_url}/pets", timeout=5)
        with locked(where):
            waiting = pool.submit(post, client(key), base_url)
            time.sleep(0.2)
            closed, closed_s = timed(lambda: client(full).get(f"{base_url}/pets", timeout=20))
            health, health_s = timed(lambda: requests.get(f"{base_url}/health", timeout=20))
            document, document_s = timed(
                lambda: requests.get(f"{base_url}/openapi.json", timeout=20)
            )
            refused, refused_s = timed(lambda: requests.get(f"{base_url}/pets", timeout=20))
            assert not waiting.done()
        made = waiting.result()
        well = requests.get(f"{base_url}/health", timeout=20)

    assert (health.status_code, health.json()["code"]) == (503, "unavailable")
    assert "database" in health.json()["message"]
    assert (document.status_code, refused.status_code) == (200, 401)
    assert refused.headers["X-RateLimit-Limit"] == "60"
    assert (closed.status_code, closed.json()["code"]) == (429, "rate_limited")
    assert int(closed.headers["Retry-After"]) == int(closed.headers["X-RateLimit-Reset"]) - NOON
    assert max(health_s, document_s, refused_s, closed_s) < 1.5
    assert made.status_code == 201
    assert (well.status_code, well.json()) == (200, {"status": "ok", "database": "ok"})


def test_a_lock_is_waited_for_once_by_all_who_wait_and_then_is_a_503(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixteen creates wait together, are refused together, and none of them exists."""
    monkeypatch.setattr(app, "DATABASE_S", 0.4)
    with served(where) as (database, base_url):
        _, key = database.create_key(WIDE, label="", now=NOON)
        sessions = [client(key) for _ in range(16)]
        with locked(where), ThreadPoolExecutor(16) as pool:
            begun_at = time.monotonic()
            answers = list(pool.map(lambda session: post(session, base_url), sessions))
            took_s = time.monotonic() - begun_at
        existing = animals(database)
        back = post(sessions[0], base_url)

    assert all(is_refused(answer) for answer in answers)
    assert (
        "locked by another program" in answers[0].text
        or "did not answer in time" in answers[0].text
    )
    assert took_s < 4
    assert (existing, back.status_code) == (0, 201)


def test_a_read_only_database_is_a_503_and_its_connection_is_renewed(postgres: Postgres) -> None:
    """As after a failover: 503 while it is read-only, and then the next request is served."""
    url = postgres.database()
    name = urlsplit(url).path[1:]
    with served(url) as (database, base_url), psycopg.connect(url, autocommit=True) as other:
        _, key = database.create_key(WIDE, label="", now=NOON)
        other.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        )
        refused = [post(client(key), base_url) for _ in range(2)]
        health = requests.get(f"{base_url}/health", timeout=5)
        other.execute("SET default_transaction_read_only = off")
        other.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
        back = post(client(key), base_url)

    assert all(is_refused(answer) for answer in refused)
    assert (health.status_code, "is read-only" in health.text) == (503, True)
    assert (back.status_code, back.json()["id"]) == (201, 1)


def test_a_connection_that_went_bad_is_renewed(where: str) -> None:
    """
    A session of PostgreSQL that was ended or left read-only; an SQLite file that was opened
    read-only.
    """
    with served(where) as (database, base_url):
        _, key = database.create_key(WIDE, label="", now=NOON)
        made = [post(client(key), base_url).status_code]
        if where.startswith("postgresql"):
            database._db._db.execute("SET default_transaction_read_only = on")
            made.append(post(client(key), base_url).status_code)
            with psycopg.connect(where) as other:
                ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
                other.execute(f"{ended} AND datname = current_database()")
        else:
            database._db.close()
            database._db._db = sqlite3.connect(
                f"file:{where}?mode=ro", uri=True, isolation_level=None, check_same_thread=False
            )
            health = requests.get(f"{base_url}/health", timeout=5)
            assert (health.status_code, "is read-only" in health.text) == (503, True)
        made.append(post(client(key), base_url).status_code)

    assert set(made) == {201}


def test_what_is_read_outside_a_transaction_has_no_end_of_the_last_one(postgres: Postgres) -> None:
    """
    As `keys list` beside a service: the time that the last transaction had is over, and does not
    count.
    """
    database = Database(postgres.database())
    with database.transaction([("", "address 192.0.2.1")], within_s=0.2):
        pass
    time.sleep(0.3)

    assert database.page(after=0, limit=1, status=None) == database.list_keys() == []
    database.close()


@pytest.mark.skipif(bool(absent()), reason=f"no PostgreSQL: {absent()}")
def test_a_server_that_was_restarted_between_two_requests_costs_no_error() -> None:
    """Nothing had begun on the old connection."""
    with running() as server, served(server.database()) as (database, base_url):
        _, key = database.create_key(WIDE, label="", now=NOON)
        before = post(client(key), base_url)
        server.stop()
        server.start()
        after = post(client(key), base_url)

    assert (before.status_code, after.status_code) == (201, 201)


def test_a_session_that_is_cut_before_its_commit_is_known_to_have_changed_nothing(
    postgres: Postgres,
) -> None:
    """The service says so, in place of "not known": only a commit can have an unknown outcome."""
    url = postgres.database()
    with served(url) as (database, base_url), psycopg.connect(url, autocommit=True) as other:
        _, key = database.create_key(WIDE, label="", now=NOON)
        real = database.save

        def cut(*what: Any) -> list[int]:
            other.execute("SELECT pg_terminate_backend(%s)", (database._db._db.info.backend_pid,))
            return real(*what)

        database.save = cut  # type: ignore[method-assign]
        refused = post(client(key), base_url)
        database.save = real  # type: ignore[method-assign]
        existing, back = animals(database), post(client(key), base_url)

    assert is_refused(refused)
    assert (existing, back.status_code) == (0, 201)


def test_only_a_create_whose_commit_failed_is_not_known(where: str) -> None:
    """An fsync that failed may have written it; what was asked beside it can be asked again."""
    with served(where) as (database, base_url), ThreadPoolExecutor(8) as pool:
        _, key = database.create_key(WIDE, label="", now=NOON)
        real = database._db._run
        failed = psycopg.OperationalError("the connection is lost")
        if not where.startswith("postgresql"):
            failed = sqlite3.OperationalError("disk I/O error")  # type: ignore[assignment]
            failed.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC  # type: ignore[attr-defined]

        def fails(statements: Any) -> Any:
            found = real(statements)
            if statements == [("COMMIT", ())]:
                raise failed
            return found

        def ask(n: int) -> tuple[int, requests.Response]:
            pets = f"{base_url}/pets"
            if n % 4 == 0:
                return n % 4, post(client(key), base_url)
            if n % 4 == 1:
                return n % 4, client(key).post(pets, json={"name": ""}, timeout=20)
            return n % 4, client(key if n % 4 == 2 else "").get(pets, timeout=20)

        post(client(key), base_url)  # from now on the key is known, and a body is read at once
        database._db._run = fails  # type: ignore[method-assign]
        answers = list(pool.map(ask, range(32)))
        database._db._run = real  # type: ignore[method-assign]

    for kind, answer in answers:
        if kind == 0:
            assert (answer.status_code, "not known" in answer.text) == (500, True)
        elif kind != 2:
            assert answer.status_code == (400 if kind == 1 else 401)
        else:
            assert is_refused(answer)


def test_a_session_that_stands_still_lets_go_of_what_others_wait_for(postgres: Postgres) -> None:
    """
    As a machine that was paused within a commit: others wait two seconds for it, not until it
    wakes.
    """
    url = postgres.database()
    with served(url) as (database, base_url):
        key_id, key = database.create_key(WIDE, label="", now=NOON)
        post(client(key), base_url)
        paused = Database(url, own_time=False)
        with suppress(UnavailableError), paused.transaction([("", "h")]):
            paused.save({f"key {key_id}": Usage()}, NOON)
            (lost,) = paused.add([("lost", 1, None)])
            made, took_s = timed(lambda: post(client(key), base_url))
        again = [pet[1] for pet in database.page(after=0, limit=9, status=None)]
        paused.close()

    assert made.status_code == 201
    assert took_s < 3.5
    assert (again, made.json()["id"] > lost) == (["Rex", "Rex"], True)


@pytest.mark.skipif(sys.platform != "linux", reason="stops the server's process")
def test_a_commit_that_reaches_a_server_late_is_not_made(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server was paused when it came: the response says so, and the animal never exists."""
    monkeypatch.setattr(app, "DATABASE_S", 0.5)
    monkeypatch.setattr(postgres_engine, "IDLE_S", 0.5)
    url = postgres.database()
    with served(url) as (database, base_url):
        _, key = database.create_key(WIDE, label="", now=NOON)
        post(client(key), base_url)
        real, stopped = database._db._run, []

        def late(statements: Any) -> Any:
            if statements == [("COMMIT", ())] and not stopped:
                stopped.append(database._db._db.info.backend_pid)
                os.kill(stopped[0], signal.SIGSTOP)
            return real(statements)

        database._db._run = late  # type: ignore[method-assign]
        unknown = post(client(key), base_url, "late")
        time.sleep(0.5)
        os.kill(stopped[0], signal.SIGCONT)
        gone = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s"
        with psycopg.connect(url, autocommit=True) as other:
            until(lambda: other.execute(gone, (stopped[0],)).fetchone() == (0,))
        existing = [pet[1] for pet in database.page(after=0, limit=9, status=None)]

    assert (unknown.status_code, "not known" in unknown.text) == (500, True)
    assert existing == ["Rex"]


@pytest.mark.skipif(sys.platform != "linux", reason="stops the service's process")
def test_a_create_whose_caller_is_long_gone_is_not_made(where: str, tmp_path: Path) -> None:
    """
    The service's process was paused when the request came; its caller may have looked for it since.
    """
    database, clock = Database(where, own_time=False), FileClock(tmp_path / "clock", NOON)
    _, key = database.create_key(WIDE, label="", now=NOON)
    with processes(where, clock, 1, "2") as ((pid, base_url),):
        made = post(client(key), base_url)
        os.kill(pid, signal.SIGSTOP)
        head = f"POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n"
        body = '{"name":"late","categoryId":1}'
        kind = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        with socket.create_connection(
            ("127.0.0.1", urlsplit(base_url).port or 0), timeout=5
        ) as caller:
            caller.sendall((head + kind + body).encode())
        time.sleep(2.5)
        os.kill(pid, signal.SIGCONT)
        listed = client(key).get(f"{base_url}/pets", timeout=10).json()
        time.sleep(0.6)
        again = post(client(key), base_url)
    existing = animals(database)
    database.close()

    assert (made.status_code, len(listed)) == (201, 1)
    assert (again.status_code, existing) == (201, 2)
