"""
The fates of an import's rows: which state follows which, and which row is which when a file comes again.

A row is `pending` until it is durably `sending`, before its bytes leave. What came back decides the
rest. A journal that is opened with rows still `sending` belongs to a run that died: these rows are
`unknown`, and nothing sends an unknown row again before it is settled (`core.settle`). So a row is sent at
most once without proof that nothing was created, and no row is forgotten.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import ValidationError

from petstore_tools.core.rows import Content, Row
from petstore_tools.models import ErrorBody, Pet

State = Literal["pending", "sending", "created", "rejected", "unknown"]
NEXT: Final[dict[State, frozenset[State]]] = {
    "pending": frozenset({"sending"}),
    "sending": frozenset({"pending", "created", "rejected", "unknown"}),
    "rejected": frozenset({"pending"}),  # a later run tries again
    "created": frozenset(),
    "unknown": frozenset({"created", "pending"}),  # settled, by a look or by a person
}
DIED: Final = "the run ended while the answer was awaited"


@dataclass(frozen=True, slots=True)
class Created:
    """201: the animal stands under this id."""

    pet_id: int


@dataclass(frozen=True, slots=True)
class Rejected:
    """The service refused the row; nothing was created."""

    why: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """It cannot be told whether the animal was created."""

    why: str


@dataclass(frozen=True, slots=True)
class Refused:
    """Not the row but our request is wrong: nothing was created, and nothing more is sent."""

    status: int
    why: str


Outcome = Created | Rejected | Unknown | Refused


def judge(status: int, body: bytes, content: Content) -> Outcome:
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


def _judge_created(body: bytes, content: Content) -> Outcome:
    try:
        pet = Pet.model_validate_json(body)
    except ValidationError:
        return Unknown("201 whose body is no animal")
    if (pet.name, pet.category_id) != content[:2] or content[2] not in (None, pet.status):
        return Unknown(f"201 that shows another animal (id {pet.id})")
    return Created(pet.id)


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
    """

    content: Content
    occurrence: int
    number: int
    state: State
    cells: tuple[str, ...]
    pet_id: int | None = None
    detail: str = ""
    changed_at: float = 0.0
    candidates: tuple[int, ...] = ()
    titles: tuple[str, ...] = ()

    @property
    def may_be(self) -> str:
        """The candidates for people: `17 or 18`, "" where there is none."""
        return " or ".join(map(str, self.candidates))


@dataclass(frozen=True, slots=True)
class Held:
    """A new row that looks like a created one edited since: the service cannot change an animal."""

    row: Row
    stands_as: Entry

    def __str__(self) -> str:
        entry = self.stands_as
        values = ", ".join("no status" if value is None else repr(value) for value in entry.content)
        stands = "may stand" if entry.pet_id is None else f"stands as id {entry.pet_id}"
        return f"row {self.row.number} {stands} with {values}; the service cannot change it"


@dataclass(frozen=True, slots=True)
class Merge:
    """
    What a file adds to a journal.

    Attributes:
        known: Row of the file for each entry that the journal has already.
        new: Rows with their occurrence that the journal has not seen.
        held: Rows kept back.
        removed: Created entries that the file does not hold any more and no row was held for.
    """

    known: tuple[tuple[Entry, Row], ...]
    new: tuple[tuple[Row, int], ...]
    held: tuple[Held, ...]
    removed: tuple[Entry, ...]


def merge(
    entries: Sequence[Entry], rows: Iterable[Row], *, partial: bool = False, send_edited: bool = False
) -> Merge:
    """
    Find the rows of a file in its journal, by content, never by position.

    Args:
        entries: What the journal holds.
        rows: What the file holds now.
        partial: The file is a rejects file: it need not hold what was created, and a row in it that
            equals a created one is another animal.
        send_edited: Hold nothing back: an edited row becomes a second animal.
    """
    waiting: dict[Content, list[Entry]] = defaultdict(list)
    for entry in sorted(entries, key=lambda entry: entry.occurrence):
        waiting[entry.content].append(entry)
    next_occurrence = Counter(entry.content for entry in entries)
    known: list[tuple[Entry, Row]] = []
    unseen: list[Row] = []
    for row in rows:
        found = _take(waiting[row.content], row, partial=partial)
        if found is None:
            unseen.append(row)
        else:
            known.append((found, row))
    vanished = [e for rest in waiting.values() for e in rest if e.state in ("created", "unknown")]
    held = [] if send_edited else _hold(vanished, unseen, partial=partial)
    kept_back = {id(h.row) for h in held}
    new: list[tuple[Row, int]] = []
    for row in unseen:
        if id(row) not in kept_back:
            new.append((row, next_occurrence[row.content]))
            next_occurrence[row.content] += 1
    stand = {id(h.stands_as) for h in held}
    removed = () if partial else tuple(e for e in vanished if id(e) not in stand)
    return Merge(tuple(known), tuple(new), tuple(held), removed)


def _take(waiting: list[Entry], row: Row, *, partial: bool) -> Entry | None:
    if partial:
        same = [e for e in waiting if e.number == row.number or e.state in ("pending", "rejected")]
        if not same:
            return None
        waiting.remove(same[0])
        return same[0]
    return waiting.pop(0) if waiting else None


def _hold(vanished: list[Entry], unseen: list[Row], *, partial: bool) -> list[Held]:
    """
    Pair each vanished entry with an unseen row that may be its edit, as far as anyone can tell.

    A row at its place is; else the first row that shares two of its three values.
    """
    free = {row.number: row for row in unseen}
    held = [Held(free.pop(entry.number), entry) for entry in vanished if entry.number in free]
    if partial:
        return held
    paired = {id(h.stands_as) for h in held}
    alike: dict[object, list[Row]] = defaultdict(list)
    for row in reversed(free.values()):
        for pair in _pairs(row.content):
            alike[pair].append(row)
    for entry in vanished:
        candidates = (alike[pair] for pair in _pairs(entry.content) if id(entry) not in paired)
        for rows in candidates:
            while rows and rows[-1].number not in free:
                rows.pop()
            if rows:
                held.append(Held(free.pop(rows.pop().number), entry))
                break
    return held


def _pairs(content: Content) -> tuple[object, ...]:
    name, category_id, status = content
    return (1, name, category_id), (2, name, status), (3, category_id, status)
