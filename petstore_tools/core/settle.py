"""
Settling: what became of the rows whose answer was lost, told from one look at the inventory.

A create cannot be undone, asked for twice, or asked about. But what it left can be seen: a *look* is one
complete listing, begun at least `settle_after_s` after the last lost answer's connection ended. A pure
function of the look decides, and this is why it neither doubles nor loses:

- *Candidates.* An animal can be a lost row's only if it bears the row's three values, was not there
  before the first create (the *baseline*: all ids of a complete listing made then), and is not the answer
  to another row: an id that a 201 named belongs to that row.
- *Absent.* With no candidate nothing of the row was committed until the look began; a create that is
  committed later than `settle_after_s` after its connection ended is the one residual risk. The row is
  pending again. An animal of the same name and category under another status, new as well, may be
  the row, changed by the staff since: then it is not absent.
- *Created.* With as many candidates as lost rows of these values, each is one row's. Which is whose makes no
  difference: the rows are equal in all that was sent.
- *Ambiguous.* Fewer candidates than rows, or more; another import that lost a row of these values; no
  baseline, so that a candidate may have stood before. A person decides, with the candidates named. Nothing
  is sent.

So a row is sent again only where nothing that could be it exists, and is called created only where every
row of its values has an animal of its own. A stranger who adds an animal with exactly a lost row's values,
between the baseline and the look, while the row itself was not committed, cannot be told from the row
by anyone; more or fewer than the lost rows make it ambiguous.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from petstore_tools.core.journal import Entry
from petstore_tools.core.rows import Content
from petstore_tools.words import counted


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


def settle(
    unknown: Sequence[Entry],
    look: Iterable[tuple[int, Content]],
    *,
    baseline: Collection[int] | None,
    owned: Collection[int],
    lost_elsewhere: Collection[Content] = (),
) -> list[Verdict]:
    """
    Decide on every row whose answer was lost.

    Args:
        unknown: These rows.
        look: Id and values of every animal of a complete listing, begun late enough.
        baseline: Ids that stood before the first create, None where nobody looked.
        owned: Ids that are the answer to a row, of this import or another to the same place.
        lost_elsewhere: Values of rows that other imports to the same place have lost.

    Returns:
        One verdict a row, in the order of `unknown`.
    """
    wanted = {entry.content for entry in unknown}
    alike = {content[:2] for content in wanted}
    standing: dict[Content, list[int]] = defaultdict(list)
    changed: dict[tuple[str, int], list[int]] = defaultdict(list)
    before = baseline if baseline is not None else ()
    for pet_id, content in look:
        if content[:2] not in alike or pet_id in owned or pet_id in before:
            continue
        if content in wanted:
            standing[content].append(pet_id)
        else:
            changed[content[:2]].append(pet_id)
    rows: dict[Content, list[Entry]] = defaultdict(list)
    for entry in unknown:
        rows[entry.content].append(entry)
    verdicts: dict[int, Verdict] = {}
    for content, entries in rows.items():
        same, near = sorted(standing[content]), sorted(changed[content[:2]])
        why = _doubt(len(entries), same, near, content in lost_elsewhere, looked_before=baseline is not None)
        for entry, pet_id in zip(entries, same + [0] * len(entries), strict=False):
            if not same and not near:
                verdicts[id(entry)] = Absent(entry)
            elif why:
                verdicts[id(entry)] = Ambiguous(entry, (*same, *near), why)
            else:
                verdicts[id(entry)] = Found(entry, pet_id)
    return [verdicts[id(entry)] for entry in unknown]


def _doubt(rows: int, same: list[int], near: list[int], lost_elsewhere: bool, *, looked_before: bool) -> str:
    """Say why candidates do not prove that the rows stand, "" where they do."""
    if near:
        return "one of the same name and category has another status: it may have been changed since"
    if not looked_before:
        return "nobody looked before the import, so it may have stood already"
    if lost_elsewhere:
        return "another import has lost a row with the same values"
    if len(same) != rows:
        return (
            f"{counted(rows, 'row')} with these values, {counted(len(same), 'animal')} that could be theirs"
        )
    return ""
