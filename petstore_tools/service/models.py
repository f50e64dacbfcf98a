"""
Pure: what a request may hold, and what is written of an animal (§2, §4).
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from petstore_tools import spec
from petstore_tools.models import NOT_BLANK, Int64, first_fault

MAX_BODY_BYTES = 8 << 10
MAX_NAME = 255  # characters; §2.6 shows no limit: our choice
# text of PostgreSQL cannot hold a NUL, so a name on SQLite cannot, either
NAME = r"^[^\x00]*" + NOT_BLANK.replace("[^", r"[^\x00") + r"[^\x00]*$"
QUERY_FAULTS = {
    "limit": f"must be a whole number from {spec.LIMIT_MIN} to {spec.LIMIT_MAX}",
    "status": f"must be one of {', '.join(spec.STATUSES)}",
    "cursor": "is not one of this listing and its filter",
}

PetFields = tuple[str, int, str | None]  # name, category id, status
StoredPet = tuple[int, str, int, str | None]  # with the id in front


def read_int64(text: str) -> int | None:
    """
    Return a whole number of 64 bits (§2.2), or None where the text is anything else.
    """
    if not re.fullmatch(r"-?[0-9]{1,19}", text):
        return None
    number = int(text)
    return number if spec.INT64_MIN <= number <= spec.INT64_MAX else None


def _exact_integer(value: Any) -> Any:
    """
    Let 7.0 count as an integer (our choice; JSON knows one kind of number), where it is
    exact.
    """
    exact = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return int(value) if exact else value


class NewPetBody(BaseModel):
    """NewPet (§2.1) as a request may send it: no field may be null."""

    model_config = ConfigDict(strict=True, extra="forbid")

    name: str = Field(pattern=NAME, max_length=MAX_NAME)
    categoryId: Annotated[Int64, BeforeValidator(_exact_integer)]  # noqa: N815 - the wire's name
    status: spec.Status = "available"  # where none was sent, none is stored


class PageQuery(BaseModel):
    """What a list asks for (§4.1, §8.1); unknown parameters are ignored."""

    limit: Annotated[int, BeforeValidator(read_int64)] = Field(
        spec.LIMIT_DEFAULT, ge=spec.LIMIT_MIN, le=spec.LIMIT_MAX
    )
    status: spec.Status | None = None
    cursor: str | None = None

    @property
    def after(self) -> int:
        """The id after which the page begins."""
        digits = (self.cursor or "").removeprefix("id").partition(".")[0]
        after = read_int64(digits)
        return spec.INT64_MIN if after is None else after


def read_new_pet(body: bytes, content_type: str) -> PetFields:
    """
    Read the body that adds an animal.

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
        pet = NewPetBody.model_validate_json(body)
    except ValidationError as invalid:
        raise ValueError(first_fault(invalid)[:300]) from invalid
    status = pet.status if "status" in pet.model_fields_set else None
    return pet.name, pet.categoryId, status


def read_page_query(query: Mapping[str, str]) -> PageQuery:
    """
    Read what a list asks for.

        >>> read_page_query({"status": "sold", "cursor": "id7.sold"}).after
        7

    Raises:
        ValueError: The size is no whole number from 1 to 100, the status is none of the
            three values, or the cursor is none of this service and this filter.
    """
    try:
        page = PageQuery.model_validate(query)
        if page.cursor in (None, write_cursor(page.after, page.status)):
            return page
        fault = "cursor"
    except ValidationError as invalid:
        fault = str(invalid.errors()[0]["loc"][0])
    raise ValueError(f"{fault} {QUERY_FAULTS[fault]}")


def write_cursor(after: int, status: str | None) -> str:
    """
    Return a cursor: the last id seen, which clients may read, and the filter.

        >>> write_cursor(20, "sold")
        'id20.sold'
    """
    return f"id{after}.{status or 'all'}"


def write_pet(pet: StoredPet) -> dict[str, Any]:
    """
    Return an animal as it goes on the wire; a status that was never given is left out
    (§2.1).

        >>> write_pet((1, "Rex", 3, None))
        {'id': 1, 'name': 'Rex', 'categoryId': 3}
    """
    pet_id, name, category_id, status = pet
    fields = {"id": pet_id, "name": name, "categoryId": category_id}
    if status is not None:
        fields["status"] = status
    return fields
