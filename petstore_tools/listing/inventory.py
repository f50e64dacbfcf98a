"""The inventory of a store: listed whole, as a frame, or page by page (§4.1)."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from petstore_tools.errors import IncompleteListingError, Interrupted
from petstore_tools.http.client import Client
from petstore_tools.listing.completeness import HOLE, Listing, ListQuery
from petstore_tools.listing.frames import PetColumns
from petstore_tools.listing.pages import PageReader, Pages, PagingMemory
from petstore_tools.settings import Settings
from petstore_tools.text import pluralize
from petstore_tools.throttle.gate import ALONE, CallOptions
from petstore_tools.throttle.throttle import Wait

if TYPE_CHECKING:
    import pandas as pd

Show = Callable[[int, int | None, Wait | None], None]


def warn_caller(*notes: str) -> None:
    """Warn at the line that called the toolkit; "" is no warning."""
    frame = inspect.currentframe()
    depth = 1
    while (
        frame
        and frame.f_back
        and frame.f_globals.get("__name__", "").startswith("petstore_tools.")
    ):
        frame = frame.f_back
        depth += 1
    for note in filter(None, notes):
        warnings.warn(note, UserWarning, stacklevel=depth)


class Inventory:
    """
    The animals of one service, as one key sees them.

    Args:
        client: One key at one service.
        settings: How the service pages, where somebody says so, and the folder of what
            listings have proved of services.

    Attributes:
        client, memory: What sends the requests; how the service pages.
        last_partial: What the last listing had when it was interrupted, labelled as
            cut, or was not complete as required; None where it ended.
    """

    def __init__(self, client: Client, settings: Settings) -> None:
        self.client = client
        path = settings.state_dir / "services.json"
        self.memory = PagingMemory(path, client.service_id, settings.pagination)
        self.last_partial: pd.DataFrame | None = None

    def count_requests(self) -> int | None:
        """Return how many requests a listing takes, None before the first one."""
        size = self.memory.evidence.sizes.get("")
        return None if size is None else self.memory.evidence.count_requests(size)

    def pages(self, query: ListQuery, call_options: CallOptions = ALONE) -> Pages:
        """
        Return a listing that is read as it is iterated.

        >>> [len(page) for page in store.inventory.pages(ListQuery(limit=90))]
        [90, 90, 70]
        """
        return Pages(partial(PageReader, self.client, self.memory, query, call_options))

    def list_pets(self, query: ListQuery, *, wait: bool, show: Show) -> pd.DataFrame:
        """
        Read a listing to its end.

        What it lacks is a warning at the line that called the toolkit.

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
            show(len(columns), reader.expected_count, wait)

        call_options = CallOptions(wait=wait, on_wait=on_wait)
        reader = PageReader(self.client, self.memory, query, call_options)
        try:
            for page in reader:
                columns.add(page.rows)
                on_wait(None)
        except KeyboardInterrupt:
            animals = pluralize(len(columns), "animal")
            raise Interrupted(
                f"The listing was interrupted; last_partial has {animals}."
            ) from None
        finally:
            self.last_partial = frame = columns.to_frame(reader.listing)
        listing = Listing.as_listed(frame)
        if query.require is not None and not listing.complete:
            raise IncompleteListingError(listing)
        self.last_partial = None
        if not listing.complete and query.first is None:
            warn_caller(listing.shortfall)
        warn_caller(*[note for note in listing.notes if note != HOLE])
        return frame
