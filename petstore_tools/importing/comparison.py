"""
A file beside the journal, and beside the listing that this holds: which rows are known,
edited or doubtful, and what a person said about these.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
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
from petstore_tools.importing.read_sheet import ReadSheet, read_layout
from petstore_tools.importing.reconcile import similarity_key
from petstore_tools.importing.rows import add_problem
from petstore_tools.importing.values import (
    DUPLICATE,
    ID_TITLE,
    PetValues,
    RowLeftOut,
)
from petstore_tools.tabular.cells import Problem


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
        ids: How many ids the file has.
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
        is_sure = doubt.reason == "equal" and not doubt.has_namesakes
        equal_id = may_be.pet_id if is_sure else None
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
    if complete and sheet.layout.id_column is not None:
        sheet = _take_export(journal, sheet)
    ids = {row.pet_id for row in sheet.rows_to_send if row.has_id}
    if ids and complete:
        sheet = _refuse_ids(journal, sheet, entries)
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
    known_rows, edits = find_edits(journal, rows, matches.rows, entries)
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
    """
    earlier_edits = {entry.entry_id: entry.edited for entry in earlier_entries}
    listed_animals = journal.read_animals(e.pet_id for e in entries if not e.waits)
    animals = {pet.pet_id: pet.content for pet in listed_animals}
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


def _take_export(journal: Journal, sheet: ReadSheet) -> ReadSheet:
    """
    Take the column `id` of a saved listing for the ids of the animals, if at least half
    of these ids are animals with these names.
    """
    export = read_layout(replace(sheet.layout, is_export=True))
    animals = {
        animal.pet_id: _name_of(animal.content)
        for animal in journal.read_animals(row.pet_id for row in export.rows)
    }
    rows = [row for row in export.rows_to_send if row.has_id]
    known = sum(animals.get(row.pet_id) == _name_of(row.content) for row in rows)
    return export if 2 * known >= len(rows) > 0 else sheet


def _refuse_ids(
    journal: Journal, sheet: ReadSheet, entries: Iterable[Entry]
) -> ReadSheet:
    """
    Give a problem to each row whose id is not accepted.

    An id is accepted if the last version of the list had it, and the row still has the
    name or the category of the animal; or if the inventory has an animal with this id
    and this name. It is not accepted if the row bears the last name of another row that
    lost its name: someone sorted the names without the ids.
    """
    rows = [row for row in sheet.rows_to_send if row.has_id]
    names = {row.pet_id: _name_of(row.content) for row in rows}
    last_rows: dict[int | None, Entry] = {
        entry.animal_id: entry
        for entry in entries
        if entry.animal_id is not None and entry.is_in_version
    }
    listed_animals = journal.read_animals(names)
    animals: dict[int | None, Entry] = {
        animal.pet_id: animal for animal in listed_animals
    }
    last_names = {
        pet_id: _name_of(entry.edited or entry.content)
        for pet_id, entry in last_rows.items()
    }
    lost_names = {
        name for pet_id, name in last_names.items() if names.get(pet_id) != name
    }

    def is_accepted(row: Entry) -> bool:
        pet_id = row.pet_id
        name = _name_of(row.content)
        if pet_id in animals and _name_of(animals[pet_id].content) == name:
            return True
        if pet_id not in last_rows or name in lost_names:
            return False
        contents = [last_rows[pet_id].content]
        contents += [animals[pet_id].content] if pet_id in animals else []
        return any(
            name == _name_of(content) or row.content.category_id == content.category_id
            for content in contents
        )

    refused = {row.number for row in rows if not is_accepted(row)}
    known_animals = {**last_rows, **animals}
    checked_rows = [
        add_problem(row, ID_TITLE, _id_problem(row, known_animals), sheet.layout)
        if row.number in refused
        else row
        for row in sheet.rows
    ]
    return replace(sheet, rows=checked_rows)


def _name_of(content: PetValues) -> str:
    """Return the name as it is compared."""
    return similarity_key(content)[0]


def _id_problem(row: Entry, animals: Mapping[int | None, Entry]) -> Problem:
    """Say whose id a row has, and what may have happened."""
    animal = animals.get(row.pet_id)
    owner = "no animal that exists" if animal is None else str(animal.content)
    return Problem(
        f"is the id of {owner}, and this row is {row.content.name!r}",
        "if the name was changed, put it back, because the service cannot rename an"
        " animal; if the ids were sorted or filled down on their own, undo that; if it"
        " is a new animal, empty its petstore_id; if the animal has left the shop,"
        " remove its row",
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
