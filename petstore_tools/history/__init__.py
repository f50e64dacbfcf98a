"""
What complete listings say over time: one SQLite file a place.

Listings are numbered in the order in which they were kept. A stay is an animal in a name, category
and status, from the first listing that showed it so to the one that closed it. The file holds what
each listing showed; what an absence means is decided when it is read: an animal that is missing
from one listing alone, which may have a hole, was there.
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
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self
from zlib import crc32

from petstore_tools import spec, sqlite
from petstore_tools.errors import ArgumentError, FrameError, IncompleteListingError
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import Columns, count, status_dtype, text_dtype
from petstore_tools.text import parse_duration, pluralize, utc_text

if TYPE_CHECKING:
    import pandas as pd

_WAIT_S: Final = 60.0  # for another writer
_FORMAT: Final = 1
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS listings (
    number INTEGER PRIMARY KEY, started_at REAL, ended_at REAL, may_have_hole INTEGER,
    counts TEXT, listing TEXT
);
CREATE TABLE IF NOT EXISTS stays (
    id INTEGER, name TEXT, categoryId INTEGER, status TEXT, first INTEGER, closed INTEGER,
    PRIMARY KEY (id, first)
) WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS open_stays ON stays (id) WHERE closed IS NULL;
CREATE INDEX IF NOT EXISTS closed_stays ON stays (closed);
CREATE TABLE IF NOT EXISTS reported (status TEXT PRIMARY KEY, number INTEGER);
"""
_TIMES: Final = ("began_after", "first_seen", "last_seen", "ended_after", "ended_by")
_DTYPES: Final = dict.fromkeys(_TIMES, "float64") | {"id": "int64", "categoryId": "int64"}
_CHUNK: Final = 50_000  # rows that are Python objects at a time
_FORGET: Final = (
    "UPDATE stays SET first = (SELECT min(number) FROM listings) "
    "WHERE first < (SELECT min(number) FROM listings) "
    "AND (closed IS NULL OR closed > (SELECT min(number) FROM listings))",
    "DELETE FROM stays WHERE first NOT IN (SELECT number FROM listings)",
    "DELETE FROM reported WHERE number NOT IN (SELECT number FROM listings)",
)
# the listing to compare with, and which one instead
_OLD_ENOUGH: Final = """
SELECT max(number) FILTER (WHERE ended_at <= :until), min(number) FROM listings
WHERE ended_at <= :now
"""
_LAST_REPORTED: Final = """
SELECT max(number) FILTER (
    WHERE number <= (SELECT number FROM reported WHERE status = :status)
), max(number) FROM listings WHERE ended_at <= :now
"""
_NEWEST: Final = "SELECT ifnull(max(number), 0), ifnull(max(ended_at), 0) FROM listings"
_SHOWN: Final = """
CREATE TEMP TABLE shown (id INTEGER PRIMARY KEY, name TEXT, categoryId INTEGER, status TEXT)
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
SELECT id, name, categoryId, status FROM stays
WHERE first <= :number AND (closed IS NULL OR closed > :number)
"""
_UNSEEN_IN: Final = """
UNION ALL SELECT id, name, categoryId, status FROM stays AS stay
WHERE closed = :number AND :may_have_hole AND NOT EXISTS (
    SELECT 1 FROM stays WHERE id = stay.id AND first = :number
)
"""
# unseen: the listing that closed it may have missed the animal; where the next one showed it so
# again, both rows are parts of one stay: the last part holds its end, the first one its begin
_STAYS: Final = """
WITH RECURSIVE holes AS (SELECT number FROM listings WHERE may_have_hole),
marked AS NOT MATERIALIZED (
    SELECT *, iif(closed IN holes, NOT EXISTS (
        SELECT 1 FROM stays WHERE id = stay.id AND first = stay.closed
    ), 0) AS unseen FROM stays AS stay
),
parts AS (
    SELECT *, first AS last FROM marked AS stay WHERE {which} AND NOT (unseen AND EXISTS (
        SELECT 1 FROM stays WHERE id = stay.id AND first = stay.closed + 1 AND name = stay.name
        AND categoryId = stay.categoryId AND status IS stay.status
    ))
    UNION ALL
    SELECT part.id, part.name, part.categoryId, part.status, part.first, parts.closed,
        parts.unseen, parts.last
    FROM parts CROSS JOIN marked AS part ON parts.first - 1 IN holes AND part.id = parts.id
        AND part.closed = parts.first - 1 AND part.unseen AND part.name = parts.name
        AND part.categoryId = parts.categoryId AND part.status IS parts.status
),
merged AS (
    SELECT id, name, categoryId, status, min(first) AS first, closed, unseen FROM parts
    GROUP BY id, last
)
SELECT id, name, categoryId, status,
    (SELECT started_at FROM listings WHERE number = stay.first - 1 - iif(
        stay.first - 1 IN holes,
        NOT EXISTS (SELECT 1 FROM stays WHERE id = stay.id AND closed = stay.first), 0
    )) AS began_after,
    (SELECT ended_at FROM listings WHERE number = first) AS first_seen,
    (SELECT ended_at FROM listings
        WHERE number = ifnull(closed - 1, (SELECT max(number) FROM listings))) AS last_seen,
    (SELECT started_at FROM listings WHERE number = closed - 1
        AND closed + unseen <= (SELECT max(number) FROM listings)) AS ended_after,
    (SELECT ended_at FROM listings WHERE number = closed + unseen) AS ended_by
FROM merged AS stay ORDER BY id, first
"""
_BEFORE: Final = "(SELECT ifnull(max(number), 0) FROM listings WHERE ended_at < :since)"
ENDED_SINCE: Final = f"closed >= {_BEFORE} AND closed + unseen > {_BEFORE}"
OPEN_SINCE: Final = f"(closed IS NULL OR {ENDED_SINCE})"


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
            FrameError: The history is damaged.
        """
        frame = self._history.animals(self, _SHOWN_IN)
        if Listing.as_listed(frame) != self.listing and self.listing.status is None:
            raise FrameError(f"listing {self.number} in {self._history.path} was changed")
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
    The kept listings of one service. What cannot be read or written is a FrameError.

    Attributes:
        path: The SQLite file; made with the first listing.
    """

    path: Path

    @classmethod
    def of(cls, state_dir: Path, environment: str, base_url: str) -> Self:
        """Return the history of a service; the address ends in `/v1`."""
        place = sha256(base_url.encode()).hexdigest()[:12]
        return cls(state_dir / "history" / f"{environment}-{place}.db")

    @contextmanager
    def _open(self, begin: str = "BEGIN") -> Iterator[sqlite3.Connection]:
        """Open a transaction; a damaged file is kept aside, so that the next one begins anew."""
        nothing_kept = begin == "BEGIN" and not self.path.exists()
        try:
            if not nothing_kept:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            path = ":memory:" if nothing_kept else self.path
            connection = sqlite3.connect(path, timeout=_WAIT_S, isolation_level=None)
            with closing(connection), connection:
                place = crc32(self.path.stem.encode()) >> 1  # SQLite's number is signed
                tables = f"{_TABLES} PRAGMA application_id = {place}"
                sqlite.make_tables(connection, tables, _FORMAT)
                if connection.execute("PRAGMA application_id").fetchone() != (place,):
                    raise sqlite3.NotSupportedError(
                        "it is that of another service: give it its old name back, or move it away"
                    )
                connection.execute(begin)
                yield connection
        except (sqlite3.Error, OSError, UnicodeError) as error:
            told = f"the history {self.path} cannot be used ({error})"
            if type(error) is sqlite3.DatabaseError:  # damaged, or no database at all
                aside = self.path.with_suffix(f".damaged-{int(time.time())}")
                self.path.rename(aside)
                told = f"{told}: it is kept aside as {aside}, and the next listing begins a new one"
            raise FrameError(told) from error

    def check(self) -> None:
        """Check that a listing can be kept, before a request is spent on one."""
        with self._open("BEGIN IMMEDIATE"):
            pass

    def snapshots(
        self, status: str | None = None, which: str = "TRUE", **given: object
    ) -> Snapshots:
        """
        Return the kept listings, oldest first; or of each its animals with one status.

        Args:
            status: The filter.
            which: SQL, for some of them.
            given: The values that it names.
        """
        query = f"SELECT number, listing, counts FROM listings WHERE {which}"
        with self._open() as database:
            found = database.execute(query, given).fetchall()
        kept = list[Snapshot]()
        for number, facts, counts in found:
            listing = Listing.from_dict(json.loads(facts))
            counted = json.loads(counts)
            if status is not None:
                counted = {status: counted.get(status, 0)}
                listing = replace(listing.filtered(status), rows=counted[status])
            kept.append(Snapshot(number, listing, counted, self))
        return Snapshots(kept)

    def animals(self, snapshot: Snapshot, query: str) -> pd.DataFrame:
        """Return the animals that a query finds in a listing, as `list_pets` gives them."""
        import pandas as pd

        facts = {"number": snapshot.number, **snapshot.listing.to_dict()}
        with self._open() as database:
            shown = f"SELECT * FROM ({query}) WHERE :status IS NULL OR status = :status ORDER BY id"
            rows = database.execute(shown, facts).fetchall()
        frame = pd.DataFrame(rows, columns=[*spec.PET_FIELDS])
        return Columns.of(frame).to_frame(snapshot.listing)

    def keep(self, frame: pd.DataFrame) -> Snapshot:
        """
        Keep a complete listing of the whole inventory, or nothing.

        Raises:
            IncompleteListingError: The listing is not complete.
            ArgumentError: It is a listing with a filter.
            FrameError: It began before the newest kept one ended.
        """
        listing = Listing.as_listed(frame)
        if not listing.complete:
            raise IncompleteListingError(listing.shortfall, listing=listing)
        if listing.status is not None:
            raise ArgumentError(
                "only a listing of all animals is kept, without a status: store.snapshot()"
            )
        started_at = round(listing.started_at, 6)  # as a datetime holds it
        animals = frame[[*spec.PET_FIELDS]].astype("object").where(frame.notna(), None)
        with self._open("BEGIN IMMEDIATE") as database:
            newest, free_from = database.execute(_NEWEST).fetchone()
            if started_at < free_from:
                raise FrameError(
                    f"it began at {utc_text(listing.started_at)}, before the newest kept one "
                    f"ended ({utc_text(free_from)})"
                )
            kept = Snapshot(newest + 1, listing, count(frame), self)
            number = {"number": kept.number}
            database.execute(_SHOWN)
            rows = animals.itertuples(index=False, name=None)
            database.executemany("INSERT INTO shown VALUES (?, ?, ?, ?)", rows)
            database.execute(_CLOSE, number)
            database.execute(_OPEN, number)
            row = (
                kept.number,
                started_at,
                max(started_at, round(listing.ended_at, 6)),  # the clock may be set back meanwhile
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
        except FrameError as error:
            return f"this listing was not kept as a snapshot: {error}"
        return ""

    def younger(self, age_s: float, *, status: str | None, now: float) -> pd.DataFrame | None:
        """Return the newest listing that is not older than `age_s`; None where there is none."""
        with suppress(FrameError):  # a damaged one is as good as none
            for snapshot in self.snapshots(status)[-1:]:
                if 0 <= now - snapshot.listing.ended_at <= age_s:
                    return snapshot.frame()
        return None

    def since(
        self, given: str | date, *, status: str | None, now: float
    ) -> tuple[pd.DataFrame | None, tuple[str, ...]]:
        """
        Return the listing to compare with, and what there is to say about it.

        Args:
            given: `last`: the listing of the last report that was written to a file; or an age such
                as `7d`, a date or a time (UTC; of a date its end): the newest listing that is not
                younger, else the oldest.
            status: The filter.
            now: Unix seconds.

        Returns:
            The animals that were there, those included which that listing alone did not show and
            may have missed; None where there is no listing or no readable one.

        Raises:
            ArgumentError: It is none of these, or in the future.
        """
        is_last = isinstance(given, str) and given.strip().casefold() == "last"
        if is_last:
            until = now
            query = _LAST_REPORTED
            note = "no such report was written to a file before, so the newest snapshot is compared"
        else:
            until = instant(given, now)
            query = _OLD_ENOUGH
            note = f"no snapshot is as old as {given}, so the oldest one is compared"
        times = {"now": round(now, 6), "until": until, "status": status or ""}
        try:
            with self._open() as database:
                found, instead = database.execute(query, times).fetchone()
            if instead is None:
                return None, ("there is no earlier snapshot to compare with",)
            (chosen,) = self.snapshots(status, "number = :number", number=found or instead)
            return self.animals(chosen, _SHOWN_IN + _UNSEEN_IN), () if found else (note,)
        except FrameError as error:
            return None, (f"not compared with an earlier listing: {error}",)

    def stays(self, which: str, *, since: float) -> pd.DataFrame:
        """
        Return one row per stay, by id and time; times are Unix seconds.

        Args:
            which: `ENDED_SINCE`, `OPEN_SINCE` (open or ended since), or more SQL.
            since: Unix seconds.

        Returns:
            The columns of a listing, status as text; `began_after` (start of the last listing
            before it, missing where it had begun before the first), `first_seen`, `last_seen` (ends
            of listings), `ended_after` (start of the last listing that showed it) and `ended_by`
            (end of the next one; both missing while open).
        """
        import pandas as pd

        with self._open() as database:
            found = database.execute(_STAYS.format(which=which), {"since": since})
            # an empty chunk at the end, so that there is one where no stay is found
            chunks = [
                pd.DataFrame(rows, columns=[*spec.PET_FIELDS, *_TIMES]).astype(_DTYPES)
                for rows in (*iter(lambda: found.fetchmany(_CHUNK), []), [])
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
            The columns of a listing, `first_seen` and `last_seen` (datetime, UTC) and
            `ended_between` (interval of datetimes; missing while open).

        Raises:
            ArgumentError: An id is no int64, or `since` is not as `instant` takes it.
        """
        import pandas as pd

        from petstore_tools.models import checked_id

        which = OPEN_SINCE
        if pet_id is not None:
            which = f"id = {checked_id(pet_id)} AND {OPEN_SINCE}"
        stays = self.stays(which, since=0.0 if since is None else instant(since, now))
        between = pd.arrays.IntervalArray.from_arrays(
            moments(stays["ended_after"]), moments(stays["ended_by"]), closed="both"
        )
        return stays[[*spec.PET_FIELDS]].assign(
            status=stays["status"].astype(status_dtype(stays["status"].dropna())),
            first_seen=moments(stays["first_seen"]),
            last_seen=moments(stays["last_seen"]),
            ended_between=between,
        )

    def mark_reported(self, status: str | None, number: int) -> None:
        """Remember the newest listing of a report that was handed out: `last` means it then."""
        with self._open("BEGIN IMMEDIATE") as database:
            database.execute(
                "INSERT INTO reported VALUES (?1, ?2) "
                "ON CONFLICT (status) DO UPDATE SET number = max(number, ?2)",
                (status or "", number),
            )

    def forget(self, before: str | date, *, now: float) -> int:
        """Forget the listings that ended before an age, a date or a time; return how many."""
        until = {"until": instant(before, now, day_s=0.0)}
        with self._open("BEGIN IMMEDIATE") as database:
            forgotten = database.execute(
                "DELETE FROM listings WHERE ended_at < :until", until
            ).rowcount
            for statement in _FORGET:
                database.execute(statement)
        with closing(sqlite3.connect(self.path, timeout=_WAIT_S)) as database:
            database.execute("VACUUM")
        return forgotten


def moments(seconds: pd.Series) -> pd.Series:
    """Return Unix seconds as datetimes (UTC, microseconds)."""
    import pandas as pd

    microseconds = (seconds * 1e6).round()  # pandas would cut the rest of a second off
    return pd.to_datetime(microseconds, unit="us", utc=True).dt.as_unit("us")


def instant(given: str | date, now: float, *, day_s: float = spec.DAY_S) -> float:
    """
    Return the Unix seconds that an age, a date or a time means; UTC where it names no time zone.

    Args:
        given: `7d`, `2026-03-05`, `05.03.2026`, `2026-03-05T14:00+01:00`, a date or a datetime.
        now: Unix seconds.
        day_s: What of a date is meant: its end.

    Raises:
        ArgumentError: It is none of these, or in the future.
    """
    if isinstance(given, str) and (age_s := parse_duration(given)) is not None:
        return now - age_s
    at = _read(given.strip()) if isinstance(given, str) else given
    if not isinstance(at, date) or at != at:  # NaT
        raise ArgumentError(
            f"{given!r} cannot be read: write a date as 2026-03-05 (year, month, day) or "
            "05.03.2026 (day, month, year), an age such as 7d (in s, min, h, d or w), or, for a "
            "report, the word last"
        )
    if isinstance(at, datetime):
        seconds = (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    else:
        seconds = datetime(at.year, at.month, at.day, tzinfo=UTC).timestamp() + day_s
    if seconds > now + 1e-6:  # a datetime may be rounded up
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
