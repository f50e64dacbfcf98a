"""
Which databases the service takes for its own: a new one, one of its version, and no
other; which addresses are taken, and that no message shows a password.
"""

import os
import shutil
import sqlite3
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from harms import damage
from pydantic import SecretStr
from services import NOON, WIDE_PLAN, serve_in_thread, stored_ids, stored_pets
from tables import read_json

from petstore_tools.errors import SettingsError
from petstore_tools.service.database import Database
from petstore_tools.throttle.ledger import PostgresLedger


def make_database(path):
    """Make a database with an animal in it."""
    database = Database(path)
    database.add_many([("Rex", 3, "sold")])
    database.close()
    return path


def refusal(where):
    """Return what is said of a database; it never shows the password."""
    with pytest.raises(SettingsError) as refused:
        Database(where)
    assert "secret" not in str(refused.value)
    return str(refused.value)


def test_copies_keep_their_ids_and_the_next_id_is_higher(where):
    """Also in a database that counts its ids apart from its rows."""
    with closing(Database(where)) as database:
        pets = [(7, "Rex", 3, "sold"), (40, "Mia", 2, None)]
        database.run(lambda session: session.copy_pets(pets))

        assert stored_pets(database) == pets
        assert database.add_many([("Bo", 1, None)]) == [41]


def test_programs_that_start_at_once_share_one_new_file(tmp_path):
    """
    None of them meets it half made, and none replaces it; it is its owner's alone.
    """
    path = tmp_path / "service.db"

    def start(n):
        database = Database(path)
        key_id, _ = database.create_key(WIDE_PLAN, label=str(n), now=NOON)
        database.close()
        return key_id

    with ThreadPoolExecutor(8) as pool:
        key_ids = set(pool.map(start, range(24)))
    with closing(sqlite3.connect(path)) as db:
        assert {key_id for (key_id,) in db.execute("SELECT id FROM key")} == key_ids
    assert [file.name for file in tmp_path.iterdir()] == ["service.db"]
    assert sys.platform == "win32" or stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(("harm", "text"), read_json(__file__, "harms.json"))
def test_a_file_that_is_not_ours_is_refused_and_stays_as_it_was(tmp_path, harm, text):
    """
    Another program's, one of another version, one that was emptied: not a byte of it
    changes.
    """
    path = make_database(tmp_path / "books.db")
    damage(path, harm)
    before = path.read_bytes()

    assert text in refusal(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["books.db"]


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("DROP TABLE pet", "on PostgreSQL lacks the tables"),
        (
            "UPDATE inventory SET version = 99",
            "has schema 99, but this program knows only",
        ),
    ],
)
def test_a_postgresql_with_other_tables_of_our_names_is_refused(
    postgres, statement, text
):
    """Some of them, or of another version."""
    url = postgres.database()
    Database(url).close()
    with psycopg.connect(url) as db:
        db.execute(statement)

    assert text in refusal(url)


@pytest.mark.skipif(
    sys.platform == "win32", reason="a file in use cannot be removed there"
)
@pytest.mark.parametrize("change", ["removed", "replaced", "emptied"])
def test_a_file_that_is_removed_or_replaced_while_serving_takes_no_animal(
    tmp_path, change
):
    """They would be gone at the next start. The same file, put back, is served on."""
    path = tmp_path / "service.db"
    aside = tmp_path / "aside.db"
    with serve_in_thread(str(path)) as (_, caller):
        before = caller.post().json()["id"]
        if change == "emptied":
            shutil.copy(path, aside)
            os.truncate(path, 0)
        else:
            path.rename(aside)
        if change == "replaced":
            make_database(tmp_path / "other.db").rename(path)
        refused = [caller.post(), caller.post(), caller.get("/health")]
        if change == "emptied":
            path.write_bytes(aside.read_bytes())
        else:
            # another program opens what is there, and what lies beside it
            stored_ids(str(path))
            aside.replace(path)
        back = caller.post().json()["id"]
        assert stored_ids(str(path)) == {before, back}  # read by another program

    assert {answer.status_code for answer in refused} == {503}
    assert all(
        "was removed or replaced" in answer.json()["message"] for answer in refused
    )


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
    address, tmp_path, monkeypatch
):
    """It is refused without its password, and no file or folder is made of it."""
    monkeypatch.chdir(tmp_path)

    assert "begins with postgresql://" in refusal(address)
    assert list(tmp_path.iterdir()) == []


def test_paths_that_look_a_little_like_addresses_are_files(tmp_path, monkeypatch):
    """Colons and equals signs are allowed in the names of files."""
    monkeypatch.chdir(tmp_path)
    for name in ("my:service.db", "a=b.db", "sub/host.db"):
        Database(name).close()
        assert Path(name).stat().st_size > 0


def test_messages_name_host_and_database_and_nothing_else(postgres):
    """Wherever the password is in the address."""
    parts = urlsplit(postgres.database())
    name = parts.path[1:]
    where = f"host=127.0.0.1&port={parts.port}"
    database = Database(
        f"postgresql:///{name}?{where}&user=postgres&password=a-secret-word"
    )
    database.close()

    assert database.name == f"127.0.0.1/{name}"


@pytest.mark.parametrize(
    "server", ["127.0.0.1:1/db", "127.0.0.1:{port}/nothing", "127.0.0.1:port/db"]
)
def test_a_server_that_cannot_be_reached_is_told_without_its_password(postgres, server):
    """A closed port, a database that is not there, an address that is none."""
    message = refusal(
        "postgresql://u:a-secret-word@" + server.format(port=postgres.port)
    )

    assert "on PostgreSQL cannot be reached. Check" in message


def test_a_create_waits_until_postgresql_has_written_it(postgres):
    """What a page counts need not."""
    database = Database(postgres.database())

    levels = [
        database.run(lambda s: s.execute("SHOW synchronous_commit"), durable=durable)
        for durable in (True, False)
    ]

    database.close()
    assert levels == [[("on",)], [("off",)]]


def test_a_server_in_sql_ascii_is_served_and_keeps_a_budget(postgres):
    """
    In one database: names come back as they were, and what was counted is read again.
    """
    url = postgres.database()
    name = urlsplit(url).path[1:] + "_ascii"
    with psycopg.connect(url, autocommit=True) as db:
        options = "ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
        db.execute(f"CREATE DATABASE {name} {options}")
    in_ascii = postgres.url(name)
    budgets = []
    ledger = PostgresLedger(SecretStr(in_ascii), "shared")
    for _ in range(2):
        ledger.update(budgets.append)
    ledger.close()
    with serve_in_thread(in_ascii) as (database, caller):
        database.create_key(WIDE_PLAN, label="Zoë", now=NOON)
        created = caller.post("名前 🐕")
        listed = caller.get().json()
        labels = [label for _, label, *_ in database.list_keys()]

    assert len(budgets) == 2
    assert created.status_code == 201
    assert [pet["name"] for pet in listed] == ["名前 🐕"]
    assert "Zoë" in labels
