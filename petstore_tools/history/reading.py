"""
What a history says: its snapshots, the stays of animals, and the listing to compare
with.

What an absence means is decided here: an animal that is missing from one listing alone,
which may have a hole, was there.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from math import inf
from typing import TYPE_CHECKING

from pydantic import Json, TypeAdapter

from petstore_tools import spec
from petstore_tools.errors import ArgumentError, HistoryError, IncompleteListingError
from petstore_tools.history.database import HistoryDatabase, instant
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import (
    PetColumns,
    count_statuses,
    status_dtype,
    text_dtype,
)
from petstore_tools.text import pluralize, utc_text

if TYPE_CHECKING:
    import pandas as pd

_TIME_COLUMNS = (
    "began_after",
    "first_seen",
    "last_seen",
    "ended_after",
    "ended_by",
)
_KEPT_LISTING = TypeAdapter(tuple[int, Json[Listing], Json[dict[str, int]]])
_CHUNK_ROWS = 50_000  # rows that are Python objects at a time
_LAST_REPORTED = "SELECT ifnull(max(number), 0) FROM reported WHERE status = ?"
_ANIMALS_OF_LISTING = """
SELECT id, name, categoryId, status FROM stays AS stay
WHERE first <= :number AND status IS ifnull(:status, status)
AND (closed IS NULL OR closed > :number OR :unseen AND closed = :number AND NOT EXISTS (
    SELECT 1 FROM stays WHERE id = stay.id AND first = :number
)) ORDER BY id
"""
# A row is a part of a stay. One that only a listing with a hole lacks (unseen) lasts
# until the next listing; where a part in the same state lasts until it begins, it goes
# on, with the values of its last part.
_LAST_BEFORE = "(SELECT ifnull(max(number), 0) FROM listings WHERE ended_at < :since)"
_STAYS = f"""
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
merged AS (
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
        AND closed + unseen IN (SELECT number FROM listings)) AS ended_after,
    (SELECT ended_at FROM listings WHERE number = closed + unseen) AS ended_by,
    begin, closed + unseen
FROM merged AS stay WHERE closed IS NULL OR closed + unseen > {_LAST_BEFORE}
ORDER BY id, begin
"""
_MOVED_IDS = f"""
SELECT id FROM stays WHERE closed >= {_LAST_BEFORE}
UNION SELECT id FROM stays WHERE first > {_LAST_BEFORE}
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

        >>> store.snapshot().frame()["name"].tolist()[:2]
        ['Tulip', 'Poppy']

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


class History(HistoryDatabase):
    """The kept listings of one service."""

    def snapshots(self, status: str | None = None, until_s: float = inf) -> Snapshots:
        """
        Return the kept listings that ended by then (Unix seconds), oldest first; or of
        each its animals with one status.

        >>> _ = store.snapshot()
        >>> store.snapshots(status="sold")[-1].counts
        {'sold': 59}
        """
        snapshots = list[Snapshot]()
        with self._open() as database:
            rows = database.execute(
                "SELECT number, listing, counts FROM listings ORDER BY number"
            )
            for row in rows:
                try:
                    number, listing, counts = _KEPT_LISTING.validate_python(row)
                except ValueError as error:
                    raise sqlite3.DatabaseError(
                        f"its listing {row[0]} is damaged"
                    ) from error
                if status is not None:
                    counts = {status: counts.get(status, 0)}
                    listing = replace(listing.filtered(status), rows=counts[status])
                if listing.ended_at <= until_s:
                    snapshots.append(Snapshot(number, listing, counts, self))
        return Snapshots(snapshots)

    def animals(self, snapshot: Snapshot, *, unseen: bool = False) -> pd.DataFrame:
        """
        Return the animals of a listing, as `list_pets` gives them.

        Args:
            snapshot: The listing.
            unseen: With those that it alone did not show, and may have missed.
        """
        import pandas as pd

        listing = snapshot.listing
        parameters = {
            "number": snapshot.number,
            "status": listing.status,
            "unseen": unseen and listing.may_have_hole,
        }
        with self._open() as database:
            rows = database.execute(_ANIMALS_OF_LISTING, parameters)
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
        counts = count_statuses(frame)
        return Snapshot(self.add(frame, listing, counts), listing, counts, self)

    def try_keep(self, frame: pd.DataFrame) -> str:
        """Keep a listing of all animals; return why that is not possible, else ""."""
        try:
            if Listing.as_listed(frame).status is None:
                self.keep(frame)
        except HistoryError as error:
            return f"this listing was not kept as a snapshot: {error}"
        return ""

    def recent_listing(
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
        self, reference: str | date | None, *, status: str | None, now: float
    ) -> tuple[Snapshot | None, tuple[str, ...]] | None:
        """
        Return the listing to compare with, None where there is none, and what there is
        to say; None where nobody asked for one.

        Args:
            reference: `last`: the listing of the last report that was written to a
                file; or an age such as `7d`, a date or a time (UTC; of a date its end):
                the newest listing that is not younger, else the oldest.
            status: The filter.
            now: Unix seconds.

        Raises:
            ArgumentError: It is none of these, or in the future.
        """
        if reference is None:
            return None
        is_last = isinstance(reference, str) and reference.strip().casefold() == "last"
        latest_s = now if is_last else instant(reference, now)
        try:
            snapshots = self.snapshots(status, now)
            with self._open() as database:
                (last,) = database.execute(_LAST_REPORTED, (status or "",)).fetchone()
        except HistoryError as error:
            return None, (f"not compared with an earlier listing: {error}",)
        for snapshot in reversed(snapshots):
            ended_at = round(snapshot.listing.ended_at, 6)
            if snapshot.number <= last if is_last else ended_at <= latest_s:
                return snapshot, ()
        if not snapshots:
            note = "there is no earlier snapshot to compare with"
            if status:
                note += (
                    "; a report on one status keeps none, so run petstore-tools report"
                    " without --status before"
                )
            return None, (note,)
        if is_last:
            note = (
                "no such report was written to a file before, so the newest snapshot is"
                " compared"
            )
            return snapshots[-1], (note,)
        note = f"no snapshot is as old as {reference}, so the oldest one is compared"
        return snapshots[0], (note,)

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

        dtypes = {
            **dict.fromkeys(spec.PET_FIELDS, "int64"),
            **dict.fromkeys(("name", "status"), text_dtype()),
            **dict.fromkeys((*_TIME_COLUMNS, "first", "ended"), "float64"),
        }
        with self._open() as database:
            rows = database.execute(
                _STAYS.format(ids=ids, state=state), {"since": since}
            )
            # an empty chunk at the end, so that there is one where no stay is found
            chunks = [
                pd.DataFrame(chunk, columns=[*dtypes]).astype(dtypes)
                for chunk in (*iter(lambda: rows.fetchmany(_CHUNK_ROWS), []), [])
            ]
        return pd.concat(chunks, ignore_index=True)

    def history(
        self, *, pet_id: int | None = None, since: str | date | None = None, now: float
    ) -> pd.DataFrame:
        """
        Return one row per stay, by id and time.

        >>> _ = store.snapshot()
        >>> store.history(id=1)[["name", "status", "first_seen"]]
            name status                first_seen
        0  Tulip   sold 2026-01-05 09:00:00+00:00

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
        import pandas as pd

        from petstore_tools.models import check_id

        ids = "SELECT id FROM stays" if pet_id is None else str(check_id(pet_id))
        since_s = 0.0 if since is None else instant(since, now)
        stays = self.stays(since_s, ids=ids, state="name, categoryId, status")
        # pandas would cut the rest of a second off
        microseconds = (stays[[*_TIME_COLUMNS]] * 1e6).round()
        times = microseconds.apply(pd.to_datetime, unit="us", utc=True)
        statuses = stays["status"].astype(status_dtype(stays["status"].dropna()))
        animals = stays[[*spec.PET_FIELDS]].assign(status=statuses)
        return animals.join(times.astype("datetime64[us, UTC]"))
