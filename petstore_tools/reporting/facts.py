"""What a report says: its fields, its headline, and its tables."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pandas as pd

from petstore_tools import text
from petstore_tools.errors import ArgumentError
from petstore_tools.listing.completeness import Listing
from petstore_tools.tabular.categories import read_categories

if TYPE_CHECKING:
    from petstore_tools.tabular.categories import Categories

TABLES = (
    "summary breakdown transitions by_category days counts events unseen pending"
).split()
# control characters, halves of a character, line ends
_BREAKS = {"Cc", "Cs", "Zl", "Zp"}


@dataclass(frozen=True)
class Looks:
    """
    How a report looks, as its author wants it.

    Attributes:
        title, note: A line each.
        timezone: In which times are written, and dates without an offset are read, None
            for that of this machine.
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
        local = self.local_time(time)
        return f"{local.day} {local:%B %Y}{local.strftime(clock)}"

    def local_time(self, time: datetime) -> datetime:
        """Return a time in the zone of the report."""
        # `astimezone` of pandas takes None for UTC
        utc = datetime.fromtimestamp(time.timestamp(), UTC)
        return utc.astimezone(self.timezone)


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


def read_looks(
    categories: Categories | None,
    title: str,
    note: str,
    timezone: str | None,
) -> Looks:
    """
    Read and check what a report looks like, before a request is spent on it; arguments
    of `status_report`. No two categories have one name.

    >>> names = {1: "Cats", 2: "Cats", 3: "Cats (2)", 4: "5"}
    >>> read_looks(names, "", "", None).categories
    {1: 'Cats (1)', 2: 'Cats (2)', 3: 'Cats (2) (3)', 4: '5 (4)'}

    Raises:
        ArgumentError, SheetError: Title or note has a line break, there is no such time
            zone, or the categories cannot be read.
    """
    names = read_categories(categories) or {}
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
        pending: The pending animals: `id`, `name`, `categoryId`, and where snapshots
            are kept `since`: the first one that showed each as pending, the oldest
            first; missing for those whose begin nobody saw. None of another status.
        since: The older listing it is compared with, None for none; `since.as_of` is
            its time. The next four are None then, too.
        summary: How many animals there were, are new, became sold, are gone, each
            counted once: `what`, `animals`.
        transitions: How many animals went from which status to which, the most first:
            `from` (or `new`), `to` (or `gone`), `animals`.
        events: What happened, a row an event: `event`, `id`, `name`, `categoryId`,
            `from`, `to`, and between which two times, `after` and `by`.
        unseen: What this listing alone lacks, and may have missed: `id`, `name`,
            `categoryId`, `status`; None where it has no hole.
        days: Index `status`: `stays` that ended in the last 30 days, `median_days`,
            `days_90` (90 % stayed no longer), `open_stays`, `longest_days`; `is_longer`
            where the longest is a lower bound, `stays_are_longer` where the two others
            are; None without two snapshots.
        counts: Counts over time: index `as_of` (datetime, UTC), an int64 column per
            status, of all but this listing with the animals that each alone may have
            missed; None without two snapshots.
        notes: What else the reader must know.
        looks: Title, note, time zone and the names of categories.
    """

    listing: Listing
    animals: pd.DataFrame = field(repr=False)
    breakdown: pd.DataFrame
    by_category: pd.DataFrame
    pending: pd.DataFrame | None
    since: Listing | None = None
    summary: pd.DataFrame | None = None
    transitions: pd.DataFrame | None = None
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
