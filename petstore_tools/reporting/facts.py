"""What a report says: its fields, its headline, and its tables, each counted once."""

from __future__ import annotations

import re
import time
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from math import nan
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pandas as pd

from petstore_tools import text
from petstore_tools.errors import ArgumentError, FrameError
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import (
    UNSET,
    PetColumns,
    check_columns,
    count_statuses,
    named_statuses,
    read_listing,
    text_dtype,
)
from petstore_tools.tabular.categories import read_categories

if TYPE_CHECKING:
    from petstore_tools.tabular.categories import Categories

TABLES = "summary breakdown by_category days counts events unseen pending".split()
# control characters, halves of a character, line ends
_BREAKS = {"Cc", "Cs", "Zl", "Zp"}


@dataclass(frozen=True)
class Looks:
    """
    How a report looks, as its author wants it.

    Attributes:
        title, note: A line each.
        timezone: In which times are written, None for that of this machine.
        categories: Names by categoryId.
    """

    title: str = "Status report"
    note: str = ""
    timezone: tzinfo | None = None
    categories: Mapping[int, str] = field(default_factory=dict, repr=False)

    def when(self, time: datetime, clock: str = ", %H:%M %Z") -> str:
        """
        Write a time as people do, in the zone of the report.

        >>> from datetime import UTC, datetime
        >>> Looks(timezone=UTC).when(datetime(2026, 2, 4, 10, tzinfo=UTC))
        '4 February 2026, 10:00 UTC'
        """
        local = time.astimezone(self.timezone)
        return f"{local.day} {local:%B %Y}{local.strftime(clock)}"


def one_line(text: str, name: str) -> str:
    """
    Return a text that has no line break, which would add a header to a mail.

    Raises:
        ArgumentError: It has one, or another control character.
    """
    if not isinstance(text, str) or _BREAKS & set(map(unicodedata.category, text)):
        raise ArgumentError(
            f"{name} {text!r} must be one line without control characters"
        )
    return text


# as we write a category without a name, and one of several with its name
_ENDS_AS_ID = re.compile(r"^-?\d+$|\(-?\d+\)$")


def check_looks(
    categories: Categories | None,
    title: str,
    note: str,
    timezone: str | None,
) -> Looks:
    """
    Check what a report looks like, before a request is spent on it; arguments of
    `status_report`. No two categories have one name.

    >>> names = {1: "Cats", 2: "Cats", 3: "Cats (2)", 4: "5"}
    >>> check_looks(names, "", "", None).categories
    {1: 'Cats (1)', 2: 'Cats (2)', 3: 'Cats (2) (3)', 4: '5 (4)'}

    Raises:
        ArgumentError, SheetError: Title or note has a line break, there is no such time
            zone, or the categories cannot be read.
    """
    is_empty = isinstance(categories, dict) and not categories
    names = read_categories(None if is_empty else categories) or {}
    one_line(" ".join(" ".join(names.values()).split()), "categories")
    counts = Counter(names.values())
    names = {
        number: f"{name} ({number})"
        if counts[name] > 1 or _ENDS_AS_ID.search(name)
        else name
        for number, name in names.items()
    }
    try:
        zone = None if timezone is None else ZoneInfo(str(timezone))
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ArgumentError(
            f"there is no time zone {timezone!r}: use a name such as Europe/Berlin or"
            " UTC; on Windows, names need tzdata (pip install tzdata)"
        ) from error
    lines = one_line(title, "the title"), one_line(note, "the note")
    return Looks(*lines, zone, names)


@dataclass(frozen=True)
class Facts:
    """
    The facts of a report.

    Attributes:
        listing: What was listed, when, and whether it is complete.
        animals: A copy of the frame that was counted.
        breakdown: Index `status` (the three values in the document's order, values it
            does not name, `unset`), columns `count` (int64) and `share` (float64, 0 to
            1), and with an older listing `before` and `change` (int64). Zero rows are
            kept.
        by_category: Index `categoryId` (int64, the largest category first), int64
            columns `total`, with an older listing `change`, and one per status, and
            `label` (text) in front where labels were given.
        pending: The pending animals: `id`, `name`, `categoryId`, and where listings are
            kept `since`: the first one that showed each as pending, missing for those
            that wait longest, whose begin nobody saw.
        since: The older listing it is compared with, None for none; `since.as_of` is
            its time. The next three are None then, too.
        summary: How many animals there were, are new, became sold, are gone, each
            counted once: `what`, `animals`, `share` (of those before).
        events: What happened, a row an event: `event`, `id`, `name`, `categoryId`,
            `from`, `to`, and between which two times, `after` and `by`.
        unseen: What this listing alone lacks, and may have missed: `id`, `name`,
            `categoryId`, `status`; None where it has no hole.
        days: Index `status`: `stays` that ended in the last 30 days, `median_days`,
            `days_90` (90 % stayed no longer), `open_stays`, `longest_days`; None
            without two kept listings, and for one status.
        counts: Counts over time: index `as_of` (datetime, UTC), an int64 column per
            status; None without two kept listings.
        notes: What else the reader must know.
        looks: Title, note, time zone and the names of categories.
    """

    listing: Listing
    animals: pd.DataFrame = field(repr=False)
    breakdown: pd.DataFrame
    by_category: pd.DataFrame
    pending: pd.DataFrame
    since: Listing | None = None
    summary: pd.DataFrame | None = None
    events: pd.DataFrame | None = None
    unseen: pd.DataFrame | None = None
    days: pd.DataFrame | None = None
    counts: pd.DataFrame | None = None
    notes: tuple[str, ...] = ()
    looks: Looks = field(default_factory=Looks)

    @property
    def headline(self) -> str:
        """
        Whether the listing is complete, how many animals it has, of what, as of when;
        the environment where it is not production.
        """
        listing = self.listing
        start = (
            listing.label.capitalize()
            if listing.complete
            else f"Not complete ({listing.label})"
        )
        animals = text.pluralize(listing.rows, "animal")
        subject = listing.subject.removesuffix(" in production")
        subject = subject.removesuffix(" of production")
        return f"{start}: {animals} of {subject}, {self.looks.when(listing.as_of)}"

    def tables(self) -> dict[str, pd.DataFrame]:
        """
        Return the tables that are not None, by their attributes; the index is a column.

        >>> from petstore_tools import status_report
        >>> list(status_report(store.list_pets()).tables())
        ['breakdown', 'by_category', 'pending']
        """
        tables = {}
        for name in TABLES:
            table = getattr(self, name)
            if table is not None:
                tables[name] = table.reset_index() if table.index.name else table
        return tables


def unproven_frame(pets: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with a listing that nothing proves, as of now."""
    check_columns(pets)
    now = time.time()
    reason = "nothing shows what this frame is a listing of"
    listing = Listing("unproven", reason, None, len(pets), "", 0, now, now, "a file")
    return PetColumns.of(pets).to_frame(listing)


def breakdown(pets: pd.DataFrame, before: pd.DataFrame | None = None) -> pd.DataFrame:
    """
    Count animals per status: `count` and `share`, with an older listing `before` and
    `change`, too; zero rows are kept, and the share of no animals is missing.
    """
    counts = count_statuses(pets)
    old_counts = count_statuses(pets if before is None else before)
    statuses = {**counts, **old_counts}
    del statuses[UNSET]
    index = pd.Index([*statuses, UNSET], name="status", dtype=text_dtype())
    now, old = (
        pd.Series(side).reindex(index, fill_value=0) for side in (counts, old_counts)
    )
    table = pd.DataFrame({"count": now, "share": now / (len(pets) or nan)})
    return table if before is None else table.assign(before=old, change=now - old)


def by_category(
    pets: pd.DataFrame, labels: Mapping[int, str], before: pd.DataFrame | None = None
) -> pd.DataFrame:
    """
    Count animals per categoryId (rows, the largest first): `label` where given,
    `total`, with an older listing `change`, and each status.
    """
    table = pd.crosstab(pets["categoryId"], named_statuses(pets))
    table = table.reindex(columns=[*count_statuses(pets)], fill_value=0)
    table.insert(0, "total", table.sum(axis=1))
    if before is not None:
        totals = before["categoryId"].value_counts()
        table = table.reindex(table.index.union(totals.index), fill_value=0)
        change = table["total"].sub(totals, fill_value=0).astype("int64")
        table.insert(1, "change", change)
    table = table.rename_axis(index="categoryId", columns=None).sort_values(
        "total", ascending=False, kind="stable"
    )
    if labels:
        names = table.index.map(lambda number: labels.get(number, ""))
        table.insert(0, "label", names.astype(text_dtype()))
    return table


def moves(
    events: pd.DataFrame, status: str | None
) -> dict[str, tuple[str, pd.Series[bool], str]]:
    """
    Tell which events are asked for first: what they are called, which they are, and the
    column that is the same in all.

    Listings of one status cannot tell an animal that is new from one that had another
    status before.
    """
    start, end = events["from"], events["to"]
    if status is not None:
        return {
            "new": (f"became {status} or new", end.isin([status]), "to"),
            "gone": (f"no longer {status} or gone", start.isin([status]), "from"),
        }
    return {
        "new": ("new", start.isna(), "from"),
        "sold": ("became sold", end.isin(["sold"]), "to"),
        "gone": ("gone", end.isna(), "to"),
    }


def summary(
    now: int, before: int, events: pd.DataFrame, unseen: int, status: str | None
) -> pd.DataFrame:
    """
    Count what is asked first: how many animals are new, became sold, are gone.

    Each animal counts once in each line, however often it came, was sold, or left.

    Returns:
        Columns `what` (text), `animals` (int64), `share` (float64: of the animals
            before, 0 to 1; missing where there were none).
    """
    counts = {
        words: events.loc[is_move, "id"].nunique()
        for words, is_move, _ in moves(events, status).values()
    }
    sums = {"animals before": before, **counts, "animals now": now}
    if unseen:
        sums["not seen"] = unseen
    table = pd.DataFrame(sums.items(), columns=["what", "animals"])
    return table.assign(share=table["what"].map(counts) / (before or nan))


def days_in_status(times: pd.DataFrame) -> pd.DataFrame:
    """
    Measure how long animals stayed in a status, and how long they have been in it.

    What began before the first kept listing is not measured, since nobody saw it begin.

    Args:
        times: As `History.status_times` returns them.

    Returns:
        Index `status`; `stays` (int64: times that ended), `median_days` and `days_90`
        (float64: 90 % stayed no longer); `open_stays` (int64: animals that are still in
        it) and `longest_days` (of those that were seen to begin).
    """
    is_open = times["ended_by"].isna()
    open_stays = times[is_open].groupby("status")["days"]
    ended_stays = times[~is_open].groupby("status")["days"]
    table = pd.DataFrame(
        {
            "stays": ended_stays.count(),
            "median_days": ended_stays.median(),
            "days_90": ended_stays.quantile(0.9),
            "open_stays": open_stays.size(),
            "longest_days": open_stays.max(),
        }
    )
    sizes = table[["stays", "open_stays"]].fillna(0).astype("int64")
    return table.assign(**sizes)[sizes.any(axis=1)]


def pending_animals(
    pets: pd.DataFrame, times: pd.DataFrame | None = None
) -> pd.DataFrame:
    """
    List the pending animals: `id`, `name`, `categoryId`; where listings are kept, also
    `since`, the first one that showed them so: missing where nobody saw it begin, and
    these, who wait longest, come first.
    """
    is_pending = pets["status"] == "pending"
    pending = pets.loc[is_pending, ["id", "name", "categoryId"]].reset_index(drop=True)
    if times is None:
        return pending
    is_open = times["ended_by"].isna() & times["status"].isin(["pending"])
    begins = times[is_open].set_index("id")
    since = begins["first_seen"].where(begins["began_after"].notna())
    pending = pending.join(since.rename("since"), on="id")
    return pending.sort_values("since", na_position="first", ignore_index=True)


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
