"""What a store can be asked without changing anything: the reading half of its face."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import date, timedelta
from math import ceil
from typing import TYPE_CHECKING, Literal

from petstore_tools import spec
from petstore_tools.errors import ArgumentError, IncompleteListingError
from petstore_tools.history.snapshots import Shelf, Snapshot, Snapshots
from petstore_tools.http.client import Client
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.fetch import Puller
from petstore_tools.listing.pages import Listed, Wanted
from petstore_tools.models import Pet, whole
from petstore_tools.notebook import page_progress
from petstore_tools.text import counted, seconds_of, suggest
from petstore_tools.throttle.gate import Manner

if TYPE_CHECKING:
    import pandas as pd

    from petstore_tools.reporting.report import StatusReport


class Reading:
    """
    The reading half of PetStore.

    Args:
        client: One key at one service.
        shelf: Keeps listings.
        progress: False: never draw a bar; None: where someone looks.
    """

    def __init__(self, client: Client, shelf: Shelf, *, progress: bool | None) -> None:
        self._client, self._shelf, self._progress = client, shelf, progress
        self._puller = Puller(client, shelf)

    def pages(self, *, status: str | None = None, limit: int = spec.LIMIT_MAX, wait: bool = False) -> Listed:
        """
        Begin a listing, page by page; it asks as you iterate, and `.listing` is its verdict.

        Iterate it again and it reads again, from the first page on.

        Args:
            status: One of the three values, None for all.
            limit: Page size, 1 to 100.
            wait: Wait for the next day's quota in place of raising QuotaError.

        Raises:
            ArgumentError: Status or limit is none of these.

        Spec: §4.1, §8.1.
        """
        check_status(status)
        limit = whole(limit)
        if type(limit) is not int or not spec.LIMIT_MIN <= limit <= spec.LIMIT_MAX:
            raise ArgumentError(
                f"limit is a page size from {spec.LIMIT_MIN} to {spec.LIMIT_MAX}, not {limit!r}"
            )
        return self._client.pages(Wanted(status, limit), manner=Manner(wait=wait))

    def pets(self, *, status: str | None = None, wait: bool = False) -> Iterator[Pet]:
        """Return the animals one by one; asks for a page when the one before is used up (§4.1)."""
        return (pet for page in self.pages(status=status, wait=wait) for pet in page.pets)

    def list_pets(
        self,
        *,
        status: str | None = None,
        first: int | None = None,
        require: Literal["complete"] | None = None,
        max_age: str | float | timedelta | None = None,
        max_requests: int | None = None,
        resume: bool = True,
        wait: bool = False,
    ) -> pd.DataFrame:
        """
        Fetch the inventory as a frame that says whether it is whole.

        A pull that was interrupted or met the day's quota keeps its pages: the same call within 26 hours
        goes on, and the frame says that it was stitched over a pause.

        Args:
            status: One of the three values, None for all.
            first: Only so many animals, with as few requests as that needs.
            require: `complete`: raise where the listing is not whole.
            max_age: Answer from a snapshot that is not older (`"1h"`, seconds, a timedelta), else fetch and
                keep one; needs the extra `parquet`.
            max_requests: Stop after so many requests.
            resume: Go on with an interrupted pull.
            wait: Wait for the next day's quota in place of raising QuotaError.

        Returns:
            Columns `id` (int64), `name` (string), `categoryId` (int64), `status` (ordered category,
            missing where unset); the same dtypes when empty. `attrs["listing"]` is the verdict.

        Raises:
            ArgumentError: An argument is none of these.
            IncompleteListingError: Completeness was required; the frame is in `last_partial`.
            UnauthorizedError, QuotaError, TransportError, ProtocolError, PagingError: What was read
                until then is in `last_partial`, labelled as cut.

        Warns:
            UserWarning: The listing is not complete, or holds what the document does not name.

        Spec: §4.1.
        """
        wanted = Wanted(status, first=whole(first), max_requests=whole(max_requests))
        return self._list(wanted, require=require, max_age=max_age, resume=resume, wait=wait)

    def _list(
        self,
        wanted: Wanted,
        *,
        require: Literal["complete"] | None = None,
        max_age: str | float | timedelta | None = None,
        resume: bool = True,
        wait: bool = False,
        confirm: Callable[[int, int], None] | None = None,
    ) -> pd.DataFrame:
        """
        Fetch the inventory.

        `confirm` is called before the first request where the day leaves fewer than the listing takes, with
        both numbers, and raises where it is not to be begun.
        """
        _check(wanted, require, max_age)
        if max_age is not None:
            kept = self._shelf.younger(_age(max_age), status=wanted.status, now=self._client.clock.now())
            if kept is not None:
                return kept
        if confirm is not None and not wait:
            from petstore_tools.throttle.quota import look

            needed, left = self._requests_needed(wanted, resume=resume), look(self._client).day.left
            if needed is not None and left is not None and 0 < left < needed:
                confirm(needed, left)
        with page_progress(self._progress) as show:
            frame = self._puller.pull(wanted, wait=wait, resume=resume, show=show)
        verdict = Listing.as_listed(frame)
        if not verdict.complete and require is not None:
            self._puller.last_partial = frame
            raise IncompleteListingError(verdict)
        if not verdict.complete and wanted.first is None:
            warnings.warn(f"not the whole inventory: {verdict}", UserWarning, stacklevel=3)
        for note in verdict.notes:
            warnings.warn(note, UserWarning, stacklevel=3)
        if max_age is not None and verdict.complete and (note := self._shelf.try_keep(frame)[1]):
            warnings.warn(note, UserWarning, stacklevel=3)
        return frame

    def _requests_needed(self, wanted: Wanted, *, resume: bool) -> int | None:
        """Return how many requests a listing takes, by the last complete one; None where there was none."""
        animals = self._client.known.of(self._client.base_url).sizes.get(wanted.status or "")
        if animals is None:
            return None
        animals = min(animals, wanted.first or animals)
        kept = self._puller.kept(wanted) if resume else 0
        return min(max(1, ceil((animals - kept) / wanted.limit)), wanted.max_requests or animals + 1)

    def listing_price(self, *, status: str | None = None) -> str:
        """Say what a listing will cost, by the last complete one, "" where there was none; sends nothing."""
        animals = self._client.known.of(self._client.base_url).sizes.get(status or "")
        if animals is None:
            return ""
        requests = max(1, ceil(animals / spec.LIMIT_MAX))
        return f"about {counted(requests, 'request')} for {counted(animals, 'animal')}"

    @property
    def last_partial(self) -> pd.DataFrame | None:
        """What the last listing had that was interrupted or not whole as required; None where it ended."""
        return self._puller.last_partial

    def snapshot(self, *, status: str | None = None, wait: bool = False) -> Snapshot:
        """
        List the inventory and keep it: Parquet, a file a listing, a folder a day, with the verdict inside.

        Args:
            status: One of the three values, None for all.
            wait: Wait for the next day's quota in place of raising QuotaError.

        Raises:
            IncompleteListingError: It is not whole, so it is not kept.
            MissingExtraError, OSError: Parquet is not installed, or its folder cannot be written; nothing
                was asked.

        Spec: §4.1.
        """
        self._shelf.check()
        return self._shelf.keep(self.list_pets(status=status, require="complete", wait=wait))

    def snapshots(self, *, status: str | None = None) -> Snapshots:
        """
        Return the kept listings with this filter, oldest first; costs no request.

        Args:
            status: One of the three values, None for the whole inventories.

        Raises:
            MissingExtraError: The extra `parquet` is not installed.
        """
        check_status(status)
        return self._shelf.all(status)

    def status_report(
        self,
        *,
        status: str | None = None,
        categories: Mapping[int, str] | None = None,
        since: str | date | None = None,
        partial: bool = False,
        wait: bool = False,
    ) -> StatusReport:
        """
        List the inventory, keep it as a snapshot where Parquet can be written, and report on it.

        `petstore_tools.status_report` takes a frame that you have.

        Args:
            status: One of the three values, None for all.
            categories: Labels by categoryId.
            since: Compare with an earlier listing: `last`, that of the last report which was written to a
                file; or the newest snapshot that is as old as `7d`, or as a date or time (`2026-03-05`,
                `05.03.2026`, `2026-03-05T14:00+01:00`, a datetime; UTC where it names no zone, of a date
                its end). Where none is that old, with the oldest, and the report says so. Needs the extra
                `parquet`.
            partial: Report on a listing that is not whole; the report says so.
            wait: Wait for the next day's quota in place of raising QuotaError.

        Raises:
            ArgumentError: Status or `since` is none of these, or in the future; nothing was asked.
            IncompleteListingError: The listing is not whole, and `partial` is not set.
            MissingExtraError: `since` without the extra `parquet`.

        Spec: §2.3, §4.1.
        """
        return self._report(status, categories=categories, since=since, partial=partial, wait=wait)

    def _report(
        self,
        status: str | None,
        *,
        categories: Mapping[int, str] | None = None,
        since: str | date | None = None,
        partial: bool = False,
        wait: bool = False,
        confirm: Callable[[int, int], None] | None = None,
    ) -> StatusReport:
        """List and report; `confirm` as for `_list`."""
        from petstore_tools.reporting.report import status_report

        check_status(status)
        now = self._client.clock.now()
        older, notes = (None, ()) if since is None else self._shelf.since(since, status=status, now=now)
        require: Literal["complete"] | None = None if partial else "complete"
        frame = self._list(Wanted(status), require=require, wait=wait, confirm=confirm)
        history = snapshot = None
        if Listing.as_listed(frame).complete:
            snapshot, note = self._shelf.try_keep(frame)
            notes += (note,) if note else ()
            history = None if snapshot is None else self._shelf.history(status)
        else:
            older, notes = None, () if since is None else ("not whole, so compared with nothing",)
        report = status_report(frame, partial=partial, categories=categories, since=older, history=history)
        mark = None if snapshot is None else functools.partial(self._shelf.mark_reported, snapshot)
        return replace(report, notes=notes, mark=mark)

    def get_pet(self, pet_id: int) -> Pet:
        """
        Fetch one animal by its id.

        Raises:
            ArgumentError: No int64.
            NotFoundError: There is none, or the operation was removed as announced.

        Warns:
            DeprecationWarning: The operation is deprecated.

        Spec: §4.3.
        """
        warnings.warn(
            f"get_pet is deprecated, its removal is announced for {spec.REMOVAL_OF_GET_PET}; "
            "use list_pets(status=...)",
            DeprecationWarning,
            stacklevel=2,
        )
        pet_id = whole(pet_id)
        if type(pet_id) is not int or not spec.INT64_MIN <= pet_id <= spec.INT64_MAX:
            raise ArgumentError(f"an id is a whole number in int64, not {pet_id!r}")
        return self._client.get(pet_id)


def check_status(status: str | None) -> None:
    """Refuse a status the document does not have (§2.3)."""
    if status is not None and status not in spec.STATUSES:
        near = suggest(status, spec.STATUSES)
        raise ArgumentError(f"status is one of {', '.join(spec.STATUSES)}, not {status!r}{near}")


def _check(wanted: Wanted, require: str | None, max_age: object) -> None:
    check_status(wanted.status)
    for name, number in (("first", wanted.first), ("max_requests", wanted.max_requests)):
        if number is not None and (type(number) is not int or number < 1):
            raise ArgumentError(f"{name} is a whole number from 1 on, not {number!r}")
    if require not in (None, "complete"):
        raise ArgumentError(f"require is 'complete' or None, not {require!r}")
    if max_age is not None and (wanted.first is not None or wanted.max_requests is not None):
        raise ArgumentError("max_age is for whole listings: leave out first and max_requests")


def _age(given: str | float | timedelta) -> timedelta:
    match given:
        case timedelta():
            seconds: float | None = given.total_seconds()
        case str():
            seconds = seconds_of(given)
        case _:
            seconds = given
    if seconds is None or not 0 <= seconds <= timedelta.max.total_seconds() / 2:
        raise ArgumentError(f"max_age is an age such as '1h' or '2d' (in s, min, h, d or w), not {given!r}")
    return timedelta(seconds=seconds)
