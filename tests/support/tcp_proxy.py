"""A TCP proxy in front of a database: it delays, counts round trips, and can stop forwarding."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from typing import Self
from urllib.parse import urlsplit


class TcpProxy:
    """
    Forwards connections to a port of this machine.

    Args:
        port: Where it forwards to.
        delay_s: Held back are answers, so that this is the time of a round trip.
        cut_behind: While `cutting` is set, a connection is cut behind what holds these bytes.

    Attributes:
        round_trips: How often the caller spoke after the other side had, or first; set it to 0 to
            count anew.
        flowing: Cleared, nothing is forwarded until it is set again, and no connection is cut.
    """

    def __init__(self, port: int, *, delay_s: float = 0.0, cut_behind: bytes = b"") -> None:
        self._upstream = port
        self._delay_s = delay_s
        self.round_trips = 0
        self._cut_behind = cut_behind
        self.cutting = threading.Event()
        self.flowing = threading.Event()
        self.flowing.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)  # wakes its thread
        self._listener.close()
        self.flowing.set()

    def url(self, url: str) -> str:
        """Return the same database's address, through this proxy."""
        return url.replace(f":{urlsplit(url).port}/", f":{self.port}/")

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                self._join(self._listener.accept()[0])

    def _join(self, caller: socket.socket) -> None:
        try:
            upstream = socket.create_connection(("127.0.0.1", self._upstream))
        except ConnectionRefusedError:
            caller.close()
            return
        for end in (caller, upstream):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        asked: list[bool] = []
        for ends in ((caller, upstream, True), (upstream, caller, False)):
            threading.Thread(target=self._forward, args=(*ends, asked), daemon=True).start()

    def _forward(
        self, source: socket.socket, target: socket.socket, asks: bool, asked: list[bool]
    ) -> None:
        with source, suppress(OSError):
            while data := source.recv(1 << 16):
                self.flowing.wait()
                if asks and not asked:
                    self.round_trips += 1
                    asked.append(True)
                if not asks:
                    asked.clear()
                    if self._delay_s:
                        time.sleep(self._delay_s)
                if asks and self.cutting.is_set() and self._cut_behind in data:
                    source.shutdown(socket.SHUT_RDWR)  # first, or the answer may be quicker
                target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)  # wakes the other thread
