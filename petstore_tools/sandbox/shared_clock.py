"""
A manual clock that several processes of this machine share: for a sandbox, never for a real
service.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from typing import Final

from petstore_tools.clock import ManualClock

CALLS: Final = frozenset({"now", "sleep_until", "poke", "begin_work", "end_work"})


class ClockServer:
    """
    Lets other processes use a clock, a thread for each of theirs; a process that dies holds it up
    no longer.

    Attributes:
        address, secret: What `RemoteClock` needs.
    """

    def __init__(self, clock: ManualClock) -> None:
        self._clock, self.secret, self._closed = clock, secrets.token_hex(16), False
        self._listener = Listener(authkey=self.secret.encode())
        self.address = str(self._listener.address)
        threading.Thread(None, self._accept, "sandbox clock", daemon=True).start()

    def close(self) -> None:
        """Accept no more, and end the thread."""
        self._closed = True
        with suppress(OSError, EOFError, AuthenticationError):  # wakes the thread
            Client(self.address, authkey=self.secret.encode()).close()
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError, EOFError):  # closed
            while not self._closed:
                peer = self._listener.accept()
                threading.Thread(None, self._serve, "sandbox clock", (peer,), daemon=True).start()

    def _serve(self, peer: Connection) -> None:
        working = 0
        with peer, suppress(OSError, EOFError):  # the process ended
            while True:
                call, *arguments = peer.recv()
                if call not in CALLS:
                    break
                peer.send(getattr(self._clock, call)(*arguments))
                working += (call == "begin_work") - (call == "end_work")
        for _ in range(working):
            self._clock.end_work()


class RemoteClock:
    """
    The clock of a `ClockServer`, in another process; a connection for each thread.

    Args:
        address, secret: Of the server.
    """

    def __init__(self, address: str, secret: str) -> None:
        self._address, self._secret = address, secret.encode()
        self._local = threading.local()

    def now(self) -> float:
        """Return Unix seconds."""
        return float(self._call("now"))  # type: ignore[arg-type]

    def sleep_until(self, at: float) -> None:
        """Sleep until the clock shows `at`, or less."""
        self._call("sleep_until", at)

    def poke(self) -> None:
        """Wake all sleepers."""
        self._call("poke")

    @contextmanager
    def working(self) -> Iterator[None]:
        """Keep the clock from moving by itself while this thread works."""
        self._call("begin_work")
        try:
            yield
        finally:
            self._call("end_work")

    def _call(self, *call: object) -> object:
        if not hasattr(self._local, "connection"):
            self._local.connection = Client(self._address, authkey=self._secret)
        self._local.connection.send(call)
        return self._local.connection.recv()
