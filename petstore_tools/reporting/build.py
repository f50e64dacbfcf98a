"""
Reports built: from a frame, or from a fresh listing that is kept and compared with earlier ones.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

import pandas as pd

from petstore_tools import text
from petstore_tools.errors import ArgumentError, FrameError
from petstore_tools.listing import frames
from petstore_tools.listing.completeness import Listing
from petstore_tools.reporting import breakdown as counting
from petstore_tools.reporting import movement
from petstore_tools.reporting.mail import one_line
from petstore_tools.reporting.report import StatusReport
from petstore_tools.tabular.frames import to_pandas

if TYPE_CHECKING:
    from petstore_tools.history import History


WINDOW: Final = "30d"  # of what ended, for the days in a status


def status_report(
    pets: pd.DataFrame,
    *,
    partial: bool = False,
    categories: Mapping[int, str] | None = None,
    since: pd.DataFrame | None = None,
    title: str = "Status report",
    note: str = "",
    timezone: str | None = None,
) -> StatusReport:
    """
    Report on a listed frame.

    Args:
        pets: Frame as `list_pets` gives it, `attrs["listing"]` included.
        partial: Report on a listing that is not complete, or on a frame that does not say what it
            lists, such as a CSV that `list -o` wrote; the report says so.
        categories: Labels by categoryId (ours; §2.6 shows no category record).
        since: An older listing to compare with, such as `store.snapshots()[0].frame()`.
        title: Of the author, one line.
        note: Of the author, one line below the title.
        timezone: In which times are written, such as `Europe/Berlin`; None for that of this
            machine.

    Raises:
        ArgumentError: Title or note has a line break, or there is no such time zone.
        FrameError: A column is missing or has another dtype, the frame carries no listing, it is
            not complete and `partial` is not set, or the older one is of something else.

    Spec: §2.3, §4.1.
    """
    frame = to_pandas(pets)
    if frame is None:
        raise FrameError(f"a DataFrame can be reported on, not {type(pets).__name__}")
    pets = frame.infer_objects()
    if partial and "listing" not in pets.attrs:
        pets = _unproven(pets)
    listing = frames.listing_of(pets)
    if not listing.complete and not partial:
        raise FrameError(
            f"this listing is not complete ({listing.completeness}: {listing.reason}). "
            f"For a report that says so, pass {text.option('partial=True')}."
        )
    breakdown, by_category = counting.breakdown(pets), counting.by_category(pets, categories or {})
    report = StatusReport(
        listing,
        pets,
        breakdown,
        by_category,
        title=one_line(title, "the title"),
        note=one_line(note, "the note"),
        timezone=_zone(timezone),
        categories=categories or {},
    )
    return report if since is None else _compared(report, pets, since)


def _unproven(pets: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with a listing that nothing proves, as of now."""
    frames.check(pets)
    now, reason = time.time(), "nothing shows what this frame is a listing of"
    listing = Listing("unproven", reason, None, len(pets), "", 0, 0, 0, now, now, "a file")
    return frames.Columns.of(pets).to_frame(listing)


def _compared(report: StatusReport, pets: pd.DataFrame, since: pd.DataFrame) -> StatusReport:
    """Add what changed since an older listing."""
    listing, older = report.listing, frames.listing_of(since)
    if not older.complete or (older.status, older.environment) != (
        listing.status,
        listing.environment,
    ):
        raise FrameError(
            f"only a complete listing of {listing.of_what} can be compared with this one, not "
            f"this: {older}"
        )
    if not listing.complete:
        raise FrameError(
            "a listing that is not complete cannot be compared: animals that were not read "
            "would seem to be gone"
        )
    moved = counting.moved(since, pets)
    return replace(
        report,
        since=older,
        summary=counting.summary(listing.rows, older.rows, moved, listing.status),
        changes=counting.changes(counting.breakdown(since)["count"], report.breakdown["count"]),
        changes_by_category=counting.changes(
            counting.by_category(since, {})["total"], report.by_category["total"]
        ),
        moved=moved,
        flow=movement.flow(moved),
    )


def _zone(name: str | None) -> tzinfo | None:
    """Return the time zone of a name, None for that of this machine."""
    try:
        return None if name is None else UTC if name == "UTC" else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        none = (
            ""
            if available_timezones()
            else "this machine knows no time zones (pip install tzdata), so "
        )
        raise ArgumentError(
            f"{none}there is no time zone {name!r}: use a name such as Europe/Berlin or UTC"
        ) from error


def report_and_keep(
    pets: pd.DataFrame,
    history: History,
    since: tuple[pd.DataFrame | None, tuple[str, ...]] | None,
    *,
    partial: bool,
    **options: Any,
) -> StatusReport:
    """
    Report on a fresh listing, which is kept where it is complete and of all animals.

    `options` are those of `status_report`.
    """
    listing = frames.listing_of(pets)
    older, notes = since or (None, ())
    if not listing.complete:
        notes = ("this listing is not complete, so it is not compared with an earlier one",)
        report = status_report(pets, partial=partial, **options)
        return report if since is None else replace(report, notes=notes)
    report = status_report(pets, since=older, **options)
    number, note = history.try_keep(pets)
    notes += tuple(filter(None, [note]))
    over_time: dict[str, Any] = {}
    with suppress(FrameError):  # the report holds without them
        over_time = _over_time(history, listing)
    mark = functools.partial(history.mark_reported, listing.status, number) if number else None
    return replace(report, notes=notes, mark=mark, **over_time)


def _over_time(history: History, listing: Listing) -> dict[str, Any]:
    """
    Return what the kept listings say, by the names of the report's attributes.

    Days in a status are those of the last 30 days, so that a report costs the same however much is
    kept.
    """
    kept = history.snapshots(listing.status)
    if len(kept) < 2:
        return {}
    newest = kept[-1].listing.ended_at
    stays = history.stays(since=WINDOW, now=listing.ended_at)
    found = {
        "counts": counting.counts_over_time([(s.listing.ended_at, s.counts) for s in kept]),
        "longest_available": movement.longest(stays, "available", newest),
    }
    if listing.status is None:
        by = ("categoryId", "status")
        found["time_in_status"] = movement.time_in_status(stays)
        found["time_in_status_by_category"] = movement.time_in_status(stays, by)
    return found
