"""Animals, keys and quota counters in one database: a restart forgets nothing, and replicas agree."""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from petstore_tools import spec, sqlite
from petstore_tools.errors import MissingExtraError, SettingsError
from petstore_tools.plans import Plan, Window
from petstore_tools.service.engine import Engine, Rows
from petstore_tools.service.limiter import Usage, windows
from petstore_tools.service.schema import USAGE_COLUMNS
from petstore_tools.service.sqlite_engine import SqliteEngine

MAX_ADDRESSES: Final = 10_000  # of callers without a key that are counted at once
POSTGRES: Final = ("postgresql://", "postgres://")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # one letter is a drive of Windows
_KEYWORDS = re.compile(r"(?:^|\s)(host|hostaddr|port|dbname|user|password|service)\s*=")
_READ_USAGE: Final = f"SELECT subject, {', '.join(USAGE_COLUMNS)} FROM usage WHERE subject IN "
_ADD_USAGE: Final = (
    f"INSERT INTO usage (subject, {', '.join(USAGE_COLUMNS)}) VALUES (?{', ?' * len(USAGE_COLUMNS)})"
    " ON CONFLICT (subject) DO "
)
_SAVE_USAGE: Final = (
    f"{_ADD_USAGE}UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in USAGE_COLUMNS)}"
)
_ADD: Final = "INSERT INTO pet (name, category_id, status) VALUES (?, ?, ?) RETURNING id"
_PET: Final = "SELECT id, name, category_id, status FROM pet WHERE "

NewPet = tuple[str, int, str | None]  # name, category id, status
StoredPet = tuple[int, str, int, str | None]  # with the id in front


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


def digest_of(key: str) -> str:
    """Return what is stored of a key."""
    return hashlib.sha256(key.encode(errors="surrogateescape")).hexdigest()


def subject_of(address: str) -> str:
    """Return under what name a caller without a key is counted: its address, of IPv6 the network."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return f"address {address[:60]}"
    if isinstance(parsed, IPv6Address):
        return f"address {IPv6Address(int(parsed) >> 64 << 64)}/64"
    return f"address {parsed}"


def open_engine(where: str | Path, *, durability: sqlite.Durability, own_time: bool) -> Engine:
    """
    Open the database that a path or a `postgresql://` address names.

    Raises:
        SettingsError: It is an address of another kind, which would be taken for the name of a file.
        MissingExtraError: The extra `postgres` is not installed.
    """
    text = where if isinstance(where, str) else ""
    if text.startswith(POSTGRES):
        try:
            from petstore_tools.service.postgres_engine import PostgresEngine
        except ImportError as error:
            raise MissingExtraError("postgres", "the service on PostgreSQL") from error
        return PostgresEngine(SecretStr(text), own_time=own_time)
    if _ADDRESS.match(text) or _KEYWORDS.search(text):
        raise SettingsError(
            "the service's database must be the path of an SQLite file, or an address that begins with "
            "postgresql:// (in small letters, without +psycopg or the like)"
        )
    return SqliteEngine(Path(where), durability=durability)


class Database:
    """
    The service's memory; use it from one thread at a time.

    Args:
        where: Path of an SQLite file, made where absent, or a `postgresql://` address.
        durability: SQLite: what an acknowledged create survives (`sqlite.connect`).
        own_time: PostgreSQL: its clock counts.

    Raises:
        SettingsError: It cannot be used, or is of a newer version.
    """

    def __init__(
        self, where: str | Path, *, durability: sqlite.Durability = "FULL", own_time: bool = True
    ) -> None:
        self._db = open_engine(where, durability=durability, own_time=own_time)
        self._in_use = threading.Lock()
        self._addresses = 0

    @property
    def name(self) -> str:
        """The file, or host and database."""
        return self._db.name

    @property
    def local(self) -> bool:
        """Whether only other programs and a slow disk can hold it up (`Engine.local`)."""
        return self._db.local

    @contextmanager
    def transaction(self, *, durable: bool = True, within_s: float | None = None) -> Iterator[None]:
        """
        Make what happens inside happen as one, or not at all.

        Args:
            durable: It survives a power loss once it has happened.
            within_s: How long others may hold it up; None: as long as is usual.

        Raises:
            UnavailableError: The database cannot be used.
        """
        with self._in_use, self._db.transaction(durable=durable, within_s=within_s):
            yield

    def close(self) -> None:
        """Close it, once what is under way in another thread has ended."""
        with self._in_use:
            self._db.close()

    def state(self) -> tuple[int, int, float | None]:
        """
        Return what shows whether the animals have changed, and the time.

        Returns:
            A number that grows with each change of an animal that existed already; the newest id; the
            database's Unix seconds where it is the clock of all, else None.
        """
        reading = f"SELECT changes, (SELECT coalesce(max(id), 0) FROM pet), {self._db.clock} FROM inventory"
        changes, newest, now = self._db.execute(reading)[0]
        return changes, newest, now

    def try_writing(self) -> None:
        """Write nothing: a database that is read-only refuses that, too."""
        self._db.execute("UPDATE inventory SET changes = 0 WHERE changes < 0")

    def find_keys(self, digests: Iterable[str]) -> dict[str, tuple[str, Window, Window]]:
        """Return id and windows of each valid key, by its digest."""
        wanted = sorted(set(digests))
        if not wanted:
            return {}
        rows = self._db.execute(
            "SELECT digest, id, per_minute, per_day FROM key WHERE revoked_at IS NULL AND digest IN "
            f"({_marks(wanted)})",
            wanted,
        )
        return {digest: (key_id, *windows(*plan)) for digest, key_id, *plan in rows}

    def usages(self, subjects: Iterable[str]) -> dict[str, Usage]:
        """Return what subjects have used, and hold it until the transaction ends; all in one order."""
        wanted = sorted(set(subjects))
        if not wanted:
            return {}
        reading = f"{_READ_USAGE}({_marks(wanted)}) ORDER BY subject{self._db.row_lock}"
        rows = self._db.execute(reading, wanted)
        if new := sorted(set(wanted) - {row[0] for row in rows}):
            for subject in new:  # so that there is a row to hold
                self._db.execute(f"{_ADD_USAGE}NOTHING", (subject, *astuple(Usage())))
            self._addresses += len(new)
            rows = self._db.execute(reading, wanted)
        return {subject: Usage(*used) for subject, *used in rows}

    def save(self, usages: Mapping[str, Usage], now: float) -> None:
        """Store what subjects have used; forget addresses that did not come today, and the oldest of many."""
        for subject in sorted(usages):
            self._db.execute(_SAVE_USAGE, (subject, *astuple(usages[subject])))
        if self._addresses > MAX_ADDRESSES // 100:  # sorting them for each new one would hold all others up
            self._addresses = 0
            self._db.execute(
                "DELETE FROM usage WHERE (day_start <= ? OR minute_start > ?) AND subject LIKE 'address %'",
                (now - spec.DAY_S, now + spec.MINUTE_S),  # ended; begun while the clock was ahead
            )
            self._db.execute(
                "DELETE FROM usage WHERE subject IN (SELECT subject FROM usage WHERE subject LIKE 'address %'"
                f" ORDER BY minute_start DESC, subject LIMIT 1000 OFFSET {MAX_ADDRESSES})"
            )

    def add(self, pets: Iterable[NewPet]) -> list[int]:
        """Add animals; return their ids, each higher than any before."""
        if self._db.id_lock:
            self._db.execute(self._db.id_lock)
        rows = (
            ((name.encode(), *rest) if self._db.bytes_for_names else (name, *rest)) for name, *rest in pets
        )
        return [self._db.execute(_ADD, row)[0][0] for row in rows]

    def add_many(self, pets: Iterable[NewPet]) -> list[int]:
        """Add many animals in a transaction of its own; return their ids, in order."""
        with self.transaction():
            return self.add(pets)

    def page(self, *, after: int, limit: int, status: str | None) -> list[StoredPet]:
        """Return up to `limit` animals with an id above `after`, in id order."""
        where, values = ("status = ? AND ", (status,)) if status is not None else ("", ())
        rows = self._db.execute(f"{_PET}{where}id > ? ORDER BY id LIMIT ?", (*values, after, limit))
        return self._named(rows)

    def pet(self, pet_id: int) -> StoredPet | None:
        """Return one animal."""
        found = self._named(self._db.execute(f"{_PET}id = ?", (pet_id,)))
        return found[0] if found else None

    def change(self, pet_id: int, status: str | None) -> bool:
        """Set the status of an animal, outside the interface; say whether it was there."""
        return self._changed("UPDATE pet SET status = ? WHERE id = ? RETURNING id", status, pet_id)

    def remove(self, pet_id: int) -> bool:
        """Remove an animal, outside the interface; say whether it was there."""
        return self._changed("DELETE FROM pet WHERE id = ? RETURNING id", pet_id)

    def create_key(self, plan: Plan, *, label: str, now: float) -> tuple[str, str]:
        """Make a key; return its id and the key itself, which is stored as a digest only."""
        if plan.per_minute is None or plan.per_day is None:
            raise SettingsError("a key needs both numbers: requests a minute and a day")
        key, key_id = "psk_" + secrets.token_urlsafe(32), secrets.token_hex(4)
        with self.transaction():
            self._db.execute(
                "INSERT INTO key VALUES (?, ?, ?, ?, ?, ?, ?, NULL)",
                (key_id, digest_of(key), label, plan.name, plan.per_minute, plan.per_day, now),
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
        return self._changed(
            "UPDATE key SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL RETURNING id", now, key_id
        )

    def _changed(self, statement: str, *values: object) -> bool:
        """Execute a statement that returns what it changed; say whether that was anything."""
        with self.transaction():
            return bool(self._db.execute(statement, values))

    def _named(self, rows: Rows) -> list[StoredPet]:
        return [(r[0], r[1].decode(), r[2], r[3]) for r in rows] if self._db.bytes_for_names else rows


def _marks(values: list[str]) -> str:
    return ", ".join("?" * len(values))
