"""Which databases the service takes for its own: a new one, one of its version, and no other."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from postgres import Postgres
from services import NOON, WIDE, served, stored

from petstore_tools.errors import SettingsError
from petstore_tools.service.database import Database
from petstore_tools.service.engine import APPLICATION_ID


def filled(path: Path) -> Path:
    """Make a database with an animal in it."""
    database = Database(path)
    database.add_many([("Rex", 3, "sold")])
    database.close()
    return path


def of_another(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        for statement in statements:
            other.execute(statement)
    return path


def refusal(where: str | Path) -> str:
    with pytest.raises(SettingsError) as refused:
        Database(where)
    return str(refused.value)


def test_a_new_file_is_marked_as_ours_and_its_owners_alone(tmp_path: Path) -> None:
    """Nothing else is left beside it."""
    path = filled(tmp_path / "service.db")

    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    assert [file.name for file in tmp_path.iterdir()] == ["service.db"]
    assert sys.platform == "win32" or stat.S_IMODE(path.stat().st_mode) == 0o600


def test_programs_that_start_at_once_share_one_new_file(tmp_path: Path) -> None:
    """None of them meets it half made, and none replaces it."""
    path = tmp_path / "service.db"

    def start(n: int) -> str:
        database = Database(path)
        key_id, _ = database.create_key(WIDE, label=str(n), now=NOON)
        database.close()
        return key_id

    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(start, range(24)))
    with closing(sqlite3.connect(path)) as db:
        assert {key_id for (key_id,) in db.execute("SELECT id FROM key")} == made
    assert [file.name for file in tmp_path.iterdir()] == ["service.db"]


def test_a_file_that_was_emptied_is_not_taken_for_a_new_one(tmp_path: Path) -> None:
    """All its animals would be gone without a word; it stays as it is."""
    path = filled(tmp_path / "service.db")
    os.truncate(path, 0)

    said = refusal(path)

    assert "service.db is an empty file" in said
    assert "put a copy of it back" in said
    assert path.stat().st_size == 0
    assert [file.name for file in tmp_path.iterdir()] == ["service.db"]


@pytest.mark.parametrize(
    "statements",
    [
        ("CREATE TABLE invoice (id INTEGER)", "PRAGMA user_version = 1"),
        ("CREATE TABLE pet (id INTEGER)", "CREATE TABLE usage (id INTEGER)"),
        ("PRAGMA user_version = 0", "VACUUM"),
        ("PRAGMA application_id = 252006674", "CREATE TABLE pet (id INTEGER)"),
    ],
)
def test_a_file_of_another_program_is_refused_and_stays_as_it_was(
    tmp_path: Path, statements: tuple[str, ...]
) -> None:
    """Its tables, version and mark are another's; not a byte of it changes."""
    path = of_another(tmp_path / "books.db", *statements)
    before = path.read_bytes()

    said = refusal(path)

    assert "books.db is no database of this service" in said
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["books.db"]


def test_a_database_of_another_version_is_refused(where: str) -> None:
    """By number; nothing in it is changed."""
    Database(where).close()
    if where.startswith("postgresql"):
        with psycopg.connect(where) as other:
            other.execute("COMMENT ON TABLE inventory IS '99'")
    else:
        of_another(Path(where), "PRAGMA user_version = 99")

    assert "has schema 99, but this program knows only" in refusal(where)


def test_a_file_that_is_no_database_or_lost_its_tables_is_refused(tmp_path: Path) -> None:
    """As a sentence, and unchanged."""
    path = tmp_path / "letter.txt"
    path.write_text("Dear Sir,\n" * 100)
    lost = of_another(filled(tmp_path / "a.db"), "DROP TABLE pet")

    assert "letter.txt cannot be used" in refusal(path)
    assert path.read_text() == "Dear Sir,\n" * 100
    assert "lacks the tables pet:" in refusal(lost)


@pytest.mark.parametrize("made", ["CREATE TABLE pet (id BIGINT)", "DROP TABLE pet"])
def test_a_postgresql_with_other_tables_of_our_names_is_refused(
    postgres: Postgres, made: str
) -> None:
    """Another's, or ours without its animals."""
    url = postgres.database()
    if made.startswith("DROP"):
        Database(url).close()
    with psycopg.connect(url) as db:
        db.execute(made)

    said = refusal(url)

    assert "on PostgreSQL lacks the tables" in said
    assert "secret" not in said


def test_a_postgresql_that_others_use_too_is_served(postgres: Postgres) -> None:
    """A ledger, or another program's tables under other names."""
    url = postgres.database()
    with psycopg.connect(url) as db:
        db.execute("CREATE TABLE petstore_budget (subject text)")
    with served(url) as (_, caller):
        assert caller.post().status_code == 201


@pytest.mark.skipif(sys.platform == "win32", reason="a file in use cannot be removed there")
@pytest.mark.parametrize("how", ["removed", "replaced", "emptied"])
def test_a_file_that_is_removed_or_replaced_while_serving_takes_no_animal(
    tmp_path: Path, how: str
) -> None:
    """They would be gone at the next start. The same file, put back, is served on."""
    path = tmp_path / "service.db"
    aside = tmp_path / "aside.db"
    with served(str(path)) as (_, caller):
        before = caller.post().json()["id"]
        if how == "emptied":
            shutil.copy(path, aside)
            os.truncate(path, 0)
        else:
            path.rename(aside)
        if how == "replaced":
            filled(tmp_path / "other.db").rename(path)
        refused = [caller.post(), caller.post(), caller.get("/health")]
        if how == "emptied":
            path.write_bytes(aside.read_bytes())
        else:
            aside.replace(path)
        back = caller.post().json()["id"]

    assert {answer.status_code for answer in refused} == {503}
    assert all("was removed or replaced" in answer.json()["message"] for answer in refused)
    assert stored(str(path)) == {before, back}
