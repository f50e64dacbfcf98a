"""Pages fetched side by side, before the pager asks for them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future

from petstore_tools.http.transport import Reply


class Prefetcher:
    """
    Fetches addresses in threads of its own, and returns each reply when it is asked for.

    The threads are daemons: an interrupted listing ends without waiting for them.

    Args:
        call: Gets an address; raises at once where the listing has ended.
    """

    def __init__(self, call: Callable[[str], Reply]) -> None:
        self._call = call
        self._fetched: dict[str, Future[Reply]] = {}

    def get(self, url: str, predicted: Iterable[str] = ()) -> Reply:
        """
        Return the reply of an address; meanwhile those that are predicted to follow are fetched,
        too.
        """
        for address in predicted:
            if address not in self._fetched:
                future = self._fetched[address] = Future[Reply]()
                threading.Thread(
                    target=self._fetch, args=(address, future), name="page", daemon=True
                ).start()
        return self._fetched.pop(url).result() if url in self._fetched else self._call(url)

    def _fetch(self, url: str, future: Future[Reply]) -> None:
        try:
            future.set_result(self._call(url))
        except BaseException as error:
            future.set_exception(error)
