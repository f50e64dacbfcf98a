"""
A TCP proxy in front of a database: it delays, counts round trips, and can stop
forwarding.
"""

import socket
import threading
import time
from contextlib import suppress
from urllib.parse import urlsplit

from raw import Listener


class TcpProxy(Listener):
    """
    Forwards connections to a port of this machine.

    Args:
        port: Where it forwards to.
        delay_s: Held back are answers, so that this is the time of a round trip.
        cut_behind: While `cutting` is set, a connection is cut behind what holds these
            bytes.

    Attributes:
        round_trips: How often the caller spoke after the other side had, or first; set
            it to 0 to count anew.
        flowing: Cleared, nothing is forwarded until it is set again, and no connection
            is cut.
    """

    def __init__(self, port, *, delay_s=0.0, cut_behind=b""):
        self._upstream = port
        self._delay_s = delay_s
        self.round_trips = 0
        self._cut_behind = cut_behind
        self.cutting = threading.Event()
        self.flowing = threading.Event()
        self.flowing.set()
        super().__init__()

    def __exit__(self, *error):
        super().__exit__(*error)
        self.flowing.set()

    def url(self, url):
        """Return the same database's address, through this proxy."""
        return url.replace(f":{urlsplit(url).port}/", f":{self.port}/")

    def handle(self, connection):
        """Forward what both sides say, until one of them ends."""
        upstream = socket.create_connection(("127.0.0.1", self._upstream))
        for end in (connection, upstream):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        open_requests = []
        back = (upstream, connection, False, open_requests)
        threading.Thread(target=self._forward, args=back, daemon=True).start()
        self._forward(connection, upstream, True, open_requests)

    def _forward(self, source, target, is_caller, open_requests):
        with source, suppress(OSError):
            while data := source.recv(1 << 16):
                self.flowing.wait()
                if is_caller and not open_requests:
                    self.round_trips += 1
                    open_requests.append(True)
                if not is_caller:
                    open_requests.clear()
                    if self._delay_s:
                        time.sleep(self._delay_s)
                if is_caller and self.cutting.is_set() and self._cut_behind in data:
                    # first, or the answer may be quicker
                    source.shutdown(socket.SHUT_RDWR)
                target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)  # wakes the other thread
