"""
The operations on SQLite and on PostgreSQL: one behaviour, and nothing acknowledged is
lost.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import psycopg
import pytest
from services import (
    NOON,
    WIDE_PLAN,
    Caller,
    remaining,
    serve_in_thread,
    stored_ids,
    wait_until,
)

from petstore_tools.service.database import (
    Database,
    PostgresSession,
    digest_key,
)


def test_a_restart_forgets_nothing(where):
    """Animals, keys, counters; and the second start finds the tables as they are."""
    with serve_in_thread(where) as (_, caller):
        before = caller.post()
    with serve_in_thread(where) as (_, other):
        after = Caller(other.base_url, caller.key).post()
        listed = other.get().json()

    assert remaining(before) - remaining(after) == 1
    assert listed == [before.json(), after.json()]


@pytest.mark.parametrize(
    "body",
    [
        {"name": "🐕" * 255, "categoryId": -(2**63)},
        {"name": "名前 🐕 \x01 '", "categoryId": 2**63 - 1},
        {"name": "%s ? ;", "categoryId": 7.0, "status": "sold"},
    ],
)
def test_animals_come_back_as_they_were(where, body):
    """
    Whatever the database's own text can hold, up to 255 characters, each sent as two
    escapes of six bytes; 7.0 counts as an integer.
    """
    with serve_in_thread(where) as (_, caller):
        created = caller.post(**body).json()
        listed = caller.get("/pets/1").json()

    assert created == listed == {"id": 1, **body}


def test_staff_changes_show_at_once(where):
    """Whichever connection made them."""
    with (
        serve_in_thread(where) as (database, caller),
        closing(Database(where)) as admin,
    ):
        database.add_many([("Rex", 1, "available"), ("Mia", 1, "available")])
        before = caller.get().json()
        admin.execute("UPDATE pet SET status = 'sold' WHERE id = 2 RETURNING 1")
        changed = caller.get().json()
        admin.execute("DELETE FROM pet WHERE id = 1 RETURNING 1")
        removed = caller.get().json()

    assert changed == [before[0], {**before[1], "status": "sold"}]
    assert removed == changed[1:]


# else the server ends a session that a busy machine keeps from going on
PATIENCE = "SET LOCAL idle_in_transaction_session_timeout = 0"
ADD = "INSERT INTO pet (name, category_id) VALUES ('held', 1) RETURNING id"
WAITING = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


def test_ids_become_visible_in_order(postgres):
    """
    While a lower id is not committed no higher one is: a reader that pages on misses
    none.
    """
    url = postgres.database()

    def create():
        # on a busy machine, it may wait too long for the lock
        while (answer := caller.post()).status_code != 201:
            assert answer.status_code == 503
        return int(answer.json()["id"])

    with (
        serve_in_thread(url) as (_, caller),
        ThreadPoolExecutor(1) as pool,
        psycopg.connect(url) as other,
        psycopg.connect(url, autocommit=True) as watching,
    ):
        first = create()
        for statement in (PATIENCE, PostgresSession.id_lock, ADD):
            row = other.execute(statement)
        (held,) = row.fetchone() or ()
        later = pool.submit(create)
        wait_until(lambda: watching.execute(WAITING).fetchone())
        assert stored_ids(url) == {first}
        other.commit()
        last = later.result()

    assert held < last
    assert stored_ids(url) == {first, held, last}


def test_it_serves_behind_pgbouncer(postgres, pgbouncer):
    """
    In transaction mode each transaction may be in another session: each has its limits,
    and none leaves a name or a setting behind.
    """
    url = pgbouncer(postgres.database())
    with serve_in_thread(url) as (database, caller), ThreadPoolExecutor(12) as pool:
        answers = [*pool.map(lambda _: caller.post(), range(60))]
        answers += pool.map(lambda _: caller.get(), range(60))
        limits = database.execute(
            "SELECT current_setting('lock_timeout'), current_setting("
            "'statement_timeout'), current_setting("
            "'idle_in_transaction_session_timeout')"
        )
        names = database.execute("SELECT * FROM pg_prepared_statements")

    assert [answer.status_code for answer in answers] == [201] * 60 + [200] * 60
    assert limits == [("3s", "3500ms", "2s")]
    assert names == []
    assert len(stored_ids(url)) == 60


def test_the_time_is_read_when_the_counters_are_held(postgres):
    """
    A request that waited for another worker's commit belongs to the window in which it
    was counted.
    """
    url = postgres.database()
    database = Database(url)
    _, key = database.create_key(WIDE_PLAN, label="", now=NOON)

    def find_time(session):
        *_, counted_at = session.find_key(digest_key(key)) or (None,)
        return counted_at or 0.0

    with psycopg.connect(url) as other, ThreadPoolExecutor(1) as pool:
        other.execute("SELECT * FROM key FOR UPDATE")
        found = pool.submit(database.run, find_time)
        wait_until(
            lambda: other.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone()
        )
        held_at = time.time()  # of the same machine
        other.rollback()
        counted_at = found.result()
    database.close()

    assert counted_at > held_at
