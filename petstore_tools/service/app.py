"""
The service as a Starlette application: routes, key and quota, failures.

Each request is one transaction, in a thread beside the event loop: key, quota and
operation together. Refusals are exceptions, which are counted like any answer.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from functools import partial
from importlib.resources import files
from typing import Any

from pydantic_core import to_json
from starlette.applications import Starlette
from starlette.endpoints import HTTPEndpoint
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from petstore_tools import spec
from petstore_tools.clock import Clock, ManualClock, SystemClock
from petstore_tools.service import models
from petstore_tools.service.database import (
    SILENT,
    Caller,
    Database,
    RefusedError,
    Session,
    UnavailableError,
    digest_key,
)
from petstore_tools.service.limiter import Decision, Usage, consume
from petstore_tools.text import utc_text

OPENAPI = files(__package__).joinpath("openapi.json").read_bytes()
BODY_WITHIN_S = 3.0  # a body is complete within this time
MAX_WAIT_S = 5.5  # for the database
HEALTH_WAIT_S = 0.8
METHODS = "DELETE GET PATCH POST PUT".split()
HEADER_POLICY = "RateLimit-Policy"
# of an Error by its status (§7); the document names none
CODES = {
    400: "invalid_body",
    401: "unauthorized",
    404: "not_found",
    405: "method_not_allowed",
    408: "request_timeout",
    410: "gone",
    413: "body_too_large",
    429: "rate_limited",
    500: "internal_error",
    501: "not_implemented",
    503: "unavailable",
}
NO_ROUTE = {
    404: f"there is no such path below {spec.PATH_PREFIX}",
    405: "this path does not accept this method",
}
CHALLENGE = {"WWW-Authenticate": 'Bearer realm="Animal Store Service"'}
# an answer may hold what only its key may see, and is what its type says
ON_ALL = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
CLOSE = {"Connection": "close"}
RETRY_AFTER_S = 5  # sent with a 503
# an outage fails thousands of requests: each kind is logged this often
REPORT_EVERY_S = 10.0
# since when is a constant of ours, §4.3 states none
DEPRECATION = {
    "Deprecation": "@1764547200",
    "Sunset": formatdate(spec.REMOVAL_OF_GET_PET_AT, usegmt=True),
    "Link": '<../pets>; rel="successor-version"',
}
# seconds that also pass while the machine sleeps, where it can tell
elapsed = SystemClock().steady
_log = logging.getLogger(__name__)

# of a request without a valid key: all that a Free key has
NOBODY: Caller = ("", *spec.PLANS["free"], Usage(), None)

Headers = Mapping[str, object]
NO_HEADERS: Headers = {}
Answer = tuple[int, Any, Headers]  # status, content of the body, further headers
Operation = Callable[[Session, float], Answer]  # in a transaction, at a time


class Permit:
    """
    The leave to commit a transaction: used or withdrawn, whichever comes first.

    Args:
        patience_s: After so many seconds it allows nothing any more.
    """

    def __init__(self, patience_s: float) -> None:
        self._ends_at = elapsed() + patience_s
        # what is set first stays: `setdefault` is one step for all threads
        self._use: dict[str, bool | None] = {}

    def may_commit(self, creates: bool) -> bool:
        """Use it, in the thread of the transaction; say whether it still holds."""
        is_late = elapsed() >= self._ends_at
        return not is_late and self._use.setdefault("creates", creates) is not None

    def withdraw(self) -> bool:
        """Withdraw it; say whether the commit of a create was sent before."""
        return bool(self._use.setdefault("creates", None))


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
    work = partial(answer_in_quota, request, digest, operation)
    service: Service = request.app
    return await service.run(request, work, durable=durable)


def answer_in_quota(
    request: Request, digest: str, operation: Operation, session: Session
) -> Response:
    """Count a request for its key, and do what it asks for, in one transaction."""
    service: Service = request.app
    clock = service.clock
    caller = session.find_key(digest) or NOBODY
    key_id, per_minute, per_day, used, time = caller
    # PostgreSQL's time is the same for all workers
    now = clock.now() if time is None or isinstance(clock, ManualClock) else time
    usage, decision = consume(used, per_minute, per_day, now)
    if caller is NOBODY:  # it costs nobody anything
        decision = decision._replace(remaining=decision.limit)
        reason = "the API key is missing or invalid"
        host = request.client.host if request.client else "an unknown address"
        service.report("key", request, f"refused: no valid key, from {host}")
        answer = answer_error(401, reason, CHALLENGE)
    else:
        if usage != used:
            session.save_usage(key_id, usage)
        if usage.banned_until > max(used.banned_until, now):
            until = utc_text(usage.banned_until)
            service.report(
                key_id, request, f"refused: key {key_id} is banned until {until}"
            )
        answer = operation(session, now) if decision.allowed else answer_429(decision)
    name, period_s = "day", spec.DAY_S
    minute_end = usage.minute_start + spec.MINUTE_S
    if (decision.limit, decision.reset) == (per_minute, minute_end):
        name, period_s = "minute", spec.MINUTE_S
    quota = {
        spec.HEADER_LIMIT: decision.limit,
        spec.HEADER_REMAINING: decision.remaining,
        spec.HEADER_RESET: decision.reset,
        HEADER_POLICY: f'"{name}";q={decision.limit};w={period_s}',
    }
    return respond(answer, now, quota)


def respond(answer: Answer, now: float, quota: Headers = NO_HEADERS) -> Response:
    """Return any response of the service."""
    status, content, headers = answer
    date = formatdate(now, usegmt=True)
    all_headers = {**ON_ALL, **headers, **quota, "Date": date}
    texts = {name: str(value) for name, value in all_headers.items()}
    return Response(to_json(content), status, texts, "application/json")


def answer_error(
    status: int, message: str, headers: Headers = NO_HEADERS, code: str = ""
) -> Answer:
    """Return an answer whose body is an Error (§2.5)."""
    code = code or CODES[status]
    return status, {"code": code, "message": message, "status": status}, headers


def answer_429(decision: Decision) -> Answer:
    """Refuse a request that is over its quota, or whose key is banned (§8.4)."""
    code, reason = "", "too many requests"
    if decision.banned:
        code, reason = "key_banned", "this key is banned"
    wait_s = decision.retry_after_s
    headers = {spec.HEADER_RETRY_AFTER: wait_s}
    return answer_error(429, f"{reason}; wait {wait_s} s", headers, code)


def answer_unavailable(error: UnavailableError) -> Answer:
    """
    Say that the database cannot be used: 503 where it is safe to send it again.

    It is a 500 where nobody knows whether an animal was created.
    """
    message = f"the database {error.reason};"
    if error.unknown:
        message += " it is not known whether the animal was created"
        return answer_error(500, message)
    message += f" nothing was changed; wait {RETRY_AFTER_S} s and try again"
    headers = {spec.HEADER_RETRY_AFTER: RETRY_AFTER_S}
    return answer_error(503, message, headers)


async def refuse(request: Request, error: HTTPException) -> Response:
    """Answer a request that cannot be served, but for its key and its quota."""
    status = error.status_code
    message = NO_ROUTE.get(status, error.detail)
    answer = answer_error(status, message, error.headers or NO_HEADERS)
    return await count(request, lambda *_: answer)


async def fail(request: Request, _: Exception) -> Response:
    """Answer a request where the service has a defect, which granian logs."""
    message = "the service failed; nothing was changed"
    answer = answer_error(500, message)
    return respond(answer, request.app.clock.now())


async def read_body(request: Request) -> bytes:
    """Read a body, and stop soon after the largest size that is allowed."""
    body = b""
    try:
        async with asyncio.timeout(BODY_WITHIN_S):
            async for part in request.stream():
                body += part
                if len(body) > models.MAX_BODY_BYTES:
                    reason = f"a body has at most {models.MAX_BODY_BYTES:,} bytes"
                    raise HTTPException(413, reason, CLOSE)
    except TimeoutError as error:
        reason = f"a body has to be complete within {BODY_WITHIN_S:.0f} s"
        raise HTTPException(408, reason, CLOSE) from error
    except ClientDisconnect as error:  # or what came is no HTTP
        raise HTTPException(400, "the body has no end") from error
    return body


class Pets(HTTPEndpoint):
    """The animals (§4.1, §4.2)."""

    async def get(self, request: Request) -> Response:
        """Answer a page, with links to the first and the next one."""

        def list_pets(session: Session, _: float) -> Answer:
            try:
                query = models.read_page_query(request.query_params)
            except ValueError as invalid:
                return answer_error(400, str(invalid), code="invalid_parameter")
            status = query.status
            target = f"?limit={query.limit}" + (f"&status={status}" if status else "")
            pets = session.page(query.after, query.limit + 1, status)
            page = pets[: query.limit]
            link = f'<{target}>; rel="first"'
            if len(pets) > query.limit:
                cursor = models.write_cursor(page[-1][0], status)
                link += f', <{target}&cursor={cursor}>; rel="next"'
            return 200, list(map(models.write_pet, page)), {"Link": link}

        return await count(request, list_pets)

    async def post(self, request: Request) -> Response:
        """Add one."""
        body = await read_body(request)
        content_type = request.headers.get("content-type", "")

        def create_pet(session: Session, _: float) -> Answer:
            try:
                pet = models.read_new_pet(body, content_type)
            except ValueError as invalid:
                return answer_error(400, str(invalid))
            (pet_id,) = session.add_pets([pet])
            place = {"Location": f"{spec.PETS_PATH[1:]}/{pet_id}"}
            return 201, models.write_pet((pet_id, *pet)), place

        try:
            return await count(request, create_pet, durable=True)
        except RefusedError as invalid:
            raise HTTPException(400, str(invalid)) from invalid


class Pet(HTTPEndpoint):
    """An animal (§4.3)."""

    async def get(self, request: Request) -> Response:
        """Return it, until the operation is removed as announced (§9)."""
        pet_id = models.read_int64(request.path_params["pet_id"])

        def get_pet(session: Session, now: float) -> Answer:
            if now >= spec.REMOVAL_OF_GET_PET_AT:
                reason = "this operation was removed; use GET /pets with its filter"
                return answer_error(410, reason, DEPRECATION)
            pet = None if pet_id is None else session.pet(pet_id)
            if pet is None:
                reason = "there is no such animal"
                return answer_error(404, reason, DEPRECATION)
            return 200, models.write_pet(pet), DEPRECATION

        return await count(request, get_pet)


async def orders(_: Request) -> Response:
    """Refuse what the document only mentions (§1)."""
    reason = "the interface document does not show store orders"
    raise HTTPException(501, reason)


async def health(request: Request) -> Response:
    """Say whether the database can be used; no key is needed."""
    service: Service = request.app
    answer = 200, {"status": "ok", "database": "ok"}, NO_HEADERS

    def check(session: Session) -> Response:
        session.check()
        return respond(answer, service.clock.now())

    return await service.run(request, check, patience_s=HEALTH_WAIT_S)


HANDLERS: Any = {HTTPException: refuse, Exception: fail}
LIST_PATH = spec.PATH_PREFIX + spec.PETS_PATH
GET = ["GET"]
ROUTES = [
    Route(LIST_PATH, Pets),
    Route(f"{LIST_PATH}/{{pet_id}}", Pet),
    Route(spec.PATH_PREFIX + spec.ORDERS_PATH, orders, methods=METHODS),
    Route(spec.PATH_PREFIX + "/health", health),
    Route(
        spec.PATH_PREFIX + "/live",
        JSONResponse({"status": "ok"}, headers=ON_ALL),
        methods=GET,
    ),
    Route(
        spec.PATH_PREFIX + "/openapi.json",
        Response(OPENAPI, headers=ON_ALL, media_type="application/json"),
        methods=GET,
    ),
]


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
        self._pool = ThreadPoolExecutor(database.connections, "petstore service")

    def close(self) -> None:
        """Hold no thread any more; the database stays open."""
        self._pool.shutdown()

    async def run(
        self,
        request: Request,
        work: Callable[[Session], Response],
        *,
        durable: bool = False,
        patience_s: float = MAX_WAIT_S,
    ) -> Response:
        """Return what some work in a transaction answers, or why it cannot be done."""
        permit = Permit(patience_s)
        transaction = partial(
            self._database.run, work, durable=durable, may_commit=permit.may_commit
        )
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(patience_s):
                return await loop.run_in_executor(self._pool, transaction)
        except TimeoutError:
            error = UnavailableError(SILENT, unknown=permit.withdraw())
        except UnavailableError as failure:
            error = failure
        self.report(error.reason, request, f"failed: {error}", logging.ERROR)
        return respond(answer_unavailable(error), self.clock.now())

    def report(
        self, kind: str, request: Request, text: str, level: int = logging.WARNING
    ) -> None:
        """Log what became of a request, unless its kind was logged a moment ago."""
        if elapsed() < self._quiet_until.get(kind, 0.0):
            return
        self._quiet_until[kind] = elapsed() + REPORT_EVERY_S
        # a line break in it begins no line of the log
        path = ascii(request.scope["path"][:200])
        _log.log(level, "%s %s %s", request.method, path, text)
