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
    UNSET,
    PetColumns,
    count_statuses,
    named_statuses,
    status_dtype,
    text_dtype,
)
from petstore_tools.text import option, pluralize, utc_text

if TYPE_CHECKING:
    import pandas as pd

_TIME_COLUMNS = (
    "began_after",
    "first_seen",
    "last_seen",
    "ended_after",
    "ended_by",
)
_EVENT_COLUMNS = ("event", "id", "name", "categoryId", "from", "to", "after", "by")
_KEPT_LISTING = TypeAdapter(tuple[int, Json[Listing], Json[dict[str, int]]])
_CHUNK_ROWS = 50_000  # rows that are Python objects at a time
_LAST_BEFORE = "SELECT ifnull(max(number), 0) FROM listings WHERE ended_at < ?"
_LAST_REPORTED = "SELECT ifnull(max(number), 0) FROM reported WHERE status = ?"
_TIMES = "SELECT number, started_at, ended_at FROM listings ORDER BY number"
_ANIMALS_OF_LISTING = """
SELECT id, name, categoryId, status FROM stays
WHERE first <= :number AND ifnull(closed > :number, TRUE)
AND status IS ifnull(:status, status)
AND (:unseen OR (id, :number) NOT IN missed) ORDER BY id
"""
# stays as the listings up to one show them, with the numbers of four listings: the last
# one before it, the first and the last one that showed it, and the one that closed it
_STAYS = """
SELECT id, name, categoryId, status,
    begin - 1 - (
        begin - 1 IN (SELECT number FROM listings WHERE may_have_hole) AND (
            (id, begin - 1) IN missed OR NOT EXISTS (
                SELECT 1 FROM stays WHERE id = stay.id AND closed = begin
            )
        )
    ) AS before,
    begin, end - ((id, end) IN missed) AS last, closed
FROM (
    SELECT id, name, categoryId, status, {begin} AS begin,
        iif(closed <= :until, closed, NULL) AS closed,
        ifnull(min(closed - 1, :until), :until) AS end
    FROM stays AS part WHERE {selection}
) AS stay ORDER BY id, begin
"""
_NOT_ENDED = "(closed IS NULL OR closed > :since)"
_MOVED = "first > :since AND first <= :until OR closed > :since AND closed <= :until"
# an unbroken time in a status: where its last stay ends, and its first one begins
_STATUS_ENDS = f"""
first <= :until AND {_NOT_ENDED} AND NOT EXISTS (
    SELECT 1 FROM stays WHERE id = part.id AND first = part.closed
    AND first <= :until AND status IS part.status
)
"""
_STATUS_BEGINS = """(
    SELECT max(first) FROM stays AS start
    WHERE id = part.id AND first <= part.first AND NOT EXISTS (
        SELECT 1 FROM stays
        WHERE id = start.id AND closed = start.first AND status IS start.status
    )
)"""


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

    def counts(self) -> pd.DataFrame:
        """
        Lay out the counts of these listings: index `as_of` (datetime, UTC), an int64
        column per status, `unset` last.

        >>> store.snapshots().counts()["sold"].tolist()[-1]
        59
        """
        import pandas as pd

        as_of = pd.DatetimeIndex([snapshot.as_of for snapshot in self], name="as_of")
        counts = pd.DataFrame(
            [snapshot.counts for snapshot in self], as_of.as_unit("us")
        )
        statuses = dict.fromkeys([*spec.STATUSES, *counts])
        statuses = {**statuses, UNSET: statuses.pop(UNSET, None)}
        return counts.reindex(columns=[*statuses]).fillna(0).astype("int64")


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
                if round(listing.ended_at, 6) <= round(until_s, 6):
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
            "unseen": unseen,
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
        self,
        reference: str | date | None,
        *,
        status: str | None = None,
        now: float,
        until: str | date | None = None,
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
            until: The other end, from which an age counts back.

        Raises:
            ArgumentError: It is none of these, in the future, or later than the other
                end.
        """
        if reference is None:
            return None
        end_s = now if until is None else instant(until, now, ahead_s=spec.DAY_S)
        is_last = isinstance(reference, str) and reference.strip().casefold() == "last"
        ahead_s = 0.0 if until is None else inf
        latest_s = end_s if is_last else instant(reference, end_s, ahead_s=ahead_s)
        if latest_s > end_s + 1e-6:  # a datetime may be rounded up
            raise ArgumentError(
                f"{option('since')} {reference} is later than {option('until')} {until}"
            )
        try:
            snapshots = self.snapshots(status, end_s)
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

    def until(
        self, moment: str | date, *, status: str | None = None, now: float
    ) -> Snapshot:
        """
        Return the newest kept listing that had ended by an age, a date (its end) or a
        time.

        Raises:
            ArgumentError: It is none of these, in the future, or before the first kept
                listing.
        """
        # the end of today is still to come
        end_s = instant(moment, now, ahead_s=spec.DAY_S)
        snapshots = self.snapshots(status, end_s)
        if snapshots:
            return snapshots[-1]
        listings = self.snapshots()
        if not listings:
            raise ArgumentError("no listing is kept yet: store.snapshot() keeps one")
        ended_text = utc_text(listings[0].listing.ended_at)
        raise ArgumentError(
            f"{moment} is before the first kept listing, which ended at {ended_text}"
        )

    def _stays(
        self, selection: str, *, begin: str = "first", **parameters: int | None
    ) -> pd.DataFrame:
        """
        Return stays by id and begin: the columns of a listing, status as text; `begin`
        and `closed`, numbers of listings (float64, the latter missing while open); and
        the times of `history`.
        """
        import pandas as pd

        dtypes = {
            **dict.fromkeys(spec.PET_FIELDS, "int64"),
            **dict.fromkeys(("name", "status"), text_dtype()),
            **dict.fromkeys(("before", "begin", "last", "closed"), "float64"),
        }
        with self._open() as database:
            listings = pd.DataFrame(
                database.execute(_TIMES), columns=["number", "started_at", "ended_at"]
            )
            newest = int(listings["number"].max()) if len(listings) else 0
            rows = database.execute(
                _STAYS.format(selection=selection, begin=begin),
                {"until": newest, **parameters},
            )
            # an empty chunk at the end, so that there is one where no stay is found
            chunks = [
                pd.DataFrame(chunk, columns=[*dtypes]).astype(dtypes)
                for chunk in (*iter(lambda: rows.fetchmany(_CHUNK_ROWS), []), [])
            ]
        stays = pd.concat(chunks, ignore_index=True)
        # pandas would cut the rest of a second off
        microseconds = (listings.set_index("number") * 1e6).round()
        times = microseconds.apply(pd.to_datetime, unit="us", utc=True)
        started_at, ended_at = times["started_at"], times["ended_at"]
        return stays.assign(
            began_after=stays["before"].map(started_at),
            first_seen=stays["begin"].map(ended_at),
            last_seen=stays["last"].map(ended_at),
            ended_after=stays["last"].where(stays["closed"].notna()).map(started_at),
            ended_by=stays["closed"].map(ended_at),
        ).astype(dict.fromkeys(_TIME_COLUMNS, "datetime64[us, UTC]"))

    def events_between(self, since: int, until: int) -> pd.DataFrame:
        """
        Return what happened after a listing, by another one, both by their numbers: a
        row an event, as `events` returns them.
        """
        import pandas as pd

        stays = self._stays(_MOVED, since=since, until=until)
        status = named_statuses(stays)
        former = status.shift(fill_value="")
        # it goes on from the stay in the row before
        continues = stays["id"].duplicated() & stays["begin"].eq(
            stays["closed"].shift()
        )
        ends = stays["closed"].notna() & ~continues.shift(-1, fill_value=False)
        begins = stays["begin"].gt(since) & ~(continues & former.eq(status))
        sides = [
            stays.assign(
                after=stays["began_after"],
                by=stays["first_seen"],
                event="another status",
                **{"from": former.where(continues), "to": status},
            )[begins],
            stays.assign(
                after=stays["ended_after"],
                by=stays["ended_by"],
                event="gone",
                **{"from": status, "to": status.mask(ends)},
            )[ends],
        ]
        events = pd.concat(sides).sort_values(["by", "id", "begin"], ignore_index=True)
        events.loc[events["to"].eq("sold").fillna(False), "event"] = "became sold"
        events.loc[events["from"].isna(), "event"] = "new"
        return events[[*_EVENT_COLUMNS]].astype({"event": text_dtype()})

    def events(
        self,
        since: str | date | None = None,
        until: str | date | None = None,
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
        older, _ = self.since(since, now=now, until=until) or (None, ())
        snapshots = self.snapshots()
        if until is not None:
            newer = self.until(until, now=now)
        elif snapshots:
            newer = snapshots[-1]
        else:
            return self.events_between(0, 0)
        return self.events_between((older or snapshots[0]).number, newer.number)

    def status_times(self, since: int, until: int) -> pd.DataFrame:
        """
        Return the unbroken times of animals in a status that ended after a listing, by
        another one (numbers), or went on then; a corrected name or category ends none.

        Returns:
            The columns of `history`, status as text, as events name it; `days`
            (float64): from the middle of the time in which it began to the middle of
            the time in which it ended, or to `last_seen`; missing where nobody saw it
            begin.
        """
        stays = self._stays(
            _STATUS_ENDS, begin=_STATUS_BEGINS, since=since, until=until
        )
        began = stays["began_after"] + (stays["first_seen"] - stays["began_after"]) / 2
        ended = stays["ended_after"] + (stays["ended_by"] - stays["ended_after"]) / 2
        days = ended.fillna(stays["last_seen"]) - began
        table = stays.assign(
            status=named_statuses(stays), days=days.dt.total_seconds() / spec.DAY_S
        )
        return table[[*spec.PET_FIELDS, *_TIME_COLUMNS, "days"]]

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
        from petstore_tools.models import check_id

        since_s = 0.0 if since is None else instant(since, now)
        with self._open() as database:
            (number,) = database.execute(_LAST_BEFORE, [since_s]).fetchone()
        animal = "TRUE" if pet_id is None else f"id = {check_id(pet_id)}"
        stays = self._stays(f"{animal} AND {_NOT_ENDED}", since=number)
        statuses = stays["status"].astype(status_dtype(stays["status"].dropna()))
        return stays.assign(status=statuses)[[*spec.PET_FIELDS, *_TIME_COLUMNS]]
