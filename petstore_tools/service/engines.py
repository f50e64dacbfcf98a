"""SQLite and PostgreSQL behind one seam: execute, hold a transaction, bring the schema up to date."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Protocol

from pydantic import SecretStr

from petstore_tools import sqlite
from petstore_tools.errors import MissingExtraError, SettingsError
from petstore_tools.service import schema

POSTGRES: Final = ("postgresql://", "postgres://")
_ORDER: Final = 0x70657473  # of our advisory locks: assignment and commit of ids; the schema


class Engine(Protocol):
    """
    A database.

    Attributes:
        locking: What makes a SELECT hold its rows.
        bytes_for_names: Names are stored as UTF-8, since its text cannot hold a NUL.
    """

    locking: str
    bytes_for_names: bool

    def execute(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Execute a statement with `?` for each value, and return its rows."""

    def execute_many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """Execute a statement for each row."""

    @contextmanager
    def transaction(self, *, durable: bool) -> Iterator[None]:
        """Make what happens inside happen as one; `durable`: and survive a power loss once it has."""

    def serialise_ids(self) -> None:
        """Let nobody else assign an id until this transaction ends: ids become visible in order."""

    def is_lost(self, error: Exception) -> bool:
        """Say whether the database went away, so that nobody knows what became of a commit."""

    def time(self) -> float | None:
        """Return the database's Unix seconds where many machines share it, None where one does."""

    def close(self) -> None:
        """Let go of it."""


class SqliteEngine:
    """
    One file, one process that writes at a time.

    Args:
        path: The file; made where absent.
        durability: What an acknowledged create survives (`sqlite.connect`).

    Raises:
        SettingsError: It is no database of this service, or of a newer version.
    """

    locking, bytes_for_names = "", False
    faults: tuple[type[Exception], ...] = (sqlite3.Error, OSError)

    def __init__(self, path: Path, *, durability: sqlite.Durability = "FULL") -> None:
        self._durability, self._now_durable = durability, True
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite.connect(path, durability=durability)
            self._db.execute(f"PRAGMA busy_timeout = {int(sqlite.BUSY_S * 1000)}")  # staff beside the service
            with sqlite.transaction(self._db):
                (version,) = self._db.execute("PRAGMA user_version").fetchone()
                for statement in schema.missing(version, path.name, schema.SQLITE):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA user_version = {schema.VERSION}")
        except self.faults as error:
            raise SettingsError(
                f"the service's database (--database) {path.name or path} cannot be used: {error}"
            ) from error

    def execute(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Execute a statement with `?` for each value, and return its rows."""
        return self._db.execute(statement, values).fetchall()

    def execute_many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """Execute a statement for each row."""
        self._db.executemany(statement, rows)

    @contextmanager
    def transaction(self, *, durable: bool) -> Iterator[None]:
        """Make what happens inside happen as one; `durable`: and survive what `durability` names."""
        if durable != self._now_durable and self._durability == "FULL":
            self._db.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._now_durable = durable
        with sqlite.transaction(self._db):
            yield

    def serialise_ids(self) -> None:
        """Let nobody else assign an id: SQLite has one writer at a time."""

    def is_lost(self, error: Exception) -> bool:  # noqa: ARG002
        """Return False: what a file did not commit is undone."""
        return False

    def time(self) -> None:
        """Return None: the service's own clock counts."""

    def close(self) -> None:
        """Close the file."""
        self._db.close()


class PostgresEngine:
    """
    A PostgreSQL database for any number of workers; its clock is everybody's.

    Args:
        url: `postgresql://USER:PASSWORD@HOST/DATABASE`.
        own_time: Whether the database's clock counts; False where the service's clock is turned.

    Raises:
        MissingExtraError: The extra `postgres` is not installed.
        SettingsError: It cannot be reached, or is of a newer version.
    """

    locking, bytes_for_names = " FOR UPDATE", True

    def __init__(self, url: SecretStr, *, own_time: bool = True) -> None:
        try:
            import psycopg
        except ImportError as error:
            raise MissingExtraError("postgres", "the service on PostgreSQL") from error
        self._psycopg, self._url, self._own_time = psycopg, url, own_time
        self.faults: tuple[type[Exception], ...] = (psycopg.Error, OSError)
        self._db: Any = None
        try:
            with self.transaction(durable=True):
                self.execute("SELECT pg_advisory_xact_lock(?, 1)", (_ORDER,))  # many workers start at once
                self.execute("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)")
                version = self.execute("SELECT coalesce(max(version), 0) FROM schema_version")[0][0]
                for statement in schema.missing(version, "on PostgreSQL", schema.POSTGRES):
                    self.execute(statement)
                if version != schema.VERSION:
                    self.execute("INSERT INTO schema_version VALUES (?)", (schema.VERSION,))
        except self.faults as error:
            raise SettingsError(f"the service's PostgreSQL cannot be used: {type(error).__name__}") from error

    def execute(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Execute a statement with `?` for each value, and return its rows."""
        cursor = self._connection().execute(_percent(statement), values)
        return cursor.fetchall() if cursor.description else []

    def execute_many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """Execute a statement for each row."""
        with self._connection().cursor() as cursor:
            cursor.executemany(_percent(statement), rows)

    @contextmanager
    def transaction(self, *, durable: bool) -> Iterator[None]:
        """Make what happens inside happen as one; `durable`: and survive a power loss once it has."""
        db = self._connection()
        try:
            with db.transaction():
                if not durable:
                    db.execute("SET LOCAL synchronous_commit = off")
                yield
        except self._psycopg.OperationalError:  # a database that was restarted is met with a new connection
            self.close()
            raise

    def serialise_ids(self) -> None:
        """Let nobody else assign an id until this transaction ends: a keyset reader misses none."""
        self.execute("SELECT pg_advisory_xact_lock(?, 2)", (_ORDER,))

    def is_lost(self, error: Exception) -> bool:
        """Say whether the server went away without a word of its own."""
        return isinstance(error, self._psycopg.OperationalError) and error.sqlstate is None

    def time(self) -> float | None:
        """Return the database's Unix seconds, so that workers on many machines agree on windows."""
        if not self._own_time:
            return None
        now: float = self.execute("SELECT extract(epoch FROM clock_timestamp())::float8")[0][0]
        return now

    def close(self) -> None:
        """Close the connection; the next use opens another."""
        if self._db is not None:
            with suppress(*self.faults):
                self._db.close()
        self._db = None

    def _connection(self) -> Any:
        if self._db is None:
            self._db = self._psycopg.connect(self._url.get_secret_value(), autocommit=True, connect_timeout=2)
        return self._db


@lru_cache(maxsize=1_000)
def _percent(statement: str) -> str:
    return statement.replace("%", "%%").replace("?", "%s")


def engine(where: str | Path, *, durability: sqlite.Durability = "FULL", own_time: bool = True) -> Engine:
    """Open the database that a path or a `postgresql://` address names."""
    if isinstance(where, str) and where.startswith(POSTGRES):
        return PostgresEngine(SecretStr(where), own_time=own_time)
    return SqliteEngine(Path(where), durability=durability)
