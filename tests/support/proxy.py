"""A proxy in front of a real service that loses what a test wants lost."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Literal, Self

Ask = Callable[[bytes], bytes]
Fate = Literal["pass", "drop before", "drop after"] | bytes | Callable[[Ask, bytes], bytes]


class FaultProxy:
    """
    Forwards each request on a connection of its own.

    Args:
        upstream: Base address of the service.
        fate: Method and number of the request (from 1, per method) to what becomes of it; bytes are
            a whole reply that the service never sees the request for; a function is given what asks
            the service, and the request, and returns the reply.
    """

    def __init__(self, upstream: str, fate: Callable[[str, int], Fate]) -> None:
        self._port = int(upstream.rpartition(":")[2].partition("/")[0])
        self._fate = fate
        self.counts: dict[str, int] = {}
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.base_url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(ConnectionError):  # one of the two ends is gone: so is the answer
            request = self._read(connection)
            if not request:
                return
            method = request.partition(b" ")[0].decode()
            with self._lock:
                number = self.counts[method] = self.counts.get(method, 0) + 1
            fate = self._fate(method, number)
            if isinstance(fate, bytes):
                connection.sendall(fate)
            elif callable(fate):
                connection.sendall(fate(self.ask, request))
            elif fate != "drop before":
                reply = self.ask(request)
                if fate == "pass":
                    connection.sendall(reply)

    def ask(self, request: bytes) -> bytes:
        """Send a request to the service, and return the reply."""
        with socket.create_connection(("127.0.0.1", self._port)) as upstream:
            head, _, body = request.partition(b"\r\n\r\n")
            kept = [
                line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection")
            ]
            upstream.sendall(b"\r\n".join([*kept, b"Connection: close"]) + b"\r\n\r\n" + body)
            reply = b""
            while chunk := upstream.recv(65_536):
                reply += chunk
            return reply

    @staticmethod
    def _read(connection: socket.socket) -> bytes:
        request = b""
        while b"\r\n\r\n" not in request:
            chunk = connection.recv(65_536)
            if not chunk:
                return b""
            request += chunk
        head, _, body = request.partition(b"\r\n\r\n")
        length = next(
            (
                int(line.partition(b":")[2])
                for line in head.split(b"\r\n")
                if line.lower().startswith(b"content-length:")
            ),
            0,
        )
        while len(body) < length:
            body += connection.recv(65_536)
        return head + b"\r\n\r\n" + body


def reply(status: int, body: bytes = b"{}", **headers: str) -> bytes:
    """Write a whole reply; underscores in header names become hyphens."""
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def with_body(message: bytes, body: bytes) -> bytes:
    """Return a request or a reply with another body."""
    head, _, _ = message.partition(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"content-length")]
    lines.append(f"Content-Length: {len(body)}".encode())
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def body_of(message: bytes) -> bytes:
    """Return the body of a request or a reply."""
    return message.partition(b"\r\n\r\n")[2]
