"""
The service as an ASGI application: key, quota, route, headers.

Requests that arrive while a commit is under way are answered together in the next one:
one durable commit for all of them (group commit), and one reading of each key and
counter. One thread uses the database, so whatever holds it up holds up no other answer,
and none waits for it without end.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from email.utils import formatdate
from functools import lru_cache
from importlib.resources import files
from typing import Any

from petstore_tools import spec
from petstore_tools.clock import Clock, SystemClock
from petstore_tools.service.database import Database, address_subject, digest_key
from petstore_tools.service.engine import REFUSED, SILENT, UnavailableError
from petstore_tools.service.limiter import Usage, consume
from petstore_tools.service.messages import (
    Bodies,
    Receive,
    Request,
    Response,
    Scope,
    Send,
    error_response,
    read_head,
    wrong_method,
)
from petstore_tools.service.operations import Operations

HEALTH_PATH = spec.PATH_PREFIX + "/health"
OPENAPI = files(__package__).joinpath("openapi.json").read_bytes()
KEYLESS_BODIES = {  # what needs no key, and costs nothing
    HEALTH_PATH: b'{"status":"ok","database":"ok"}',
    spec.PATH_PREFIX + "/live": b'{"status":"ok"}',
    spec.PATH_PREFIX + "/openapi.json": OPENAPI,
}
RETRY_AFTER_S = 5  # sent with a 503
# counted from the earliest moment at which it may have been sent
HEALTH_WAIT_S = 1.0
MAX_CREATE_AGE_S = 15.0  # after it was sent, no create is committed so late
# what is sent ahead on an older connection is not read
MAX_CONNECTION_AGE_S = 5.0
MAX_REMEMBERED = 10_000  # keys that may ask, and connections
# an outage fails thousands of requests: each kind is logged this often
REPORT_EVERY_S = 10.0
MAX_AT_ONCE = 256  # requests in one commit
TICK_S = 0.25
GATHER_S = 0.002  # within which callers ask again
# seconds that also pass while the machine sleeps, where it can tell
elapsed = SystemClock().steady
_http_date = lru_cache(1)(formatdate)  # of a second
_log = logging.getLogger(__name__)


class Batch:
    """
    Requests that are answered together. They are committed, or given up: never both.
    """

    def __init__(self, requests: Sequence[Request] = ()) -> None:
        self.requests = requests
        self._outcome: dict[str, str] = {}

    def decide(self, outcome: str) -> bool:
        """
        Decide that it is `outcome`, and say whether that is so: the first call decides.
        """
        return self._outcome.setdefault("is", outcome) == outcome


class Batches:
    """
    The requests that wait, and those that are being answered.

    Args:
        answer_batch: Answers a batch, in a thread of its own.
        refuse: Answers a request that has waited too long.
    """

    def __init__(
        self,
        answer_batch: Callable[[Batch], Sequence[Response | None]],
        refuse: Callable[[Request, UnavailableError], Response],
    ) -> None:
        self._answer_batch = answer_batch
        self._refuse = refuse
        self._pending: list[Request] = []
        self._batch = Batch()
        self._callers = 0  # that asked, or waited, lately
        self._all_callers_wait = asyncio.Event()
        self._answering: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, "petstore service")

    async def respond(self, request: Request) -> Response | None:
        """
        Return the answer of the next batch to a request, None where its body is needed.
        """
        self._loop = asyncio.get_running_loop()
        if self._answering is None:
            self._ticks = elapsed(), elapsed()  # the last but one, and the last
            self._loop.call_later(TICK_S, self._refuse_late_requests)
        request.response = self._loop.create_future()
        request.sent_after = self._ticks[0]
        self._pending.append(request)
        if len(self._pending) >= self._callers:
            self._all_callers_wait.set()
        if self._answering is None or self._answering.done():
            self._answering = self._loop.create_task(self._answer())
        return await request.response

    async def _answer(self) -> None:
        """
        Answer all that wait, batch by batch.

        A batch begins as soon as all ask again that asked lately, or a moment later.
        Otherwise the first of them would be answered alone, and all others would wait
        for that: half as many answers a second. Those that do not come back are
        expected no more, one after each batch.
        """
        while self._pending:
            if len(self._pending) < self._callers:
                self._all_callers_wait.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(GATHER_S):
                        await self._all_callers_wait.wait()
            if not self._pending:  # meanwhile all were refused
                return
            self._batch = Batch(self._pending[:MAX_AT_ONCE])
            self._pending = self._pending[MAX_AT_ONCE:]
            responses = await self._loop.run_in_executor(
                self._thread, self._answer_batch, self._batch
            )
            for request, response in zip(self._batch.requests, responses, strict=True):
                if not request.response.done():
                    request.response.set_result(response)
            callers = len(self._batch.requests) + len(self._pending)
            self._callers = max(callers, self._callers - 1)
            self._batch = Batch()

    def close(self) -> None:
        """End the thread that answers, when no request comes any more."""
        self._thread.shutdown()

    def _refuse_late_requests(self) -> None:
        """
        Refuse requests that have waited too long, every quarter of a second.

        A request that is read now may have come at any time since the last tick but
        one: this process may have been paused meanwhile, and its caller may have given
        up long ago.
        """
        self._loop.call_later(TICK_S, self._refuse_late_requests)
        self._ticks = self._ticks[1], elapsed()
        for request in (*self._batch.requests, *self._pending):
            is_late = self._ticks[1] - request.sent_after > request.patience_s
            if is_late and not request.response.done():
                unknown = request.pet is not None and not (
                    request in self._pending or self._batch.decide("given up")
                )
                request.response.set_result(
                    self._refuse(request, UnavailableError(SILENT, unknown=unknown))
                )
        self._pending = [
            request for request in self._pending if not request.response.done()
        ]


class Service:
    """
    The document over HTTP (§4, §5, §7, §8).

    Args:
        database: Holds animals, keys and counters.
        clock: The time of the service, also of its `Date` headers; an attribute, too.
        without_key: Requests a minute and a day of each address that sends no valid
            key.
        max_create_age_s: No create is committed later than so many seconds after it was
            sent.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        *,
        without_key: tuple[int, int] = spec.PLANS["free"],
        max_create_age_s: float = MAX_CREATE_AGE_S,
    ) -> None:
        self._database = database
        self.clock = clock
        self.answers: Any = Counter()  # by their status
        self._without_key = without_key
        self._max_create_age_s = max_create_age_s
        self._batches = Batches(self._answer_batch, self._answer_failure)
        self._bodies = Bodies()
        self._operations = Operations(database)
        self._valid_keys: set[str] = set()  # and had requests left
        self._connections: dict[tuple[str, int], float] = {}  # since when they are used
        self._quiet_until: dict[type[Exception], float] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """
        Answer one request.

        Behind a trusted proxy, `client` in its scope is the caller, and `connection`
        the proxy.
        """
        response = await self.answer(read_head(scope), receive)
        second = int(response.time or self.clock.now())
        response.add("Date", _http_date(second, usegmt=True))
        self.answers[response.status] += 1
        # What was sent ahead is read when what came before it is answered: on a
        # connection that is used without end, that could be at any time.
        connection = scope.get("connection", scope["client"])
        if len(self._connections) > MAX_REMEMBERED:
            self._connections.clear()
        now = elapsed()
        if now - self._connections.setdefault(connection, now) > MAX_CONNECTION_AGE_S:
            del self._connections[connection]
            response.add("Connection", "close")
        await response.send(send)

    async def answer(self, request: Request, receive: Receive) -> Response:
        """Return the response to a request."""
        if request.path in KEYLESS_BODIES:
            if request.method != "GET":
                return wrong_method("GET")
            if request.path != HEALTH_PATH:
                return Response(200, KEYLESS_BODIES[request.path])
            request.patience_s = HEALTH_WAIT_S
        if request.needs_body:
            if request.key not in self._valid_keys:  # the key and its quota come first
                response = await self._batches.respond(request)
                if response is not None:
                    return response
            body = await self._bodies.read(receive)
            if isinstance(body, Response):
                return body.add("Connection", "close")
            request.parse(body)
        response = await self._batches.respond(request)
        assert response is not None
        return response

    def close(self) -> None:
        """Hold no thread any more; the database stays open."""
        self._batches.close()

    def _answer_batch(
        self, batch: Batch, some: Sequence[Request] = ()
    ) -> Sequence[Response | None]:
        """
        Count requests of a batch, all or `some`, and answer them; all that they change
        is committed together.
        """
        requests = some or batch.requests
        senders = [
            (digest_key(request.key), address_subject(request.address))
            for request in requests
        ]
        try:
            with self._database.transaction(
                senders, durable=any(request.pet for request in requests)
            ) as state:
                now = self.clock.now() if state.time is None else state.time
                self._operations.begin(now, state.changes)
                responses = [
                    self._count_request(request, state.callers[pair], state.usages, now)
                    for request, pair in zip(requests, senders, strict=True)
                ]
                self._operations.add_new_pets(state.usages)
                waited_s = elapsed() - requests[0].sent_after
                if waited_s > self._max_create_age_s or not batch.decide("committed"):
                    raise UnavailableError(SILENT)  # their callers may have gone
        except Exception as error:
            self._operations.begin(0.0, -1)  # it may hold what was not committed
            if getattr(error, "reason", "") == REFUSED:
                middle = len(requests) // 2
                if middle:  # by halves, so that this row fails alone
                    first = self._answer_batch(batch, requests[:middle])
                    return [*first, *self._answer_batch(batch, requests[middle:])]
                reason = str(error)
                requests[0].refusal = error_response(400, "invalid_body", reason)
                return self._answer_batch(batch, requests)
            return [self._answer_failure(request, error) for request in requests]
        return responses

    def _count_request(
        self,
        request: Request,
        caller: tuple[Any, ...],
        usages: dict[str, Usage],
        now: float,
    ) -> Response | None:
        """
        Count a request in `usages` and answer it.

        Returns:
            The response, or None for a create whose body was not read yet: it comes
            again with its body, and is counted then.
        """
        # counters can be written, as at the end of each batch
        if request.path == HEALTH_PATH:
            return Response(200, KEYLESS_BODIES[HEALTH_PATH], time=now)
        subject, key_id, *plan = caller
        per_minute, per_day = plan if key_id else self._without_key
        usage, decision = consume(usages[subject], per_minute, per_day, now)
        self._valid_keys.discard(request.key)
        if key_id is not None and decision.allowed:
            if len(self._valid_keys) >= MAX_REMEMBERED:
                self._valid_keys.clear()
            self._valid_keys.add(request.key)
        if not decision.allowed:
            wait_s = decision.retry_after_s
            code, reason = "rate_limited", "too many requests"
            if decision.banned:
                code, reason = "key_banned", "this key is banned"
            response = error_response(429, code, f"{reason}; wait {wait_s} s")
            response.add(spec.HEADER_RETRY_AFTER, wait_s)
        elif key_id is None:
            response = error_response(
                401, "unauthorized", "the API key is missing or invalid"
            )
            response.add("WWW-Authenticate", "Bearer")
        elif request.needs_body:
            return None
        else:
            response = self._operations.respond(request)
            request.creates = response.status == 201
        usages[subject] = usage
        response.time = now
        response.add(spec.HEADER_LIMIT, decision.limit)
        response.add(spec.HEADER_REMAINING, decision.remaining)
        return response.add(spec.HEADER_RESET, decision.reset)

    def _answer_failure(self, request: Request, error: Exception) -> Response:
        """
        Answer a request that failed: 503 where it is safe to send it again.

        It is a 500 where nobody knows whether a create was committed.
        """
        self._report(request, error)
        if not isinstance(error, UnavailableError):
            message = "the service failed; nothing was changed"
        elif error.unknown and request.creates:
            message = (
                f"the database {error.reason};"
                " it is not known whether the animal was created"
            )
        else:
            response = error_response(
                503,
                "unavailable",
                f"the database {error.reason};"
                f" nothing was changed; wait {RETRY_AFTER_S} s and try again",
            )
            return response.add(spec.HEADER_RETRY_AFTER, RETRY_AFTER_S)
        return error_response(500, "internal_error", message)

    def _report(self, request: Request, error: Exception) -> None:
        """
        Log a failure, unless one of its kind was logged a moment ago; a defect of the
        service with its traceback.
        """
        if elapsed() < self._quiet_until.get(type(error), 0.0):
            return
        self._quiet_until[type(error)] = elapsed() + REPORT_EVERY_S
        path = ascii(request.path[:200])  # a line break in it begins no line of the log
        exc_info = None if isinstance(error, UnavailableError) else error
        _log.error("%s %s failed: %s", request.method, path, error, exc_info=exc_info)
