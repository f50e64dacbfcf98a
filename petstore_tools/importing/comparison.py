"""
A file beside the journal, and beside the listing that this holds: which rows are known,
edited or doubtful, and what a person said about these.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

from petstore_tools import spec
from petstore_tools.importing.entries import (
    Doubt,
    Entry,
    find_doubtful,
    match,
    merge,
    take_over,
)
from petstore_tools.importing.journal import Journal
from petstore_tools.importing.options import Doubtful
from petstore_tools.importing.read_sheet import ReadSheet
from petstore_tools.importing.reconcile import similarity_key
from petstore_tools.importing.rows import add_problem
from petstore_tools.importing.values import DUPLICATE, RowLeftOut
from petstore_tools.tabular.cells import Problem

# rows of all imports that have, or name, one of some animals
_WITH_IDS = """
ifnull(ifnull(pet_id, listed_id), equal_id) IN (SELECT value FROM json_each(:ids))
"""


class Edit(NamedTuple):
    """
    A row whose animal is known by its id or its key, with other values.

    Attributes:
        row: As the spreadsheet counts, or the label.
        pet_id: Id of its animal, where that is known.
        changes: Each field with the value of the animal and that of the row.
        is_new: Whether the last run did not tell it.
    """

    row: int
    pet_id: int | None
    changes: str
    is_new: bool

    def __str__(self) -> str:
        animal = "" if self.pet_id is None else f" (id {self.pet_id})"
        return f"row {self.row}{animal}: {self.changes}"


@dataclass(frozen=True)
class Comparison:
    """
    What the journal, and the listing that it holds, say of the rows of a file.

    Attributes:
        import_id: Name of the import.
        entries: Rows of this import, before the run.
        rows: Those of the file, as the journal knows them.
        doubts: Why rows are doubtful, by their position in `rows`.
        edits: Rows whose animal has other values.
        removed: Rows that count as sent, and that the file does not hold any more.
        duplicates: Numbers of rows that equal an earlier one.
        ids: How many ids the file has; `refused_ids` are other animals', and this
            import never had them.
        orphans: Rows whose animal the inventory does not have any more.
    """

    import_id: str
    entries: Sequence[Entry]
    rows: Sequence[Entry]
    doubts: Mapping[int, Doubt]
    edits: Sequence[Edit]
    removed: int
    duplicates: Sequence[int]
    ids: int
    refused_ids: int
    orphans: Sequence[Entry]

    @property
    def waiting(self) -> list[Entry]:
        """Rows that were not sent."""
        return [row for row in self.rows if row.waits]

    @cached_property
    def states(self) -> Counter[str]:
        """How many rows were created, skipped, or are unknown."""
        return Counter(row.state for row in self.rows if not row.waits)

    @property
    def needs_listing(self) -> bool:
        """Whether no listing was compared with a row, or a row is unknown."""
        is_new = any(not row.compared for row in self.rows if row.waits or row.has_id)
        return is_new or any(entry.state == "unknown" for entry in self.entries)

    @property
    def question(self) -> list[str]:
        """
        The doubtful rows, each with its doubt: an answer is for these, also when the
        other row goes on its way meanwhile.
        """
        return [
            json.dumps(
                (
                    self.rows[position].content,
                    doubt.reason,
                    doubt.entry.file,
                    doubt.entry.content,
                )
            )
            for position, doubt in self.doubts.items()
        ]

    def with_answer(self, answer: Doubtful) -> list[Entry]:
        """
        Return the rows as they are added to the journal.

        Args:
            answer: What happens to doubtful rows: `send` or `skip`.
        """
        return [
            self._answer(row, self.doubts.get(position), answer)
            for position, row in enumerate(self.rows)
        ]

    @cached_property
    def _known_ids(self) -> set[int]:
        """Rows that were sent, and that a row of the file is."""
        return {row.entry_id for row in self.rows}

    @cached_property
    def _equal_ids(self) -> set[int]:
        """Rows that were sent, and that a doubtful row equals."""
        doubts = self.doubts.values()
        return {doubt.entry.entry_id for doubt in doubts if doubt.reason == "equal"}

    def may_be_renamed(self, doubt: Doubt) -> bool:
        """Say whether a row may be the one with its key: no other row equals that."""
        has_key = doubt.reason == "the same row key"
        return has_key and doubt.entry.entry_id not in self._equal_ids

    def _answer(self, row: Entry, doubt: Doubt | None, answer: Doubtful) -> Entry:
        if not row.waits:
            return row
        if doubt is None or answer == "send":
            return row._replace(state="unsent", detail="")
        may_be = doubt.entry
        is_ours = may_be.import_id == self.import_id
        is_renamed = self.may_be_renamed(doubt)
        if is_renamed and not is_ours and not may_be.is_open:
            return take_over(row, may_be)
        is_respelt = (
            doubt.reason == "equal"
            and row.row_key
            and may_be.entry_id not in self._known_ids
        )
        if is_ours and (is_renamed or is_respelt):
            detail = may_be.detail if may_be.state == "skipped" else str(doubt)
            return merge(may_be, row)._replace(detail=detail)
        equal_id = may_be.pet_id if doubt.reason == "equal" else None
        return row._replace(state="skipped", detail=str(doubt), equal_id=equal_id)


def compare(
    journal: Journal, sheet: ReadSheet, *, complete: bool = False
) -> tuple[ReadSheet, Comparison]:
    """
    Compare a file with the journal, and with the listing that it holds.

    Args:
        journal: The imports to its place.
        sheet: The file.
        complete: The journal holds a complete listing, which shows every animal.

    Returns:
        The sheet, in which rows whose id is another animal's have a problem; and the
        comparison.
    """
    entries = journal.read()
    ids = {row.pet_id for row in sheet.rows_to_send if row.has_id}
    refused_ids = 0
    if ids and complete:
        sheet, refused_ids = _refuse_ids(journal, sheet, entries)
    rows = sheet.rows_to_send
    duplicates = _find_duplicates(rows)
    dropped = set()
    if sheet.options.drop_duplicates and duplicates:
        matched_rows = match(entries, rows).rows
        dropped = {*duplicates} - {
            row.number
            for row, matched_row in zip(rows, matched_rows, strict=True)
            if not matched_row.waits
        }
        sheet = replace(
            sheet,
            rows=[row for row in sheet.rows if row.number not in dropped],
            rows_left_out=[
                *sheet.rows_left_out,
                *(RowLeftOut(number, DUPLICATE) for number in sorted(dropped)),
            ],
        )
        rows = sheet.rows_to_send
    other_entries = journal.read_others(rows)
    matches = match(entries, rows, other_entries)
    animals = journal.read_foreign_animals(matches.rows)
    doubts = find_doubtful(matches, entries, animals, other_entries)
    known_animals: list[Entry] = []
    if ids and not complete:
        new_ids = [row.pet_id for row in matches.rows if not row.entry_id]
        known_animals = journal.read(_WITH_IDS, ids=json.dumps(new_ids))
    known_rows, edits = find_edits(
        journal, rows, matches.rows, entries, known_animals=known_animals
    )
    orphans: list[Entry] = []
    if complete:
        with_ids = [row for row in rows if row.has_id]
        listed_animals = journal.read_animals(row.pet_id for row in with_ids)
        listed_ids = {animal.pet_id for animal in listed_animals}
        orphans = [row for row in with_ids if row.pet_id not in listed_ids]
    return sheet, Comparison(
        journal.id,
        entries,
        known_rows,
        doubts,
        edits=edits,
        removed=len(matches.missing),
        duplicates=duplicates,
        ids=len(ids),
        refused_ids=refused_ids,
        orphans=orphans,
    )


def _find_duplicates(rows: Iterable[Entry]) -> list[int]:
    """Return the numbers of rows that equal an earlier one; none has id or key."""
    earlier_contents = set()
    numbers = []
    for row in rows:
        is_own = row.has_id or row.row_key
        if row.content in earlier_contents and not is_own:
            numbers.append(row.number)
        earlier_contents.add(row.content)
    return numbers


def find_edits(
    journal: Journal,
    rows: Sequence[Entry],
    entries: Sequence[Entry],
    earlier_entries: Iterable[Entry],
    *,
    known_animals: Iterable[Entry] = (),
) -> tuple[list[Entry], list[Edit]]:
    """
    Return what the journal knows of the rows of a file, new rows with the values that
    their animal has; and the rows whose values differ from what was sent and from what
    their animal has.

    Args:
        journal: It may hold a listing.
        rows: As the file has them.
        entries: As the journal has them.
        earlier_entries: Rows of the import before this run.
        known_animals: Rows of the place that have the animals of new rows, for those
            that the listing does not show.
    """
    earlier_edits = {entry.entry_id: entry.edited for entry in earlier_entries}
    listed_animals = journal.read_animals(e.pet_id for e in entries if not e.waits)
    # the row that came last knows best
    in_order = sorted(known_animals, key=attrgetter("entry_id"))
    animals = {pet.pet_id: pet.content for pet in (*in_order, *listed_animals)}
    known_entries = [*entries]
    edits = []
    for position, (row, entry) in enumerate(zip(rows, entries, strict=True)):
        if entry.waits:
            continue
        animal = animals.get(entry.pet_id, entry.content)
        if row.has_id and not entry.entry_id:
            entry = entry._replace(content=animal)
        edited = None if row.content == entry.content else row.content
        known_entries[position] = entry._replace(edited=edited)
        changes = [
            f"{field} {'empty' if old is None else repr(old)} → {value!r}"
            for field, value, old, sent in zip(
                spec.NEW_PET_FIELDS, row.content, animal, entry.content, strict=True
            )
            if value not in (None, old, sent)
        ]
        if changes:
            is_new = earlier_edits.get(entry.entry_id) != edited
            edits.append(Edit(row.number, entry.pet_id, ", ".join(changes), is_new))
    return known_entries, edits


def _refuse_ids(
    journal: Journal, sheet: ReadSheet, entries: Iterable[Entry]
) -> tuple[ReadSheet, int]:
    """
    Give a problem to each row whose id is another animal's, and count the ids that this
    import never had.

    An id is accepted where its animal, or a row that had it here, bears the row's name,
    or where this import had it before. Where most ids are, so is that of a row
    that this place made and that was renamed; never where another animal, which no row
    names, has the row's name and category.
    """
    rows = [row for row in sheet.rows_to_send if row.has_id]
    ids = {row.pet_id for row in rows}
    own_ids = {entry.pet_id for entry in entries}
    animals = {animal.pet_id: animal for animal in journal.read_animals(ids)}
    entries_with_ids = journal.read(_WITH_IDS, ids=json.dumps([*ids]))
    made_ids = {entry.pet_id for entry in entries_with_ids if not entry.has_id}
    names = {
        (entry.animal_id, similarity_key(content)[0])
        for entry in (*entries_with_ids, *animals.values())
        for content in (entry.content, entry.edited or entry.content)
    }
    unnamed = [
        row for row in rows if (row.pet_id, similarity_key(row.content)[0]) not in names
    ]
    named_ids = ids - {row.pet_id for row in unnamed}
    free_names = {
        animal.name_and_category
        for animal in journal.read_animals_named(unnamed)
        if animal.pet_id not in named_ids
    }
    foreign_ids = {row.pet_id for row in unnamed} - own_ids
    renamed_ids = own_ids
    if 2 * len(foreign_ids) < len(ids):
        renamed_ids = own_ids | made_ids
    refused = {
        row.number: row.pet_id
        for row in unnamed
        if row.name_and_category in free_names or row.pet_id not in renamed_ids
    }
    checked_rows = [
        add_problem(row, "petstore_id", _id_problem(row, animals), sheet.layout)
        if row.number in refused
        else row
        for row in sheet.rows
    ]
    return replace(sheet, rows=checked_rows), len({*refused.values()} - own_ids)


def _id_problem(row: Entry, animals: Mapping[int | None, Entry]) -> Problem:
    """Say whose id a row has."""
    animal = animals.get(row.pet_id)
    if animal is None:
        return Problem("is the id of no animal that exists", "delete the row")
    return Problem(
        f"is the id of {animal.content}, and not of {row.content.name!r}",
        "put the name of the animal back, or correct the id; delete the id of a new"
        " animal",
    )


def answer(journal: Journal, comparison: Comparison, doubtful: Doubtful) -> Doubtful:
    """
    Answer for the doubtful rows, and keep which of them a person is shown; in a
    transaction.

    An answer is for the rows that were shown, and is kept. Where others are doubtful,
    all are asked about again; where nothing waits for an answer, it is for all.

    Args:
        journal: Of the import.
        comparison: The file.
        doubtful: What a person says.

    Returns:
        The answer; `ask` where there is none yet.
    """
    question = comparison.question
    kept_answer, shown_rows = journal.read_question()
    are_shown = not Counter(question) - Counter(shown_rows)
    is_open = bool(shown_rows) and kept_answer == "ask"
    # a row that came since was not shown, though it reads like one that was
    are_known = all(comparison.rows[index].entry_id for index in comparison.doubts)
    said = doubtful
    if doubtful == "ask" and are_shown and are_known:
        said = kept_answer
    if is_open and not are_shown:
        said = "ask"
    journal.note_question(said, question)
    return said
