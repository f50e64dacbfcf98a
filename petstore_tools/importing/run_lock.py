"""What an import is for, and the locks that let one run at a time work on it."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from petstore_tools.errors import JournalError


@dataclass(frozen=True)
class Target:
    """
    What an import is for: the key is no part of it, so a new key changes nothing.

    Attributes:
        environment: `production`, `staging` or `sandbox`.
        base_url: Where it sends.
        path: The file, absolute; the bare name of a DataFrame, which is the same in every folder.
        sheet: Of a workbook, else "".
    """

    environment: str
    base_url: str
    path: Path
    sheet: str = ""

    @property
    def id(self) -> str:
        """Name of its first journal; a file that takes over the name has `ID-2`, and so on."""
        parts = [self.environment, self.base_url, str(self.path), *filter(None, [self.sheet])]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]


def place_of(target: Target) -> dict[str, str]:
    """Return what a journal keeps of the place that its import is for."""
    return {"environment": target.environment, "base_url": target.base_url}


@contextmanager
def run_lock(folder: Path, name: str) -> Iterator[sqlite3.Connection]:
    """Hold the lock of a journal; only one run may."""
    lock = _lock(folder / f"{name}.lock")
    if lock is None:
        raise JournalError(
            f"this import is running already (journal {name}); wait for it or stop it"
        )
    try:
        yield lock
    finally:
        lock.close()


@contextmanager
def place_lock(folder: Path, target: Target, wait: Callable[[], None]) -> Iterator[None]:
    """
    Hold the lock of all imports to one place: what each owns is read and written under it.

    Args:
        folder: Where journals live.
        target: What an import is for.
        wait: Called again and again while another holds it.
    """
    place = hashlib.sha256(json.dumps(place_of(target)).encode()).hexdigest()[:12]
    while (lock := _lock(folder / f"place-{place}.lock")) is None:
        wait()
    try:
        yield
    finally:
        lock.close()


def _lock(path: Path) -> sqlite3.Connection | None:
    """
    Take an operating system's lock that dies with its process, through SQLite on every platform.

    Returns:
        The connection that holds it until it is closed, None where another has it.

    Raises:
        JournalError: The file cannot be used.
    """
    db = None
    try:
        db = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
        db.execute("PRAGMA locking_mode = EXCLUSIVE")  # held past each commit, until closed
        db.execute("BEGIN EXCLUSIVE")
        db.execute("COMMIT")
    except sqlite3.Error as error:
        if db is not None:
            db.close()
        if "locked" in str(error):
            return None
        raise JournalError(f"the lock {path.name} of an import cannot be used: {error}") from error
    return db


def was_made(path: Path) -> bool:
    """Say whether a journal was made under a lock, read from the lock's file without taking it."""
    try:
        with path.open("rb") as file:
            return int.from_bytes(file.read(64)[60:64]) > 0  # SQLite's user_version
    except OSError:
        return False
