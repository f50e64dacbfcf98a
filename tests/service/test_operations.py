"""
The operations on SQLite and on PostgreSQL: one behaviour, and nothing acknowledged is
lost.
"""

import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from postgres import Bouncer, Postgres
from pydantic import SecretStr
from services import NOON, Caller, serve_in_thread, stored_ids, wait_until

from petstore_tools.service.database import Database
from petstore_tools.service.messages import LIST_PATH, Request
from petstore_tools.service.operations import Operations
from petstore_tools.service.postgres_engine import PostgresEngine


def test_a_restart_forgets_nothing(where: str) -> None:
    """Animals, keys, counters; and the second start finds the tables as they are."""
    with serve_in_thread(where) as (_, caller):
        before = caller.post()
    with serve_in_thread(where) as (_, other):
        after = Caller(other.base_url, caller.key).post()
        listed = other.get().json()

    left = [
        int(created.headers["X-RateLimit-Remaining"]) for created in (before, after)
    ]
    assert left[0] - left[1] == 1
    assert listed == [before.json(), after.json()]


@pytest.mark.parametrize(
    "body",
    [
        {"name": "x" * 10_000, "categoryId": -(2**63)},
        {"name": "名前 🐕 \x00 '", "categoryId": 2**63 - 1},
        {"name": "%s ? ;", "categoryId": 7.0, "status": "sold"},
    ],
)
def test_animals_come_back_as_they_were(where: str, body: dict[str, Any]) -> None:
    """Whatever the database's own text can hold; 7.0 counts as an integer."""
    with serve_in_thread(where) as (_, caller):
        created = caller.post(**body).json()
        listed = caller.get("/pets/1").json()

    assert created == listed == {"id": 1, **body}


def test_staff_changes_show_at_once(where: str) -> None:
    """
    Pages are kept as bytes; a change or removal drops them, whichever connection made
    it.
    """
    admin = Database(where, uses_database_clock=False)
    with serve_in_thread(where) as (database, caller):
        database.add_many([(f"Pet {n}", 1, "available") for n in range(150)])
        pets = "/pets?limit=100"
        assert caller.get(pets).content == caller.get(pets).content

        assert admin.change(5, "sold")
        changed = caller.get(pets).json()
        assert admin.remove(6)
        removed = caller.get(pets).json()

    admin.close()
    assert (changed[4]["status"], changed[5]["id"]) == ("sold", 6)
    assert removed[5]["id"] == 7


# else the server ends a session that a busy machine keeps from going on
PATIENCE = "SET LOCAL idle_in_transaction_session_timeout = 0"
WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


def test_ids_become_visible_in_order(postgres: Postgres) -> None:
    """
    While a lower id is not committed no higher one is: a reader that pages on misses
    none.
    """
    url = postgres.database()
    engine = PostgresEngine(SecretStr(url))

    def create() -> int:
        # on a busy machine, it may wait too long for the lock
        while (answer := caller.post()).status_code != 201:
            assert answer.status_code == 503
        return int(answer.json()["id"])

    with serve_in_thread(url) as (_, caller), ThreadPoolExecutor(1) as pool:
        first = create()
        with engine.transaction():
            insert = engine.insert_statements([("held", 1, None)])
            [[(held,)], _] = engine.execute(*insert, (PATIENCE, ()))
            later = pool.submit(create)
            wait_until(lambda: engine.execute((WAITING, ())) == [[(1,)]])
            assert stored_ids(url) == {first}
        last = later.result()
        engine.close()

    assert held < last
    assert stored_ids(url) == {first, held, last}


@pytest.mark.parametrize("is_pooled", [False, True])
def test_only_behind_pgbouncer_no_statement_has_a_name(
    postgres: Postgres, pgbouncer: Bouncer, is_pooled: bool
) -> None:
    """In transaction mode, the session that knows a name may be another one's next."""
    url = postgres.database()
    engine = PostgresEngine(SecretStr(pgbouncer.url(url) if is_pooled else url))

    assert [engine.execute(("SELECT 1", ())) for _ in range(12)] == [[[(1,)]]] * 12
    names = engine.execute(("SELECT statement FROM pg_prepared_statements", ()))
    assert (names == [[]]) == is_pooled
    engine.close()


def respond(operations: Operations, method: str, query: bytes = b"limit=9") -> Any:
    request = Request(method, LIST_PATH, query, pet=("Rex", 1, None))
    return operations.respond(request)


def test_within_one_commit_a_page_shows_what_was_created_before_it_and_nothing_undone(
    tmp_path: Path,
) -> None:
    """
    Also where the page was kept; and where the commit failed, what it kept is
    forgotten.
    """
    database = Database(tmp_path / "service.db")
    operations = Operations(database)
    with suppress(RuntimeError), database.transaction([("", "h")]) as state:
        operations.begin(NOON, state.changes)
        before, created, after = (
            respond(operations, method) for method in ("GET", "POST", "GET")
        )
        raise RuntimeError
    operations.begin(NOON, -1)
    with database.transaction([("", "h")]) as state:
        operations.begin(NOON, state.changes)
        undone = respond(operations, "GET")
    database.close()

    assert (before.body, undone.body) == (b"[]", b"[]")
    assert after.body == b"[" + created.body + b"]"


def test_pages_of_many_different_queries_are_not_all_kept(tmp_path: Path) -> None:
    """However small they are: what is kept is bounded."""
    database = Database(tmp_path / "service.db", durability="OFF")
    database.add_many([("x" * 100, 1, None) for _ in range(101)])
    operations = Operations(database)
    held = []
    tracemalloc.start()
    for n in range(2_000):
        respond(operations, "GET", b"limit=100&x=%d" % n)
        held.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    database.close()

    assert max(held) < 1.2 * max(held[:1_000])


def test_long_pages_that_nobody_has_read_are_refused_beyond_a_bound(
    tmp_path: Path,
) -> None:
    """
    Each is megabytes; short ones, of one animal with the longest name, are still
    served.
    """
    database = Database(tmp_path / "service.db", durability="OFF")
    database.add_many([("🐕" * 10_000, 1, None) for _ in range(100)])
    operations = Operations(database)
    unread = [respond(operations, "GET", b"limit=100") for _ in range(60)]
    short = respond(operations, "GET", b"limit=1")
    sizes = sum(len(answer.body) for answer in unread)
    unread_statuses = {answer.status for answer in unread}
    del unread[:]
    next_page = respond(operations, "GET", b"limit=100")
    database.close()

    assert sizes < 140 << 20
    assert unread_statuses == {200, 503}
    assert (short.status, next_page.status) == (200, 200)


def test_the_time_is_read_when_the_counters_are_held(postgres: Postgres) -> None:
    """
    A request that waited for another worker's commit belongs to the window in which it
    was counted.
    """
    url = postgres.database()
    database = Database(url)
    senders = [("", "address 192.0.2.1")]
    with database.transaction(senders) as state:
        database.save(state.usages)

    def count() -> float:
        with database.transaction(senders) as state:
            return state.time or 0.0

    with psycopg.connect(url) as other, ThreadPoolExecutor(1) as pool:
        other.execute("SELECT * FROM usage FOR UPDATE")
        counted = pool.submit(count)
        wait_until(
            lambda: other.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone()
        )
        held_at = time.time()  # of the same machine
        other.rollback()
        counted_at = counted.result()
    database.close()

    assert counted_at > held_at
