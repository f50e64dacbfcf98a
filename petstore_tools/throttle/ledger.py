"""
The ledger, which keeps the budget of a key: in this process, in a file, or in a team's database.

Each of the three gives one caller at a time the budget (`update`), keeps what the caller made of it, says
in words who shares it (`shared`), and how far its clock is ahead of this machine's (`ahead_s`): the times in
a budget are the ledger's.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeVar, get_args

from pydantic import SecretStr, TypeAdapter

from petstore_tools import sqlite
from petstore_tools.errors import LedgerError, MissingExtraError, SettingsError, without_frames
from petstore_tools.throttle.budget import Budget, from_0_1

if TYPE_CHECKING:
    import psycopg

T = TypeVar("T")
Kind = Literal["shared", "memory"]

_BUDGET: Final = TypeAdapter(Budget)
_DEAD_HOLDER_S: Final = 5  # how long the database waits for a machine that vanished inside a transaction


def open_ledger(
    kind: Kind, folder: Path, base_url: str, key: SecretStr, *, url: SecretStr | None = None
) -> Ledger:
    """
    Return the ledger of a key.

    Args:
        kind: `memory`: this process alone.
        folder: State folder, for the file that all processes of this user share.
        base_url: Names the budget, with the key.
        key: Likewise.
        url: Database that the processes of many machines share, in place of the file.

    Raises:
        SettingsError: The URL is none of a PostgreSQL database, or there is no such kind.
    """
    if kind not in get_args(Kind):
        raise SettingsError(f"ledger is 'shared' or 'memory', not {kind!r:.80}")
    if kind == "memory":
        return MemoryLedger()
    name = subject(base_url, key.get_secret_value())
    return SqliteLedger(folder / "budget.db", name) if url is None else PostgresLedger(url, name)


def subject(base_url: str, key: str) -> str:
    """Return the name of a budget: a digest of base address and key, which neither can be read from."""
    named = f"{base_url}\n{key}".encode(errors="surrogatepass")  # never an error, which would show the key
    return hashlib.sha256(named).hexdigest()[:32]


class MemoryLedger:
    """A budget for the threads of this process only; forgotten with it."""

    shared = "in this process only: other processes on the same key are not counted"
    ahead_s = 0.0

    def __init__(self) -> None:
        self._budget, self._lock = Budget(), threading.Lock()

    def update(self, change: Callable[[Budget], T]) -> T:
        """Let `change` work on the budget alone."""
        with self._lock:
            return change(self._budget)

    def close(self) -> None:
        """Do nothing."""


def _changed(state: bytes, change: Callable[[Budget], T]) -> tuple[bytes, T]:
    """Return the state after `change`, and what `change` returned; no bytes are no state yet."""
    if b'"unspoken"' in state:
        budget = _BUDGET.validate_python(from_0_1(json.loads(state)))
    else:
        budget = _BUDGET.validate_json(state) if state else Budget()
    result = change(budget)
    return _BUDGET.dump_json(budget), result


def _what(error: Exception, otherwise: str) -> str:
    return "its content is damaged" if isinstance(error, ValueError) else otherwise


class SqliteLedger:
    """
    A budget as JSON in a file: exact under threads and processes, kept over restarts and kill -9.

    Args:
        path: The file, one for all keys; made with mode 0600.
        subject: Which budget in it (`subject`).

    Raises:
        LedgerError: On use, where the file cannot be read or written. Nothing was sent then.
    """

    shared = "with all processes of this user on this machine"
    ahead_s = 0.0

    def __init__(self, path: Path, subject: str) -> None:
        self.path, self._subject, self._lock = path, subject, threading.Lock()
        self._connection = sqlite.PerProcess(self._open)

    def update(self, change: Callable[[Budget], T]) -> T:
        """Let `change` work on the budget alone, in one transaction."""
        try:
            with self._lock, sqlite.transaction(self._connection.get()) as db:
                query = "SELECT CAST(state AS BLOB) FROM key_budget WHERE subject = ?"
                (state,) = db.execute(query, (self._subject,)).fetchone() or (b"",)
                state, result = _changed(state, change)
                db.execute("INSERT OR REPLACE INTO key_budget VALUES (?, ?)", (self._subject, state))
                return result
        except (sqlite3.Error, OSError, ValueError) as error:
            self.close()
            raise LedgerError(
                f"The budget file {self.path.name} in the state folder cannot be used "
                f"({_what(error, str(error))}). Nothing was sent. Make the folder writable, set "
                "PETSTORE_STATE_DIR to a folder that is, move the file away if it is damaged, or pass "
                'ledger="memory" to count the requests of this process only.'
            ) from error

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._connection.close()

    def _open(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite.connect(self.path, durability="NORMAL")
        with sqlite.transaction(connection):
            connection.execute(
                "CREATE TABLE IF NOT EXISTS key_budget"
                " (subject TEXT PRIMARY KEY, state BLOB NOT NULL) WITHOUT ROWID"
            )
        return connection


class PostgresLedger:
    """
    A budget in a PostgreSQL database, for a team on many machines; the database's clock is everybody's.

    Args:
        url: `postgresql://USER:PASSWORD@HOST/DATABASE`; a table `petstore_budget` is made there.
        subject: Which budget in it (`subject`).
        wall: This machine's clock.

    Raises:
        SettingsError: The URL is none of PostgreSQL.
        MissingExtraError: The extra `postgres` is not installed.
        LedgerError: On use, where the database cannot be used. Nothing was sent then.
    """

    shared = "with all who use the same ledger database"

    def __init__(self, url: SecretStr, subject: str, *, wall: Callable[[], float] = time.time) -> None:
        if not url.get_secret_value().startswith(("postgresql://", "postgres://")):
            raise SettingsError("PETSTORE_LEDGER_URL must look like postgresql://USER:PASSWORD@HOST/DATABASE")
        try:
            import psycopg
        except ImportError as error:
            raise MissingExtraError("postgres", "a ledger on PostgreSQL") from error
        self.ahead_s, self._wall, self._lock = 0.0, wall, threading.Lock()
        self._url, self._subject, self._psycopg = url, subject, psycopg
        self._connection = sqlite.PerProcess(self._open)

    def update(self, change: Callable[[Budget], T]) -> T:
        """Let `change` work on the budget alone, in one transaction."""
        try:
            with self._lock:
                return self._update(change)
        except (self._psycopg.Error, OSError, ValueError) as error:
            self.close()
            raise LedgerError(
                f"The ledger database cannot be used ({_what(error, type(error).__name__)}). Nothing was "
                "sent. Check that the address in PETSTORE_LEDGER_URL can be reached from here and that its "
                "user may create and change the table petstore_budget, or pass "
                'ledger="memory" to count the requests of this process only.'
            ) from error

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._connection.close()

    def _update(self, change: Callable[[Budget], T]) -> T:
        try:
            self._connection.get().execute("SELECT 1")
        except self._psycopg.OperationalError:  # the database was restarted since: nothing is in progress yet
            self._connection.close()
        db = self._connection.get()
        with db.transaction():
            row = db.execute(
                # in a subquery, so that the time is read when the row is ours, not before
                "SELECT state, extract(epoch FROM clock_timestamp())::float8 FROM"
                " (SELECT state FROM petstore_budget WHERE subject = %s FOR UPDATE) AS held",
                (self._subject,),
            ).fetchone()
            assert row is not None
            self.ahead_s = row[1] - self._wall()
            state, result = _changed(row[0].encode(), change)
            query = "UPDATE petstore_budget SET state = %s WHERE subject = %s"
            db.execute(query, (state.decode(), self._subject))
            return result

    def _open(self) -> psycopg.Connection:
        db = self._connected()
        db.execute("SET lock_timeout = '10s'")
        db.execute(f"SET idle_in_transaction_session_timeout = '{_DEAD_HOLDER_S}s'")
        with db.transaction():
            db.execute("SELECT pg_advisory_xact_lock(hashtext('petstore_budget'))")  # two may come first
            db.execute(
                "CREATE TABLE IF NOT EXISTS petstore_budget (subject text PRIMARY KEY, state text NOT NULL)"
            )
            db.execute("INSERT INTO petstore_budget VALUES (%s, '') ON CONFLICT DO NOTHING", (self._subject,))
        return db

    def _connected(self) -> psycopg.Connection:
        try:
            return self._psycopg.connect(
                self._url.get_secret_value(),
                autocommit=True,
                connect_timeout=5,
                client_encoding="UTF8",  # else a server in SQL_ASCII answers bytes
            )
        except self._psycopg.Error as error:
            failure: BaseException = type(error)("no connection")
        except BaseException as error:
            failure = without_frames(error)
        raise failure  # neither frames nor attributes nor words of the driver show the password here


Ledger = MemoryLedger | SqliteLedger | PostgresLedger
