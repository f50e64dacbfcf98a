"""
SQLite as this package opens it: explicit transactions, one connection per process.

A file on a local disk is in WAL mode. WAL needs memory that all its users share, which two machines
on one network file system do not have, and whether its locks work nobody can tell. So a file there
has a rollback journal, and a folder there is used by one machine at a time (`claim`).
"""

from __future__ import annotations

import os
import random
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Generic, Literal, Protocol, TypeVar

from petstore_tools import file_systems

Durability = Literal["FULL", "NORMAL", "OFF"]  # power loss; death of the process; nothing
BUSY_S = 10.0
LONGEST_SLEEP_S = 0.003

MOUNTS: Path = Path("/proc/self/mountinfo")
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")  # tells two machines of one name apart
HOST: str = (
    f"{socket.gethostname()} {_BOOT.read_text(encoding='ascii').strip() if _BOOT.exists() else '-'}"
)
CLAIM_S: Final = (
    120  # who was silent for so long has given a folder up; no request lives longer than 60 s
)
RENEW_S: Final = 10
_PARTS: Final = ("imports", "snapshots")  # of a state folder, which is claimed as a whole
_claimed: dict[Path, float] = {}  # folders that this process claimed, and when


class InUseError(sqlite3.OperationalError):
    """Another machine uses the folder, which is on a network file system."""


class _OnNetwork(sqlite3.Connection):
    """A connection to a file in a folder that must be claimed for each transaction."""

    folder: Path


def file_system(folder: Path) -> str:
    """
    Return the type of file system that a folder is on or will be, "" where this system does not
    say.
    """
    try:
        return file_systems.kind(
            MOUNTS.read_text(encoding="utf-8", errors="surrogateescape"), str(folder.resolve())
        )
    except OSError:
        return ""


def claim(folder: Path) -> None:
    """
    Keep other machines out of a folder on a network file system; do nothing on a local one.

    The file `host.lock` names the machine that used the folder last. Only who has created the file
    beside it
    may change it, and times are compared as the file server writes them: no lock and no clock need
        be right.

    Raises:
        InUseError: Another machine used the folder in the last two minutes.
        sqlite3.OperationalError: The folder cannot be written.
    """
    part = next((part for part in (folder, folder.parent) if part.name in _PARTS), None)
    folder = part.parent if part else folder
    if 0 <= time.time() - _claimed.get(folder, 0) < RENEW_S:
        return
    kind = file_system(folder)
    if not file_systems.is_shared(kind):
        return
    lock, new = folder / "host.lock", folder / "host.lock.new"
    try:
        _create(new, f"{HOST} {os.getpid()}")
        if lock.exists():
            host, _, pid = lock.read_text(encoding="utf-8").rpartition(" ")
            silent_s = new.stat().st_mtime - lock.stat().st_mtime
            if host != HOST and silent_s < CLAIM_S:
                new.unlink()
                raise InUseError(
                    f"the folder is on a network file system ({kind}), where one machine at a "
                    "time may work, "
                    f"and {host.partition(' ')[0]} (process {pid}) did "
                    f"{max(0.0, silent_s):.0f} s ago; try "
                    f"again {CLAIM_S} s after it has stopped"
                )
        new.replace(lock)
        if not lock.read_text(encoding="utf-8").startswith(f"{HOST} "):
            raise InUseError("another machine claimed the folder at the same instant; try again")
    except OSError as error:
        raise sqlite3.OperationalError(f"the file host.lock cannot be written: {error}") from error
    _claimed[folder] = time.time()


def _create(path: Path, text: str) -> None:
    """
    Create a file that only one process can have; after a second it is one that a dead process left.
    """
    end = time.monotonic() + 1
    while True:
        try:
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except FileExistsError:
            if time.monotonic() > end:
                path.unlink(missing_ok=True)
            time.sleep(random.uniform(0, LONGEST_SLEEP_S))
        else:
            return


def connect(path: Path, *, durability: Durability) -> sqlite3.Connection:
    """
    Open a database file for use by any thread, one at a time.

    Args:
        path: The file; created where absent, readable by its owner only.
        durability: What a commit survives: FULL a power loss, NORMAL the death of the process, OFF
            nothing that stops the machine. On a network file system it is FULL.

    Raises:
        InUseError: As `claim`.
        sqlite3.Error: The file cannot be opened or is no database.
    """
    claim(path.parent)
    if not path.exists():
        path.touch(mode=0o600)
    on_network = file_systems.is_shared(file_system(path.parent))
    factory = _OnNetwork if on_network else sqlite3.Connection
    connection = sqlite3.connect(
        path, timeout=0, isolation_level=None, check_same_thread=False, factory=factory
    )
    try:
        _execute_when_free(connection, f"PRAGMA journal_mode = {'DELETE' if on_network else 'WAL'}")
        connection.execute(f"PRAGMA synchronous = {'FULL' if on_network else durability}")
        if isinstance(connection, _OnNetwork):
            connection.folder = path.parent
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def read(path: Path, *, busy_s: float = BUSY_S) -> sqlite3.Connection:
    """
    Open a database file to read it: nothing is made, and no statement changes anything.

    What a process left that was killed is recovered first, which SQLite cannot do where it may only
    read.

    Raises:
        InUseError: As `claim`.
        sqlite3.Error: There is no such file, or it cannot be opened.
    """
    claim(path.parent)
    return sqlite3.connect(
        f"{path.resolve().as_uri()}?mode=rw", uri=True, timeout=busy_s, check_same_thread=False
    )


def begin(connection: sqlite3.Connection, *, wait_s: float) -> None:
    """Take the file's write lock; others may hold it for so long."""
    if isinstance(connection, _OnNetwork):
        claim(connection.folder)
    _execute_when_free(connection, "BEGIN IMMEDIATE", wait_s)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Hold the file's write lock; commit at the end, roll back on any exception."""
    begin(connection, wait_s=BUSY_S)
    try:
        yield connection
        _execute_when_free(connection, "COMMIT")  # without WAL a reader can hold it up for a moment
    except BaseException:
        if connection.in_transaction:  # SQLite has rolled back by itself where the disk is full
            connection.rollback()
        raise


class Closable(Protocol):
    """A connection."""

    def close(self) -> None:
        """Close it."""


C = TypeVar("C", bound=Closable)


def _execute_when_free(
    connection: sqlite3.Connection, statement: str, wait_s: float = BUSY_S
) -> None:
    """
    Execute a statement that others may hold up, for so long.

    SQLite's own waiting sleeps longer each time, up to a tenth of a second: whoever has waited long
    meets the lock ever more rarely, and starves beside seven others. Here all try equally often.
    """
    end = time.monotonic() + wait_s
    while True:
        try:
            connection.execute(statement)
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > end:
                raise
            time.sleep(random.uniform(0, LONGEST_SLEEP_S))
        else:
            return


_INHERITED: list[Closable] = []  # of a parent process: never used here, and never closed


class PerProcess(Generic[C]):
    """
    A connection that is opened anew after a fork: one that crosses a fork breaks its locks.

    Args:
        connect: Opens the connection.
    """

    def __init__(self, connect: Callable[[], C]) -> None:
        self._connect = connect
        self._connection: C | None = None
        self._pid = 0

    def get(self) -> C:
        """Return this process's connection."""
        if self._connection is not None and self._pid != os.getpid():
            _INHERITED.append(self._connection)
            self._connection = None
        if self._connection is None:
            self._connection, self._pid = self._connect(), os.getpid()
        return self._connection

    def close(self) -> None:
        """Close the connection, if this process has one."""
        if self._connection is not None and self._pid == os.getpid():
            self._connection.close()
        self._connection = None
