"""
What a history says: its snapshots, the stays of animals, what happened between two
listings, and which two these are.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from pydantic import Json, TypeAdapter

from petstore_tools import spec
from petstore_tools.errors import ArgumentError, HistoryError, IncompleteListingError
from petstore_tools.history.database import (
    OPEN,
    HistoryDatabase,
    Moment,
    Snapshot,
    Snapshots,
    instant,
)
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import (
    PetColumns,
    count_statuses,
    named_statuses,
    status_dtype,
    text_dtype,
)

if TYPE_CHECKING:
    import pandas as pd

# of a stay: the number of a listing, and its start or its end
_TIMES = {
    "began_after": ("before", "started_at"),
    "first_seen": ("begin", "ended_at"),
    "last_seen": ("last", "ended_at"),
    "ended_after": ("last", "started_at"),
    "ended_by": ("closed", "ended_at"),
}
_EVENTS = ("event", "id", "name", "categoryId", "from", "to", "after", "by")
_EVENT_COLUMNS = {"status": "to", "began_after": "after", "first_seen": "by"}
_STAY_COLUMNS = (*spec.PET_FIELDS, "before", "begin", "last", "closed")
_NO_SNAPSHOT = (
    "there is no earlier snapshot to compare with: a report on all animals keeps one"
)
_NO_REPORT = (
    "no such report was written to a file before, so the newest snapshot is compared"
)
_KEPT_LISTING = TypeAdapter(tuple[int, Json[Listing], Json[dict[str, int]]])
_KEPT = """
SELECT number, listing, counts FROM listings ORDER BY number
"""
_LAST_REPORTED = "SELECT max(number) FROM reported WHERE status IS ?"
_LISTINGS = "SELECT number, started_at, ended_at FROM listings WHERE number <= ?"
# stays that were closed after a listing, as the listings up to another one show them,
# with the numbers of the last one before it, of the first and the last one that showed
# it, and of the one that closed it
_STAYS = """
SELECT id, name, categoryId, status,
    begin - 1 - (
        begin - 1 IN (SELECT number FROM listings WHERE may_have_hole) AND (
            (id, begin - 1) IN missed
            OR NOT EXISTS (SELECT 1 FROM stays WHERE id = stay.id AND closed = begin)
        )
    ) AS before,
    begin, end - ((id, end) IN missed) AS last, closed
FROM (
    SELECT *, {begin} AS begin,
        min(closed - 1, :until, (SELECT max(number) FROM listings)) AS end
    FROM stays AS part
    WHERE first <= :until AND closed > :since AND {selection}
) AS stay ORDER BY id, begin
"""
# an unbroken time in a status: where its first stay begins, and its last one
_FIRST_IN_STATUS = """(
    SELECT max(first) FROM stays AS start
    WHERE id = part.id AND first <= part.first AND NOT EXISTS (
        SELECT 1 FROM stays
        WHERE id = start.id AND closed = start.first AND status IS start.status
    )
)"""
_LAST_IN_STATUS = """NOT EXISTS (
    SELECT 1 FROM stays WHERE id = part.id AND first = part.closed
    AND first <= :until AND status IS part.status
)"""


class History(HistoryDatabase):
    """The kept listings of one service."""

    def snapshots(self, status: str | None = None) -> Snapshots:
        """
        Return the kept listings, oldest first; or of each its animals with one status.

        >>> _ = store.snapshot()
        >>> store.history_file.snapshots(status="sold")[-1].counts
        {'sold': 59}
        """
        snapshots = list[Snapshot]()
        with self._open() as database:
            for row in database.execute(_KEPT):
                try:
                    number, listing, counts = _KEPT_LISTING.validate_python(row)
                except ValueError as error:
                    raise sqlite3.DatabaseError(
                        f"its listing {row[0]} is damaged"
                    ) from error
                if status is not None:
                    counts = {status: counts.get(status, 0)}
                    listing = replace(listing.filtered(status), rows=counts[status])
                snapshots.append(Snapshot(number, listing, counts))
        return Snapshots(snapshots)

    def animals(self, snapshot: Snapshot, *, unseen: bool = False) -> pd.DataFrame:
        """
        Return the animals of a listing, as `list_pets` gives them.

        Args:
            snapshot: The listing.
            unseen: With those that it alone did not show, and may have missed.
        """
        number = snapshot.number
        animals = self._stays("closed > :until", until=number)
        if not unseen:
            animals = animals[animals["last"] == number]
        if status := snapshot.listing.status:
            animals = animals[animals["status"] == status]
        return PetColumns.of(animals).to_frame(snapshot.listing)

    def rebuild(self, snapshot: Snapshot) -> pd.DataFrame:
        """
        Return the frame of a listing, as `list_pets` gave it, by ascending id.

        >>> store.history_file.rebuild(store.snapshot())["name"].tolist()[:2]
        ['Tulip', 'Poppy']

        Raises:
            HistoryError: The animals were changed.
        """
        frame = self.animals(snapshot)
        listing = snapshot.listing
        if Listing.as_listed(frame) != listing and listing.status is None:
            raise HistoryError(f"listing {snapshot.number} in {self.path} was changed")
        return frame

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
            raise IncompleteListingError(listing)
        if listing.status is not None:
            raise ArgumentError(
                "only a listing of all animals is kept, without a status:"
                " store.snapshot()"
            )
        counts = count_statuses(frame)
        return Snapshot(self.add(frame, listing, counts), listing, counts)

    @staticmethod
    @contextmanager
    def noting(notes: list[str], words: str) -> Iterator[None]:
        """Go on where the history cannot be used, and note it."""
        try:
            yield
        except HistoryError as error:
            notes.append(f"{words}: {error}")

    def recent_frame(
        self, age_s: float, *, status: str | None, now: float
    ) -> pd.DataFrame | None:
        """
        Return the newest listing that is not older than `age_s`, None where there is
        none.
        """
        for snapshot in self.snapshots(status)[-1:]:
            if 0 <= now - snapshot.listing.ended_at <= age_s:
                return self.rebuild(snapshot)
        return None

    @staticmethod
    def since_instant(reference: Moment | None, until_s: float) -> float | None:
        """
        Return the Unix seconds that a listing to compare with had ended by; None for
        `last`, and where nobody asks.

        Raises:
            ArgumentError: It is neither an age, a date nor a time, or later than the
                other end.
        """
        if reference is None or str(reference).strip().casefold() == "last":
            return None
        return instant(reference, until_s)

    def older(
        self, snapshots: Snapshots, reference: Moment | None, until_s: float
    ) -> tuple[Snapshot | None, str]:
        """
        Return which of these listings to compare with, None where there is none or
        nobody asks, and what there is to say, else "".

        Args:
            snapshots: Oldest first.
            reference: `last`: the listing of the last report that was written to a
                file; or an age such as `7d`, a date or a time (UTC; of a date its end):
                the newest listing that is not younger, else the oldest.
            until_s: The other end (Unix seconds), from which an age counts back.

        Raises:
            ArgumentError: As `since_instant` raises it.
        """
        if reference is None:
            return None, ""
        since_s = self.since_instant(reference, until_s)
        if not snapshots:
            return None, _NO_SNAPSHOT
        if since_s is None:
            with self._open() as database:
                status = snapshots[0].listing.status
                (number,) = database.execute(_LAST_REPORTED, [status]).fetchone()
            if number is None:
                return snapshots[-1], _NO_REPORT
            return [s for s in snapshots if s.number <= number][-1], ""
        if matches := snapshots.ended_by(since_s):
            return matches[-1], ""
        return (
            snapshots[0],
            f"no snapshot is as old as {reference}, so the oldest one is compared",
        )

    def _stays(
        self, selection: str, begin: str = "first", since: int = 0, until: int = OPEN
    ) -> pd.DataFrame:
        """
        Return stays by id and begin: the columns of a listing, status as text; the
        numbers of their listings (`before`, `begin`, `last`, `closed`); and the times
        of `history`.
        """
        import pandas as pd

        query = _STAYS.format(selection=selection, begin=begin)
        with self._open() as database:
            listings = pd.DataFrame(
                database.execute(_LISTINGS, [until]),
                columns=["number", "started_at", "ended_at"],
            )
            rows = database.execute(query, {"since": since, "until": until}).fetchall()
        if until != OPEN and until not in [*listings["number"]]:
            raise HistoryError(f"listing {until} is no longer in {self.path}")
        texts = dict.fromkeys(("name", "status"), text_dtype())
        dtypes = {**dict.fromkeys(_STAY_COLUMNS, "int64"), **texts}
        stays = pd.DataFrame(rows, columns=[*_STAY_COLUMNS]).astype(dtypes)
        microseconds = (listings.set_index("number") * 1e6).round()
        times = microseconds.astype("int64").astype("datetime64[us, UTC]")
        for name, (number, time) in _TIMES.items():
            stays = stays.join(times[time].rename(name), on=number)
        stays["ended_after"] = stays["ended_after"].where(stays["ended_by"].notna())
        return stays

    def status_times(self, since: int, until: int = OPEN) -> pd.DataFrame:
        """
        Return the unbroken times of animals in a status that ended after a listing, by
        another one (numbers), or went on then; a corrected name or category ends none.

        Returns:
            By id and begin: the columns and times of `history`, status as text, as
            events name it; the numbers of their listings (`before`, `begin`, `last`,
            `closed`); `days` (float64): from the middle of the time in which it began
            to the middle of the time in which it ended, or to `last_seen`; missing
            where nobody saw it begin.
        """
        times = self._stays(_LAST_IN_STATUS, _FIRST_IN_STATUS, since, until)
        began = times["began_after"] + (times["first_seen"] - times["began_after"]) / 2
        ended = times["ended_after"] + (times["ended_by"] - times["ended_after"]) / 2
        duration = ended.fillna(times["last_seen"]) - began
        times["days"] = duration.dt.total_seconds() / spec.DAY_S
        times["status"] = named_statuses(times)
        return times

    def events_between(self, since: int, until: int = OPEN) -> pd.DataFrame:
        """
        Return what happened after a listing, by another one, both by their numbers: a
        row an event, as `events` returns them.
        """
        import pandas as pd

        stays = self._stays("TRUE", since=since, until=until)
        stays["status"] = named_statuses(stays).astype("object")
        ends = stays[stays["ended_by"].notna()]
        absences = ends.assign(
            begin=ends["closed"],
            began_after=ends["ended_after"],
            first_seen=ends["ended_by"],
            status=None,
        )
        # an animal that goes on has no absence
        states = pd.concat([stays, absences]).drop_duplicates(["id", "begin"])
        states = states.sort_values(["id", "begin"]).rename(columns=_EVENT_COLUMNS)
        states["from"] = states.groupby("id")["to"].shift()
        is_event = (states["begin"] > since) & (states["from"] != states["to"])
        events = states[is_event].sort_values(["by", "id", "begin"], ignore_index=True)
        events["event"] = "another status"
        events.loc[events["to"] == "sold", "event"] = "became sold"
        events.loc[events["from"].isna(), "event"] = "new"
        events.loc[events["to"].isna(), "event"] = "gone"
        texts = dict.fromkeys(("event", "from", "to"), text_dtype())
        return events[[*_EVENTS]].astype(texts)

    def events(
        self,
        since: Moment | None = None,
        until: Moment | None = None,
        *,
        now: float,
    ) -> pd.DataFrame:
        """
        Return what happened to animals, a row an event, in the order of `by`, then id.

        >>> _ = store.snapshot()
        >>> store.events()["event"].tolist()
        []

        Args:
            since: After the newest kept listing that had ended by this age, date or
                time, else the first; an age counts back from `until`.
            until: By the newest one that had ended by then, None for the newest.
            now: Unix seconds.

        Returns:
            `event` (text): `new` (not in the first listing, or back after it was gone;
            `to` may be sold), `became sold`, `another status`, `gone`; `id`, `name`,
            `categoryId`; `from`, `to` (text: a status, `unset`; missing of new, of
            gone); it happened after `after` (missing where nobody can say) and by `by`
            (datetime, UTC). A corrected name or category is no event.

        Raises:
            ArgumentError: `until` is before the first kept listing, `since` is after
                it, or one is not as `instant` takes it.
        """
        snapshots = self.snapshots()
        newest, until_s = OPEN, now
        if until is not None:
            snapshots, until_s = snapshots.until(until, now)
            newest = snapshots[-1].number
        first = date.min if since is None else since
        older, _ = self.older(snapshots, first, until_s)
        return self.events_between(older.number if older else OPEN, newest)

    def history(self, pet_id: int | None = None) -> pd.DataFrame:
        """
        Return one row per stay, by id and time.

        >>> _ = store.snapshot()
        >>> store.history(id=1)[["name", "status", "first_seen"]]
            name status                first_seen
        0  Tulip   sold 2026-01-05 09:00:00+00:00

        Args:
            pet_id: Of one animal.

        Returns:
            The columns of a listing, and times (datetime, UTC): it began between
            `began_after` (missing in the first listing, since nobody saw it begin) and
            `first_seen`, was last shown at `last_seen`, and ended between `ended_after`
            and `ended_by` (both missing while open).

        Raises:
            ArgumentError: An id is no int64.
        """
        from petstore_tools.models import check_id

        animal = "TRUE" if pet_id is None else f"id = {check_id(pet_id)}"
        stays = self._stays(animal)
        stays["status"] = stays["status"].astype(status_dtype(stays["status"].dropna()))
        return stays[[*spec.PET_FIELDS, *_TIMES]]
