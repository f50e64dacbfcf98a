"""
The file of a history: its tables, snapshots that are kept and forgotten, and damage.

Snapshots are numbered in the order in which they were kept. A stay is an animal in a
name, category and status, from the first snapshot that showed it so to the one that
closed it. An animal is missed by a snapshot that alone does not show it, and may have a
hole: its stay goes on. So what a snapshot showed is its stays less its missed animals.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
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
_FORMAT = 4
FRESH_S = 7 * spec.DAY_S  # a date that means an older snapshot gets a note
OPEN = 999_999_999  # closes a stay that is still open: later than any snapshot


_TABLES = f"""
PRAGMA auto_vacuum = FULL;
PRAGMA user_version = {_FORMAT};
CREATE TABLE snapshots (
    number INTEGER PRIMARY KEY, started_at REAL NOT NULL, ended_at REAL NOT NULL,
    may_have_hole INTEGER NOT NULL CHECK (may_have_hole IN (0, 1)),
    counts TEXT NOT NULL, listing TEXT NOT NULL, CHECK (ended_at >= started_at)
) STRICT;
CREATE TABLE stays (
    id INTEGER, name TEXT NOT NULL, categoryId INTEGER NOT NULL, status TEXT,
    first INTEGER, closed INTEGER NOT NULL CHECK (closed > first),
    PRIMARY KEY (id, first), UNIQUE (closed, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE missed (
    id INTEGER, number INTEGER, PRIMARY KEY (number, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE reported (number INTEGER NOT NULL) STRICT;
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
# what the oldest snapshot that is left does not show begins with the next one
_FORGET = (
    """
    UPDATE stays SET first = oldest + ((id, oldest) IN missed)
    FROM (SELECT min(number) AS oldest FROM snapshots)
    WHERE first < oldest AND closed > oldest + ((id, oldest) IN missed)
    """,
    "DELETE FROM stays WHERE first NOT IN (SELECT number FROM snapshots)",
    f"""
    UPDATE stays SET closed = {OPEN}
    WHERE closed > (SELECT max(number) FROM snapshots)
    """,
    "DELETE FROM missed WHERE number NOT IN (SELECT number FROM snapshots)",
    # their numbers are given again
    """
    DELETE FROM reported
    WHERE number > (SELECT ifnull(max(number), 0) FROM snapshots)
    """,
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
    def open(self, begin: str = "BEGIN") -> Iterator[sqlite3.Connection]:
        """Open a transaction; who is about to write makes the file."""
        # SQLite's number is signed
        application_id = crc32(self.path.stem.encode()) >> 1
        tables = f"{_TABLES} PRAGMA application_id = {application_id}"
        try:
            if begin != "BEGIN" and not self.path.exists():
                self.path.parent.mkdir(parents=True, exist_ok=True)
                sqlite.create(self.path, tables)
            if self.path.exists():
                connection = sqlite.open_existing(self.path, busy_s=0)
            else:
                connection = sqlite3.connect(":memory:")
                connection.executescript(tables)
            with closing(connection), sqlite.transaction(connection, begin=begin):
                # this first read takes the lock of a reader: nothing below has to wait
                query = "PRAGMA application_id"
                (stored_id,) = sqlite.execute_when_free(connection, query).fetchone()
                if stored_id != application_id:
                    raise sqlite3.NotSupportedError(
                        "it is empty, another service's, or another program's"
                    )
                sqlite.check_format(connection, _FORMAT)
                yield connection
        except (sqlite3.Error, OSError, UnicodeError) as error:
            reason = f"the history {self.path} cannot be used ({error})"
            is_foreign = type(error) in (
                sqlite3.DatabaseError,
                sqlite3.NotSupportedError,
            )
            if is_foreign or "no such table" in str(error) or os.path.isdir(self.path):
                reason += ". To begin a new history, move it away"
            raise HistoryError(reason) from error

    def check(self, now: float) -> None:
        """
        Check that a listing can be kept, before a request is spent on one.

        Raises:
            HistoryError: The newest snapshot ended later than now, or the file cannot
                be used.
        """
        with self.open("BEGIN IMMEDIATE") as database:
            self._check_order(database, now)

    def _check_order(self, database: sqlite3.Connection, began_at: float) -> int:
        """
        Return the number of the newest snapshot; raise where one ended after another
        listing began.
        """
        number, ended_at = database.execute(
            "SELECT ifnull(max(number), 0), ifnull(max(ended_at), 0) FROM snapshots"
        ).fetchone()
        if began_at < ended_at:
            date_text = datetime.fromtimestamp(ceil(began_at), UTC).isoformat()
            remedy = "petstore-tools history forget"
            if self.path.name.startswith("staging"):
                remedy = "petstore-tools history --environment staging forget"
            raise HistoryError(
                f"the newest snapshot ended at {utc_text(ended_at)}, after this listing"
                f" began ({utc_text(began_at)}). Run it again; if a wrong clock made"
                f" that snapshot, remove it: {remedy} --after {date_text}"
            )
        return int(number)

    def add(
        self, frame: pd.DataFrame, listing: Listing, counts: dict[str, int]
    ) -> tuple[int, float]:
        """
        Keep the animals of a listing; return the snapshot's number and its end.

        Raises:
            HistoryError: It began before the newest snapshot ended.
        """
        started_at = round(listing.started_at, 6)  # as a datetime holds it
        # the clock may have been set back while the animals were listed
        ended_at = max(started_at, round(listing.ended_at, 6))
        with self.open("BEGIN IMMEDIATE") as database:
            newest = self._check_order(database, started_at)
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
                ended_at,
                listing.may_have_hole,
                json.dumps(counts),
                json.dumps(listing.to_dict()),
            )
            database.execute("INSERT INTO snapshots VALUES (?, ?, ?, ?, ?, ?)", row)
        return number, ended_at

    def mark_reported(self, number: int) -> None:
        """
        Remember the newest listing of a report that was handed out: `last` means it
        then.
        """
        with self.open("BEGIN IMMEDIATE") as database:
            database.execute("INSERT INTO reported VALUES (?)", (number,))

    def forget(
        self,
        before: Moment | None = None,
        *,
        after: Moment | None = None,
        now: float,
    ) -> int:
        """
        Forget snapshots; return how many.

        Args:
            before: Those that ended before an age, a date or a time.
            after: Those that ended after it, which may be in the future: a wrong clock
                made them.
            now: Unix seconds.
        """
        begin, end = -inf, inf
        if before is not None:
            begin, _ = span(before, now)
        if after is not None:
            _, end = span(after, now)
        with self.open("BEGIN IMMEDIATE") as database:
            forgotten = database.execute(
                "DELETE FROM snapshots WHERE ended_at NOT BETWEEN ? AND ?", (begin, end)
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
        ended_at: When its last page was read (Unix seconds), never before its begin.
        listing: What it is a listing of.
        counts: Animals by status, `unset` included.
        present: The same, with those that it alone did not show, and may have missed.
    """

    __module__ = "petstore_tools"

    number: int
    ended_at: float
    listing: Listing
    counts: dict[str, int]
    present: dict[str, int]

    @property
    def as_of(self) -> datetime:
        """When its last page was read (UTC)."""
        return datetime.fromtimestamp(self.ended_at, UTC)


class Snapshots(tuple[Snapshot, ...]):
    """
    The snapshots of one service, oldest first.

    Attributes:
        damage: Which ones are left out since they cannot be read, else "".
        count_categories: Counts the animals of each category, of those that a history
            gave.
    """

    __module__ = "petstore_tools"

    damage = ""
    count_categories: Callable[[Snapshots], pd.DataFrame] | None = None

    def __repr__(self) -> str:
        if not self:
            return self.damage or "no snapshots yet"
        last = self[-1]
        times = f"from {utc_text(self[0].ended_at)} to {utc_text(last.ended_at)}"
        animals = pluralize(last.listing.rows, "animal")
        text = f"{pluralize(len(self), 'snapshot')} {times}, the newest of {animals}"
        return "; ".join(filter(None, [text, self.damage]))

    def ended_by(self, end_s: float) -> Snapshots:
        """Return those that had ended by then (Unix seconds)."""
        end_s = round(end_s, 6)  # as a datetime holds it
        return Snapshots(s for s in self if s.ended_at <= end_s)

    def up_to(
        self, moment: Moment, begin_s: float, zone: tzinfo | None = None
    ) -> tuple[Snapshots, str]:
        """
        Return those up to the one that a moment means, and what there is to say, else
        "".

        Args:
            moment: An age: the one nearest to it, from begin to begin, of several at
                the same distance the oldest; a date (its end) or a time: the newest
                that had ended by then.
            begin_s: From which an age counts back (Unix seconds).
            zone: Of what names no offset, None for that of this machine.

        Raises:
            ArgumentError: It is none of these.
        """
        begin, end = span(moment, begin_s, zone)
        if not self or not is_age(moment):
            matches = self.ended_by(end)
            for newest in matches[-1:]:
                if newest.ended_at < end - FRESH_S:
                    as_of = utc_text(newest.ended_at)
                    return matches, f"the newest snapshot by {moment} is of {as_of}"
            return matches, ""
        distances = [round(abs(s.listing.started_at - begin), 3) for s in self]
        distance_s = min(distances)
        nearest = self[distances.index(distance_s)]  # of several the oldest
        note = ""
        if distance_s > (begin_s - begin) / 2 > 0:
            as_of = utc_text(nearest.ended_at)
            note = f"no snapshot is about {moment} old: the nearest one is of {as_of}"
        return Snapshots(s for s in self if s.number <= nearest.number), note

    def until(
        self, moment: Moment, now: float, zone: tzinfo | None = None
    ) -> tuple[Snapshots, str]:
        """
        Return what `up_to` returns of a moment that is not in the future.

        Raises:
            ArgumentError: It is, or before the first one.
        """
        begin, end = span(moment, now, zone)
        check_past(moment, begin, now)
        snapshots, note = self.up_to(moment, now, zone)
        if not snapshots:
            advice = "keep one: store.snapshot() (petstore-tools report)"
            if self:
                advice = "name a later date"
            raise ArgumentError(
                f"no snapshot had ended by {moment} ({utc_text(end)}): {self}; {advice}"
            )
        return snapshots, note

    def period_before(self, older: Snapshot, newest: Snapshot) -> Snapshot | None:
        """
        Return the snapshot that is as much older than `older` as `older` is than the
        newest one, give or take a tenth of that time; None if there is none.
        """
        length_s = newest.listing.started_at - older.listing.started_at
        start_s = older.listing.started_at - length_s
        distances = {
            abs(snapshot.listing.started_at - start_s): snapshot
            for snapshot in self
            if snapshot.number < older.number
        }
        distance_s = min(distances, default=inf)
        return distances[distance_s] if distance_s <= length_s / 10 else None

    def counts(self, by: str | None = None) -> pd.DataFrame:
        """
        Lay out the counts of these snapshots: index `as_of` (datetime, UTC), an int64
        column per status. All but the newest snapshot count the animals that they alone
        may have missed.

        >>> _ = store.snapshot()
        >>> store.snapshots().counts()["sold"].tolist()[-1]
        59
        >>> store.snapshots().counts(by="categoryId")["sold"].tolist()[:3]
        [12, 16, 12]

        Args:
            by: `categoryId` counts each category by itself: it is the second level of
                the index.

        Raises:
            ArgumentError: `by` is something else.
            HistoryError: The history cannot be read.
        """
        import pandas as pd

        if by not in (None, "categoryId"):
            raise ArgumentError(f"by must be 'categoryId' or None, not {by!r}")
        if by is not None and self.count_categories is not None:
            return self.count_categories(self)

        counts = [snapshot.present for snapshot in self[:-1]]
        counts += [snapshot.counts for snapshot in self[-1:]]
        times = [snapshot.as_of for snapshot in self]
        as_of = pd.DatetimeIndex(times, name="as_of").as_unit("us")
        return pd.DataFrame(counts, as_of).fillna(0).astype("int64")


def is_age(moment: object) -> bool:
    """Whether a moment is an age such as `7d`."""
    return isinstance(moment, str) and parse_duration(moment) is not None


def span(moment: Moment, now: float, zone: tzinfo | None = None) -> tuple[float, float]:
    """
    Return begin and end of what an age, a date or a time means (Unix seconds).

    >>> span("90min", now=10_000.0)
    (4600.0, 4600.0)
    >>> span("01.01.1970", now=0.0, zone=UTC)
    (0.0, 86400.0)

    Args:
        moment: `7d`, `2026-03-05`, `05.03.2026`, `2026-03-05T14:00+01:00`, a date or a
            datetime.
        now: Unix seconds, from which an age counts back.
        zone: Of what names no offset, None for that of this machine.

    Raises:
        ArgumentError: It is none of these.
    """
    if isinstance(moment, str) and (age_s := parse_duration(moment)) is not None:
        return now - age_s, now - age_s
    day = _parse_date(moment.strip()) if isinstance(moment, str) else moment
    with suppress(OverflowError, OSError, ValueError):
        if isinstance(day, datetime) and day == day:  # not NaT
            clock = day.timetz()
            time_s = datetime.combine(day, clock, clock.tzinfo or zone).timestamp()
            return time_s, time_s
        if isinstance(day, date) and day == day:
            begin = datetime.combine(day, datetime.min.time(), zone)
            # a day of 23 or 25 hours, too
            return begin.timestamp(), (begin + timedelta(days=1)).timestamp()
    raise ArgumentError(
        f"{moment!r} cannot be read: write a date as 2026-03-05 (year, month, day)"
        " or 05.03.2026 (day, month, year), or an age such as 7d (in s, min, h, d"
        f" or w); {option('since')} takes the word last, too"
    )


def check_past(
    moment: Moment, instant_s: float, latest_s: float, *, latest: str = "now"
) -> None:
    """
    Check that what a moment means is not later than now, or than another moment, both
    in Unix seconds.

    Raises:
        ArgumentError: It is.
    """
    if instant_s > latest_s + 1e-6:  # a datetime may be rounded up
        raise ArgumentError(
            f"{moment} is later than {latest} ({utc_text(latest_s)}): name an earlier"
            " date; a date means the end of that day"
        )


def _parse_date(text: str) -> date | None:
    if "W" in text:  # the ISO form of a week would be read as its Monday
        return None
    for parse in (
        lambda text: datetime.strptime(text, "%d.%m.%Y").date(),
        date.fromisoformat,
        datetime.fromisoformat,
    ):
        with suppress(ValueError):
            return parse(text)
    return None
