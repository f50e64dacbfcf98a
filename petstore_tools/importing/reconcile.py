"""
Pure: what became of a row that was sent: by its answer, or by a listing of the
inventory.

A create cannot be undone, repeated safely, or asked about. A 201 is final: the row is
created, whatever its body says. Where no usable answer came, the animal can be seen in
a complete listing, begun at least `reconcile_after_s` after the row was lost. A set is
the lost rows of all imports that share their three values:

- The animals with these values that no row owns, and that are new for the set, belong
  to its rows: as many as there are, and first to created rows whose animal is not
  known. *New* are those that no complete listing showed which ended before the first
  row of the set was sent.
- The rest are *absent*. They are sent again when a second listing agrees.
- A set waits while a row of its name and category is on its way, or was lost too late
  for this listing.
- *Ambiguous*, for a person to decide: more animals than rows; no earlier listing that
  tells what is new; no animal with these values, but one that is near them (`_near`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from unicodedata import normalize

from pydantic import ValidationError

from petstore_tools import spec
from petstore_tools.importing.entries import Entry, State, group
from petstore_tools.importing.values import PetValues
from petstore_tools.models import ErrorBody, Pet
from petstore_tools.text import pluralize

LONGEST = 1_000  # characters of a reason


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    What became of a row.

    Attributes:
        state: The state that it has from now on.
        pet_id: Id of its animal, where that is known.
        detail: Why it is rejected or unknown, or what its answer showed, or "".
        candidates: Ids of animals that may be the row, where only a person can decide.
        changed: Fields that the answer shows with another value than the one that was
            sent.
    """

    state: State
    pet_id: int | None = None
    detail: str = ""
    candidates: tuple[int, ...] = ()
    changed: frozenset[str] = frozenset()


def judge(status: int, body: bytes, row: Entry) -> Outcome:
    """
    Say what an answer to createPet means for its row; 429 is the throttle's and never
    comes here.

    Returns:
        Created, rejected or unknown; unsent where our request is wrong and not the row.

    Spec: §4.2, §7. 413 and 422 are read as 400; any other 4xx means that the request is
    wrong.
    """
    if status == HTTPStatus.CREATED:
        return _created(body, row)
    try:
        error = ErrorBody.model_validate_json(body)
        why = f"{status} {error.code}: {error.message}"[:LONGEST]
    except ValidationError:
        why = f"{status} without an Error body"
    if status in (400, 413, 422):
        return Outcome("rejected", detail=why)
    return Outcome("unsent" if 400 <= status < 500 else "unknown", detail=why)


def _created(body: bytes, row: Entry) -> Outcome:
    try:
        pet = Pet.model_validate_json(body)
    except ValidationError:
        finder = f"petstore-tools imports reconcile {row.import_id} finds it"
        detail = f"the answer shows no animal, so its id is not known: {finder}"
        return Outcome("created", detail=detail)
    shown = pet.model_dump(by_alias=True)
    # a status of None was not sent, so the service may have given one
    changed = [
        field
        for field, value in zip(spec.NEW_PET_FIELDS, row.content, strict=True)
        if value not in (None, shown[field])
    ]
    detail = ", ".join(f"{field} {shown[field]!r}" for field in changed)
    detail = f"the answer shows {detail}" if changed else ""
    return Outcome("created", pet.id, detail, changed=frozenset(changed))


@dataclass(frozen=True, slots=True)
class Animal:
    """
    An animal of a complete listing that no row owns.

    Attributes:
        id: Its id.
        content: Its three values.
        since: Number of the first complete listing that showed it.
    """

    id: int
    content: PetValues
    since: int


def decide(
    lost: Iterable[Entry], animals: Iterable[Animal], *, changed: Collection[str] = ()
) -> dict[int, Outcome]:
    """
    Decide on rows by a complete listing that began late enough after they were lost.

    Args:
        lost: Unknown rows, and created ones whose animal is not known, of all imports
            to the place. No row of their names and categories is on its way.
        animals: Those of the listing that no row owns.
        changed: Fields in which the service was seen to change what it is sent.

    Returns:
        The outcome of each row, by its key; `unknown` without candidates where it is
        absent for the first time. A created row without an animal is left out.
    """
    by_id = sorted(animals, key=lambda animal: animal.id)
    alike = group(by_id, lambda animal: _near(animal.content, changed))
    outcomes: dict[int, Outcome] = {}
    for near, rows in group(lost, lambda row: _near(row.content, changed)).items():
        outcomes |= _decide_near(rows, alike[near])
    return outcomes


def _decide_near(
    lost: Sequence[Entry], animals: Sequence[Animal]
) -> dict[int, Outcome]:
    """Decide on rows whose values are near each other, by the animals near them."""
    sets = group(lost, lambda row: row.content)
    # an animal may be that of a created row with other values, where there are too few
    # for all
    created = {row.content for row in lost if row.state == "created"}
    few = len(_new(animals, lost)) < len(lost)
    outcomes: dict[int, Outcome] = {}
    taken: set[int] = set()
    rest: list[tuple[Entry, list[Animal]]] = []
    for content in sorted(sets, key=lambda content: content.status is None):
        # the rows sent last take their animals first: for the others more animals count
        # as new
        rows = sorted(
            sets[content], key=lambda row: (row.state != "created", -row.sent_after)
        )
        new = _new(animals, rows)
        # without a status, it has that of any
        compared = 2 if content.status is None else 3
        equal = [
            animal.id
            for animal in new
            if animal.content[:compared] == content[:compared]
            and animal.id not in taken
        ]
        taken.update(equal)
        why = _why_ambiguous(
            rows, equal, may_be_others=few and bool(created - {content})
        )
        if why:
            ambiguous = Outcome("unknown", None, why, tuple(equal))
            outcomes |= {
                row.entry_id: ambiguous for row in rows if row.state != "created"
            }
            continue
        for row, pet_id in zip(rows, equal, strict=False):
            outcomes[row.entry_id] = Outcome("created", pet_id, "found in a listing")
        rest += [(row, new) for row in rows[len(equal) :] if row.state != "created"]
    owned = {outcome.pet_id for outcome in outcomes.values()}
    for row, new in rest:
        near = tuple(animal.id for animal in new if animal.id not in owned)
        if near:
            why = "a new animal differs from it only a little"
            outcomes[row.entry_id] = Outcome("unknown", None, why, near)
        elif row.absent:
            outcomes[row.entry_id] = Outcome("unsent")
        else:
            outcomes[row.entry_id] = Outcome("unknown", None, "not found in a listing")
    return outcomes


def _why_ambiguous(
    rows: Sequence[Entry], equal: Sequence[int], *, may_be_others: bool
) -> str:
    """
    Say why a person must decide on a set of equal rows, "" where the animals are
    theirs.
    """
    if not equal:
        return ""
    if not min(row.sent_after for row in rows):
        return "no earlier listing tells whether this animal existed already"
    if len(equal) > len(rows):
        animals = pluralize(len(equal), "new animal")
        rows_ = pluralize(len(rows), "row")
        return f"there are {animals} with its values, and {rows_} without one"
    if may_be_others:
        return "the animal may be that of a created row with values near it"
    return ""


def _new(animals: Iterable[Animal], rows: Iterable[Entry]) -> list[Animal]:
    """
    Return the animals that no listing showed which ended before the first row was sent.
    """
    before = min(row.sent_after for row in rows)
    return [animal for animal in animals if animal.since > before]


def _near(content: PetValues, changed: Collection[str]) -> tuple[str, int]:
    """
    Return what near values share: they differ in status, case, blanks or normal form,
    or in fields that the service changes.
    """
    name = "".join(
        normalize("NFKC", normalize("NFKC", content.name).casefold()).split()
    )
    return (
        "" if "name" in changed else name,
        0 if "categoryId" in changed else content[1],
    )
