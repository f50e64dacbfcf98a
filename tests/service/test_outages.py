"""
A database that is locked, read-only, silent or gone: 503 while it lasts, and all is
well afterwards.
"""

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from postgres import missing_postgres, run_postgres
from services import (
    calling,
    database_change,
    database_lock,
    remaining,
    serve_in_thread,
    stored_ids,
    stored_pets,
    wait_until,
)
from serving import ServeProcess, run_serve
from tables import read_json
from tcp_proxy import TcpProxy

from petstore_tools.service.app import Permit
from petstore_tools.service.database import (
    Database,
    UnavailableError,
)


def is_refused(answer):
    """Say whether it is a 503 that is safe to send again, and says when."""
    if answer.status_code != 503:
        return False
    assert answer.json()["code"] == "unavailable"
    assert "nothing was changed" in answer.json()["message"]
    return answer.headers["Retry-After"] == "5"


def is_unknown(answer):
    return answer.status_code == 500 and "not known" in answer.json()["message"]


def refuses(path, answers):
    return any(is_refused(answer) for answer in answers if path in answer.url)


@contextmanager
def answering(served):
    """
    Callers that create, list and ask for health, each again and again: all their
    answers.
    """
    answers = []

    def call(path):
        answers.append(served.caller.get(path) if path else served.caller.post())

    paths = ["", "", "/pets?limit=1", "/health"] * 2
    with calling(*[partial(call, path) for path in paths]):
        wait_until(lambda: len(answers) > 20)
        yield answers


@dataclass(frozen=True)
class Target:
    """A service, its database, and what can be done to that."""

    served: ServeProcess
    where: str
    server: Any = None
    proxy: Any = None


# what is done to a database, what undoes it, and what follows both
CHANGES = read_json(__file__, "outages.json")
# a create may have been on its way
LOST = ("silent", "sessions ended", "read-only", "stopped")


@contextmanager
def befall(target, outage):
    """Let an outage last as long as the block."""
    match outage:
        case "silent":
            target.proxy.flowing.clear()
            yield
            target.proxy.flowing.set()
        case "stopped":
            target.server.stop()
            yield
            target.server.start()
        case _:
            with database_change(target.where, *CHANGES[outage]):
                yield


@pytest.fixture(scope="module")
def on_postgres():
    """Four workers on a server of their own."""
    if reason := missing_postgres():
        pytest.skip(f"no PostgreSQL: {reason}")
    with run_postgres() as server, TcpProxy(server.port) as proxy:
        url = server.database()
        with run_serve(proxy.url(url), "--workers", "4") as served:
            yield Target(served, url, server, proxy)


@pytest.fixture(scope="module")
def on_sqlite(tmp_path_factory):
    path = tmp_path_factory.mktemp("outages") / "service.db"
    with run_serve(path) as served:
        yield Target(served, str(path))


@pytest.mark.parametrize("outage", [*CHANGES, "silent", "stopped"])
def test_whatever_becomes_of_a_database_is_a_503_and_passes(request, outage):
    """
    While it lasts all are refused, and nothing was changed; behind it all is well, with
    every worker, and nothing that was acknowledged is missing.
    """
    is_file = outage in ("file locked", "key away")
    fixture = "on_sqlite" if is_file else "on_postgres"
    target = request.getfixturevalue(fixture)
    existing = stored_ids(target.where)
    with answering(target.served) as answers:
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

    unknown = [answer for answer in answers if not (answer.ok or is_refused(answer))]
    assert all(map(is_unknown, unknown))
    assert not unknown or outage in LOST
    assert "secret" not in "".join(answer.text for answer in answers)
    acknowledged = [
        answer.json()["id"] for answer in answers if answer.status_code == 201
    ]
    created = stored_ids(target.where) - existing
    assert len(acknowledged) == len(set(acknowledged))
    assert set(acknowledged) <= created
    assert len(created) <= len(acknowledged) + len(unknown)


def test_a_lock_is_waited_for_by_all_and_a_short_one_costs_no_error(where):
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


def test_only_a_create_whose_commit_was_sent_is_not_known(postgres):
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
        existing = stored_pets(database)
        back = caller.post()

    assert is_unknown(unknown)
    assert unknown.json()["code"] == "internal_error"
    assert is_refused(invalid)
    assert is_refused(listed)
    assert len(existing) <= 1
    assert back.status_code == 201


@pytest.fixture(scope="module")
def still_disk(tmp_path_factory):
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
def test_a_disk_that_stands_still_costs_answers_and_no_animal(tmp_path, still_disk):
    """
    The one create that is in its commit is not known, all others were refused; health
    is a 503, what asks no database is served, and all is well behind it.
    """
    path = tmp_path / "service.db"
    still = tmp_path / "still"
    env = {"LD_PRELOAD": str(still_disk), "DISK_STANDS_STILL_WHILE": str(still)}
    with run_serve(path, **env) as served, ThreadPoolExecutor(4) as pool:
        assert served.caller.post().status_code == 201
        still.touch()
        creates = {name: pool.submit(served.caller.post, name) for name in "abcd"}
        wait_until(lambda: is_refused(served.caller.get("/health")))
        prompt = [
            served.caller.get(path).status_code for path in ("/live", "/openapi.json")
        ]
        answers = {name: create.result() for name, create in creates.items()}
        still.unlink()
        wait_until(lambda: served.caller.get("/health").ok)
        names = [pet["name"] for pet in served.caller.get().json()]
        created = served.caller.post()

    unknown = [name for name in answers if not is_refused(answers[name])]
    assert prompt == [200, 200]
    assert len(unknown) <= 1
    assert all(is_unknown(answers[name]) for name in unknown)
    assert names in (["Rex"], ["Rex", *unknown])
    assert created.status_code == 201


def test_a_database_that_takes_no_writes_is_not_well(postgres):
    """Health is asked by writing something: a value that stays would be none."""
    url = postgres.database()
    with serve_in_thread(url) as (_, caller):
        with database_change(url, *CHANGES["read-only"]):
            refused = [caller.get("/health") for _ in range(5)]
        well = caller.get("/health")

    assert all(map(is_refused, refused))
    assert well.status_code == 200


def test_a_session_that_ended_while_nobody_asked_costs_no_error(postgres):
    """The next transaction has a connection of its own, whichever thread it is in."""
    url = postgres.database()
    ended, _ = CHANGES["sessions ended"]
    with serve_in_thread(url) as (_, caller), ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: caller.get(), range(16)))
        with psycopg.connect(url, autocommit=True) as other:
            other.execute(f"{ended} AND datname = current_database()")
        answers = list(pool.map(lambda _: caller.post(), range(16)))

    assert [answer.status_code for answer in answers] == [201] * 16


def test_a_session_that_stands_still_lets_go_of_what_others_wait_for(
    postgres, pgbouncer
):
    """
    As a machine that was paused within a commit: others do not wait until it wakes,
    behind PgBouncer either.
    """
    url = pgbouncer(postgres.database())
    undone_ids = []
    answers = []

    def pause(session):
        session.execute("SELECT * FROM key FOR UPDATE")
        undone_ids.extend(session.add_pets([("lost", 1, None)]))
        answers.append(caller.post())

    with serve_in_thread(url) as (_, caller), closing(Database(url)) as paused:
        caller.post()
        with pytest.raises(UnavailableError):
            paused.run(pause)

    (answer,) = answers
    assert answer.status_code == 201
    assert answer.json()["id"] > max(undone_ids)
    assert stored_ids(url) == {1, answer.json()["id"]}


def test_a_row_that_the_database_refuses_is_a_400_that_is_counted(where):
    """As where its owner lets no name repeat."""
    change = "CREATE UNIQUE INDEX one ON pet (name)", "DROP INDEX one"

    with serve_in_thread(where) as (database, caller), database_change(where, *change):
        answers = [caller.post(name) for name in "abcbd"]
        pets = stored_pets(database)

    assert [answer.status_code for answer in answers] == [201, 201, 201, 400, 201]
    left = [*map(remaining, answers)]
    assert left == [*range(left[0], left[0] - 5, -1)]
    assert [name for _, name, *_ in pets] == list("abcd")


@pytest.mark.parametrize("creates", [True, False])
def test_only_a_create_that_commits_is_unknown_when_it_is_given_up(creates):
    """What is given up before its commit is not committed."""
    early, late = Permit(60), Permit(60)

    assert early.may_commit(creates)
    assert early.withdraw() == creates
    assert not late.withdraw()
    assert not late.may_commit(creates)


def test_what_is_late_is_not_committed():
    """Also if the event loop had no time to give it up."""
    permit = Permit(-1)

    assert not permit.may_commit(True)
    assert not permit.withdraw()


def test_what_waits_for_a_thread_and_is_given_up_is_never_done(tmp_path):
    """Health is given up while a lock is held; its question is not written later."""
    path = str(tmp_path / "service.db")
    with serve_in_thread(path) as (database, caller), ThreadPoolExecutor(1) as pool:
        with database_lock(path):
            waiting = pool.submit(caller.post)
            wait_until(lambda: is_refused(caller.get("/health")))
        assert waiting.result().status_code == 201
        (checks,) = database.execute("SELECT checks FROM inventory")[0]

    assert checks == 1  # that of the start
