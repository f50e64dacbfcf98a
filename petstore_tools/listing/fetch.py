"""The whole listing as a frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from petstore_tools.errors import IncompleteListingError, Interrupted
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import Columns
from petstore_tools.listing.links import ListQuery
from petstore_tools.listing.pages import Inventory, PageIterator
from petstore_tools.text import pluralize
from petstore_tools.throttle.gate import CallOptions

if TYPE_CHECKING:
    import pandas as pd

Show: TypeAlias = Callable[[int, int | None], None]


class Fetcher:
    """
    Fetches listings for one store.

    Args:
        inventory: What is listed.

    Attributes:
        last_partial: What the last listing had when it was interrupted, labelled as cut; None where
            it ended.
    """

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory
        self.last_partial: pd.DataFrame | None = None

    def fetch(self, query: ListQuery, *, wait: bool, show: Show) -> pd.DataFrame:
        """
        Read a listing to its end.

        Args:
            query: What is asked for.
            wait: Wait for the next day's quota.
            show: Called with the animals of each page, and how many there may be.

        Raises:
            IncompleteListingError: A complete one was required; the frame is in `last_partial`.
        """
        columns = Columns()
        pages = PageIterator(self._inventory, query, CallOptions(wait=wait))
        show(0, pages.size)
        try:
            for page in pages:
                columns.add(page.rows)
                show(len(page), pages.size)
        except BaseException as error:
            self.last_partial = columns.to_frame(pages.listing)
            if isinstance(error, KeyboardInterrupt):
                kept = pluralize(len(columns), "animal")
                raise Interrupted(f"{kept} so far, in last_partial.") from None
            raise
        frame = columns.to_frame(pages.listing)
        listing = Listing.as_listed(frame)
        is_short = query.require is not None and not listing.complete
        self.last_partial = frame if is_short else None
        if is_short:
            raise IncompleteListingError(listing.shortfall, listing=listing)
        return frame
