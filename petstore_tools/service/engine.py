"""
The tables, and a database as the service uses it: execute, hold a transaction, renew a
connection; and SQLite as one: in each transaction a check that the file is still the
same.
"""

import os
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from importlib.resources import files
from math import inf
from pathlib import Path
from typing import Any

from petstore_tools import sqlite
from petstore_tools.errors import PetstoreError, SettingsError

LOCKED = "is locked by another program"
READ_ONLY = "is read-only"
REFUSED = "refuses these values"
SILENT = "did not answer in time"
VERSION = 2  # as at the end of each .sql file
APPLICATION_ID = 0x50455453  # "PETS", in the header of an SQLite file
TABLES = frozenset({"pet", "key", "usage", "inventory"})
SQLITE = files(__package__).joinpath("sqlite.sql").read_text()
POSTGRES = files(__package__).joinpath("postgresql.sql").read_text().split("\n\n")
REPLACED = (
    "was removed or replaced while it was in use; start the service again with the"
    " right file"
)
# so long ago, a commit shows that the disk does not stand still
DISK_CHECK_S = 0.1

_INSERT = "INSERT INTO pet (name, category_id, status) VALUES (?, ?, ?) RETURNING id"

Rows = list[tuple[Any, ...]]
PetFields = tuple[str, int, str | None]  # name, category id, status
Statement = tuple[str, Sequence[object]]  # with `?` for each value


def check_tables(tables: Iterable[str], version: object, name: str) -> None:
    """
    Make sure that a database is one of this service and this version.

    Raises:
        SettingsError: Tables are missing, or it is of another version.
    """
    if missing_tables := sorted(TABLES.difference(tables)):
        names = ", ".join(missing_tables)
        raise SettingsError(
            f"the service's database {name} lacks the tables {names}: its animals may"
            " be lost. Put a copy of it back, or name another database"
        )
    if str(version) != str(VERSION):
        raise SettingsError(
            f"the service's database {name} has schema {version}, but this program"
            f" knows only {VERSION}: use the version of the toolkit that made it, or"
            " name another database"
        )


class UnavailableError(PetstoreError):
    """
    The database cannot be used now.

    Attributes:
        reason: Why, to follow the words "the database".
        unknown: Whether nobody knows if the commit was made; otherwise nothing was
            changed.
    """

    def __init__(self, reason: str, *, unknown: bool = False) -> None:
        effect = (
            "it is not known whether the change was made"
            if unknown
            else "nothing was changed"
        )
        super().__init__(f"the service's database {reason}; {effect}")
        self.reason = reason
        self.unknown = unknown


class Engine(ABC):
    """
    A database, and a connection to it that is opened anew after it failed.

    Attributes:
        name: What it is called in messages: a file, or host and database; never a
            password.
        row_lock: What makes a SELECT hold its rows.
        clock: What reads its Unix seconds, so that workers on many machines agree;
            NULL: the service's clock.
    """

    name: str
    row_lock = ""
    clock = "NULL"
    _db_errors: tuple[type[Exception], ...]
    _db: Any = None

    def execute(self, *statements: Statement) -> list[Rows]:
        """
        Execute statements one after the other, in one round trip, and return the rows
        of each.
        """
        with self._translated_errors():
            return self._run(statements)

    @contextmanager
    def transaction(
        self, *queries: Statement, durable: bool = True, within_s: float = inf
    ) -> Iterator[list[Rows]]:
        """
        Make what happens inside happen as one, or not at all; give the rows of the
        queries.

        Args:
            queries: Statements that change nothing; they cost no round trip of their
                own.
            durable: It survives a power loss once it has happened.
            within_s: How long others may hold it up; PostgreSQL: all waiting for the
                server together.

        Raises:
            UnavailableError: The database cannot be used. Only its commit can have an
                unknown outcome.
        """
        # where an old connection is bad, nothing has begun
        for is_last in (self._db is None, True):
            try:
                with self._translated_errors():
                    self._begin(durable, within_s)
                    rows = self._run(queries)
                break
            except UnavailableError as error:
                if is_last or error.reason in (LOCKED, SILENT):
                    raise
        try:
            yield rows
        except BaseException:
            if self._db is not None:  # else it is undone already
                with suppress(UnavailableError):
                    self.execute(("ROLLBACK", ()))
            raise
        try:
            self._run([("COMMIT", ())])
        except self._db_errors as error:
            self.close()
            reason, is_undone = self._explain(error)
            raise UnavailableError(reason, unknown=not is_undone) from error

    def close(self) -> None:
        """Close the connection; the next use opens another."""
        db = self._db
        self._db = None
        if db is not None:
            with suppress(*self._db_errors):
                db.close()

    @abstractmethod
    def _run(self, statements: Sequence[Statement]) -> list[Rows]:
        """Execute statements; the database's own errors come as they are."""

    @abstractmethod
    def _begin(self, durable: bool, within_s: float) -> None:
        """
        Connect where there is no connection, and begin a transaction, now or with what
        runs next.
        """

    @abstractmethod
    def insert_statements(self, pets: Iterable[PetFields]) -> list[Statement]:
        """Return the statements that add animals, and whose rows are their ids."""

    @abstractmethod
    def _explain(self, error: Exception) -> tuple[str, bool]:
        """
        Say why the database cannot be used, and whether a commit that failed so is
        known to have changed nothing.
        """

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        """
        Close the connection after an error of the database: its state is not known.

        Raises:
            UnavailableError: The database failed.
        """
        try:
            yield
        except self._db_errors as error:
            self.close()
            raise UnavailableError(self._explain(error)[0]) from error

    @contextmanager
    def _explain_start(self, name: str, advice: str = "") -> Iterator[None]:
        """Turn a failure at the start into a SettingsError; close the connection."""
        try:
            with self._translated_errors():
                yield
        except BaseException as error:
            self.close()
            if not isinstance(error, UnavailableError):
                raise
            reason = f"the service's database {name} {error.reason}{advice}"
            raise SettingsError(reason) from error


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
                sqlite.create(self._resolved_path, SQLITE)
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
            most_s = min(within_s, sqlite.BUSY_S)
            sqlite.execute_when_free(db, "BEGIN IMMEDIATE", most_s)
        except sqlite3.OperationalError as error:
            # nothing is wrong with the connection
            if self._explain(error)[0] == LOCKED:
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

    def _explain(self, error: Exception) -> tuple[str, bool]:
        match getattr(error, "sqlite_errorcode", 0) & 0xFF:
            case sqlite3.SQLITE_BUSY:
                return LOCKED, True
            case sqlite3.SQLITE_FULL:
                return "has no space left on its disk", True
            case sqlite3.SQLITE_READONLY:
                return READ_ONLY, False
            case sqlite3.SQLITE_CONSTRAINT | sqlite3.SQLITE_TOOBIG:
                return REFUSED, True
        return f"cannot be used: {getattr(error, 'strerror', error)}", False

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
            query = "SELECT name FROM sqlite_master WHERE type = 'table'"
            tables = {name for (name,) in db.execute(query)}
        if application_id != APPLICATION_ID:
            raise SettingsError(
                f"{self._path.name} is no database of this service. Nothing in it was"
                " changed. Name another file with --database"
            )
        check_tables(tables, version, self._path.name)
