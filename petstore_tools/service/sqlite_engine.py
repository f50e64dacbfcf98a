"""
SQLite as an engine: one file, and in each transaction a check that it is still the same
one.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

from petstore_tools import sqlite
from petstore_tools.errors import SettingsError
from petstore_tools.service.engine import (
    APPLICATION_ID,
    LOCKED,
    READ_ONLY,
    SQLITE,
    Engine,
    PetFields,
    Rows,
    Statement,
    UnavailableError,
    check_tables,
)

REPLACED = (
    "was removed or replaced while it was in use; start the service again with the"
    " right file"
)
# so long ago, a commit shows that the disk does not stand still
DISK_CHECK_S = 0.1
_FIND_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"
_INSERT = "INSERT INTO pet (name, category_id, status) VALUES (?, ?, ?) RETURNING id"


class SqliteEngine(Engine):
    """
    One SQLite file, to which one process writes at a time.

    Args:
        path: The file; it is made where there is none.
        durability: What an acknowledged create survives (`sqlite.connect`).

    Raises:
        SettingsError: It is no database of this service, was emptied, or is of a newer
            version.
    """

    _db_errors = (sqlite3.Error, OSError)
    _db: sqlite3.Connection | None

    def __init__(self, path: Path, *, durability: sqlite.Durability = "FULL") -> None:
        self.name = str(path)
        self._path = path
        self._durability = durability
        self._resolved_path = path.resolve()
        self._identity: tuple[int, ...] = ()
        self._durable_at = 0.0
        with self._explain_start(f"(--database) {path.name}"):
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists():
                self._check_file()
            else:
                sqlite.create(self._resolved_path, "; ".join(SQLITE))
            self._identity = sqlite.identity(path)
            with self.transaction():
                pass  # it can be written

    def insert_statements(self, pets: Iterable[PetFields]) -> list[Statement]:
        """Return one statement for each of them."""
        return [(_INSERT, pet) for pet in pets]

    def _run(self, statements: Sequence[Statement]) -> list[Rows]:
        db = self._connection()
        return [db.execute(*statement).fetchall() for statement in statements]

    def _begin(self, durable: bool, within_s: float) -> None:
        db = self._connection()
        if self._durability == "FULL":
            level = "FULL" if durable else "NORMAL"
            db.execute(f"PRAGMA synchronous = {level}")
        try:
            sqlite.begin(db, wait_s=min(within_s, sqlite.BUSY_S))
        except sqlite3.OperationalError as error:
            # nothing is wrong with the connection
            if _code(error) == sqlite3.SQLITE_BUSY:
                raise UnavailableError(LOCKED) from error
            raise
        identity = sqlite.identity(self._path)
        if identity != self._identity:
            db.execute("ROLLBACK")
            # of a file that was emptied, the log is the rest
            if identity or not self._path.exists():
                # before another file in its place takes the log for its own
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                self.close()
            raise UnavailableError(REPLACED)
        if durable and self._durability == "FULL":
            self._wait_for_disk()

    def _wait_for_disk(self) -> None:
        """
        Wait for a disk that stands still now: of a create that waits in its commit
        nobody could say later that nothing was changed.
        """
        started_at = time.monotonic()
        if started_at - self._durable_at > DISK_CHECK_S:
            # no file that SQLite locks: to close one of those would end its locks
            with open(f"{self._resolved_path}-wal", "r+b") as log:
                os.fsync(log.fileno())
        self._durable_at = time.monotonic()

    def _reason(self, error: Exception) -> str:
        reasons = {
            sqlite3.SQLITE_BUSY: LOCKED,
            sqlite3.SQLITE_READONLY: READ_ONLY,
            sqlite3.SQLITE_FULL: "has no space left on its disk",
        }
        return reasons.get(
            _code(error), f"cannot be used: {getattr(error, 'strerror', error)}"
        )

    def _is_undone(self, error: Exception) -> bool:
        return _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL)

    def _connection(self) -> sqlite3.Connection:
        if self._db is None:
            if self._identity != sqlite.identity(self._path):
                raise UnavailableError(REPLACED)  # no file is made in its place
            self._db = sqlite.connect(
                self._resolved_path, durability=self._durability, journal="WAL"
            )
        return self._db

    def _check_file(self) -> None:
        """
        Make sure that the file is one of this service, before anything is written to
        it.
        """
        if not self._path.stat().st_size:
            raise SettingsError(
                f"the service's database {self._path.name} is an empty file. If animals"
                " were in it, put a copy of it back. If it is to be a new database,"
                " delete the file and start again"
            )
        with closing(sqlite.read(self._path)) as db:
            (application_id,) = db.execute("PRAGMA application_id").fetchone()
            (version,) = db.execute("PRAGMA user_version").fetchone()
            tables = {name for (name,) in db.execute(_FIND_TABLES)}
        if application_id != APPLICATION_ID:
            raise SettingsError(
                f"{self._path.name} is no database of this service. Nothing in it was"
                " changed. Name another file with --database"
            )
        check_tables(tables, version, self._path.name)


def _code(error: Exception) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
