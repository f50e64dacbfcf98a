"""
Faults of a service, on purpose: slow, lost, failing or garbled responses, for tests and
teaching.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import NonNegativeFloat, PositiveInt, TypeAdapter
from pydantic.dataclasses import dataclass
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from petstore_tools.service.app import Service, answer_error, respond

Kind = Literal[
    "slow", "drop_before", "drop_after", "error_before", "error_after", "garbage"
]
TrafficRow = tuple[datetime, str, str, int]  # time, method, path and status
Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


@dataclass(frozen=True)
class Fault:
    """
    What goes wrong, and when.

    Args:
        kind: `slow`: the response comes after `seconds`; `drop_before`: the connection
            breaks, and nothing was done; `drop_after`: the request was carried out, and
            its response is lost; `error_before`, `error_after`: a 500, before or after
            the request was carried out; `garbage`: it was carried out, and the body of
            the response is no JSON.
        method: Only requests of this method (in capitals), None for all.
        every: Each nth of them: 3 for the third, the sixth and so on.
        numbers: In place of `every`: these of them, counted from 1.
        seconds: Of the machine's clock, for `slow`.

    Raises:
        ValueError: There is no such kind or method, a number in `numbers` or `every` is
            below 1, or `seconds` is negative (`pydantic.ValidationError`).
    """

    __module__ = "petstore_tools"

    kind: Kind
    method: Method | None = None
    every: PositiveInt = 1
    numbers: tuple[PositiveInt, ...] = ()
    seconds: NonNegativeFloat = 0.0

    def hits(self, number: int) -> bool:
        """
        Say whether the nth request of its method goes wrong.

            >>> [Fault("garbage", every=3).hits(number) for number in (1, 2, 3)]
            [False, False, True]
        """
        return number in self.numbers if self.numbers else number % self.every == 0


NO_FAULT = Fault("slow")  # slow by 0 s
FAULTS = TypeAdapter(list[Fault])


class FaultyService(Service):
    """
    The service, with requests that go wrong.

    Args:
        faults: What goes wrong; may be changed while it serves. The first that hits
            counts.
        arguments: Of `Service`.

    Attributes:
        faults: The list of them.
        traffic: Time, method, path and status of each answer of the service.

    Raises:
        ValueError: `faults` is no list of Fault.
    """

    def __init__(self, faults: Sequence[Fault], *arguments: Any) -> None:
        self.faults = FAULTS.validate_python(faults)
        super().__init__(*arguments)
        self.traffic = deque[TrafficRow](maxlen=1_000_000)
        # of each method; None: of all requests
        self._counts: Counter[str | None] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or do it wrong."""
        methods = (scope["method"], None)
        self._counts.update(methods)
        matches = (
            fault
            for fault in self.faults
            if fault.method in methods and fault.hits(self._counts[fault.method])
        )
        fault = next(matches, NO_FAULT)
        kind = fault.kind
        if kind == "slow":
            await asyncio.sleep(fault.seconds)
        messages: list[Message] = []

        async def keep(message: Message) -> None:
            messages.append(message)

        if not kind.endswith("before"):
            await super().__call__(scope, receive, keep)
            time = datetime.fromtimestamp(self.clock.now(), UTC)
            row = (time, scope["method"], scope["path"], messages[0]["status"])
            self.traffic.append(row)
        if kind.startswith("error"):
            error = answer_error(500, "a fault on purpose")
            await respond(error, self.clock.now())(scope, receive, send)
        elif kind.startswith("drop"):
            # the server refuses to write two lengths, and closes the connection without
            # a byte
            headers = {"Transfer-Encoding": "chunked"}
            await Response(b"x", 500, headers)(scope, receive, send)
        else:
            if kind == "garbage":
                start, body = messages
                pairs = start["headers"]
                start["headers"] = [p for p in pairs if p[0] != b"content-length"]
                body["body"] = b"<html>no JSON</html>"
            for message in messages:
                await send(message)
