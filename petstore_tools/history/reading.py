"""
What a history says: its snapshots, the stays of animals, what happened between two
snapshots, and which two these are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import tzinfo
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
    check_past,
    is_age,
    span,
)
from petstore_tools.listing.completeness import Listing, ListQuery
from petstore_tools.listing.frames import (
    PetColumns,
    count_statuses,
    named_statuses,
    status_dtype,
    status_name,
    text_dtype,
)
from petstore_tools.listing.inventory import Inventory, Show, warn_caller
from petstore_tools.text import first_of, option, parse_duration

if TYPE_CHECKING:
    import pandas as pd

# of a stay: the number of a snapshot, and its start or its end
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
    "there is no earlier snapshot: each report on all animals keeps one for later ones"
)
_NO_REPORT = (
    "no such report was written to a file before, so the newest snapshot is compared"
)
_SNAPSHOT = TypeAdapter(
    tuple[int, float, Json[Listing], Json[dict[str, int]], Json[list[str | None]]]
)
# with the statuses of the animals that it missed; texts as bytes, since SQLite stops at
# one that is no UTF-8; CROSS: it begins with the few that were missed
_SNAPSHOTS = """
SELECT number, ended_at, CAST(listing AS BLOB), CAST(counts AS BLOB), (
    SELECT json_group_array(status) FROM missed CROSS JOIN stays
    ON stays.id = missed.id AND missed.number BETWEEN first AND closed - 1
    WHERE missed.number = snapshots.number
) FROM snapshots ORDER BY number
"""
# how many animals of a category and status each snapshot has more than the one before;
# the newest snapshot does not count what it did not show
_COUNTS = """
SELECT first, categoryId, status, count(*) FROM stays GROUP BY first, categoryId, status
UNION ALL
SELECT closed, categoryId, status, -count(*) FROM stays
GROUP BY closed, categoryId, status
UNION ALL
SELECT number, categoryId, status, -count(*) FROM missed CROSS JOIN stays
ON stays.id = missed.id AND missed.number BETWEEN first AND closed - 1
WHERE number = :newest GROUP BY categoryId, status
"""
_LAST_REPORTED = "SELECT max(number) FROM reported WHERE number <= ?"
_TIMES_OF_SNAPSHOTS = (
    "SELECT number, started_at, ended_at FROM snapshots WHERE number <= ?"
)
# stays that were closed after a snapshot, as those up to another one show them, with
# the numbers of the last one before it, of the first and the last one that showed it,
# and of the one that closed it
_STAYS = """
SELECT id, name, categoryId, status,
    begin - 1 - (
        begin - 1 IN (SELECT number FROM snapshots WHERE may_have_hole) AND (
            (id, begin - 1) IN missed
            OR NOT EXISTS (SELECT 1 FROM stays WHERE id = stay.id AND closed = begin)
        )
    ) AS before,
    begin, end - ((id, end) IN missed) AS last, closed
FROM (
    SELECT *, {begin} AS begin,
        min(closed - 1, :until, (SELECT max(number) FROM snapshots)) AS end
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
# OFFSET: SQLite looks for the beginning once, not wherever it is named
_LAST_IN_STATUS = """NOT EXISTS (
    SELECT 1 FROM stays WHERE id = part.id AND first = part.closed
    AND first <= :until AND status IS part.status
) LIMIT -1 OFFSET 0"""


@dataclass(frozen=True)
class History:
    """
    The history of one service.

    Attributes:
        database: Keeps the snapshots.
    """

    database: HistoryDatabase

    def snapshots(self) -> Snapshots:
        """
        Return the snapshots, oldest first.

        One that cannot be read is left out, and `damage` names it.

        >>> _ = store.snapshot()
        >>> store.history_database.snapshots()[-1].counts["sold"]
        59
        """
        read_snapshots = list[Snapshot]()
        damaged_numbers = list[int]()
        with self.database.open() as connection:
            rows = connection.execute(_SNAPSHOTS).fetchall()
        for row in rows:
            try:
                facts = _SNAPSHOT.validate_python(row)
            except ValueError:
                damaged_numbers.append(row[0])
                continue
            number, ended_at, listing, counts, missed = facts
            present = Counter(map(status_name, missed))
            present.update(counts)
            snapshot = Snapshot(number, ended_at, listing, counts, present)
            read_snapshots.append(snapshot)
        snapshots = Snapshots(read_snapshots)
        snapshots.count_categories = self.count_categories
        if damaged_numbers:
            snapshots.damage = (
                f"snapshot {first_of(damaged_numbers)} in {self.database.path} is"
                " damaged, and is left out"
            )
        return snapshots

    def count_categories(self, snapshots: Snapshots) -> pd.DataFrame:
        """Count animals by snapshot, category and status."""
        import pandas as pd

        numbers = [snapshot.number for snapshot in snapshots]
        newest = {"newest": max(numbers, default=0)}
        with self.database.open() as connection:
            rows = connection.execute(_COUNTS, newest).fetchall()
        moves = pd.DataFrame(
            [(*row[:2], status_name(row[2]), row[3]) for row in rows],
            columns=["number", "categoryId", "status", "change"],
        )
        table = moves.pivot_table(
            index="number",
            columns=["categoryId", "status"],
            values="change",
            aggfunc="sum",
            fill_value=0,
        )
        steps = table.index.union(numbers)
        table = table.reindex(steps, fill_value=0).cumsum().loc[numbers]
        times = [snapshot.as_of for snapshot in snapshots]
        table.index = pd.DatetimeIndex(times, name="as_of").as_unit("us")
        counts = pd.DataFrame(table.stack("categoryId", future_stack=True)).fillna(0)
        columns = snapshots.counts().columns
        return counts.reindex(columns=columns, fill_value=0).astype("int64")

    def animals(self, snapshot: Snapshot, *, unseen: bool = False) -> pd.DataFrame:
        """
        Return the animals of a snapshot, as `list_pets` gives them.

        Args:
            snapshot: One of this history.
            unseen: With those that it alone did not show, and may have missed.
        """
        number = snapshot.number
        animals = self._stays("closed > :until", until=number)
        if not unseen:
            animals = animals[animals["last"] == number]
        return PetColumns.of(animals).to_frame(snapshot.listing)

    def rebuild(self, snapshot: Snapshot) -> pd.DataFrame:
        """
        Return the frame of a snapshot, as `list_pets` gave it, by ascending id.

        >>> store.history_database.rebuild(store.snapshot())["name"].tolist()[:2]
        ['Tulip', 'Poppy']

        Raises:
            HistoryError: The animals were changed.
        """
        frame = self.animals(snapshot)
        if Listing.as_listed(frame) != snapshot.listing:
            place = self.database.path
            raise HistoryError(f"snapshot {snapshot.number} in {place} was changed")
        return frame

    def animals_of(self, moment: Moment, now: float) -> pd.DataFrame:
        """
        Return the frame of the snapshot that an age, a date or a time means, as
        `Snapshots.until` says.
        """
        snapshots = self.snapshots()
        until, note = snapshots.until(moment, now)
        warn_caller(snapshots.damage, note)
        return self.rebuild(until[-1])

    def keep(self, frame: pd.DataFrame) -> Snapshot:
        """
        Keep a complete listing of the whole inventory, or nothing.

        Raises:
            IncompleteListingError: The listing is not complete.
            ArgumentError: It is a listing with a filter.
            HistoryError: It began before the newest snapshot ended.
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
        number, ended_at = self.database.add(frame, listing, counts)
        return Snapshot(number, ended_at, listing, counts, counts)

    @staticmethod
    @contextmanager
    def noting(notes: list[str], words: str) -> Iterator[None]:
        """Go on where the history cannot be used, and note it."""
        try:
            yield
        except HistoryError as error:
            notes.append(f"{words}: {error}")

    def list_pets(
        self,
        inventory: Inventory,
        query: ListQuery,
        max_age: str,
        *,
        wait: bool,
        show: Show,
    ) -> pd.DataFrame:
        """
        Answer from the newest snapshot, where it is not older than an age; else list,
        and keep what is complete.

        What cannot be read or kept is a warning at the line that called the toolkit.

        Raises:
            ArgumentError: The age is none, or cannot be combined with the query.
        """
        if query.first is not None or query.status is not None:
            raise ArgumentError(
                f"{option('max_age')} is for the whole inventory: leave out"
                f" {option('status')} and {option('first')}"
            )
        age_s = parse_duration(str(max_age))
        if age_s is None:
            raise ArgumentError(
                f"{option('max_age')} must be an age such as '1h' or '2d' (s, min, h, d"
                f" or w), not {max_age!r}"
            )
        notes = list[str]()
        earliest_s = inventory.client.clock.now() - age_s
        with self.noting(notes, "the history was not read"):
            for snapshot in self.snapshots()[-1:]:
                if earliest_s <= snapshot.ended_at <= earliest_s + age_s:
                    return self.rebuild(snapshot)
        frame = inventory.list_pets(query, wait=wait, show=show)
        if Listing.as_listed(frame).complete:
            with self.noting(notes, "this listing was not kept as a snapshot"):
                self.keep(frame)
        warn_caller(*notes)
        return frame

    def older(
        self,
        end: Listing,
        candidates: Sequence[Snapshot],
        since: Moment | None,
        zone: tzinfo | None = None,
    ) -> tuple[Snapshot | None, str]:
        """
        Return which snapshot to compare a listing with, None where there is none or
        nobody asks, and what there is to say, else "".

        Args:
            end: The listing.
            candidates: Oldest first.
            since: `last`: that of the last report that was written to a file; else as
                `Snapshots.up_to` says; where none is as old, the oldest.
            zone: Of a date or a time that names no offset.

        Raises:
            ArgumentError: As `check_since` raises it.
        """
        latest = "the listing that it would be compared with"
        check_since(since, end.ended_at, zone, latest=latest)
        if since is None:
            return None, ""
        if not candidates:
            return None, _NO_SNAPSHOT
        if is_last(since):
            with self.database.open() as connection:
                newest = (candidates[-1].number,)
                (number,) = connection.execute(_LAST_REPORTED, newest).fetchone()
            if number is None:
                return candidates[-1], _NO_REPORT
            matches = Snapshots(s for s in candidates if s.number <= number)
            note = ""
        else:
            matches, note = Snapshots(candidates).up_to(since, end.started_at, zone)
        if not matches:
            note = f"no snapshot is as old as {since}, so the oldest one is used"
            return candidates[0], note
        return matches[-1], note

    def _stays(
        self, selection: str, begin: str = "first", since: int = 0, until: int = OPEN
    ) -> pd.DataFrame:
        """
        Return stays by id and begin: the columns of a listing, status as text; the
        numbers of their snapshots (`before`, `begin`, `last`, `closed`); and the times
        of `history`.
        """
        import pandas as pd

        query = _STAYS.format(selection=selection, begin=begin)
        with self.database.open() as connection:
            snapshots = pd.DataFrame(
                connection.execute(_TIMES_OF_SNAPSHOTS, [until]),
                columns=["number", "started_at", "ended_at"],
            ).set_index("number")
            rows = connection.execute(
                query, {"since": since, "until": until}
            ).fetchall()
        if until != OPEN and until not in snapshots.index:
            raise HistoryError(f"snapshot {until} is no longer in {self.database.path}")
        texts = dict.fromkeys(("name", "status"), text_dtype())
        dtypes = {**dict.fromkeys(_STAY_COLUMNS, "int64"), **texts}
        stays = pd.DataFrame(rows, columns=[*_STAY_COLUMNS]).astype(dtypes)
        microseconds = (snapshots * 1e6).round()
        times = microseconds.astype("int64").astype("datetime64[us, UTC]")
        for name, (number, time) in _TIMES.items():
            stays = stays.join(times[time].rename(name), on=number)
        stays["ended_after"] = stays["ended_after"].where(stays["ended_by"].notna())
        return stays

    def status_times(self, since: int, until: int = OPEN) -> pd.DataFrame:
        """
        Return the unbroken times of animals in a status that ended after a snapshot, by
        another one (numbers), or went on then; a corrected name or category ends none.

        Returns:
            By id and begin: the columns and times of `history`, status as text, as
            events name it; the numbers of their snapshots (`before`, `begin`, `last`,
            `closed`); `days` (float64): from the middle of the time in which it began
            to the middle of the time in which it ended, or to `last_seen`; where nobody
            saw it begin, from `first_seen` to `last_seen`.
        """
        times = self._stays(_LAST_IN_STATUS, _FIRST_IN_STATUS, since, until)
        began = times["began_after"] + (times["first_seen"] - times["began_after"]) / 2
        ended = times["ended_after"] + (times["ended_by"] - times["ended_after"]) / 2
        seen = times["last_seen"] - times["first_seen"]
        duration = (ended.fillna(times["last_seen"]) - began).fillna(seen)
        times["days"] = duration.dt.total_seconds() / spec.DAY_S
        times["status"] = named_statuses(times)
        return times

    def events_between(self, since: int, until: int = OPEN) -> pd.DataFrame:
        """
        Return what happened after a snapshot, by another one, both by their numbers: a
        row an event, as `events` returns them.
        """
        return self._numbered_events(since, until)[[*_EVENTS]]

    def events_of_periods(
        self, since: int, middle: int, until: int
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the events up to a snapshot in the middle, and those after it."""
        events = self._numbered_events(since, until)
        is_late = events["begin"] > middle
        parts = [events.loc[row, [*_EVENTS]] for row in (~is_late, is_late)]
        earlier, later = [part.reset_index(drop=True) for part in parts]
        return earlier, later

    def _numbered_events(self, since: int, until: int) -> pd.DataFrame:
        """Return events, with the number of the snapshot that showed each (`begin`)."""
        import pandas as pd

        # what began before and goes on is no event
        changed = "(first > :since OR closed <= :until)"
        stays = self._stays(changed, since=since, until=until)
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
        events["event"] = "changed status"
        events.loc[events["to"] == "sold", "event"] = "became sold"
        events.loc[events["from"].isna(), "event"] = "new"
        events.loc[events["to"].isna(), "event"] = "gone"
        texts = dict.fromkeys(("event", "from", "to"), text_dtype())
        return events.astype(texts)

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
            since: After the snapshot that `older` means, None for the first.
            until: By the one that `Snapshots.until` means, None for the newest.
            now: Unix seconds.

        Returns:
            `event` (text): `new` (not in the first snapshot, or back after it was gone;
            `to` may be sold), `became sold`, `changed status`, `gone`; `id`, `name`,
            `categoryId`; `from`, `to` (text: a status, `unset`; missing of new, of
            gone); it happened after `after` (missing where nobody can say) and by `by`
            (datetime, UTC). A corrected name or category is no event.

        Raises:
            ArgumentError: `until` is before the first snapshot, `since` is after it, or
                one is not as `span` takes it.
        """
        check_since(since, now)
        snapshots = self.snapshots()
        damage, newest, note, advice = snapshots.damage, OPEN, "", ""
        if until is not None:
            snapshots, note = snapshots.until(until, now)
            newest = snapshots[-1].number
        older = snapshots[0] if snapshots else None
        if snapshots and since is not None:
            candidates = snapshots[:-1] if is_age(since) else snapshots
            older, advice = self.older(snapshots[-1].listing, candidates, since)
        warn_caller(damage, note, advice)
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


def is_last(since: object) -> bool:
    """Whether the last report that was written to a file is meant."""
    return str(since).strip().casefold() == "last"


def check_since(
    since: Moment | None,
    until_s: float,
    zone: tzinfo | None = None,
    *,
    latest: str = "now",
) -> None:
    """
    Check the older end of a report, before a request is spent on it.

    Raises:
        ArgumentError: It is neither `last`, an age, a date nor a time, or later than
            the other end (Unix seconds).
    """
    if since is not None and not is_last(since):
        _, end_s = span(since, until_s, zone)
        check_past(since, end_s, until_s, latest=latest)
