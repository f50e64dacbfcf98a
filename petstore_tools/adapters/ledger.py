"""Where the budget of a key lives: in this process, or in an SQLite file shared by all processes."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Literal, Protocol, TypeVar

from pydantic import TypeAdapter, ValidationError

from petstore_tools import sqlite
from petstore_tools.core.budget import Budget
from petstore_tools.errors import LedgerError

T = TypeVar("T")
_BUDGET = TypeAdapter(Budget)


class Ledger(Protocol):
    """Gives one caller at a time the budget, and keeps what the caller made of it."""

    shared: bool

    def update(self, change: Callable[[Budget], T]) -> T:
        """Let `change` work on the budget alone; what it leaves is kept, what it returns comes back."""

    def close(self) -> None:
        """Let go of files."""


def open_ledger(kind: Literal["shared", "memory"], folder: Path, base_url: str, key: str) -> Ledger:
    """Return the ledger of a key: shared by all processes of this user, or of this process alone."""
    if kind == "memory":
        return MemoryLedger()
    return SqliteLedger(folder / "budget.db", subject(base_url, key))


def subject(base_url: str, key: str) -> str:
    """Return the name of a budget: a digest of base address and key, which neither can be read from."""
    return hashlib.sha256(f"{base_url}\n{key}".encode()).hexdigest()[:32]


class MemoryLedger:
    """A budget for the threads of this process only; forgotten with it."""

    shared = False

    def __init__(self) -> None:
        self._budget, self._lock = Budget(), threading.Lock()

    def update(self, change: Callable[[Budget], T]) -> T:
        """Let `change` work on the budget alone."""
        with self._lock:
            return change(self._budget)

    def close(self) -> None:
        """Do nothing."""


class SqliteLedger:
    """
    A budget in a file: exact under threads and processes, kept over restarts and kill -9.

    Args:
        path: The file, one for all keys; made with mode 0600.
        subject: Which budget in it (`subject`).

    Raises:
        LedgerError: On use, where the file cannot be read or written. Nothing was sent then.
    """

    shared = True

    def __init__(self, path: Path, subject: str) -> None:
        self.path, self._subject = path, subject
        self._lock = threading.Lock()
        self._connection = sqlite.PerProcess(self._open)

    def update(self, change: Callable[[Budget], T]) -> T:
        """Let `change` work on the budget alone, in one transaction."""
        with self._lock:
            try:
                with sqlite.transaction(self._connection.get()) as db:
                    row = db.execute(
                        "SELECT state FROM budget WHERE subject = ?", (self._subject,)
                    ).fetchone()
                    budget = Budget() if row is None else _BUDGET.validate_json(row[0])
                    result = change(budget)
                    db.execute(
                        "INSERT OR REPLACE INTO budget VALUES (?, ?)",
                        (self._subject, _BUDGET.dump_json(budget)),
                    )
                return result
            except (sqlite3.Error, OSError, ValidationError) as error:
                self._connection.close()
                raise LedgerError(self._explain(error)) from error

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def _open(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite.connect(self.path, durability="NORMAL")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS budget (subject TEXT PRIMARY KEY, state BLOB NOT NULL) WITHOUT ROWID"
        )
        return connection

    def _explain(self, error: Exception) -> str:
        what = "its content is damaged" if isinstance(error, ValidationError) else str(error)
        return (
            f"the budget file {self.path.name} in the state folder cannot be used ({what}); nothing was "
            "sent. Make the folder writable, point PETSTORE_STATE_DIR at one that is, move the file away "
            'if it is damaged, or pass ledger="memory" to keep the plan for this process alone'
        )
