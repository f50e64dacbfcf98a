"""
Pure: which rows of a file could make an animal twice.

A row that was not sent yet is doubtful for one of four reasons:

- *equal*: as many animals, and rows that other imports sent, have its values as are not
  this import's, less those that were there when a person answered for it. Of equal rows
  as many are doubtful.
- *the same name*: it bears the name of a row that was sent and is in the file no more;
  of another import, there only where the category is the same.
- *the same position*: it stands where a row that was sent is gone, and fewer new rows
  there bear that row's name than rows of that name are gone there. *There* is between
  the nearest rows that are still there; of another import, between the rows just before
  and after it, until a row of this file was sent.
- *the same row key*: its key was sent with another name, or by another import with
  another name or category.

Names and positions say nothing between rows with keys. In a file with ids they are
compared only with rows that it sent itself without one. A file that leaves rows out and
brings no new one is a part of the version before: no row is gone by it, and the next
file is compared with both.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal, NamedTuple

from petstore_tools.importing.entries import (
    SENT,
    Entry,
    Matches,
    content_of,
    group,
    match,
    rank,
)
from petstore_tools.importing.values import PetValues
from petstore_tools.text import first_of

Reason = Literal["equal", "the same name", "the same position", "the same row key"]
IS_EQUAL = "equal:"  # begins the detail of a row that was left out as equal
_FEW = 5  # rows that a doubt names


class Equal(NamedTuple):
    """
    What may be the animal of a row already: one that a listing shows, or a row that
    another import sent.

    Attributes:
        content: Its three values.
        label: What it is, for people.
        pet_id: Of its animal, where that is known.
        row_key: Its key under the title that the file's keys have, "" for none.
        is_row: It is a row; the animal that it made counts once with it.
        is_open: Its answer is awaited, so it is not known yet whether it exists.
    """

    content: PetValues
    label: str
    pet_id: int | None = None
    row_key: str = ""
    is_row: bool = False
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class Doubt:
    """
    Why a row could make an animal a second time.

    Attributes:
        reason: Which of the four rules says so.
        because: The animal, or the row that was sent, in words.
        is_open: Whether it is not known yet if that exists: another import awaits the
            answer.
        namesake: The row that was sent with its key, None by another rule.
    """

    reason: Reason
    because: str
    is_open: bool = False
    namesake: Entry | None = None

    def __str__(self) -> str:
        return f"{self.reason}: {self.because}"


def find_doubtful(
    matches: Matches,
    entries: Sequence[Entry],
    *,
    equals: Mapping[int, Sequence[Equal]],
    others: Iterable[Sequence[Entry]] = (),
) -> dict[int, Doubt]:
    """
    Say which rows of a file are doubtful.

    Args:
        matches: The rows of the file.
        entries: Rows of this import, by their position in the sheet.
        equals: What equals a row, by its position (`equals_by_row`).
        others: Rows of each other import that sent a row whose name and category this
            file has.

    Returns:
        The doubt of each doubtful row, by its position in `matches.rows`, in their
        order.
    """
    rows = matches.rows
    doubts = find_same_keys(matches) | find_equal(rows, entries, equals)
    file = _File(rows, doubts.keys())
    removals = [_Removal.of(entries, matches.missing, file)]
    if not any(row.has_id for row in rows):
        is_begun = any(entry.state in SENT for entry in entries)
        for sheet in others:
            missing = match(sheet, rows).missing
            removals.append(_Removal.of(sheet, missing, file, is_begun=is_begun))
    for removal in removals:
        if removal.entries:
            doubts = find_same_names(file, removal) | doubts
            doubts = find_same_positions(file, removal) | doubts
    return dict(sorted(doubts.items()))


def find_same_keys(matches: Matches) -> dict[int, Doubt]:
    """
    The rows whose key was sent with another name, or by another import with another
    name or category.
    """
    doubts = {}
    for position, namesake in matches.namesakes.items():
        because = f"{namesake} has its key: {namesake.content} ({namesake.animal})"
        is_open = namesake.state in ("sending", "unknown")
        doubts[position] = Doubt("the same row key", because, is_open, namesake)
    return doubts


def equals_by_row(
    rows: Sequence[Entry], equals: Iterable[Equal]
) -> dict[int, list[Equal]]:
    """
    Return what equals each row that waits, by its position: a row without a status
    equals those of any, and none with another key; an animal counts once.

    Args:
        rows: Those of a file.
        equals: What shares name and category with them, and is not this import's.
    """
    own_ids = {row.pet_id for row in rows if row.pet_id is not None}
    near = group(equals, lambda equal: equal.content[:2])
    equals_of_rows = {}
    for position, row in enumerate(rows):
        if row.waits and (candidates := near.get(row.content[:2])):
            once = {
                equal.pet_id or -number: equal
                for number, equal in enumerate(candidates)
                if _equals(equal, row) and equal.pet_id not in own_ids
            }
            if once:
                equals_of_rows[position] = [*once.values()]
    return equals_of_rows


def _equals(equal: Equal, row: Entry) -> bool:
    """Say whether an animal or a row of the same name and category may be a row."""
    if equal.row_key and row.row_key:
        return equal.row_key == row.row_key
    statuses = {equal.content.status, row.content.status}
    return len(statuses) == 1 or None in statuses


def count_rows(equals: Iterable[Equal]) -> int:
    """Count the rows of other imports."""
    return sum(equal.is_row for equal in equals)


def find_equal(
    rows: Sequence[Entry],
    entries: Iterable[Entry],
    equals: Mapping[int, Sequence[Equal]],
) -> dict[int, Doubt]:
    """
    Of rows with the same values, as many as there are animals and rows of other imports
    with these, less those that rows of this file were left out for; where a person
    answered for a row, less the rows that were there then.
    """
    left_out = Counter(
        entry.content
        for entry in entries
        if not entry.waits and entry.detail.startswith(IS_EQUAL)
    )
    doubts = {}
    for content, positions in group(equals, lambda at: rows[at].content).items():
        excess = {}
        for position in positions:
            row = rows[position]
            count = len(equals[position]) - left_out[content]
            if row.answered:
                count = count_rows(equals[position]) - row.equals
            excess[position] = count
        doubtful = [position for position in positions if excess[position] > 0]
        most = max(excess.values())
        for position in doubtful[-most:] if most > 0 else ():
            doubts[position] = _equal_doubt(
                equals[position], most, [rows[other].number for other in doubtful]
            )
    return doubts


def _equal_doubt(equals: Sequence[Equal], most: int, numbers: Sequence[int]) -> Doubt:
    """Name an equal animal or row, and how many of which rows it may be."""
    shown = max(equals, key=lambda equal: (equal.is_open, equal.is_row))
    because = f"{shown.label} has the same values"
    if len(equals) > 1:
        because += f", and {len(equals) - 1:,} more"
    if most < len(numbers):
        because += f"; {most:,} of the {len(numbers):,} rows {first_of(numbers, _FEW)}"
    return Doubt("equal", because, any(equal.is_open for equal in equals))


class _File:
    """
    The rows of a file that no rule has decided on.

    Args:
        rows: Those of the file.
        doubtful: Positions of those that are doubtful already.

    Attributes:
        contents: The values of each row.
        unanswered: Positions of rows that wait, and for which nobody answered.
        fresh: Of these, positions of new rows by their values: of equal rows nobody can
            tell which one is new.
        has_keys: Whether its rows have keys.
    """

    def __init__(self, rows: Sequence[Entry], doubtful: Collection[int]) -> None:
        self.contents = [row.content for row in rows]
        self.has_keys = any(row.row_key for row in rows)
        self.unanswered = [
            position
            for position, row in enumerate(rows)
            if row.waits and not row.answered and position not in doubtful
        ]
        new_contents = {row.content for row in rows if row.waits and not row.entry_id}
        self.fresh = group(
            (at for at in self.unanswered if self.contents[at] in new_contents),
            self.contents.__getitem__,
        )


@dataclass(frozen=True, slots=True)
class _Removal:
    """
    Rows of an import that were sent, and that a file does not have.

    Attributes:
        entries: These rows.
        examples: A row that was sent, by values: of equal rows nobody can tell which
            one is gone, and the one that got furthest is named.
        versions: The rows of the import in the order of its last version that was no
            part, and in that of its last run.
        is_ours: Whether it is this import.
        is_begun: Whether a row of this import was sent.
    """

    entries: Sequence[Entry]
    examples: Mapping[PetValues, Entry]
    versions: Sequence[Sequence[Entry]]
    is_ours: bool
    is_begun: bool

    @classmethod
    def of(
        cls,
        sheet: Sequence[Entry],
        missing: Iterable[Entry],
        file: _File,
        *,
        is_begun: bool | None = None,
    ) -> _Removal:
        """
        Return what a file does not have of the rows of an import.

        Args:
            sheet: All its rows, by their position in the sheet.
            missing: Those that the file does not have.
            file: What is compared.
            is_begun: Whether a row of this import was sent; None: `sheet` is its own.
        """
        ranked = sorted(sheet, key=rank, reverse=True)
        examples = {entry.content: entry for entry in ranked if entry.state in SENT}
        removed = [
            entry
            for entry in missing
            if entry.content in examples
            and not (entry.has_id or (file.has_keys and entry.row_key))
        ]
        whole = [entry for entry in sheet if entry.position is not None]
        by_position = sorted(whole, key=attrgetter("position"))
        last_run = [entry for entry in sheet if entry.present]
        versions = (by_position, last_run)
        return cls(removed, examples, versions, is_begun is None, bool(is_begun))

    @property
    def name_width(self) -> int:
        """How many values are the name; of another import the category counts, too."""
        return 1 if self.is_ours else 2

    def doubt(self, reason: Reason, entry: Entry) -> Doubt:
        """Say that a row may be an edit of one of these."""
        example = self.examples[entry.content]
        return Doubt(reason, f"{example} was {entry.content} ({example.animal})")


def find_same_names(file: _File, removal: _Removal) -> dict[int, Doubt]:
    """The rows that bear the name of a row that was sent and is in the file no more."""
    width = removal.name_width
    names = {entry.content[:width]: entry for entry in removal.entries}
    doubts = {}
    for position in file.unanswered:
        if namesake := names.get(file.contents[position][:width]):
            doubts[position] = removal.doubt("the same name", namesake)
    return doubts


def find_same_positions(file: _File, removal: _Removal) -> dict[int, Doubt]:
    """
    The new rows that stand where a row that was sent is gone, where fewer of them bear
    its name than rows of that name are gone there.
    """
    width = removal.name_width
    doubts: dict[int, Doubt] = {}
    if not removal.is_ours and removal.is_begun:
        return doubts
    for version in removal.versions:
        gaps = _gaps if removal.is_ours else _gaps_of_copy
        for removed, contents in gaps(version, removal.entries, file.contents):
            fresh = [at for content in contents for at in file.fresh.get(content, ())]
            names = Counter(entry.content[:width] for entry in removed)
            names -= Counter(file.contents[position][:width] for position in fresh)
            ranked = sorted(removed, key=rank)  # the same in each run
            renamed = [entry for entry in ranked if entry.content[:width] in names]
            if renamed:
                doubt = removal.doubt("the same position", renamed[0])
                doubts = dict.fromkeys(fresh, doubt) | doubts
    return doubts


Gap = tuple[Sequence[Entry], Iterable[PetValues]]


def _gaps(
    version: Sequence[Entry],
    removed_entries: Collection[Entry],
    contents: Sequence[PetValues],
) -> Iterator[Gap]:
    """
    Yield the rows that are gone between two neighbours, and the values of the rows that
    the file has between them.

    Neighbours are rows that are still there, and that equal no row which came or went.
    Where their order changed, there is one gap: the whole file.

    Args:
        version: Rows of an import, in the order of one of its versions.
        removed_entries: Those that are gone.
        contents: The values of each row of the file.
    """
    before = [entry.content for entry in version]
    counts = Counter(before)
    counts_in_file = Counter(contents)
    neighbours = {
        content for content in counts if counts[content] == counts_in_file[content]
    }
    order = [content for content in before if content in neighbours]
    if order != [content for content in contents if content in neighbours]:
        neighbours.clear()
    removed = group(set(removed_entries).intersection(version), content_of)
    rows_between = _between(contents, neighbours)
    for gap, values in _between(before, neighbours).items():
        entries = [entry for content in values for entry in removed.get(content, ())]
        yield entries, rows_between[gap]


def _between(
    contents: Sequence[PetValues], neighbours: Collection[PetValues]
) -> dict[int, set[PetValues]]:
    """Return the values of the other rows, by how many neighbours are before them."""
    values: dict[int, set[PetValues]] = defaultdict(set)
    neighbours_before = 0
    for content in contents:
        if content in neighbours:
            neighbours_before += 1
        else:
            values[neighbours_before].add(content)
    return values


def _gaps_of_copy(
    version: Sequence[Entry],
    removed_entries: Collection[Entry],
    contents: Sequence[PetValues],
) -> Iterator[Gap]:
    """
    Yield each row that is gone, and the values of the rows that the file has between
    the row just before it and the one just after it, where both are still there, or it
    was the first or the last.

    Args: As `_gaps`.
    """
    last = {content: position for position, content in enumerate(contents)}
    first = {contents[at]: at for at in reversed(range(len(contents)))}
    removed = {entry.content for entry in removed_entries}
    for index, entry in enumerate(version):
        if entry.content in removed:  # of equal rows, any may be gone
            before = [row.content for row in version[max(0, index - 1) : index]]
            after = [row.content for row in version[index + 1 : index + 2]]
            if last.keys() >= {*before, *after}:
                begin = first[before[0]] + 1 if before else 0
                end = last[after[0]] if after else len(contents)
                yield [entry], contents[begin:end]
