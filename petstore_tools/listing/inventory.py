"""The inventory of a store: listed whole, as a frame, or page by page (§4.1)."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from petstore_tools.errors import ArgumentError, IncompleteListingError, Interrupted
from petstore_tools.http.client import Client
from petstore_tools.listing.completeness import HOLE, Listing
from petstore_tools.listing.frames import PetColumns
from petstore_tools.listing.pages import PageReader, Pages, PagingMemory
from petstore_tools.listing.state import ListQuery
from petstore_tools.settings import Settings
from petstore_tools.text import option, parse_duration, pluralize
from petstore_tools.throttle.gate import ALONE, CallOptions
from petstore_tools.throttle.throttle import Wait

if TYPE_CHECKING:
    import pandas as pd

    from petstore_tools.history.reading import History

Show = Callable[[int, int | None, Wait | None], None]


def _depth() -> int:
    """Return how far above the caller the first line outside the toolkit is."""
    frame = sys._getframe(1)
    depth = 1
    while frame.f_back and frame.f_globals["__name__"].startswith("petstore_tools."):
        frame = frame.f_back
        depth += 1
    return depth


class Inventory:
    """
    The animals of one service, as one key sees them.

    Args:
        client: One key at one service.
        settings: How the service pages, where somebody says so, and the folder of what
            listings have proved of services.
        history_file: Those of this service.

    Attributes:
        client, memory: What sends the requests; how the service pages.
        last_partial: What the last listing had when it was interrupted, labelled as
            cut, or was not complete as required; None where it ended.
    """

    def __init__(
        self, client: Client, settings: Settings, history_file: History
    ) -> None:
        self.client = client
        self._history = history_file
        path = settings.state_dir / "services.json"
        self.memory = PagingMemory(path, client.service_id, settings.pagination)
        self.last_partial: pd.DataFrame | None = None

    def pages(self, query: ListQuery, call_options: CallOptions = ALONE) -> Pages:
        """
        Return a listing that is read as it is iterated.

        >>> [len(page) for page in store.inventory.pages(ListQuery(limit=90))]
        [90, 90, 70]
        """
        return Pages(partial(PageReader, self.client, self.memory, query, call_options))

    def list_pets(
        self, query: ListQuery, max_age: str | None, *, wait: bool, show: Show
    ) -> pd.DataFrame:
        """
        Answer from a kept listing, else fetch one and keep it; without an age, fetch.

        What the listing lacks is a warning at the line that called the caller.

        Raises:
            ArgumentError: The age is none, or cannot be combined with the query.
        """
        notes: list[str] = []
        history = self._history
        if max_age is not None:
            if query.first is not None:
                raise ArgumentError(
                    f"{option('max_age')} cannot be combined with {option('first')}"
                )
            age_s = parse_duration(str(max_age))
            if age_s is None:
                raise ArgumentError(
                    f"{option('max_age')} must be an age such as '1h' or '2d' (s, min,"
                    f" h, d or w), not {max_age!r}"
                )
            now = self.client.clock.now()
            with history.noting(notes, "the kept listings were not read"):
                recent = history.recent_frame(age_s, status=query.status, now=now)
                if recent is not None:
                    return recent
        frame = self.fetch(query, wait=wait, show=show)
        listing = Listing.as_listed(frame)
        if not listing.complete and query.first is None:
            notes.append(listing.shortfall)
        notes += [note for note in listing.notes if note != HOLE]
        if max_age is not None and listing.complete and query.status is None:
            with history.noting(notes, "this listing was not kept as a snapshot"):
                history.keep(frame)
        for note in notes:
            warnings.warn(note, UserWarning, stacklevel=_depth())
        return frame

    def fetch(self, query: ListQuery, *, wait: bool, show: Show) -> pd.DataFrame:
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
            show(len(columns), reader.expected_count, wait)

        call_options = CallOptions(wait=wait, on_wait=on_wait)
        reader = PageReader(self.client, self.memory, query, call_options)
        try:
            for page in reader:
                columns.add(page.rows)
                on_wait(None)
        except KeyboardInterrupt:
            raise Interrupted(
                f"{pluralize(len(columns), 'animal')} so far, in last_partial."
            ) from None
        finally:
            self.last_partial = frame = columns.to_frame(reader.listing)
        listing = Listing.as_listed(frame)
        if query.require is not None and not listing.complete:
            raise IncompleteListingError(listing)
        self.last_partial = None
        return frame
