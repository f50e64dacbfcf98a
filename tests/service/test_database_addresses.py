"""
Addresses of databases: which are taken, and that no message shows a password; servers in SQL_ASCII.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from commands import run
from postgres import Postgres
from pydantic import SecretStr
from services import NOON, WIDE, served
from serving import free_port

from petstore_tools.errors import SettingsError
from petstore_tools.service.database import Database
from petstore_tools.throttle.ledger import PostgresLedger


@pytest.mark.parametrize(
    "address",
    [
        "mysql://user:a-secret-word@host/db",
        "postgresql+psycopg://user:a-secret-word@host/db",
        "PostgreSQL://user:a-secret-word@host/db",
        "postgresql:/user:a-secret-word@host/db",
        "sqlite:///service.db",
        "host=127.0.0.1 dbname=db user=u password=a-secret-word",
    ],
)
def test_an_address_of_another_kind_is_no_name_of_a_file(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused without its password, and no file or folder is made of it."""
    monkeypatch.chdir(tmp_path)

    with pytest.raises(SettingsError, match="begins with postgresql://") as refused:
        Database(address)

    assert "secret" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_paths_that_look_a_little_like_addresses_are_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Colons and equals signs are allowed in the names of files."""
    monkeypatch.chdir(tmp_path)
    for name in ("my:service.db", "a=b.db", "sub/host.db"):
        Database(name).close()
        assert Path(name).stat().st_size > 0


@pytest.mark.parametrize(
    "form",
    [
        "postgresql://postgres:a-secret-word@/{name}?host=127.0.0.1&port={port}",
        "postgresql:///{name}?host=127.0.0.1&port={port}&user=postgres&password=a-secret-word",
        "postgresql://postgres:a-secret-word@127.0.0.1:{port}/{name}?application_name=x",
    ],
)
def test_serve_names_host_and_database_and_nothing_else(postgres: Postgres, form: str) -> None:
    """Wherever the password is in the address."""
    parts = urlsplit(postgres.database())
    name = parts.path[1:]
    env = {**os.environ, "PETSTORE_DATABASE_URL": form.format(name=name, port=parts.port)}
    command = [sys.executable, "-m", "petstore_tools", "serve", "--port", str(free_port())]
    running = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)
    assert running.stderr is not None
    said = running.stderr.readline()
    running.terminate()
    said += running.communicate(timeout=20)[1]

    assert f" from 127.0.0.1/{name} (" in said
    assert "secret" not in said


def test_a_server_that_cannot_be_reached_is_told_without_its_password(
    postgres: Postgres, tmp_path: Path
) -> None:
    """A closed port, a database that is not there, an address that is none."""
    port = urlsplit(postgres.url("x")).port
    for address in (
        "postgresql://u:a-secret-word@127.0.0.1:1/db",
        f"postgresql://u:a-secret-word@127.0.0.1:{port}/nothing",
        "postgresql://u:a-secret-word@127.0.0.1:port/db",
    ):
        done = run("keys", "list", cwd=tmp_path, PETSTORE_DATABASE_URL=address)
        assert (done.returncode, "on PostgreSQL cannot be reached. Check" in done.stderr) == (
            2,
            True,
        )
        assert "secret" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def in_ascii(postgres: Postgres) -> str:
    """A database whose server knows no encoding."""
    url = postgres.database()
    name = urlsplit(url).path[1:] + "_ascii"
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(
            f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
        )
    return postgres.url(name)


def test_a_server_in_sql_ascii_is_served(in_ascii: str) -> None:
    """Keys are found, and names come back as they were."""
    with served(in_ascii) as (database, caller):
        database.create_key(WIDE, label="Zoë", now=NOON)
        made = caller.post("名前 🐕")
        listed = caller.get().json()
        labels = [key.label for key in database.list_keys()]

    assert made.status_code == 201
    assert [pet["name"] for pet in listed] == ["名前 🐕"]
    assert "Zoë" in labels


def test_a_budget_on_a_server_in_sql_ascii_is_kept(in_ascii: str) -> None:
    """Written, read again by another program, and counted on."""
    seen = []
    for _ in range(2):
        ledger = PostgresLedger(SecretStr(in_ascii), "shared")
        for _ in range(2):
            ledger.update(seen.append)
        ledger.close()

    assert len(seen) == 4


@pytest.mark.parametrize(
    "plan", ["99999999999999999999/1", "1/99999999999999999999", "0/5", "9" * 5_000 + "/1"]
)
def test_a_plan_that_is_none_is_refused_in_a_sentence(plan: str, tmp_path: Path) -> None:
    """No traceback, and no key is made."""
    where = str(tmp_path / "service.db")
    done = run("keys", "create", "--plan", plan, "--database", where)

    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert run("keys", "list", "--database", where).stdout.count("\n") <= 2
