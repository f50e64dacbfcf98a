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

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal

from petstore_tools.importing.entries import (
    SENT,
    Entry,
    Matches,
    content_of,
    group,
    match,
)
from petstore_tools.importing.values import PetValues
from petstore_tools.text import first_of

Reason = Literal["equal", "the same name", "the same position", "the same row key"]
IS_EQUAL = "equal:"  # begins the detail of a row that was left out as equal
_FEW = 5  # rows that a doubt names


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
    equals: Mapping[int, Sequence[Entry]],
    other_sheets: Collection[Sequence[Entry]],
    has_ids: bool,
) -> dict[int, Doubt]:
    """
    Say which rows of a file are doubtful.

    Args:
        matches: The rows of the file.
        entries: Rows of this import, by their position in the sheet.
        equals: What equals a row, by its position (`equals_by_row`).
        other_sheets: Rows of each other import that sent a row whose name and category
            this file has.
        has_ids: The file says of rows which animals they are.

    Returns:
        The doubt of each doubtful row, by its position in `matches.rows`, in their
        order.
    """
    rows = matches.rows
    doubts = find_same_keys(matches) | find_equal(rows, entries, equals)
    if not (matches.missing or other_sheets):  # nothing that a row could be an edit of
        return dict(sorted(doubts.items()))
    is_begun = any(
        entry.state in SENT and not entry.detail.startswith(IS_EQUAL)
        for entry in entries
    )
    file = _File(rows, doubts.keys(), is_begun=is_begun)
    removed = [entry for entry in matches.missing if not (has_ids and entry.has_id)]
    doubts = _find_edits(file, entries, removed) | doubts
    for sheet in () if has_ids else other_sheets:
        missing = match(sheet, rows).missing
        doubts = _find_edits(file, sheet, missing, is_begun=is_begun) | doubts
    return dict(sorted(doubts.items()))


def find_same_keys(matches: Matches) -> dict[int, Doubt]:
    """
    The rows whose key was sent with another name, or by another import with another
    name or category.
    """
    return {
        position: Doubt(
            "the same row key",
            f"{namesake} has its key: {namesake.content}",
            namesake.is_open,
            namesake,
        )
        for position, namesake in matches.namesakes.items()
    }


def equals_by_row(
    rows: Sequence[Entry], candidates: Iterable[Entry]
) -> dict[int, list[Entry]]:
    """
    Return what equals each row that waits, by its position: a row without a status
    equals those of any, and none with another key; an animal counts once.

    Args:
        rows: Those of a file.
        candidates: Animals that a listing shows, then rows that other imports sent.
    """
    own_ids = {row.pet_id for row in rows if row.pet_id is not None}
    foreign = (entry for entry in candidates if entry.pet_id not in own_ids)
    by_name = group(foreign, lambda entry: entry.content[:2])
    equals = {}
    for position, row in enumerate(rows):
        by_animal: dict[int, Entry] = {}
        for candidate in by_name.get(row.content[:2], ()) if row.waits else ():
            is_counted = by_animal.keys() & candidate.possible_ids
            if not is_counted and _equals(candidate, row):
                by_animal[candidate.pet_id or -candidate.entry_id] = candidate
        if by_animal:
            equals[position] = [*by_animal.values()]
    return equals


def may_be(candidate: Entry, row: Entry) -> bool:
    """Say whether what has a row's name and category may be it: by their keys."""
    has_title = row.row_key and candidate.key_title == row.key_title
    return not has_title or candidate.row_key == row.row_key


def _equals(candidate: Entry, row: Entry) -> bool:
    """Say whether what has a row's name and category equals it."""
    statuses = {candidate.content.status, row.content.status}
    return may_be(candidate, row) and (len(statuses) == 1 or None in statuses)


def count_rows(equals: Iterable[Entry]) -> int:
    """Count the rows of other imports."""
    return sum(equal.entry_id > 0 for equal in equals)


def find_equal(
    rows: Sequence[Entry],
    entries: Iterable[Entry],
    equals: Mapping[int, Sequence[Entry]],
) -> dict[int, Doubt]:
    """
    Of rows with the same values, as many as there are animals and rows of other imports
    with these, less those that rows of this file were left out for; where a person
    answered for a row, less the rows that there were then.
    """
    left_out = Counter(
        entry.content
        for entry in entries
        if not entry.waits and entry.detail.startswith(IS_EQUAL)
    )
    doubts = {}
    by_content = group(equals, lambda position: rows[position].content)
    for content, positions in by_content.items():
        counts = {}
        for position in positions:
            row = rows[position]
            count = len(equals[position]) - left_out[content]
            if row.answered:
                count = count_rows(equals[position]) - row.equals
            counts[position] = count
        doubtful = [position for position in positions if counts[position] > 0]
        most = max(counts.values())
        numbers = [rows[position].number for position in doubtful]
        for position in doubtful[-most:]:
            doubts[position] = _equal_doubt(equals[position], most, numbers)
    return doubts


def _equal_doubt(equals: Sequence[Entry], most: int, numbers: Sequence[int]) -> Doubt:
    """Name an equal animal or row, and how many of which rows it may be."""
    example = max(equals, key=attrgetter("is_open", "entry_id"))
    because = f"{example} has the same values"
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
        is_begun: Whether one of them was sent; else each is new.

    Attributes:
        contents: The values of each row.
        unanswered: Positions of rows that wait, and for which nobody answered.
        new_rows: Of these, positions of new rows by their values: of equal rows nobody
            can tell which one is new.
        has_keys: Whether its rows have keys.
    """

    def __init__(
        self, rows: Sequence[Entry], doubtful: Collection[int], *, is_begun: bool
    ) -> None:
        self.contents = [row.content for row in rows]
        self.has_keys = any(row.row_key for row in rows)
        self.unanswered = [
            position
            for position, row in enumerate(rows)
            if row.waits and not row.answered and position not in doubtful
        ]
        new_contents = {
            row.content for row in rows if row.waits and not (is_begun and row.entry_id)
        }
        self.new_rows = group(
            (p for p in self.unanswered if self.contents[p] in new_contents),
            self.contents.__getitem__,
        )


def _versions(sheet: Iterable[Entry]) -> list[list[Entry]]:
    """
    Return the rows of an import in the order of its last version that was no part of
    one before, and in that of its last run.
    """
    whole = [entry for entry in sheet if entry.position is not None]
    last_run = [entry for entry in sheet if entry.present]
    return [sorted(whole, key=attrgetter("position")), last_run]


def _find_edits(
    file: _File,
    sheet: Sequence[Entry],
    missing: Iterable[Entry],
    *,
    is_begun: bool | None = None,
) -> dict[int, Doubt]:
    """
    Return the rows that may be edits of rows that an import sent, and that are gone.

    Args:
        file: What is compared.
        sheet: The rows of the import, by their position in the sheet.
        missing: Those that the file does not have.
        is_begun: Whether a row of the file was sent, None where the import is its own.
    """
    removed = [
        entry
        for entry in missing
        if entry.state in SENT and not (file.has_keys and entry.row_key)
    ]
    if not removed:
        return {}
    is_copy = is_begun is not None
    width = 2 if is_copy else 1  # of another import, the category counts, too
    doubts = find_same_names(file, removed, width)
    for version in () if is_begun else _versions(sheet):
        gaps = _gaps(version, removed, file.contents, is_copy=is_copy)
        doubts |= find_same_positions(file, gaps, width) | doubts
    return doubts


def find_same_names(
    file: _File, removed: Iterable[Entry], width: int
) -> dict[int, Doubt]:
    """
    The rows that bear the name of a row that was sent and is in the file no more.

    Args:
        file: What is compared.
        removed: Rows that were sent, and are gone.
        width: How many values are the name: 1, or 2 with the category.
    """
    names = {entry.content[:width]: entry for entry in removed}
    return {
        position: _edit("the same name", namesake)
        for position in file.unanswered
        if (namesake := names.get(file.contents[position][:width]))
    }


def _edit(reason: Reason, entry: Entry) -> Doubt:
    """Say that a row may be an edit of one that was sent."""
    return Doubt(reason, f"{entry} was {entry.content}")


Gap = tuple[Sequence[Entry], Iterable[PetValues]]


def find_same_positions(
    file: _File, gaps: Iterable[Gap], width: int
) -> dict[int, Doubt]:
    """
    The new rows that stand where a row that was sent is gone, where fewer of them bear
    its name than rows of that name are gone there.

    Args:
        file: What is compared.
        gaps: Rows that are gone, and the values of the rows that are there now.
        width: As in `find_same_names`.
    """
    doubts: dict[int, Doubt] = {}
    for removed, contents in gaps:
        positions = [p for content in contents for p in file.new_rows[content]]
        names = Counter(entry.content[:width] for entry in removed)
        names -= Counter(file.contents[position][:width] for position in positions)
        renamed = [entry for entry in removed if entry.content[:width] in names]
        renamed.sort(key=attrgetter("number"))  # the same in each run
        for index, position in enumerate(sorted(positions) if renamed else ()):
            entry = renamed[min(index, len(renamed) - 1)]
            doubts.setdefault(position, _edit("the same position", entry))
    return doubts


def _gaps(
    version: Sequence[Entry],
    removed: Iterable[Entry],
    contents: Sequence[PetValues],
    *,
    is_copy: bool,
) -> Iterator[Gap]:
    """
    Yield the rows that are gone between two neighbours, and the values of the rows that
    the file has between them.

    Neighbours are rows that are still there, and that equal no row which came or went.
    Where their order changed, there is one gap: the whole file. A copy has only gaps of
    one row, between the rows just before and after it, and in the order of its list.

    Args:
        version: Rows of an import, in the order of one of its versions.
        removed: Those that are gone.
        contents: The values of each row of the file.
        is_copy: They are rows of another import.
    """
    before = [entry.content for entry in version]
    counts = Counter(before)
    counts_in_file = Counter(contents)
    neighbours = {
        content for content in counts if counts[content] == counts_in_file[content]
    }
    order = [content for content in before if content in neighbours]
    if order != [content for content in contents if content in neighbours]:
        if is_copy:
            return
        neighbours.clear()
    by_content = group(removed, content_of)
    rows_between = _between(contents, neighbours)
    for gap, values in _between(before, neighbours).items():
        removed_contents = values & by_content.keys()
        if not is_copy or len(removed_contents) == 1:
            entries = [e for content in removed_contents for e in by_content[content]]
            yield entries, rows_between[gap]


def _between(
    contents: Sequence[PetValues], neighbours: Collection[PetValues]
) -> dict[int, set[PetValues]]:
    """Return the values of the other rows, by how many neighbours are before them."""
    values = defaultdict(set)
    neighbours_before = 0
    for content in contents:
        if content in neighbours:
            neighbours_before += 1
        else:
            values[neighbours_before].add(content)
    return values
