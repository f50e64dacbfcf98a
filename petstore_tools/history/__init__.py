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
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from petstore_tools import spec
from petstore_tools.errors import (
    ArgumentError,
    FrameError,
    IncompleteListingError,
)
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import Columns, count, text_dtype
from petstore_tools.text import parse_duration, pluralize, utc_text

if TYPE_CHECKING:
    import pandas as pd

_WAIT_S: Final = 60.0  # for another writer
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
CREATE INDEX IF NOT EXISTS first_stays ON stays (first);
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
# unseen: the listing that closed it may have missed the animal; resumed: the next one showed it so
# again; unseen_before: the listing before the first may have missed it
_STAYS: Final = """
WITH holes AS (SELECT number FROM listings WHERE may_have_hole), marked AS (
    SELECT *, closed IN holes AND NOT EXISTS (
        SELECT 1 FROM stays WHERE id = stay.id AND first = stay.closed
    ) AS unseen, first - 1 IN holes AND NOT EXISTS (
        SELECT 1 FROM stays WHERE id = stay.id AND closed = stay.first
    ) AS unseen_before FROM stays AS stay
)
SELECT id, name, categoryId, status,
    (SELECT started_at FROM listings WHERE number = first - 1 - unseen_before) AS began_after,
    (SELECT ended_at FROM listings WHERE number = first) AS first_seen,
    (SELECT ended_at FROM listings
        WHERE number = ifnull(closed - 1, (SELECT max(number) FROM listings))) AS last_seen,
    (SELECT started_at FROM listings WHERE number = closed - 1
        AND closed + unseen <= (SELECT max(number) FROM listings)) AS ended_after,
    (SELECT ended_at FROM listings WHERE number = closed + unseen) AS ended_by,
    unseen AND EXISTS (
        SELECT 1 FROM stays WHERE id = marked.id AND first = marked.closed + 1
        AND name = marked.name AND categoryId = marked.categoryId AND status IS marked.status
    ) AS resumed
FROM ({}) CROSS JOIN marked USING (id, first) ORDER BY id, first
"""
_OF_ONE: Final = "SELECT id, first FROM stays WHERE id = :id"
_RECENT: Final = """  -- each part by its index
    SELECT id, first FROM stays WHERE closed IS NULL
    UNION SELECT id, first FROM stays
        WHERE closed > (SELECT ifnull(max(number), 0) FROM listings WHERE ended_at < :since)
    UNION SELECT id, first FROM stays WHERE closed IN holes
    UNION SELECT id, first FROM stays WHERE first IN (SELECT number + 1 FROM holes)
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
                connection.executescript(_TABLES)
                connection.execute(begin)
                yield connection
        except (sqlite3.Error, OSError, UnicodeError) as error:
            told = f"the history {self.path} cannot be used ({error})"
            code = getattr(error, "sqlite_errorcode", None)
            if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                aside = self.path.with_suffix(f".damaged-{int(time.time())}")
                self.path.rename(aside)
                told = f"{told}: it is kept aside as {aside}, and the next listing begins a new one"
            raise FrameError(told) from error

    def check(self) -> None:
        """Check that a listing can be kept, before a request is spent on one."""
        with self._open("BEGIN IMMEDIATE"):
            pass

    def snapshots(self, status: str | None = None) -> Snapshots:
        """Return the kept listings, oldest first; or of each its animals with one status."""
        with self._open() as database:
            found = database.execute("SELECT number, listing, counts FROM listings").fetchall()
        kept = [
            Snapshot(number, Listing.from_dict(json.loads(of)), json.loads(counts), self)
            for number, of, counts in found
        ]
        if status is None:
            return Snapshots(kept)
        return Snapshots(
            replace(
                one,
                listing=replace(one.listing.filtered(status), rows=one.counts.get(status, 0)),
                counts={status: one.counts.get(status, 0)},
            )
            for one in kept
        )

    def animals(self, snapshot: Snapshot, query: str) -> pd.DataFrame:
        """Return the animals that a query finds in a listing, as `list_pets` gives them."""
        import pandas as pd

        of = {"number": snapshot.number, "may_have_hole": snapshot.listing.may_have_hole}
        with self._open() as database:
            rows = database.execute(f"{query} ORDER BY id", of).fetchall()
        frame = pd.DataFrame(rows, columns=[*spec.PET_FIELDS])
        if (status := snapshot.listing.status) is not None:
            frame = frame[frame["status"] == status]
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
        counts = count(frame)
        columns = [frame[name].astype("object") for name in spec.PET_FIELDS]
        started_at, ended_at = map(_rounded, (listing.started_at, listing.ended_at))
        values = [column.where(column.notna(), None).tolist() for column in columns]
        with self._open("BEGIN IMMEDIATE") as database:
            newest, free_from = database.execute(_NEWEST).fetchone()
            if started_at < free_from:
                raise FrameError(
                    f"it began at {utc_text(listing.started_at)}, before the newest kept one "
                    f"ended ({utc_text(free_from)})"
                )
            kept = Snapshot(newest + 1, listing, counts, self)
            number = {"number": kept.number}
            database.execute(_SHOWN)
            database.executemany("INSERT INTO shown VALUES (?, ?, ?, ?)", zip(*values, strict=True))
            database.execute(_CLOSE, number)
            database.execute(_OPEN, number)
            row = (
                kept.number,
                started_at,
                max(started_at, ended_at),  # the clock may be set back meanwhile
                listing.may_have_hole,
                json.dumps(counts),
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

    def younger(self, age: timedelta, *, status: str | None, now: float) -> pd.DataFrame | None:
        """Return the newest listing that is not older than `age`; None where there is none."""
        with suppress(FrameError):  # a damaged one is as good as none
            for snapshot in self.snapshots(status)[-1:]:
                if 0 <= now - snapshot.listing.ended_at <= age.total_seconds():
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
        until = None if is_last else instant(given, now)
        try:
            kept = [one for one in self.snapshots(status) if one.listing.ended_at <= now]
            if not kept:
                return None, ("no earlier snapshot to compare with",)
            note = f"no snapshot is as old as {given}: compared with the oldest"
            if until is not None:
                found = [one for one in kept if one.as_of.timestamp() <= until]
            elif reported := self._reported(status):
                found = [one for one in kept if one.number <= reported]
            else:
                found = kept
                note = "no report was written to a file before: compared with the newest snapshot"
            chosen = found[-1] if found else kept[0]
            notes = () if found and (until or reported) else (note,)
            return self.animals(chosen, _SHOWN_IN + _UNSEEN_IN), notes
        except FrameError as error:
            return None, (f"not compared with an earlier listing: {error}",)

    def stays(
        self, *, pet_id: int | None = None, since: str | date | None = None, now: float
    ) -> pd.DataFrame:
        """
        Return one row per stay, by id and time; times are Unix seconds.

        Args:
            pet_id: Of one animal.
            since: Leave out what had ended before this age, date or time.
            now: Unix seconds.

        Returns:
            The columns of a listing; `began_after` (start of the last listing before it, missing
            where it had begun before the first), `first_seen`, `last_seen` (ends of listings),
            `ended_after` (start of the last listing that showed it) and `ended_by` (end of the next
            one; both missing while open).
        """
        import pandas as pd

        ended_since = 0.0 if since is None else instant(since, now)
        with self._open() as database:
            chunks = pd.read_sql_query(
                _STAYS.format(_RECENT if pet_id is None else _OF_ONE),
                database,
                params={"id": pet_id, "since": ended_since},
                chunksize=_CHUNK,
            )
            dtypes = {**_DTYPES, "name": text_dtype()}
            rows = pd.concat([chunk.astype(dtypes) for chunk in chunks], ignore_index=True)
        resumed = rows["resumed"].astype(bool)
        stays = rows[~resumed.shift(fill_value=False)].reset_index(drop=True)
        ends = rows[~resumed].reset_index(drop=True)
        for name in ("last_seen", "ended_after", "ended_by"):
            stays[name] = ends[name]
        others = sorted(set(stays["status"].dropna()) - set(spec.STATUSES))
        statuses = pd.CategoricalDtype([*spec.STATUSES, *others], ordered=True)
        stays = stays.astype({"status": statuses}).drop(columns="resumed")
        return stays[~(stays["ended_by"] < ended_since)].reset_index(drop=True)

    def history(
        self, *, pet_id: int | None = None, since: str | date | None = None, now: float
    ) -> pd.DataFrame:
        """
        Return one row per stay, as `stays` does, with `first_seen` and `last_seen` (datetime, UTC)
        and `ended_between` (interval of datetimes; missing while open).
        """
        import pandas as pd

        stays = self.stays(pet_id=pet_id, since=since, now=now)
        at = {name: moments(stays[name]) for name in _TIMES}
        between = pd.arrays.IntervalArray.from_arrays(
            at["ended_after"], at["ended_by"], closed="both"
        )
        return stays[[*spec.PET_FIELDS]].assign(
            first_seen=at["first_seen"], last_seen=at["last_seen"], ended_between=between
        )

    def mark_reported(self, status: str | None, number: int) -> None:
        """Remember the newest listing of a report that was handed out: `last` means it then."""
        with self._open("BEGIN IMMEDIATE") as database:
            database.execute(
                "INSERT INTO reported VALUES (?1, ?2) "
                "ON CONFLICT (status) DO UPDATE SET number = max(number, ?2)",
                (status or "", number),
            )

    def _reported(self, status: str | None) -> int:
        query = "SELECT max(number) FROM reported WHERE status = ?"
        with self._open() as database:
            return database.execute(query, (status or "",)).fetchone()[0] or 0

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

    moment = {at: datetime.fromtimestamp(at, UTC) for at in seconds.dropna().unique()}
    return pd.to_datetime(seconds.map(moment), utc=True).dt.as_unit("us")


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
            f"{given} is in the future: a date means its end, and it is {utc_text(now)} now"
        )
    return seconds


def _read(text: str) -> date | None:
    with suppress(ValueError):
        return datetime.strptime(text, "%d.%m.%Y").date()
    with suppress(ValueError):
        return date.fromisoformat(text)
    with suppress(ValueError):
        return datetime.fromisoformat(text)
    return None


def _rounded(seconds: float) -> float:
    """Return Unix seconds to the microsecond, as a datetime holds them."""
    return datetime.fromtimestamp(seconds, UTC).timestamp()
