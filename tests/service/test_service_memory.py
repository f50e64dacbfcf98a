"""What many different requests leave behind in the service is bounded."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from petstore_tools.clock import ManualClock
from petstore_tools.plans import Plan
from petstore_tools.service import database as databases
from petstore_tools.service import operations
from petstore_tools.service.app import Service
from petstore_tools.service.database import Database
from petstore_tools.service.server import ThreadedServer

NOON = 1_800_014_400.0


def test_pages_of_many_different_queries_are_not_all_kept(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However small they are: at most so many, and those of one batch."""
    monkeypatch.setattr(operations, "MAX_PAGES", 100)
    database = Database(tmp_path / "service.db", durability="OFF")
    _, key = database.create_key(Plan(1_000_000, 1_000_000), label="", now=NOON)
    service = Service(database, ManualClock(NOON))
    server = ThreadedServer(service).start()
    with requests.Session() as session:
        session.headers["Authorization"] = f"Bearer {key}"
        kept = []
        for n in range(300):
            session.get(f"{server.base_url}/pets?x={n}", timeout=5)
            kept.append(len(service._operations._pages) + len(service._operations._last_pages))
    server.stop()
    database.close()

    assert max(kept) in (100, 101)


def test_a_new_address_among_ten_thousand_costs_no_more_than_among_ten(tmp_path: Any) -> None:
    """All are sorted to forget the oldest: once for a hundred new ones, not for each."""
    database = Database(tmp_path / "service.db", durability="OFF")
    statements: list[str] = []
    real = database._db.execute

    def execute(*asked: Any) -> Any:
        statements.extend(statement for statement, _ in asked)
        return real(*asked)

    def come(first: int, last: int) -> None:
        for number in range(first, last):
            subject = databases.subject_of(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
            start = int(NOON) // 86_400 * 86_400
            with database.transaction([("", subject)]):
                database.save({subject: databases.Usage(day_start=start)}, NOON)

    come(0, databases.MAX_ADDRESSES)
    database._db.execute = execute  # type: ignore[method-assign]
    come(databases.MAX_ADDRESSES, databases.MAX_ADDRESSES + 1_000)
    ((rows,),) = real(("SELECT count(*) FROM usage", ()))[0]
    database.close()

    assert sum(statement.startswith("DELETE") for statement in statements) <= 20
    assert rows <= databases.MAX_ADDRESSES + 101
