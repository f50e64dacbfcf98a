"""
One HTTP connection, bounded: uvicorn's own on httptools takes what comes, for as long as it comes.

What a caller without a key can make the service remember or wait for is limited here: bytes that
are no body, requests sent ahead of their answers, the time until a request is complete, and the
number of connections.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from petstore_tools.service.messages import (
    CLOSE_AFTER_S,
    COMPLETE,
    Receive,
    Response,
    Scope,
    Send,
    error,
)

MAX_HEAD_BYTES: Final = 64 << 10  # of headers and request line; of what else is no body
MAX_DROPPED_BYTES: Final = 2 << 20  # of a refused body, before we read no more
PIECE: Final = 1 << 10  # bytes parsed at once: requests sent ahead wait as bytes, not as objects
SHUTDOWN_WITHIN_S: Final = (
    4.0  # at the end of the service, a caller completes a request within this time
)
WITHIN_S: Final = 10.0  # a request is complete within this time, and some of an answer is read
STALLED_S: Final = 1.0  # a caller that has kept the service waiting so long makes room for another
MAX_CONNECTIONS: Final = 512
SPARE: Final = 100  # connections above the limit that still get an answer, 503


async def busy(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001
    """Answer in place of the service where there are too many connections."""
    response = error(503, "busy", "too many connections are open; try again in a second")
    await response.add("Retry-After", 1).send(send, unread=receive)


class _Flow(FlowControl):
    """Reads on only when what came before has been parsed."""

    held = False

    def resume_reading(self) -> None:
        if not self.held:
            super().resume_reading()


class BoundedConnection(HttpToolsProtocol):
    """An HTTP/1.1 connection that keeps little in memory and does not wait for ever."""

    flow: _Flow
    _timer: asyncio.TimerHandle  # from the first moment

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._limit, self.limit_concurrency = self.limit_concurrency or MAX_CONNECTIONS, None
        self._rest = b""  # came, and is not parsed yet
        self._section = 0  # bytes of a header section, of trailers, or between parts of a body
        self._open = self._ignoring = (
            False  # a request has begun and is not complete; nothing more is parsed
        )
        self._since = self.loop.time()  # when the caller's turn began
        self._unread = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room for a new connection, or turn it away."""
        super().connection_made(transport)
        self.flow = _Flow(transport)
        self._timer = self.loop.call_later(WITHIN_S, self._check)
        if len(self.connections) <= self._limit:
            return
        stalled: Any = max(self.connections, key=lambda one: one._waited())  # type: ignore[union-attr]
        if stalled._waited() >= STALLED_S:
            stalled.transport.abort()
            stalled._since = self.loop.time()  # the next one makes room at another's cost
        elif len(self.connections) <= self._limit + SPARE:
            self.app = busy
        else:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """
        Parse what came, unless a complete request waits for its answer: then read no more until
        that.
        """
        if self._refused:
            self._section += len(data)  # dropped
            if self._section > MAX_DROPPED_BYTES:
                self.flow.pause_reading()
            return
        self._rest = self._rest + data if self._rest else data
        self._parse()

    def _parse(self) -> None:
        data, start = self._rest, 0
        while start < len(data) and not (
            self._answering or self._ignoring or self.transport.is_closing()
        ):
            if not self._open:
                self._open, self._since = True, self.loop.time()
            piece = data[start : start + PIECE] if len(data) > PIECE else data
            start += PIECE
            self._section += len(piece)
            if self._section > MAX_HEAD_BYTES:
                self._end(
                    error(
                        431, "headers_too_large", f"headers have at most {MAX_HEAD_BYTES:,} bytes"
                    )
                )
            else:
                super().data_received(piece)
        self._rest = b"" if self._ignoring else data[start:]
        self.flow.held = bool(self._rest)
        if self.flow.held and not self.transport.is_closing():
            self.flow.pause_reading()

    @property
    def _refused(self) -> bool:
        """Whether a request got its answer before it was complete: then the connection ends."""
        cycle = self.cycle
        return (
            cycle is not None
            and cycle.response_started
            and cycle.more_body
            and not cycle.keep_alive
        )

    @property
    def _answering(self) -> bool:
        """Whether a complete request waits for its answer."""
        return (
            self.cycle is not None and not self.cycle.response_complete and not self.cycle.more_body
        )

    def on_headers_complete(self) -> None:
        """Start a request; what follows as a header is a trailer, and nobody reads those."""
        super().on_headers_complete()
        self.headers, self._section = [], 0

    def on_body(self, body: bytes) -> None:
        """Take in a part of a body; beside it, chunks may have a little of their own."""
        self._section = max(0, self._section - 8 * len(body))
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note that a request is complete."""
        self._open, self._section = False, 0
        self.scope[COMPLETE] = True  # type: ignore[typeddict-unknown-key]
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Parse what came meanwhile."""
        super().on_response_complete()
        self._since = self.loop.time()
        if self._rest and not self.transport.is_closing():
            self._parse()
            self.flow.resume_reading()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, behind the answers to what was."""
        if not self._owes_responses():
            super().send_400_response(msg)

    def shutdown(self) -> None:
        """
        Finish what is under way: a complete request is answered, another is waited for a little.
        """
        super().shutdown()
        self.loop.call_later(SHUTDOWN_WITHIN_S, self._abort_unless_answering)

    def _abort_unless_answering(self) -> None:
        if not self._answering:
            self.transport.abort()

    def _waited(self) -> float:
        """Return for how many seconds it has been the caller's turn."""
        return 0.0 if self._answering else self.loop.time() - self._since

    def _check(self) -> None:
        """Close it where the caller neither sends the rest of a request nor reads an answer."""
        unread, before = self.transport.get_write_buffer_size(), self._unread
        self._unread = unread
        if (unread and unread == before) or (self._ignoring and not self._answering):
            self.transport.abort()
            return
        waited = self._waited()
        if waited >= WITHIN_S and not self.transport.is_closing():
            self._end(
                error(
                    408, "request_timeout", f"a request has to be complete within {WITHIN_S:.0f} s"
                )
            )
        else:
            self._timer = self.loop.call_later(max(STALLED_S, WITHIN_S - waited), self._check)

    def _end(self, response: Response) -> None:
        """Read no more: refuse the request that has begun, and close the connection."""
        if self._owes_responses():
            return
        self._ignoring = True
        if self._refused:
            self.transport.close()
            return
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self._open:
            length = b"content-length: %d\r\n" % len(response.body)
            head = STATUS_LINE[response.status] + b"content-type: application/json\r\n" + length
            self.transport.write(head + b"connection: close\r\n\r\n" + response.body)
        self.transport.write_eof()
        self._since = 0.0  # the first to make room
        self.flow.pause_reading()
        # closed with unread bytes in it, a connection is reset, and the answer is lost with it: not
        # at once
        self.loop.call_later(CLOSE_AFTER_S, self.transport.abort)

    def _owes_responses(self) -> bool:
        """
        Say whether earlier requests wait for their answers; then nothing behind them is read any
        more.
        """
        owes = self._answering or bool(self.pipeline)
        if owes:
            self._ignoring, self.cycle.keep_alive = True, False
        return owes
