"""Pure: wire models of the document: what a request body and a reply look like (§2)."""

from typing import Annotated, Any, NotRequired, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    with_config,
)
from typing_extensions import TypedDict

from petstore_tools import spec
from petstore_tools.errors import ArgumentError
from petstore_tools.text import plain_integer

# not blank (our choice, §2.6 shows no rule); spelt out, since engines disagree on what
# a space is
NOT_BLANK = (
    r"[^\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
)
Int64 = Annotated[int, Field(ge=spec.INT64_MIN, le=spec.INT64_MAX)]
_FAULTS = {  # pydantic's kinds, in words for people
    "greater_than_equal": "must be a whole number of 64 bits",
    "int_type": "must be a whole number",
    "less_than_equal": "must be a whole number of 64 bits",
    "literal_error": f"must be one of {', '.join(spec.STATUSES)}",
    "missing": "is missing",
    "string_pattern_mismatch": "must not be blank",
    "string_type": "must be text",
}


def first_fault(error: ValidationError) -> str:
    """Describe the first fault by its field, not its content."""
    fault = error.errors(include_input=False, include_url=False)[0]
    field = ".".join(map(str, fault["loc"])) or "body"
    return f"{field}: {_FAULTS.get(fault['type'], fault['msg'])}"


def check_id(pet_id: Any) -> int:
    """
    Return the id of an animal.

    >>> check_id(pd.Series([17])[0])
    17

    Raises:
        ArgumentError: It is no int64.
    """
    number = plain_integer(pet_id)
    if type(number) is not int or not spec.INT64_MIN <= number <= spec.INT64_MAX:
        raise ArgumentError(
            f"an animal's id must be a whole number in int64, not {pet_id!r}"
        )
    return number


class _WireModel(BaseModel):
    model_config = ConfigDict(
        strict=True, frozen=True, populate_by_name=True, hide_input_in_errors=True
    )


class Pet(_WireModel, extra="allow"):
    """
    An animal as the service returns it.

    >>> Pet.model_validate_json('{"id": 17, "name": "Rex", "categoryId": 3}')
    Pet(id=17, name='Rex', category_id=3, status=None)

    Attributes:
        id: int64, assigned by the service.
        name: The animal's name.
        category_id: int64; `categoryId` on the wire.
        status: One of the three values, None where the service sent none, or a value
            that a newer service may send (kept as it came).

    Fields the document does not name are kept in `model_extra`.

    Spec: §2.2, §2.3.
    """

    __module__ = "petstore_tools"

    id: Int64
    name: str
    category_id: Int64 = Field(alias="categoryId")
    status: str | None = None


class NewPet(_WireModel, extra="forbid"):
    """
    The body that adds an animal; a status of None is left out of the wire.

    Attributes:
        name: Not blank; length and characters are not limited by the document (§2.6).
        category_id: int64; `categoryId` on the wire.
        status: One of the three values, or None: the field is not sent.

    Spec: §2.1.
    """

    name: str = Field(pattern=NOT_BLANK)
    category_id: Annotated[Int64, BeforeValidator(plain_integer)] = Field(
        alias="categoryId"
    )
    status: spec.Status | None = None

    @classmethod
    def of(cls, name: Any, category_id: Any, status: Any) -> Self:
        """
        Take what a caller gave.

        >>> NewPet.of("Rex", pd.Series([3])[0], "sold")
        NewPet(name='Rex', category_id=3, status='sold')

        Raises:
            ArgumentError: The interface document does not allow it.
        """
        try:
            return cls(name=name, category_id=category_id, status=status)
        except ValidationError as error:
            raise ArgumentError(
                f"this animal cannot be created: {first_fault(error)}"
            ) from None

    def wire(self) -> bytes:
        """
        Return the JSON body in UTF-8.

        >>> NewPet(name="Rex", category_id=3).wire()
        b'{"name":"Rex","categoryId":3}'
        """
        return self.model_dump_json(by_alias=True, exclude_none=True).encode()


class ErrorBody(_WireModel, strict=False):
    """
    Body of an error answer.

    Attributes:
        code: Machine-readable code; its values are not shown.
        message: Description for people.
        status: The HTTP status code.

    Spec: §2.5.
    """

    code: str
    message: str
    status: int


@with_config(ConfigDict(strict=True, extra="allow"))
class PetRow(TypedDict):
    """
    A decoded animal as a plain dict, which takes a third of the time of a model (§2.2).
    """

    id: Int64
    name: str
    categoryId: Int64
    status: NotRequired[str | None]


PET_ROWS: TypeAdapter[list[PetRow]] = TypeAdapter(list[PetRow])
