"""
The file of a journal: its tables, created as a whole, and opened only where it can be trusted.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from petstore_tools import sqlite
from petstore_tools.errors import JournalError
from petstore_tools.importing.row_states import Entry
from petstore_tools.importing.run_lock import Target, place_of
from petstore_tools.importing.values import PetValues

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
_FORMAT: Final = "2"
# on disk an unsent row is called as version 0.1 called it: one word in all journals, whoever wrote
# them
STORED_UNSENT: Final = "pending"
READ_STATE: Final = f"CASE state WHEN '{STORED_UNSENT}' THEN 'unsent' ELSE state END"
# what sqlite3 and the decoding of facts raise over a file that is damaged, locked, or no journal
_UNUSABLE: Final = (sqlite3.Error, OSError, KeyError, ValueError, TypeError)


def stored(state: str) -> str:
    """Return the word that stands for a state on disk."""
    return STORED_UNSENT if state == "unsent" else state


def create_file(path: Path, target: Target, now: float) -> None:
    """Create a journal as a whole under another name, then give it its own."""
    unfinished = path.with_suffix(".new")
    unfinished.unlink(missing_ok=True)
    with closing(sqlite3.connect(unfinished, isolation_level=None)) as db:
        unfinished.chmod(0o600)
        db.execute("PRAGMA synchronous = FULL")
        with sqlite.transaction(db):
            for statement in _TABLES.split(";\n"):
                db.execute(statement)
            facts = {**place_of(target), "path": str(target.path), "sheet": target.sheet}
            facts |= {"format": _FORMAT, "made_at": str(now)}
            db.executemany("INSERT INTO about VALUES (?, ?)", facts.items())
    unfinished.replace(path)


def open_file(path: Path, target: Target) -> sqlite3.Connection:
    """
    Open a journal to write to it.

    Raises:
        JournalError: It is empty, damaged, or belongs to another place.
    """
    with _usable(path):
        db = sqlite.connect(path, durability="FULL")
        try:
            db.execute(f"PRAGMA busy_timeout = {sqlite.BUSY_S * 1_000:.0f}")
            _facts(db, target)
        except BaseException:
            db.close()
            raise
    return db


@contextmanager
def reading(
    path: Path, target: Target | None = None, *, busy_s: float = sqlite.BUSY_S
) -> Iterator[tuple[sqlite3.Connection, dict[str, str]]]:
    """
    Open a journal to read it, with the facts that it keeps of itself; a run of it may be under way.

    Args:
        path: The file.
        target: What it must be of, None where any journal will do and the whole file need not be
            checked.
        busy_s: How long it may be locked before it counts as one that cannot be read.

    Raises:
        JournalError: It is empty, damaged, locked, belongs to another place, or is no journal.
    """
    with _usable(path), closing(sqlite.read(path, busy_s=busy_s)) as db:
        yield db, _facts(db, target)


@contextmanager
def _usable(path: Path) -> Iterator[None]:
    """Turn the errors of a file that cannot be used into the journal's."""
    try:
        if not path.stat().st_size:
            raise ValueError("the file is empty")
        yield
    except _UNUSABLE as error:
        raise JournalError(
            f"the journal {path.stem} of this import cannot be trusted ({error}), so it is not "
            "known which "
            "animals exist already. Nothing was sent"
        ) from error


def _facts(db: sqlite3.Connection, target: Target | None) -> dict[str, str]:
    """
    Return what a journal keeps of itself; ValueError where it cannot be trusted to be of a target.
    """
    facts: dict[str, str] = dict(db.execute("SELECT name, value FROM about").fetchall())
    if facts.get("format") != _FORMAT:
        raise ValueError("its format is not known")
    if target is not None:
        for name, value in place_of(target).items():
            if facts[name] != value:
                raise ValueError(f"it belongs to another {name}")
        (health,) = db.execute("PRAGMA quick_check").fetchone()
        if health != "ok":
            raise ValueError(f"the check of the file says {health}")
    return facts


def read_rows(db: sqlite3.Connection, *, wanted: int = 0) -> list[Entry]:
    """Return all rows, or those that are `wanted` (see Entry), by their place in the sheet."""
    facts = db.execute("SELECT name, value FROM about WHERE name LIKE 'titles:%'")
    titles = {name.removeprefix("titles:"): tuple(json.loads(value)) for name, value in facts}
    rows = db.execute(
        "SELECT cells, candidates, name, category_id, status, rowid AS key, occurrence, "
        "number, pet_id,"
        f" detail, changed_at, wanted, {READ_STATE} AS state FROM row WHERE wanted >= ?"
        " ORDER BY number, occurrence",
        (wanted,),
    )
    names = [column[0] for column in rows.description][5:]
    entries = []
    for packed, candidates, name, category_id, status, *values in rows:
        cells = json.loads(packed)
        if isinstance(cells, list):
            cells = {"": cells}  # version 0.1 kept no titles
        origin = cells.pop("origin", None)
        ((titles_name, typed),) = cells.items()
        entries.append(
            Entry(
                content=PetValues(name, category_id, status),
                cells=tuple(typed),
                candidates=tuple(json.loads(candidates)),
                titles=titles.get(titles_name, ()),
                origin=origin,
                **dict(zip(names, values, strict=True)),
            )
        )
    return entries
