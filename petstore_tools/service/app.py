"""The service as an ASGI application: key, quota, route, headers, in that order, in one transaction."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from email.utils import formatdate
from typing import Any, Final
from urllib.parse import urlencode

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from petstore_tools import spec
from petstore_tools.clock import Clock
from petstore_tools.service import bodies
from petstore_tools.service.database import Database
from petstore_tools.service.limiter import Verdict

BODY_LONGEST: Final = 1 << 20
DEPRECATED_SINCE: Final = 1_764_547_200  # 2025-12-01; a constant of ours, §4.3 states none
_PET = re.compile(re.escape(spec.PETS_PATH) + r"/([^/]+)")
_log = logging.getLogger(__name__)

Respond = Callable[[Request, bytes], Response]


class Service:
    """
    The document over HTTP (§4, §5, §7, §8).

    Args:
        database: Animals, keys, counters.
        clock: Tells the service's time; `Date` headers follow it.
        on_answer: Called with each answer's time, method, path and status.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        on_answer: Callable[[float, str, str, int], None] = lambda *_: None,
    ) -> None:
        self._database, self._clock, self._on_answer = database, clock, on_answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        body = bytearray()
        try:
            async for chunk in request.stream():
                if len(body) <= BODY_LONGEST:
                    body += chunk
        except ClientDisconnect:
            return
        await self.answer(request, bytes(body))(scope, receive, send)

    def answer(self, request: Request, body: bytes) -> Response:
        """Count the request and answer it; all that it changes is committed together."""
        now = self._clock.now()
        verdict: Verdict | None = None
        try:
            with self._database.transaction():
                key = self._key(request)
                if key is None:
                    address = request.client.host if request.client else "unknown"
                    verdict = self._database.take_address(address, now)
                else:
                    verdict = self._database.take(f"key {key[0]}", key[1:], now)
                response = self._judge(request, body, verdict, known=key is not None)
        except Exception:
            _log.exception("%s %s failed", request.method, request.url.path)
            response = _error(500, "internal_error", "the service failed; nothing was changed")
        response.headers["Date"] = formatdate(now, usegmt=True)
        if verdict is not None:
            response.headers[spec.HEADER_LIMIT] = str(verdict.limit)
            response.headers[spec.HEADER_REMAINING] = str(verdict.remaining)
            response.headers[spec.HEADER_RESET] = str(verdict.reset)
        self._on_answer(now, request.method, request.url.path, response.status_code)
        return response

    def _key(self, request: Request) -> Any:
        scheme, _, key = request.headers.get("Authorization", "").partition(" ")
        if scheme.casefold() != "bearer" or not key.strip():
            return None
        return self._database.find_key(key.strip())

    def _judge(self, request: Request, body: bytes, verdict: Verdict, *, known: bool) -> Response:
        if not verdict.allowed:
            code = "key_banned" if verdict.banned else "rate_limited"
            what = "this key is banned" if verdict.banned else "too many requests"
            message = f"{what}; wait {verdict.retry_after_s} s"
            refused = _error(429, code, message)
            refused.headers[spec.HEADER_RETRY_AFTER] = str(verdict.retry_after_s)
            return refused
        if not known:
            refused = _error(401, "unauthorized", "the API key is missing or invalid")
            refused.headers["WWW-Authenticate"] = "Bearer"
            return refused
        if len(body) > BODY_LONGEST:
            return _error(413, "body_too_large", f"a body has at most {BODY_LONGEST:,} bytes")
        try:
            return self._route(request, body)
        except bodies.InvalidError as error:
            return _error(400, error.code, str(error))

    def _route(self, request: Request, body: bytes) -> Response:
        path = request.url.path.removeprefix(spec.PATH_PREFIX)
        if path == request.url.path:
            return _error(404, "not_found", f"all paths begin with {spec.PATH_PREFIX}")
        if path == spec.PETS_PATH:
            return self._by_method(request, body, {"GET": self._list, "POST": self._create})
        if path == spec.ORDERS_PATH:
            return _error(501, "not_implemented", "store orders are not shown in the document")
        if _PET.fullmatch(path):
            return self._by_method(request, body, {"GET": self._get})
        return _error(404, "not_found", "there is no such path")

    def _by_method(self, request: Request, body: bytes, routes: dict[str, Respond]) -> Response:
        respond = routes.get(request.method)
        if respond is None:
            refused = _error(405, "method_not_allowed", f"use {' or '.join(routes)}")
            refused.headers["Allow"] = ", ".join(routes)
            return refused
        return respond(request, body)

    def _list(self, request: Request, body: bytes) -> Response:  # noqa: ARG002
        query = request.query_params
        limit = bodies.read_limit(query.get("limit"))
        status = bodies.read_status(query.get("status"))
        after = bodies.read_cursor(query.get("cursor"), status)
        pets = self._database.page(after=after, limit=limit + 1, status=status)
        page = pets[:limit]
        first = {"limit": limit} | ({} if status is None else {"status": status})
        links = [f'<?{urlencode(first)}>; rel="first"']
        if len(pets) > limit:
            onward = first | {"cursor": bodies.write_cursor(page[-1][0], status)}
            links.append(f'<?{urlencode(onward)}>; rel="next"')
        response = _json(200, [bodies.pet_json(pet) for pet in page])
        response.headers["Link"] = ", ".join(links)
        return response

    def _create(self, request: Request, body: bytes) -> Response:
        pet = bodies.read_new_pet(body, request.headers.get("Content-Type", ""))
        return _json(201, bodies.pet_json((self._database.add(*pet), *pet)))

    def _get(self, request: Request, body: bytes) -> Response:  # noqa: ARG002
        gone = self._clock.now() >= spec.REMOVAL_OF_GET_PET_AT
        matched = _PET.fullmatch(request.url.path.removeprefix(spec.PATH_PREFIX))
        text = matched.group(1) if matched else ""
        number = int(text) if re.fullmatch(r"-?[0-9]{1,19}", text) else None
        pet = None
        if number is not None and spec.INT64_MIN <= number <= spec.INT64_MAX and not gone:
            pet = self._database.pet(number)
        if gone:
            response = _error(410, "gone", "removed; use GET /pets with the status filter")
        elif pet is None:
            response = _error(404, "not_found", "there is no such animal")
        else:
            response = _json(200, bodies.pet_json(pet))
        response.headers["Deprecation"] = f"@{DEPRECATED_SINCE}"
        response.headers["Sunset"] = formatdate(spec.REMOVAL_OF_GET_PET_AT, usegmt=True)
        response.headers["Link"] = '<../pets>; rel="successor-version"'
        return response


def _json(status: int, body: Any) -> Response:
    return Response(bodies.dump(body), status, media_type="application/json")


def _error(status: int, code: str, message: str) -> Response:
    return _json(status, {"code": code, "message": message, "status": status})
