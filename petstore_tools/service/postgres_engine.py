"""PostgreSQL as an engine, for any number of workers; the extra `postgres`."""

import math
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import ExitStack, suppress
from typing import Any

import psycopg
from psycopg import errors
from psycopg.pq import TransactionStatus
from psycopg.types.string import ByteaLoader
from pydantic import SecretStr

from petstore_tools.service.engine import (
    LOCKED,
    POSTGRES,
    READ_ONLY,
    REFUSED,
    SILENT,
    TABLES,
    Engine,
    PetFields,
    Rows,
    Statement,
    check_tables,
)

# A session that was paused releases its rows before those who wait for them give up.
# Set for the session, or for one transaction.
_TIMEOUTS = (
    "SELECT set_config('lock_timeout', '3s', %(is_local)s),"
    " set_config('statement_timeout', '3.5s', %(is_local)s),"
    " set_config('idle_in_transaction_session_timeout', '2s', %(is_local)s)"
)
# of our advisory locks: assignment and commit of ids; the schema
_LOCKS = 0x70657473
_FIND_TABLES = (
    "SELECT relname, obj_description(oid, 'pg_class') FROM pg_class"
    " WHERE relkind = 'r' AND pg_table_is_visible(oid)"
)
# Ids become visible in order: nobody else assigns one until this commit is made.
_INSERT = (
    "INSERT INTO pet (name, category_id, status) SELECT name, category_id, status FROM"
    f" pg_advisory_xact_lock({_LOCKS}, 2), unnest(?::bytea[], ?::bigint[], ?::text[])"
    " WITH ORDINALITY AS new (name, category_id, status, number) ORDER BY number"
    " RETURNING id"
)


class _NameLoader(ByteaLoader):
    """Reads a name, which is stored as UTF-8: text of PostgreSQL cannot hold a NUL."""

    def load(self, data: Any) -> Any:
        return super().load(bytes(data)).decode()


_Steps = Generator[Any, Any, Any]  # each is something that psycopg waits for


class _TimedConnection(psycopg.Connection[Any]):
    """
    A connection that does not wait for a silent server or network without end.

    Attributes:
        deadline: When it gives up, in seconds of `time.monotonic`.
    """

    deadline = math.inf

    def wait(self, gen: _Steps, *arguments: Any, **options: Any) -> Any:
        """Wait for the server, at most until the deadline."""
        return super().wait(self._end_at_deadline(gen), *arguments, **options)

    def _end_at_deadline(self, steps: _Steps) -> _Steps:
        ready = None
        while True:
            try:
                step = steps.send(ready)
            except StopIteration as end:
                return end.value
            ready = yield step
            if time.monotonic() > self.deadline:
                self.pgconn.finish()  # nobody reads what may still come
                raise errors.QueryCanceled("no answer in time")


class PostgresEngine(Engine):
    """
    A PostgreSQL database for any number of workers, all of which use its clock.

    Args:
        url: `postgresql://USER:PASSWORD@HOST/DATABASE`.
        uses_database_clock: Whether PostgreSQL's clock is used; False where the
            service's clock is advanced by hand.

    Raises:
        SettingsError: It cannot be reached, is no database of this service, or is of a
            newer version.
    """

    row_lock = " FOR UPDATE"
    _is_pooled: bool  # whether PgBouncer stands between, in transaction mode
    _db_errors = (psycopg.Error, OSError)
    _db: _TimedConnection | None

    def __init__(self, url: SecretStr, *, uses_database_clock: bool = True) -> None:
        self._url = url
        self.name = "PostgreSQL"
        self._open_pipelines = ExitStack()
        if uses_database_clock:
            self.clock = "extract(epoch FROM clock_timestamp())::float8"
        advice = (
            ". Check that it runs, and the host, port, name, user and password in its"
            " address"
        )
        with self._explain_start("on PostgreSQL", advice), self.transaction():
            self._create_or_check_tables()

    def insert_statements(self, pets: Iterable[PetFields]) -> list[Statement]:
        """Return one statement that adds all of them."""
        columns = [list(column) for column in zip(*pets, strict=True)]
        if not columns:
            return []
        names, category_ids, statuses = columns
        encoded = [name.encode() for name in names]
        return [(_INSERT, (encoded, category_ids, statuses))]

    def close(self) -> None:
        """Close the connection, without waiting for the server."""
        super().close()
        with suppress(psycopg.Error):
            self._open_pipelines.close()

    def _run(self, statements: Sequence[Statement]) -> list[Rows]:
        db = self._connection()
        if db.info.transaction_status == TransactionStatus.IDLE:
            db.deadline = math.inf  # that of the last transaction has passed
        try:
            cursors = [
                db.execute(text.replace("%", "%%").replace("?", "%s"), values)
                for text, values in statements
            ]
        except psycopg.Error:
            # of an earlier one: none behind it runs before the server has seen a sync
            with suppress(psycopg.Error):
                self._pipeline.sync()
            raise
        self._pipeline.sync()
        return [cursor.fetchall() if cursor.description else [] for cursor in cursors]

    def _begin(self, durable: bool, within_s: float) -> None:
        db = self._connection()
        db.deadline = time.monotonic() + within_s
        db.execute("BEGIN")
        if self._is_pooled:
            db.execute(_TIMEOUTS, {"is_local": True})
        if not durable:
            db.execute("SET LOCAL synchronous_commit = off")

    def _explain(self, error: Exception) -> tuple[str, bool]:
        is_undone = (
            isinstance(error, psycopg.Error)
            and error.diag.severity_nonlocalized == "ERROR"
        )
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
                return REFUSED, is_undone
            # never the text of the error: it may hold the address
            case psycopg.Error(sqlstate=str(state)):
                return f"cannot be used ({state})", is_undone
        return "cannot be reached", is_undone

    def _connection(self) -> _TimedConnection:
        if self._db is None:
            with suppress(psycopg.Error):
                self._db = _TimedConnection.connect(
                    self._url.get_secret_value(),
                    autocommit=True,
                    connect_timeout=2,
                    client_encoding="UTF8",  # else a server in SQL_ASCII answers bytes
                )
            # The driver's error is dropped: its text or traceback may hold the
            # password.
            if self._db is None:
                raise psycopg.OperationalError("no connection")
            self.name = f"{self._db.info.host}/{self._db.info.dbname}"
            (process,) = self._db.execute("SELECT pg_backend_pid()").fetchall()
            self._is_pooled = process != (self._db.info.backend_pid,)
            if self._is_pooled:  # the session is another one each time, without names
                self._db.prepare_threshold = None
            else:
                self._db.execute(_TIMEOUTS, {"is_local": False})
            self._db.adapters.register_loader("bytea", _NameLoader)
            # From now on statements are only queued, until `sync` sends them. The
            # pipeline stays open as long as the connection: where one ends, psycopg
            # sends a Flush behind the Sync, and then the server no longer counts how
            # long a transaction is idle.
            pipeline = self._db.pipeline()
            self._pipeline = self._open_pipelines.enter_context(pipeline)
        return self._db

    def _create_or_check_tables(self) -> None:
        *_, tables = self.execute(
            ("SET LOCAL statement_timeout = 0", ()),
            ("SET LOCAL lock_timeout = '60s'", ()),
            # many workers start at once
            (f"SELECT pg_advisory_xact_lock({_LOCKS}, 1)", ()),
            (_FIND_TABLES, ()),
        )
        comments = {name: comment for name, comment in tables if name in TABLES}
        if comments:
            check_tables(comments, comments.get("inventory"), "on PostgreSQL")
        else:
            self.execute(*((statement, ()) for statement in POSTGRES))
