"""The whole listing as a frame: what is interrupted keeps its pages, and the same call goes on."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import TYPE_CHECKING, Final, TypeAlias

from petstore_tools.errors import IncompleteListingError, Interrupted, PagingError
from petstore_tools.listing.checkpoint import Checkpoint, CheckpointExpired, Checkpoints
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import Columns
from petstore_tools.listing.links import ListQuery
from petstore_tools.listing.pages import Inventory, PageIterator
from petstore_tools.text import pluralize
from petstore_tools.throttle.gate import CallOptions
from petstore_tools.throttle.quota import read_quota

if TYPE_CHECKING:
    import pandas as pd

Confirm: TypeAlias = Callable[[int, int], None]
Show: TypeAlias = Callable[[int, int | None], None]
GOES_ON_WITHIN_S: Final = 26 * 3_600.0  # a listing that met the day's quota goes on the day after
KEPT_EVERY_S: Final = 60.0


class Fetcher:
    """
    Fetches listings for one store.

    Args:
        inventory: What is listed.
        checkpoints: Keep the pages of a listing that is interrupted.

    Attributes:
        last_partial: What the last listing had when it was interrupted, labelled as cut; None where
            it ended.
    """

    def __init__(self, inventory: Inventory, checkpoints: Checkpoints) -> None:
        self._inventory, self._client, self._checkpoints = inventory, inventory.client, checkpoints
        self.last_partial: pd.DataFrame | None = None

    def fetch(
        self, query: ListQuery, *, wait: bool, resume: bool, confirm: Confirm | None, show: Show
    ) -> pd.DataFrame:
        """
        Read a listing to its end, or on from where the last one was interrupted.

        Args:
            query: What is asked for.
            wait: Wait for the next day's quota.
            resume: Go on with an interrupted listing.
            confirm: Called with the needed and the left requests where the day leaves too few; it
                raises.
            show: Called with the animals of each page, and how many there may be.

        Raises:
            IncompleteListingError: A complete one was required; the frame is in `last_partial`.
        """
        checkpoint = self._checkpoint(query) if resume else None
        if confirm is not None and not wait:
            self._confirm(query, 0 if checkpoint is None else len(checkpoint.frame), confirm)
        try:
            frame = self._read(query, wait, checkpoint, show)
        except CheckpointExpired:
            self._checkpoints.forget(query.status)
            frame = self._read(query, wait, None, show)
        listing = Listing.as_listed(frame)
        if query.require is not None and not listing.complete:
            self.last_partial = frame
            raise IncompleteListingError(listing)
        return frame

    def _confirm(self, query: ListQuery, kept: int, confirm: Confirm) -> None:
        """
        Ask before the last requests of a day are spent in vain, judged by the last complete
        listing.
        """
        animals = self._inventory.learnt.sizes.get(query.status or "")
        left = read_quota(self._client.gate).day.left
        if animals is None or left is None:
            return
        animals = min(animals, query.first or animals)
        needed = min(
            max(1, ceil((animals - kept) / query.limit)), query.max_requests or animals + 1
        )
        if 0 < left < needed:
            confirm(needed, left)

    def _read(
        self, query: ListQuery, wait: bool, checkpoint: Checkpoint | None, show: Show
    ) -> pd.DataFrame:
        columns = Columns() if checkpoint is None else Columns.of(checkpoint.frame)
        pages = PageIterator(self._inventory, query, CallOptions(wait=wait), checkpoint)
        show(len(columns), pages.size)
        kept_at = self._client.clock.now()
        try:
            for page in pages:
                columns.add(page.rows)
                show(len(page), pages.size)
                if self._client.clock.now() - kept_at >= KEPT_EVERY_S:
                    kept_at = self._client.clock.now()
                    self._keep(columns, pages, query)
        except CheckpointExpired:
            raise
        except BaseException as error:
            self.last_partial = columns.to_frame(pages.listing)
            if not isinstance(error, PagingError):
                self._keep(columns, pages, query)
            if isinstance(error, KeyboardInterrupt):
                kept = pluralize(len(columns), "animal")
                raise Interrupted(
                    f"{kept} so far, in last_partial; the same call goes on from there."
                ) from None
            raise
        self.last_partial = None
        if query.first is None and query.max_requests is None:
            self._checkpoints.forget(query.status)
        return columns.to_frame(pages.listing)

    def _keep(self, columns: Columns, pages: PageIterator, query: ListQuery) -> None:
        state, listing = pages.state(), pages.listing
        if state is not None and query.first is None and listing.rows == len(columns):
            self._checkpoints.keep(Checkpoint(columns.to_frame(listing), state))

    def _checkpoint(self, query: ListQuery) -> Checkpoint | None:
        """
        Return the interrupted listing to go on with: none is complete since, and it is not too old.
        """
        found = self._checkpoints.of(query.status)
        if found is None or query.first is not None:
            return None
        listings = self._inventory.learnt.listings.get(query.status or "", 0)
        age_s = self._client.clock.now() - found.listing.ended_at
        current = (
            found.state.get("listings", listings) == listings and 0 <= age_s <= GOES_ON_WITHIN_S
        )
        return found if current else None
