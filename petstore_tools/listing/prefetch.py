"""Pages fetched side by side, before the pager asks for them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Self

from petstore_tools.http.transport import Reply


class Prefetcher:
    """
    Fetches addresses in threads of its own, and returns each reply when it is asked for.

    Args:
        call: Gets an address.

    Threads start when there is something to fetch, and are daemons: an interrupted listing ends without
    waiting for them.
    """

    def __init__(self, call: Callable[[str], Reply]) -> None:
        self._call = call
        self._fetched: dict[str, Future[Reply]] = {}
        self._queue: SimpleQueue[tuple[str, Future[Reply]] | None] = SimpleQueue()
        self._threads = 0

    def get(self, url: str, predicted: Sequence[str] = ()) -> Reply:
        """Return the reply of an address; meanwhile those that are predicted to follow are fetched, too."""
        for address in predicted:
            self._fetch(address)
        if url in self._fetched:
            return self._fetched.pop(url).result()
        return self._call(url)

    def _fetch(self, url: str) -> None:
        if url in self._fetched:
            return
        self._fetched[url] = future = Future[Reply]()
        if self._threads < len(self._fetched):
            self._threads += 1
            threading.Thread(target=self._work, name="page", daemon=True).start()
        self._queue.put((url, future))

    def _work(self) -> None:
        while (task := self._queue.get()) is not None:
            url, future = task
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(self._call(url))
            except BaseException as error:
                future.set_exception(error)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Start nothing more."""
        for future in self._fetched.values():
            future.cancel()
        for _thread in range(self._threads):
            self._queue.put(None)
