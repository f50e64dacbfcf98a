"""A proxy in front of a real service that loses what a test wants lost."""

import socket
import threading

from raw import RawServer


class FaultProxy(RawServer):
    """
    Forwards each request on a connection of its own.

    Args:
        upstream: Base address of the service.
        choose_action: Method and number of the request (from 1, per method) to what
            becomes of it: `pass`, `drop before` or `drop after` the service has seen
            it; bytes are a whole reply that the service never sees the request for; a
            function is given what asks the service, and the request, and returns the
            reply.
    """

    def __init__(self, upstream, choose_action):
        self._upstream = int(upstream.rpartition(":")[2].partition("/")[0])
        self._choose_action = choose_action
        self.counts = {}
        self._lock = threading.Lock()
        super().__init__(self._forward)

    def _forward(self, connection, request):
        method = request.partition(b" ")[0].decode()
        with self._lock:
            number = self.counts[method] = self.counts.get(method, 0) + 1
        action = self._choose_action(method, number)
        if isinstance(action, bytes):
            connection.sendall(action)
        elif callable(action):
            connection.sendall(action(self.ask, request))
        elif action != "drop before":
            reply = self.ask(request)
            if action == "pass":
                connection.sendall(reply)

    def ask(self, request):
        """Send a request to the service, and return the reply."""
        with socket.create_connection(("127.0.0.1", self._upstream)) as upstream:
            upstream.sendall(
                _rewrite(request, message_body(request), b"Connection: close")
            )
            reply = b""
            while chunk := upstream.recv(65_536):
                reply += chunk
            return reply


def replace_body(message, body):
    """Return a request or a reply with another body."""
    return _rewrite(message, body, f"Content-Length: {len(body)}".encode())


def _rewrite(message, body, header):
    """Return a message with a body, and with a header in place of the one it had."""
    name = header.partition(b":")[0].lower()
    lines = message.partition(b"\r\n\r\n")[0].split(b"\r\n")
    kept = [line for line in lines if not line.lower().startswith(name)]
    return b"\r\n".join([*kept, header, b"", body])


def message_body(message):
    """Return the body of a request or a reply."""
    return message.partition(b"\r\n\r\n")[2]
