"""The whole listing as a frame: an interrupted pull keeps its pages, and the same call goes on."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import TYPE_CHECKING, Any, Final

from petstore_tools.errors import IncompleteListingError, Interrupted, PagingError
from petstore_tools.listing.checkpoint import Checkpoints
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import Columns
from petstore_tools.listing.pages import Checkpoint, CheckpointExpired, Inventory, Pages
from petstore_tools.listing.query import ListQuery
from petstore_tools.text import pluralize
from petstore_tools.throttle.gate import CallOptions
from petstore_tools.throttle.quota import read_quota

if TYPE_CHECKING:
    import pandas as pd

GOES_ON_WITHIN_S: Final = 26 * 3_600.0  # a pull that met the day's quota goes on the day after
KEPT_EVERY_S: Final = 60.0


class Fetcher:
    """
    Pulls listings for one store.

    Args:
        inventory: What is listed.
        checkpoints: Keep the pages of a pull that is interrupted, where Parquet can be written.

    Attributes:
        last_partial: What the last pull had when it was interrupted, labelled as cut; None where it ended.
    """

    def __init__(self, inventory: Inventory, checkpoints: Checkpoints) -> None:
        self._inventory, self._client, self._checkpoints = inventory, inventory.client, checkpoints
        self.last_partial: pd.DataFrame | None = None
        self._states: dict[str | None, tuple[pd.DataFrame, dict[str, Any]]] = {}

    def pull(
        self,
        wanted: ListQuery,
        *,
        wait: bool,
        resume: bool,
        confirm: Callable[[int, int], None] | None,
        show: Callable[[int, int | None], None],
    ) -> pd.DataFrame:
        """
        Read a listing to its end, or on from where the last one was interrupted.

        Args:
            wanted: What is asked for.
            wait: Wait for the next day's quota.
            resume: Go on with an interrupted pull.
            confirm: Called with the needed and the left requests where the day leaves too few; it raises.
            show: Called with the animals of each page, and how many there may be.

        Raises:
            IncompleteListingError: A complete one was required; the frame is in `last_partial`.
        """
        begun = self._begun(wanted) if resume else None
        if confirm is not None and not wait:
            self._ask(wanted, 0 if begun is None else len(begun[0]), confirm)
        try:
            frame = self._pull(wanted, wait, begun, show)
        except CheckpointExpired:
            self._forget(wanted.status)
            frame = self._pull(wanted, wait, None, show)
        listing = Listing.as_listed(frame)
        if wanted.require is not None and not listing.complete:
            self.last_partial = frame
            raise IncompleteListingError(listing)
        return frame

    def _ask(self, wanted: ListQuery, kept: int, confirm: Callable[[int, int], None]) -> None:
        """Ask before the last requests of a day are spent in vain, judged by the last complete listing."""
        animals = self._inventory.learnt.sizes.get(wanted.status or "")
        left = read_quota(self._client.gate).day.left
        if animals is None or left is None:
            return
        animals = min(animals, wanted.first or animals)
        needed = min(max(1, ceil((animals - kept) / wanted.limit)), wanted.max_requests or animals + 1)
        if 0 < left < needed:
            confirm(needed, left)

    def _pull(
        self,
        wanted: ListQuery,
        wait: bool,
        begun: tuple[pd.DataFrame, dict[str, Any]] | None,
        show: Callable[[int, int | None], None],
    ) -> pd.DataFrame:
        columns = Columns() if begun is None else Columns.of(begun[0])
        before = begun and Checkpoint(begun[1], columns.ids, Listing.as_listed(begun[0]))
        call_options = CallOptions(wait=wait)
        listed = self._inventory.pages(wanted, call_options=call_options, begun=before or None)
        show(len(columns.ids), listed.size)
        kept_at = self._client.clock.now()
        try:
            for page in listed:
                columns.add(page.rows)
                show(len(page), listed.size)
                if self._client.clock.now() - kept_at >= KEPT_EVERY_S:
                    kept_at = self._client.clock.now()
                    self._keep(columns, listed, wanted)
        except CheckpointExpired:
            raise
        except BaseException as error:
            self.last_partial = columns.to_frame(listed.listing)
            if not isinstance(error, PagingError):
                self._keep(columns, listed, wanted)
            if isinstance(error, KeyboardInterrupt):
                kept = pluralize(len(columns.ids), "animal")
                raise Interrupted(
                    f"{kept} so far, in last_partial; the same call goes on from there."
                ) from None
            raise
        self.last_partial = None
        if wanted.first is None and wanted.max_requests is None:
            self._forget(wanted.status)
        return columns.to_frame(listed.listing)

    def _keep(self, columns: Columns, listed: Pages, wanted: ListQuery) -> None:
        state = listed.state()
        if state is None or wanted.first is not None or listed.listing.rows != len(columns.ids):
            return
        frame = columns.to_frame(listed.listing)
        self._states[wanted.status] = frame, state
        self._checkpoints.keep(frame, state)

    def _begun(self, wanted: ListQuery) -> tuple[pd.DataFrame, dict[str, Any]] | None:
        found = self._states.get(wanted.status) or self._checkpoints.of(wanted.status)
        if found is None or wanted.first is not None:
            return None
        listings = self._inventory.learnt.listings.get(wanted.status or "", 0)
        if found[1].get("listings", listings) != listings:  # a whole one was made since
            return None
        age_s = self._client.clock.now() - Listing.as_listed(found[0]).ended_at
        return found if 0 <= age_s <= GOES_ON_WITHIN_S else None

    def _forget(self, status: str | None) -> None:
        self._states.pop(status, None)
        self._checkpoints.forget(status)
