"""
Pure: the states of an import's rows, which follows which, and what the answer to a create means.

A row is `unsent` until it is durably `sending`, before its bytes leave. The answer decides the
rest. A
journal that is opened with rows still `sending` belongs to a run that died: these rows are
`unknown`, and nothing sends an unknown row again before it is reconciled (`importing.reconcile`).
So a row is sent at most once without proof that nothing was created, and no row is forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from pydantic import ValidationError

from petstore_tools.importing.values import PetValues
from petstore_tools.models import ErrorBody, Pet

State = Literal["unsent", "sending", "created", "rejected", "unknown", "skipped"]
TRANSITIONS: Final[dict[State, frozenset[State]]] = {
    "unsent": frozenset({"sending"}),
    "sending": frozenset({"unsent", "created", "rejected", "unknown"}),
    "rejected": frozenset({"unsent"}),  # a later run tries again
    "created": frozenset(),
    "unknown": frozenset(
        {"created", "unsent", "unknown"}
    ),  # reconciled: by a listing, or by a person
    "skipped": frozenset({"unsent"}),  # left out as asked, and asked for by a later run
}
LOST_REASON: Final = "the run ended before the answer came"


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    What is found out of a row, by the answer to its request or by a listing of the inventory.

    Attributes:
        state: The state that it has from now on. `unsent`: nothing was created, so it may be sent
            (again).
        pet_id: Id of its animal, where it is created.
        detail: Why it is rejected or unknown, or "".
        candidates: Ids of animals that may be the row, where it is unknown.
        shown_status: The status with which the service shows a created animal.
    """

    state: State
    pet_id: int | None = None
    detail: str = ""
    candidates: tuple[int, ...] = ()
    shown_status: str | None = None


def judge(status: int, body: bytes, content: PetValues) -> Outcome:
    """
    Say what an answer to createPet means for its row; 429 is the throttle's and never comes here.

    Args:
        status: HTTP status code.
        body: Bytes of the answer.
        content: The three values that were sent.

    Returns:
        Created, rejected or unknown; unsent where our request is wrong and not the row, so that no
        other row would do better.

    Spec: §4.2, §7. 413 and 422 are read as 400; any other 4xx means that the request is wrong.
    """
    if status == 201:
        return _judge_created(body, content)
    try:
        error = ErrorBody.model_validate_json(body)
        why = f"{status} {error.code}: {error.message}"
    except ValidationError:
        why = f"{status} without an Error body"
    if status in (400, 413, 422):
        return Outcome("rejected", detail=why)
    return Outcome("unsent" if 400 <= status < 500 else "unknown", detail=why)


def _judge_created(body: bytes, content: PetValues) -> Outcome:
    try:
        pet = Pet.model_validate_json(body)
    except ValidationError:
        return Outcome("unknown", detail="the answer is 201, but its body is no animal")
    if (pet.name, pet.category_id) != content[:2] or content[2] not in (None, pet.status):
        why = f"the answer is 201, but it shows another animal (id {pet.id})"
        return Outcome("unknown", detail=why, candidates=(pet.id,))
    return Outcome("created", pet.id, shown_status=pet.status)


@dataclass(frozen=True, slots=True)
class Entry:
    """
    A row as the journal knows it.

    Attributes:
        content, occurrence: Its identity: three values, and which of the rows that share them.
        number: Its place in the sheet when it was last seen.
        state: Its state.
        cells: All cells as typed.
        pet_id: Of a created row.
        detail: Why it is rejected or unknown, or "".
        changed_at: Unix seconds of its last change of state.
        candidates: Ids of animals that may be this row, where it is unknown and only a person can
            decide.
        titles: Those under which the cells were read, none where version 0.1 read them.
        wanted: 2 where the file of the last run holds it, 1 where only the file before a rejects
            file does, 0 where neither does.
        origin: Number that the row bears in the rejects file it came from, None for others.
        key: In the table of the journal.
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
    key: int = 0

    @property
    def may_be(self) -> str:
        """The candidates for people: `17 or 18`, "" where there is none."""
        return " or ".join(map(str, self.candidates))
