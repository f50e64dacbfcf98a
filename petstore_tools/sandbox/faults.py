"""Faults of a service, on purpose: slow, silent, sick or garbled answers, for tests and teaching."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from petstore_tools.errors import ArgumentError
from petstore_tools.service.messages import App, Receive, Scope, Send, error

Kind = Literal["slow", "drop_before", "drop_after", "sick_before", "sick_after", "garbage"]
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


@dataclass(frozen=True)
class Fault:
    """
    What goes wrong, and when.

    Args:
        kind: `slow`: answered after `seconds`; `drop_before`: the connection breaks and nothing was done;
            `drop_after`: it was done, and the answer is lost; `sick_before`, `sick_after`: 500 without or
            with the deed; `garbage`: it was done, and the body is no JSON.
        method: Only requests of this method (in capitals), None for all.
        every: Each so manieth of them.
        at: In place of `every`: these of them, from 1.
        seconds: Of the machine's clock, for `slow`.

    Raises:
        ArgumentError: There is no such kind or method, a number in `at` or `every` is below 1, or `seconds`
            is negative.
    """

    kind: Kind
    method: str | None = None
    every: int = 1
    at: tuple[int, ...] = ()
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ArgumentError(f"kind is one of {', '.join(get_args(Kind))}, not {self.kind!r}")
        if self.method is not None and self.method not in METHODS:
            raise ArgumentError(f"method is one of {', '.join(METHODS)}, not {self.method!r}")
        if not (self.every >= 1 and self.seconds >= 0):
            raise ArgumentError("every is at least 1, and seconds are not negative")
        if not isinstance(self.at, tuple | list) or not all(isinstance(n, int) and n >= 1 for n in self.at):
            raise ArgumentError(f"at has the numbers of requests, at least 1 each, not {self.at!r}")

    def hits(self, number: int) -> bool:
        """Say whether the nth request of its method goes wrong."""
        return number in self.at if self.at else number % self.every == 0


class FaultInjector:
    """
    An ASGI application, served by uvicorn, in which requests go wrong.

    Args:
        app: Answers.
        faults: What goes wrong; may be changed while it serves. The first that hits counts.
    """

    def __init__(self, app: App, faults: Sequence[Fault]) -> None:
        self._app, self.faults = app, list(faults)
        self._asked: dict[str | None, int] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or fail to."""
        for method in (scope.get("method"), None):
            self._asked[method] = self._asked.get(method, 0) + 1
        fault = next(
            (
                fault
                for fault in self.faults
                if fault.method in (None, scope.get("method")) and fault.hits(self._asked[fault.method])
            ),
            None,
        )
        if fault is None:
            await self._app(scope, receive, send)
            return
        if fault.kind == "slow":
            await asyncio.sleep(fault.seconds)
            await self._app(scope, receive, send)
            return
        answer: list[MutableMapping[str, Any]] = []

        async def keep(message: MutableMapping[str, Any]) -> None:
            answer.append(message)

        if not fault.kind.endswith("before"):
            await self._app(scope, receive, keep)
        if fault.kind.startswith("drop"):
            _hang_up(send)
        elif fault.kind.startswith("sick"):
            await error(500, "internal_error", "a fault on purpose").send(send)
        else:
            body = b"<html>no JSON</html>"
            start, rest = answer[0], {"type": "http.response.body", "body": body}
            length = (b"content-length", b"%d" % len(body))
            start["headers"] = [h for h in start["headers"] if h[0] != b"content-length"] + [length]
            await send(start)
            await send(rest)


def _hang_up(send: Send) -> None:
    """Break the connection without a byte: ASGI has no word for it, uvicorn's connection has."""
    cycle: Any = getattr(send, "__self__", None)
    cycle.transport.abort()
    cycle.response_started = cycle.response_complete = True
