"""What a report is made of: its looks, the alerts that it watches, and its tables."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pandas as pd

from petstore_tools import spec, text
from petstore_tools.errors import ArgumentError
from petstore_tools.listing.completeness import Listing
from petstore_tools.tabular.categories import read_categories

if TYPE_CHECKING:
    from petstore_tools.tabular.categories import Categories

TABLES = (
    "summary breakdown transitions by_category ageing days counts events unseen pending"
).split()
AGES = 3.0, 7.0, 14.0  # days at which one row of the ageing ends
LONG = AGES[-1]  # days after which a pending animal needs someone
# control characters, halves of a character, line ends
_BREAKS = {"Cc", "Cs", "Zl", "Zp"}


@dataclass(frozen=True)
class Alert:
    """
    A condition that needs someone.

    Attributes:
        text: As the reader wrote it.
        status: As tables name it.
        sign: `>` or `<`.
        limit: Days if it is an age, else animals.
        is_age: Whether it is about the days that animals have been in the status.
    """

    text: str
    status: str
    sign: str
    limit: float
    is_age: bool


def read_alert(condition: str) -> Alert:
    """
    Read a condition.

    >>> read_alert("pending>14d").limit, read_alert("available<20").is_age
    (14.0, False)

    Raises:
        ArgumentError: The condition cannot be read.
    """
    parts = re.fullmatch(r"\s*(.*\S)\s*([<>])\s*([^<>]+?)\s*", str(condition))
    if parts is not None:
        name, sign, limit = parts.groups()
        status = name.casefold() if name.casefold() in spec.STATUSES else name
        age_s = text.parse_duration(limit)
        if age_s is not None and sign == ">":
            return Alert(condition, status, sign, age_s / spec.DAY_S, is_age=True)
        if limit.isdecimal():
            return Alert(condition, status, sign, int(limit), is_age=False)
    example = text.option("alert", "pending>14d")
    raise ArgumentError(
        f"the alert {condition!r} cannot be read: write a status, > and an age, such as"
        f" {example}, or a status, > or < and a number of animals, such as"
        ' "available<20". In a shell, put quotes around it'
    )


@dataclass(frozen=True)
class Looks:
    """
    How a report looks, as its author wants it.

    Attributes:
        title, note: A line each.
        timezone: In which times are written, and dates without an offset are read, None
            for that of this machine.
        categories: Names by categoryId.
        alerts: Conditions that need someone.
    """

    title: str = "Status report"
    note: str = ""
    timezone: tzinfo | None = None
    categories: Mapping[int, str] = field(default_factory=dict, repr=False)
    alerts: tuple[Alert, ...] = ()

    @property
    def ages(self) -> list[float]:
        """The days at which one row of the ageing ends, those of alerts included."""
        return sorted({*AGES, *(alert.limit for alert in self.alerts if alert.is_age)})

    @property
    def long(self) -> float:
        """After how many days a pending animal needs someone."""
        ages = [a.limit for a in self.alerts if a.is_age and a.status == "pending"]
        return min(ages, default=LONG)

    def when(self, time: datetime, clock: str = ", %H:%M %Z") -> str:
        """
        Write a time as people do, in the zone of the report.

        >>> from datetime import UTC, datetime
        >>> Looks(timezone=UTC).when(datetime(2026, 2, 4, 10, tzinfo=UTC))
        '4 February 2026, 10:00 UTC'
        """
        local = self.local_time(time)
        return f"{local.day} {local:%B %Y}{local.strftime(clock)}"

    def day(self, time: datetime, now: datetime, month: str = "%B") -> str:
        """
        Write a day without its year, if that is the year of another time.

        >>> from datetime import UTC, datetime
        >>> looks, now = Looks(timezone=UTC), datetime(2026, 2, 4, tzinfo=UTC)
        >>> looks.day(datetime(2026, 1, 28, tzinfo=UTC), now)
        '28 January'
        >>> looks.day(datetime(2025, 12, 28, tzinfo=UTC), now, month="%b")
        '28 Dec 2025'
        """
        local = self.local_time(time)
        is_clear = local.year == self.local_time(now).year
        return f"{local.day} {local:{month}}{'' if is_clear else f' {local.year}'}"

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
    alert: str | Sequence[str] = (),
) -> Looks:
    """
    Read and check what a report looks like, before a request is spent on it; arguments
    of `status_report`. No two categories have one name.

    >>> names = {1: "Cats", 2: "Cats", 3: "Cats (2)", 4: "5"}
    >>> read_looks(names, "", "", None).categories
    {1: 'Cats (1)', 2: 'Cats (2)', 3: 'Cats (2) (3)', 4: '5 (4)'}

    Raises:
        ArgumentError, SheetError: Title or note has a line break, there is no such time
            zone, or the categories or an alert cannot be read.
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
    alerts = [alert] if isinstance(alert, str) else alert
    return Looks(*lines, zone, names, tuple(map(read_alert, alerts)))


def check_alerts(looks: Looks, status: str | None) -> None:
    """
    Check that a report counts the animals that its alerts are about.

    Raises:
        ArgumentError: The report is on the animals with one status.
    """
    if looks.alerts and status is not None:
        raise ArgumentError(
            f"an alert needs a report on all animals: leave {text.option('status')} out"
        )


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
        pending: The pending animals: `id`, `name`, `categoryId`. If snapshots are kept,
            also `since`, the first snapshot that showed each animal as pending, and
            `days`, the longest first. `since` is missing if nobody saw the animal
            become pending; then `days` are a lower bound. None of another status.
        since: The older listing it is compared with, None for none; `since.as_of` is
            its time. The next four are None then, too.
        summary: How many animals there were, are new, arrived as sold, became sold,
            changed to another status, are gone, and are there now, each counted once:
            `what`, `animals`. If the history has the period before, `period_before`
            has the same numbers for that period.
        transitions: How many animals went from which status to which, the most first:
            `from` (or `new`), `to` (or `gone`), `animals`.
        events: What happened, a row an event: `event`, `id`, `name`, `categoryId`,
            `from`, `to`, and between which two times, `after` and `by`.
        unseen: What this listing alone lacks, and may have missed: `id`, `name`,
            `categoryId`, `status`; None where it has no hole.
        ageing: How long animals have been in their status: `status`, `days_from`,
            `days_to`, `animals`; None without two snapshots.
        days: Index `status`: `stays` that ended in the last 30 days, `median_days`,
            `days_90` (90 % stayed no longer), `open_stays`, `longest_days`;
            `median_is_longer`, `days_90_is_longer` and `longest_is_longer` say that the
            number is a lower bound; None without two snapshots.
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
    ageing: pd.DataFrame | None = None
    days: pd.DataFrame | None = None
    counts: pd.DataFrame | None = None
    notes: tuple[str, ...] = ()
    looks: Looks = field(default_factory=Looks)

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
