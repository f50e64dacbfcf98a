"""A request as it came and a response as it goes out: plain values on both sides of ASGI."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from petstore_tools import spec
from petstore_tools.service import bodies

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MAX_BODY_BYTES: Final = 1 << 20
COMPLETE: Final = (
    "petstore_tools.complete"  # in a scope: the body came with the head (`connection`)
)
CLOSE_AFTER_S: Final = 2.0
_WITHOUT_BODY: Final = ("GET", "HEAD", "DELETE", "OPTIONS")


class Disconnected(Exception):  # noqa: N818 - no fault of ours
    """The caller disconnected before its request was complete."""


@dataclass(slots=True)
class Request:
    """
    A request.

    Attributes:
        method, path: As they came, the path decoded.
        query: Raw bytes.
        key: The bearer token, "" where there is none, or more than one.
        content_type: As it came.
        body: Up to one byte more than is allowed; None: not read yet.
        address: Of the caller.
        response: Where its response is put; None where its body is needed for one.
        length: Of the body as its head announces it; 1 where it announces a body without a length.
        since: No later than it was sent, by the clock of `batches`.
        key_id: Public id of a valid key, known when the request is counted.
    """

    method: str
    path: str
    query: bytes
    key: str
    content_type: str
    body: bytes | None
    address: str
    response: asyncio.Future[Response | None] = field(default_factory=asyncio.Future)
    length: int = 0
    since: float = math.inf
    key_id: str | None = None


@dataclass(slots=True)
class Response:
    """
    A response.

    Attributes:
        status: HTTP status code.
        body: JSON in UTF-8.
        headers: Names in lower case.
        content_type: Of the body.
    """

    status: int
    body: bytes
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    content_type: str = "application/json"

    def add(self, name: str, value: object) -> Response:
        """Add a header."""
        self.headers.append((name.lower().encode(), str(value).encode()))
        return self

    async def send(self, send: Send, *, unread: Receive | None = None) -> None:
        """
        Send it.

        Args:
            send: Of ASGI.
            unread: Of a request that is not read to its end: what still comes is dropped, and the
                connection
                is closed. Not at once: closed with unread bytes in it, a connection is reset, and
                the response may be lost.
        """
        kind, length = self.content_type.encode(), b"%d" % len(self.body)
        headers = [(b"content-type", kind), (b"content-length", length), *self.headers]
        headers += [(b"connection", b"close")] if unread else []
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send(
            {"type": "http.response.body", "body": self.body, "more_body": unread is not None}
        )
        if unread:
            with suppress(TimeoutError, Disconnected):
                async with asyncio.timeout(CLOSE_AFTER_S):
                    while (await _part(unread))[1]:
                        pass
            await send({"type": "http.response.body", "body": b""})


def error(status: int, code: str, message: str) -> Response:
    """Return an Error (§2.5)."""
    return Response(status, bodies.dump({"code": code, "message": message, "status": status}))


def too_many(banned: bool, wait_s: int) -> Response:
    """Return a 429 (§8.4)."""
    code, what = (
        ("key_banned", "this key is banned") if banned else ("rate_limited", "too many requests")
    )
    return error(429, code, f"{what}; wait {wait_s} s").add(spec.HEADER_RETRY_AFTER, wait_s)


def unauthorized() -> Response:
    """Return a 401 (§5)."""
    refused = error(401, "unauthorized", "the API key is missing or invalid")
    return refused.add("WWW-Authenticate", "Bearer")


def too_large() -> Response:
    """Return a 413."""
    return error(413, "body_too_large", f"a body has at most {MAX_BODY_BYTES:,} bytes")


def wrong_method(allowed: str) -> Response:
    """Return a 405."""
    return error(405, "method_not_allowed", f"this path accepts only {allowed}").add(
        "Allow", allowed
    )


def read_head(scope: Scope) -> Request:
    """Read all of a request but its body; a body that the method does not use counts as empty."""
    headers: dict[bytes, bytes] = dict(scope["headers"])
    credentials = [
        value.partition(b" ") for name, value in scope["headers"] if name == b"authorization"
    ]
    keys = [
        token.strip().decode("latin-1")
        for scheme, _, token in credentials
        if scheme.lower() == b"bearer"
    ]
    length = 1 if b"transfer-encoding" in headers else int(headers.get(b"content-length", 0))
    client = scope.get("client")
    return Request(
        method=scope["method"],
        path=scope["path"],
        query=scope["query_string"],
        key=keys[0]
        if len(keys) == len(credentials) == 1
        else "",  # of two, no one knows which is meant
        content_type=headers.get(b"content-type", b"").decode("latin-1"),
        body=None if length and scope["method"] not in _WITHOUT_BODY else b"",
        address=client[0] if client else "unknown",
        length=length,
    )


async def read_body(receive: Receive) -> tuple[bytes, bool]:
    """
    Read a body, up to one byte more than is allowed.

    Returns:
        The body, and whether more of it is to come.

    Raises:
        Disconnected: The caller disconnected.
    """
    body, more = bytearray(), True
    while more and len(body) <= MAX_BODY_BYTES:
        part, more = await _part(receive)
        body += part
    return bytes(body[: MAX_BODY_BYTES + 1]), more


async def _part(receive: Receive) -> tuple[bytes, bool]:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise Disconnected
    return message.get("body", b""), message.get("more_body", False)
