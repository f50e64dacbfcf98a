"""
The service on SQLite and on PostgreSQL: one behaviour, many workers, nothing acknowledged is lost.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests
from postgres import Postgres
from services import NOON, WIDE, client, post, served, until

from petstore_tools.clock import ManualClock
from petstore_tools.plans import Plan
from petstore_tools.service import database as databases
from petstore_tools.service.app import Service
from petstore_tools.service.database import Database
from petstore_tools.service.messages import Request, Response


@pytest.mark.case("P57")
def test_a_restart_forgets_nothing_on_either_store(where: str) -> None:
    """Animals, keys, counters, bans; and the second start finds the schema as it is."""
    remaining = []
    key = ""
    for run in range(2):
        with served(where) as (database, base_url):
            if not run:
                _, key = database.create_key(Plan(60, 1_000), label="x", now=NOON)
            made = post(client(key), base_url)
            remaining.append((made.json()["id"], made.headers["X-RateLimit-Remaining"]))
            listed = client(key).get(f"{base_url}/pets", timeout=5).json()

    assert remaining == [(1, "59"), (2, "57")]
    assert [pet["id"] for pet in listed] == [1, 2]


@pytest.mark.parametrize("name", ["x" * 10_000, "名前 🐕 \x00 '", "%s ? ;"])
def test_names_come_back_as_they_were_on_either_store(where: str, name: str) -> None:
    """Whatever the database's own text can hold."""
    with served(where) as (database, base_url):
        _, key = database.create_key(WIDE, label="", now=NOON)
        made = post(client(key), base_url, name)
        again = client(key).get(f"{base_url}/pets/{made.json()['id']}", timeout=5)

    assert made.json()["name"] == again.json()["name"] == name


def test_staff_changes_show_at_once_on_either_store(where: str) -> None:
    """
    Full pages are kept as bytes; a change or removal drops them, whichever connection made it.
    """
    admin = Database(where, own_time=False)
    with served(where) as (database, base_url):
        database.add_many([(f"Pet {n}", 1, "available") for n in range(150)])
        _, key = database.create_key(WIDE, label="", now=NOON)
        pets = f"{base_url}/pets?limit=100"
        before = client(key).get(pets, timeout=5)
        assert client(key).get(pets, timeout=5).content == before.content

        assert admin.change(5, "sold")
        changed = client(key).get(pets, timeout=5).json()
        assert admin.remove(6)
        removed = client(key).get(pets, timeout=5).json()

    admin.close()
    assert (changed[4]["status"], changed[5]["id"]) == ("sold", 6)
    assert removed[5]["id"] == 7
    assert admin.__class__ is not None


def test_requests_that_wait_for_a_commit_share_the_next_one(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixteen creates at once cost fewer commits than creates, and each has an id of its own."""
    commits = []
    real = Database.transaction

    def slow(self: Database, asked: Any = (), *, durable: bool = True, **how: Any) -> Any:
        commits.append(durable)
        return real(self, asked, durable=durable, **how)

    with served(where) as (database, base_url):
        _, key = database.create_key(WIDE, label="", now=NOON)
        sessions = [client(key) for _ in range(16)]
        for session in sessions:
            session.get(f"{base_url}/pets", timeout=5)
        monkeypatch.setattr(Database, "transaction", slow)
        with ThreadPoolExecutor(16) as pool:
            made = list(
                pool.map(lambda n: post(sessions[n % 16], base_url).json()["id"], range(320))
            )
        creates = len(commits)
        sessions[0].get(f"{base_url}/pets", timeout=5)

    assert sorted(made) == list(range(1, 321))
    assert all(commits[:creates])
    assert creates < 320
    assert commits[creates:] == [False]


def test_one_request_at_fault_does_not_take_its_commit_with_it(
    where: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """
    The others of the batch are answered; it gets an Error with the rate headers, and changes
    nothing.
    """
    real = Database.save

    def fails(self: Database, usages: Any, now: float, pets: Any = ()) -> list[int]:
        if any(name == "bad" for name, *_ in pets):
            raise RuntimeError("a fault of ours")
        return real(self, usages, now, pets)

    monkeypatch.setattr(Database, "save", fails)
    with served(where) as (database, base_url):
        _, key = database.create_key(WIDE, label="", now=NOON)
        names = ["good", "bad"] * 8
        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda name: post(client(key), base_url, name), names))
        existing = database.page(after=0, limit=100, status=None)

    assert Counter((name, a.status_code) for name, a in zip(names, answers, strict=True)) == {
        ("good", 201): 8,
        ("bad", 500): 8,
    }
    assert len(existing) == 8
    for answer in answers:
        assert answer.headers["X-RateLimit-Limit"].isdecimal()
        assert answer.status_code == 201 or answer.json()["code"] == "internal_error"
    assert "a fault of ours" in caplog.text
    caplog.clear()


def test_who_was_refused_while_each_was_answered_alone_gets_no_animal(tmp_path: Path) -> None:
    """
    After a request at fault each is answered alone; where that takes long, some do not wait so
    long.
    """
    database = Database(tmp_path / "service.db")
    _, key = database.create_key(WIDE, label="", now=NOON)
    service, save, sizes = Service(database, ManualClock(NOON)), database.save, []

    async def ask() -> list[Response | None]:
        rex = b'{"name":"Rex","categoryId":1}'
        batch = [
            Request("POST", "/v1/pets", b"", key, "application/json", rex, "h") for _ in range(2)
        ]

        def saved(usages: Any, now: float, pets: Any) -> list[int]:
            sizes.append(len(pets))
            if len(pets) > 1:
                raise RuntimeError("a fault of ours")
            batch[1].response.set_result(None)  # as `batches` does after eight seconds
            return save(usages, now, pets)

        database.save = saved  # type: ignore[method-assign,assignment]
        return service._respond_to(batch, False) or []

    first, second = asyncio.run(ask())
    stored = database.page(after=0, limit=9, status=None)
    database.close()

    assert (sizes, second) == ([2, 1], None)
    assert first is not None
    assert (first.status, len(stored)) == (201, 1)


def test_a_commit_of_which_nobody_knows_is_not_made_again(postgres: Postgres) -> None:
    """The database went away after it: one animal, and an Error that says so."""
    import psycopg

    url = postgres.database()
    with served(url) as (database, base_url):
        _, key = database.create_key(WIDE, label="", now=NOON)
        real = database._db._run

        def lost(statements: Any) -> Any:
            found = real(statements)
            if statements == [("COMMIT", ())]:
                raise psycopg.OperationalError("server closed the connection unexpectedly")
            return found

        client(key).get(
            f"{base_url}/pets", timeout=5
        )  # from now on the key is known, and a body is read at once
        database._db._run = lost  # type: ignore[method-assign]
        answer = post(client(key), base_url)
        database._db._run = real  # type: ignore[method-assign]
        existing = database.page(after=0, limit=9, status=None)

    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
    assert "not known" in answer.json()["message"]
    assert len(existing) == 1


def test_the_admin_connection_and_a_busy_service_do_not_lock_each_other_out(tmp_path: Path) -> None:
    """A second connection waits its turn."""
    admin = Database(tmp_path / "service.db")
    with served(str(tmp_path / "service.db")) as (database, base_url):
        _, key = database.create_key(WIDE, label="", now=NOON)
        post(client(key), base_url)
        with ThreadPoolExecutor(4) as pool:
            busy = [
                pool.submit(lambda: [post(client(key), base_url) for _ in range(15)])
                for _ in range(2)
            ]
            made = [admin.create_key(WIDE, label="", now=NOON) for _ in range(30)]
            changed = [admin.change(1, "sold") for _ in range(30)]
            assert all(answer.status_code == 201 for future in busy for answer in future.result())
    admin.close()

    assert len(made) == 30
    assert all(changed)


def test_within_one_commit_a_page_shows_what_was_created_before_it_and_nothing_undone(
    tmp_path: Path,
) -> None:
    """Also where the page was kept; and where the commit failed, what it kept is forgotten."""
    database = Database(tmp_path / "service.db")
    _, key = database.create_key(WIDE, label="", now=NOON)
    service = Service(database, ManualClock(NOON))

    async def ask(*asked: tuple[str, bytes]) -> list[bytes]:
        made = asyncio.get_running_loop().create_future
        pets, kind = "/v1/pets", "application/json"
        batch = [Request(m, pets, b"limit=9", key, kind, body, "h", made()) for m, body in asked]
        return [answer.body for answer in service._respond_to(batch, True) or ()]

    rex = b'{"name":"Rex","categoryId":1}'
    before, _, after = asyncio.run(ask(("GET", b""), ("POST", rex), ("GET", b"")))
    assert (before, after.count(b"Rex")) == (b"[]", 1)

    fails = iter([True, True, False])  # for both, for the create, for the page
    save = database.save

    def saved(usages: Any, *more: Any) -> list[int]:
        if next(fails):
            raise RuntimeError("the disk is full")
        return save(usages, *more)

    database.save = saved  # type: ignore[method-assign]
    refused, page = asyncio.run(ask(("POST", rex), ("GET", b"")))
    database.close()

    assert b"internal_error" in refused
    assert page.count(b"Rex") == 1


def test_callers_without_a_key_are_counted_each_for_itself_in_bounded_memory(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oldest of many are forgotten, those of yesterday all; a key's counters never."""
    monkeypatch.setattr(databases, "MAX_ADDRESSES", 50)
    database = Database(where, own_time=False)
    with database.transaction([("", "key a")]) as standing:
        database.save(standing.usages, NOON)
    for number in range(400):
        subject = databases.subject_of(f"10.0.{number // 250}.{number % 250}")
        with database.transaction([("", subject)]):
            database.save({subject: databases.Usage(day_start=int(NOON) // 86_400 * 86_400)}, NOON)
    rows = database._db.execute(("SELECT count(*) FROM usage WHERE subject LIKE 'address %'", ()))[
        0
    ][0][0]
    assert rows <= 51
    with database.transaction([("", "address 10.9.9.9")]):
        database.save({}, NOON + 86_400)
    (left,) = database._db.execute(("SELECT subject FROM usage ORDER BY subject", ()))
    database.close()

    assert ("key a",) in left
    assert len(left) <= 2


@pytest.mark.parametrize(
    ("address", "subject"),
    [
        ("192.0.2.7", "address 192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "address 2001:db8:1:2::/64"),
        ("unknown", "address unknown"),
    ],
)
def test_an_ipv6_network_is_one_caller(address: str, subject: str) -> None:
    """Each has 2^64 addresses to send from."""
    assert databases.subject_of(address) == subject


def test_the_access_log_is_json_without_keys(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """Each answer a line: what was asked, what came of it, which key by its public id."""
    with served(str(tmp_path / "service.db")) as (database, base_url):
        key_id, key = database.create_key(WIDE, label="", now=NOON)
        with caplog.at_level("INFO", logger="petstore_tools.access"):
            client(key).get(f"{base_url}/pets?limit=2&token={key}", timeout=5)

    (line,) = [
        record.getMessage() for record in caplog.records if record.name == "petstore_tools.access"
    ]
    logged = json.loads(line)
    assert key not in caplog.text
    assert (logged["method"], logged["path"], logged["status"], logged["key"]) == (
        "GET",
        "/v1/pets",
        200,
        key_id,
    )


def test_a_forwarded_address_counts_only_where_the_proxy_is_trusted(tmp_path: Path) -> None:
    """Else anybody could have a budget a request."""
    from petstore_tools.service import server as servers

    for trusted, remaining in (("", ["59", "58"]), ("127.0.0.1", ["59", "59"])):
        database = Database(tmp_path / f"{bool(trusted)}.db")
        listener = servers.bind("127.0.0.1", 0)
        import uvicorn

        running = uvicorn.Server(
            servers.config(Service(database, ManualClock(NOON)), trusted=trusted)
        )
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        until(lambda: running.started)  # noqa: B023
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1/pets"
        asked = [
            requests.get(url, headers={"X-Forwarded-For": f"192.0.2.{n}"}, timeout=5)
            for n in range(2)
        ]
        left = [answer.headers["X-RateLimit-Remaining"] for answer in asked]
        running.should_exit = True
        thread.join()
        listener.close()
        database.close()
        assert left == remaining
