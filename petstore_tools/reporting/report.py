"""
The status report: counts and shares with their time, their completeness and their
filter.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, AnyStr
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pandas as pd

from petstore_tools import spec, text
from petstore_tools.errors import ArgumentError, FrameError, HistoryError
from petstore_tools.history import History, Snapshot
from petstore_tools.listing import frames
from petstore_tools.listing.completeness import Listing
from petstore_tools.reporting import facts
from petstore_tools.reporting.excel import workbook
from petstore_tools.reporting.mail import mail, one_line
from petstore_tools.reporting.presentation import Presentation, cells, json_text
from petstore_tools.tabular.atomic import write_output
from petstore_tools.tabular.sources import to_pandas

_NOT_MARKED = "the report is written, but since='last' (--since last) will not mean it"


@dataclass(frozen=True)
class StatusReport(facts.Facts):
    """
    A breakdown of one listing.

    >>> status_report(store.list_pets()).headline
    'Complete: 250 animals of the inventory of sandbox'

    Attributes:
        listing: What was listed, when, and whether it is complete.
        animals: A copy of the frame that was counted.
        breakdown: Index `status` (the three values in the document's order, values it
            does not name, `unset`), columns `count` (int64) and `share` (float64, 0 to
            1). Zero rows are kept.
        by_category: Index `categoryId` (int64, ascending), one int64 column per status
            and `total`, and `label` (text) in front where labels were given.
        since: The older listing it is compared with, None for none; the next five are
            None then, too.
        summary: How many animals, how many came, were sold, are gone: `what`,
            `animals`, `share`.
        changes: Index `status`, columns `before`, `now`, `change` (int64).
        changes_by_category: Index `categoryId`, the same columns.
        moved: What happened to animals, a row an event: `id`, `name`, `categoryId`,
            `from`, `to`: a status, new, gone; and which are not seen.
        flow: How often animals moved from which status (index) to which (columns), with
            totals.
        counts: Counts over time: index `as_of` (datetime, UTC), an int64 column per
            status; None without snapshots, as the next is.
        time_in_status: `status`, `animals`, `median_days`, `days_90` (90 % stayed no
            longer).
        notes: What else the reader must know.
        title, note: As the author gave them, a line each.
        timezone: In which times are written, None for that of this machine.
        categories: Names by categoryId.

    Spec: §2.3 status values; §2.1 states no default, hence `unset` (our choice).
    """

    # is called once the report was written to a file: from then on `since="last"` is
    # its listing
    _mark: Callable[[], None] | None = field(default=None, repr=False, compare=False)

    def to_html(self, path: str | Path | None = None) -> str:
        """
        Return one self-contained HTML page (no script, no network); write it whole
        where asked.
        """
        return self._write(path, Presentation(self).fill("report.html"))

    def to_excel(self, path: str | Path) -> None:
        """
        Write a workbook: a sheet for each table, some with a chart, one for all
        animals, and one for how it was made.

        Raises:
            ArgumentError: The file does not end in .xlsx.
        """
        if Path(path).suffix.casefold() != ".xlsx":
            raise ArgumentError(
                f"{Path(path).name!r} must end in .xlsx: it is a workbook"
            )
        self._write(path, workbook(self))

    def to_markdown(self, path: str | Path | None = None) -> str:
        """
        Return the same numbers as Markdown; write it whole where asked.

        >>> print(status_report(store.list_pets()).to_markdown())
        # Status report
        ...
        | status    |   animals |   share of all |
        ...
        """
        return self._write(path, Presentation(self).fill("report.md"))

    def to_json(self, path: str | Path | None = None) -> str:
        """
        Return JSON with the same numbers; write it whole where asked. Times are UTC.

        >>> print(status_report(store.list_pets()).to_json("report.json"))
        {
          "title": "Status report",
        ...
        """
        return self._write(path, json_text(self))

    def to_mail(
        self,
        path: str | Path | None = None,
        *,
        to: str | Sequence[str] = (),
        subject: str = "",
    ) -> bytes:
        """
        Return a ready mail: tables in its body, page and workbook attached; write it
        whole where asked.

        >>> report = status_report(store.list_pets())
        >>> report.to_mail("report.eml", to="ann@example.org").splitlines()[0]
        b'To: ann@example.org'

        Args:
            path: A file that ends in .eml; `sendmail -t` sends it, and a mail program
                opens it as a draft.
            to: One address or more, each such as `Ann <ann@example.org>`.
            subject: One line; default: the title and the date.

        Raises:
            ArgumentError: An address or the subject cannot stand in a mail.
        """
        addresses = [to] if isinstance(to, str) else to
        dated = (
            f"{self.title}, {text.zone_text(self.listing.ended_at, self.timezone)[:10]}"
        )
        return self._write(path, mail(self, addresses, subject or dated))

    def to_text(self) -> str:
        """
        Return the report for a terminal, without its long tables.

        >>> print(status_report(store.list_pets(), title="Animals").to_text())
        Animals
        Complete: 250 animals of the inventory of sandbox
        ...
        """
        return Presentation(self).fill("report.txt")

    def __repr__(self) -> str:
        counts = [
            f"{status} {count:,}" for status, count in self.breakdown["count"].items()
        ]
        as_of = text.zone_text(self.listing.ended_at, self.timezone)
        return f"StatusReport({self.headline}; {', '.join(counts)}; as of {as_of})"

    def _repr_html_(self) -> str:
        presentation = Presentation(self)
        tables = presentation.tables()
        table = tables.get("changes", tables["breakdown"])
        return text.html_table(
            self.headline, *cells(table), note="\n".join(presentation.facts[1:])
        )

    def _write(self, path: str | Path | None, content: AnyStr) -> AnyStr:
        if path is not None:
            whole = content.encode() if isinstance(content, str) else content
            write_output(Path(path), whole)
            if self._mark is not None:
                try:
                    self._mark()
                except HistoryError as error:
                    warnings.warn(f"{_NOT_MARKED}: {error}", UserWarning, stacklevel=3)
        return content


def status_report(
    pets: pd.DataFrame,
    *,
    partial: bool = False,
    categories: Mapping[int, str] | None = None,
    since: pd.DataFrame | None = None,
    title: str = "Status report",
    note: str = "",
    timezone: str | None = None,
    lists: bool = True,
) -> StatusReport:
    """
    Report on a listed frame.

    >>> report = status_report(store.list_pets(), categories={1: "Dogs"})
    >>> report.by_category.loc[[1], ["label", "available", "total"]]
               label  available  total
    categoryId
    1           Dogs         21     49

    Args:
        pets: Frame as `list_pets` gives it, `attrs["listing"]` included.
        partial: Report on a listing that is not complete, or on a frame that does not
            say what it lists, such as a CSV that `list -o` wrote; the report says so.
        categories: Labels by categoryId (ours; §2.6 shows no category record): a dict
            or a Series.
        since: An older listing to compare with, such as `store.snapshots()[0].frame()`.
        title: One line.
        note: One line below the title.
        timezone: In which times are written, such as `Europe/Berlin`; None for that of
            this machine.
        lists: Whether single animals are listed: those that moved, and those that are
            pending.

    Raises:
        ArgumentError: As `check_looks`, or a column is there twice.
        FrameError: A column is missing or has another dtype, the frame carries no
            listing, it is not complete and `partial` is not set, or the older one is of
            something else.

    Spec: §2.3, §4.1.
    """
    looks = check_looks(categories, title, note, timezone, lists=lists)
    report = _report(pets, looks, partial=partial)
    if since is None:
        return report
    older = facts.comparable_listing(report.listing, since)
    unseen = set(since["id"]) if report.listing.may_have_hole else ()
    moved = facts.moved(since, report.animals, unseen)
    if older.may_have_hole and (moved["from"] == facts.NEW).any():
        note = (
            "an animal that counts as new may have been there before: the older listing"
            " may have missed it"
        )
        report = replace(report, notes=(note,))
    return _with_changes(report, since, moved)


def _report(
    pets: pd.DataFrame, looks: Mapping[str, Any], *, partial: bool
) -> StatusReport:
    frame = to_pandas(pets)
    if frame is None:
        raise FrameError(
            "a report needs a DataFrame, as store.list_pets() returns it, not "
            f"{type(pets).__name__}"
        )
    pets = frame.infer_objects().copy()
    if partial and "listing" not in pets.attrs:
        pets = _unproven(pets)
    listing = frames.read_listing(pets)
    if not listing.complete and not partial:
        raise FrameError(
            f"this listing is not complete ({listing.completeness}: {listing.reason}). "
            f"For a report that says so, pass {text.option('partial', True)}."
        )
    by_category = facts.by_category(pets, looks["categories"])
    return StatusReport(listing, pets, facts.breakdown(pets), by_category, **looks)


def check_looks(
    categories: Mapping[int, str] | None,
    title: str,
    note: str,
    timezone: str | None,
    *,
    lists: bool,
) -> dict[str, Any]:
    """
    Check what a report looks like, before a request is spent on it; arguments of
    `status_report`.

    Returns:
        The attributes of the report.

    Raises:
        ArgumentError: Title or note has a line break, there is no such time zone, or
            the labels are no dict.
    """
    labels = {} if categories is None else categories
    try:
        names = {int(number): str(name) for number, name in labels.items()}
        "".join(names.values()).encode()
    except (AttributeError, TypeError, ValueError) as error:
        raise ArgumentError(
            "categories must be a dict of names by categoryId, without broken"
            f" characters, not {categories!r}"
        ) from error
    try:
        zone = None if timezone is None else ZoneInfo(str(timezone))
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ArgumentError(
            f"there is no time zone {timezone!r}: use a name such as Europe/Berlin or"
            " UTC; on Windows, names need tzdata (pip install tzdata)"
        ) from error
    return {
        "categories": names,
        "title": one_line(title, "the title"),
        "note": one_line(note, "the note"),
        "timezone": zone,
        "_lists": lists,
    }


def _unproven(pets: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with a listing that nothing proves, as of now."""
    frames.check_columns(pets)
    now = time.time()
    reason = "nothing shows what this frame is a listing of"
    listing = Listing(
        "unproven", reason, None, len(pets), "", 0, 0, 0, now, now, "a file"
    )
    return frames.PetColumns.of(pets).to_frame(listing)


def _with_changes(
    report: StatusReport, since: pd.DataFrame, moved: pd.DataFrame
) -> StatusReport:
    """
    Add what changed since an older listing.

    Args:
        report: On the newer listing.
        since: The animals of the older one.
        moved: What happened to animals in between.
    """
    listing = report.listing
    older = Listing.as_listed(since)
    return replace(
        report,
        since=older,
        summary=facts.summary(listing.rows, older.rows, moved, listing.status),
        changes=facts.changes(
            facts.breakdown(since)["count"], report.breakdown["count"]
        ),
        changes_by_category=facts.changes(
            since.groupby("categoryId").size(), report.by_category["total"]
        ),
        moved=moved,
        flow=facts.flow(moved),
    )


def _compare_with_kept(
    report: StatusReport, history: History, older: Snapshot
) -> StatusReport:
    """
    Add what changed since a kept listing, as all that were kept since then show it.
    """
    listing = report.listing
    earlier = history.snapshots(listing.status, listing.started_at)
    newest = max([older, *earlier], key=lambda snapshot: snapshot.number)
    kept_events = history.events_between(older.number, newest.number)
    events = facts.events(kept_events, listing.status)
    unseen = set(history.animals(newest)["id"]) if listing.may_have_hole else ()
    moved = facts.moved(history.animals(newest, unseen=True), report.animals, unseen)
    moved = facts.join_rows(events, moved).sort_values(
        "id", kind="stable", ignore_index=True
    )
    return _with_changes(report, history.animals(older, unseen=True), moved)


def basis(
    history: History, since: str | date | None, *, status: str | None, now: float
) -> tuple[Snapshot | None, tuple[str, ...]] | None:
    """
    Return the listing to compare with, as `History.since` does; where the history
    cannot be used, the report goes on, and says so.
    """
    try:
        return history.since(since, status=status, now=now)
    except HistoryError as error:
        return None, (f"not compared with an earlier listing: {error}",)


def report_and_keep(
    pets: pd.DataFrame,
    history: History,
    since: tuple[Snapshot | None, tuple[str, ...]] | None,
    looks: Mapping[str, Any],
    *,
    partial: bool,
) -> StatusReport:
    """
    Report on a fresh listing, which is kept where it is complete and of all animals.

    Args:
        pets: The listing.
        history: Where it is kept.
        since: As `History.since` returns it.
        looks: As `check_looks` returns them.
        partial: Report on one that is not complete.
    """
    report = _report(pets, looks, partial=partial)
    listing = report.listing
    older, notes = since or (None, ())
    if not listing.complete:
        notes = (
            "this listing is not complete, so it is not compared with an earlier one",
        )
        return report if since is None else replace(report, notes=notes)
    if older is not None:
        try:
            report = _compare_with_kept(report, history, older)
        except HistoryError as error:
            notes = (*notes, f"not compared with an earlier listing: {error}")
    if note := history.try_keep(pets):
        notes = (*notes, note)
    over_time: dict[str, Any] = {}
    try:
        over_time = _over_time(history, listing)
    except HistoryError as error:
        notes = (*notes, f"without what the kept listings show: {error}")
    return replace(report, notes=notes, **over_time)


def _over_time(history: History, listing: Listing) -> dict[str, Any]:
    """
    Return what the kept listings say, by the names of the report's attributes.

    Days in a status are those of the last 30 days, so that a report costs the same
    however much is kept.
    """
    snapshots = history.snapshots(listing.status, listing.ended_at)
    if not snapshots:
        return {}
    mark = partial(history.mark_reported, listing.status, snapshots[-1].number)
    attributes: dict[str, Any] = {"_mark": mark}
    if len(snapshots) > 1:
        attributes["counts"] = facts.counts_over_time(snapshots)
        if listing.status is None:
            first_s = listing.ended_at - 30 * spec.DAY_S
            numbers = [
                snapshot.number
                for snapshot in snapshots
                if snapshot.listing.ended_at < first_s
            ]
            attributes["time_in_status"] = facts.time_in_status(
                history.status_times(max(numbers, default=0), snapshots[-1].number)
            )
    return attributes
