"""
What the service writes down: only answers that were given, a line each, and little of an outage.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests

from petstore_tools.clock import ManualClock
from petstore_tools.plans import Plan
from petstore_tools.service.app import Service
from petstore_tools.service.database import Database
from petstore_tools.service.server import ThreadedServer

NOON = 1_800_014_400.0
REX = {"name": "Rex", "categoryId": 1}


@contextmanager
def served(folder: Path) -> Iterator[tuple[Database, str, dict[str, str]]]:
    """Serve a database: itself, the address, and headers with a key."""
    database = Database(folder / "service.db")
    _, key = database.create_key(Plan(1_000_000, 1_000_000), label="", now=NOON)
    server = ThreadedServer(Service(database, ManualClock(NOON))).start()
    try:
        yield database, server.base_url, {"Authorization": f"Bearer {key}"}
    finally:
        server.stop()
        database.close()


def fail_with(database: Database, failure: Exception, *, times: int) -> None:
    """Let what is written at the end of a commit fail so many times."""
    real, left = database.save, [failure] * times

    def save(*what: Any) -> list[int]:
        if left:
            raise left.pop()
        return real(*what)

    database.save = save  # type: ignore[method-assign]


def test_the_access_log_tells_only_answers_that_were_given(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A create whose first commit failed is one line, with what the caller got."""
    with (
        caplog.at_level("INFO", logger="petstore_tools.access"),
        served(tmp_path) as (database, base_url, headers),
    ):
        fail_with(database, sqlite3.OperationalError("disk I/O error"), times=2)
        given = [
            requests.post(f"{base_url}/pets", json=REX, headers=headers, timeout=5).status_code
            for _ in range(2)
        ]
    logged = [
        json.loads(r.getMessage())["status"]
        for r in caplog.records
        if r.name == "petstore_tools.access"
    ]

    assert logged == given
    assert len([status for status in logged if status == 201]) == 1
    caplog.clear()


def test_a_path_cannot_forge_a_line_of_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Line breaks are spelt out, and long paths are cut, in both logs."""
    with (
        caplog.at_level("INFO", logger="petstore_tools.access"),
        served(tmp_path) as (database, base_url, headers),
    ):
        fail_with(database, RuntimeError("a fault of ours"), times=2)
        path = "/%0aERROR%20forged%0d%1b[2J" + "x" * 5_000
        assert requests.get(base_url + path, headers=headers, timeout=5).status_code == 500
    lines = [record.getMessage() for record in caplog.records]

    assert len(lines) == 2
    assert not any(sign in line for line in lines for sign in "\n\r\x1b")
    assert max(map(len, lines)) < 500
    caplog.clear()


def test_an_outage_writes_a_few_tracebacks_and_no_more(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Each kind of failure once in ten seconds, with the number of those between."""
    with served(tmp_path) as (database, base_url, headers), requests.Session() as session:
        fail_with(database, sqlite3.OperationalError("disk I/O error"), times=400)
        for _ in range(200):
            answer = session.get(f"{base_url}/pets", headers=headers, timeout=5)
            assert answer.status_code >= 500

    assert len(caplog.records) == 1
    assert "disk I/O error" in caplog.text
    caplog.clear()
