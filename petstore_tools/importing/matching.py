"""Pure: which row is which when a file comes again: by its values, never by its position."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from petstore_tools.importing.row_states import Entry, State
from petstore_tools.importing.rows import PetValues, Row

MOST_SHARED: Final = 0.1  # of its rows, and of the journal's, that another file under the same name may share
# of equal rows, these are found in a file before those that were not sent
_FIRST: Final[dict[State, int]] = {"created": 0, "unknown": 1, "sending": 1}
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Held:
    """A new row that looks like a created one edited since: the service cannot change an animal."""

    row: Row
    exists_as: Entry

    def __str__(self) -> str:
        entry = self.exists_as
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
    Find the rows of a file in its journal, by content, never by position.

    Args:
        entries: What the journal holds.
        rows: What the file holds now.
        bad: Numbers of rows that have problems: what a rejects file made of them is no other row's.
        partial: The file is a rejects file: it need not hold what was created, and a row in it that
            equals a created one is another animal.
        send_edited: Hold nothing back: an edited row becomes a second animal.
    """
    waiting: dict[PetValues, list[Entry]] = defaultdict(list)
    for entry in sorted(entries, key=lambda e: (_FIRST.get(e.state, 2), e.occurrence)):
        if not is_stale(entry) and (partial or entry.origin not in bad):
            waiting[entry.content].append(entry)
    next_occurrence: dict[PetValues, int] = {}
    for entry in entries:
        next_occurrence[entry.content] = max(next_occurrence.get(entry.content, 0), entry.occurrence + 1)
    known: list[tuple[Entry, Row]] = []
    unseen: list[Row] = []
    take = _take_fed if partial else _take
    for row in rows:
        found = take(waiting[row.content], row)
        if found is None:
            unseen.append(row)
        else:
            known.append((found, row))
    vanished = [e for rest in waiting.values() for e in rest if e.state in ("created", "unknown")]
    held = [] if send_edited else _hold(entries, known, vanished, unseen, partial=partial)
    kept_back = {id(h.row) for h in held}
    new: list[tuple[Row, int]] = []
    for row in unseen:
        if id(row) not in kept_back:
            new.append((row, next_occurrence.get(row.content, 0)))
            next_occurrence[row.content] = new[-1][1] + 1
    stand = {id(h.exists_as) for h in held}
    removed = () if partial else tuple(e for e in vanished if id(e) not in stand)
    return Merge(tuple(known), tuple(new), tuple(held), removed)


def is_stale(entry: Entry) -> bool:
    """Say whether a row was never sent and left the file since: where it comes back, it is new."""
    return not entry.wanted and entry.state in ("unsent", "rejected", "skipped")


def _take(waiting: list[Entry], row: Row) -> Entry | None:  # noqa: ARG001 - as `_take_fed`
    return waiting.pop(0) if waiting else None


def _take_fed(waiting: list[Entry], row: Row) -> Entry | None:
    """Take the entry of a row of a rejects file: the one with its number, else one that was refused so."""
    same = [e for e in waiting if row.number == (e.number if e.origin is None else e.origin)]
    same += [e for e in waiting if e.state == "rejected"]
    if same:
        waiting.remove(same[0])
    return same[0] if same else None


def holds_most(entries: Sequence[Entry], rows: Sequence[Row]) -> bool:
    """Say whether most of what a journal created, or may have, is in a file: then it is that file's."""
    sent = [entry for entry in entries if entry.state in ("created", "unknown", "sending")] or entries
    return 2 * _shared(sent, rows) > len(sent)


def is_another_file(entries: Sequence[Entry], rows: Sequence[Row]) -> bool:
    """
    Say whether a file only bears the name of the one that the journal is of.

    It does where over 90 % of the created rows are gone from it and over 90 % of its own rows are not in the
    journal: neither their cells as typed, which other options do not change, nor their three values, which
    an added column does not change. While a row is unknown it does not: that row must be settled first.
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
    vanished: list[Entry],
    unseen: list[Row],
    *,
    partial: bool,
) -> list[Held]:
    """
    Pair each vanished entry with an unseen row that may be its edit, as far as anyone can tell.

    An edit has the same cells, read under other options; or keeps the name and one other value; or its place
    between unchanged neighbours. In a rejects file it bears the number of the created row.
    """
    if not vanished or not unseen:
        return []
    if partial:
        return _pair(vanished, unseen, lambda e: (e.number,), lambda r: (r.number,))
    held = _pair(vanished, unseen, lambda e: (e.cells,), lambda r: (r.cells,))
    for likeness in (_named_alike, _places(entries, known, vanished, unseen)):
        paired, taken = {id(h.exists_as) for h in held}, {id(h.row) for h in held}
        rest = [e for e in vanished if id(e) not in paired]
        held += _pair(rest, [r for r in unseen if id(r) not in taken], likeness, likeness)
    return held


def _pair(
    entries: list[Entry],
    rows: list[Row],
    of_entry: Callable[[Entry], tuple[object, ...]],
    of_row: Callable[[Row], tuple[object, ...]],
) -> list[Held]:
    """Pair entries with rows that share a key, each at most once, in order."""
    alike: dict[object, deque[Row]] = defaultdict(deque)
    for row in rows:
        for key in of_row(row):
            alike[key].append(row)
    held: list[Held] = []
    taken: set[int] = set()
    for entry in entries:
        for key in of_entry(entry):
            free = alike[key]
            while free and id(free[0]) in taken:
                free.popleft()
            if free:
                row = free.popleft()
                taken.add(id(row))
                held.append(Held(row, entry))
                break
    return held


def _named_alike(either: Entry | Row) -> tuple[object, ...]:
    name, category_id, status = either.content
    return (name, category_id), (name, "status", status)


def _places(
    entries: Sequence[Entry],
    known: Sequence[tuple[Entry, Row]],
    vanished: Sequence[Entry],
    unseen: Sequence[Row],
) -> Callable[[Entry | Row], tuple[object, ...]]:
    """
    Return a function that names the place of a vanished entry or unseen row by its unchanged neighbours.

    Between two of them there must be as many rows as there were; an end of the file is a neighbour, too, but
    not both.
    """
    unchanged = {id(entry) for entry, _ in known}
    of = {id(row): id(entry) for entry, row in known}
    before = _gaps(sorted(entries, key=lambda e: e.number), unchanged, {id(e) for e in vanished}, id)
    rows = sorted([row for _, row in known] + list(unseen), key=lambda r: r.number)
    after = _gaps(rows, set(of), {id(row) for row in unseen}, lambda row: of[id(row)])
    places: dict[int, tuple[object, ...]] = {}
    for gap, gone in before.items():
        come = after.get(gap, [])
        if len(gone) == len(come) and gap != (None, None):
            for place, pair in enumerate(zip(gone, come, strict=True)):
                places |= dict.fromkeys(map(id, pair), ((gap, place),))
    return lambda either: places.get(id(either), ())


def _gaps(
    things: Sequence[T], unchanged: set[int], changed: set[int], name: Callable[[T], int]
) -> dict[tuple[int | None, int | None], list[T]]:
    """Return what changed between each two unchanged things, by the names of the two."""
    gaps: dict[tuple[int | None, int | None], list[T]] = {}
    last: int | None = None
    gap: list[T] = []
    for thing in things:
        if id(thing) in unchanged:
            gaps[last, name(thing)] = gap
            last, gap = name(thing), []
        elif id(thing) in changed:
            gap.append(thing)
    gaps[last, None] = gap
    return gaps
