"""A server that does with each connection what a test says, byte by byte."""

import re
import socket
import threading
from contextlib import suppress


class Listener:
    """Hands each connection to `connected`, in a thread of its own, which closes it."""

    def __init__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._listener.shutdown(socket.SHUT_RDWR)  # wakes its thread
        self._listener.close()

    def _accept(self):
        with suppress(OSError):  # closed
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(
                    target=self._serve_one, args=(connection,), daemon=True
                ).start()

    def _serve_one(self, connection):
        with suppress(OSError), connection:  # the other end is gone
            self.handle(connection)

    def handle(self, connection):
        """Do what is to be done with a connection."""
        raise NotImplementedError


class RawServer(Listener):
    """
    Hands each connection to a function, once its request is read, or the first bytes of
    a TLS handshake.

    Args:
        serve: Gets the connection and the bytes of the request, answers as it likes;
            its end closes the connection.
        tls: Makes it speak https.
    """

    def __init__(self, serve, *, tls=None):
        self._serve = serve
        self._tls = tls
        super().__init__()
        scheme = "http" if tls is None else "https"
        self.base_url = f"{scheme}://127.0.0.1:{self.port}/v1"

    def handle(self, connection):
        """Read the request, and hand it on."""
        if self._tls is not None:
            connection = self._tls.wrap_socket(connection, server_side=True)
        with connection:
            self._serve(connection, read_request(connection))


def read_request(connection):
    """Read a request with its body, or the first bytes of a TLS handshake."""
    request = b""
    while not request.startswith(b"\x16"):
        head, end, body = request.partition(b"\r\n\r\n")
        if end:
            length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
            if len(body) >= (int(length[1]) if length else 0):
                break
        chunk = connection.recv(65_536)
        if not chunk:
            raise ConnectionError("the other end is gone")
        request += chunk
    return request


def reply_bytes(status, body=b"{}", **headers):
    """Write a whole reply; underscores in header names become hyphens."""
    lines = [
        f"HTTP/1.1 {status} X",
        f"Content-Length: {len(body)}",
        "Connection: close",
    ]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def fixed_bytes(content):
    """Return what answers each request with the same bytes."""
    return lambda connection, request: connection.sendall(content)


def fixed_reply(status, body=b"[]", **headers):
    """Return what answers each request with the same reply."""
    return fixed_bytes(reply_bytes(status, body, **headers))
