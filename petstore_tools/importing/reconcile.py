"""
Settling: what became of the rows whose answer was lost, told from one look at the inventory.

A create cannot be undone, asked for twice, or asked about. But what it left can be seen: a *look* is one
complete listing, begun at least `reconcile_after_s` after the last lost answer's connection ended. A pure
function of the look decides, and this is why it neither doubles nor loses:

- *Candidates.* An animal can be a lost row's only if it bears the row's three values, was not there
  before the first create (the *baseline*: all ids of a complete listing made then), and is not the answer
  to another row: an id that a 201 named belongs to that row.
- *Absent.* With no candidate nothing of the row was committed until the look began; a create that is
  committed later than `reconcile_after_s` after its connection ended is the one residual risk. The row is
  unsent again. An animal of the same name and category under another status, new as well, may be
  the row, changed by the staff since: then it is not absent.
- *Created.* With as many candidates as lost rows of these values, each is one row's. Which is whose makes no
  difference: the rows are equal in all that was sent.
- *Ambiguous.* Fewer candidates than rows, or more; another import that still awaits, or has lost, the answer
  to a row of these values; a journal that cannot be read; no baseline, so that a candidate may have stood
  before. A person decides, with the candidates named. Nothing is sent.

The listing, the reading of what other imports own, and the writing of the verdicts happen under one lock of
the place, in this order: whatever another import created before the listing ended is then owned or awaited.
A row without a status is looked for as the service shows such rows, once an answer has told (`as_shown`).

So a row is sent again only where nothing that could be it exists, and is called created only where every
row of its values has an animal of its own. A stranger who adds an animal with exactly a lost row's values,
between the baseline and the look, while the row itself was not committed, cannot be told from the row
by anyone; more or fewer than the lost rows make it ambiguous.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from petstore_tools.importing.row_states import Entry
from petstore_tools.importing.rows import PetValues
from petstore_tools.text import pluralize

NAMED: Final = "the service answered with this animal, which has other values than the row"
LOST_ELSEWHERE: Final = "another import has an equal row whose answer is missing, too"


@dataclass(frozen=True, slots=True)
class Found:
    """It stands: the animal is this row's."""

    entry: Entry
    pet_id: int


@dataclass(frozen=True, slots=True)
class Absent:
    """It does not stand: the row may be sent again."""

    entry: Entry


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """It cannot be told; a person decides between the candidates."""

    entry: Entry
    candidates: tuple[int, ...]
    why: str


Verdict = Found | Absent | Ambiguous


def as_shown(content: PetValues, defaults: Collection[str | None]) -> PetValues:
    """
    Return the values as a listing shows them: of a row without a status, with the one that the service gives.

    Args:
        content: As sent.
        defaults: Statuses that answers have shown of such rows; only a single one is believed.

    Spec: §2.1 states no default.
    """
    name, category_id, status = content
    if status is None and len(defaults) == 1:
        (status,) = defaults
    return name, category_id, status


class Existing:
    """
    Animals that exist already, as far as known; each is matched once.

    A row without a status matches any, until it is known which one the service gives it.

    Args:
        animals: Values, and how many of each.
        defaults: As in `as_shown`.
    """

    def __init__(self, animals: Counter[PetValues], defaults: Collection[str | None]) -> None:
        self._defaults = defaults
        self._left: dict[tuple[str, int], Counter[str | None]] = defaultdict(Counter)
        for content, count in animals.items():
            name, category_id, status = as_shown(content, defaults)
            self._left[name, category_id][status] += count

    def take(self, content: PetValues) -> bool:
        """Say whether an animal is left that matches, and match it."""
        name, category_id, status = as_shown(content, self._defaults)
        left = self._left.get((name, category_id), Counter())
        any_will_do = status is None and len(self._defaults) != 1
        for fits in [status, *(left if any_will_do else ())]:
            if left[fits] > 0:
                left[fits] -= 1
                return True
        return False


def find_outcomes(
    unknown: Sequence[Entry],
    look: Iterable[tuple[int, PetValues]],
    *,
    baseline: Collection[int] | None,
    owned: Collection[int],
    lost_elsewhere: Collection[PetValues] = (),
    unreadable: Collection[str] = (),
    defaults: Collection[str | None] = (),
) -> list[Verdict]:
    """
    Decide on every row whose answer was lost.

    Args:
        unknown: These rows.
        look: Id and values of every animal of a complete listing, begun late enough.
        baseline: Ids that stood before the first create, None where nobody looked.
        owned: Ids that are the answer to a row, of this import or another to the same place.
        lost_elsewhere: Values of rows that other imports to the same place have lost.
        unreadable: Journals of other imports that cannot be read: what they own cannot be told.
        defaults: Statuses that the service gave to rows that had none.

    Returns:
        One verdict a row, in the order of `unknown`.
    """
    rows: dict[PetValues, list[Entry]] = defaultdict(list)
    for entry in unknown:
        rows[as_shown(entry.content, defaults)].append(entry)
    before = baseline if baseline is not None else ()
    free = [(pet_id, content) for pet_id, content in look if pet_id not in owned]
    new = _by_values([(pet_id, content) for pet_id, content in free if pet_id not in before], rows)
    named = {pet_id for entry in unknown for pet_id in entry.candidates} & {pet_id for pet_id, _ in free}
    elsewhere = {as_shown(content, defaults) for content in lost_elsewhere}
    verdicts: dict[int, Verdict] = {}
    for content, entries in rows.items():
        same = sorted(new[content])
        near = sorted(new[content[:2]])
        doubts = [LOST_ELSEWHERE] if content in elsewhere else []
        doubts += _doubts(len(entries), same, near, looked_before=baseline is not None)
        doubts += [
            f"the journal {name} of another import cannot be read, and may own it" for name in unreadable
        ]
        for entry, pet_id in zip(entries, same + [0] * len(entries), strict=False):
            if not same and not named.isdisjoint(entry.candidates):
                verdicts[id(entry)] = Ambiguous(entry, entry.candidates, NAMED)
            elif not same and not near:
                verdicts[id(entry)] = Absent(entry)
            elif doubts:
                verdicts[id(entry)] = Ambiguous(entry, (*same, *near), doubts[0])
            else:
                verdicts[id(entry)] = Found(entry, pet_id)
    return [verdicts[id(entry)] for entry in unknown]


def _by_values(
    animals: Iterable[tuple[int, PetValues]], wanted: Collection[PetValues]
) -> dict[tuple[object, ...], list[int]]:
    """Return ids of animals by the values that are wanted, of those with another status by the rest."""
    alike = {content[:2] for content in wanted}
    found: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for pet_id, content in animals:
        if content in wanted:
            found[content].append(pet_id)
        elif content[:2] in alike:
            found[content[:2]].append(pet_id)
    return found


def _doubts(rows: int, same: list[int], near: list[int], *, looked_before: bool) -> list[str]:
    """Say why candidates do not prove that the rows stand."""
    doubts = []
    if near:
        doubts.append("one of the same name and category has another status: it may have been changed since")
    if not looked_before:
        doubts.append("nobody looked before the import, so it may have stood already")
    if len(same) != rows:
        animals = pluralize(len(same), "animal")
        doubts.append(f"{pluralize(rows, 'row')} with these values, {animals} that could be theirs")
    return doubts
