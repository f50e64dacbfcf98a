"""
SQLite as this package opens it: explicit transactions, one connection per process.

Imports and history have a rollback journal: whoever copies the file between two runs
has all of it. The budget has a write-ahead log, as the service has: it is written with
each request and never copied.
"""

import os
import random
import secrets
import sqlite3
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

# of a commit: survives a power loss; the death of the process
Durability = Literal["FULL", "OFF"]
BUSY_S = 10.0
LONGEST_SLEEP_S = 0.003
NO_VALUES: Mapping[str, object] = {}


def connect(
    path: Path,
    *,
    durability: Durability,
    journal: Literal["DELETE", "PERSIST", "WAL"] = "PERSIST",
) -> sqlite3.Connection:
    """
    Open a database file for use by any thread, one at a time.

    Args:
        path: The file; created where absent, readable by its owner only.
        durability: What a commit survives.
        journal: The journal mode.

    Raises:
        sqlite3.Error: The file cannot be opened or is no database.
    """
    if not path.exists():
        path.touch(mode=0o600)
    connection = sqlite3.connect(
        path, timeout=0, isolation_level=None, check_same_thread=False
    )
    try:
        execute_when_free(connection, f"PRAGMA journal_mode = {journal}")
        connection.execute(f"PRAGMA synchronous = {durability}")
    except BaseException:  # an interrupt, too
        connection.close()
        raise
    return connection


def check_format(connection: sqlite3.Connection, number: int) -> None:
    """
    Check that this version of the toolkit made the tables of a file.

    Args:
        connection: To the file.
        number: Of the format, its `user_version`; each kind of file counts its own.

    Raises:
        sqlite3.NotSupportedError: It did not.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if not version:
        raise sqlite3.NotSupportedError("it is empty, or another program's")
    if version != number:
        raise sqlite3.NotSupportedError(
            "another version of the toolkit wrote it: use that one"
        )


def identity(path: Path) -> tuple[int, ...]:
    """
    Return what distinguishes a file from another in its place; () where it is gone or
    empty.
    """
    try:
        status = os.stat(path)  # a quarter of the time of `Path.stat`
    except OSError:
        return ()
    return (status.st_dev, status.st_ino) if status.st_size else ()


def create(path: Path, tables: str) -> None:
    """
    Make a database file, complete from its first moment: one that is found empty was
    emptied.

    Where another process makes it first, that one stays.

    Args:
        path: The file.
        tables: SQL.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with closing(connect(draft, durability="FULL", journal="DELETE")) as connection:
            connection.executescript(f"BEGIN; {tables}; COMMIT")
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            with path.open("xb") as file:
                file.write(draft.read_bytes())
    finally:
        draft.unlink(missing_ok=True)


def open_existing(path: Path, *, busy_s: float = BUSY_S) -> sqlite3.Connection:
    """
    Open a database file; where there is none, none is made.

    What a process left that was killed is recovered first, which SQLite cannot do where
    it may only read.

    Raises:
        sqlite3.Error: There is no such file, or it cannot be opened.
    """
    return sqlite3.connect(
        f"{path.resolve().as_uri()}?mode=rw",
        uri=True,
        timeout=busy_s,
        check_same_thread=False,
    )


@contextmanager
def transaction(
    connection: sqlite3.Connection,
    wait_s: Callable[[], float] = lambda: BUSY_S,
    begin: str = "BEGIN IMMEDIATE",
) -> Iterator[sqlite3.Connection]:
    """
    Hold the file's write lock, once others have let it go, or raise after `wait_s`,
    which may become less meanwhile; commit at the end, roll back on any exception. With
    another `begin`, hold no lock yet.
    """
    try:
        execute_when_free(connection, begin, wait_s)
        yield connection
        # a reader can hold it up for a moment
        execute_when_free(connection, "COMMIT", wait_s)
    except BaseException:
        # closed since, where an interrupt came first
        with suppress(sqlite3.ProgrammingError):
            connection.rollback()
        raise


def execute_when_free(
    connection: sqlite3.Connection,
    statement: str,
    wait_s: Callable[[], float] = lambda: BUSY_S,
    values: Mapping[str, object] = NO_VALUES,
) -> sqlite3.Cursor:
    """
    Execute a statement that others may hold up, for `wait_s` seconds, which may become
    less meanwhile; an interrupt is heard.

    SQLite's own waiting sleeps longer each time, up to a tenth of a second: whoever has
    waited long asks for the lock ever more rarely, and never gets it beside seven
    others. Here all try equally often.
    """
    began_at = time.monotonic()
    while True:
        try:
            return connection.execute(statement, values)
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() - began_at > wait_s():
                raise
            time.sleep(random.uniform(0, LONGEST_SLEEP_S))


# of a parent process: never used here, and never closed
_INHERITED: list[Any] = []


def _close_own(connections: dict[int, Any]) -> None:
    """Close the connection of this process, if it has one."""
    if connection := connections.pop(os.getpid(), None):
        connection.close()


class PerProcess:
    """
    A connection that is opened anew after a fork: one that crosses a fork breaks its
    locks. It is closed at the latest when nobody can use it any more, as by a page that
    was fetched ahead and comes after its store was closed.

    Args:
        connect: Opens the connection.
    """

    def __init__(self, connect: Callable[[], Any]) -> None:
        self._connect = connect
        self._connections: dict[int, Any] = {}  # by process
        weakref.finalize(self, _close_own, self._connections)

    def get(self) -> Any:
        """Return this process's connection."""
        process = os.getpid()
        if process not in self._connections:
            _INHERITED.extend(self._connections.values())
            self._connections.clear()
            self._connections[process] = self._connect()
        return self._connections[process]

    def close(self) -> None:
        """Close the connection, if this process has one."""
        _close_own(self._connections)
