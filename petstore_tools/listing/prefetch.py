"""Pages fetched side by side, before the pager asks for them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Self

from petstore_tools.http.transport import Reply


class Ahead:
    """
    Fetches addresses in threads of its own, and hands each answer to whoever asks for it.

    Args:
        call: Gets an address.
        stop: Ends the calls that wait.

    Threads start when there is something to fetch ahead, and are daemons: an interrupted listing leaves
    without waiting for them.
    """

    def __init__(self, call: Callable[[str], Reply], stop: Callable[[], None]) -> None:
        self._call, self._stop = call, stop
        self._fetched: dict[str, Future[Reply]] = {}
        self._queue: SimpleQueue[tuple[str, Future[Reply]] | None] = SimpleQueue()
        self._threads = 0

    def get(self, url: str, following: Sequence[str] = ()) -> Reply:
        """Return the answer of an address; meanwhile those that will follow are on their way."""
        for ahead in following:
            self._fetch(ahead)
        if url in self._fetched:
            return self._fetched.pop(url).result()
        return self._call(url)

    def close(self) -> None:
        """Start nothing more, and let those that wait go."""
        self._stop()
        for future in self._fetched.values():
            future.cancel()
        for _ in range(self._threads):
            self._queue.put(None)

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
        self.close()
