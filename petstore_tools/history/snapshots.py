"""
The kept listings of one service: what they were, what each showed, and which of them to compare
    with.

    STATE/snapshots/production-3f2a.../index.json, stays/         what they say over time
    (`storage.py`) STATE/snapshots/production-3f2a.../reported/inventory.txt     the time that
    `last` means STATE/snapshots/production-3f2a.../inventory/day=*/*.parquet  listings that version
    0.1 kept

Only complete listings of the whole inventory are kept. A listing with a filter is compared with
those.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Self

from petstore_tools import spec
from petstore_tools.errors import (
    ArgumentError,
    FrameError,
    IncompleteListingError,
    MissingExtraError,
    SettingsError,
)
from petstore_tools.history.of_0_1 import fold_in
from petstore_tools.history.since import instant
from petstore_tools.history.storage import KeptListing, Storage
from petstore_tools.listing.checkpoint import Checkpoints, folder_name
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import Columns
from petstore_tools.listing.parquet import load_parquet
from petstore_tools.tabular.atomic import check_writable, replace_file
from petstore_tools.text import pluralize, utc_text

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Snapshot:
    """
    A complete listing that is kept.

    Attributes:
        listing: What it is a listing of; `ended_at` is its time.
    """

    listing: Listing
    _kept: KeptListing
    _storage: Storage

    @property
    def as_of(self) -> datetime:
        """When its last page was read (UTC)."""
        return datetime.fromtimestamp(self.listing.ended_at, UTC)

    def frame(self) -> pd.DataFrame:
        """
        Rebuild the frame, as `list_pets` gave it, by ascending id.

        Raises:
            FrameError: A file that it needs is damaged.
        """
        frame = self._storage.frame(self._kept)
        if self.listing.status is None:
            return frame
        return Columns.of(frame[frame["status"] == self.listing.status]).to_frame(self.listing)

    @property
    def counts(self) -> dict[str, int]:
        """Animals by status, `unset` included; reads no file."""
        if self.listing.status is None:
            return self._kept.counts
        return {self.listing.status: self._kept.counts.get(self.listing.status, 0)}

    def __repr__(self) -> str:
        of = "" if self.listing.status is None else f", {self.listing.status}"
        return (
            f"Snapshot({utc_text(self.listing.ended_at)}, "
            f"{pluralize(self.listing.rows, 'animal')}{of})"
        )


class Snapshots(tuple[Snapshot, ...]):
    """
    The kept listings of one service, oldest first.

    Attributes:
        folder: Where the stays lie, as Parquet files: `open/*.parquet` and
            `closed/day=*/*.parquet`.
    """

    folder: Path

    def __repr__(self) -> str:
        if not self:
            return "no snapshots yet"
        first, last = self[0].listing, self[-1].listing
        span = f"from {utc_text(first.ended_at)} to {utc_text(last.ended_at)}"
        return (
            f"{pluralize(len(self), 'snapshot')} {span}, the newest of "
            f"{pluralize(last.rows, 'animal')}"
        )


class SnapshotStore:
    """
    The snapshots of one service.

    Args:
        folder: Where they are; made at the first write.
    """

    def __init__(self, folder: Path) -> None:
        self.storage = Storage(folder)
        self.checkpoints = Checkpoints(folder / "begun")

    @classmethod
    def of(cls, state_dir: Path, environment: str, base_url: str) -> Self:
        """Return the snapshots of a service; the address ends in `/v1`."""
        place = sha256(base_url.encode()).hexdigest()[:12]
        return cls(state_dir / "snapshots" / f"{environment}-{place}")

    @classmethod
    def only(cls, state_dir: Path, environment: str | None) -> Self:
        """
        Return the snapshots of the one service whose listings are kept, for who names no base
        address.

        Raises:
            SettingsError: There is none, or more than one.
        """
        found = sorted((state_dir / "snapshots").glob(f"{environment or '*'}-*"))
        folders = [
            path
            for path in found
            if (path / "index.json").exists() or (path / "inventory").exists()
        ]
        if len(folders) == 1:
            return cls(folders[0])
        if not folders:
            raise SettingsError(
                f"no listings are kept in {state_dir}: petstore-tools report keeps the first"
            )
        names = ", ".join(folder.name.rpartition("-")[0] for folder in folders)
        raise SettingsError(
            f"listings of {len(folders)} services are kept ({names}): name the service with "
            "--environment, "
            "or with its base address in PETSTORE_BASE_URL"
        )

    def check(self) -> None:
        """
        Check that snapshots can be kept, before a request is spent on one.

        Raises:
            MissingExtraError: The extra `parquet` is not installed.
            OSError: Their folder cannot be written.
        """
        load_parquet()
        self.storage.folder.mkdir(parents=True, exist_ok=True)
        check_writable(self.storage.folder / "any.parquet")

    def all(self, status: str | None = None) -> Snapshots:
        """
        Return the kept listings, oldest first; with a status, each with the animals of that status
        alone.

        Raises:
            MissingExtraError: The extra `parquet` is not installed.
            FrameError: The index of what is kept is damaged.
        """
        fold_in(self.storage)
        found = Snapshots(
            Snapshot(
                kept.listing if status is None else _filtered(kept, status), kept, self.storage
            )
            for kept in self.storage.index().listings
        )
        found.folder = self.storage.folder / "stays"
        return found

    def keep(self, frame: pd.DataFrame) -> Snapshot:
        """
        Keep a complete listing of the whole inventory, or nothing.

        Raises:
            IncompleteListingError: The listing is not complete.
            ArgumentError: It is a listing with a filter.
            FrameError: What is kept already is damaged.
            MissingExtraError: The extra `parquet` is not installed.
        """
        listing = Listing.as_listed(frame)
        if not listing.complete:
            raise IncompleteListingError(listing)
        if listing.status is not None:
            raise ArgumentError(
                "only a listing of all animals is kept, without a status: store.snapshot()"
            )
        fold_in(self.storage)
        with self.storage.writing():
            kept = self.storage.add(frame)
        return Snapshot(listing, kept, self.storage)

    def try_keep(self, frame: pd.DataFrame) -> str:
        """
        Keep a complete listing of all animals where that is possible; say what was in the way, else
        "".
        """
        why = ""
        try:
            if Listing.as_listed(frame).status is None:
                self.keep(frame)
        except MissingExtraError:
            pass
        except OSError as error:
            why = f"its folder cannot be written ({(error.strerror or str(error)).casefold()})"
        except FrameError as error:
            why = str(error)
        return why and f"this listing was not kept as a snapshot: {why}"

    def younger(self, age: timedelta, *, status: str | None, now: float) -> pd.DataFrame | None:
        """
        Return the newest listing that is not older than `age`, as a frame; None where there is
        none.
        """
        for snapshot in reversed(self.all(status)):
            if 0 <= now - snapshot.listing.ended_at <= age.total_seconds():
                with suppress(FrameError):  # a damaged one is as good as none
                    return snapshot.frame()
        return None

    def since(
        self, given: str | date, *, status: str | None, now: float
    ) -> tuple[pd.DataFrame | None, tuple[str, ...]]:
        """
        Return the listing to compare with, and what there is to say about it.

        Args:
            given: `last`: the listing of the last report that was written to a file; or an age such
                as `7d`, a date or a time (UTC; of a date its end): the newest snapshot that is not
                younger, else the oldest.
            status: The filter.
            now: Unix seconds.

        Raises:
            ArgumentError: It is none of these, or in the future.
        """
        is_last = isinstance(given, str) and given.strip().casefold() == "last"
        until = None if is_last else instant(given, now)
        try:
            kept = [s for s in self.all(status) if until is None or s.listing.ended_at < now]
            if not kept:
                return None, ("no earlier snapshot to compare with",)
            chosen, note = kept[0], f"no snapshot is as old as {given}: compared with the oldest"
            if until is None:
                until, chosen = self._reported_at(status), kept[-1]
                note = "no report was written to a file before: compared with the newest snapshot"
            if until is not None and (suitable := [s for s in kept if s.listing.ended_at <= until]):
                chosen, note = suitable[-1], ""
            return chosen.frame(), (note,) if note else ()
        except FrameError as error:
            return None, (f"not compared with an earlier listing: {error}",)

    def history(
        self, *, pet_id: int | None = None, since: str | date | None = None, now: float
    ) -> pd.DataFrame:
        """
        Return what the kept listings say about each animal over time: one row per stay.

        Args:
            pet_id: Of one animal.
            since: Leave out what had ended before this age, date or time.
            now: Unix seconds.

        Returns:
            By id and time: the columns of a listing, `first_seen`, `last_seen` (datetime, UTC: the
            end of the first and the last listing that showed it), `ended_between` (interval of
            datetimes: from the end of the last listing that showed it to the start of the next one;
                missing while open).

        Raises:
            ArgumentError: `since` is no age, date or time, or in the future.
            FrameError: The index is damaged or gone, or the file of open stays is damaged.

        Warns:
            UserWarning: A file of ended stays is damaged, and left out.
        """
        import pandas as pd

        fold_in(self.storage)
        after = None if since is None else instant(since, now)
        stays = self.storage.stays(closed_since=after, skip_damaged=True)
        if pet_id is not None:
            stays = stays[stays["id"] == pet_id]
        stays = stays.sort_values(["id", "first"], ignore_index=True)
        others = sorted(set(stays["status"].dropna()) - set(spec.STATUSES))
        statuses = pd.CategoricalDtype([*spec.STATUSES, *others], ordered=True)
        last_seen = stays["last_seen"].where(stays["gone_by"].notna())
        return stays[[*spec.PET_FIELDS, "first_seen", "last_seen"]].assign(
            status=stays["status"].astype("object").astype(statuses),
            ended_between=pd.arrays.IntervalArray.from_arrays(
                last_seen, stays["gone_by"], closed="both"
            ),
        )

    def mark_reported(self, listing: Listing) -> None:
        """
        Remember the listing of a report that was written to a file: `last` means it from now on.
        """
        path = self._reported(listing.status)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, repr(listing.ended_at).encode())
        except OSError as error:  # the report itself is written
            warnings.warn(
                f"this report was not noted, so `last` will not mean it: {error}",
                UserWarning,
                stacklevel=4,
            )

    def _reported(self, status: str | None) -> Path:
        return self.storage.folder / "reported" / f"{folder_name(status)}.txt"

    def _reported_at(self, status: str | None) -> float | None:
        """
        Return the time of the last written report; version 0.1 wrote the name of its snapshot's
        file.
        """
        with suppress(OSError, UnicodeDecodeError):
            text = self._reported(status).read_text(encoding="utf-8").strip()
            with suppress(ValueError):
                return float(text)
            for kept in self.storage.index().listings:
                if Path(kept.source).name == text:
                    return kept.listing.ended_at
        return None


def _filtered(kept: KeptListing, status: str) -> Listing:
    return replace(kept.listing.filtered(status), rows=kept.counts.get(status, 0))
