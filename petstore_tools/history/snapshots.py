"""
Listings kept on disk, as Parquet that any tool reads: the history of the inventory.

    STATE/snapshots/production-3f2a.../inventory/day=2026-01-05/090000-000000.parquet    whole listings
    STATE/snapshots/production-3f2a.../status-sold/day=2026-01-05/091500-000000.parquet  by one status
    STATE/snapshots/production-3f2a.../reported/inventory.txt                            what `last` means

Only complete listings are kept as history, so whoever reads a folder of it reads wholes.
"""

from __future__ import annotations

import secrets
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, overload

from petstore_tools import spec
from petstore_tools.errors import ArgumentError, FrameError, IncompleteListingError, MissingExtraError
from petstore_tools.listing.checkpoint import Checkpoints, folder_name
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import Columns
from petstore_tools.listing.parquet import load_parquet, parquet_bytes, read_frame, read_listing
from petstore_tools.tabular.atomic import check_writable, replace_file
from petstore_tools.text import parse_duration, pluralize, utc_text

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Snapshot:
    """
    A complete listing on disk.

    Attributes:
        listing: Its verdict; `ended_at` is the time it is of.
        path: The Parquet file: columns `id`, `name`, `categoryId`, `status` and `as_of` (UTC).
    """

    listing: Listing
    path: Path

    @property
    def as_of(self) -> datetime:
        """When its last page was read (UTC)."""
        return datetime.fromtimestamp(self.listing.ended_at, UTC)

    def frame(self) -> pd.DataFrame:
        """
        Read the frame, as `list_pets` gave it.

        Raises:
            FrameError: The file is damaged.
        """
        return read_frame(self.path)

    def statuses(self) -> pd.DataFrame:
        """Read the column `status` alone: what a history needs."""
        return read_frame(self.path, ("status",))

    def __repr__(self) -> str:
        of = "" if self.listing.status is None else f", {self.listing.status}"
        return f"Snapshot({utc_text(self.listing.ended_at)}, {pluralize(self.listing.rows, 'animal')}{of})"


class Snapshots(Sequence[Snapshot]):
    """
    The complete listings of one service with one filter, oldest first.

    Args:
        folder: Where the Parquet files lie, one folder a day (`day=2026-01-05`).
        found: The snapshots.
    """

    def __init__(self, folder: Path, found: Sequence[Snapshot]) -> None:
        self.folder, self._found = folder, tuple(found)

    @overload
    def __getitem__(self, at: int) -> Snapshot: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Snapshot]: ...
    def __getitem__(self, at: int | slice) -> Snapshot | Sequence[Snapshot]:
        """Return one by its place, -1 the newest."""
        return self._found[at]

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        if not self._found:
            return "no snapshots yet"
        first, last = self._found[0].listing, self._found[-1].listing
        span = f"from {utc_text(first.ended_at)} to {utc_text(last.ended_at)}"
        return f"{pluralize(len(self), 'snapshot')} {span}, the newest of {pluralize(last.rows, 'animal')}"


class SnapshotStore:
    """
    The snapshots of one service.

    Args:
        state_dir: The state folder.
        environment: Names what is listed.
        base_url: Ends in `/v1`.
    """

    def __init__(self, state_dir: Path, environment: str, base_url: str) -> None:
        place = sha256(base_url.encode()).hexdigest()[:12]
        self._folder = state_dir / "snapshots" / f"{environment}-{place}"
        self.checkpoints = Checkpoints(self._folder / "begun")

    def check(self) -> None:
        """
        Check that snapshots can be kept, before anything is paid for.

        Raises:
            MissingExtraError: The extra `parquet` is not installed.
            OSError: Their folder cannot be written.
        """
        load_parquet()
        self._folder.mkdir(parents=True, exist_ok=True)
        check_writable(self._folder / "any.parquet")

    def all(self, status: str | None = None) -> Snapshots:
        """
        Return the snapshots with this filter, oldest first; files that cannot be read are named and left out.

        Raises:
            MissingExtraError: The extra `parquet` is not installed.
        """
        load_parquet()
        folder, found = self._folder / folder_name(status), []
        for path in folder.glob("day=*/*.parquet"):
            try:
                found.append(Snapshot(read_listing(path), path))
            except FrameError as error:
                warnings.warn(str(error), UserWarning, stacklevel=4)
        return Snapshots(folder, sorted(found, key=lambda s: (s.listing.ended_at, s.path.name)))

    def keep(self, frame: pd.DataFrame) -> Snapshot:
        """
        Keep a frame as a snapshot, whole or not at all.

        Raises:
            IncompleteListingError: Its listing is not complete.
            MissingExtraError: The extra `parquet` is not installed.
        """
        listing = Listing.as_listed(frame)
        if not listing.complete:
            raise IncompleteListingError(listing)
        at = datetime.fromtimestamp(listing.ended_at, UTC)
        folder = self._folder / folder_name(listing.status) / f"day={at:%Y-%m-%d}"
        folder.mkdir(parents=True, exist_ok=True)
        # what comes behind the second makes two of the same instant two files, in the order they were made
        path = folder / f"{at:%H%M%S}-{time.time_ns():016x}{secrets.token_hex(2)}.parquet"
        replace_file(path, parquet_bytes(frame, listing))
        return Snapshot(listing, path)

    def try_keep(self, frame: pd.DataFrame) -> tuple[Snapshot | None, str]:
        """Keep a complete frame where Parquet can be written, and say why where its folder cannot be."""
        try:
            return self.keep(frame), ""
        except MissingExtraError:
            return None, ""
        except OSError as error:
            why = (error.strerror or str(error)).casefold()
            return None, f"this listing was not kept as a snapshot: its folder cannot be written ({why})"

    def history(self, status: str | None) -> list[tuple[float, pd.DataFrame]]:
        """Return the end and the statuses of each snapshot with this filter."""
        counted_ones = []
        for snapshot in self.all(status):
            with suppress(FrameError):  # a damaged one
                counted_ones.append((snapshot.listing.ended_at, snapshot.statuses()))
        return counted_ones

    def younger(self, age: timedelta, *, status: str | None, now: float) -> pd.DataFrame | None:
        """
        Return the newest snapshot that is not older than `age`, as a frame; None where there is none.

        A filter is answered from a whole inventory, too.
        """
        young = [
            snapshot
            for of in dict.fromkeys((status, None))
            for snapshot in self.all(of)
            if 0 <= now - snapshot.listing.ended_at <= age.total_seconds()
        ]
        for snapshot in sorted(young, key=lambda s: s.listing.ended_at, reverse=True):
            with suppress(FrameError):  # a damaged one is as good as none
                frame = snapshot.frame()
                kept = snapshot.listing
                return frame if kept.status == status else _only(frame, kept, str(status))
        return None

    def since(
        self, given: str | date, *, status: str | None, now: float
    ) -> tuple[pd.DataFrame | None, tuple[str, ...]]:
        """
        Return the listing to compare with, and what there is to say about it.

        Args:
            given: `last`: the listing of the last report that was written to a file; or an age such as `7d`,
                a date or a time (UTC; of a date its end): the newest snapshot that is not younger, else the
                oldest.
            status: The filter.
            now: Unix seconds.

        Raises:
            ArgumentError: It is none of these, or in the future.
        """
        until = None if _is_last(given) else instant(given, now)
        kept = [s for s in self.all(status) if until is None or s.listing.ended_at < now]
        if not kept:
            return None, ("no earlier snapshot to compare with",)
        if until is None:
            marked = _text(self._reported(status))
            suitable = [s for s in kept if s.path.name == marked]
            chosen, note = (
                kept[-1],
                "no report was written to a file before: compared with the newest snapshot",
            )
        else:
            suitable = [s for s in kept if s.listing.ended_at <= until]
            chosen, note = kept[0], f"no snapshot is as old as {given}: compared with the oldest"
        if suitable:
            chosen, note = suitable[-1], ""
        try:
            return chosen.frame(), (note,) if note else ()
        except FrameError as error:
            return None, (f"compared with nothing: {error}",)

    def mark_reported(self, snapshot: Snapshot) -> None:
        """Remember the listing of a report that was written to a file: `last` means it from now on."""
        path = self._reported(snapshot.listing.status)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, snapshot.path.name.encode())
        except OSError as error:  # the report itself is written
            warnings.warn(f"`last` does not mean this report: {error}", UserWarning, stacklevel=4)

    def _reported(self, status: str | None) -> Path:
        return self._folder / "reported" / f"{folder_name(status)}.txt"


def _is_last(given: str | date) -> bool:
    return isinstance(given, str) and given.strip().casefold() == "last"


def _text(path: Path) -> str:
    with suppress(OSError, UnicodeDecodeError):
        return path.read_text(encoding="utf-8").strip()
    return ""


def instant(given: str | date, now: float) -> float:
    """
    Return the Unix seconds that an age, a date (its end) or a time means; UTC where it names no time zone.

    Raises:
        ArgumentError: It is none of these, or in the future.
    """
    if isinstance(given, str) and (age_s := parse_duration(given)) is not None:
        return now - age_s
    at = _date(given.strip()) if isinstance(given, str) else given
    if not isinstance(at, date):
        raise ArgumentError(
            f"since {given!r} cannot be read: write a date as 2026-03-05 (year, month, day) or 05.03.2026 "
            "(day, month, year), an age such as 7d (in s, min, h, d or w), or the word last"
        )
    whole_day = not isinstance(at, datetime)
    moment = at if isinstance(at, datetime) else datetime(at.year, at.month, at.day)
    means_at = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    means_at += spec.DAY_S - 1e-6 if whole_day else 0.0
    if means_at > now:
        why = "a date means its end, and " if whole_day else ""
        raise ArgumentError(f"since {given} is in the future: {why}it is {utc_text(now)} now")
    return means_at


def _date(text: str) -> date | None:
    """Read `2026-03-05`, `2026-03-05T14:00+01:00` or `05.03.2026`; None for all else: nothing is guessed."""
    for read in (date.fromisoformat, datetime.fromisoformat, _day_first):
        with suppress(ValueError):
            return read(text)
    return None


def _day_first(text: str) -> date:
    return datetime.strptime(text, "%d.%m.%Y").date()


def _only(frame: pd.DataFrame, listing: Listing, status: str) -> pd.DataFrame:
    """Return the animals with a status, as a listing with that filter."""
    return Columns.of(frame[frame["status"] == status]).to_frame(listing.filtered(status))
