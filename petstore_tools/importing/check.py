"""What a file holds, and what its journal and other imports say of each row: facts, without a word."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

from petstore_tools.errors import JournalError, SheetError
from petstore_tools.http.client import Client
from petstore_tools.importing.journal import read_entries
from petstore_tools.importing.journals import OtherImports, current, following, orphans
from petstore_tools.importing.matching import Merge, holds_most, is_another_file, merge
from petstore_tools.importing.options import ImportOptions
from petstore_tools.importing.reconcile import Existing
from petstore_tools.importing.row_states import Entry
from petstore_tools.importing.rows import PetValues, Row, RowProblem
from petstore_tools.importing.run_lock import Target
from petstore_tools.importing.sheet import Table, read_frame, read_table, sheets_to_import


@dataclass(frozen=True)
class Checked:
    """
    A file after the offline check.

    Attributes:
        table: The file.
        rows: What can be sent, in the sheet's order.
        problems: All of them, by row.
        blank: Empty rows, skipped.
        twins: Rows that share their three values with an earlier one.
        merged: What the file adds to its journal.
        existing: New rows whose animal exists already: by another import, or in the inventory.
        dropped: Rows left out since they are equal to an earlier one.
        untouched: Nothing of this import was ever sent.
        another_file: Another file had this name: this one is an import of its own.
        journal: Name of its journal.
    """

    table: Table
    rows: tuple[Row, ...]
    problems: tuple[RowProblem, ...]
    blank: int
    twins: tuple[Row, ...]
    merged: Merge
    known: tuple[Row, ...]
    dropped: int
    untouched: bool
    another_file: bool
    journal: str

    @property
    def bad_rows(self) -> int:
        """Rows with a problem."""
        return len({problem.row for problem in self.problems})


@dataclass(frozen=True)
class Opened:
    """
    A table read to its end, and the journal it belongs to.

    Attributes:
        table: The file.
        target: What its import is for.
        rows, problems, blank: As in Checked.
        journal: Name of its journal.
        another_file: As in Checked.
        siblings: Journals of the other sheets of the workbook that are imported with it.
    """

    table: Table
    target: Target
    rows: tuple[Row, ...]
    problems: tuple[RowProblem, ...]
    blank: int
    journal: str
    another_file: bool
    siblings: frozenset[str]


def open_source(client: Client, folder: Path, order: ImportOptions) -> Opened:
    """
    Read a file to its end, and find its journal.

    Raises:
        SheetError: It cannot be used, or has no rows.
        JournalError: It is a rejects file whose journal is not here.
    """
    table = read(order)
    path = order.path.resolve() if order.frame is None else order.path
    target = Target(client.environment, client.base_url, path, table.sheet)
    rows: list[Row] = []
    problems: list[RowProblem] = []
    blank = 0
    for row in table.rows():
        if row is None:
            blank += 1
        elif isinstance(row, Row):
            rows.append(row)
        else:
            problems += row
    if not rows and not problems and order.from_journal is None:
        raise SheetError(f"{order.path.name} has a header and no rows")
    kept = order.from_journal and order.from_journal.id
    journal = kept or table.rejects_of or _journal(folder, target, table, rows)
    if table.rejects_of and not (folder / f"{journal}.lock").exists():
        raise JournalError(f"the rejects file belongs to an import {journal} that is not on this machine")
    whole = not (table.rejects_of or kept)
    another_file = whole and is_another_file(read_entries(folder, target, journal_id=journal), rows)
    beside = (replace(target, sheet=sheet) for sheet in order.together if sheet != table.sheet)
    renamed = orphans(folder, target, table.sheets) if order.together else []
    return Opened(
        table,
        target,
        tuple(rows),
        tuple(problems),
        blank,
        following(journal, target) if another_file else journal,
        another_file,
        frozenset(filter(None, (*renamed, *(current(folder, other) for other in beside)))) - {journal},
    )


def read(order: ImportOptions) -> Table:
    """Open what is to be imported."""
    if order.frame is not None:
        table = read_frame(order.frame, order.columns)
    else:
        table = read_table(order.path, order.columns, sheet=order.sheet)
    return replace(table, allow_totals=order.allow_totals)


def by_sheet(order: ImportOptions) -> list[ImportOptions]:
    """
    Return the imports of the sheets of a workbook; equal rows of two of them are duplicates.

    Raises:
        SheetError: No visible sheet has the columns and rows below them.
    """
    each = [replace(order, sheet=sheet) for sheet in sheets_to_import(order.path, order.columns)]
    if not each:
        raise SheetError(f"{order.path.name} has no visible sheet with the columns and rows below them")
    together = {
        one.sheet or "": Counter(row.content for row in read(one).rows() if isinstance(row, Row))
        for one in each
    }
    return [replace(one, together=together) for one in each]


def _journal(folder: Path, target: Target, table: Table, rows: list[Row]) -> str:
    """Return the journal of a file: its own, or that of a sheet that was renamed, whose rows it holds."""
    if found := current(folder, target):
        return found
    for name in orphans(folder, target, table.sheets) if table.sheet else ():
        if holds_most(read_entries(folder, target, journal_id=name), rows):
            return name
    return target.id


def check(
    order: ImportOptions,
    entries: list[Entry],
    opened: Opened,
    others: OtherImports,
    inventory: Counter[PetValues] | None = None,
) -> Checked:
    """
    Check a whole file offline.

    Args:
        order: What is wanted.
        entries: What its journal holds.
        opened: The file.
        others: What other imports did.
        inventory: Animals that exist, those of its siblings left out; None where it was not listed.
    """
    # what a sibling created and still holds makes an equal row here a duplicate; else the animal exists
    beside = sum(
        (rows for sheet, rows in order.together.items() if sheet != order.sheet), Counter[PetValues]()
    )
    elsewhere = others.existing + (others.of_siblings - beside)
    existing = Existing(elsewhere | (inventory or Counter()), others.defaults)
    rows = list(opened.rows)
    own = {entry.content for entry in entries}
    before = takewhile(lambda sheet: sheet != order.sheet, order.together)
    earlier = others.of_siblings.keys() | {content for sheet in before for content in order.together[sheet]}
    twins, seen = [], set[PetValues]()
    for row in rows:
        if row.content in seen or (row.content in earlier and row.content not in own):
            twins.append(row)
        seen.add(row.content)
    if order.drop_duplicates:
        left_out = {id(row) for row in twins}
        rows = [row for row in rows if id(row) not in left_out]
    merged = merge(
        entries,
        rows,
        bad={problem.row for problem in opened.problems},
        partial=bool(opened.table.rejects_of),
        send_edited=order.send_edited,
    )
    known = {id(row): row for row, _ in merged.new if existing.take(row.content)}
    if order.existing == "skip":
        new = tuple(pair for pair in merged.new if id(pair[0]) not in known)
        skipped = tuple(pair for pair in merged.new if id(pair[0]) in known)
        merged = replace(merged, new=new, skipped=skipped)
    return Checked(
        opened.table,
        tuple(rows),
        opened.problems,
        opened.blank,
        tuple(twins),
        merged,
        tuple(known.values()),
        len(opened.rows) - len(rows),
        untouched=all(entry.state in ("unsent", "skipped") for entry in entries),
        another_file=opened.another_file,
        journal=opened.journal,
    )
