"""The file of a journal: its tables, made whole, and opened only where it can be trusted."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any, Final

from petstore_tools import sqlite
from petstore_tools.errors import JournalError
from petstore_tools.importing.run_lock import Target, about

_TABLES: Final = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE row (
    name TEXT NOT NULL, category_id INTEGER NOT NULL, status TEXT, occurrence INTEGER NOT NULL,
    number INTEGER NOT NULL, state TEXT NOT NULL, pet_id INTEGER, detail TEXT NOT NULL DEFAULT '',
    cells TEXT NOT NULL, changed_at REAL NOT NULL, wanted INTEGER NOT NULL DEFAULT 1,
    candidates TEXT NOT NULL DEFAULT '[]'
);
CREATE TABLE baseline (ids BLOB NOT NULL, taken_at REAL NOT NULL);
CREATE UNIQUE INDEX row_identity ON row (name, category_id, ifnull(status, ''), occurrence);
CREATE INDEX row_state ON row (state, number)
"""
_FORMAT: Final = 2
# on disk an unsent row is called as version 0.1 called it: one word in all journals, whoever wrote them
STORED_UNSENT: Final = "pending"
READ_STATE: Final = f"CASE state WHEN '{STORED_UNSENT}' THEN 'unsent' ELSE state END"


def stored(state: str) -> str:
    """Return the word that stands for a state on disk."""
    return STORED_UNSENT if state == "unsent" else state


def make(path: Path, target: Target, now: float) -> None:
    """Make a journal whole under another name, then give it its own."""
    unfinished = path.with_suffix(".new")
    unfinished.unlink(missing_ok=True)
    db = sqlite3.connect(unfinished, isolation_level=None)
    try:
        unfinished.chmod(0o600)
        db.execute("PRAGMA synchronous = FULL")
        with sqlite.transaction(db):
            for statement in _TABLES.split(";\n"):
                db.execute(statement)
            facts = {**about(target), "path": str(target.path), "sheet": target.sheet}
            facts |= {"format": str(_FORMAT), "made_at": str(now)}
            db.executemany("INSERT INTO about VALUES (?, ?)", facts.items())
    finally:
        db.close()
    unfinished.replace(path)


def open_file(path: Path, target: Target, name: str, *, read_only: bool = False) -> sqlite3.Connection:
    """
    Open a journal.

    Raises:
        JournalError: It is empty, damaged, or of another place.
    """
    if not path.stat().st_size:
        raise JournalError(damaged(name, "it is empty"))
    try:
        db = sqlite.read(path) if read_only else sqlite.connect(path, durability="FULL")
        db.execute(f"PRAGMA busy_timeout = {sqlite.BUSY_S * 1_000:.0f}")
    except sqlite3.Error as error:
        raise JournalError(damaged(name, str(error))) from error
    try:
        facts: dict[str, Any] = dict(db.execute("SELECT name, value FROM about"))
        (health,) = db.execute("PRAGMA quick_check").fetchone()
    except sqlite3.Error as error:
        db.close()
        raise JournalError(damaged(name, str(error))) from error
    wrong = [key for key, value in about(target).items() if facts.get(key) != value]
    if health != "ok" or facts.get("format") != str(_FORMAT) or wrong:
        db.close()
        why = f"it belongs to another {wrong[0]}" if wrong else f"check says {health}"
        raise JournalError(damaged(name, why))
    return db


def damaged(name: str, why: str) -> str:
    """Say that a journal is not to be trusted."""
    return (
        f"the journal {name} of this import cannot be trusted ({why}); nothing was sent, since what stands "
        "already cannot be told"
    )
