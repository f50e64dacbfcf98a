"""
The service as an ASGI application: key, quota, route, headers.

Requests that arrive while a commit is under way are answered together in the next one: one durable
commit for all of them (group commit), and one reading of each key and counter.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from email.utils import formatdate
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final

from petstore_tools import spec
from petstore_tools.clock import Clock
from petstore_tools.plans import Window
from petstore_tools.service import messages
from petstore_tools.service.batches import Batch, Batches, elapsed
from petstore_tools.service.database import Database, digest_of, subject_of
from petstore_tools.service.engine import LOCKED, SILENT, UnavailableError
from petstore_tools.service.limiter import Decision, Usage, consume, windows
from petstore_tools.service.messages import Receive, Request, Response, Scope, Send
from petstore_tools.service.operations import Operations

HEALTH_PATH: Final = spec.PATH_PREFIX + "/health"
OPENAPI_PATH: Final = spec.PATH_PREFIX + "/openapi.json"
OPENAPI: Final = files(__package__).joinpath("openapi.json").read_bytes()
DATABASE_S: Final = 4.0  # others may hold up a commit so long
RETRY_AFTER_S: Final = 5  # sent with a 503
HEALTH_WAIT_S: Final = 0.5
LATEST_S: Final = 15.0  # no create is committed longer than this after it was sent
CONNECTION_S: Final = 5.0  # what is sent ahead on an older connection is not read
MAX_REMEMBERED: Final = 10_000  # keys that were valid, and connections
REPORT_EVERY_S: Final = (
    10.0  # an outage fails thousands of requests: each kind is logged this often
)
MAX_PATH_LOGGED: Final = 200  # characters
_LIMIT, _REMAINING, _RESET = (
    name.lower().encode() for name in (spec.HEADER_LIMIT, spec.HEADER_REMAINING, spec.HEADER_RESET)
)
_log = logging.getLogger(__name__)


class Service:
    """
    The document over HTTP (§4, §5, §7, §8).

    Args:
        database: Animals, keys, counters.
        clock: The service's time; `Date` headers follow it.
        on_response: Called with each response's time, method, path and status.
        without_key: Minute and day of each address without a valid key.
        latest_s: No create is committed longer than this after it was sent.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        on_response: Callable[[float, str, str, int], None] = lambda *_: None,
        *,
        without_key: tuple[Window, Window] = windows(*spec.PLANS["free"]),
        latest_s: float = LATEST_S,
    ) -> None:
        self._database = database
        self._clock = clock
        self._on_response = on_response
        self._without_key = without_key
        self._latest_s = latest_s
        self._batches = Batches(self._answer_batch, self._give_up, local=database.local)
        self._operations = Operations(database)
        self._valid_keys: set[str] = set()
        self._connections: dict[tuple[str, int], float] = {}  # since when they are used
        self._quiet_until: dict[type[Exception], float] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        response = await self.answer(messages.read_head(scope), receive)
        await response.send(send)

    async def answer(self, request: Request, receive: Receive) -> Response:
        """Return the response to a request."""
        response = await self._respond(request, receive)
        self._limit_age(request.caller, response)
        self._on_response(self._clock.now(), request.method, request.path, response.status)
        return response

    async def _respond(self, request: Request, receive: Receive) -> Response:
        if request.path in (OPENAPI_PATH, HEALTH_PATH):
            request.patience_s = HEALTH_WAIT_S
            if request.method != "GET":
                return self._finish(messages.wrong_method("GET"))
            if request.path == OPENAPI_PATH:
                return self._finish(Response(200, OPENAPI))
        if request.body is None:
            too_large = request.length > messages.MAX_BODY_BYTES
            if too_large or request.key not in self._valid_keys:  # the key comes first
                response = await self._batches.respond(request)
                if response is not None:
                    return response
            body = await messages.read_body(receive)
            if isinstance(body, Response):
                return self._finish(body.add("Connection", "close"))
            request.body = body
            request.length = len(body)
        response = await self._batches.respond(request)
        assert response is not None
        return response

    def _limit_age(self, caller: tuple[str, int], response: Response) -> None:
        """
        Close a connection that has been used for long.

        A request that was sent ahead is read when those before it are answered: on a connection
        that is used without end, that could be at any time after it was sent.
        """
        now = elapsed()
        if len(self._connections) > MAX_REMEMBERED:
            self._connections.clear()
        if now - self._connections.setdefault(caller, now) > CONNECTION_S:
            del self._connections[caller]
            response.add("Connection", "close")

    def _answer_batch(self, batch: Batch, here: bool) -> Sequence[Response | None] | None:
        """
        Count requests and answer them; all that they change is committed together.

        `here`: without waiting for other programs; None where they are in the way.
        """
        requests = batch.requests
        creates = any(request.body for request in requests)
        asked = [
            (digest_of(one.key) if one.key else "", subject_of(one.caller[0])) for one in requests
        ]
        responses: list[Response | None] = []
        try:
            with self._database.transaction(
                asked, durable=creates, within_s=0.0 if here else DATABASE_S
            ) as standing:
                now = self._clock.now() if standing.time is None else standing.time
                self._operations.begin(standing.changes, standing.newest)
                for request, pair in zip(requests, asked, strict=True):
                    responses.append(
                        self._count(request, standing.callers[pair], standing.usages, now)
                    )
                self._operations.store(standing.usages, now)
                if creates:
                    waited_s = elapsed() - min(request.since for request in requests)
                    if waited_s > self._latest_s or not batch.may_commit():
                        raise UnavailableError(SILENT)  # their callers may have gone
        except Exception as failed:
            self._operations.begin(-1, -1)  # they may hold what was not committed
            if here and isinstance(failed, UnavailableError) and failed.reason == LOCKED:
                return None
            return [self._fail(request, failed) for request in requests]
        return responses

    def _count(
        self, request: Request, caller: tuple[Any, ...], usages: dict[str, Usage], now: float
    ) -> Response | None:
        """
        Count a request in `usages` and answer it; None: it comes again with its body, and counts
        then.
        """
        if request.path == HEALTH_PATH:  # counters can be written, as at the end of each batch
            response = Response(200, messages.dump({"status": "ok", "database": "ok"}))
            return self._finish(response, now)
        subject, key_id, *plan = caller
        allowed = windows(*plan) if key_id else self._without_key
        usage, decision = consume(usages[subject], *allowed, now)
        if key_id is None:
            self._valid_keys.discard(request.key)
        else:
            if len(self._valid_keys) >= MAX_REMEMBERED:
                self._valid_keys.clear()
            self._valid_keys.add(request.key)
        if not decision.allowed:
            response = messages.too_many(decision.banned, decision.retry_after_s)
        elif key_id is None:
            response = messages.error(401, "unauthorized", "the API key is missing or invalid")
            response.add("WWW-Authenticate", "Bearer")
        elif request.length > messages.MAX_BODY_BYTES:
            text = f"a body has at most {messages.MAX_BODY_BYTES:,} bytes"
            response = messages.error(413, "body_too_large", text)
        elif request.body is None:
            return None
        else:
            response = self._operations.respond(request, now)
        usages[subject] = usage
        return self._finish(response, now, decision)

    def _give_up(self, request: Request, unknown: bool) -> Response:
        return self._fail(request, UnavailableError(SILENT, unknown=unknown))

    def _fail(self, request: Request, why: Exception) -> Response:
        """
        Answer a request that failed: 503 where it is safe to send it again.

        That of a create is unknown where the outcome of its commit is.
        """
        self._report(request, why)
        if isinstance(why, UnavailableError) and not (why.unknown and request.body):
            wait = f"wait {RETRY_AFTER_S} s and try again"
            text = f"the database {why.reason}; nothing was changed; {wait}"
            response = messages.error(503, "unavailable", text)
            return self._finish(response.add(spec.HEADER_RETRY_AFTER, RETRY_AFTER_S))
        text = "nothing was changed"
        if isinstance(why, UnavailableError):
            text = "it is not known whether the animal was created"
        return self._finish(messages.error(500, "internal_error", f"the service failed; {text}"))

    def _report(self, request: Request, why: Exception) -> None:
        """
        Log a failure, one of ours with its traceback, unless one of its kind was logged a moment
        ago.
        """
        if elapsed() < self._quiet_until.get(type(why), 0.0):
            return
        self._quiet_until[type(why)] = elapsed() + REPORT_EVERY_S
        path = ascii(request.path[:MAX_PATH_LOGGED])  # a line break in it begins no line of the log
        ours = not isinstance(why, UnavailableError)
        exc_info = why if ours else None
        _log.error("%s %s failed: %s", request.method, path, why, exc_info=exc_info)

    def _finish(
        self, response: Response, now: float | None = None, decision: Decision | None = None
    ) -> Response:
        """Add what every response carries; `now`: the database's time, where it was read."""
        second = int(self._clock.now() if now is None else now)
        response.headers.append((b"date", _date(second)))
        if decision is not None:
            response.headers += (
                (_LIMIT, b"%d" % decision.limit),
                (_REMAINING, b"%d" % decision.remaining),
                (_RESET, b"%d" % decision.reset),
            )
        return response


@lru_cache(maxsize=2)
def _date(second: int) -> bytes:
    return formatdate(second, usegmt=True).encode()
