"""How many requests a listing or an import has sent, and whether it may send one again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

LEAST_RETRIES: Final = 10  # of one listing; a long one may retry a tenth of its requests


class Tally:
    """
    Counts the requests of one listing, whichever thread sends them, and bounds its retries.

    Args:
        most: Requests that the listing may send, None for no bound.
        on_count: Called with each request.

    Attributes:
        sent: Requests that may have reached the service, retries included.
        retries: Requests that were sent again after a failure, those included that never left.
        pages: Pages that the listing is expected to have; a retry for every tenth is allowed.
        refused: Why a retry was refused, "" while none was.
    """

    def __init__(
        self, most: int | None = None, *, on_count: Callable[[], None] = lambda: None
    ) -> None:
        self._most, self._on_count, self._lock = most, on_count, threading.Lock()
        self.sent = self.retries = self.pages = 0
        self.refused = ""

    def count(self) -> None:
        """Count a request."""
        with self._lock:
            self.sent += 1
        self._on_count()

    @property
    def exhausted(self) -> bool:
        """Whether the listing has sent as many requests as it may."""
        return self._most is not None and self.sent >= self._most

    def may_retry(self) -> bool:
        """
        Say whether a request may be sent again, and count it: each costs a unit of the day (§8.2).
        """
        with self._lock:
            if self.exhausted:
                self.refused = (
                    f"it was not retried, since the listing was limited to {self.sent:,} requests"
                )
            elif self.retries >= max(LEAST_RETRIES, max(self.sent, self.pages) // 10):
                self.refused = (
                    f"it was not retried, since this listing had {self.retries:,} retries"
                )
            else:
                self.retries += 1
            return not self.refused
