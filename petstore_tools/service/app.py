"""
The service as an ASGI application: key, quota, route, headers.

Requests that arrive while a commit is under way are answered together in the next one: one durable
commit for all of them (group commit), and one reading of each key and counter.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Sequence
from email.utils import formatdate
from functools import lru_cache
from importlib.resources import files
from math import ceil
from typing import Any, Final

from petstore_tools import spec
from petstore_tools.clock import Clock
from petstore_tools.service import bodies, messages
from petstore_tools.service.batches import Batches, elapsed
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
LATEST_S: Final = 15.0  # no create is committed longer than this after it was sent
MAX_DECISIONS: Final = 1_000  # last decisions kept, for responses to what could not be counted
REPORT_EVERY_S: Final = (
    10.0  # an outage fails thousands of requests: each kind is logged this often
)
MAX_PATH_LOGGED: Final = 200  # characters
_log = logging.getLogger(__name__)
_access = logging.getLogger("petstore_tools.access")
_access.setLevel(logging.WARNING)  # a line an answer is written only where it is asked for


class Service:
    """
    The document over HTTP (§4, §5, §7, §8).

    Args:
        database: Animals, keys, counters.
        clock: The service's time; `Date` headers follow it.
        on_response: Called with each response's time, method, path and status.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        on_response: Callable[[float, str, str, int], None] = lambda *_: None,
    ) -> None:
        self._database, self._clock, self._on_response = database, clock, on_response
        self._without_key = windows(*spec.PLANS["free"])
        self._batches = Batches(
            self._respond_to, self._failed, without=self._without_database, local=database.local
        )
        self._operations = Operations(database)
        self._decisions: dict[str, tuple[float, Decision]] = {}  # the last of each key, and when
        self._failures, self._quiet_until = 0, dict[type[Exception], float]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        request, response = messages.read_head(scope), None
        unread = request.length > 0 and messages.COMPLETE not in scope
        if unread and (
            request.length > messages.MAX_BODY_BYTES or request.key not in self._decisions
        ):
            response = await self._respond(request)  # without its body: the key comes first
        if response is None:
            try:
                if request.body is None:
                    request.body, unread = await messages.read_body(receive)
                    request.length = len(request.body)
            except messages.Disconnected:
                return
            response = await self._respond(request)
        assert response is not None
        await response.send(send, unread=receive if unread else None)

    async def _respond(self, request: Request) -> Response | None:
        """
        Have a request answered: at once where the database is not needed, else in the next commit.

        None: its body is needed for that.
        """
        if request.path == OPENAPI_PATH or (
            request.path == HEALTH_PATH and request.method != "GET"
        ):
            is_get, now = request.method == "GET", self._clock.now()
            response = Response(200, OPENAPI) if is_get else messages.wrong_method("GET")
            self._finish(response, now, None)
            self._record(request, response, now)
            return response
        return await self._batches.respond(request)

    def _without_database(self, request: Request) -> Response | None:
        """Answer health and what is refused anyway; None: the database is needed."""
        needed = request.path != HEALTH_PATH and self._refusal(request) is None
        return None if needed else self._failed(request, UnavailableError(SILENT))

    def _refusal(self, request: Request) -> Response | None:
        """
        Return how a request is refused without the database; it costs nothing then.

        It has no key; or its key was valid when it came last, and its window is closed, or it asks
        for what no animal can answer.
        """
        if not request.key:
            return messages.unauthorized()
        at, decision = self._decisions.get(request.key) or (0.0, None)
        if decision is None:
            return None
        now = self._clock.now()
        left_s = ceil(at + decision.retry_after_s - now)
        if not decision.allowed and 0 < left_s <= decision.retry_after_s:
            return messages.too_many(decision.banned, left_s)
        if request.length > messages.MAX_BODY_BYTES:
            return messages.too_large()
        asked = None if request.body is None else self._operations.read(request, now)
        return asked if isinstance(asked, Response) else None

    def _respond_to(self, batch: Sequence[Request], here: bool) -> list[Response | None] | None:
        """
        Answer requests together, or each alone where one of them is at fault.

        `here`: without waiting for other programs; None where they are in the way.
        """
        within_s = 0.0 if here else DATABASE_S
        try:
            return self._together(batch, within_s)
        except UnavailableError as failed:
            if here and failed.reason == LOCKED:
                return None
            return [self._failed(request, failed) for request in batch]
        except Exception:
            # who has an answer by now did not wait so long, and nothing is done for it
            return [None if one.response.done() else self._alone(one, within_s) for one in batch]

    def _alone(self, request: Request, within_s: float) -> Response | None:
        """Answer a request that others, or chance, may have made fail: one more time."""
        try:
            return self._together([request], within_s)[0]
        except Exception as failed:
            return self._failed(request, failed)

    def _failed(self, request: Request, why: Exception) -> Response:
        """Answer a request that could not be counted."""
        self._report(request, why)
        now, decision, response = self._clock.now(), None, None
        if request.path != HEALTH_PATH:
            _, decision = self._decisions.get(request.key) or consume(
                Usage(), *self._without_key, now
            )
            response = self._refusal(request) if isinstance(why, UnavailableError) else None
        if response is None:
            response = _failure(why)
        self._finish(response, now, decision)
        if not request.response.done():
            self._record(request, response, now)
        return response

    def _report(self, request: Request, why: Exception) -> None:
        """
        Log a failure, one of ours with its traceback, unless one of its kind was logged a moment
        ago.
        """
        self._failures += 1
        if time.monotonic() < self._quiet_until.get(type(why), 0.0):
            return
        self._quiet_until[type(why)] = time.monotonic() + REPORT_EVERY_S
        path = ascii(request.path[:MAX_PATH_LOGGED])  # a line break in it begins no line of the log
        text, ours = (
            "%s %s failed (%d since the last such line): %s",
            not isinstance(why, UnavailableError),
        )
        _log.error(text, request.method, path, self._failures, why, exc_info=why if ours else None)
        self._failures = 0

    def _together(self, batch: Sequence[Request], within_s: float) -> list[Response | None]:
        """Count requests and answer them; all that they change is committed together."""
        creates = any(request.method == "POST" and request.body is not None for request in batch)
        asked = [(digest_of(one.key) if one.key else "", subject_of(one.address)) for one in batch]
        responses: list[Response | None] = []
        try:
            with self._database.transaction(asked, durable=creates, within_s=within_s) as standing:
                now = self._clock.now() if standing.time is None else standing.time
                self._operations.begin(standing.changes, standing.newest)
                for request, pair in zip(batch, asked, strict=True):
                    responses.append(
                        self._count(request, standing.callers[pair], standing.usages, now)
                    )
                new = [pet for pet, _ in self._operations.new]
                self._operations.created(self._database.save(standing.usages, now, new))
                if creates and elapsed() - min(request.since for request in batch) > LATEST_S:
                    raise UnavailableError(
                        SILENT
                    )  # their callers have gone, and may search for them soon
        except Exception as failed:
            self._operations.begin(-1, -1)  # they may hold what was not committed
            if not isinstance(failed, UnavailableError) or not failed.unknown:
                raise
            known = UnavailableError(failed.reason)
            return [
                self._failed(
                    request, failed if response is not None and response.status == 201 else known
                )
                for request, response in zip(batch, responses, strict=True)
            ]
        for request, response in zip(batch, responses, strict=True):
            if (
                response is not None and not request.response.done()
            ):  # done: it did not wait so long
                self._record(request, response, now)
        return responses

    def _count(
        self, request: Request, caller: tuple[Any, ...], usages: dict[str, Usage], now: float
    ) -> Response | None:
        """
        Count a request in `usages` and answer it; None: it comes again with its body, and counts
        then.
        """
        if (
            request.path == HEALTH_PATH
        ):  # not counted; that counters are written shows that they can be
            response = Response(200, bodies.dump({"status": "ok", "database": "ok"}))
            return self._finish(response, now, None)
        subject, request.key_id, *plan = caller
        allowed = windows(*plan) if request.key_id else self._without_key
        usage, decision = consume(usages[subject], *allowed, now)
        if not decision.allowed:
            response = messages.too_many(decision.banned, decision.retry_after_s)
        elif request.key_id is None:
            response = messages.unauthorized()
        elif request.length > messages.MAX_BODY_BYTES:
            response = messages.too_large()
        elif request.body is None:
            return None
        else:
            response = self._operations.respond(request, now)
        usages[subject] = usage
        if request.key_id is None:
            self._decisions.pop(request.key, None)
        else:
            if len(self._decisions) >= MAX_DECISIONS:
                self._decisions.clear()
            self._decisions[request.key] = now, decision
        return self._finish(response, now, decision)

    def _record(self, request: Request, response: Response, now: float) -> None:
        """Log a response: after the commit, since until then another may take its place."""
        self._on_response(now, request.method, request.path, response.status)
        if _access.isEnabledFor(logging.INFO):
            line = {
                "at": round(now, 3),
                "method": request.method,
                "path": request.path[:MAX_PATH_LOGGED],
            }
            line |= {"status": response.status, "bytes": len(response.body)}
            _access.info(json.dumps(line | {"key": request.key_id, "from": request.address}))

    def _finish(self, response: Response, now: float, decision: Decision | None) -> Response:
        """Add what every response carries."""
        response.add("Date", _date(int(now)))
        if decision is not None:
            response.add(spec.HEADER_LIMIT, decision.limit)
            response.add(spec.HEADER_REMAINING, decision.remaining)
            response.add(spec.HEADER_RESET, decision.reset)
        return response


def _failure(why: Exception) -> Response:
    """Answer what failed: 503 only where it is safe to send it again."""
    if not isinstance(why, UnavailableError):
        return messages.error(500, "internal_error", "the service failed; nothing was changed")
    if why.unknown:
        text = "the service failed; it is not known whether the animal was created"
        return messages.error(500, "internal_error", text)
    text = f"the database {why.reason}; nothing was changed; wait {RETRY_AFTER_S} s and try again"
    return messages.error(503, "unavailable", text).add(spec.HEADER_RETRY_AFTER, RETRY_AFTER_S)


@lru_cache(maxsize=2)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)
