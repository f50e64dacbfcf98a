"""
Pure: a row of an import, which row of a file it is, and what is doubtful about it.

*A row is the animal that its id names, else its row key, else its three values; of
equal rows, as many were sent as the journal has.* Keys of another import count where at
least half of the keys that both have agree in name and category.

A row that was not sent yet is doubtful for one of three reasons:

- *equal*: there is an animal with its three values, or a row with its name and category
  that was sent, or that a running import is to send; and no row of the file is that
  one. Of equal rows as many are doubtful as there are such.
- *changed list*: rows that were sent are gone where it stands, that is between the
  nearest rows that are still there; everywhere, where their order changed, or where
  this new file is a copy: it has at least half of another import's list, and that has
  at least half of the file.
- *the same row key*: its key was sent with another name.

Keys and ids tell which row is gone: among rows with keys, and among rows with ids, a
changed list says nothing.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import Literal, NamedTuple, TypeVar, get_args

from petstore_tools.importing.values import PetValues, RowProblem

# by how far a row got: of equal entries, the first ones are found in a file
State = Literal["created", "unknown", "sending", "skipped", "unsent", "rejected"]
_STATES = get_args(State)
# what became of rows: the counts that people read, and the state that each counts
OUTCOMES: dict[str, State] = {
    "created": "created",
    "rejected": "rejected",
    "unknown": "unknown",
    "not_sent": "unsent",
    "left_out": "skipped",
}
Reason = Literal["equal", "changed list", "the same row key"]
_VERBS: dict[Reason, str] = {
    "equal": "is",
    "changed list": "is missing here:",
    "the same row key": "has its key:",
}
IS_EQUAL = "equal:"  # begins the detail of a row that was left out as equal
content_of = attrgetter("content")
_first_two = itemgetter(slice(2))
K = TypeVar("K")
V = TypeVar("V")


class Entry(NamedTuple):
    """
    A row of an import: as its file has it, and what the journal knows of it.

    Attributes:
        number: Its position in the sheet, as people count; of a DataFrame a FrameRow.
        content: Its three values: those that were sent, or that its animal has, else
            those of the file; of a row with problems its name as typed alone.
        cells: All cells of the row as typed; () where the file does not have it.
        problems: Why it cannot be sent.
        row_key: Its key as it is compared (`row_key=`), "" without one.
        pet_id: Of its animal, where that is known.
        has_id: The file, or a row with its key, says which animal it is; nothing is
            sent for it.
        edited: The values of the file, where they differ from `content`.
        entry_id: In the table of the journal; 0 where the row is new to it.
        import_id: The import that has the row, "" where it is new.
        file: Name of its file, for people; "" for an animal that a listing shows.
        state: What became of it so far.
        present: Whether the file of the last run had it.
        position: Its position in the last version of the sheet that was no part of one
            before; None where that did not have it.
        answered: A person said that it is sent, whatever it may be.
        compared: It was compared with a listing of the inventory.
        detail: Why it is rejected, unknown or skipped, or what its answer showed.
        changed_at: Unix seconds of its last change of state.
        may_be: Where only a person can decide, the ids of animals that may be it: `17
            or 18`.
        sent_after: Number of the last complete listing that ended before it was sent, 0
            for none.
        absent: It is unknown, and a listing that was late enough did not show it.
        equal_id: Id of the animal that it was left out as equal to, where it is known.
        shown: Its id stands in the list.
    """

    number: int
    content: PetValues
    cells: tuple[str, ...] = ()
    problems: tuple[RowProblem, ...] = ()
    row_key: str = ""
    pet_id: int | None = None
    has_id: bool = False
    edited: PetValues | None = None
    entry_id: int = 0
    import_id: str = ""
    file: str = ""
    state: State = "unsent"
    present: bool = True
    position: int | None = None
    answered: bool = False
    compared: bool = False
    detail: str = ""
    changed_at: float = 0.0
    may_be: str = ""
    sent_after: int = 0
    absent: bool = False
    equal_id: int | None = None
    shown: bool = False

    def __str__(self) -> str:
        if not self.file:
            return f"the animal with id {self.pet_id}"
        animal = outcome_of(self.state) if self.pet_id is None else f"id {self.pet_id}"
        return f"row {self.number} of {self.file} ({animal})"

    @property
    def waits(self) -> bool:
        """Whether it was not sent, and nobody left it out."""
        return self.state in ("unsent", "rejected")

    @property
    def is_open(self) -> bool:
        """Whether its answer is awaited, so that it is not known yet if it exists."""
        return self.state in ("unsent", "sending", "unknown")

    @property
    def reason(self) -> str:
        """Its problems, or why it is rejected, unknown or skipped, in one line."""
        return "; ".join(map(str, self.problems)) or self.detail

    @property
    def is_in_version(self) -> bool:
        """Whether the last version of the list has it, or that before it left out."""
        return self.present or self.position is not None

    @property
    def is_left_out_as_equal(self) -> bool:
        """Whether a person said that it is an animal that exists already."""
        return self.state == "skipped" and self.detail.startswith(IS_EQUAL)

    @property
    def animal_id(self) -> int | None:
        """Id of its animal, else of the one that it was left out as equal to."""
        return self.equal_id if self.pet_id is None else self.pet_id

    @property
    def key(self) -> str:
        """Its key, "" where another row has that now."""
        return "" if "\n" in self.row_key else self.row_key

    @property
    def name_and_category(self) -> tuple[str, int]:
        """What an animal keeps when its status changes."""
        return self.content[:2]

    @property
    def names(self) -> tuple[str, str]:
        """The names that a row may have and still be this one."""
        return (self.content.name, (self.edited or self.content).name)


@dataclass(frozen=True, slots=True)
class Doubt:
    """
    Why a row could make an animal a second time.

    Attributes:
        reason: Which of the three rules says so.
        entry: The animal, or the row that was sent.
        has_namesakes: There are other animals with its name and category, and with
            another status.
    """

    reason: Reason
    entry: Entry
    has_namesakes: bool = False

    @property
    def because(self) -> str:
        """The animal, or the row that was sent, in words."""
        verb = _VERBS[self.reason]
        return f"{self.entry} {verb} {self.entry.content}"

    def __str__(self) -> str:
        return f"{self.reason}: {self.because}"


@dataclass(frozen=True, slots=True)
class Matches:
    """
    The rows of a file, as the journal knows them.

    Attributes:
        rows: Each row, merged with its entry where the journal has it.
        missing: Entries that were sent, and that the file does not have: of equal ones,
            the one that got furthest, since nobody can tell which one is gone.
        namesakes: By the position of a row, the one that was sent with its key and
            another name.
        displaced: Entries that were sent, and whose key a row has that bears another
            name or category: they may be other rows of the file.
        has_keys: Whether the file has keys.
        has_ids: Whether it says of rows which animals they are.
    """

    rows: Sequence[Entry]
    missing: Sequence[Entry]
    namesakes: Mapping[int, Entry]
    displaced: Sequence[Entry] = ()
    has_keys: bool = False
    has_ids: bool = False

    def untold(
        self, removed: Iterable[Entry], paired_ids: Collection[int]
    ) -> list[Entry]:
        """
        Return the rows that no row of the file equals, and of which neither a key nor
        an id tells that they are gone; a list with ids has none that was left out.
        """
        return [
            entry
            for entry in removed
            if entry.entry_id not in paired_ids
            and not (self.has_keys and entry.row_key)
            and not (self.has_ids and (entry.has_id or entry.state == "skipped"))
        ]


def outcome_of(state: State) -> str:
    """
    Return the word for what became of a row.

    >>> outcome_of("skipped")
    'left out'
    """
    words = {stored: outcome for outcome, stored in OUTCOMES.items()}
    return words.get(state, state).replace("_", " ")


def group(values: Iterable[V], key: Callable[[V], K]) -> defaultdict[K, list[V]]:
    """Return values by what a function says of each, in their order."""
    groups = defaultdict(list)
    for value in values:
        groups[key(value)].append(value)
    return groups


def match(
    entries: Iterable[Entry], rows: Sequence[Entry], other_entries: Iterable[Entry] = ()
) -> Matches:
    """
    Find the rows of a file in the journal: by their id, else by their key, else by
    their values; of equal ones, those that were sent.

    >>> rex = Entry(2, PetValues("Rex", 3, None), entry_id=1, state="created")
    >>> match([rex], [rex._replace(number=9, entry_id=0)]).rows[0].entry_id
    1

    Args:
        entries: Rows of this import.
        rows: Those of the file.
        other_entries: Rows of other imports.
    """
    # by how far they got, then by their position in the sheet
    ranked = sorted(
        entries,
        key=lambda entry: (_STATES.index(entry.state), entry.number),
        reverse=True,
    )
    ids = {row.pet_id for row in rows if row.has_id}
    has_ids = bool(ids)
    identified = _identify(ranked, rows, ids)
    foreign_keys = _agreeing_keys(rows, other_entries, ids)
    identified_ids = {entry.entry_id for entry in identified if entry}
    spare = [entry for entry in ranked if entry.entry_id not in identified_ids]
    equal_entries = group(spare, content_of)
    namesakes: dict[int, Entry] = {}
    displaced = []
    merged_rows = []
    for position, (row, entry) in enumerate(zip(rows, identified, strict=True)):
        if not (entry or row.has_id):
            entry = _take_equal(
                equal_entries.get(row.content, []), row, has_ids=has_ids
            )
        if entry and not (row.has_id or entry.waits):
            if row.name_and_category != entry.name_and_category:
                displaced.append(entry)
            if row.content.name not in entry.names:
                namesakes[position] = entry
        if entry and position not in namesakes:
            row = merge(entry, row)
        other = foreign_keys.get(row.row_key)
        if other and row.waits and not row.answered and position not in namesakes:
            is_settled = other.pet_id is not None or other.state == "skipped"
            if is_settled and row.content.name in other.names:
                row = take_over(row, other)
            else:
                namesakes[position] = other
        merged_rows.append(row)
    return Matches(
        merged_rows,
        _missing_entries(equal_entries, spare),
        namesakes,
        displaced,
        has_keys=any(row.row_key for row in rows),
        has_ids=has_ids,
    )


def _identify(
    ranked: Sequence[Entry], rows: Iterable[Entry], ids: Collection[int | None]
) -> list[Entry | None]:
    """Return the entry that the id of each row names, else its key, None for none."""
    by_id: dict[int | None, Entry] = {entry.pet_id: entry for entry in ranked}
    by_key = {
        entry.row_key: entry
        for entry in ranked
        if entry.row_key and entry.pet_id not in ids
    }
    return [
        by_id.get(row.pet_id) if row.has_id else by_key.get(row.row_key) for row in rows
    ]


def _missing_entries(
    unmatched: Mapping[PetValues, Sequence[Entry]], ranked: Iterable[Entry]
) -> list[Entry]:
    """
    Return entries that were sent, and that no row is: as many of equal ones as were not
    matched, and of these the one that got furthest.
    """
    # one that no file said the animal of may be the one that is gone
    by_doubt = sorted(ranked, key=attrgetter("has_id"), reverse=True)
    furthest = {entry.content: entry for entry in by_doubt}
    return [
        furthest[content]
        for content, entries in unmatched.items()
        for _ in entries
        if not furthest[content].waits
    ]


def _agreeing_keys(
    rows: Iterable[Entry],
    other_entries: Iterable[Entry],
    ids: Collection[int | None],
) -> dict[str, Entry]:
    """
    Return the rows of other imports that have a key of a file, and none of its ids, by
    key: of each import in which at least half of these bear the same name and category.
    """
    rows_by_key = {row.row_key: row for row in rows if row.row_key}
    same_keys = (
        other
        for other in other_entries
        if other.row_key in rows_by_key and other.pet_id not in ids
    )
    agreeing: dict[str, Entry] = {}
    for entries in group(same_keys, attrgetter("import_id")).values():
        count = sum(
            rows_by_key[entry.row_key].name_and_category
            in (entry.name_and_category, (entry.edited or entry.content)[:2])
            for entry in entries
        )
        if 2 * count >= len(entries):
            agreeing |= {entry.row_key: entry for entry in entries}
    return agreeing


def _take_equal(
    equal_entries: list[Entry], row: Entry, *, has_ids: bool
) -> Entry | None:
    """
    Take the entry of the last version with the values of a row that got furthest, and
    no other key; in a list with ids, none whose id the list has shown.
    """
    for index in reversed(range(len(equal_entries))):
        entry = equal_entries[index]
        has_other_key = row.row_key and entry.row_key
        has_shown_id = has_ids and entry.shown
        if entry.is_in_version and not (has_other_key or has_shown_id):
            return equal_entries.pop(index)
    return None


def merge(entry: Entry, row: Entry) -> Entry:
    """
    Return an entry as a file has it; one that waits takes its values, and is compared
    again where these are others. So is the animal of an id where the row has another
    name than before.
    """
    content = row.content if entry.waits else entry.content
    is_same = content == entry.content
    is_named = not row.has_id or row.content.name in entry.names
    return entry._replace(
        number=row.number,
        content=content,
        cells=row.cells,
        row_key=row.row_key or entry.row_key,
        has_id=entry.has_id or row.has_id,
        answered=entry.answered and is_same,
        compared=entry.compared and is_same and is_named,
        edited=None if row.content == content else row.content,
    )


def take_over(row: Entry, other: Entry) -> Entry:
    """Return a row of a file that is the same as one that another import sent."""
    return row._replace(
        content=other.content,
        edited=None if row.content == other.content else row.content,
        state=other.state,
        pet_id=other.pet_id,
        has_id=other.pet_id is not None,
        equal_id=other.equal_id,
        detail=f"{other} has its key",
    )


def find_doubtful(
    matches: Matches,
    entries: Sequence[Entry],
    animals: Iterable[Entry] = (),
    other_entries: Iterable[Entry] = (),
) -> dict[int, Doubt]:
    """
    Say which rows of a file are doubtful.

    >>> rex = PetValues("Rex", 3, None)
    >>> rows = match([], [Entry(2, rex)])
    >>> str(find_doubtful(rows, [], [Entry(0, rex, pet_id=17)])[0])
    "equal: the animal with id 17 is 'Rex', 3, no status"

    Args:
        matches: The rows of the file.
        entries: Rows of this import, by their position in the sheet.
        animals: Those of a listing that no row of this import is.
        other_entries: Rows of other imports that were sent, or that a running one is to
            send.

    Returns:
        The doubt of each doubtful row, by its position in `matches.rows`, in their
        order.
    """
    rows = matches.rows
    other_lists = [
        _OtherList(list_rows, rows)
        for list_rows in group(other_entries, attrgetter("import_id")).values()
    ]
    candidates = _find_candidates(matches, animals, other_lists)
    equals = _pair_equals(rows, *candidates)
    doubts = {
        position: Doubt("the same row key", namesake)
        for position, namesake in matches.namesakes.items()
    }
    namesakes = group({pet.content for sent in candidates for pet in sent}, _first_two)
    doubts |= {
        position: Doubt("equal", entry, len(namesakes[entry.name_and_category]) > 1)
        for position, entry in equals.items()
        if rows[position].waits
    }
    open_positions = [
        position
        for position, row in enumerate(rows)
        if row.waits and not row.answered and position not in doubts
    ]
    paired_ids = {entry.entry_id for entry in equals.values()}
    removed = matches.untold(matches.missing, paired_ids)
    doubts |= _find_changes(rows, open_positions, entries, removed)
    is_begun = not all(entry.waits or entry.is_left_out_as_equal for entry in entries)
    for other_list in () if is_begun else other_lists:
        removed = matches.untold(other_list.removed, paired_ids)
        if other_list.is_copied and removed:
            positions = [p for p in open_positions if p not in doubts]
            doubts |= _name_changes(positions, removed)
    return dict(sorted(doubts.items()))


class _OtherList:
    """
    What another import has of its list, beside a file.

    Attributes:
        entries: Its rows that were sent, or that it is to send.
        removed: Those of its last version that the file does not have; its returned
            list would name each animal.
        is_half_there: The file has at least half of that version, by name and category.
        is_copied: So it is, and that version has at least half of the file.
    """

    def __init__(self, entries: Sequence[Entry], rows: Sequence[Entry]) -> None:
        version = [e for e in entries if e.present or e.position is not None]
        of_file = Counter(row.name_and_category for row in rows)
        self.entries = entries
        self.removed = []
        for entry in version:
            of_file[entry.name_and_category] -= 1
            if of_file[entry.name_and_category] < 0:
                has_id = entry.pet_id is not None
                self.removed.append(entry._replace(has_id=has_id))
        common = len(version) - len(self.removed)
        self.is_half_there = 2 * common >= len(version) > 0
        self.is_copied = self.is_half_there and 2 * common >= len(rows)


def _find_candidates(
    matches: Matches, animals: Iterable[Entry], other_lists: Iterable[_OtherList]
) -> tuple[list[Entry], list[Entry]]:
    """
    Return what no row of the file is: rows that were sent, and animals that none of
    these is; an animal that several imports have counts once, and of two rows with keys
    only where the file has half of that list.
    """
    sent_rows = [*matches.missing, *matches.displaced]
    known_ids = {entry.pet_id for entry in (*matches.rows, *sent_rows)}
    known_ids.discard(None)
    for other_list in other_lists:
        for entry in other_list.entries:
            if entry.pet_id in known_ids or entry.is_left_out_as_equal:
                continue
            has_keys = matches.has_keys and entry.row_key
            if other_list.is_half_there or not has_keys:
                sent_rows.append(entry)
            if entry.pet_id is not None:
                known_ids.add(entry.pet_id)
    return sent_rows, [pet for pet in animals if pet.pet_id not in known_ids]


def _pair_equals(
    rows: Sequence[Entry], sent_rows: Sequence[Entry], animals: Sequence[Entry]
) -> dict[int, Entry]:
    """
    Give each row that was left out as equal, and each that waits, a candidate of its
    own, by its position: those with its three values first. An edited row has two: what
    was sent, and what its file has.
    """
    edited = [row._replace(content=row.edited) for row in sent_rows if row.edited]
    sent_rows = [*sent_rows, *edited]
    if not (sent_rows or animals):
        return {}
    by_name = attrgetter("name_and_category")
    candidates = (
        (group((*sent_rows, *animals), content_of), content_of),
        (group(sent_rows, by_name), by_name),
        # a row without a status may be an animal of any
        (group(animals, lambda pet: pet.content._replace(status=None)), content_of),
    )
    # those that were left out have taken theirs
    positions = [p for p, row in enumerate(rows) if row.is_left_out_as_equal]
    positions += [
        position for position, row in enumerate(rows) if row.waits and not row.answered
    ]
    by_id = {candidate.pet_id: candidate for candidate in (*animals, *sent_rows)}
    pairs = {
        position: by_id[row.equal_id]
        for position, row in enumerate(rows)
        if row.equal_id is not None and row.equal_id in by_id
    }
    paired = {(entry.entry_id, entry.pet_id) for entry in pairs.values()}
    for groups, value_of in candidates:
        for position in positions:
            row = rows[position]
            if position not in pairs:
                # a group that is not there is not made
                candidate = _take(groups.get(value_of(row), []), row, paired)
                if candidate:
                    pairs[position] = candidate
    return pairs


def _take(
    candidates: list[Entry], row: Entry, paired: set[tuple[int, int | None]]
) -> Entry | None:
    """
    Take one that no row has yet: of its own import first; for a row that was left out,
    something else.
    """
    while candidates:
        candidate = candidates.pop(-1 if row.is_left_out_as_equal else 0)
        identity = candidate.entry_id, candidate.pet_id
        if identity not in paired:
            paired.add(identity)
            return candidate
    return None


def _find_changes(
    rows: Sequence[Entry],
    open_positions: Iterable[int],
    entries: Sequence[Entry],
    removed: Sequence[Entry],
) -> dict[int, Doubt]:
    """
    Return the new rows that stand where rows of this import are gone, in its last
    version that was no part of one before, or in that of its last run.
    """
    if not removed:
        return {}
    contents = [row.content for row in rows]
    new_rows = group(
        (p for p in open_positions if not rows[p].entry_id), contents.__getitem__
    )
    removed_rows = group(removed, content_of)
    whole = [entry for entry in entries if entry.position is not None]
    versions = (
        sorted(whole, key=attrgetter("position")),
        [entry for entry in entries if entry.present],
    )
    doubts: dict[int, Doubt] = {}
    for version in versions:
        for before, after in _gaps([entry.content for entry in version], contents):
            positions = sorted(p for content in after for p in new_rows[content])
            removed_there = [e for content in before for e in removed_rows[content]]
            if removed_there:
                doubts = _name_changes(positions, removed_there) | doubts
    return doubts


def _name_changes(
    positions: Sequence[int], removed: Sequence[Entry]
) -> dict[int, Doubt]:
    """Say of each new row in whose place it may stand."""
    in_order = sorted(removed, key=attrgetter("number"))  # the same in each run
    last = len(in_order) - 1
    return {
        position: Doubt("changed list", in_order[min(index, last)])
        for index, position in enumerate(positions)
    }


def _gaps(
    before: Sequence[PetValues], after: Sequence[PetValues]
) -> Iterator[tuple[set[PetValues], set[PetValues]]]:
    """
    Yield the values that a list had between two neighbours, and those that it has there
    now.

    Neighbours are rows that are still there, and that equal no row which came or went.
    Where their order changed, there is one gap: the whole file.

    Args:
        before: The values of each row of a version of a list.
        after: Those of each row of the file.
    """
    # those that both have equally often
    neighbours = dict(Counter(before).items() & Counter(after).items())
    order = [content for content in before if content in neighbours]
    if order != [content for content in after if content in neighbours]:
        neighbours.clear()
    values_after = _between(after, neighbours)
    for gap, values_before in _between(before, neighbours).items():
        yield values_before, values_after[gap]


def _between(
    contents: Sequence[PetValues], neighbours: Collection[PetValues]
) -> defaultdict[int, set[PetValues]]:
    """Return the values of the other rows, by how many neighbours are before them."""
    values = defaultdict(set)
    neighbours_before = 0
    for content in contents:
        if content in neighbours:
            neighbours_before += 1
        else:
            values[neighbours_before].add(content)
    return values
