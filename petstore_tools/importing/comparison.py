"""
A file beside the journal, and beside the listing that this holds: which rows are known,
edited or doubtful, and what a person said about these.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter, itemgetter
from typing import NamedTuple

from petstore_tools import spec
from petstore_tools.importing.doubtful import (
    Doubt,
    count_rows,
    equals_by_row,
    find_doubtful,
)
from petstore_tools.importing.entries import (
    SENT,
    Entry,
    group,
    match,
    take_over,
)
from petstore_tools.importing.identity import (
    read_animals,
    refuse_ids,
    settle_rejects,
    take_title,
)
from petstore_tools.importing.journal import IS_OURS, ROWS_LIKE, WITH_KEYS, Journal
from petstore_tools.importing.options import Doubtful
from petstore_tools.importing.read_sheet import ReadSheet
from petstore_tools.importing.values import PetValues, Row

# animals of the last listing that share name and category with the file, each with its
# key
_ANIMALS_LIKE = f"""
SELECT a.name, a.category_id, a.status, a.id, ifnull(row.row_key, '')
FROM temp.animal a
LEFT JOIN row ON row.pet_id = a.id
WHERE (a.name, a.category_id) IN (SELECT name, category_id FROM temp.file)
AND NOT {IS_OURS.format("a.id")}
"""
# rows of other imports that sent one whose name and category the file has, too
_OF_SHARING_IMPORTS = """
import IN (
    SELECT import FROM temp.file JOIN row USING (name, category_id)
    WHERE import != :id AND NOT waits
)
"""


class Edit(NamedTuple):
    """
    A row whose animal is known by its id or its key, with other values.

    Attributes:
        row: As the spreadsheet counts, or the label.
        pet_id: Id of its animal, where that is known.
        changes: Each field with the value of the animal and that of the row.
    """

    row: int
    pet_id: int | None
    changes: str

    def __str__(self) -> str:
        animal = "" if self.pet_id is None else f" (id {self.pet_id})"
        return f"row {self.row}{animal}: {self.changes}"


@dataclass(frozen=True)
class Comparison:
    """
    What the journal, and the listing that it holds, say of the rows of a file.

    Attributes:
        entries: Rows of this import, before the run.
        rows: Those of the file, as the journal knows them.
        doubts: Why rows are doubtful, by their position in `rows`.
        edits: Rows whose animal has other values.
        removed: Rows that count as sent, and that the file does not hold any more.
        duplicates: Numbers of rows that equal an earlier one.
        dropped: How many of these are left out, as asked.
    """

    entries: Sequence[Entry]
    rows: Sequence[Entry]
    doubts: Mapping[int, Doubt]
    edits: tuple[Edit, ...] = ()
    removed: int = 0
    duplicates: tuple[int, ...] = ()
    dropped: int = 0

    @property
    def waiting(self) -> list[Entry]:
        """Rows that were not sent."""
        return [row for row in self.rows if row.waits]

    @cached_property
    def states(self) -> Counter[str]:
        """How many rows were created, skipped, or are unknown."""
        return Counter(row.state for row in self.rows if not row.waits)

    @property
    def sent(self) -> int:
        """Rows that count as sent already by this import."""
        return sum(not entry.waits for entry in self.entries)

    @property
    def needs_listing(self) -> bool:
        """Whether no listing was compared with a row, or a row is unknown."""
        is_new = any(not row.compared for row in self.rows if row.waits or row.has_id)
        return is_new or any(entry.state == "unknown" for entry in self.entries)

    def with_answers(self, answers: Mapping[int, Doubtful]) -> list[Entry]:
        """
        Return the rows as they are added to the journal.

        Args:
            answers: For each doubtful row, `send` or `skip`; a row is left out for good
                where it equals something that is known to exist.
        """
        return [
            _answer(row, self.doubts.get(position), answers.get(position, "send"))
            for position, row in enumerate(self.rows)
        ]


def _answer(row: Entry, doubt: Doubt | None, answer: Doubtful) -> Entry:
    """Return a row with the answer to its doubt."""
    if not row.waits:
        return row
    if doubt is None:
        return row._replace(state="unsent", detail="")
    if answer == "send":
        return row._replace(state="unsent", answered=True, detail=str(doubt))
    if doubt.namesake:
        name = row.content.name
        if doubt.namesake.import_id == row.import_id:
            return doubt.namesake._replace(number=row.number, alias=name)
        if not doubt.is_open:
            return take_over(row, doubt.namesake)._replace(alias=name)
    return row._replace(state="skipped", answered=not doubt.is_open, detail=str(doubt))


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
        The sheet, in which rows whose id is no animal's have a problem, and those that
        were corrected in a rejects file their animal; and the comparison.

    Raises:
        SheetError: Its keys are not those that the rows of this import had.
    """
    entries = journal.read()
    # before rows get ids that the file does not say
    sheet = refuse_ids(journal, sheet, entries, complete=complete)
    has_ids = any(row.pet_id for row in sheet.rows_to_send)
    sheet = settle_rejects(journal, sheet)
    rows = _entries(journal, sheet)
    entries = take_title(sheet, entries, rows)
    repeats = _find_repeats(rows)
    dropped = set()
    if sheet.options.drop_duplicates:
        matched_rows = match(entries, rows).rows
        dropped = {
            rows[position].number
            for position in repeats
            if rows[position].row_key or matched_rows[position].waits
        }
    kept_rows = [row for row in rows if row.number not in dropped]
    comparison = replace(
        _compare_rows(journal, entries, kept_rows, has_ids=has_ids),
        duplicates=tuple(rows[position].number for position in repeats),
        dropped=len(dropped),
    )
    distinct_rows = [row for row in sheet.rows if row.number not in dropped]
    return replace(sheet, rows=distinct_rows), comparison


def _compare_rows(
    journal: Journal, entries: Sequence[Entry], rows: Sequence[Entry], *, has_ids: bool
) -> Comparison:
    """
    Compare the rows of a file with the journal, and with the listing that it holds.

    Args:
        journal: The imports to its place.
        entries: The rows of this import.
        rows: Those of the file.
        has_ids: It says of rows which animals they are.
    """
    journal.take_file(rows)
    keys = "SELECT row_key FROM temp.file"
    foreign = sorted(journal.read(WITH_KEYS.format(keys)), key=attrgetter("entry_id"))
    matches = match(entries, rows, {entry.row_key: entry for entry in foreign})
    like = candidates(journal)
    journal.compared_ids = {entry.entry_id for entry in (*foreign, *like)}
    equals = equals_by_row(matches.rows, like)
    sharing = group(journal.read(_OF_SHARING_IMPORTS), attrgetter("import_id"))
    doubts = find_doubtful(
        matches,
        entries,
        equals=equals,
        other_sheets=sharing.values(),
        has_ids=has_ids,
    )
    known_rows, edits = find_edits(journal, rows, matches.rows)
    for position, equal in equals.items():
        if position in doubts:
            row = known_rows[position]
            known_rows[position] = row._replace(equals=count_rows(equal))
    removed = sum(entry.state in SENT for entry in matches.missing)
    return Comparison(entries, known_rows, doubts, tuple(edits), removed)


def _entries(journal: Journal, sheet: ReadSheet) -> list[Entry]:
    """
    Return the rows of a file that the journal may not have; one with an id is made.
    """
    title = sheet.layout.key_title or journal.id
    label = journal.target.label
    entries = []
    for row in sheet.rows_to_send:
        row_key = f"{title}\n{row.row_key}" if row.row_key else ""
        facts = (row.content, row.number, row_key)
        entry = Entry(0, journal.id, label, *facts, reject_of=row.reject_of)
        if row.pet_id is not None:
            entry = entry._replace(
                waits=False, state="created", pet_id=row.pet_id, has_id=True
            )
        entries.append(entry)
    return entries


def _find_repeats(rows: Sequence[Entry]) -> list[int]:
    """Return the positions of rows that equal an earlier one, with their keys."""
    first: dict[object, int] = {}
    repeats = []
    for position, row in enumerate(rows):
        same = (row.content, row.row_key) if row.row_key else row.content
        if first.setdefault(same, position) != position and not row.has_id:
            repeats.append(position)
    return repeats


def candidates(journal: Journal) -> list[Entry]:
    """
    Return animals of the last listing, and rows of other imports, that share name and
    category with a row of the file, and are not this import's.
    """
    with journal.reading() as db:
        animals = db.execute(_ANIMALS_LIKE, {"id": journal.id})
        like = [
            Entry(0, "", "", PetValues(*content), 0, row_key, pet_id=pet_id)
            for *content, pet_id, row_key in animals
        ]
        names = "SELECT name, category_id FROM temp.file"
        return like + journal.read(ROWS_LIKE.format(names))


def find_edits(
    journal: Journal, rows: Sequence[Row | Entry], entries: Sequence[Entry]
) -> tuple[list[Entry], list[Edit]]:
    """
    Return the entries of the rows of a file, new ones with the values that their animal
    has, and the rows whose values differ from what was sent and from what their animal
    has.
    """
    known_entries = [*entries]
    positions = [position for position, entry in enumerate(entries) if not entry.waits]
    animals = read_animals(journal, {entries[p].pet_id for p in positions})
    edits = []
    for position in positions:
        row, entry = rows[position], entries[position]
        animal = animals.get(entry.pet_id or 0, entry.content)
        if row.pet_id and not entry.entry_id:
            known_entries[position] = entry = entry._replace(content=animal)
        changes = [
            f"{field} {'empty' if old is None else repr(old)} → {value!r}"
            for field, value, old, sent in zip(
                spec.NEW_PET_FIELDS, row.content, animal, entry.content, strict=True
            )
            if value not in (None, old, sent)
        ]
        if changes:
            edits.append(Edit(row.number, entry.pet_id, ", ".join(changes)))
    return known_entries, edits


def answer(
    journal: Journal, comparison: Comparison, doubtful: Doubtful
) -> dict[int, Doubtful]:
    """
    Answer for doubtful rows, and keep which of them a person is shown.

    An answer is for the rows that were shown before, for that reason; where none were,
    for all. A row keeps its answer.

    Args:
        journal: Of the import.
        comparison: The file.
        doubtful: What a person says.

    Returns:
        The answer for each doubtful row, by its position; `ask` where there is none
        yet.
    """
    answers: dict[int, Doubtful] = {}
    question = []  # the rows as they are shown, each with its answer
    with journal.transaction() as db:
        questions = "SELECT question FROM import WHERE id = ?"
        (text,) = db.execute(questions, (journal.id,)).fetchone() or (None,)
        earlier = group(json.loads(text or "[]"), itemgetter(0))
        is_first = not earlier
        for position, doubt in comparison.doubts.items():
            row = repr((*comparison.rows[position].content, str(doubt)))
            equal_rows = earlier[row]  # each has an answer of its own
            is_shown = is_first or bool(equal_rows)
            kept_answer: Doubtful = equal_rows.pop(0)[1] if equal_rows else "ask"
            if is_shown and kept_answer == "ask":
                kept_answer = doubtful
            answers[position] = kept_answer
            question.append((row, kept_answer))
        journal.add_import(question=json.dumps(question))
    return answers
