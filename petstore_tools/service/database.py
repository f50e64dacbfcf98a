"""Animals, keys and quota counters in one SQLite file: a restart forgets nothing."""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Final

from petstore_tools import spec, sqlite
from petstore_tools.core.plan import Plan
from petstore_tools.core.windows import Window
from petstore_tools.errors import SettingsError
from petstore_tools.service.limiter import Usage, Verdict, free_windows, take

SCHEMA: Final = 1
_TABLES: Final = f"""
CREATE TABLE pet (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, category_id INTEGER NOT NULL, status TEXT
);
CREATE INDEX pet_by_status ON pet (status, id);
CREATE TABLE key (
    id TEXT PRIMARY KEY, digest TEXT NOT NULL UNIQUE, label TEXT NOT NULL, plan TEXT NOT NULL,
    per_minute INTEGER NOT NULL, per_day INTEGER NOT NULL, created_at REAL NOT NULL, revoked_at REAL
);
CREATE TABLE usage (
    subject TEXT PRIMARY KEY, {", ".join(f"{field.name} NUMERIC NOT NULL" for field in fields(Usage))}
) WITHOUT ROWID;
CREATE INDEX usage_by_day ON usage (day_start);
"""
_USAGE_COLUMNS: Final = ", ".join(field.name for field in fields(Usage))
_USAGE_MARKS: Final = ", ".join("?" for _ in fields(Usage))

StoredPet = tuple[int, str, int, str | None]


@dataclass(frozen=True)
class Key:
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


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


class Database:
    """
    The service's memory; use it from one thread at a time.

    Args:
        path: The file; made where absent.
        durability: What an acknowledged create survives (`sqlite.connect`).

    Raises:
        SettingsError: The file is no database of this service, or of a newer version.
    """

    def __init__(self, path: Path, *, durability: sqlite.Durability = "FULL") -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite.connect(path, durability=durability)
            with sqlite.transaction(self._db):
                (version,) = self._db.execute("PRAGMA user_version").fetchone()
                if version == 0:
                    for statement in _TABLES.split(";\n"):
                        self._db.execute(statement)
                    self._db.execute(f"PRAGMA user_version = {SCHEMA}")
        except (sqlite3.Error, OSError) as error:
            raise SettingsError(f"the service's database {path.name} cannot be used: {error}") from error
        if version not in (0, SCHEMA):
            self._db.close()
            raise SettingsError(
                f"the service's database {path.name} has schema {version}, this program knows {SCHEMA}"
            )

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make what happens inside happen as one, or not at all."""
        with sqlite.transaction(self._db):
            yield

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def find_key(self, key: str) -> tuple[str, Window, Window] | None:
        """Return id and windows of a valid key, None for any other."""
        row = self._db.execute(
            "SELECT id, per_minute, per_day FROM key WHERE digest = ? AND revoked_at IS NULL", (_digest(key),)
        ).fetchone()
        return row and (row[0], Window(row[1], spec.MINUTE_S), Window(row[2], spec.DAY_S))

    def take(self, subject: str, windows: tuple[Window, Window], now: float) -> Verdict:
        """Count one request of a key or an address."""
        row = self._db.execute(f"SELECT {_USAGE_COLUMNS} FROM usage WHERE subject = ?", (subject,)).fetchone()
        usage, verdict = take(Usage(*row) if row else Usage(), *windows, now)
        self._db.execute(
            f"INSERT OR REPLACE INTO usage VALUES (?, {_USAGE_MARKS})", (subject, *astuple(usage))
        )
        if row is None:
            self._forget_addresses(now)
        return verdict

    def take_address(self, address: str, now: float) -> Verdict:
        """Count one request of a caller without a valid key."""
        return self.take(f"address {address}", free_windows(), now)

    def add(self, name: str, category_id: int, status: str | None) -> int:
        """Add an animal; return its id, higher than any before."""
        cursor = self._db.execute(
            "INSERT INTO pet (name, category_id, status) VALUES (?, ?, ?)", (name, category_id, status)
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def add_many(self, pets: Iterable[tuple[str, int, str | None]]) -> None:
        """Add many animals at once, in order: for samples."""
        with self.transaction():
            self._db.executemany("INSERT INTO pet (name, category_id, status) VALUES (?, ?, ?)", pets)

    def page(self, *, after: int, limit: int, status: str | None) -> list[StoredPet]:
        """Return up to `limit` animals with an id above `after`, in id order."""
        where, values = ("status = ? AND ", (status,)) if status is not None else ("", ())
        return self._db.execute(
            f"SELECT id, name, category_id, status FROM pet WHERE {where}id > ? ORDER BY id LIMIT ?",
            (*values, after, limit),
        ).fetchall()

    def pet(self, pet_id: int) -> StoredPet | None:
        """Return one animal."""
        row: StoredPet | None = self._db.execute(
            "SELECT id, name, category_id, status FROM pet WHERE id = ?", (pet_id,)
        ).fetchone()
        return row

    def change(self, pet_id: int, status: str | None) -> bool:
        """Set the status of an animal, as the store's staff does; say whether it was there."""
        changed = self._db.execute("UPDATE pet SET status = ? WHERE id = ?", (status, pet_id))
        return changed.rowcount == 1

    def remove(self, pet_id: int) -> bool:
        """Remove an animal, as the store's staff does; say whether it was there."""
        return self._db.execute("DELETE FROM pet WHERE id = ?", (pet_id,)).rowcount == 1

    def create_key(self, plan: Plan, *, label: str, now: float) -> tuple[str, str]:
        """Make a key; return its id and the key itself, which is stored as a digest only."""
        if plan.per_minute is None or plan.per_day is None:
            raise SettingsError("a key needs both numbers: requests a minute and a day")
        key, key_id = "psk_" + secrets.token_urlsafe(32), secrets.token_hex(4)
        self._db.execute(
            "INSERT INTO key VALUES (?, ?, ?, ?, ?, ?, ?, NULL)",
            (key_id, _digest(key), label, plan.name, plan.per_minute, plan.per_day, now),
        )
        return key_id, key

    def list_keys(self) -> list[Key]:
        """Return all keys, oldest first."""
        rows = self._db.execute(
            "SELECT id, label, per_minute, per_day, plan, created_at, revoked_at FROM key"
            " ORDER BY created_at, id"
        )
        return [Key(r[0], r[1], Plan(r[2], r[3], r[4]), r[5], r[6]) for r in rows]

    def revoke(self, key_id: str, now: float) -> bool:
        """Make a key invalid for good; say whether it was valid."""
        changed = self._db.execute(
            "UPDATE key SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (now, key_id)
        )
        return changed.rowcount == 1

    def _forget_addresses(self, now: float) -> None:
        """Drop counters of addresses that did not come today: their number stays bounded."""
        self._db.execute(
            "DELETE FROM usage WHERE day_start < ? AND subject LIKE 'address %'",
            (Window(1, spec.DAY_S).start(now),),
        )
