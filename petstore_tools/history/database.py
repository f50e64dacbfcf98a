"""
The file of a history: its tables, listings that are kept and forgotten, and damage.

Listings are numbered in the order in which they were kept. A stay is an animal in a
name, category and status, from the first listing that showed it so to the one that
closed it. An animal is missed by a listing that alone does not show it, and may have a
hole: its stay goes on. So what a listing showed is its stays less its missed animals.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from hashlib import sha256
from math import ceil, inf
from pathlib import Path
from typing import TYPE_CHECKING, Self
from zlib import crc32

from petstore_tools import spec, sqlite
from petstore_tools.errors import ArgumentError, HistoryError
from petstore_tools.listing.completeness import Listing
from petstore_tools.text import option, parse_duration, pluralize, utc_text

if TYPE_CHECKING:
    import pandas as pd

Moment = str | date  # an age, a date or a time
_FORMAT = 2
OPEN = 999_999_999  # closes a stay that is still open: later than any listing
_TABLES = f"""
PRAGMA auto_vacuum = FULL;
PRAGMA user_version = {_FORMAT};
CREATE TABLE listings (
    number INTEGER PRIMARY KEY, started_at REAL, ended_at REAL,
    may_have_hole INTEGER, counts TEXT, listing TEXT
);
CREATE TABLE stays (
    id INTEGER, name TEXT, categoryId INTEGER, status TEXT,
    first INTEGER, closed INTEGER, PRIMARY KEY (id, first), UNIQUE (closed, id)
) WITHOUT ROWID;
CREATE TABLE missed (
    id INTEGER, number INTEGER, PRIMARY KEY (id, number)
) WITHOUT ROWID;
CREATE TABLE reported (status TEXT, number INTEGER);
"""
_LISTED_ANIMALS = """
CREATE TEMP TABLE listed (id INTEGER PRIMARY KEY, name, categoryId, status)
"""
# an animal that a listing with a hole does not show is missed once; a stay that is
# shown otherwise, or not at all and not missed, is closed; what is new is opened
_KEEP = (
    """
    INSERT INTO missed SELECT id, :number FROM stays
    WHERE :may_have_hole AND closed > :number AND id NOT IN (SELECT id FROM listed)
    AND (id, :number - 1) NOT IN missed
    """,
    """
    UPDATE stays SET closed = :number
    WHERE closed > :number AND (id, :number) NOT IN missed AND NOT EXISTS (
        SELECT 1 FROM listed WHERE id = stays.id AND name = stays.name
        AND categoryId = stays.categoryId AND status IS stays.status
    )
    """,
    f"""
    INSERT INTO stays SELECT *, :number, {OPEN} FROM listed
    WHERE id NOT IN (SELECT id FROM stays WHERE closed > :number)
    """,
)
# what the oldest listing that is left does not show begins with the next one
_FORGET = (
    """
    UPDATE stays SET first = oldest + ((id, oldest) IN missed)
    FROM (SELECT min(number) AS oldest FROM listings)
    WHERE first < oldest AND closed > oldest + ((id, oldest) IN missed)
    """,
    "DELETE FROM stays WHERE first NOT IN (SELECT number FROM listings)",
    f"""
    UPDATE stays SET closed = {OPEN}
    WHERE closed > (SELECT max(number) FROM listings)
    """,
    "DELETE FROM missed WHERE number NOT IN (SELECT number FROM listings)",
    "DELETE FROM reported WHERE number NOT IN (SELECT number FROM listings)",
)


@dataclass(frozen=True)
class HistoryDatabase:
    """
    The file of a history. What cannot be read or written is a HistoryError.

    Attributes:
        path: The SQLite file; made with the first listing.
    """

    path: Path

    @classmethod
    def of(cls, state_dir: Path, environment: str, service_id: str) -> Self:
        """Return the history of a service."""
        digest = sha256(service_id.encode()).hexdigest()[:12]
        return cls(state_dir / "history" / f"{environment}-{digest}.db")

    @contextmanager
    def _open(self, begin: str = "BEGIN") -> Iterator[sqlite3.Connection]:
        """
        Open a transaction; a damaged file is kept aside, so that the next one begins
        anew.
        """
        # SQLite's number is signed
        application_id = crc32(self.path.stem.encode()) >> 1
        tables = f"{_TABLES} PRAGMA application_id = {application_id}"
        try:
            if begin != "BEGIN" and not self.path.exists():
                self.path.parent.mkdir(parents=True, exist_ok=True)
                sqlite.create(self.path, tables)
            if self.path.exists():
                connection = sqlite.read(self.path, busy_s=60.0)
            else:
                connection = sqlite3.connect(":memory:")
                connection.executescript(tables)
            with closing(connection), connection:
                sqlite.check_format(connection, _FORMAT)
                (stored_id,) = connection.execute("PRAGMA application_id").fetchone()
                if stored_id != application_id:
                    raise sqlite3.NotSupportedError(
                        "it is that of another service: give it its old name back, or"
                        " move it away"
                    )
                connection.execute(begin)
                yield connection
        except (sqlite3.Error, OSError, UnicodeError) as error:
            reason = f"the history {self.path} cannot be used ({error})"
            is_emptied = self.path.exists() and not sqlite.identity(self.path)
            # damaged, or no database
            if is_emptied or type(error) is sqlite3.DatabaseError:
                reason += self._put_aside()
            raise HistoryError(reason) from error

    def _put_aside(self) -> str:
        """
        Move a damaged file away, with what a killed writer left; return what was done.
        """
        aside = self.path.with_suffix(f".damaged-{time.time_ns()}")
        try:
            self.path.rename(aside)
            with suppress(FileNotFoundError):
                Path(f"{self.path}-journal").rename(f"{aside}-journal")
        except OSError as error:
            return f": move it away ({error})"
        return f": it is kept aside as {aside}, and the next listing begins a new one"

    def check(self, now: float) -> None:
        """
        Check that a listing can be kept, before a request is spent on one.

        Raises:
            HistoryError: The newest kept listing ended later than now, or the file
                cannot be used.
        """
        with self._open("BEGIN IMMEDIATE") as database:
            _check_order(database, now)

    def add(self, frame: pd.DataFrame, listing: Listing, counts: dict[str, int]) -> int:
        """
        Keep the animals of a listing, and return its number.

        Raises:
            HistoryError: It began before the newest kept one ended.
        """
        started_at = round(listing.started_at, 6)  # as a datetime holds it
        with self._open("BEGIN IMMEDIATE") as database:
            newest = _check_order(database, started_at)
            number = newest + 1
            database.execute(_LISTED_ANIMALS)
            # NaN, where there is no status, is NULL in SQLite
            animals = frame[[*spec.PET_FIELDS]].itertuples(index=False, name=None)
            database.executemany("INSERT INTO listed VALUES (?, ?, ?, ?)", animals)
            parameters = {"number": number, "may_have_hole": listing.may_have_hole}
            for statement in _KEEP:
                database.execute(statement, parameters)
            row = (
                number,
                started_at,
                # the clock may be set back meanwhile
                max(started_at, round(listing.ended_at, 6)),
                listing.may_have_hole,
                json.dumps(counts),
                json.dumps(listing.to_dict()),
            )
            database.execute("INSERT INTO listings VALUES (?, ?, ?, ?, ?, ?)", row)
        return number

    def mark_reported(self, status: str | None, number: int) -> None:
        """
        Remember the newest listing of a report that was handed out: `last` means it
        then.
        """
        with self._open("BEGIN IMMEDIATE") as database:
            database.execute("INSERT INTO reported VALUES (?, ?)", (status, number))

    def forget(
        self,
        before: Moment | None = None,
        *,
        after: Moment | None = None,
        now: float,
    ) -> int:
        """
        Forget listings; return how many.

        Args:
            before: Those that ended before an age, a date or a time.
            after: Those that ended after it, which may be in the future: a wrong clock
                made them.
            now: Unix seconds.
        """
        begin = -inf if before is None else instant(before, now, day_s=0.0)
        end = inf if after is None else instant(after, now, ahead_s=inf)
        with self._open("BEGIN IMMEDIATE") as database:
            forgotten = database.execute(
                "DELETE FROM listings WHERE ended_at NOT BETWEEN ? AND ?", (begin, end)
            ).rowcount
            for statement in _FORGET:
                database.execute(statement)
        return forgotten


@dataclass(frozen=True)
class Snapshot:
    """
    A complete listing that is kept.

    Attributes:
        number: Counts up in the order of keeping.
        listing: What it is a listing of; `ended_at` is its time.
        counts: Animals by status, `unset` included.
    """

    number: int
    listing: Listing
    counts: dict[str, int]

    @property
    def as_of(self) -> datetime:
        """When its last page was read (UTC)."""
        return self.listing.as_of


class Snapshots(tuple[Snapshot, ...]):
    """The kept listings of one service, oldest first."""

    def __repr__(self) -> str:
        if not self:
            return "no snapshots yet"
        first = self[0].listing
        last = self[-1].listing
        span = f"from {utc_text(first.ended_at)} to {utc_text(last.ended_at)}"
        animals = pluralize(last.rows, "animal")
        return f"{pluralize(len(self), 'snapshot')} {span}, the newest of {animals}"

    def ended_by(self, end_s: float) -> Snapshots:
        """Return those that had ended by then (Unix seconds)."""
        end_s = round(end_s, 6)  # as a datetime holds it
        return Snapshots(s for s in self if round(s.listing.ended_at, 6) <= end_s)

    def until(self, moment: Moment, now: float) -> tuple[Snapshots, float]:
        """
        Return those that had ended by an age, a date (its end, which may be today's) or
        a time, and the Unix seconds that it means.

        Raises:
            ArgumentError: It is none of these, in the future, or before the first one.
        """
        until_s = instant(moment, now, ahead_s=spec.DAY_S)
        snapshots = self.ended_by(until_s)
        if not snapshots:
            raise ArgumentError(
                f"no listing is kept that had ended by {moment}: {self}"
            )
        return snapshots, until_s

    def counts(self) -> pd.DataFrame:
        """
        Lay out the counts of these listings: index `as_of` (datetime, UTC), an int64
        column per status.

        >>> _ = store.snapshot()
        >>> store.snapshots().counts()["sold"].tolist()[-1]
        59
        """
        import pandas as pd

        counts = [snapshot.counts for snapshot in self]
        times = [snapshot.as_of for snapshot in self]
        as_of = pd.DatetimeIndex(times, name="as_of").as_unit("us")
        return pd.DataFrame(counts, as_of).fillna(0).astype("int64")


def _check_order(database: sqlite3.Connection, began_at: float) -> int:
    """
    Return the number of the newest kept listing; raise where it ended after another one
    began.
    """
    newest = database.execute(
        "SELECT number, ended_at FROM listings ORDER BY number DESC"
    ).fetchone()
    number, ended_at = newest or (0, 0.0)
    if began_at < ended_at:
        date_text = datetime.fromtimestamp(ceil(began_at), UTC).isoformat()
        raise HistoryError(
            f"the newest kept listing ended at {utc_text(ended_at)}, after this one"
            f" began ({utc_text(began_at)}). If a wrong clock made it, remove it:"
            f" petstore-tools history forget --after {date_text}"
        )
    return int(number)


def instant(
    moment: Moment, now: float, *, day_s: float = spec.DAY_S, ahead_s: float = 0.0
) -> float:
    """
    Return the Unix seconds that an age, a date or a time means; UTC where it names no
    time zone.

    >>> instant("90min", now=10_000.0)
    4600.0

    Args:
        moment: `7d`, `2026-03-05`, `05.03.2026`, `2026-03-05T14:00+01:00`, a date or a
            datetime.
        now: Unix seconds.
        day_s: What of a date is meant: its end.
        ahead_s: How far it may be in the future.

    Raises:
        ArgumentError: It is none of these, or later than that.
    """
    if isinstance(moment, str) and (age_s := parse_duration(moment)) is not None:
        return now - age_s
    day = _parse_date(moment.strip()) if isinstance(moment, str) else moment
    if not isinstance(day, date) or day != day:  # NaT
        raise ArgumentError(
            f"{moment!r} cannot be read: write a date as 2026-03-05 (year, month, day)"
            " or 05.03.2026 (day, month, year), or an age such as 7d (in s, min, h, d"
            f" or w); {option('since')} takes the word last, too"
        )
    if isinstance(day, datetime):
        seconds = day.replace(tzinfo=day.tzinfo or UTC).timestamp()
    else:
        seconds = datetime.combine(day, datetime.min.time(), UTC).timestamp() + day_s
    if seconds > now + ahead_s + 1e-6:  # a datetime may be rounded up
        raise ArgumentError(
            f"{moment} is after {utc_text(now)}, which is now or the other end: a date"
            " means the end of that day"
        )
    return seconds


def _parse_date(text: str) -> date | None:
    for parse in (
        lambda text: datetime.strptime(text, "%d.%m.%Y").date(),
        date.fromisoformat,
        datetime.fromisoformat,
    ):
        with suppress(ValueError):
            return parse(text)
    return None
