"""The service with many workers, behind a proxy, and beside a database that restarts."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests
from postgres import Postgres, absent, running
from services import NOON, WIDE, FileClock, client, post, served, until, workers

from petstore_tools.plans import Plan
from petstore_tools.service.database import Database


@pytest.mark.skipif(bool(absent()), reason=f"no PostgreSQL: {absent()}")
def test_a_database_that_restarts_costs_an_error_and_no_more() -> None:
    """While it is gone there are Errors that name a wait; then the service goes on by itself."""
    with running() as server, served(server.database()) as (database, base_url):
        _, key = database.create_key(WIDE, label="", now=NOON)
        assert post(client(key), base_url).status_code == 201
        server.stop()
        gone = post(client(key), base_url)
        server.start()
        back = post(client(key), base_url)

    assert (gone.status_code, gone.headers["X-RateLimit-Limit"].isdecimal()) == (503, True)
    assert gone.headers["Retry-After"] == "5"
    assert "secret" not in gone.text
    assert (back.status_code, back.json()["id"] >= 2) == (201, True)


@pytest.mark.case("P57", "P59")
def test_two_worker_processes_accept_exactly_the_plan_in_each_window(
    postgres: Postgres, tmp_path: Path
) -> None:
    """Sixteen clients hammer one key over both, in three windows: not one over, not one short."""
    url = postgres.database()
    clock = FileClock(tmp_path / "clock", NOON)
    database = Database(url, own_time=False)
    _, key = database.create_key(Plan(100, 10_000), label="", now=NOON)
    accepted = []
    with workers(url, clock, 2) as urls:
        for _ in range(3):
            with ThreadPoolExecutor(16) as pool:
                asked = [f"{urls[n % 2]}/pets?limit=1" for n in range(144)]
                answers = list(
                    pool.map(lambda url: client(key).get(url, timeout=20).status_code, asked)
                )
            accepted.append(Counter(answers))
            clock.advance(60)
    database.close()

    assert accepted == [{200: 100, 429: 44}] * 3


def test_ids_become_visible_in_order(postgres: Postgres) -> None:
    """While a lower id is not committed no higher one is: a reader that pages on misses none."""
    url = postgres.database()
    with served(url) as (database, base_url):
        _, key = database.create_key(WIDE, label="", now=NOON)
        post(client(key), base_url)
        other = Database(url, own_time=False)
        seen: list[int] = []
        reader = client(key)

        def page_on() -> None:
            found = other_reader.page(after=seen[-1] if seen else 0, limit=100, status=None)
            seen.extend(pet[0] for pet in found)

        other_reader = Database(url, own_time=False)
        with ThreadPoolExecutor(1) as pool:
            with other._db.transaction():
                (held,) = other.add([("held", 1, None)])
                later = pool.submit(lambda: post(reader, base_url, "later"))
                for _ in range(10):
                    page_on()
                    time.sleep(0.02)
                assert not later.done()
                assert seen == [1]
            assert later.result().json()["id"] > held
        page_on()
        other.close()
        other_reader.close()

    assert seen == [1, held, later.result().json()["id"]]


@pytest.mark.skipif(sys.platform != "linux", reason="finds the workers in /proc")
def test_kill_9_of_a_worker_loses_nothing_acknowledged(postgres: Postgres, tmp_path: Path) -> None:
    """
    `serve --workers 2` goes on with the other and starts a new one; every animal acknowledged
    exists.
    """
    url = postgres.database()
    database = Database(url)
    _, key = database.create_key(WIDE, label="", now=time.time())
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    env = {**os.environ, "PETSTORE_DATABASE_URL": url}
    command = [
        sys.executable,
        "-m",
        "petstore_tools",
        "serve",
        "--workers",
        "2",
        "--port",
        str(port),
    ]
    served_by = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)
    acknowledged: list[int] = []
    lock, end = threading.Lock(), threading.Event()

    def create() -> None:
        while not end.is_set():
            try:
                made = post(client(key), f"http://127.0.0.1:{port}/v1")
            except requests.ConnectionError:
                continue
            with lock:
                acknowledged.append(made.json()["id"])

    try:
        until(lambda: _is_up(port))
        threads = [threading.Thread(target=create) for _ in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(2):
            before = len(acknowledged)
            until(lambda: len(acknowledged) > before + 50)  # noqa: B023
            children = _workers_of(served_by.pid)
            os.kill(children[0], signal.SIGKILL)
            until(lambda: len(set(_workers_of(served_by.pid)) - set(children)) >= 1)  # noqa: B023
        before = len(acknowledged)
        until(lambda: len(acknowledged) > before + 50)
        end.set()
        for thread in threads:
            thread.join()
    finally:
        end.set()
        served_by.terminate()
        _, said = served_by.communicate(timeout=20)
    (rows,) = database._db.execute(("SELECT id FROM pet", ()))
    existing = {row[0] for row in rows}
    database.close()

    assert len(acknowledged) == len(set(acknowledged)) > 150
    assert set(acknowledged) <= existing
    assert "a-secret-word" not in said
    assert "with 2 workers" in said


def _is_up(port: int) -> bool:
    try:
        return requests.get(f"http://127.0.0.1:{port}/v1/health", timeout=2).status_code == 200
    except requests.ConnectionError:
        return False


def _workers_of(pid: int) -> list[int]:
    """
    Return the children that serve: those that were spawned, not the tracker of their resources.
    """
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [
        int(child)
        for child in children
        if "spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes().decode()
    ]


def test_health_and_the_document_need_no_key_and_cost_nothing(where: str) -> None:
    """A probe each second takes nobody's quota."""
    with served(where) as (_, base_url):
        for _ in range(70):
            assert requests.get(f"{base_url}/health", timeout=5).json() == {
                "status": "ok",
                "database": "ok",
            }
        assert requests.get(f"{base_url}/openapi.json", timeout=5).json()["openapi"] == "3.1.0"
        assert requests.post(f"{base_url}/health", timeout=5).status_code == 405
        refused = requests.get(f"{base_url}/pets", timeout=5)

    assert (refused.status_code, refused.headers["X-RateLimit-Remaining"]) == (401, "59")
