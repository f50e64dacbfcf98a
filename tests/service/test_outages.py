"""
A database that is locked, read-only, silent or gone: 503 while it lasts, and all is
well afterwards.
"""

import asyncio
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
from postgres import Bouncer, Postgres, missing_postgres, run_postgres
from pydantic import SecretStr
from services import (
    NOON,
    WIDE_PLAN,
    database_change,
    database_lock,
    serve_in_thread,
    stored_ids,
    wait_until,
)
from serving import ServeProcess, run_serve
from tables import read_json
from tcp_proxy import TcpProxy

from petstore_tools.clock import ManualClock
from petstore_tools.service.app import TICK_S, Service
from petstore_tools.service.database import Database
from petstore_tools.service.engine import UnavailableError
from petstore_tools.service.limiter import Usage
from petstore_tools.service.messages import LIST_PATH, Request, Response
from petstore_tools.service.postgres_engine import PostgresEngine


def is_refused(answer: requests.Response) -> bool:
    """Say whether it is a 503 that is safe to send again, and says when."""
    if answer.status_code != 503:
        return False
    assert answer.json()["code"] == "unavailable"
    assert "nothing was changed" in answer.json()["message"]
    return answer.headers["Retry-After"] == "5"


def refuses(path: str, answers: list[requests.Response]) -> bool:
    return any(is_refused(answer) for answer in answers if path in answer.url)


@contextmanager
def calling(served: ServeProcess) -> Iterator[list[requests.Response]]:
    """
    Callers that create, list and ask for health, each again and again: all their
    answers.
    """
    end = threading.Event()
    answers: list[requests.Response] = []

    def call(path: str) -> None:
        while not end.is_set():
            answers.append(served.caller.get(path) if path else served.caller.post())

    with ThreadPoolExecutor(8) as pool:
        calls = [
            pool.submit(call, path) for path in ["", "", "/pets?limit=1", "/health"] * 2
        ]
        try:
            wait_until(lambda: len(answers) > 20)
            yield answers
        finally:
            end.set()
    for ended in calls:
        ended.result()


@dataclass(frozen=True)
class Target:
    """A service, its database, and what can be done to that."""

    served: ServeProcess
    where: str
    server: Any = None
    proxy: Any = None


@contextmanager
def do_and_undo(do: Callable[[], object], undo: Callable[[], object]) -> Iterator[None]:
    do()
    yield
    undo()


# what is done to a database, what undoes it, and what follows both
CHANGES = read_json(__file__, "outages.json")
# a create may have been on its way
LOST = ("silent", "sessions ended", "read-only", "stopped")


def befall(target: Target, outage: str) -> AbstractContextManager[None]:
    """Let an outage last as long as the block."""
    match outage:
        case "silent":
            flowing = target.proxy.flowing
            return do_and_undo(flowing.clear, flowing.set)
        case "stopped":
            return do_and_undo(target.server.stop, target.server.start)
    return database_change(target.where, *CHANGES[outage])


@pytest.fixture(scope="module")
def on_postgres() -> Iterator[Target]:
    """Four workers on a server of their own."""
    if reason := missing_postgres():
        pytest.skip(f"no PostgreSQL: {reason}")
    with run_postgres() as server, TcpProxy(server.port) as proxy:
        url = server.database()
        with run_serve(proxy.url(url), "--workers", "4") as served:
            yield Target(served, url, server, proxy)


@pytest.fixture(scope="module")
def on_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    path = tmp_path_factory.mktemp("outages") / "service.db"
    with run_serve(path) as served:
        yield Target(served, str(path))


@pytest.mark.parametrize("outage", [*CHANGES, "silent", "stopped"])
def test_whatever_becomes_of_a_database_is_a_503_and_passes(
    request: pytest.FixtureRequest, outage: str
) -> None:
    """
    While it lasts all are refused, and nothing was changed; behind it all is well, with
    every worker, and nothing that was acknowledged is missing.
    """
    is_file = outage in ("file locked", "usage away")
    fixture = "on_sqlite" if is_file else "on_postgres"
    target: Target = request.getfixturevalue(fixture)
    existing = stored_ids(target.where)
    with calling(target.served) as answers:
        with befall(target, outage):
            if outage != "sessions ended":
                wait_until(lambda: refuses("/pets", answers))
                wait_until(lambda: refuses("/health", answers))
        passed = len(answers) + 100
        wait_until(
            lambda: (
                len(answers) > passed and all(answer.ok for answer in answers[-100:])
            )
        )

    unknown = [answer for answer in answers if answer.status_code == 500]
    assert all("not known" in answer.text for answer in unknown)
    assert not unknown or outage in LOST
    assert all(
        answer.ok or is_refused(answer) for answer in answers if answer not in unknown
    )
    assert "secret" not in "".join(answer.text for answer in answers)
    acknowledged = [
        answer.json()["id"] for answer in answers if answer.status_code == 201
    ]
    created = stored_ids(target.where) - existing
    assert len(acknowledged) == len(set(acknowledged))
    assert set(acknowledged) <= created
    assert len(created) <= len(acknowledged) + len(unknown)


def test_a_lock_is_waited_for_by_all_and_a_short_one_costs_no_error(where: str) -> None:
    """Meanwhile health is a 503 within a second, and the document is served."""
    with serve_in_thread(where) as (_, caller), ThreadPoolExecutor(16) as pool:
        with database_lock(where):
            waiting = [pool.submit(caller.post) for _ in range(12)]
            health = caller.get("/health")
            document = caller.get("/openapi.json")
            assert not any(create.done() for create in waiting)
        created = [create.result().status_code for create in waiting]
        well = caller.get("/health")

    assert is_refused(health)
    assert document.status_code == 200
    assert created == [201] * 12
    assert (well.status_code, well.json()) == (200, {"status": "ok", "database": "ok"})


def test_only_a_create_whose_commit_was_sent_is_not_known(postgres: Postgres) -> None:
    """
    The connection is cut behind COMMIT, before its answer: a 500 that says so, made
    once; a create that would have been refused is safe to send again.
    """
    with (
        TcpProxy(postgres.port, cut_behind=b"COMMIT") as proxy,
        serve_in_thread(proxy.url(postgres.database())) as (database, caller),
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


@pytest.fixture(scope="module")
def still_disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the library in which a disk stands still while a file exists."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (Debian: apt-get install gcc)")
    library = tmp_path_factory.mktemp("still") / "still_disk.so"
    source = Path(__file__).parents[1] / "support" / "still_disk.c"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True
    )
    return library


@pytest.mark.skipif(sys.platform != "linux", reason="preloads a library")
def test_a_disk_that_stands_still_costs_creates_a_503_and_holds_up_nothing_else(
    tmp_path: Path, still_disk: Path
) -> None:
    """
    Health is a 503 within a second, what asks no database is served, and all is well
    behind it.
    """
    path = tmp_path / "service.db"
    still = tmp_path / "still"
    env = {"LD_PRELOAD": str(still_disk), "DISK_STANDS_STILL_WHILE": str(still)}
    with run_serve(path, **env) as served, ThreadPoolExecutor(4) as pool:
        assert served.caller.post().status_code == 201
        # of a create within its commit, or just behind one, only the commit's end tells
        wait_until(
            lambda: time.time() - path.with_name("service.db-wal").stat().st_mtime > 0.2
        )
        still.touch()
        creates = [pool.submit(served.caller.post, "refused") for _ in range(3)]
        wait_until(lambda: is_refused(served.caller.get("/health")))
        prompt = [
            served.caller.get(path).status_code for path in ("/live", "/openapi.json")
        ]
        assert not any(create.done() for create in creates)
        refused = [create.result() for create in creates]
        still.unlink()
        wait_until(lambda: served.caller.get("/health").ok)
        names = [pet["name"] for pet in served.caller.get().json()]
        created = served.caller.post()

    assert prompt == [200, 200]
    assert all(is_refused(create) for create in refused)
    assert names == ["Rex"]
    assert created.status_code == 201


def test_what_is_read_outside_a_transaction_has_no_end_of_the_last_one(
    postgres: Postgres,
) -> None:
    """
    As `keys list` beside a service: the time that the last transaction had does not
    count.
    """
    engine = PostgresEngine(SecretStr(postgres.database()))
    with engine.transaction(within_s=0.1):
        pass
    time.sleep(0.2)

    assert engine.execute(("SELECT * FROM pet", ())) == [[]]
    engine.close()


def test_a_session_that_ended_while_nobody_asked_costs_no_error(
    postgres: Postgres,
) -> None:
    """The next transaction has a connection of its own."""
    url = SecretStr(postgres.database())
    engine, other = PostgresEngine(url), PostgresEngine(url)
    ended, _ = CHANGES["sessions ended"]
    other.execute((f"{ended} AND datname = current_database()", ()))
    with engine.transaction(("SELECT 1", ())) as rows:
        assert rows == [[(1,)]]

    engine.close()
    other.close()


def test_a_session_that_stands_still_lets_go_of_what_others_wait_for(
    postgres: Postgres, pgbouncer: Bouncer
) -> None:
    """
    As a machine that was paused within a commit: others do not wait until it wakes,
    behind PgBouncer either.
    """
    url = pgbouncer.url(postgres.database())
    with serve_in_thread(url) as (database, caller):
        caller.post()
        (key,) = database.list_keys()
        paused = Database(url, uses_database_clock=False)
        with suppress(UnavailableError), paused.transaction([("", "h")]):
            (undone_id,) = paused.save({f"key {key.id}": Usage()}, [("lost", 1, None)])
            created = caller.post()
        paused.close()

    assert created.status_code == 201
    assert created.json()["id"] > undone_id
    assert stored_ids(url) == {1, created.json()["id"]}


@contextmanager
def service_without_a_socket(
    where: str, **options: Any
) -> Iterator[tuple[Database, Any]]:
    """Give a database, and what creates animals at once, each of a letter."""
    database = Database(where, uses_database_clock=False)
    _, key = database.create_key(WIDE_PLAN, label="", now=NOON)
    service = Service(database, ManualClock(NOON), **options)

    async def create(names: str) -> list[Response]:
        never: Any = asyncio.Event().wait
        creates = (Request("POST", LIST_PATH, key=key, pet=(n, 1, None)) for n in names)
        return await asyncio.gather(*(service.answer(one, never) for one in creates))

    yield database, create
    service.close()
    database.close()


def test_a_create_whose_caller_is_long_gone_is_not_made(where: str) -> None:
    """
    The service's process was paused when the request came; its caller may have looked
    for it since.
    """

    async def create_often() -> list[int]:
        answers = await create("a")
        time.sleep(2.5)
        answers += await create("b")
        await asyncio.sleep(3 * TICK_S)
        answers += await create("c")
        return [answer.status for answer in answers]

    with service_without_a_socket(where, max_create_age_s=2.0) as (database, create):
        assert asyncio.run(create_often()) == [201, 503, 201]
        assert len(database.page(after=0, limit=9, status=None)) == 2


def test_a_row_that_the_database_refuses_fails_alone(where: str) -> None:
    """
    Not those that are committed with it: as where its owner lets no name repeat.
    """
    change = "CREATE UNIQUE INDEX one ON pet (name)", "DROP INDEX one"

    with (
        service_without_a_socket(where) as (database, create),
        database_change(where, *change),
    ):
        answers = asyncio.run(create("abcbd"))
        names = [name for _, name, *_ in database.page(after=0, limit=9, status=None)]

    assert [answer.status for answer in answers] == [201, 201, 201, 400, 201]
    assert b"x-ratelimit-limit" in dict(answers[3].headers)
    assert names == list("abcd")
