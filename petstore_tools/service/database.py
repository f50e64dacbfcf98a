"""
Animals, keys and quota counters in one database: a restart forgets nothing, and
replicas agree.
"""

import hashlib
import re
import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from ipaddress import ip_network
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import SecretStr

from petstore_tools import sqlite
from petstore_tools._version import missing_extra
from petstore_tools.errors import SettingsError
from petstore_tools.plans import Plan
from petstore_tools.service.engine import (
    Engine,
    PetFields,
    Rows,
    SqliteEngine,
    Statement,
)
from petstore_tools.service.limiter import Usage

WAIT_S = 4.0  # others may hold up the requests of a transaction so long
MAX_ADDRESSES = 10_000  # of callers without a key that are counted at once
IPV4_AS_IPV6 = "::ffff:"  # before the address
POSTGRES = ("postgresql://", "postgres://")
# of any kind; one letter in front of it is a drive of Windows
_URL = re.compile(
    r"^[A-Za-z][A-Za-z0-9+.-]+:/|(?:^|\s)(?:host|hostaddr|port|dbname|user|password|service)\s*="
)
# by key where it is valid, else by address
_CALLERS = (
    "WITH sender (digest, address) AS (VALUES {marks}),"
    " caller AS (SELECT sender.digest, address, coalesce('key ' || id, address)"
    " AS subject, id, per_minute, per_day FROM sender"
    " LEFT JOIN key ON revoked_at IS NULL AND key.digest = sender.digest) "
)
_FIND = f"{_CALLERS}SELECT * FROM caller"
_HOLD = (  # always in the same order, so that no two wait for each other
    f"{_CALLERS}SELECT * FROM usage"
    " WHERE subject IN (SELECT subject FROM caller) ORDER BY subject"
)
_SAVE_USAGE = "INSERT INTO usage VALUES {marks} ON CONFLICT (subject) DO"
_OVERWRITE = " UPDATE SET " + ", ".join(
    f"{name} = excluded.{name}" for name in Usage._fields
)
_FORGET = (
    "DELETE FROM usage WHERE subject IN (SELECT subject FROM usage WHERE subject LIKE"
    " 'address %' ORDER BY minute_start DESC, subject LIMIT 1000 OFFSET"
    f" {MAX_ADDRESSES})"
)
_STATE = "SELECT changes, {clock} FROM inventory"
_PET = "SELECT * FROM pet WHERE "

StoredPet = tuple[int, str, int, str | None]  # with the id in front


class TransactionState(NamedTuple):
    """
    What a transaction begins with, held until it ends.

    Attributes:
        callers: By digest of the key and address: under what name it is counted, and of
            a valid key the id and its requests a minute and a day.
        usages: What subjects have used.
        changes: A number that grows with each change of an animal that existed already.
        time: Unix seconds of the database where it is the clock of all, else None.
    """

    callers: dict[tuple[str, str], tuple[Any, ...]]
    usages: dict[str, Usage]
    changes: int
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


def digest_key(key: str) -> str:
    """Return what is stored of a key."""
    return hashlib.sha256(key.encode(errors="surrogateescape")).hexdigest()


@lru_cache(256)
def address_subject(text: str) -> str:
    """
    Return under what name a caller without a key is counted: its address, of IPv6 the
    network; without a port, and IPv4 also where it is written as IPv6.

        >>> address_subject("[2001:db8::7]:567"), address_subject("::ffff:192.0.2.1")
        ('address 2001:db8::/64', 'address 192.0.2.1/32')
    """
    host = text.removeprefix("[").partition("]")[0].removeprefix(IPV4_AS_IPV6)
    if host.count(":") == 1:
        host = host.partition(":")[0]
    bits = 64 if ":" in host else 32
    try:
        return f"address {ip_network((host, bits), strict=False)}"
    except ValueError:
        return f"address {text[:60]}"


class Database:
    """
    Animals, keys and counters of the service; for one thread at a time.

    Args:
        location: Path of an SQLite file, which is made where there is none, or a
            `postgresql://` address.
        durability: For SQLite: what an acknowledged create survives (`sqlite.connect`).
        uses_database_clock: Whether PostgreSQL's clock is used; SQLite has none.

    Attributes:
        name: The file, or host and database.

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
        url = str(location)
        if url.startswith(POSTGRES):
            try:
                from petstore_tools.service.postgres_engine import PostgresEngine
            except ImportError as error:
                raise missing_extra("postgres", "the service on PostgreSQL") from error
            self._db: Engine = PostgresEngine(
                SecretStr(url), uses_database_clock=uses_database_clock
            )
        elif _URL.search(url):  # no file is to be named like it
            raise SettingsError(
                "the service's database must be the path of an SQLite file, or an"
                " address that begins with postgresql:// (in small letters, without"
                " +psycopg or the like)"
            )
        else:
            self._db = SqliteEngine(Path(location), durability=durability)
        self.name = self._db.name
        self._lock = threading.Lock()
        self._new_addresses = 0

    @contextmanager
    def transaction(
        self,
        senders: Iterable[tuple[str, str]],
        *,
        durable: bool = True,
    ) -> Iterator[TransactionState]:
        """
        Count requests: make what happens inside happen as one, or not at all.

        Args:
            senders: Digest of the key ("" for none) and subject of the address of each
                request.
            durable: It survives a power loss once it has happened.

        Raises:
            UnavailableError: The database cannot be used.
        """
        pairs = sorted(set(senders))
        find = _fill_values(_FIND, pairs)
        hold = _fill_values(_HOLD, pairs, self._db.row_lock)
        state = _STATE.format(clock=self._db.clock), ()
        with (
            self._lock,
            self._db.transaction(
                find, hold, state, durable=durable, within_s=WAIT_S
            ) as rows,
        ):
            callers = {row[:2]: row[2:] for row in rows[0]}
            subjects = {subject for subject, *_ in callers.values()}
            uncounted = subjects.difference(subject for subject, *_ in rows[1])
            if uncounted:
                unused = [(subject, *Usage()) for subject in sorted(uncounted)]
                add = _fill_values(_SAVE_USAGE, unused, " NOTHING")
                rows = self._db.execute(add, hold, state)
                self._new_addresses += len(uncounted)
            usages = {subject: Usage(*counts) for subject, *counts in rows[1]}
            yield TransactionState(callers, usages, *rows[2][0])

    def close(self) -> None:
        """Close it, once what is under way in another thread has ended."""
        with self._lock:
            self._db.close()

    def save(
        self, usages: Mapping[str, Usage], pets: Iterable[PetFields] = ()
    ) -> list[int]:
        """
        Store what subjects have used, and add animals, in one round trip; return their
        ids in order, each higher than any before.

        Of many addresses the oldest are forgotten.
        """
        statements = self._db.insert_statements(pets)
        insert_count = len(statements)
        if usages:
            # sorted, so that no two wait for each other
            used = [(subject, *usages[subject]) for subject in sorted(usages)]
            statements.append(_fill_values(_SAVE_USAGE, used, _OVERWRITE))
        # to sort them for each new one would hold all others up
        if self._new_addresses > MAX_ADDRESSES // 100:
            self._new_addresses = 0
            statements.append((_FORGET, ()))
        added = self._db.execute(*statements)[:insert_count] if statements else []
        return sorted(pet_id for rows in added for (pet_id,) in rows)

    def add_many(self, pets: Iterable[PetFields]) -> list[int]:
        """Add many animals in a transaction of its own; return their ids, in order."""
        with self._lock, self._db.transaction():
            return self.save({}, pets)

    def page(self, *, after: int, limit: int, status: str | None) -> list[StoredPet]:
        """Return up to `limit` animals with an id above `after`, in id order."""
        end = "id > ? ORDER BY id LIMIT ?"
        if status is None:
            return self._rows(f"{_PET}{end}", after, limit)
        return self._rows(f"{_PET}status = ? AND {end}", status, after, limit)

    def pet(self, pet_id: int) -> StoredPet | None:
        """Return one animal."""
        rows = self._rows(f"{_PET}id = ?", pet_id)
        return rows[0] if rows else None

    def change(self, pet_id: int, status: str | None) -> bool:
        """
        Set the status of an animal, outside the interface; say whether it was there.
        """
        return self._execute_change(
            "UPDATE pet SET status = ? WHERE id = ?", status, pet_id
        )

    def remove(self, pet_id: int) -> bool:
        """Remove an animal, outside the interface; say whether it was there."""
        return self._execute_change("DELETE FROM pet WHERE id = ?", pet_id)

    def create_key(self, plan: Plan, *, label: str, now: float) -> tuple[str, str]:
        """
        Make a key; return its id and the key itself, which is stored as a digest only.
        """
        if None in (plan.per_minute, plan.per_day):
            raise SettingsError("a key needs both numbers: requests a minute and a day")
        key = "psk_" + secrets.token_urlsafe(32)
        key_id = secrets.token_hex(4)
        self._execute_change(
            "INSERT INTO key VALUES (?, ?, ?, ?, ?, ?, NULL, ?)",
            key_id,
            label,
            plan.per_minute,
            plan.per_day,
            plan.name,
            now,
            digest_key(key),
        )
        return key_id, key

    def base_url(self) -> Any:
        """Return the address at which it was last served, or None."""
        return self._rows("SELECT base_url FROM inventory")[0][0]

    def set_base_url(self, url: str) -> None:
        """Note the address at which it is served."""
        self._execute_change("UPDATE inventory SET base_url = ?", url)

    def list_keys(self) -> list[Key]:
        """Return all keys, oldest first."""
        rows = self._rows("SELECT * FROM key ORDER BY created_at, id")
        return [
            Key(key_id, label, Plan(*plan), created_at, revoked_at)
            for key_id, label, *plan, created_at, revoked_at, _ in rows
        ]

    def revoke(self, key_id: str, now: float) -> bool:
        """Make a key invalid for good; say whether it was valid."""
        return self._execute_change(
            "UPDATE key SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL",
            now,
            key_id,
        )

    def _execute_change(self, statement: str, *values: object) -> bool:
        """
        Execute a statement that changes rows; say whether there were any.
        """
        with self._lock, self._db.transaction():
            return bool(self._rows(f"{statement} RETURNING 1", *values))

    def _rows(self, statement: str, *values: object) -> Rows:
        return self._db.execute((statement, values))[0]


def _fill_values(
    statement: str, rows: Sequence[Sequence[object]], end: str = ""
) -> Statement:
    """Return a statement with rows behind its VALUES."""
    marks = ", ".join(f"({', '.join('?' * len(row))})" for row in rows)
    return statement.format(marks=marks) + end, [value for row in rows for value in row]
