"""
Pure: which row of a file is which row of the journal, and which could make an animal
twice.

A row is its three values: of equal rows, as many were sent as the journal has. A row
that was not sent yet is doubtful for one of three reasons:

- *equal*: an animal with its values exists that no row of this file made, or another
  import sent a row with them (the journal finds these).
- *the same name*: it bears the name of a row that was sent and is in the file no more.
- *the same place*: rows that were sent are missing since the last version, and fewer
  new rows in their place bear their name: then the new rows there may be their edits.
  A file that leaves rows out and brings no new one is a part of the version before: no
  row is gone by it, and the next file is compared with both.

A file is compared in the same way with each import that shares a row's name and
category with it, but there two rows bear the same name only where their category is the
same. By place it is compared until a row of it was sent, where it holds at least half
of that import's rows, and so may be a copy.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal, NamedTuple, TypeVar

from petstore_tools.importing.values import PetValues

State = Literal["unsent", "sending", "created", "rejected", "unknown", "skipped"]
Reason = Literal["equal", "the same name", "the same place"]
SENT: tuple[State, ...] = ("created", "unknown", "sending", "skipped")
# of equal entries, these are found in a file before those that were not sent
_RANKS: tuple[State, ...] = (*SENT, "unsent", "rejected")
_CONTENT = attrgetter("content")
K = TypeVar("K")
V = TypeVar("V")


class Entry(NamedTuple):
    """
    A row of an import, as the journal knows it, or as a file brings it.

    Attributes:
        key: In the table of the journal; 0 where the row is new to it.
        import_id: The import that has the row.
        content: Its three values.
        number: Its place in the sheet when the file last had it.
        present: Whether the file of the last run had it.
        state: What became of it so far.
        answered: 0, or where a person said whether it is sent, although it was
            doubtful: one more than the rows of other imports that equalled it then.
        compared: It was compared with a listing of the inventory.
        pet_id: Of its animal, where that is known.
        detail: Why it is rejected, unknown or skipped, or what its answer showed.
        changed_at: Unix seconds of its last change of state.
        may_be: Where only a person can decide, the ids of animals that may be it: `17
            or 18`.
        sent_after: Number of the last complete listing that ended before it was sent, 0
            for none.
        absent: It is unknown, and a listing that was late enough did not show it.
        position: Its place in the last version of the sheet that was no part of one
            before; None where that did not have it.
    """

    key: int
    import_id: str
    content: PetValues
    number: int
    present: bool = True
    state: State = "unsent"
    answered: int = 0
    compared: bool = False
    pet_id: int | None = None
    detail: str = ""
    changed_at: float = 0.0
    may_be: str = ""
    sent_after: int = 0
    absent: bool = False
    position: int | None = None

    @property
    def waits(self) -> bool:
        """Whether it was not sent, and nobody left it out for good."""
        return self.state in ("unsent", "rejected") or (
            self.state == "skipped" and not self.answered
        )


@dataclass(frozen=True, slots=True)
class Doubt:
    """
    Why a row could make an animal a second time.

    Attributes:
        reason: Which of the three rules says so.
        because: The animal, or the row that was sent, in words.
        is_open: Whether it is not known yet if that exists: another import awaits the
            answer.
        rows: How many rows other imports sent with its values.
    """

    reason: Reason
    because: str
    is_open: bool = False
    rows: int = 0

    def __str__(self) -> str:
        return f"{self.reason}: {self.because}"


def _rank(entry: Entry) -> tuple[int, int]:
    """Order entries by how far they got, then by their place in the sheet."""
    return _RANKS.index(entry.state), entry.number


def group(values: Iterable[V], key: Callable[[V], K]) -> defaultdict[K, list[V]]:
    """Return values by what a function says of each, in their order."""
    groups: defaultdict[K, list[V]] = defaultdict(list)
    for value in values:
        groups[key(value)].append(value)
    return groups


def match(
    entries: Iterable[Entry], rows: Iterable[Entry]
) -> tuple[list[Entry], list[Entry]]:
    """
    Find the rows of a file in the journal by their values; of equal ones, those that
    were sent.

    Returns:
        The entry of each row, with its number in the file, or the row where the journal
        does not have it; and the entries that the file does not have.
    """
    waiting = group(sorted(entries, key=_rank, reverse=True), _CONTENT)
    matches = []
    for row in rows:
        equal = waiting.get(row.content)
        matches.append(equal.pop()._replace(number=row.number) if equal else row)
    return matches, [entry for equal in waiting.values() for entry in equal]


def find_doubtful(
    rows: Sequence[Entry],
    entries: Sequence[Entry],
    missing: Sequence[Entry],
    *,
    equal: Mapping[int, Doubt],
    others: Collection[Sequence[Entry]] = (),
) -> dict[int, Doubt]:
    """
    Say which rows of a file are doubtful.

    Args:
        rows: Those of the file, each with its entry (`match`).
        entries: Rows of this import, by their place in the sheet.
        missing: Entries that the file does not have (`match`).
        equal: Why a row is doubtful by its values, by its place in `rows`.
        others: Rows of each other import that sent a row whose name and category this
            file has.

    Returns:
        The doubt of each doubtful row, by its place in `rows`, in their order.
    """
    # nobody answered for the row, or for all the rows that equal it now
    open_ = {
        at
        for at, row in enumerate(rows)
        if row.waits and row.answered <= (equal[at].rows if at in equal else 0)
    }
    doubts = {at: equal[at] for at in open_ & equal.keys()}
    if not (missing or others):  # nothing that a row could be an edit of
        return dict(sorted(doubts.items()))
    contents = [row.content for row in rows]
    # of equal rows, nobody can tell which one is new
    new = {contents[at] for at in open_ if not rows[at].key}
    unequal = [at for at in open_ - equal.keys() if contents[at] in new]
    fresh = group(unequal, contents.__getitem__)
    begun = any(entry.state in SENT for entry in entries)
    for sheet in (entries, *others):
        is_ours = sheet is entries
        absent = missing if is_ours else match(sheet, rows)[1]
        # of equal rows, nobody can tell which one is gone: the one that got furthest is
        # named
        ranked = sorted(sheet, key=_rank, reverse=True)
        sent = {entry.content: entry for entry in ranked if entry.state in SENT}
        gone = [entry for entry in absent if entry.content in sent]
        # of another import, the category counts, too
        width = 1 if is_ours else 2
        names = {entry.content[:width]: sent[entry.content] for entry in gone}
        for at in open_:
            namesake = names.get(contents[at][:width])
            if namesake is not None:
                doubts.setdefault(at, Doubt("the same name", _describe(namesake)))
        whole = [entry for entry in sheet if entry.position is not None]
        last_run = [entry for entry in sheet if entry.present]  # in an order of its own
        for version in (sorted(whole, key=attrgetter("position")), last_run):
            lost = set(gone).intersection(version)
            if not is_ours and (begun or 2 * len(lost) > len(version)):
                continue
            for entry, places in _edits(version, lost, contents, fresh, width):
                doubt = Doubt("the same place", _describe(sent[entry.content]))
                for at in places:
                    doubts.setdefault(at, doubt)
    return dict(sorted(doubts.items()))


def _describe(entry: Entry) -> str:
    """Name a row that was sent, and its animal."""
    animal = entry.state if entry.pet_id is None else f"id {entry.pet_id}"
    return (
        f"row {entry.number} of import {entry.import_id} was {entry.content} ({animal})"
    )


def _edits(
    version: Sequence[Entry],
    lost: Collection[Entry],
    contents: Sequence[PetValues],
    fresh: Mapping[PetValues, Sequence[int]],
    width: int,
) -> Iterator[tuple[Entry, list[int]]]:
    """
    Yield a missing row with the new rows in its place, where fewer of these bear its
    name than rows of that name are missing there.

    A place lies between neighbours: the nearest rows that are still there, and that
    equal no row which came or went, since of equal rows nobody can tell which one went.
    Where the order of the neighbours changed, it is everywhere.

    Args:
        version: Rows of an import that a version of it had, in their order there.
        lost: Those that were sent, and are missing.
        contents: The values of each row of the file.
        fresh: Where in the file new rows are, by their values.
        width: How many of the values are the name: 1, or 2 with the category.
    """
    if not lost:
        return
    before = [entry.content for entry in version]
    had = Counter(before)
    has = Counter(contents)
    neighbours = {content for content in had if had[content] == has[content]}
    if [c for c in before if c in neighbours] != [
        c for c in contents if c in neighbours
    ]:
        neighbours.clear()
    missing = group(lost, _CONTENT)
    now = _between(contents, neighbours)
    for place, values in _between(before, neighbours).items():
        went = [entry for content in values for entry in missing.get(content, ())]
        came = [at for content in now[place] for at in fresh.get(content, ())]
        names = Counter(entry.content[:width] for entry in went)
        names -= Counter(contents[at][:width] for at in came)
        for entry in sorted(went, key=_rank):  # the same in each run
            if entry.content[:width] in names:
                yield entry, came
                break


def _between(
    contents: Sequence[PetValues], neighbours: Collection[PetValues]
) -> dict[int, set[PetValues]]:
    """Return the values of the other rows, by how many neighbours are before them."""
    found: dict[int, set[PetValues]] = defaultdict(set)
    before = 0
    for content in contents:
        if content in neighbours:
            before += 1
        else:
            found[before].add(content)
    return found
