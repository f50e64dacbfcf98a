"""A request as it was asked and an answer as it goes out: plain values on both sides of ASGI."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from petstore_tools.service import bodies

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

BODY_LONGEST: Final = 1 << 20
WHOLE: Final = "petstore_tools.whole"  # in a scope: the body came with the head (`connection`)
LEAVE_WITHIN_S: Final = 2.0
_TYPE: Final = (b"content-type", b"application/json")
_WITHOUT_BODY: Final = ("GET", "HEAD", "DELETE", "OPTIONS")


class Disconnected(Exception):  # noqa: N818 - no fault of ours
    """The caller went away before its request was whole."""


@dataclass(slots=True)
class Asked:
    """
    A request.

    Attributes:
        method, path: As they came, the path decoded.
        query: Raw bytes.
        key: The bearer token, "" where there is none, or more than one.
        content_type: As it came.
        body: Up to one byte more than is allowed; None: not read yet.
        address: Of the caller.
        answer: Where its answer is put; None where its body is needed for one.
        length: Of the body as its head announces it; 1 where it announces a body without a length.
        since: No later than it was sent, by the clock of `batches`.
    """

    method: str
    path: str
    query: bytes
    key: str
    content_type: str
    body: bytes | None
    address: str
    answer: asyncio.Future[Answer | None]
    length: int = 0
    since: float = math.inf


@dataclass(slots=True)
class Answer:
    """
    An answer.

    Attributes:
        status: HTTP status code.
        body: JSON in UTF-8.
        headers: Names in lower case.
    """

    status: int
    body: bytes
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)

    def add(self, name: str, value: object) -> Answer:
        """Add a header."""
        self.headers.append((name.lower().encode(), str(value).encode()))
        return self

    async def send(self, send: Send) -> None:
        """Send it."""
        await self._send(send, more=False)

    async def send_and_leave(self, receive: Receive, send: Send) -> None:
        """
        Send it before the request was read, and close the connection.

        Not at once: a connection that is closed with unread bytes in it is reset, and the answer may be lost.
        """
        self.add("Connection", "close")
        await self._send(send, more=True)
        with suppress(TimeoutError, Disconnected):
            async with asyncio.timeout(LEAVE_WITHIN_S):
                while (await _part(receive))[1]:
                    pass
        await send({"type": "http.response.body", "body": b""})

    async def _send(self, send: Send, *, more: bool) -> None:
        headers = [_TYPE, (b"content-length", b"%d" % len(self.body)), *self.headers]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body, "more_body": more})


def error(status: int, code: str, message: str) -> Answer:
    """Return an Error (§2.5)."""
    return Answer(status, bodies.dump({"code": code, "message": message, "status": status}))


def read_head(scope: Scope) -> Asked:
    """Read all of a request but its body; a body that nobody looks at counts as empty."""
    content_type, keys, length = "", [], 0
    headers: Iterable[tuple[bytes, bytes]] = scope["headers"]
    for name, value in headers:
        if name == b"authorization":
            scheme, _, token = value.partition(b" ")
            keys.append(token.strip().decode("latin-1") if scheme.lower() == b"bearer" else "")
        elif name == b"content-type":
            content_type = value.decode("latin-1")
        elif name == b"content-length":
            length = int(value)
        elif name == b"transfer-encoding":
            length = 1
    client = scope.get("client")
    return Asked(
        scope["method"],
        scope["path"],
        scope["query_string"],
        keys[0] if len(keys) == 1 else "",  # of two, no one knows which is meant
        content_type,
        None if length and scope["method"] not in _WITHOUT_BODY else b"",
        client[0] if client else "unknown",
        asyncio.get_running_loop().create_future(),
        length,
    )


async def read_body(receive: Receive) -> tuple[bytes, bool]:
    """
    Read a body, up to one byte more than is allowed.

    Returns:
        The body, and whether more of it is to come.

    Raises:
        Disconnected: The caller went away.
    """
    body, more = bytearray(), True
    while more and len(body) <= BODY_LONGEST:
        part, more = await _part(receive)
        body += part
    return bytes(body[: BODY_LONGEST + 1]), more


async def _part(receive: Receive) -> tuple[bytes, bool]:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise Disconnected
    return message.get("body", b""), message.get("more_body", False)
