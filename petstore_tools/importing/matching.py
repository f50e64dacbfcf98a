"""
Pure: which row is which when a file comes again: by its cells and values, not by its position
alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from petstore_tools.importing.row_states import Entry, State
from petstore_tools.importing.values import PetValues, Row

MOST_SHARED: Final = (
    0.1  # of its rows, and of the journal's, that another file under the same name may share
)
# of equal rows, these are found in a file before those that were not sent
_FIRST: Final[dict[State, int]] = {"created": 0, "unknown": 1, "sending": 1}


@dataclass(frozen=True, slots=True)
class Held:
    """A new row that looks like a created one edited since: the service cannot change an animal."""

    row: Row
    exists_as: Entry

    def __str__(self) -> str:
        entry = self.exists_as
        values = ", ".join("no status" if value is None else repr(value) for value in entry.content)
        exists = "may exist" if entry.pet_id is None else f"exists as id {entry.pet_id}"
        return f"row {self.row.number} {exists} with {values}; the service cannot change it"


@dataclass(frozen=True, slots=True)
class Merge:
    """
    What a file adds to a journal.

    Attributes:
        known: Row of the file for each entry that the journal has already.
        new: Rows with their occurrence that the journal has not seen.
        skipped: Of those, rows that are left out as asked.
        held: Rows kept back.
        removed: Created entries that the file does not hold any more and no row was held for.
    """

    known: tuple[tuple[Entry, Row], ...]
    new: tuple[tuple[Row, int], ...]
    held: tuple[Held, ...]
    removed: tuple[Entry, ...]
    skipped: tuple[tuple[Row, int], ...] = ()


def merge(
    entries: Sequence[Entry],
    rows: Iterable[Row],
    *,
    bad: Collection[int] = (),
    partial: bool = False,
    send_edited: bool = False,
) -> Merge:
    """
    Find the rows of a file in its journal: by their cells, then by their values.

    Args:
        entries: What the journal holds.
        rows: What the file holds now.
        bad: Numbers of rows that have problems: what a rejects file made of them is no other row's.
        partial: The file is a rejects file: it need not hold what was created, and a row in it that
            equals a created one is another animal.
        send_edited: Hold nothing back: an edited row becomes a second animal.
    """
    left = sorted(entries, key=lambda e: (_FIRST.get(e.state, 2), e.occurrence))
    left = [e for e in left if not is_stale(e) and (partial or e.origin not in bad)]
    rows, claimed = list(rows), [] if partial else _claimed(left, rows)
    decided = {id(part) for pair in claimed for part in (pair.exists_as, pair.row)}
    waiting: dict[PetValues, list[Entry]] = defaultdict(list)
    for entry in left:
        if id(entry) not in decided:
            waiting[entry.content].append(entry)
    in_order = sorted(entries, key=lambda entry: entry.occurrence)
    next_occurrence = {entry.content: entry.occurrence + 1 for entry in in_order}
    known = [
        (pair.exists_as, pair.row) for pair in claimed if pair.exists_as.content == pair.row.content
    ]
    known_rows, places = {id(row) for _, row in known}, {id(row): at for at, row in enumerate(rows)}
    unseen: list[Row] = []
    for row in (row for row in rows if id(row) not in known_rows):
        fits = [] if id(row) in decided else waiting.get(row.content, [])
        if partial:  # the entry with its number, else one that was refused
            same = [e for e in fits if row.number == (e.number if e.origin is None else e.origin)]
            fits = same + [e for e in fits if e.state == "rejected"]
        if fits:
            known.append((fits[0], row))
            waiting[row.content].remove(fits[0])
        else:
            unseen.append(row)
    vanished = [pair.exists_as for pair in claimed if pair.exists_as.content != pair.row.content]
    vanished += [e for rest in waiting.values() for e in rest if e.state in ("created", "unknown")]
    held = [] if send_edited else _hold(entries, known, vanished, unseen, partial=partial)
    kept_back = {id(h.row) for h in held}
    new: list[tuple[Row, int]] = []
    for row in unseen:
        if id(row) not in kept_back:
            new.append((row, next_occurrence.get(row.content, 0)))
            next_occurrence[row.content] = new[-1][1] + 1
    edited = {id(h.exists_as) for h in held}
    removed = () if partial else tuple(e for e in vanished if id(e) not in edited)
    known.sort(key=lambda pair: places[id(pair[1])])
    return Merge(tuple(known), tuple(new), tuple(held), removed)


def _claimed(entries: Sequence[Entry], rows: Sequence[Row]) -> list[Held]:
    """
    Pair what was sent with the row whose cells it was made of, before an equal row can take it.

    The values of such a row may differ, since other options read its cells: then it is held.
    """
    claimed: list[Held] = []
    free = [e for e in entries if e.state in ("created", "unknown", "sending")]
    for likeness in (
        lambda either: ((either.content, either.cells, either.number),),
        lambda either: ((either.content, either.cells),),
        lambda either: (either.cells,),
    ):
        taken = {id(part) for pair in claimed for part in (pair.exists_as, pair.row)}
        rest = [entry for entry in free if id(entry) not in taken]
        if rest:
            claimed += _pair(rest, [row for row in rows if id(row) not in taken], likeness)
    return claimed


def is_stale(entry: Entry) -> bool:
    """Say whether a row was never sent and left the file since: where it comes back, it is new."""
    return not entry.wanted and entry.state in ("unsent", "rejected", "skipped")


def holds_most(entries: Sequence[Entry], rows: Sequence[Row]) -> bool:
    """
    Say whether most of what a journal created, or may have, is in a file: then it is that file's.
    """
    sent = [
        entry for entry in entries if entry.state in ("created", "unknown", "sending")
    ] or entries
    return 2 * _shared(sent, rows) > len(sent)


def is_another_file(entries: Sequence[Entry], rows: Sequence[Row]) -> bool:
    """
    Say whether a file only bears the name of the one that the journal is of.

    It does where over 90 % of the created rows are gone from it and over 90 % of its own rows are
    not in the
    journal: neither their cells as typed, which other options do not change, nor their three
        values, which
    an added column does not change. While a row is unknown it does not: that row must be reconciled
        first.
    """
    if any(entry.state in ("unknown", "sending") for entry in entries):
        return False
    created = [entry for entry in entries if entry.state == "created"]
    return bool(created and rows) and all(
        _shared(journal, rows) < MOST_SHARED * len(side)
        for journal, side in ((created, created), (entries, rows))
    )


def _shared(entries: Sequence[Entry], rows: Sequence[Row]) -> int:
    typed = Counter(e.cells for e in entries) & Counter(r.cells for r in rows)
    values = Counter(e.content for e in entries) & Counter(r.content for r in rows)
    return max(typed.total(), values.total())


def _hold(
    entries: Sequence[Entry],
    known: Sequence[tuple[Entry, Row]],
    vanished: Sequence[Entry],
    unseen: Sequence[Row],
    *,
    partial: bool,
) -> list[Held]:
    """
    Pair each vanished entry with an unseen row that may be its edit, as far as anyone can tell.

    An edit has the same cells, read under other options; or keeps the name and one other value; or
    its place between unchanged neighbours. In a rejects file it bears the number of the created
    row.
    """
    if not vanished or not unseen:
        return []
    if partial:
        return _pair(vanished, unseen, lambda either: (either.number,))
    places = _places(entries, {id(entry): id(entry) for entry, _ in known}, vanished)
    places |= _places(
        [*unseen, *(row for _, row in known)], {id(r): id(e) for e, r in known}, unseen
    )
    held: list[Held] = []
    for likeness in (
        lambda either: (either.cells,),
        _values_kept,
        lambda either: places.get(id(either), ()),
    ):
        paired, taken = {id(h.exists_as) for h in held}, {id(h.row) for h in held}
        rest = [entry for entry in vanished if id(entry) not in paired]
        held += _pair(rest, [row for row in unseen if id(row) not in taken], likeness)
    return held


def _pair(
    entries: Sequence[Entry],
    rows: Sequence[Row],
    likeness: Callable[[Entry | Row], tuple[object, ...]],
) -> list[Held]:
    """Pair entries with rows that share a likeness, each at most once, in order."""
    alike: dict[object, deque[Row]] = defaultdict(deque)
    for row in rows:
        for key in likeness(row):
            alike[key].append(row)
    held: list[Held] = []
    taken: set[int] = set()
    for entry in entries:
        for key in likeness(entry):
            while alike[key] and id(alike[key][0]) in taken:
                alike[key].popleft()
            if alike[key]:
                held.append(Held(alike[key].popleft(), entry))
                taken.add(id(held[-1].row))
                break
    return held


def _values_kept(either: Entry | Row) -> tuple[object, ...]:
    name, category_id, status = either.content
    return (name, category_id), (name, "status", status)


def _places(
    things: Sequence[Entry | Row], unchanged: Mapping[int, int], changed: Sequence[Entry | Row]
) -> dict[int, tuple[object, ...]]:
    """
    Return the place of each changed entry or row: its unchanged neighbours, and which of how many
        between.

    An end of the file is a neighbour, too, but not both.
    """
    places: dict[int, tuple[object, ...]] = {}
    is_changed = {id(thing) for thing in changed}
    last: int | None = None
    gap: list[int] = []
    for thing in [*sorted(things, key=lambda thing: thing.number), None]:
        neighbour = unchanged.get(id(thing))
        if thing is None or neighbour is not None:
            if (last, neighbour) != (None, None):
                places |= {at: ((last, neighbour, n, len(gap)),) for n, at in enumerate(gap)}
            last, gap = neighbour, []
        elif id(thing) in is_changed:
            gap.append(id(thing))
    return places
