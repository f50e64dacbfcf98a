"""
Requests as they came, what their bodies and queries may hold, and responses as they go
out.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field
from json.encoder import encode_basestring as _quoted
from typing import Annotated, Any
from urllib.parse import parse_qsl

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import from_json

from petstore_tools import spec
from petstore_tools.models import NOT_BLANK, Int64, first_fault
from petstore_tools.service.database import StoredPet
from petstore_tools.service.engine import PetFields

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

LIST_PATH = spec.PATH_PREFIX + spec.PETS_PATH
# the longest valid create has 120,000: each letter as \u escapes
MAX_BODY_BYTES = 128 << 10
LONG_BODY_BYTES = 8 << 10  # bytes; to parse 128 KiB takes 5 ms
MAX_UNFINISHED_BYTES = 16 << 20  # of all bodies that are being read
BODY_WITHIN_S = 10.0  # a body is complete within this time
MAX_NAME = 10_000  # characters; §2.6 shows no limit: our choice
PART_BYTES = 64 << 10  # an answer that is longer goes out in parts
# a request waits at most so long for the database, and two ticks more
MAX_WAIT_S = 8.0
# a caller that takes no part of an answer for so long is cut off; the system tells that
# parts were taken when a third of its buffer is free, of 4 MiB often
STALLED_S = 30.0


@dataclass(eq=False)
class Request:
    """
    A request, and what becomes of it.

    Attributes:
        method, path: The method as it came, and the path, decoded.
        query: The query string, in raw bytes.
        key: The bearer token; "" where the request has none.
        content_type: The Content-Type header as it came.
        address: The address of the caller.
        needs_body: Its body is needed, and was not read yet.
        pet: The animal that its body describes.
        refusal: What its body is answered with, where that describes none.
        sent_after: A time at which it had not been sent yet, in seconds of
            `app.elapsed`.
        patience_s: It is refused when it has waited for the database for so many
            seconds.
        creates: Whether it adds an animal, once it is committed.
        response: A future of its response, or of None where its body is needed for one.
    """

    method: str
    path: str
    query: bytes = b""
    key: str = ""
    content_type: str = ""
    address: str = "unknown"
    needs_body: bool = False
    pet: PetFields | None = None
    refusal: Response | None = None
    sent_after: float = math.inf
    patience_s: float = MAX_WAIT_S
    creates: bool = False
    response: asyncio.Future[Response | None] = field(init=False)

    def parse(self, body: bytes) -> None:
        """
        Parse the body of a create, which may be cut off behind the largest allowed
        size.
        """
        self.needs_body = False
        if len(body) > MAX_BODY_BYTES:
            reason = f"a body has at most {MAX_BODY_BYTES:,} bytes"
            self.refusal = error_response(413, "body_too_large", reason)
            return
        try:
            self.pet = read_new_pet(body, self.content_type)
        except ValueError as invalid:
            self.refusal = error_response(400, "invalid_body", str(invalid))


@dataclass(eq=False)
class Response:
    """
    A response to a request.

    Attributes:
        status: The HTTP status code.
        body: The body, in UTF-8.
        headers: The headers beside type and length of the body; names are in lower
            case.
        time: The database's Unix seconds, None where it was not read.
    """

    status: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()
    time: float | None = None
    content_type: bytes = b"application/json"

    def add(self, name: str, value: object) -> Response:
        """Add a header, and return the response."""
        self.headers += ((name.lower().encode(), str(value).encode()),)
        return self

    async def send(self, send: Send) -> None:
        """
        Send the response; a long body goes in parts, until the caller takes no more of
        them.
        """
        headers = [
            (b"content-type", self.content_type),
            (b"content-length", b"%d" % len(self.body)),
            *self.headers,
        ]
        await send(
            {"type": "http.response.start", "status": self.status, "headers": headers}
        )
        last = max(0, len(self.body) - 1) // PART_BYTES * PART_BYTES
        with suppress(TimeoutError):
            for start in range(0, last, PART_BYTES):
                async with asyncio.timeout(STALLED_S):
                    part = self.body[start : start + PART_BYTES]
                    await send(
                        {"type": "http.response.body", "body": part, "more_body": True}
                    )
            await send({"type": "http.response.body", "body": self.body[last:]})


def error_response(status: int, code: str, message: str) -> Response:
    """Return a response whose body is an Error (§2.5)."""
    body = {"code": code, "message": message, "status": status}
    return Response(status, json.dumps(body, ensure_ascii=False).encode())


def busy(reason: str) -> Response:
    """Return the 503 for what would take too much memory."""
    response = error_response(503, "busy", f"{reason}; wait a second")
    return response.add(spec.HEADER_RETRY_AFTER, 1)


def wrong_method(allowed: str) -> Response:
    """Return the 405 for a path that accepts only the `allowed` methods."""
    return error_response(
        405, "method_not_allowed", f"this path accepts only {allowed}"
    ).add("Allow", allowed)


def read_head(scope: Scope) -> Request:
    """Read a request without its body, which only a create needs."""
    credentials = (
        value for name, value in scope["headers"] if name == b"authorization"
    )
    scheme, _, token = b",".join(credentials).partition(b" ")  # two are no valid key
    request = Request(
        method=scope["method"],
        path=scope["path"],
        query=scope["query_string"],
        key=token.strip().decode("latin-1") if scheme.lower() == b"bearer" else "",
        address=scope["client"][0],
    )
    if request.method == "POST" and request.path == LIST_PATH:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        request.content_type = headers.get(b"content-type", b"").decode("latin-1")
        request.needs_body = True
    return request


class Bodies:
    """
    The bodies that are being read.

    Where they have too many bytes in all, the one that began first is given up: a body
    that comes as fast as it can is never that one for long. Of those that are long,
    only one is handed out in a turn of the event loop: other requests are answered
    between two of them.
    """

    def __init__(self) -> None:
        self._parts: dict[asyncio.Timeout, bytearray] = {}
        self._turn = asyncio.Lock()

    async def read(self, receive: Receive) -> bytes | Response:
        """
        Read a body, and stop soon after the largest size that is allowed.

        Returns:
            The body, or an Error where it did not come to its end.
        """
        body = bytearray()
        timeout = asyncio.timeout(BODY_WITHIN_S)
        self._parts[timeout] = body
        try:
            async with timeout:
                while len(body) <= MAX_BODY_BYTES:
                    message = await receive()
                    if message["type"] == "http.disconnect":  # or what came is no HTTP
                        return error_response(
                            400, "invalid_body", "the body has no end"
                        )
                    body += message.get("body", b"")
                    if not message.get("more_body", False):
                        break
                    self._make_room()
        except TimeoutError:
            if timeout not in self._parts:
                return busy("too many bodies are on their way")
            reason = f"a request has to be complete within {BODY_WITHIN_S:.0f} s"
            return error_response(408, "request_timeout", reason)
        finally:
            self._parts.pop(timeout, None)
        if len(body) > LONG_BODY_BYTES:
            async with self._turn:
                await asyncio.sleep(0)
        return bytes(body)

    def _make_room(self) -> None:
        """Give up the bodies that began first, until the others are few enough."""
        while sum(map(len, self._parts.values())) > MAX_UNFINISHED_BYTES:
            first = next(iter(self._parts))
            del self._parts[first]
            if not first.expired():
                first.reschedule(0.0)  # it ends now


def _exact_integer(value: Any) -> Any:
    """
    Let 7.0 count as an integer (our choice; JSON knows one kind of number), where it is
    exact.
    """
    exact = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return int(value) if exact else value


class NewPetBody(BaseModel):
    """NewPet (§2.1) as a request may send it: no field may be null."""

    model_config = ConfigDict(strict=True)

    name: str = Field(pattern=NOT_BLANK, max_length=MAX_NAME)
    categoryId: Annotated[Int64, BeforeValidator(_exact_integer)]  # noqa: N815 - the wire's name
    status: spec.Status = "available"  # where none was sent, none is stored


def read_new_pet(body: bytes, content_type: str) -> PetFields:
    """
    Read the body that adds an animal.

    Unknown fields are refused before the others are looked at: to check 40,000 of them
    one by one would hold all other callers up.

    Returns:
        Name, category id and status, None where no status was sent.

        >>> read_new_pet(b'{"name": "Rex", "categoryId": 3}', "application/json")
        ('Rex', 3, None)

    Raises:
        ValueError: The body is malformed or of another content type, or a field is
            missing, unknown or invalid (§4.2).
    """
    if content_type.partition(";")[0].strip().casefold() != "application/json":
        raise ValueError("the content type must be application/json")
    try:
        fields = from_json(body, allow_inf_nan=False)
    except ValueError as malformed:
        raise ValueError(f"body: Invalid JSON: {malformed}") from malformed
    if not isinstance(fields, dict):
        raise ValueError("the body must be a JSON object")
    if unknown := fields.keys() - NewPetBody.model_fields.keys():
        names = ", ".join(sorted(unknown))[:200]  # there may be thousands
        raise ValueError(f"fields that an animal does not have: {names}")
    try:
        pet = NewPetBody.model_validate(fields)
    except ValidationError as invalid:
        raise ValueError(first_fault(invalid)) from invalid
    return pet.name, pet.categoryId, pet.status if "status" in fields else None


def read_page_query(query_string: bytes) -> tuple[int, str | None, int]:
    """
    Read what a list asks for (§4.1, §8.1).

    Returns:
        The page size, the status filter, and the id after which the page begins.

        >>> read_page_query(b"status=sold&cursor=id7.sold")
        (20, 'sold', 7)

    Raises:
        ValueError: The size is no whole number from 1 to 100, the status is none of the
            three values, or the cursor is none of this service and this filter.
    """
    query = dict(parse_qsl(query_string.decode("latin-1"), keep_blank_values=True))
    limit = read_int64(query.get("limit", str(spec.LIMIT_DEFAULT)))
    if limit is None or not spec.LIMIT_MIN <= limit <= spec.LIMIT_MAX:
        raise ValueError(
            "limit must be a whole number between"
            f" {spec.LIMIT_MIN} and {spec.LIMIT_MAX}"
        )
    status = query.get("status")
    if status not in (None, *spec.STATUSES):
        raise ValueError(f"status must be one of {', '.join(spec.STATUSES)}")
    cursor = query.get("cursor", write_cursor(spec.INT64_MIN, status))
    after = read_int64(cursor.removeprefix("id").partition(".")[0])
    if after is None or cursor != write_cursor(after, status):
        raise ValueError("the cursor is not one of this listing and its filter")
    return limit, status, after


def read_int64(text: str) -> int | None:
    """
    Return a whole number of 64 bits (§2.2), or None where the text is anything else.
    """
    if (
        re.fullmatch(r"-?[0-9]{1,19}", text)
        and spec.INT64_MIN <= int(text) <= spec.INT64_MAX
    ):
        return int(text)
    return None


def write_cursor(after: int, status: str | None) -> str:
    """
    Return a cursor: the last id seen, which clients may read, and the filter.

        >>> write_cursor(20, "sold")
        'id20.sold'
    """
    return f"id{after}.{status or 'all'}"


def pet_json(pet: StoredPet) -> str:
    """
    Return an animal as it goes on the wire; a status that was never given is left out
    (§2.1).

        >>> pet_json((1, "Rex", 3, None))
        '{"id":1,"name":"Rex","categoryId":3}'
    """
    pet_id, name, category_id, status = pet
    last = "" if status is None else f',"status":{_quoted(status)}'
    return f'{{"id":{pet_id},"name":{_quoted(name)},"categoryId":{category_id}{last}}}'
