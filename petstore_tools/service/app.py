"""
The service as a Starlette application: routes, key and quota, failures.

Each request is one transaction, in a thread beside the event loop: key, quota and
operation together. Refusals are exceptions, which are counted like any answer.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from email.utils import formatdate
from functools import partial
from importlib.resources import files
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple
from urllib.parse import urlencode

from pydantic_core import to_json
from starlette.applications import Starlette
from starlette.endpoints import HTTPEndpoint
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from petstore_tools import spec
from petstore_tools.clock import Clock, SystemClock
from petstore_tools.service import models
from petstore_tools.service.database import (
    SILENT,
    Database,
    RefusedError,
    Session,
    UnavailableError,
    digest_key,
)
from petstore_tools.service.limiter import Decision, Usage, consume

OPENAPI = files(__package__).joinpath("openapi.json").read_bytes()
LIST_PATH = spec.PATH_PREFIX + spec.PETS_PATH
BODY_WITHIN_S = 3.0  # a body is complete within this time
MAX_WAIT_S = 5.5  # for the database
HEALTH_WAIT_S = 0.8
METHODS = "DELETE GET PATCH POST PUT".split()
HEADER_POLICY = "RateLimit-Policy"
# of what has no route
NO_ROUTE = {
    404: ("not_found", f"there is no such path below {spec.PATH_PREFIX}"),
    405: ("method_not_allowed", "this path does not accept this method"),
}
RETRY_AFTER_S = 5  # sent with a 503
# an outage fails thousands of requests: each kind is logged this often
REPORT_EVERY_S = 10.0
# Unix seconds; a constant of ours, §4.3 states none
DEPRECATED_SINCE = 1_764_547_200
# seconds that also pass while the machine sleeps, where it can tell
elapsed = SystemClock().steady
_log = logging.getLogger(__name__)


Headers = Mapping[str, str]
NONE: Headers = {}


class Answer(NamedTuple):
    """What a request is answered; the content becomes JSON."""

    status: int
    content: Any
    headers: Headers = NONE


Operation = Callable[[Session, float], Answer]  # in a transaction, at a time


class Refusal(HTTPException):
    """An error response, with a machine-readable code (§2.5)."""

    def __init__(self, status: int, code: str, message: str, **headers: str) -> None:
        super().__init__(status, message, headers)
        self.code = code


class Job:
    """
    Work in a transaction that a request waits for: it is committed, or given up, never
    both.

    Args:
        work: Runs in a thread; is given what allows the commit.
        patience_s: It is given up after so many seconds.
    """

    def __init__(self, work: Callable[..., Response], patience_s: float):
        self._work = work
        self._loop = asyncio.get_running_loop()
        self._ends_at = elapsed() + patience_s
        self._outcome: dict[str, str] = {}
        self.result: asyncio.Future[Response] = self._loop.create_future()

    def _decide(self, outcome: str) -> str:
        """Decide what becomes of it: the first call does. Return what was decided."""
        return self._outcome.setdefault("is", outcome)

    def may_commit(self, creates: bool) -> bool:
        """Allow the commit, unless the job was given up, or should have been."""
        outcome = "create" if creates else "count"
        return elapsed() < self._ends_at and self._decide(outcome) == outcome

    def give_up(self) -> None:
        """Give it up: nothing will be changed, unless its commit was sent."""
        is_unknown = self._decide("given up") == "create"
        self._finish(error=UnavailableError(SILENT, unknown=is_unknown))

    def run(self) -> None:
        """Do the work, unless it was given up."""
        if self._outcome:
            return
        result = error = None
        try:
            result = self._work(may_commit=self.may_commit)
        except Exception as failure:
            error = failure
        with suppress(RuntimeError):  # the event loop has ended
            self._loop.call_soon_threadsafe(self._finish, result, error)

    def _finish(self, result: Any = None, error: Exception | None = None) -> None:
        if self.result.done():
            return
        if error is None:
            self.result.set_result(result)
        else:
            self.result.set_exception(error)


class Service(Starlette):
    """
    The document over HTTP (§4, §5, §7, §8).

    Args:
        database: Holds animals, keys and counters.
        clock: The time of the service, also of its `Date` headers; an attribute, too.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        super().__init__(routes=ROUTES, exception_handlers=HANDLERS)
        self.router.redirect_slashes = False
        self.clock = clock
        self._database = database
        self._quiet_until: dict[str, float] = {}
        self._jobs = SimpleQueue[Job | None]()
        self._threads = [
            Thread(target=self._work, name="petstore service", daemon=True)
            for _ in range(database.connections)
        ]
        for thread in self._threads:
            thread.start()

    def _work(self) -> None:
        """Do jobs, in a thread."""
        while (job := self._jobs.get()) is not None:
            job.run()

    def close(self) -> None:
        """Hold no thread any more; the database stays open."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()

    async def run(
        self,
        request: Request,
        work: Callable[[Session], Response],
        *,
        durable: bool = False,
        patience_s: float = MAX_WAIT_S,
    ) -> Response:
        """Return what some work in a transaction answers, or why it cannot be done."""
        job = Job(partial(self._database.run, work, durable=durable), patience_s)
        timer = asyncio.get_running_loop().call_later(patience_s, job.give_up)
        self._jobs.put(job)
        try:
            return await job.result
        except UnavailableError as error:
            self._report(request, error)
            return respond(answer_unavailable(error), self.clock.now())
        finally:
            timer.cancel()

    def _report(self, request: Request, error: UnavailableError) -> None:
        """Log an outage, unless one of its kind was logged a moment ago."""
        if elapsed() < self._quiet_until.get(error.reason, 0.0):
            return
        self._quiet_until[error.reason] = elapsed() + REPORT_EVERY_S
        # a line break in it begins no line of the log
        path = ascii(request.scope["path"][:200])
        _log.error("%s %s failed: %s", request.method, path, error)


async def count(
    request: Request, operation: Operation, *, durable: bool = False
) -> Response:
    """
    Answer a request that needs a key (§5).

    Args:
        request: Has the key.
        operation: What it asks for, where its quota allows it.
        durable: It survives a power loss once it is acknowledged.
    """
    # two keys are no valid key
    credentials = ",".join(request.headers.getlist("authorization"))
    scheme, _, key = credentials.partition(" ")
    digest = digest_key(key.strip() if scheme.lower() == "bearer" else "")
    service: Service = request.app
    work = partial(answer_in_quota, service.clock, digest, operation)
    return await service.run(request, work, durable=durable)


def answer_in_quota(
    clock: Clock, digest: str, operation: Operation, session: Session
) -> Response:
    """Count a request for its key, and do what it asks for, in one transaction."""
    caller = session.find_key(digest)
    if caller is None:  # it costs nobody anything
        now = clock.now()
        per_minute, per_day = spec.PLANS["free"]
        usage, decision = consume(Usage(), per_minute, per_day, now)
        decision = decision._replace(remaining=decision.limit)
        reason = "the API key is missing or invalid"
        challenge = {"WWW-Authenticate": "Bearer"}
        answer = answer_error(401, "unauthorized", reason, challenge)
    else:
        now = caller.time or clock.now()
        per_minute = caller.per_minute
        usage, decision = consume(caller.usage, per_minute, caller.per_day, now)
        if usage != caller.usage:
            session.save_usage(caller.key_id, usage)
        answer = operation(session, now) if decision.allowed else answer_429(decision)
    return respond(answer, now, rate_headers(usage, decision, per_minute))


def rate_headers(usage: Usage, decision: Decision, per_minute: int) -> dict[str, str]:
    """Return what is left of a quota (§8.3), and of which window that is."""
    name, period_s = "day", spec.DAY_S
    minute_end = usage.minute_start + spec.MINUTE_S
    if (decision.limit, decision.reset) == (per_minute, minute_end):
        name, period_s = "minute", spec.MINUTE_S
    return {
        spec.HEADER_LIMIT: str(decision.limit),
        spec.HEADER_REMAINING: str(decision.remaining),
        spec.HEADER_RESET: str(decision.reset),
        HEADER_POLICY: f'"{name}";q={decision.limit};w={period_s}',
    }


def respond(answer: Answer, now: float, headers: Headers = NONE) -> Response:
    """Return any response of the service."""
    content = answer.content
    if not isinstance(content, bytes):
        content = to_json(content)
    all_headers = {**answer.headers, **headers, "Date": formatdate(now, usegmt=True)}
    return Response(content, answer.status, all_headers, "application/json")


def answer_error(
    status: int, code: str, message: str, headers: Headers = NONE
) -> Answer:
    """Return an answer whose body is an Error (§2.5)."""
    body = {"code": code, "message": message, "status": status}
    return Answer(status, body, headers)


def answer_429(decision: Decision) -> Answer:
    """Refuse a request that is over its quota, or whose key is banned (§8.4)."""
    code, reason = "rate_limited", "too many requests"
    if decision.banned:
        code, reason = "key_banned", "this key is banned"
    wait_s = str(decision.retry_after_s)
    headers = {spec.HEADER_RETRY_AFTER: wait_s}
    return answer_error(429, code, f"{reason}; wait {wait_s} s", headers)


def answer_unavailable(error: UnavailableError) -> Answer:
    """
    Say that the database cannot be used: 503 where it is safe to send it again.

    It is a 500 where nobody knows whether an animal was created.
    """
    if error.unknown:
        message = "it is not known whether the animal was created"
        return answer_error(
            500, "internal_error", f"the database {error.reason}; {message}"
        )
    message = f"nothing was changed; wait {RETRY_AFTER_S} s and try again"
    headers = {spec.HEADER_RETRY_AFTER: str(RETRY_AFTER_S)}
    return answer_error(
        503, "unavailable", f"the database {error.reason}; {message}", headers
    )


async def refuse(request: Request, error: HTTPException) -> Response:
    """Answer a request that cannot be served, but for its key and its quota."""
    code = getattr(error, "code", "")
    message = error.detail
    if not code:  # Starlette's own
        code, message = NO_ROUTE[error.status_code]
    answer = answer_error(error.status_code, code, message, error.headers or {})
    return await count(request, lambda *_: answer)


async def refuse_row(request: Request, error: RefusedError) -> Response:
    """Answer a create whose values the database refuses."""
    return await refuse(request, Refusal(400, "invalid_body", str(error)))


async def fail(request: Request, _: Exception) -> Response:
    """Answer a request where the service has a defect, which granian logs."""
    message = "the service failed; nothing was changed"
    answer = answer_error(500, "internal_error", message)
    return respond(answer, request.app.clock.now())


HANDLERS: Any = {HTTPException: refuse, RefusedError: refuse_row, Exception: fail}


class Pets(HTTPEndpoint):
    """The animals (§4.1, §4.2)."""

    async def get(self, request: Request) -> Response:
        """List them."""
        try:
            query = models.read_page_query(request.query_params)
        except ValueError as invalid:
            raise Refusal(400, "invalid_parameter", str(invalid)) from invalid
        return await count(request, partial(list_pets, query))

    async def post(self, request: Request) -> Response:
        """Add one."""
        body = await read_body(request)
        # of several headers the last counts
        content_type = ["", *request.headers.getlist("content-type")][-1]
        try:
            pet = models.read_new_pet(body, content_type)
        except ValueError as invalid:
            raise Refusal(400, "invalid_body", str(invalid)) from invalid
        return await count(request, partial(create_pet, pet), durable=True)


class Pet(HTTPEndpoint):
    """An animal (§4.3)."""

    async def get(self, request: Request) -> Response:
        """Return it."""
        pet_id = models.read_int64(request.path_params["pet_id"])
        return await count(request, partial(get_pet, pet_id))


def list_pets(query: models.PageQuery, session: Session, _: float) -> Answer:
    """Answer a page, with links to the first and the next one."""
    pets = session.page(query.after, query.limit + 1, query.status)
    page = pets[: query.limit]
    parameters: dict[str, object] = {"limit": query.limit}
    if query.status is not None:
        parameters["status"] = query.status
    link = f'<?{urlencode(parameters)}>; rel="first"'
    if len(pets) > query.limit:
        parameters["cursor"] = models.write_cursor(page[-1][0], query.status)
        link += f', <?{urlencode(parameters)}>; rel="next"'
    return Answer(200, list(map(models.write_pet, page)), {"Link": link})


def create_pet(pet: models.PetFields, session: Session, _: float) -> Answer:
    """Add an animal, and answer it."""
    (pet_id,) = session.add_pets([pet])
    return Answer(201, models.write_pet((pet_id, *pet)))


def get_pet(pet_id: int | None, session: Session, now: float) -> Answer:
    """Answer an animal, until the operation is removed as announced (§9)."""
    pet = None if pet_id is None else session.pet(pet_id)
    headers = {
        "Deprecation": f"@{DEPRECATED_SINCE}",
        "Sunset": formatdate(spec.REMOVAL_OF_GET_PET_AT, usegmt=True),
        "Link": '<../pets>; rel="successor-version"',
    }
    if now >= spec.REMOVAL_OF_GET_PET_AT:
        reason = "this operation was removed; use GET /pets with the status filter"
        return answer_error(410, "gone", reason, headers)
    if pet is None:
        return answer_error(404, "not_found", "there is no such animal", headers)
    return Answer(200, models.write_pet(pet), headers)


async def read_body(request: Request) -> bytes:
    """Read a body, and stop soon after the largest size that is allowed."""
    body = b""
    try:
        async with asyncio.timeout(BODY_WITHIN_S):
            async for part in request.stream():
                body += part
                if len(body) > models.MAX_BODY_BYTES:
                    reason = f"a body has at most {models.MAX_BODY_BYTES:,} bytes"
                    raise Refusal(413, "body_too_large", reason, Connection="close")
    except TimeoutError as error:
        reason = f"a body has to be complete within {BODY_WITHIN_S:.0f} s"
        raise Refusal(408, "request_timeout", reason, Connection="close") from error
    except ClientDisconnect as error:  # or what came is no HTTP
        raise Refusal(400, "invalid_body", "the body has no end") from error
    return body


async def orders(_: Request) -> Response:
    """Refuse what the document only mentions (§1)."""
    reason = "the interface document does not show store orders"
    raise Refusal(501, "not_implemented", reason)


async def health(request: Request) -> Response:
    """Say whether the database can be used; no key is needed."""
    service: Service = request.app

    def check(session: Session) -> Response:
        session.check()
        answer = Answer(200, {"status": "ok", "database": "ok"})
        return respond(answer, service.clock.now())

    return await service.run(request, check, patience_s=HEALTH_WAIT_S)


async def live(request: Request) -> Response:
    """Say that this process answers."""
    return respond(Answer(200, {"status": "ok"}), request.app.clock.now())


async def openapi(request: Request) -> Response:
    """Return the OpenAPI document."""
    return respond(Answer(200, OPENAPI), request.app.clock.now())


ROUTES = [
    Route(LIST_PATH, Pets),
    Route(LIST_PATH + "/{pet_id}", Pet),
    Route(spec.PATH_PREFIX + spec.ORDERS_PATH, orders, methods=METHODS),
    Route(spec.PATH_PREFIX + "/health", health),
    Route(spec.PATH_PREFIX + "/live", live),
    Route(spec.PATH_PREFIX + "/openapi.json", openapi),
]
