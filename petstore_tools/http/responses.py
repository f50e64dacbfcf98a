"""
What a reply says: the body expected, or the branch of the error tree that its status
names (§7).
"""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from typing import TypeVar

from pydantic import ValidationError

from petstore_tools import spec
from petstore_tools.errors import (
    ApiError,
    BadRequestError,
    NotFoundError,
    ProtocolError,
    UnauthorizedError,
)
from petstore_tools.http.transport import Reply
from petstore_tools.models import PET_ROWS, ErrorBody, Pet, PetRow, first_fault
from petstore_tools.text import printable

T = TypeVar("T")
NO_CHARACTER = "\N{REPLACEMENT CHARACTER}"


def error_body(reply: Reply) -> ErrorBody:
    """
    Read an Error body (§2.5); an answer without one is described in its place.

    >>> error_body(Reply(502, {"Content-Type": "text/html"}, b"<html>Bad gateway"))
    ErrorBody(code='', message='an answer without an Error body (text/html, 17 bytes):
    a web page came instead', status=502)
    """
    try:
        body = ErrorBody.model_validate_json(reply.body)
        texts = {"code": printable(body.code), "message": printable(body.message)}
        return body.model_copy(update=texts)
    except ValidationError:
        kind = reply.headers.get("Content-Type", "no content type").partition(";")[0]
        message = f"an answer without an Error body ({kind}, {len(reply.body):,} bytes)"
        if sender := _other_sender(reply):
            message += f": {sender}"
        return ErrorBody(code="", message=message, status=reply.status)


def _other_sender(reply: Reply) -> str:
    """Say why another program seems to have answered, "" where nothing shows it."""
    if (
        reply.status == HTTPStatus.BAD_REQUEST
        and b"https" in reply.body[:2_000].lower()
    ):
        return "the service seems to use https; write https:// in the base address"
    if not reply.body[:200].lstrip().lower().startswith((b"<!doctype html", b"<html")):
        return ""
    if reply.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "a web page came instead"
    return "a web page came instead; is the base address right?"


_KINDS: dict[int, type[ApiError]] = {
    400: BadRequestError,
    401: UnauthorizedError,
    404: NotFoundError,
    410: NotFoundError,
}


def expect(reply: Reply, status: int) -> Reply:
    """
    Return the reply if it has the documented status.

    Raises:
        ApiError: The branch of the tree that the status names (§7).
    """
    if reply.status == status:
        return reply
    body = error_body(reply)
    kind = _KINDS.get(reply.status, ApiError)
    error = kind(reply.status, body.code, body.message, reply.request_line)
    if kind is NotFoundError and reply.request_line.endswith(spec.PETS_PATH):
        error.args = (
            f"{error}; is the base address right (PETSTORE_BASE_URL, in staging"
            " PETSTORE_STAGING_BASE_URL)? It must look like https://HOST/v1",
        )
    raise error


def read_pet(reply: Reply, status: int) -> Pet:
    """
    Read an animal from a reply that has the documented status.

    >>> read_pet(Reply(200, {}, b'{"id": 1, "name": "Rex", "categoryId": 3}'), 200)
    Pet(id=1, name='Rex', category_id=3, status=None)

    Raises:
        ApiError: It has another one.
        ProtocolError: The body is no animal (§2.2).
    """
    return _read(Pet.model_validate_json, "an animal", expect(reply, status))


def read_rows(reply: Reply) -> list[PetRow]:
    """
    Read a page of animals; 204 is one without any, and so is `null`.

    >>> read_rows(store.client.call("GET", f"{sandbox.base_url}/pets?limit=1"))
    [{'id': 1, 'name': ..., 'categoryId': ..., 'status': ...}]

    Raises:
        ApiError: The status is none of 200, 204 and 206.
        ProtocolError: The body is no page (§2.4).
    """
    if reply.status == HTTPStatus.NO_CONTENT:
        return []
    if reply.status != HTTPStatus.PARTIAL_CONTENT:
        expect(reply, HTTPStatus.OK)
    if reply.body.strip() == b"null":
        return []
    return _read(PET_ROWS.validate_json, "a list of animals", reply)


def _read(validate: Callable[[bytes], T], expected: str, reply: Reply) -> T:
    try:
        return validate(reply.body)
    except ValidationError as error:
        with suppress(ValueError, RecursionError):
            # U+FFFD in place of each half of a surrogate pair that stands alone
            text = json.dumps(json.loads(reply.body), ensure_ascii=False)
            whole = re.sub("[\ud800-\udfff]", NO_CHARACTER, text).encode()
            if whole != reply.body:
                return _read(validate, expected, replace(reply, body=whole))
        body = error_body(reply)
        fault = f"{body.code}: {body.message}" if body.code else first_fault(error)
        fault = _other_sender(reply) or fault
        message = f"{reply.request_line}: the answer is not {expected}: {fault}"
        raise ProtocolError(message) from error
