"""
Addresses of databases: which are taken, and that no message shows a password; servers in SQL_ASCII.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from postgres import Postgres
from pydantic import SecretStr
from services import NOON, WIDE, served

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
def test_messages_name_host_and_database_and_nothing_else(postgres: Postgres, form: str) -> None:
    """Wherever the password is in the address."""
    parts = urlsplit(postgres.database())
    name = parts.path[1:]
    database = Database(form.format(name=name, port=parts.port))
    database.close()

    assert database.name == f"127.0.0.1/{name}"


@pytest.mark.parametrize(
    "place", ["127.0.0.1:1/db", "127.0.0.1:{port}/nothing", "127.0.0.1:port/db"]
)
def test_a_server_that_cannot_be_reached_is_told_without_its_password(
    postgres: Postgres, place: str
) -> None:
    """A closed port, a database that is not there, an address that is none."""
    with pytest.raises(SettingsError, match="on PostgreSQL cannot be reached. Check") as refused:
        Database("postgresql://u:a-secret-word@" + place.format(port=postgres.port))

    assert "secret" not in str(refused.value)


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
