"""
Rows that something else than their values tells: the id of their animal, a key of the
user's own, or a rejects file in which they were corrected.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

from petstore_tools import spec
from petstore_tools.errors import SheetError
from petstore_tools.importing.entries import Entry, content_of, group
from petstore_tools.importing.imports import digest
from petstore_tools.importing.journal import Journal
from petstore_tools.importing.read_sheet import ReadSheet
from petstore_tools.importing.rows import add_problem
from petstore_tools.importing.values import PetValues, Row
from petstore_tools.tabular.cells import Problem
from petstore_tools.text import option

# rows that were made of rejects files of this import, and of the rejects of these
_CORRECTED = """
state = 'created' AND import IN (
    WITH RECURSIVE source (id) AS (
        VALUES (:id) UNION SELECT import.id FROM source
        JOIN reject ON reject.import = source.id JOIN import USING (path)
    )
    SELECT id FROM source WHERE id != :id
)
"""
_ANIMALS = """
SELECT id, name, category_id, status FROM temp.animal
WHERE id IN (SELECT value FROM json_each(?))
"""


def read_animals(
    journal: Journal, pet_ids: Iterable[int | None]
) -> dict[int, PetValues]:
    """Return what the last listing shows of some animals, by id."""
    with journal.reading() as db:
        animals = db.execute(_ANIMALS, (json.dumps([*pet_ids]),))
        return {pet_id: PetValues(*content) for pet_id, *content in animals}


def take_title(
    sheet: ReadSheet, entries: list[Entry], rows: Sequence[Entry]
) -> list[Entry]:
    """
    Return the rows of an import with their keys under the title of the file's.

    Raises:
        SheetError: The file has no keys and the import has, or keys under another title
            that differ from those of the rows that equal them.
    """
    keyed = [entry for entry in entries if entry.row_key]
    if not (keyed and rows):
        return entries
    title = rows[0].key_title
    earlier = [entry for entry in keyed if entry.key_title != title]
    by_content = group(earlier, content_of)
    for row in rows:
        keys = {entry.key for entry in by_content[row.content]}
        if not row.row_key or (keys and row.key not in keys):
            has_title = keyed[0].key_title != keyed[0].import_id
            row_key = option("row_key", keyed[0].key_title if has_title else "…")
            raise SheetError(
                f"the row keys of {sheet.file} are not those that its rows had (row"
                f" {row.number}): give {row_key} again, or the column that has the same"
                f" keys now; for another list, {option('name', '…')}"
            )
    return [
        entry._replace(row_key=f"{title}\n{entry.key}") if entry.row_key else entry
        for entry in entries
    ]


def refuse_ids(
    journal: Journal, sheet: ReadSheet, entries: Iterable[Entry], *, complete: bool
) -> ReadSheet:
    """
    Give a problem to each row whose id no animal has, or one of another name and
    category: as a complete listing shows it, or as it was when one was compared.
    """
    pet_ids = {row.pet_id for row in sheet.rows_to_send} - {None}
    if not pet_ids:
        return sheet
    animals: dict[int | None, PetValues | None] = {}
    if complete:
        animals |= dict.fromkeys(pet_ids)
        animals.update(read_animals(journal, pet_ids).items())
    animals.update((e.pet_id, e.content) for e in entries if e.compared)
    help_ = "correct it, or empty the cell to send the row as a new animal"
    rows = [*sheet.rows]
    for index, row in enumerate(rows):
        rule = ""
        if row.pet_id and row.pet_id in animals and not row.problems:
            rule = _foreign_id(row.content, animals[row.pet_id])
        if rule:
            problem = Problem(rule, help_)
            rows[index] = add_problem(row, "petstore_id", problem, sheet.layout)
    return replace(sheet, rows=rows)


def _foreign_id(content: PetValues, animal: PetValues | None) -> str:
    """Say why an id is not that of a row, "" where it is."""
    if animal is None:
        return "is the id of no animal"
    if animal.name != content.name and animal.category_id != content.category_id:
        return f"is the id of another animal ({animal})"
    return ""


def settle_rejects(journal: Journal, sheet: ReadSheet) -> ReadSheet:
    """
    Give each row that was rejected, and made from a rejects file of this import, its
    animal: by its key, or by its number where it still has the cells that were
    rejected.
    """
    corrected = [entry for entry in journal.read(_CORRECTED) if entry.pet_id]
    if not corrected:
        return sheet
    columns = sheet.layout.columns
    by_number = {entry.reject_of: entry for entry in corrected}
    by_key = {entry.key: entry for entry in corrected if entry.row_key}
    with journal.reading() as db:
        rejects = "SELECT number, cells FROM reject WHERE import = ? ORDER BY rowid"
        cells_by_number = dict(db.execute(rejects, (journal.id,)))
    rows = [*sheet.rows]
    for index, row in enumerate(rows):
        number = int(row.number)
        entry = by_key.get(row.row_key)
        if cells_by_number.get(number) == digest(*row.cells):
            entry = entry or by_number.get(row.reject_of or number)
        if entry is not None:
            cells = [*row.cells]
            for field, value in zip(spec.NEW_PET_FIELDS, entry.content, strict=True):
                if field in columns:
                    column = columns[field]
                    cells[column : column + 1] = ["" if value is None else str(value)]
            facts = (row.number, entry.content, tuple(cells))
            rows[index] = Row(*facts, row_key=row.row_key, pet_id=entry.pet_id)
    return replace(sheet, rows=rows)
