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
- The rest are *absent*. They are sent again when a second listing agrees. A listing
  that lacks animals whose 201 came not long ago, and that none showed since, lags: it
  proves no row absent.
- A set waits while a row of its name and category is on its way, or was lost too late
  for this listing.
- *Ambiguous*, for a person to decide: more animals than rows; no earlier listing that
  tells what is new; no animal with these values, but one near them (`similarity_key`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from operator import attrgetter
from typing import NamedTuple
from unicodedata import normalize

from pydantic import ValidationError

from petstore_tools import spec
from petstore_tools.importing.entries import Entry, State, content_of, group
from petstore_tools.importing.values import PetValues
from petstore_tools.models import ErrorBody, Pet
from petstore_tools.text import clean, pluralize

LONGEST = 1_000  # characters of a reason
REJECTIONS = (400, 409, 413, 422)
# the request is wrong, not the row, so the service did not get as far as the row
REFUSALS = (401, 403, 404, 405, 406, 410, 411, 414, 415, 431)


class Outcome(NamedTuple):
    """
    What became of a row.

    Attributes:
        state: The state that it has from now on.
        pet_id: Id of its animal, where that is known.
        detail: Why it is rejected or unknown, or what its answer showed, or "".
        candidates: Ids of animals that may be the row, where only a person can decide.
    """

    state: State
    pet_id: int | None = None
    detail: str = ""
    candidates: tuple[int, ...] = ()


# for the first time, so that a second listing must agree
ABSENT = Outcome("unknown", detail="not found in a listing")


def judge(status: int, body: bytes, row: Entry) -> Outcome:
    """
    Say what an answer to createPet means for its row; 429 is the throttle's and never
    comes here.

    Returns:
        Created, rejected, unsent if the answer proves that nothing was created, or
        unknown.

    Spec: §4.2, §7. The document names 201, 400 and 401; how the toolkit reads the other
    statuses is our choice.
    """
    if status == HTTPStatus.CREATED:
        return _created(body, row)
    try:
        error = ErrorBody.model_validate_json(body)
        reason = f"{status} {error.code}: {error.message}"[:LONGEST]
    except ValidationError:
        reason = f"{status} without an Error body"
    if status in REJECTIONS:
        return Outcome("rejected", detail=reason)
    return Outcome("unsent" if status in REFUSALS else "unknown", detail=reason)


def _created(body: bytes, row: Entry) -> Outcome:
    try:
        pet = Pet.model_validate_json(body)
    except ValidationError:
        detail = "the answer shows no animal, so its id is not known yet"
        return Outcome("created", detail=detail)
    content = PetValues(pet.name, pet.category_id, pet.status)
    # a status of None was not sent, so the service may have given one
    changed = [
        f"{field} {value!r}"
        for field, value, sent_value in zip(
            spec.NEW_PET_FIELDS, content, row.content, strict=True
        )
        if sent_value not in (None, value)
    ]
    detail = f"the answer shows {', '.join(changed)}" if changed else ""
    return Outcome("created", pet.id, detail)


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
    lost_rows: Iterable[Entry], animals: Iterable[Animal], *, lags: bool = False
) -> dict[int, Outcome]:
    """
    Decide on rows by a complete listing that began late enough after they were lost.

    Args:
        lost_rows: Unknown rows, and created ones whose animal is not known, of all
            imports to the place. No row of their names and categories is on its way.
        animals: Those of the listing that no row owns.
        lags: The listing lacks animals that were created not long ago, so it proves no
            row absent.

    Returns:
        The outcome of each row, by its `entry_id`; `ABSENT` where no animal may be it
        for the first time. A created row without an animal is left out.
    """
    by_id = sorted(animals, key=attrgetter("id"))
    similar_animals = group(by_id, lambda animal: similarity_key(animal.content))
    similar_rows = group(lost_rows, lambda row: similarity_key(row.content))
    outcomes: dict[int, Outcome] = {}
    for like, rows in similar_rows.items():
        outcomes |= _decide_similar(rows, similar_animals[like])
    if lags:
        outcomes = {
            entry_id: outcome
            for entry_id, outcome in outcomes.items()
            if outcome.state == "created" or outcome.candidates
        }
    return outcomes


def _decide_similar(
    lost_rows: Sequence[Entry], animals: Sequence[Animal]
) -> dict[int, Outcome]:
    """Decide on rows whose values are near each other, by the animals near them."""
    # an animal may be that of a created row with other values, where there are too few
    # for all
    created = {row.content for row in lost_rows if row.state == "created"}
    are_too_few = len(_new_animals(animals, lost_rows)) < len(lost_rows)
    outcomes: dict[int, Outcome] = {}
    absent_rows: list[tuple[Entry, list[Animal]]] = []
    sets = group(lost_rows, content_of)
    for content in sorted(sets, key=lambda content: content.status is None):
        # the rows sent last take their animals first: for the others more animals count
        # as new
        rows = sorted(
            sets[content], key=lambda row: (row.state != "created", -row.sent_after)
        )
        new_animals = _new_animals(animals, rows)
        pet_ids = _equal_ids(content, new_animals, outcomes.values())
        may_be_others = are_too_few and bool(created - {content})
        unknown_rows = [row for row in rows if row.state != "created"]
        if ambiguity := _ambiguity(rows, pet_ids, may_be_others=may_be_others):
            outcome = Outcome("unknown", None, ambiguity, tuple(pet_ids))
            outcomes |= {row.entry_id: outcome for row in unknown_rows}
            continue
        for row, pet_id in zip(rows, pet_ids, strict=False):
            outcomes[row.entry_id] = Outcome("created", pet_id, "found in a listing")
        absent_rows += [
            (row, new_animals) for row in unknown_rows if row.entry_id not in outcomes
        ]
    owned_ids = {outcome.pet_id for outcome in outcomes.values()}
    for row, new_animals in absent_rows:
        free_ids = [animal.id for animal in new_animals if animal.id not in owned_ids]
        outcomes[row.entry_id] = _decide_absent(row, free_ids)
    return outcomes


def _equal_ids(
    content: PetValues, animals: Iterable[Animal], outcomes: Iterable[Outcome]
) -> list[int]:
    """
    Return the animals with these values that no outcome names; without a status, with
    those of any.
    """
    width = 2 if content.status is None else 3
    named_ids = {
        pet_id
        for outcome in outcomes
        for pet_id in (outcome.pet_id, *outcome.candidates)
    }
    return [
        animal.id
        for animal in animals
        if animal.content[:width] == content[:width] and animal.id not in named_ids
    ]


def _decide_absent(row: Entry, similar_ids: Sequence[int]) -> Outcome:
    """Decide on a row that no animal equals, by the new ones that are near it."""
    if similar_ids:
        reason = "a new animal differs from it only a little"
        return Outcome("unknown", None, reason, tuple(similar_ids))
    if row.absent:
        return Outcome("unsent")
    return ABSENT


def _ambiguity(
    rows: Sequence[Entry], pet_ids: Sequence[int], *, may_be_others: bool
) -> str:
    """
    Say why a person must decide on a set of equal rows, "" where the animals are
    theirs.
    """
    if not pet_ids:
        return ""
    if not min(row.sent_after for row in rows):
        return "no earlier listing tells whether this animal existed already"
    if len(pet_ids) > len(rows):
        animals = pluralize(len(pet_ids), "new animal")
        rows_text = pluralize(len(rows), "row")
        return f"there are {animals} with its values, and {rows_text} without one"
    if may_be_others:
        return "the animal may be that of a created row with values near it"
    return ""


def _new_animals(animals: Iterable[Animal], rows: Iterable[Entry]) -> list[Animal]:
    """
    Return the animals that no listing showed which ended before the first row was sent.
    """
    last_listing = min(row.sent_after for row in rows)
    return [animal for animal in animals if animal.since > last_listing]


def similarity_key(content: PetValues) -> tuple[str, int]:
    """
    Return what near values share: they differ in status, or in case, blanks or normal
    form of the name.
    """
    name = normalize("NFKC", normalize("NFKC", clean(content.name)).casefold())
    return "".join(name.split()), content.category_id
