"""
The fates of an import's rows: which state follows which, and which row is which when a file comes again.

A row is `unsent` until it is durably `sending`, before its bytes leave. What came back decides the
rest. A journal that is opened with rows still `sending` belongs to a run that died: these rows are
`unknown`, and nothing sends an unknown row again before it is settled (`importing.reconcile`). So a row is
sent at most once without proof that nothing was created, and no row is forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from pydantic import ValidationError

from petstore_tools.importing.rows import PetValues
from petstore_tools.models import ErrorBody, Pet

State = Literal["unsent", "sending", "created", "rejected", "unknown", "skipped"]
TRANSITIONS: Final[dict[State, frozenset[State]]] = {
    "unsent": frozenset({"sending"}),
    "sending": frozenset({"unsent", "created", "rejected", "unknown"}),
    "rejected": frozenset({"unsent"}),  # a later run tries again
    "created": frozenset(),
    "unknown": frozenset({"created", "unsent"}),  # settled, by a look or by a person
    "skipped": frozenset({"unsent"}),  # left out as asked, and asked for by a later run
}
LOST_REASON: Final = "the run ended while the answer was awaited"


@dataclass(frozen=True, slots=True)
class Created:
    """201: the animal stands under this id, with this status."""

    pet_id: int
    status: str | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """The service refused the row; nothing was created."""

    why: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """It cannot be told whether the animal was created; the service may have named one."""

    why: str
    pet_id: int | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """Not the row but our request is wrong: nothing was created, and nothing more is sent."""

    status: int
    why: str


Outcome = Created | Rejected | Unknown | Refused


def judge(status: int, body: bytes, content: PetValues) -> Outcome:
    """
    Tell what an answer to createPet says of a row; 429 is the throttle's and never comes here.

    Args:
        status: HTTP status code.
        body: Bytes of the answer.
        content: The three values that were sent.

    Spec: §4.2, §7. 413 and 422 are read as 400; any other 4xx means that no row would fare better.
    """
    if status == 201:
        return _judge_created(body, content)
    try:
        said = ErrorBody.model_validate_json(body)
        why = f"{status} {said.code}: {said.message}"
    except ValidationError:
        why = f"{status} without an Error body"
    if status in (400, 413, 422):
        return Rejected(why)
    if 400 <= status < 500:
        return Refused(status, why)
    return Unknown(why)


def _judge_created(body: bytes, content: PetValues) -> Outcome:
    try:
        pet = Pet.model_validate_json(body)
    except ValidationError:
        return Unknown("201 whose body is no animal")
    if (pet.name, pet.category_id) != content[:2] or content[2] not in (None, pet.status):
        return Unknown(f"201 that shows another animal (id {pet.id})", pet.id)
    return Created(pet.id, pet.status)


@dataclass(frozen=True, slots=True)
class Entry:
    """
    A row as the journal knows it.

    Attributes:
        content, occurrence: Its identity: three values, and which of the rows that share them.
        number: Where it stood in the sheet when it was last seen.
        state: Its state.
        cells: All cells as typed.
        pet_id: Of a created row.
        detail: Why it is rejected or unknown, or "".
        changed_at: Unix seconds of its last change of state.
        candidates: Ids of animals that may be this row, where it is unknown and a look could not tell.
        titles: Those under which the cells were read, none where version 0.1 read them.
        wanted: 2 where the file of the last run holds it, 1 where only the file before a rejects file does, 0
            where neither does.
        origin: Number that the row bears in the rejects file it came from, None for others.
    """

    content: PetValues
    occurrence: int
    number: int
    state: State
    cells: tuple[str, ...]
    pet_id: int | None = None
    detail: str = ""
    changed_at: float = 0.0
    candidates: tuple[int, ...] = ()
    titles: tuple[str, ...] = ()
    wanted: int = 2
    origin: int | None = None

    @property
    def may_be(self) -> str:
        """The candidates for people: `17 or 18`, "" where there is none."""
        return " or ".join(map(str, self.candidates))
