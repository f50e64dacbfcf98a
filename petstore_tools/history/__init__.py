"""
What complete listings say over time: one SQLite file a place.

Listings are numbered in the order in which they were kept. A stay is an animal in a
name, category and status, from the first listing that showed it so to the one that
closed it. The file holds what each listing showed; what an absence means is decided
when it is read: an animal that is missing from one listing alone, which may have a
hole, was there.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from hashlib import sha256
from math import ceil, inf
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self
from zlib import crc32

from pydantic import TypeAdapter

from petstore_tools import spec, sqlite
from petstore_tools.errors import ArgumentError, HistoryError, IncompleteListingError
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import (
    PetColumns,
    count_statuses,
    status_dtype,
    text_dtype,
)
from petstore_tools.text import parse_duration, pluralize, utc_text

if TYPE_CHECKING:
    import pandas as pd

_WAIT_S: Final = 60.0  # for another writer
_FORMAT: Final = 1
_TABLES: Final = f"""
PRAGMA user_version = {_FORMAT};
CREATE TABLE listings (
    number INTEGER PRIMARY KEY, started_at REAL, ended_at REAL,
    may_have_hole INTEGER, counts TEXT, listing TEXT
);
CREATE TABLE stays (
    id INTEGER, name TEXT, categoryId INTEGER, status TEXT,
    first INTEGER, closed INTEGER, PRIMARY KEY (id, first)
) WITHOUT ROWID;
CREATE UNIQUE INDEX open_stays ON stays (id) WHERE closed IS NULL;
CREATE INDEX closed_stays ON stays (closed);
CREATE INDEX first_stays ON stays (first);
CREATE TABLE reported (status TEXT PRIMARY KEY, number INTEGER);
"""
_TIMES: Final = ("began_after", "first_seen", "last_seen", "ended_after", "ended_by")
_NUMBERS: Final = ("first", "ended")  # of listings
_DTYPES: Final = {
    **dict.fromkeys((*_TIMES, *_NUMBERS), "float64"),
    **dict.fromkeys(("id", "categoryId"), "int64"),
}
_LISTING: Final = TypeAdapter(Listing)
_COUNTS: Final = TypeAdapter(dict[str, int])
_NO_SNAPSHOT: Final = "there is no earlier snapshot to compare with"
_NOT_KEPT: Final = (
    "; a report on one status keeps none, so run petstore-tools report without --status"
    " before"
)
_CHUNK: Final = 50_000  # rows that are Python objects at a time
_FORGET: Final = (
    (
        "UPDATE stays SET first = (SELECT min(number) FROM listings) "
        "WHERE first < (SELECT min(number) FROM listings) "
        "AND (closed IS NULL OR closed > (SELECT min(number) FROM listings))"
    ),
    "DELETE FROM stays WHERE first NOT IN (SELECT number FROM listings)",
    "UPDATE stays SET closed = NULL WHERE closed > (SELECT max(number) FROM listings)",
    "DELETE FROM reported WHERE number NOT IN (SELECT number FROM listings)",
)
_REPORTED: Final = "SELECT ifnull(max(number), 0) FROM reported WHERE status = ?"
_NEWEST: Final = "SELECT ifnull(max(number), 0), ifnull(max(ended_at), 0) FROM listings"
_SHOWN: Final = """
CREATE TEMP TABLE shown (
    id INTEGER PRIMARY KEY, name TEXT, categoryId INTEGER, status TEXT
)
"""
_CLOSE: Final = """
UPDATE stays SET closed = :number WHERE closed IS NULL AND NOT EXISTS (
    SELECT 1 FROM shown WHERE shown.id = stays.id AND shown.name = stays.name
    AND shown.categoryId = stays.categoryId AND shown.status IS stays.status
)
"""
_OPEN: Final = """
INSERT INTO stays SELECT id, name, categoryId, status, :number, NULL FROM shown
WHERE id NOT IN (SELECT id FROM stays WHERE closed IS NULL)
"""
_SHOWN_IN: Final = """
SELECT id, name, categoryId, status FROM stays AS stay
WHERE first <= :number AND (:status IS NULL OR status = :status)
AND (closed IS NULL OR closed > :number OR :unseen AND closed = :number AND NOT EXISTS (
    SELECT 1 FROM stays WHERE id = stay.id AND first = :number
)) ORDER BY id
"""
# A row is a part of a stay. One that only a listing with a hole lacks (unseen) lasts
# until the next listing; where a part in the same state lasts until it begins, it goes
# on.
_BEFORE: Final = "(SELECT ifnull(max(number), 0) FROM listings WHERE ended_at < :since)"
_STAYS: Final = f"""
WITH holes AS (SELECT number FROM listings WHERE may_have_hole),
parts AS (
    SELECT *, closed IN holes
        AND lead(first) OVER (PARTITION BY id ORDER BY first) IS NOT closed AS unseen
    FROM stays WHERE id IN ({{ids}})
),
begins AS (
    SELECT *, iif(
        lag(closed + unseen) OVER (PARTITION BY id, {{state}} ORDER BY first) = first,
        0, first
    ) AS own_begin FROM parts
),
merged AS (  -- the values are those of its last part
    SELECT id, name, categoryId, status, begin, closed, unseen, max(first) FROM (
        SELECT *, max(own_begin) OVER (PARTITION BY id ORDER BY first) AS begin
        FROM begins
    ) GROUP BY id, begin
)
SELECT id, name, categoryId, status,
    (SELECT started_at FROM listings WHERE number = begin - 1 - (
        begin - 1 IN holes
        AND NOT EXISTS (SELECT 1 FROM stays WHERE id = stay.id AND closed = begin)
    )) AS began_after,
    (SELECT ended_at FROM listings WHERE number = begin) AS first_seen,
    (SELECT ended_at FROM listings
        WHERE number = ifnull(closed - 1, (SELECT max(number) FROM listings))
    ) AS last_seen,
    (SELECT started_at FROM listings WHERE number = closed - 1
        AND closed + unseen <= (SELECT max(number) FROM listings)) AS ended_after,
    (SELECT ended_at FROM listings WHERE number = closed + unseen) AS ended_by,
    begin, closed + unseen
FROM merged AS stay WHERE closed IS NULL OR closed + unseen > {_BEFORE}
ORDER BY id, begin
"""
_MOVED_IDS: Final = f"""
SELECT id FROM stays WHERE closed >= {_BEFORE}
UNION SELECT id FROM stays WHERE first > {_BEFORE}
"""


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
    _history: History

    @property
    def as_of(self) -> datetime:
        """When its last page was read (UTC)."""
        return datetime.fromtimestamp(self.listing.ended_at, UTC)

    def frame(self) -> pd.DataFrame:
        """
        Rebuild the frame, as `list_pets` gave it, by ascending id.

        Raises:
            HistoryError: The history is damaged.
        """
        frame = self._history.animals(self)
        if Listing.as_listed(frame) != self.listing and self.listing.status is None:
            raise HistoryError(
                f"listing {self.number} in {self._history.path} was changed"
            )
        return frame

    def __repr__(self) -> str:
        return f"Snapshot({self.listing})"


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


@dataclass(frozen=True)
class History:
    """
    The kept listings of one service. What cannot be read or written is a HistoryError.

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
                connection = sqlite.read(self.path, busy_s=_WAIT_S)
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

    def snapshots(self, status: str | None = None) -> Snapshots:
        """
        Return the kept listings, oldest first; or of each its animals with one status.
        """
        kept = list[Snapshot]()
        with self._open() as database:
            rows = database.execute(
                "SELECT number, listing, counts FROM listings ORDER BY number"
            )
            for number, facts, counts in rows:
                try:
                    listing = _LISTING.validate_json(facts)
                    animals = _COUNTS.validate_json(counts)
                except ValueError as error:
                    raise sqlite3.DatabaseError(
                        f"its listing {number} is damaged"
                    ) from error
                if status is not None:
                    animals = {status: animals.get(status, 0)}
                    listing = replace(listing.filtered(status), rows=animals[status])
                kept.append(Snapshot(number, listing, animals, self))
        return Snapshots(kept)

    def animals(self, snapshot: Snapshot, *, unseen: bool = False) -> pd.DataFrame:
        """
        Return the animals of a listing, as `list_pets` gives them.

        Args:
            snapshot: The listing.
            unseen: With those that it alone did not show, and may have missed.
        """
        import pandas as pd

        listing = snapshot.listing
        names = {
            "number": snapshot.number,
            "status": listing.status,
            "unseen": unseen and listing.may_have_hole,
        }
        with self._open() as database:
            rows = database.execute(_SHOWN_IN, names).fetchall()
        frame = pd.DataFrame(rows, columns=[*spec.PET_FIELDS])
        return PetColumns.of(frame).to_frame(listing)

    def keep(self, frame: pd.DataFrame) -> Snapshot:
        """
        Keep a complete listing of the whole inventory, or nothing.

        Raises:
            IncompleteListingError: The listing is not complete.
            ArgumentError: It is a listing with a filter.
            HistoryError: It began before the newest kept one ended.
        """
        listing = Listing.as_listed(frame)
        if not listing.complete:
            raise IncompleteListingError(listing.shortfall, listing=listing)
        if listing.status is not None:
            raise ArgumentError(
                "only a listing of all animals is kept, without a status:"
                " store.snapshot()"
            )
        started_at = round(listing.started_at, 6)  # as a datetime holds it
        animals = frame[[*spec.PET_FIELDS]].astype("object").where(frame.notna(), None)
        with self._open("BEGIN IMMEDIATE") as database:
            newest = _check_order(database, started_at)
            kept = Snapshot(newest + 1, listing, count_statuses(frame), self)
            number = {"number": kept.number}
            database.execute(_SHOWN)
            rows = animals.itertuples(index=False, name=None)
            database.executemany("INSERT INTO shown VALUES (?, ?, ?, ?)", rows)
            database.execute(_CLOSE, number)
            database.execute(_OPEN, number)
            row = (
                kept.number,
                started_at,
                # the clock may be set back meanwhile
                max(started_at, round(listing.ended_at, 6)),
                listing.may_have_hole,
                json.dumps(kept.counts),
                json.dumps(listing.to_dict()),
            )
            database.execute("INSERT INTO listings VALUES (?, ?, ?, ?, ?, ?)", row)
        return kept

    def try_keep(self, frame: pd.DataFrame) -> str:
        """Keep a listing of all animals; return why that is not possible, else ""."""
        try:
            if Listing.as_listed(frame).status is None:
                self.keep(frame)
        except HistoryError as error:
            return f"this listing was not kept as a snapshot: {error}"
        return ""

    def younger(
        self, age_s: float, *, status: str | None, now: float
    ) -> tuple[pd.DataFrame | None, list[str]]:
        """
        Return the newest listing that is not older than `age_s`, None where there is
        none, and what there is to say about that.
        """
        try:
            for snapshot in self.snapshots(status)[-1:]:
                if 0 <= now - snapshot.listing.ended_at <= age_s:
                    return snapshot.frame(), []
        except HistoryError as error:
            return None, [f"the kept listings were not read: {error}"]
        return None, []

    def since(
        self, given: str | date, *, status: str | None, now: float
    ) -> tuple[Snapshot | None, tuple[str, ...]]:
        """
        Return the listing to compare with, None where there is none, and what there is
        to say.

        Args:
            given: `last`: the listing of the last report that was written to a file; or
                an age such as `7d`, a date or a time (UTC; of a date its end): the
                newest listing that is not younger, else the oldest.
            status: The filter.
            now: Unix seconds.

        Raises:
            ArgumentError: It is none of these, or in the future.
        """
        is_last = isinstance(given, str) and given.strip().casefold() == "last"
        until = now if is_last else instant(given, now)
        try:
            kept = [
                snapshot
                for snapshot in self.snapshots(status)
                if snapshot.listing.ended_at <= now
            ]
            with self._open() as database:
                (reported,) = database.execute(_REPORTED, (status or "",)).fetchone()
        except HistoryError as error:
            return None, (f"not compared with an earlier listing: {error}",)
        if not kept:
            return None, (_NO_SNAPSHOT + (_NOT_KEPT if status else ""),)
        if is_last:
            older = [snapshot for snapshot in kept if snapshot.number <= reported]
            instead = kept[-1]
            note = (
                "no such report was written to a file before, so the newest snapshot is"
                " compared"
            )
        else:
            older = [
                snapshot
                for snapshot in kept
                if round(snapshot.listing.ended_at, 6) <= until
            ]
            instead = kept[0]
            note = f"no snapshot is as old as {given}, so the oldest one is compared"
        return (older[-1], ()) if older else (instead, (note,))

    def stays(
        self, since: float, *, ids: str = _MOVED_IDS, state: str = "status"
    ) -> pd.DataFrame:
        """
        Return one row per stay, by id and time: an unbroken time of an animal in a
        status.

        Args:
            since: Unix seconds; leave out what had ended before.
            ids: SQL that selects the animals, by default those that changed since then.
            state: The columns in which the parts of a stay are equal.

        Returns:
            The columns of a listing, status as text; `began_after` (start of the last
            listing before it, missing where it had begun before the first),
            `first_seen`, `last_seen` (ends of listings), `ended_after` (start of the
            last listing that showed it) and `ended_by` (end of the next one; both
            missing while open), in Unix seconds; `first` and `ended` (missing while
            open): the numbers of the listings by which it had begun and ended.
        """
        import pandas as pd

        columns = [*spec.PET_FIELDS, *_TIMES, *_NUMBERS]
        with self._open() as database:
            rows = database.execute(
                _STAYS.format(ids=ids, state=state), {"since": since}
            )
            # an empty chunk at the end, so that there is one where no stay is found
            chunks = [
                pd.DataFrame(chunk, columns=columns).astype(_DTYPES)
                for chunk in (*iter(lambda: rows.fetchmany(_CHUNK), []), [])
            ]
        return pd.concat(chunks, ignore_index=True).astype({"name": text_dtype()})

    def history(
        self, *, pet_id: int | None = None, since: str | date | None = None, now: float
    ) -> pd.DataFrame:
        """
        Return one row per stay, by id and time.

        Args:
            pet_id: Of one animal.
            since: Leave out what had ended before this age, date or time.
            now: Unix seconds.

        Returns:
            The columns of a listing, and times (datetime, UTC): it began between
            `began_after` (missing in the first listing, since nobody saw it begin) and
            `first_seen`, was last shown at `last_seen`, and ended between `ended_after`
            and `ended_by` (both missing while open).

        Raises:
            ArgumentError: An id is no int64, or `since` is not as `instant` takes it.
        """
        from petstore_tools.models import check_id

        ids = "SELECT id FROM stays" if pet_id is None else str(check_id(pet_id))
        since_s = 0.0 if since is None else instant(since, now)
        stays = self.stays(since_s, ids=ids, state="name, categoryId, status")
        return stays[[*spec.PET_FIELDS, *_TIMES]].assign(
            status=stays["status"].astype(status_dtype(stays["status"].dropna())),
            **{name: moments(stays[name]) for name in _TIMES},
        )

    def mark_reported(self, status: str | None, number: int) -> None:
        """
        Remember the newest listing of a report that was handed out: `last` means it
        then.
        """
        with self._open("BEGIN IMMEDIATE") as database:
            database.execute(
                "INSERT INTO reported VALUES (?1, ?2) "
                "ON CONFLICT (status) DO UPDATE SET number = max(number, ?2)",
                (status or "", number),
            )

    def forget(
        self,
        before: str | date | None = None,
        *,
        after: str | date | None = None,
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
        ends = {
            "before": -inf if before is None else instant(before, now, day_s=0.0),
            "after": inf if after is None else instant(after, now, ahead_s=inf),
        }
        with self._open("BEGIN IMMEDIATE") as database:
            forgotten = database.execute(
                "DELETE FROM listings WHERE ended_at < :before OR ended_at > :after",
                ends,
            ).rowcount
            for statement in _FORGET:
                database.execute(statement)
        # on a full disk the file keeps its size, and what is forgotten is forgotten all
        # the same
        with (
            suppress(sqlite3.OperationalError),
            closing(sqlite.read(self.path)) as database,
        ):
            database.execute("VACUUM")
        return forgotten


def _check_order(database: sqlite3.Connection, began_at: float) -> int:
    """
    Return the number of the newest kept listing; raise where it ended after another one
    began.
    """
    number, ended_at = database.execute(_NEWEST).fetchone()
    if began_at < ended_at:
        date_text = datetime.fromtimestamp(ceil(began_at), UTC).isoformat()
        raise HistoryError(
            f"the newest kept listing ended at {utc_text(ended_at)}, after this one"
            f" began ({utc_text(began_at)}). If a wrong clock made it, remove it:"
            f" petstore-tools history forget --after {date_text}"
        )
    return int(number)


def moments(seconds: pd.Series) -> pd.Series:
    """Return Unix seconds as datetimes (UTC, microseconds)."""
    import pandas as pd

    microseconds = (seconds * 1e6).round()  # pandas would cut the rest of a second off
    return pd.to_datetime(microseconds, unit="us", utc=True).dt.as_unit("us")


def instant(
    given: str | date, now: float, *, day_s: float = spec.DAY_S, ahead_s: float = 0.0
) -> float:
    """
    Return the Unix seconds that an age, a date or a time means; UTC where it names no
    time zone.

    Args:
        given: `7d`, `2026-03-05`, `05.03.2026`, `2026-03-05T14:00+01:00`, a date or a
            datetime.
        now: Unix seconds.
        day_s: What of a date is meant: its end.
        ahead_s: How far it may be in the future.

    Raises:
        ArgumentError: It is none of these, or later than that.
    """
    if isinstance(given, str) and (age_s := parse_duration(given)) is not None:
        return now - age_s
    at = _read(given.strip()) if isinstance(given, str) else given
    if not isinstance(at, date) or at != at:  # NaT
        raise ArgumentError(
            f"{given!r} cannot be read: write a date as 2026-03-05 (year, month, day)"
            " or 05.03.2026 (day, month, year), an age such as 7d (in s, min, h, d or"
            " w), or, for a report, the word last"
        )
    if isinstance(at, datetime):
        seconds = (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    else:
        seconds = datetime(at.year, at.month, at.day, tzinfo=UTC).timestamp() + day_s
    if seconds > now + ahead_s + 1e-6:  # a datetime may be rounded up
        raise ArgumentError(
            f"{given} is in the future: a date means the end of that day, "
            f"and now it is {utc_text(now)}"
        )
    return seconds


def _read(text: str) -> date | None:
    for read in (_day_first, date.fromisoformat, datetime.fromisoformat):
        with suppress(ValueError):
            return read(text)
    return None


def _day_first(text: str) -> date:
    return datetime.strptime(text, "%d.%m.%Y").date()
