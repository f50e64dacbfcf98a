"""A request as it was asked and an answer as it goes out: plain values on both sides of ASGI."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Final

from petstore_tools.service import bodies

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

BODY_LONGEST: Final = 1 << 20
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
        key: The bearer token, "" where there is none.
        content_type: As it came.
        body: Up to one byte more than is allowed.
        address: Of the caller.
        answer: Where its answer is put.
    """

    method: str
    path: str
    query: bytes
    key: str
    content_type: str
    body: bytes
    address: str
    answer: asyncio.Future[Answer]


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
        headers = [_TYPE, (b"content-length", b"%d" % len(self.body)), *self.headers]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


def error(status: int, code: str, message: str) -> Answer:
    """Return an Error (§2.5)."""
    return Answer(status, bodies.dump({"code": code, "message": message, "status": status}))


async def read(scope: Scope, receive: Receive) -> Asked:
    """
    Read a request.

    Raises:
        Disconnected: The caller went away.
    """
    key = content_type = ""
    has_body = scope["method"] not in _WITHOUT_BODY
    headers: Iterable[tuple[bytes, bytes]] = scope["headers"]
    for name, value in headers:
        if name == b"authorization":
            scheme, _, token = value.partition(b" ")
            key = token.strip().decode("latin-1") if scheme.lower() == b"bearer" else ""
        elif name == b"content-type":
            content_type = value.decode("latin-1")
    body = bytearray()
    while has_body:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        if len(body) <= BODY_LONGEST:
            body += message.get("body", b"")
        has_body = message.get("more_body", False)
    client = scope.get("client")
    return Asked(
        scope["method"],
        scope["path"],
        scope["query_string"],
        key,
        content_type,
        bytes(body),
        client[0] if client else "unknown",
        asyncio.get_running_loop().create_future(),
    )
