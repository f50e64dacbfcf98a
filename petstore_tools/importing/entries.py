"""
Pure: a row of an import, and which row of a file is which row of the journal.

A row is the animal that its id names, else its row key, else its three values: of equal
rows, as many were sent as the journal has.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal, NamedTuple, TypeVar

from petstore_tools.importing.values import PetValues

State = Literal["unsent", "sending", "created", "rejected", "unknown", "skipped"]
SENT: tuple[State, ...] = ("created", "unknown", "sending", "skipped")
# of equal entries, these are found in a file before those that were not sent
_RANKS = (*SENT, "unsent", "rejected")
content_of = attrgetter("content")
K = TypeVar("K")
V = TypeVar("V")


class Entry(NamedTuple):
    """
    A row of an import, as the journal knows it, or as a file brings it.

    Attributes:
        entry_id: In the table of the journal; 0 where the row is new to it.
        import_id: The import that has the row.
        file: Name of its file, for people; "" for an animal that a listing shows.
        content: Its three values: those that were sent, or that its animal has.
        number: Its position in the sheet when the file last had it.
        row_key: The title of a column of the user's own and its key there, in two
            lines; "" for none.
        present: Whether the file of the last run had it.
        waits: Whether it was not sent, and nobody left it out for good.
        state: What became of it so far.
        answered: A person said whether it is sent, although it was doubtful.
        equals: How many rows of other imports equalled it then, or when it was
            compared.
        compared: It was compared with a listing of the inventory.
        pet_id: Of its animal, where that is known.
        has_id: The file, or a row with its key, says which animal it is; nothing is
            sent for it.
        alias: Another name that a person took for an edit of its own.
        detail: Why it is rejected, unknown or skipped, or what its answer showed.
        changed_at: Unix seconds of its last change of state.
        may_be: Where only a person can decide, the ids of animals that may be it: `17
            or 18`.
        sent_after: Number of the last complete listing that ended before it was sent, 0
            for none.
        absent: It is unknown, and a listing that was late enough did not show it.
        position: Its position in the last version of the sheet that was no part of one
            before; None where that did not have it.
        reject_of: In a rejects file, its row in the sheet that was imported; 0 for
            none.
    """

    entry_id: int
    import_id: str
    file: str
    content: PetValues
    number: int
    row_key: str = ""
    present: bool = True
    waits: bool = True
    state: State = "unsent"
    answered: bool = False
    equals: int = 0
    compared: bool = False
    pet_id: int | None = None
    has_id: bool = False
    alias: str = ""
    detail: str = ""
    changed_at: float = 0.0
    may_be: str = ""
    sent_after: int = 0
    absent: bool = False
    position: int | None = None
    reject_of: int = 0

    def __str__(self) -> str:
        if not self.file:
            return f"the animal with id {self.pet_id}"
        animal = self.state if self.pet_id is None else f"id {self.pet_id}"
        return f"row {self.number} of {self.file} ({animal})"

    @property
    def key_title(self) -> str:
        """The title of its key; the name of the import for a letter without one."""
        return self.row_key.partition("\n")[0]

    @property
    def key(self) -> str:
        """Its key."""
        return self.row_key.partition("\n")[2]

    @property
    def possible_ids(self) -> set[int]:
        """Ids of animals of which a person decides whether one is the row."""
        return {*map(int, self.may_be.split(" or "))} if self.may_be else set()

    @property
    def is_open(self) -> bool:
        """Whether its answer is awaited, so that it is not known yet if it exists."""
        return self.state in ("sending", "unknown")


@dataclass(frozen=True, slots=True)
class Matches:
    """
    The rows of a file, as the journal knows them.

    Attributes:
        rows: The entry of each row, with its number in the file, or the row where the
            journal does not have it.
        missing: Entries that the file does not have: of equal ones, the one that got
            furthest, since nobody can tell which one is gone.
        namesakes: By the position of a row, the one that was sent with its key and
            that may be another.
    """

    rows: Sequence[Entry]
    missing: Sequence[Entry]
    namesakes: Mapping[int, Entry]


def group(values: Iterable[V], key: Callable[[V], K]) -> defaultdict[K, list[V]]:
    """Return values by what a function says of each, in their order."""
    groups = defaultdict(list)
    for value in values:
        groups[key(value)].append(value)
    return groups


def match(
    entries: Iterable[Entry],
    rows: Sequence[Entry],
    foreign: Mapping[str, Entry] | None = None,
) -> Matches:
    """
    Find the rows of a file in the journal: by their id, else by their key, else by
    their values; of equal ones, those that were sent.

    Args:
        entries: Rows of this import.
        rows: Those of the file.
        foreign: Rows that other imports sent under the title of the file's keys, by
            key.
    """
    # by how far they got, then by their position in the sheet
    ranked = sorted(
        entries,
        key=lambda entry: (_RANKS.index(entry.state), entry.number),
        reverse=True,
    )
    by_id = {entry.pet_id: entry for entry in ranked if entry.pet_id is not None}
    by_key = {entry.row_key: entry for entry in ranked if entry.row_key}
    same_entries = [
        by_id.get(row.pet_id or 0) if row.has_id else by_key.get(row.row_key)
        for row in rows
    ]
    of_file = {entry.entry_id for entry in same_entries if entry is not None}
    spare = [entry for entry in ranked if entry.entry_id not in of_file]
    equal_entries = group(spare, content_of)
    namesakes: dict[int, Entry] = {}
    merged_rows = []
    for position, (row, entry) in enumerate(zip(rows, same_entries, strict=True)):
        equal = equal_entries.get(row.content)
        is_free = entry is None and not row.has_id
        if is_free and equal and not (row.row_key and equal[-1].row_key):
            entry = equal.pop()
        if entry and (row.has_id or entry.waits or row.content.name in _names(entry)):
            row = _merge(entry, row)
        elif entry:
            namesakes[position] = entry
        other = (foreign or {}).get(row.row_key)
        if other and row.waits and not row.answered and position not in namesakes:
            if _is_same_row(row, other):
                row = take_over(row, other)
            else:
                namesakes[position] = other
        merged_rows.append(row)
    # one that no file said the animal of may be the one that is gone
    spare.sort(key=lambda entry: not entry.has_id)
    first = {entry.content: entry for entry in spare}
    removed = [
        first[entry.content] for equal in equal_entries.values() for entry in equal
    ]
    return Matches(merged_rows, removed, namesakes)


def _names(entry: Entry) -> tuple[str, str]:
    """Return the names that a row may have and still be this one."""
    return entry.content.name, entry.alias


def _merge(entry: Entry, row: Entry) -> Entry:
    """Return an entry as a file has it; one that waits takes its values."""
    return entry._replace(
        number=row.number,
        row_key=row.row_key or entry.row_key,
        content=row.content if entry.waits else entry.content,
        has_id=entry.has_id or row.has_id,
        reject_of=row.reject_of,
    )


def _is_same_row(row: Entry, other: Entry) -> bool:
    """Say whether the row of another import that has its key is the same row."""
    is_settled = other.pet_id is not None or other.state == "skipped"
    has_its_name = row.content.name in _names(other)
    return is_settled and has_its_name and row.content[1] == other.content[1]


def take_over(row: Entry, other: Entry) -> Entry:
    """Return a row of a file that is the same as one that was sent."""
    return row._replace(
        content=other.content,
        waits=False,
        state=other.state,
        answered=True,
        pet_id=other.pet_id,
        has_id=other.pet_id is not None,
        alias=other.alias,
        detail=f"{other} has its key",
    )
