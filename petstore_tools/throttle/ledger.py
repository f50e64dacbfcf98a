"""
The ledger, which keeps the budget of a key: in a file, or in a team's database.

Each of the two gives one caller at a time the budget (`update`), keeps what the caller
made of it, says in words who shares it (`scope`), how far its clock is ahead of this
machine's (`ahead_s`), and what an update takes where that is felt (`transaction_s`).
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from traceback import clear_frames
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import SecretStr, TypeAdapter

from petstore_tools import sqlite
from petstore_tools._version import missing_extra
from petstore_tools.errors import LedgerError, SettingsError, drop_frames
from petstore_tools.throttle.budget import Budget

if TYPE_CHECKING:
    import psycopg

    from petstore_tools.settings import Settings

T = TypeVar("T")
_FORMAT: Literal[3] = 3  # of what is stored; each ledger refuses another one
_STATE = TypeAdapter(tuple[Literal[3], Budget])
_NEW_BUDGET = json.dumps((_FORMAT, {}))  # an empty state was emptied
_TABLE = f"""
PRAGMA user_version = {_FORMAT};
CREATE TABLE key_budget (subject TEXT PRIMARY KEY, state TEXT NOT NULL) WITHOUT ROWID
"""


def open_ledger(settings: Settings) -> Ledger:
    """
    Return the ledger of a key.

    Args:
        settings: Service and key, which name the budget; the state folder, for the file
            that all processes of this user share; or the database that the processes
            of many machines share, in its place.

    Raises:
        SettingsError: The URL is not that of a PostgreSQL database.
    """
    name = subject(settings.service_id, settings.api_key.get_secret_value())
    if settings.ledger_url is not None:
        return PostgresLedger(settings.ledger_url, name)
    return SqliteLedger(settings.state_dir / "budget.db", name)


def subject(service_id: str, key: str) -> str:
    """
    Return the name of a budget: a digest of service and key, neither of which it
    shows.
    """
    # a text that cannot be encoded would be an error, which shows the key
    service_and_key = f"{service_id}\n{key}".encode(errors="surrogatepass")
    return hashlib.sha256(service_and_key).hexdigest()[:32]


# one for all: a fork waits until nobody is inside a transaction, which SQLite would
# never end
_LOCK = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_LOCK.acquire,
        after_in_parent=_LOCK.release,
        after_in_child=_LOCK.release,
    )


class Ledger(ABC):
    """
    What both ledgers have in common.

    Args:
        subject: Which budget (`subject`).
        error: What the database raises.

    Attributes:
        label: The database, in words.
        advice: What helps where it cannot be used.
        scope: Who shares the budget.
    """

    ahead_s = transaction_s = 0.0
    label: str
    advice: str
    scope: str

    def __init__(self, subject: str, error: type[Exception]) -> None:
        self._subject = subject
        self._unusable = (error, OSError, ValueError)
        self._connection = sqlite.PerProcess(self._open)
        # what this process wrote last, as text and as it is, so it need not be parsed
        self._state: str | None = None
        self._budget = Budget()

    def update(self, change: Callable[[Budget], T]) -> T:
        """
        Let `change` work on the budget alone, in one transaction.

        Raises:
            LedgerError: The budget cannot be used.
        """
        results: list[T] = []

        def replace_state(state: str) -> str:
            if state != self._state:
                self._budget = _STATE.validate_json(state)[1]
            self._state = None  # a change that breaks off leaves half of it
            results.append(change(self._budget))
            # `dump_json` would turn an interrupt into an error of its own
            fields = _STATE.dump_python(
                (_FORMAT, self._budget), mode="json", exclude_defaults=True
            )
            self._state = json.dumps(fields)
            return self._state

        with _LOCK:
            try:
                self._transact(replace_state)
            except BaseException as failure:
                # a transaction that an interrupt left open
                clear_frames(failure.__traceback__)
                self._connection.close()
                if not isinstance(failure, self._unusable):
                    raise
                reason = str(failure).partition("\n")[0]
                if isinstance(failure, ValueError):
                    reason = "it is damaged, or another version of the toolkit wrote it"
                raise LedgerError(
                    f"{self.label} cannot be used ({reason}). Without it no request is"
                    f" sent. {self.advice}."
                ) from failure
        return results[-1]

    def close(self) -> None:
        """Close the connection."""
        with _LOCK:
            self._connection.close()

    @abstractmethod
    def _open(self) -> Any:
        """Return a connection to a database that has the table."""

    @abstractmethod
    def _transact(self, replace_state: Callable[[str], str]) -> None:
        """
        Let `replace_state` work on the stored budget in one transaction; all others
        wait.
        """


class SqliteLedger(Ledger):
    """
    A budget as JSON in a file: exact under threads and processes, kept over restarts
    and kill -9.

    Args:
        path: The file, one for all keys; made with mode 0600.
        subject: Which budget in it (`subject`).

    Raises:
        LedgerError: On use, where the file cannot be read or written, or was removed or
            replaced since it was used first. That request was not sent.
    """

    scope = "for all programs of this user on this machine, and for no others"
    label = "The budget file budget.db in the state folder"
    advice = (
        "Make the folder writable, name another one in PETSTORE_STATE_DIR, or move the"
        " file away if it is damaged, and start again"
    )

    def __init__(self, path: Path, subject: str) -> None:
        super().__init__(subject, sqlite3.Error)
        self.path = path
        self._file: tuple[int, ...] | None = None

    def _transact(self, replace_state: Callable[[str], str]) -> None:
        with sqlite.transaction(self._connection.get()) as db:
            self._check_file()
            query = "SELECT state FROM key_budget WHERE subject = ?"
            (state,) = db.execute(query, (self._subject,)).fetchone() or (_NEW_BUDGET,)
            db.execute(
                "INSERT OR REPLACE INTO key_budget VALUES (?, ?)",
                (self._subject, replace_state(state)),
            )

    def _check_file(self) -> None:
        """Check that it is the file of before: another one would be a second budget."""
        identity = sqlite.identity(self.path)
        if not identity or self._file not in (None, identity):
            self._file = ()  # for good: a new file may get the number of the old one
            raise sqlite3.OperationalError("it was removed while it was in use")
        self._file = identity

    def _open(self) -> sqlite3.Connection:
        if self._file is not None:
            self._check_file()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self.path.exists():
            # of a file that was removed while it was in use
            for part in ("-wal", "-shm"):
                Path(f"{self.path}{part}").unlink(missing_ok=True)
            sqlite.create(self.path, _TABLE)
        with closing(sqlite.open_existing(self.path)) as database:
            sqlite.check_format(database, _FORMAT)
        connection = sqlite.connect(self.path, durability="OFF", journal="WAL")
        # pages: the log stays small
        connection.execute("PRAGMA wal_autocheckpoint = 20")
        return connection


class PostgresLedger(Ledger):
    """
    A budget in a PostgreSQL database, for a team on many machines; the database's clock
    is everybody's.

    A transaction is two round trips: one takes the row and one keeps it, so the row is
    held for one of them. No state of the session is used, since PgBouncer may give each
    transaction another session.

    Args:
        url: `postgresql://USER:PASSWORD@HOST/DATABASE`; a table `petstore_budget` is
            made there.
        subject: Which budget in it (`subject`).

    Raises:
        SettingsError: The URL is not that of a PostgreSQL database.
        MissingExtraError: The extra `postgres` is not installed.
        LedgerError: On use, where the database cannot be used. That request was not
            sent.
    """

    label = "The budget database"
    advice = (
        "Start it, or correct its address (PETSTORE_LEDGER_URL, or ledger_url in the"
        " settings file); its user must be able to create the table petstore_budget, or"
        " the owner of that types GRANT SELECT, INSERT, UPDATE ON petstore_budget TO"
        " the user. Until then each of you can take the address away, and name a part"
        " of the plan (of free, for two: PETSTORE_PLAN=30/500, in staging"
        " PETSTORE_STAGING_PLAN=30/500)"
    )

    def __init__(self, url: SecretStr, subject: str) -> None:
        try:
            import psycopg
        except ImportError as error:
            raise missing_extra("postgres", "a ledger on PostgreSQL") from error
        super().__init__(subject, psycopg.Error)
        self._url = url
        address, self._password = _read_address(url)
        self.scope = f"for all programs that use the budget database {address}"

    def _transact(self, replace_state: Callable[[str], str]) -> None:
        import psycopg

        began_at = time.monotonic()
        db: psycopg.Connection = self._connection.get()
        try:
            state = self._take_row(db)
        except psycopg.OperationalError:
            if not db.closed:
                raise
            # the database was restarted since: nothing is in progress yet
            self._connection.close()
            db = self._connection.get()
            state = self._take_row(db)
        query = "UPDATE petstore_budget SET state = %s WHERE subject = %s; COMMIT"
        db.execute(query, (replace_state(state), self._subject))
        self.transaction_s = time.monotonic() - began_at

    def _take_row(self, db: psycopg.Connection) -> str:
        """Begin a transaction that holds the budget, and read the database's clock."""
        rows = db.execute(
            # the second time: how long the database waits for a machine that vanished
            # inside a transaction
            "BEGIN; SET LOCAL lock_timeout = '10s'; SET LOCAL"
            " idle_in_transaction_session_timeout = '5s';"
            # a subquery, so that the time is read when the row is ours, not before
            " SELECT state, extract(epoch FROM clock_timestamp())::float8 FROM"
            " (SELECT state FROM petstore_budget WHERE subject = %s FOR UPDATE) AS"
            " held",
            (self._subject,),
        )
        while rows.nextset():
            pass
        if (row := rows.fetchone()) is None:
            raise ValueError("the row is gone")
        state, database_s = row
        self.ahead_s = database_s - time.time()
        return str(state)

    def _open(self) -> psycopg.Connection:
        import psycopg

        try:
            db = psycopg.connect(
                self._url.get_secret_value(),
                autocommit=True,
                prepare_threshold=None,
                # sends several statements in one round trip; a pipeline of psycopg ends
                # with a Flush after its Sync, and then PostgreSQL does not see that a
                # transaction is idle
                cursor_factory=psycopg.ClientCursor,
                connect_timeout=5,
                client_encoding="UTF8",  # else a server in SQL_ASCII answers bytes
            )
        except psycopg.Error as error:
            text = str(error)
            if self._password:
                text = text.replace(self._password, "****")
            failure: BaseException = type(error)(text)
        except BaseException as error:
            failure = drop_frames(error)
        else:
            table = db.execute("SELECT to_regclass('petstore_budget')").fetchone()
            if table == (None,):  # where it is, a user may have no right to make it
                db.execute(  # several statements at once are one transaction
                    # two may come first
                    "SELECT pg_advisory_xact_lock(hashtext('petstore_budget'));CREATE"
                    " TABLE IF NOT EXISTS petstore_budget (subject text PRIMARY KEY,"
                    " state text NOT NULL)"
                )
            db.execute(
                "INSERT INTO petstore_budget VALUES (%s, %s) ON CONFLICT DO NOTHING",
                (self._subject, _NEW_BUDGET),
            )
            return db
        # not the driver's error: its attributes or traceback may hold the password
        raise failure


def _read_address(url: SecretStr) -> tuple[str, str]:
    """
    Return the address of a database without its user, and the password, "" where there
    is none.

    Raises:
        SettingsError: It is no address of PostgreSQL, or a character of the password
            divides it, so that a part of it would stand in messages.
    """
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    address = url.get_secret_value()
    parts: dict[str, Any] = {}
    if address.startswith(("postgresql://", "postgres://")):
        with suppress(ProgrammingError):
            parts = conninfo_to_dict(address)
    ports = str(parts.get("port", "5432"))
    hosts = str(parts.get("host", ""))
    if not parts or "@" in hosts or not ports.replace(",", "").isdigit():
        raise SettingsError(
            "PETSTORE_LEDGER_URL must look like"
            " postgresql://USER:PASSWORD@HOST:5432/DATABASE; in a password write @ as"
            " %40, / as %2F, and % as %25"
        )
    database = f"{hosts}:{ports}/{parts.get('dbname', '')}"
    return database, str(parts.get("password", ""))
