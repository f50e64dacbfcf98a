"""
Pure: what became of a row that was sent: by its answer, or by a listing of the inventory.

A create cannot be undone, repeated safely, or asked about. A 201 is final: the row is created,
whatever its body says. Where no usable answer came, the animal can be seen in a complete listing,
begun at least `reconcile_after_s` after the row was lost. A set is the lost rows of all imports
that share their three values:

- The animals with these values that no row owns, and that are new for the set, belong to its rows:
  as many as there are, and first to created rows whose animal is not known. *New* are those that
  no complete listing showed which ended before the first row of the set was sent.
- The rest are *absent*. They are sent again when a second listing agrees.
- A set waits while a row of its name and category is on its way, or was lost too late for this
  listing.
- *Ambiguous*, for a person to decide: more animals than rows; no earlier listing that tells what is
  new; no animal with these values, but one that is near them (`_near`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from unicodedata import normalize

from pydantic import ValidationError

from petstore_tools import spec
from petstore_tools.importing.doubtful import State
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
        changed: Fields that the answer shows with another value than the one that was sent.
    """

    state: State
    pet_id: int | None = None
    detail: str = ""
    candidates: tuple[int, ...] = ()
    changed: frozenset[str] = frozenset()


def judge(status: int, body: bytes, content: PetValues) -> Outcome:
    """
    Say what an answer to createPet means for its row; 429 is the throttle's and never comes here.

    Returns:
        Created, rejected or unknown; unsent where our request is wrong and not the row.

    Spec: §4.2, §7. 413 and 422 are read as 400; any other 4xx means that the request is wrong.
    """
    if status == HTTPStatus.CREATED:
        return _created(body, content)
    try:
        error = ErrorBody.model_validate_json(body)
        why = f"{status} {error.code}: {error.message}"[:LONGEST]
    except ValidationError:
        why = f"{status} without an Error body"
    if status in (400, 413, 422):
        return Outcome("rejected", detail=why)
    return Outcome("unsent" if 400 <= status < 500 else "unknown", detail=why)


def _created(body: bytes, content: PetValues) -> Outcome:
    try:
        pet = Pet.model_validate_json(body)
    except ValidationError:
        return Outcome("created", detail="the answer shows no animal, so its id is not known")
    shown = pet.model_dump(by_alias=True)
    sent = dict(zip(spec.NEW_PET_FIELDS, content, strict=True))
    # a status of None was not sent, so the service may have given one
    changed = [field for field, value in sent.items() if value not in (None, shown[field])]
    detail = ", ".join(f"{field} {shown[field]!r}" for field in changed)
    detail = f"the answer shows {detail}" if changed else ""
    return Outcome("created", pet.id, detail, changed=frozenset(changed))


@dataclass(frozen=True, slots=True)
class Lost:
    """
    A row whose animal is not known.

    Attributes:
        key: In the journal.
        content: Its three values.
        created: The service said that it was created.
        sent_after: Number of the last complete listing that ended before it was sent, 0 for none.
    """

    key: int
    content: PetValues
    created: bool
    sent_after: int


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
    lost: Iterable[Lost],
    animals: Sequence[Animal],
    *,
    on_the_way: Collection[tuple[str, int]] = (),
    changed: Collection[str] = (),
    absent: Collection[int] = (),
) -> dict[int, Outcome]:
    """
    Decide on rows by a complete listing that began late enough after they were lost.

    Args:
        lost: The rows, of all imports to the place.
        animals: Those of the listing that no row owns.
        on_the_way: Name and category of rows whose answer is awaited, or that were lost too late
            for this listing.
        changed: Fields in which the service was seen to change what it is sent.
        absent: Rows that another such listing did not show, by key.

    Returns:
        The outcome of each row, by its key; `unknown` without candidates where it is absent for
        the first time. A created row without an animal, and a set that waits, are left out.
    """
    sets: dict[PetValues, list[Lost]] = defaultdict(list)
    for row in lost:
        if row.content[:2] not in on_the_way:
            sets[row.content].append(row)
    same: dict[PetValues | tuple[str, int], list[Animal]] = defaultdict(list)
    alike: dict[tuple[str, int], list[Animal]] = defaultdict(list)
    for animal in sorted(animals, key=lambda animal: animal.id):
        same[animal.content].append(animal)
        same[animal.content[:2]].append(animal)
        alike[_near(animal.content, changed)].append(animal)
    unclear = _unclear(sets, alike, changed)
    taken: set[int] = set()  # by a row, or by a set that is ambiguous
    given: set[int] = set()  # to a row
    outcomes: dict[int, Outcome] = {}
    rest: list[tuple[Lost, int]] = []
    for content in sorted(sets, key=lambda content: content.status is None):
        # the rows sent last take their animals first: for the others more animals count as new
        rows = sorted(sets[content], key=lambda row: (not row.created, -row.sent_after))
        before = min(row.sent_after for row in rows)
        key = content if content.status is not None else content[:2]
        equal = _new(same[key], before, taken)
        why = _why_ambiguous(rows, equal, unclear)
        candidates = tuple(animal.id for animal in equal)
        taken.update(candidates)
        for at, row in enumerate(rows):
            if why and not row.created:
                outcomes[row.key] = Outcome("unknown", None, why, candidates)
            elif not why and at < len(equal):
                outcomes[row.key] = Outcome("created", equal[at].id, "found in a listing")
                given.add(equal[at].id)
            elif not row.created:
                rest.append((row, before))
    for row, before in rest:
        near = tuple(a.id for a in _new(alike[_near(row.content, changed)], before, given))
        if near:
            why = "a new animal differs from it only a little"
            outcomes[row.key] = Outcome("unknown", None, why, near)
        elif row.key in absent:
            outcomes[row.key] = Outcome("unsent")
        else:
            outcomes[row.key] = Outcome("unknown", None, "not found in a listing")
    return outcomes


def _why_ambiguous(
    rows: Sequence[Lost], equal: Sequence[Animal], unclear: Collection[PetValues]
) -> str:
    """Say why a person must decide on a set of equal rows, "" where the animals are theirs."""
    content = rows[0].content
    if not equal:
        return ""
    if not min(row.sent_after for row in rows):
        return "no earlier listing tells whether this animal existed already"
    if len(equal) > len(rows):
        animals = pluralize(len(equal), "new animal")
        rows_ = pluralize(len(rows), "row")
        return f"there are {animals} with its values, and {rows_} without one"
    if content in unclear:
        return "the animal may be that of a created row with values near it"
    return ""


def _unclear(
    sets: Mapping[PetValues, Sequence[Lost]],
    alike: Mapping[tuple[str, int], Sequence[Animal]],
    changed: Collection[str],
) -> set[PetValues]:
    """
    Return the values whose animals may be those of created rows with values near them: there are
    such rows, and fewer new animals than these and the lost rows need.
    """
    groups: dict[tuple[str, int], list[PetValues]] = defaultdict(list)
    for content in sets:
        groups[_near(content, changed)].append(content)
    unclear: set[PetValues] = set()
    for near, contents in groups.items():
        rows = [row for content in contents for row in sets[content]]
        before = min(row.sent_after for row in rows)
        if len(_new(alike[near], before, ())) < len(rows):
            created = {row.content for row in rows if row.created}
            unclear |= {content for content in contents if created - {content}}
    return unclear


def _new(animals: Iterable[Animal], before: int, taken: Collection[int]) -> list[Animal]:
    """Return the animals that no listing up to a number showed, and that are no other row's."""
    return [animal for animal in animals if animal.since > before and animal.id not in taken]


def _near(content: PetValues, changed: Collection[str]) -> tuple[str, int]:
    """
    Return what near values share: they differ in status, case, blanks or normal form, or in fields
    that the service changes.
    """
    name = "".join(normalize("NFKC", normalize("NFKC", content.name).casefold()).split())
    return ("" if "name" in changed else name, 0 if "categoryId" in changed else content[1])
