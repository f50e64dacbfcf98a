"""
Pure: reconciling, which finds out from one listing of the inventory what became of the unknown
    rows.

A create cannot be undone, repeated safely, or asked about. But the animal that it made can be seen
in a complete listing, begun at least `reconcile_after_s` after the connection of the last unknown
row ended. A pure function decides from that listing, and this is why it neither doubles nor loses a
row:

- *Candidates.* An animal can be an unknown row's only if it has the row's three values, did not
  exist before the first create (the *baseline*: all ids of a complete listing made then), and is
  not the answer to
  another row: an id that a 201 named belongs to that row.
- *Unsent.* With no candidate, nothing of the row was committed until the listing began; a create
  that is committed later than `reconcile_after_s` after its connection ended is the one residual
  risk. The row is unsent again. An animal of the same name and category with another status, new as
  well, may be the row,
  changed by the staff since: then it is not unsent.
- *Created.* With as many candidates as unknown rows of these values, each is one row's. Which is
  whose makes
  no difference: the rows are equal in all that was sent.
- *Ambiguous.* Fewer candidates than rows, or more; another import that still awaits, or has lost,
  the answer to a row of these values; a journal that cannot be read; no baseline, so that a
  candidate may have existed before. A person decides, with the candidates named. Nothing is sent.

The listing, the reading of what other imports own, and the writing of the outcomes happen under one
lock of
the place, in this order: whatever another import created before the listing ended is then owned or
awaited. A row without a status is searched as the service shows such rows, once an answer has shown
it (`as_shown`).

So a row is sent again only where nothing that could be it exists, and is called created only where
every row of its values has an animal of its own. If another program adds an animal with exactly an
unknown row's values, between the baseline and the listing, while the row itself was not committed,
nobody can tell it from the row; more or fewer than the unknown rows make it ambiguous.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from petstore_tools.importing.row_states import Entry, Outcome
from petstore_tools.importing.values import PetValues
from petstore_tools.text import pluralize

OTHER_VALUES: Final = "the service answered with this animal, which has other values than the row"
LOST_ELSEWHERE: Final = "another import has an equal row whose answer is missing, too"
FOUND: Final = "found in a listing of the inventory"


def as_shown(content: PetValues, defaults: Collection[str | None]) -> PetValues:
    """
    Return the values as a listing shows them: of a row without a status, with the one that the
        service gives.

    Args:
        content: As sent.
        defaults: Statuses that answers have shown of such rows; only a single one is believed.

    Spec: §2.1 states no default.
    """
    name, category_id, status = content
    if status is None and len(defaults) == 1:
        (status,) = defaults
    return PetValues(name, category_id, status)


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
        left: dict[str | None, int] = self._left.get((name, category_id)) or {}
        any_status = status is None and len(self._defaults) != 1
        for found in [status, *left] if any_status else [status]:
            if left.get(found, 0) > 0:
                left[found] -= 1
                return True
        return False


def find_outcomes(
    unknown: Sequence[Entry],
    listed: Iterable[tuple[int, PetValues]],
    *,
    baseline: Collection[int] | None,
    owned: Collection[int],
    lost_elsewhere: Collection[PetValues] = (),
    unreadable: Collection[str] = (),
    defaults: Collection[str | None] = (),
) -> list[tuple[Entry, Outcome]]:
    """
    Decide on every unknown row.

    Args:
        unknown: These rows.
        listed: Id and values of every animal of a complete listing, begun late enough.
        baseline: Ids that existed before the first create, None where they were not listed.
        owned: Ids that are the answer to a row, of this import or another to the same place.
        lost_elsewhere: Values of rows that other imports to the same place have lost.
        unreadable: Journals of other imports that cannot be read: what they own is not known.
        defaults: Statuses that the service gave to rows that had none.

    Returns:
        Each row with what became of it: created, unsent, or unknown with its candidates
            (ambiguous).
    """
    rows: dict[PetValues, list[Entry]] = defaultdict(list)
    for entry in unknown:
        rows[as_shown(entry.content, defaults)].append(entry)
    free = {pet_id: content for pet_id, content in listed if pet_id not in owned}
    new: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for pet_id, content in free.items():
        if pet_id not in (baseline or ()):
            new[content if content in rows else content[:2]].append(pet_id)
    elsewhere = {as_shown(content, defaults) for content in lost_elsewhere}
    outcomes: list[tuple[Entry, Outcome]] = []
    for content, entries in rows.items():
        same, near = sorted(new[content]), sorted(new[content[:2]])
        doubts = [LOST_ELSEWHERE] if content in elsewhere else []
        doubts += _doubts(len(entries), same, near, has_baseline=baseline is not None)
        doubts += [
            f"the journal {name} of another import cannot be read: the animal may be one of "
            "its rows"
            for name in unreadable
        ]
        for place, entry in enumerate(entries):
            if not same and not free.keys().isdisjoint(entry.candidates):
                outcome = Outcome("unknown", detail=OTHER_VALUES, candidates=entry.candidates)
            elif not same and not near:
                outcome = Outcome("unsent")
            elif doubts:
                outcome = Outcome("unknown", detail=doubts[0], candidates=(*same, *near))
            else:
                outcome = Outcome("created", same[place], FOUND)
            outcomes.append((entry, outcome))
    return outcomes


def _doubts(rows: int, same: list[int], near: list[int], *, has_baseline: bool) -> list[str]:
    """Say why candidates do not prove that the rows exist."""
    doubts = []
    if near:
        doubts.append(
            "one of the same name and category has another status: it may have been changed since"
        )
    if not has_baseline:
        doubts.append(
            "the inventory was not listed before the import, so it may have existed already"
        )
    if len(same) != rows:
        animals = pluralize(len(same), "new animal")
        doubts.append(
            f"{pluralize(rows, 'row')} with these values got no answer, but there are "
            f"{animals} with them"
        )
    return doubts
