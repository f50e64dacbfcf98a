"""Request bodies as the service checks them, cursors, and bodies of responses (§2, §4)."""

from __future__ import annotations

import hashlib
import json
import re
from itertools import islice
from json.encoder import encode_basestring as _quoted
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from petstore_tools import spec
from petstore_tools.models import NOT_BLANK, Int64, fault_text
from petstore_tools.service.database import StoredPet

MAX_NAME: Final = 10_000  # characters; §2.6 shows no limit: our choice
FIELDS_NAMED, FIELD_SHOWN = 3, 60  # of what is wrong, in a message; and characters of each name


def _whole(value: Any) -> Any:
    """
    Let 7.0 count as an integer (our choice; JSON knows one kind of number), where it is exact.
    """
    exact = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return int(value) if exact else value


class NewPet(BaseModel):
    """
    NewPet (§2.1) as a request may send it: nothing null.

    Unknown fields are kept, and refused together: an error for each of 100,000 would hold everybody
        up.
    """

    model_config = ConfigDict(strict=True, extra="allow")

    name: str = Field(pattern=NOT_BLANK, max_length=MAX_NAME)
    categoryId: Annotated[Int64, BeforeValidator(_whole)]  # noqa: N815 - the wire's name
    status: spec.Status = "available"  # where none was sent, none is stored


class InvalidError(ValueError):
    """A request that is refused with 400: the code of its Error, and what is wrong with it."""


def read_new_pet(body: bytes, content_type: str) -> tuple[str, int, str | None]:
    """
    Read the body that adds an animal.

    Returns:
        Name, category id and status, None where no status was sent.

    Raises:
        InvalidError: Malformed, of another content type, a field missing, unknown or invalid
            (§4.2).
    """
    if content_type.partition(";")[0].strip().casefold() != "application/json":
        raise InvalidError("invalid_body", "the content type must be application/json")
    try:
        pet = NewPet.model_validate_json(body)
    except ValidationError as error:
        faults = [
            f"{fault['loc'][0] if fault['loc'] else 'body'}: {fault_text(fault)}"
            for fault in error.errors(include_url=False, include_input=False)
        ]
        raise InvalidError("invalid_body", "; ".join(faults)) from error
    if unknown := pet.model_extra:
        named = ", ".join(_shown(name) for name in islice(unknown, FIELDS_NAMED))
        more = f" and {len(unknown) - FIELDS_NAMED:,} more" if len(unknown) > FIELDS_NAMED else ""
        raise InvalidError("invalid_body", f"fields that an animal does not have: {named}{more}")
    return pet.name, pet.categoryId, pet.status if "status" in pet.model_fields_set else None


def _shown(name: str) -> str:
    return name if len(name) <= FIELD_SHOWN else name[: FIELD_SHOWN - 1] + "…"


def read_limit(text: str | None) -> int:
    """
    Read the page size (§8.1).

    Raises:
        InvalidError: No whole number from 1 to 100.
    """
    if text is None:
        return spec.LIMIT_DEFAULT
    if re.fullmatch(r"[0-9]{1,9}", text) and spec.LIMIT_MIN <= int(text) <= spec.LIMIT_MAX:
        return int(text)
    raise InvalidError(
        "invalid_parameter",
        f"limit must be a whole number between {spec.LIMIT_MIN} and {spec.LIMIT_MAX}",
    )


def read_status(text: str | None) -> str | None:
    """
    Read the status filter (§4.1).

    Raises:
        InvalidError: None of the three values.
    """
    if text is None or text in spec.STATUSES:
        return text
    raise InvalidError("invalid_parameter", f"status must be one of {', '.join(spec.STATUSES)}")


def read_int64(text: str) -> int | None:
    """Return a whole number of 64 bits (§2.2), None for anything else."""
    number = int(text) if re.fullmatch(r"-?[0-9]{1,19}", text) else None
    return number if number is not None and spec.INT64_MIN <= number <= spec.INT64_MAX else None


def write_cursor(after: int, status: str | None) -> str:
    """Return a cursor: the last id seen, which clients may read, bound to the filter."""
    seal = hashlib.sha256(f"{after} {status}".encode()).hexdigest()[:8]
    return f"id{after}.{seal}"


def read_cursor(text: str | None, status: str | None) -> int:
    """
    Return the id after which a page begins.

    Raises:
        InvalidError: Not a cursor of ours, or of another filter.
    """
    if text is None:
        return spec.INT64_MIN
    after = read_int64(text.removeprefix("id").partition(".")[0])
    if after is not None and text == write_cursor(after, status):
        return after
    raise InvalidError("invalid_parameter", "the cursor is not one of this listing and its filter")


def pet_json(pet: StoredPet) -> str:
    """Return an animal as it goes on the wire; a status that was never given is left out (§2.1)."""
    pet_id, name, category_id, status = pet
    last = "" if status is None else f',"status":{_quoted(status)}'
    return f'{{"id":{pet_id},"name":{_quoted(name)},"categoryId":{category_id}{last}}}'


def dump(body: Any) -> bytes:
    """Return compact JSON in UTF-8."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
