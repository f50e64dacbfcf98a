"""
What a report says: animals counted and compared, how long they stay, and in which order
the tables stand.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from math import nan
from typing import Any

import pandas as pd

from petstore_tools import spec, text
from petstore_tools.errors import ArgumentError, FrameError
from petstore_tools.history import Snapshot
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import (
    UNSET,
    count_statuses,
    named_statuses,
    read_listing,
    text_dtype,
)

TITLES = {  # of tables and sheets, in the order of a page
    "summary": "At a glance",
    "changes": "Change by status",
    "flow": "From which status to which",
    "changes_by_category": "Change by category",
    "breakdown": "By status",
    "by_category": "By category",
    "counts": "Over time",
    "time_in_status": "Days in a status",
    "moved": "Animals that moved",
    "pending": "Pending animals",
}
LISTS = ("moved", "pending")
NEW, GONE, UNSEEN = "new", "gone", "not seen"  # from where, or to where, animals moved
TOTAL = "total"


def _index(names: Iterable[str]) -> pd.Index[Any]:
    """Return statuses as the index of a table, `unset` last."""
    ordered = [name for name in dict.fromkeys(names) if name != UNSET]
    return pd.Index([*ordered, UNSET], name="status", dtype=text_dtype())


def breakdown(pets: pd.DataFrame) -> pd.DataFrame:
    """
    Count animals per status: `count` (int64) and `share` (float64), zero rows kept.
    """
    counts = count_statuses(pets)
    table = pd.DataFrame(
        {"count": counts.values()}, index=_index(counts), dtype="int64"
    )
    return table.assign(share=table["count"] / max(len(pets), 1))


def by_category(pets: pd.DataFrame, labels: Mapping[int, str]) -> pd.DataFrame:
    """
    Count animals per categoryId (rows) and status (columns), with `total`, and `label`
    where given.
    """
    table = (
        pets.groupby(["categoryId", named_statuses(pets)]).size().unstack(fill_value=0)
    )
    table = table.reindex(columns=list(count_statuses(pets)), fill_value=0)
    table[TOTAL] = table.sum(axis=1)
    if labels:
        names = table.index.map(lambda number: labels.get(number, ""))
        table.insert(0, "label", names.astype(text_dtype()))
    return table


def changes(before: pd.Series, now: pd.Series) -> pd.DataFrame:
    """
    Compare two counts by status or category: `before`, `now`, `change` (int64), the
    rows of both.
    """
    table = pd.DataFrame({"before": before, "now": now}).fillna(0).astype("int64")
    if table.index.name == "status":
        table = table.reindex(_index([*now.index, *before.index]))
    return table.assign(change=table["now"] - table["before"])


def comparable_listing(listing: Listing, since: pd.DataFrame) -> Listing:
    """
    Return what an older frame is a listing of.

    Raises:
        ArgumentError, FrameError: It cannot be compared with a listing.
    """
    if not isinstance(since, pd.DataFrame):
        raise ArgumentError(
            f"since must be an older listing, not {since!r}; store.status_report()"
            " takes ages, too"
        )
    older = read_listing(since)
    if not older.complete or older.subject != listing.subject:
        raise FrameError(
            f"only a complete listing of {listing.subject} can be compared with this"
            f" one, not this: {older}"
        )
    if not listing.complete:
        raise FrameError(
            "a listing that is not complete cannot be compared: animals that were not"
            " read would seem to be gone"
        )
    if older.ended_at > listing.ended_at:
        raise FrameError(f"the listing to compare with is newer than this one: {older}")
    return older


def summary(
    now: int, before: int, moved: pd.DataFrame, status: str | None
) -> pd.DataFrame:
    """
    Count what is asked first: how many animals, how many came, were sold, are gone.

    An animal became sold once, however often; what comes and goes counts each time, so
    that the animals before with the new ones, less those that are gone, are those of
    now and those that are not seen. Listings of one status cannot tell an animal that
    is new from one that had another status before.

    Returns:
        Columns `what` (text), `animals` (int64), `share` (float64: of the animals
            before, 0 to 1; missing where there were none).
    """
    arrivals = int((moved["from"] == NEW).sum())
    departures = int((moved["to"] == GONE).sum())
    if status is None:
        sold = moved.loc[moved["to"] == "sold", "id"].nunique()
        between = {"new": arrivals, "became sold": sold, "gone": departures}
    else:
        between = {
            f"became {status} or new": arrivals,
            f"no longer {status} or gone": departures,
        }
    counts = {"animals before": before, **between, "animals now": now}
    if unseen := int((moved["to"] == UNSEEN).sum()):
        counts[UNSEEN] = unseen
    table = pd.DataFrame(counts.items(), columns=["what", "animals"])
    return table.assign(share=table["animals"] / (before or nan))


def events(kept_events: pd.DataFrame, status: str | None) -> pd.DataFrame:
    """
    Name what happened to animals, as `moved`, a row an event.

    Args:
        kept_events: As `History.events_between` returns them.
        status: What is another status counts as gone; None for all.
    """
    sides = {
        side: kept_events[side].fillna(absent)
        for side, absent in (("from", NEW), ("to", GONE))
    }
    table = kept_events.assign(**sides)
    if status is not None:
        table = table[(table["from"] == status) | (table["to"] == status)]
        for side, absent in (("from", NEW), ("to", GONE)):
            table[side] = table[side].where(table[side] == status, absent)
    return table[["id", "name", "categoryId", "from", "to"]]


def join_rows(*tables: pd.DataFrame) -> pd.DataFrame:
    """Join the rows of tables; pandas 2 warns of those that are empty."""
    return pd.concat([table for table in tables if len(table)] or tables[:1])


def moved(
    before: pd.DataFrame, now: pd.DataFrame, unseen: Collection[int] = frozenset()
) -> pd.DataFrame:
    """
    Name the animals whose status differs, that are new, or that are gone.

    Args:
        before: The older listing.
        now: The newer one.
        unseen: Ids that the newer one may have missed.

    Returns:
        Columns `id` (int64), `name` (text), `categoryId` (int64), `from` and `to`
        (text: a status, `unset`, `new`, `gone`, `not seen`), by id.
    """
    pets = pd.concat([now, before]).drop_duplicates("id").set_index("id").sort_index()
    table = pets[["name", "categoryId"]].astype({"name": text_dtype()})
    for side, frame, absent in (("from", before, NEW), ("to", now, GONE)):
        statuses = named_statuses(frame).set_axis(frame["id"])
        table[side] = statuses.reindex(table.index, fill_value=absent)
    table.loc[table.index.isin(unseen) & (table["to"] == GONE), "to"] = UNSEEN
    return table[table["from"] != table["to"]].reset_index()


def flow(moved: pd.DataFrame) -> pd.DataFrame:
    """
    Lay out how often animals moved from which status (rows) to which (columns), with
    totals.

    Args:
        moved: As the function `moved` returns it; what is not seen is no event.
    """
    moved = moved[moved["to"] != UNSEEN]
    table = pd.crosstab(moved["from"], moved["to"], margins=True, margins_name=TOTAL)
    table = table.sort_index(key=_ends_last).sort_index(axis=1, key=_ends_last)
    return table.astype("int64")


def _ends_last(names: pd.Index[Any]) -> pd.Index[Any]:
    return names.map(lambda name: (name == TOTAL, name in (NEW, GONE), name))


def counts_over_time(snapshots: Sequence[Snapshot]) -> pd.DataFrame:
    """
    Lay out the counts of many listings: index `as_of` (datetime, UTC), an int64 column
    per status.
    """
    times = pd.DatetimeIndex(
        [snapshot.as_of for snapshot in snapshots], name="as_of"
    ).as_unit("us")
    counts = [snapshot.counts for snapshot in snapshots]
    table = pd.DataFrame(counts, index=times).fillna(0).astype("int64")
    return table.reindex(
        columns=_index([*spec.STATUSES, *table]).tolist(), fill_value=0
    )


def time_in_status(status_times: pd.DataFrame) -> pd.DataFrame:
    """
    Measure how long animals stayed in a status before they changed or went.

    Only times with a known beginning and end count: what the first kept listing showed
    had begun earlier.

    Args:
        status_times: As `History.status_times` returns them.

    Returns:
        Columns `status`, `animals` (int64), `median_days` and `days_90` (float64: 90 %
        stayed no longer).
    """
    ended_times = status_times[status_times["ended_by"].notna()]
    groups = ended_times.dropna(subset=["days"]).groupby("status")["days"]
    ends = {"median_days": groups.median(), "days_90": groups.quantile(0.9)}
    return pd.DataFrame({"animals": groups.size(), **ends}).reset_index()


@dataclass(frozen=True)
class Facts:
    """The facts of a report, which `StatusReport` describes."""

    listing: Listing
    animals: pd.DataFrame = field(repr=False)
    breakdown: pd.DataFrame
    by_category: pd.DataFrame
    since: Listing | None = None
    summary: pd.DataFrame | None = None
    changes: pd.DataFrame | None = None
    changes_by_category: pd.DataFrame | None = None
    moved: pd.DataFrame | None = None
    flow: pd.DataFrame | None = None
    counts: pd.DataFrame | None = None
    time_in_status: pd.DataFrame | None = None
    notes: tuple[str, ...] = ()
    title: str = "Status report"
    note: str = ""
    timezone: tzinfo | None = None
    categories: Mapping[int, str] = field(default_factory=dict, repr=False)
    # whether single animals are listed: those that moved, and those that are pending
    _lists: bool = True

    @property
    def headline(self) -> str:
        """
        Whether the listing is complete, how many animals it has, and of what it is.
        """
        listing = self.listing
        start = (
            listing.label.capitalize()
            if listing.complete
            else f"Not complete ({listing.label})"
        )
        return f"{start}: {text.pluralize(listing.rows, 'animal')} of {listing.subject}"

    @property
    def pending(self) -> pd.DataFrame:
        """The pending animals: `id`, `name`, `categoryId`."""
        is_pending = self.animals["status"] == "pending"
        columns = ["id", "name", "categoryId"]
        return self.animals.loc[is_pending, columns].reset_index(drop=True)

    def tables(self) -> dict[str, pd.DataFrame]:
        """
        Return the tables that are not None, by their attributes; the index is a column.

        >>> from petstore_tools import status_report
        >>> list(status_report(store.list_pets()).tables())
        ['breakdown', 'by_category', 'pending']
        """
        tables = {}
        for name in TITLES:
            table = getattr(self, name)
            if table is not None and (self._lists or name not in LISTS):
                tables[name] = table.reset_index() if table.index.name else table
        return tables
