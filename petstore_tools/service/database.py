"""
Animals, and keys with their counters, in SQLite or PostgreSQL: one text of SQL for
both, which differ in how a connection is had and an error is explained.
"""

import hashlib
import re
import secrets
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import SecretStr

from petstore_tools import sqlite
from petstore_tools._version import missing_extra
from petstore_tools.errors import PetstoreError, SettingsError
from petstore_tools.plans import Plan
from petstore_tools.service.limiter import Usage
from petstore_tools.service.models import PetFields, StoredPet

LOCKED = "is locked by another program"
READ_ONLY = "is read-only"
_ADVICE = (
    ". Check that it runs, and the host, port, name, user and password in its address"
)
REPLACED = (
    "was removed or replaced while it was in use; start the service again with the"
    " right file"
)
SILENT = "did not answer in time"
LOCK_WAIT_S = 3.0  # for other programs; PostgreSQL has `_BEGIN`
VERSION = 3  # of the tables
APPLICATION_ID = 0x50455453  # "PETS", in the header of an SQLite file
POSTGRES = ("postgresql://", "postgres://")
# of any kind; one letter in front of it is a drive of Windows
_URL = re.compile(
    r"^[A-Za-z][A-Za-z0-9+.-]+:/|(?:^|\s)(?:host|hostaddr|port|dbname|user|password|service)\s*="
)
TABLES = {"pet", "key", "inventory"}
_TABLES = """\
CREATE TABLE pet (
    id {id}, name TEXT NOT NULL, category_id BIGINT NOT NULL, status TEXT
);
CREATE INDEX pet_by_status ON pet (status, id);
CREATE TABLE key (
    id TEXT PRIMARY KEY, label TEXT NOT NULL, per_minute BIGINT NOT NULL,
    per_day BIGINT NOT NULL, plan TEXT NOT NULL, created_at DOUBLE PRECISION NOT NULL,
    revoked_at DOUBLE PRECISION, digest TEXT NOT NULL UNIQUE,
    minute_start BIGINT NOT NULL DEFAULT 0, minute_used BIGINT NOT NULL DEFAULT 0,
    day_start BIGINT NOT NULL DEFAULT 0, day_used BIGINT NOT NULL DEFAULT 0,
    refused_at DOUBLE PRECISION NOT NULL DEFAULT 0,
    refused_until DOUBLE PRECISION NOT NULL DEFAULT 0,
    retries_during_block BIGINT NOT NULL DEFAULT 0,
    banned_until DOUBLE PRECISION NOT NULL DEFAULT 0
);
CREATE TABLE inventory (base_url TEXT);
INSERT INTO inventory VALUES (NULL);
"""
_FIND_KEY = (  # the time is that at which the row is held
    f"SELECT id, per_minute, per_day, {', '.join(Usage._fields)}, {{time}} FROM"
    " (SELECT * FROM key WHERE digest = ? AND revoked_at IS NULL{row_lock}) AS caller"
)
_SAVE_USAGE = f"UPDATE key SET {' = ?, '.join(Usage._fields)} = ? WHERE id = ?"
_ADD_KEY = (
    "INSERT INTO key (id, label, per_minute, per_day, plan, created_at, digest)"
    " VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id"
)
_LIST_KEYS = (
    "SELECT id, label, per_minute, per_day, plan, created_at, revoked_at FROM key"
    " ORDER BY created_at, id"
)
_REVOKE = (
    "UPDATE key SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL RETURNING id"
)
_ADD_PET = "INSERT INTO pet (name, category_id, status) VALUES (?, ?, ?) RETURNING id"
_PET = "SELECT id, name, category_id, status FROM pet WHERE"
# PostgreSQL reads the least number of 64 bits as one of more bits
_PAGE = "id > CAST(? AS BIGINT) ORDER BY id LIMIT ?"

Rows = list[tuple[Any, ...]]
Result = TypeVar("Result")


class UnavailableError(PetstoreError):
    """
    The database cannot be used now.

    Attributes:
        reason: Why, to follow the words "the database".
        unknown: Whether nobody knows if an animal was created; else nothing was
            changed.
    """

    def __init__(self, reason: str, *, unknown: bool = False) -> None:
        super().__init__(f"the service's database {reason}")
        self.reason = reason
        self.unknown = unknown


class RefusedError(PetstoreError):
    """The database refuses a row, as by a constraint of its owner."""


class Caller(NamedTuple):
    """
    A valid key, whose counters are held until the transaction ends.

    Attributes:
        key_id: Its id.
        per_minute, per_day: Its plan.
        usage: What it has used.
        time: Unix seconds of the database where it is the clock of all, else None.
    """

    key_id: str
    per_minute: int
    per_day: int
    usage: Usage
    time: float | None


class Key(NamedTuple):
    """
    An API key as it is stored: without the key.

    Attributes:
        id: Short public name, for `keys list` and `keys revoke`.
        label: What the owner called it.
        plan: Name and numbers.
        created_at: Unix seconds.
        revoked_at: Unix seconds, None while it is valid.
    """

    id: str
    label: str
    plan: Plan
    created_at: float
    revoked_at: float | None


class Session(ABC):
    """
    A connection, which is opened anew after it failed, and what is done in a
    transaction of it.

    Attributes:
        connection: Of the driver; None at first, and after a failure.
        creates: Whether the transaction adds an animal.
    """

    id_lock = ""  # so that ids become visible in order
    row_lock = ""
    time = "NULL"  # where the service's clock is used
    connection: Any = None
    creates = False

    @abstractmethod
    def begin(self, durable: bool) -> None:
        """
        Begin a transaction, on a new connection where there is none.

        Args:
            durable: It survives a power loss once it has happened.
        """

    @abstractmethod
    def execute(self, statement: str, *values: object) -> Rows:
        """Execute a statement, with `?` for each value; return its rows."""

    def defer(self, statement: str, *values: object) -> None:
        """Execute a statement without rows, at the latest with the next one."""
        self.execute(statement, *values)

    @staticmethod
    @abstractmethod
    def explain(error: BaseException) -> tuple[str, bool] | None:
        """
        Explain an error of the database.

        Returns:
            Why it cannot be used ("": it refuses a row), and whether a commit that
            failed so is known to have changed nothing. None: the error is another one.
        """

    def has_ended(self) -> bool:
        """Say whether a server ended the connection."""
        return False

    def abort(self) -> None:
        """Undo the transaction, and close the connection: its state is not known."""
        if self.connection is not None:
            self.connection.close()
        self.connection = None

    def transact(
        self,
        work: Callable[["Session"], Result],
        durable: bool,
        may_commit: Callable[[bool], bool],
    ) -> Result:
        """Do some work in a transaction, as `Database.run` says."""
        while True:
            is_new = self.connection is None
            is_committing = self.creates = False
            try:
                self.begin(durable)
                result = work(self)
                if not may_commit(self.creates):
                    raise UnavailableError(SILENT)
                is_committing = True
                self.execute("COMMIT")
                return result
            except BaseException as error:
                reason, is_undone = self.explain(error) or (None, True)
                is_lost = self.connection is not None and self.has_ended()
                self.abort()
                if is_lost and not is_new and not is_committing:
                    continue  # it had ended while nobody asked
                if reason is None:
                    raise
                if not reason:
                    raise RefusedError("the database refuses these values") from error
                unknown = is_committing and self.creates and not is_undone
                raise UnavailableError(reason, unknown=unknown) from error

    def find_key(self, digest: str) -> Caller | None:
        """Return the valid key that has a digest, and hold its counters."""
        query = _FIND_KEY.format(time=self.time, row_lock=self.row_lock)
        for key_id, per_minute, per_day, *counts, time in self.execute(query, digest):
            return Caller(key_id, per_minute, per_day, Usage(*counts), time)
        return None

    def save_usage(self, key_id: str, usage: Usage) -> None:
        """Store what a key has used."""
        self.defer(_SAVE_USAGE, *usage, key_id)

    def add_pets(self, pets: Iterable[PetFields]) -> list[int]:
        """Add animals; return their ids, each higher than any before."""
        self.creates = True
        if self.id_lock:
            self.defer(self.id_lock)
        return [self.execute(_ADD_PET, *pet)[0][0] for pet in pets]

    def page(self, after: int, limit: int, status: str | None) -> list[StoredPet]:
        """Return up to `limit` animals with an id above `after`, in id order."""
        if status is None:
            return self.execute(f"{_PET} {_PAGE}", after, limit)
        return self.execute(f"{_PET} status = ? AND {_PAGE}", status, after, limit)

    def pet(self, pet_id: int) -> StoredPet | None:
        """Return one animal."""
        rows = self.execute(f"{_PET} id = CAST(? AS BIGINT)", pet_id)
        return rows[0] if rows else None

    def check(self) -> None:
        """Read the tables, and write to one."""
        self.execute("SELECT (SELECT max(id) FROM pet), (SELECT max(id) FROM key)")
        self.execute("UPDATE inventory SET base_url = base_url RETURNING 1")


class SqliteSession(Session):
    """
    A connection to an SQLite file.

    Args:
        path: The file.
        durability: What an acknowledged create survives (`sqlite.connect`).
        identity: Of the file, when the service began.
    """

    def __init__(
        self, path: Path, durability: sqlite.Durability, identity: tuple[int, ...]
    ) -> None:
        self._path = path
        self._durability = durability
        self._identity = identity

    def begin(self, durable: bool) -> None:
        """Wait for other programs, and begin, if the file is still the same."""
        if self.connection is None:
            self._check_place()  # no file is made in its place
            self.connection = sqlite.connect(
                self._path, durability=self._durability, journal="WAL"
            )
        if self._durability == "FULL":
            level = "FULL" if durable else "NORMAL"
            self.connection.execute(f"PRAGMA synchronous = {level}")
        sqlite.execute_when_free(self.connection, "BEGIN IMMEDIATE", LOCK_WAIT_S)
        self._check_place()

    def execute(self, statement: str, *values: object) -> Rows:
        """Execute a statement; return its rows."""
        rows: Rows = self.connection.execute(statement, values).fetchall()
        return rows

    @staticmethod
    def explain(error: BaseException) -> tuple[str, bool] | None:
        """Explain an error of SQLite."""
        if not isinstance(error, sqlite3.Error | OSError):
            return None
        match getattr(error, "sqlite_errorcode", 0) & 0xFF:
            case sqlite3.SQLITE_BUSY:
                return LOCKED, True
            case sqlite3.SQLITE_FULL:
                return "has no space left on its disk", True
            case sqlite3.SQLITE_READONLY:
                return READ_ONLY, False
            case sqlite3.SQLITE_CONSTRAINT | sqlite3.SQLITE_TOOBIG:
                return "", True
        return f"cannot be used: {getattr(error, 'strerror', error)}", False

    def abort(self) -> None:
        """Undo the transaction; keep what the log of another place holds."""
        identity = sqlite.identity(self._path)
        if self.connection is not None and identity != self._identity:
            with suppress(sqlite3.Error):
                self.connection.rollback()
                if not identity and self._path.exists():
                    return  # of a file that was emptied, the log is the rest
                # before another file in its place takes the log for its own
                self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        super().abort()

    def _check_place(self) -> None:
        if sqlite.identity(self._path) != self._identity:
            raise UnavailableError(REPLACED)


# A session that was paused releases its rows before those who wait for them give up.
# Behind PgBouncer each transaction may be in another session.
_BEGIN = (
    "BEGIN; SET LOCAL lock_timeout = '3s'; SET LOCAL statement_timeout = '3500ms';"
    " SET LOCAL idle_in_transaction_session_timeout = '2s'"
)
# of our advisory locks: assignment and commit of ids; the schema
_LOCKS = 0x70657473


class PostgresSession(Session):
    """
    A connection to PostgreSQL.

    Args:
        url: `postgresql://USER:PASSWORD@HOST/DATABASE`.
        uses_database_clock: Whether PostgreSQL's clock is that of all workers.
    """

    id_lock = f"SELECT pg_advisory_xact_lock({_LOCKS}, 2)"
    row_lock = " FOR UPDATE"

    def __init__(self, url: SecretStr, *, uses_database_clock: bool) -> None:
        self._url = url
        self._deferred: list[tuple[str, tuple[object, ...]]] = []
        if uses_database_clock:
            self.time = "extract(epoch FROM clock_timestamp())::float8"

    def _connect(self) -> None:
        import psycopg

        with suppress(psycopg.Error):
            self.connection = psycopg.connect(
                self._url.get_secret_value(),
                autocommit=True,
                connect_timeout=2,
                client_encoding="UTF8",  # else a server in SQL_ASCII answers bytes
                # values within the text: several statements are one round trip
                cursor_factory=psycopg.ClientCursor,
                # of a server that is gone without a word
                keepalives_idle=2,
                keepalives_interval=1,
                keepalives_count=3,
                tcp_user_timeout=5_000,
            )
        # The driver's error is dropped: its text or traceback may hold the password.
        if self.connection is None:
            raise psycopg.OperationalError("no connection")

    def begin(self, durable: bool) -> None:
        """Begin a transaction with its first statement."""
        if self.connection is None:
            self._connect()
        self._deferred = [(_BEGIN, ())]
        if not durable:
            self.defer("SET LOCAL synchronous_commit = off")

    def execute(self, statement: str, *values: object) -> Rows:
        """Send a statement, behind those that were deferred; return its rows."""
        self.defer(statement, *values)
        text = "; ".join(deferred for deferred, _ in self._deferred)
        sent_values = [value for _, values in self._deferred for value in values]
        self._deferred = []
        cursor = self.connection.execute(text.replace("?", "%s"), sent_values or None)
        while cursor.nextset():
            pass
        return cursor.fetchall() if cursor.description else []

    def defer(self, statement: str, *values: object) -> None:
        """Send a statement with the next one."""
        self._deferred.append((statement, values))

    @staticmethod
    def explain(error: BaseException) -> tuple[str, bool] | None:
        """
        Explain an error of PostgreSQL, without its text: that may hold the address.
        """
        from psycopg import Error, errors

        if not isinstance(error, Error):
            return None
        is_undone = error.diag.severity_nonlocalized == "ERROR"
        match error:
            case errors.IdleInTransactionSessionTimeout():
                return SILENT, True
            case errors.QueryCanceled():
                return SILENT, is_undone
            case errors.LockNotAvailable():
                return LOCKED, is_undone
            case errors.ReadOnlySqlTransaction():
                return READ_ONLY, is_undone
            case errors.IntegrityError() | errors.DataError():
                return "", is_undone
            case Error(sqlstate=str(state)):
                return f"cannot be used ({state})", is_undone
        return "cannot be reached", is_undone

    def has_ended(self) -> bool:
        """Say whether the server ended the connection."""
        return bool(self.connection.closed)


def digest_key(key: str) -> str:
    """Return what is stored of a key."""
    return hashlib.sha256(key.encode(errors="surrogateescape")).hexdigest()


def _always(_: bool) -> bool:
    return True


class Database:
    """
    The database of the service, for any number of threads.

    Args:
        location: Path of an SQLite file, which is made where there is none, or a
            `postgresql://` address.
        durability: For SQLite: what an acknowledged create survives (`sqlite.connect`).
        uses_database_clock: Whether PostgreSQL's clock is used; SQLite has none.

    Attributes:
        name: The file, or host and database.
        connections: How many transactions a worker has at once.

    Raises:
        SettingsError: It cannot be used, is of another version, or is an address of
            another kind, which would be taken for the name of a file.
        MissingExtraError: The extra `postgres` is not installed.
    """

    def __init__(
        self,
        location: str | Path,
        *,
        durability: sqlite.Durability = "FULL",
        uses_database_clock: bool = True,
    ) -> None:
        self._idle: list[Session] = []
        self._new_session: Callable[[], Session]
        self.name = url = str(location)
        self.connections = 1
        if url.startswith(POSTGRES):
            if find_spec("psycopg") is None:
                raise missing_extra("postgres", "the service on PostgreSQL")
            self.connections = 4
            self._new_session = partial(
                PostgresSession, SecretStr(url), uses_database_clock=uses_database_clock
            )
            with _explained("on PostgreSQL", _ADVICE):
                self.run(_prepare_postgres)
            info = self._idle[0].connection.info
            self.name = f"{info.host}/{info.dbname}"
        elif _URL.search(url):  # no file is to be named like it
            raise SettingsError(
                "the service's database must be the path of an SQLite file, or an"
                " address that begins with postgresql:// (in small letters, without"
                " +psycopg or the like)"
            )
        else:
            path = Path(location)
            with _explained(f"(--database) {path.name}"):
                _prepare_file(path)
                self._new_session = partial(
                    SqliteSession, path.resolve(), durability, sqlite.identity(path)
                )
                self.run(Session.check)  # it can be written

    def run(
        self,
        work: Callable[[Session], Result],
        *,
        durable: bool = True,
        may_commit: Callable[[bool], bool] = _always,
    ) -> Result:
        """
        Do some work in a transaction: all of it happens, or nothing.

        Args:
            work: Is given the session. It is done again where a connection had ended.
            durable: It survives a power loss once it has happened.
            may_commit: Is told whether an animal is added, and allows the commit.

        Raises:
            UnavailableError: The database cannot be used.
            RefusedError: It refuses a row.
        """
        try:
            session = self._idle.pop()
        except IndexError:
            session = self._new_session()
        try:
            return session.transact(work, durable, may_commit)
        finally:
            self._idle.append(session)

    def close(self) -> None:
        """Close the connections, once nobody uses them."""
        while self._idle:
            self._idle.pop().abort()

    def add_many(self, pets: Iterable[PetFields]) -> list[int]:
        """Add many animals; return their ids, in order."""
        return self.run(lambda session: session.add_pets(pets))

    def page(self, *, after: int, limit: int, status: str | None) -> list[StoredPet]:
        """Return up to `limit` animals with an id above `after`, in id order."""
        return self.run(lambda session: session.page(after, limit, status))

    def change(self, pet_id: int, status: str | None) -> bool:
        """
        Set the status of an animal, outside the interface; say whether it was there.
        """
        text = "UPDATE pet SET status = ? WHERE id = ? RETURNING id"
        return bool(self._rows(text, status, pet_id))

    def remove(self, pet_id: int) -> bool:
        """Remove an animal, outside the interface; say whether it was there."""
        return bool(self._rows("DELETE FROM pet WHERE id = ? RETURNING id", pet_id))

    def create_key(self, plan: Plan, *, label: str, now: float) -> tuple[str, str]:
        """
        Make a key; return its id and the key itself, which is stored as a digest only.
        """
        if None in (plan.per_minute, plan.per_day):
            raise SettingsError("a key needs both numbers: requests a minute and a day")
        key = "psk_" + secrets.token_urlsafe(32)
        key_id = secrets.token_hex(4)
        numbers = plan.per_minute, plan.per_day, plan.name
        self._rows(_ADD_KEY, key_id, label, *numbers, now, digest_key(key))
        return key_id, key

    def list_keys(self) -> list[Key]:
        """Return all keys, oldest first."""
        return [
            Key(key_id, label, Plan(*plan), created_at, revoked_at)
            for key_id, label, *plan, created_at, revoked_at in self._rows(_LIST_KEYS)
        ]

    def revoke(self, key_id: str, now: float) -> bool:
        """Make a key invalid for good; say whether it was valid."""
        return bool(self._rows(_REVOKE, now, key_id))

    def base_url(self) -> str | None:
        """Return the address at which it was last served, or None."""
        url: str | None = self._rows("SELECT base_url FROM inventory")[0][0]
        return url

    def set_base_url(self, url: str) -> None:
        """Note the address at which it is served."""
        self._rows("UPDATE inventory SET base_url = ? RETURNING 1", url)

    def _rows(self, statement: str, *values: object) -> Rows:
        return self.run(lambda session: session.execute(statement, *values))


@contextmanager
def _explained(name: str, advice: str = "") -> Iterator[None]:
    """Turn a failure at the start into a SettingsError that names the database."""
    try:
        yield
    except (UnavailableError, sqlite3.Error, OSError) as error:
        reason, _ = SqliteSession.explain(error) or (getattr(error, "reason", ""), True)
        raise SettingsError(f"the service's database {name} {reason}{advice}") from None


def _prepare_file(path: Path) -> None:
    """
    Make an SQLite file, or make sure that one is of this service, before anything is
    written to it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        key = "INTEGER PRIMARY KEY AUTOINCREMENT"
        header = f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version ="
        sqlite.create(path.resolve(), f"{_TABLES.format(id=key)} {header} {VERSION}")
    if not path.stat().st_size:
        raise SettingsError(
            f"the service's database {path.name} is an empty file. If animals"
            " were in it, put a copy of it back. If it is to be a new database,"
            " delete the file and start again"
        )
    with closing(sqlite.read(path)) as db:
        header = "SELECT * FROM pragma_application_id, pragma_user_version"
        application_id, version = db.execute(header).fetchone()
        tables = db.execute("SELECT name FROM sqlite_master").fetchall()
    if application_id != APPLICATION_ID:
        raise SettingsError(
            f"{path.name} is no database of this service. Nothing in it was changed."
            " Name another file with --database"
        )
    _check_tables({table for (table,) in tables}, version, path.name)


def _prepare_postgres(session: Session) -> None:
    """Make the tables, or make sure that they are of this service."""
    # many workers start at once
    session.defer("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '60s'")
    session.defer(f"SELECT pg_advisory_xact_lock({_LOCKS}, 1)")
    rows = session.execute(
        "SELECT relname, obj_description(oid, 'pg_class') FROM pg_class"
        " WHERE relkind = 'r' AND pg_table_is_visible(oid)"
    )
    comments = {name: comment for name, comment in rows if name in TABLES}
    if comments:
        _check_tables(set(comments), comments.get("inventory"), "on PostgreSQL")
    else:
        key = "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"
        comment = f"COMMENT ON TABLE inventory IS '{VERSION}'"
        session.execute(_TABLES.format(id=key) + comment)


def _check_tables(tables: set[str], version: object, name: str) -> None:
    """Make sure that all tables are there, and of this version."""
    if missing_tables := sorted(TABLES - tables):
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
