"""The inventory of a store: listed whole, as a frame, or page by page (§4.1)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from petstore_tools.errors import IncompleteListingError, Interrupted
from petstore_tools.http.client import Client
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import PetColumns
from petstore_tools.listing.pages import PageReader, Pages, PagingMemory
from petstore_tools.listing.protocol import ListQuery
from petstore_tools.text import pluralize
from petstore_tools.throttle.gate import ALONE, CallOptions
from petstore_tools.throttle.throttle import Wait

if TYPE_CHECKING:
    import pandas as pd


class Inventory:
    """
    The animals of one service, as one key sees them.

    Args:
        client: One key at one service.
        path: File of what listings have proved of services.
        pagination: How the service pages, as the caller named it; None to learn it.

    Attributes:
        client, memory: What sends the requests; how the service pages.
        last_partial: What the last listing had when it was interrupted, labelled as
            cut, or was not complete as required; None where it ended.
    """

    def __init__(self, client: Client, path: Path, pagination: str | None) -> None:
        self.client = client
        self.memory = PagingMemory(path, client.service_id, pagination)
        self.last_partial: pd.DataFrame | None = None

    def pages(self, query: ListQuery, call_options: CallOptions = ALONE) -> Pages:
        """Return a listing that is read as it is iterated."""
        begin = partial(PageReader, self.client, self.memory, query, call_options)
        return Pages(begin)

    def fetch(
        self,
        query: ListQuery,
        *,
        wait: bool,
        show: Callable[[int, int | None, Wait | None], None],
    ) -> pd.DataFrame:
        """
        Read a listing to its end.

        Args:
            query: What is asked for.
            wait: Wait for the next day's quota.
            show: Called with the animals so far, how many there may be, and what the
                next ones wait for.

        Raises:
            IncompleteListingError: A complete one was required; the frame is in
                `last_partial`.
        """
        columns = PetColumns()

        def on_wait(wait: Wait | None) -> None:
            show(len(columns), pages.size, wait)

        pages = self.pages(query, CallOptions(wait=wait, on_wait=on_wait))
        try:
            for page in pages:
                columns.add(page.rows)
                on_wait(None)
        except KeyboardInterrupt:
            raise Interrupted(
                f"{pluralize(len(columns), 'animal')} so far, in last_partial."
            ) from None
        finally:
            self.last_partial = frame = columns.to_frame(pages.listing)
        listing = Listing.as_listed(frame)
        if query.require is not None and not listing.complete:
            raise IncompleteListingError(listing.shortfall, listing=listing)
        self.last_partial = None
        return frame
