"""
What became of an import: the result, and the files beside the input, whole or not at
all.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from petstore_tools.errors import JournalError, SheetError
from petstore_tools.importing.comparison import Edit
from petstore_tools.importing.entries import Entry
from petstore_tools.importing.journal import Journal
from petstore_tools.importing.layout import ADDED, Layout, Titles
from petstore_tools.importing.preview import ImportPreview
from petstore_tools.importing.send import Stopped
from petstore_tools.importing.values import ProblemRow, Row
from petstore_tools.importing.words import FIELDS
from petstore_tools.listing.frames import status_dtype, text_dtype
from petstore_tools.tabular.atomic import check_writable, replace_file
from petstore_tools.tabular.cells import (
    EXACT,
    NonTextCell,
    text_of,
)
from petstore_tools.tabular.sources import row_labels
from petstore_tools.text import html_table, pluralize, utc_text

if TYPE_CHECKING:
    import pandas as pd


OUTCOMES = ("created", "rejected", "unknown", "unsent", "skipped")
_ID_TITLE = "petstore_id"
# our created file as the input, and its number
_CREATED = re.compile(r"(.+)\.created(?:\.(\d+))?")
# what Windows has in no file name
_NO_FILE_NAME = re.compile(r'[\\/:*?"<>|\x00-\x1f]')


@dataclass(frozen=True)
class ImportResult:
    """
    What became of every row of a file, earlier runs included.

    >>> store.import_pets("animals.csv", progress=False)
    animals.csv → sandbox: 10 rows: 10 created; files: animals.sandbox.created.csv

    Attributes:
        file: Name of the file.
        environment: Where it went.
        rows: Rows below the header, blank ones left out; the sum of the outcomes.
        created: Exist in the service.
        rejected: Have a problem, or were refused by the service.
        unknown: May exist or not; not sent again before they are reconciled.
        ambiguous: Of these, rows that a listing could not decide: a person does.
        unsent: Not sent yet.
        skipped: Left out: doubtful, or equal to an earlier row.
        created_now: Created by this run.
        skipped_now: Left out by this run as doubtful.
        stopped: Why it ended early, None where it did not.
        journal: Name of the journal.
        files: Result files that were written.
        notes: What else should be known.
        not_written: Those that could not be written, and why; the same call writes
            them.
    """

    file: str
    environment: str
    rows: int
    created: int
    rejected: int
    unknown: int
    ambiguous: int
    unsent: int
    skipped: int
    created_now: int
    skipped_now: int
    stopped: Stopped | None
    journal: str
    files: tuple[Path, ...]
    notes: tuple[str, ...] = ()
    not_written: tuple[str, ...] = ()
    entries: tuple[Entry, ...] = ()
    bad: tuple[ProblemRow, ...] = ()
    name_index: int = 0
    edits: tuple[Edit, ...] = ()

    @property
    def resumes_at(self) -> float | None:
        """
        Unix seconds from which the same call goes on, None where nothing waits for a
        time.
        """
        return None if self.stopped is None else self.stopped.resumes_at

    @property
    def complete(self) -> bool:
        """Whether every row was created, or left out as asked."""
        return self.created + self.skipped == self.rows

    @property
    def frame(self) -> pd.DataFrame:
        """
        Every row and its outcome.

        >>> pets = pd.DataFrame({"name": ["Rex", ""], "categoryId": [3, 4]})
        >>> result = store.import_pets(pets, name="pets", progress=False)
        >>> result.frame[["row", "categoryId", "outcome"]]
           row  categoryId   outcome
        0    0           3   created
        1    1        <NA>  rejected

        Returns:
            Columns `row` (int64, or the label), `name` (text), `categoryId` (Int64),
            `status` (ordered category), `outcome` (text: created, rejected, unknown,
            unsent, skipped), `id` (Int64), `at` (datetime64, UTC: when the outcome was
            known), `detail` (text), `candidates` (text: ids of animals that may be an
            unknown row), by row. A row with problems has its name as typed, and no
            other value and no time.
        """
        import pandas as pd

        text = text_dtype()
        kinds: dict[str, Any] = {
            "name": text,
            "categoryId": "Int64",
            "status": status_dtype(()),
            "outcome": text,
            "id": "Int64",
            "at": "float64",
            "detail": text,
            "candidates": text,
        }
        rows: list[tuple[Any, ...]] = []
        edits = {edit.row: f"edited: {edit.changes}" for edit in self.edits}
        for entry in self.entries:
            outcome = (entry.state, entry.pet_id, int(entry.changed_at) or None)
            reason = (edits.get(entry.number, entry.detail), entry.may_be)
            rows.append((entry.number, *entry.content, *outcome, *reason))
        for bad in self.bad:
            name = dict(enumerate(bad.cells)).get(self.name_index)
            rejected = (None, None, "rejected", None, None, bad.reason, None)
            rows.append((bad.number, name, *rejected))
        rows.sort(key=itemgetter(0))
        frame = pd.DataFrame(rows, columns=["row", *kinds], dtype="object")
        frame = frame.astype(kinds).assign(row=row_labels([row[0] for row in rows]))
        times = pd.to_datetime(frame["at"], unit="s", utc=True)
        return frame.assign(at=times.dt.as_unit("s"))

    def to_dict(self) -> dict[str, Any]:
        """
        Return the counts and how to go on, as plain JSON values.

        >>> result = store.import_pets("animals.csv", progress=False)
        >>> result.to_dict()["created"]
        10
        """
        return {
            **{name: getattr(self, name) for name in ("rows", *OUTCOMES)},
            "stopped": self.stopped and self.stopped.kind,
            "resumes_at": self.resumes_at and utc_text(self.resumes_at),
            "journal": self.journal,
            "files": [path.name for path in self.files],
            "not_written": list(self.not_written),
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        (_, created), *others = self._counts()
        parts = [f"{created:,} created"]
        if before := created - self.created_now:
            parts = [f"{self.created_now:,} created now", f"{before:,} before"]
        parts += [f"{count:,} {name}" for name, count in others]
        return "; ".join([f"{self._title()}: {', '.join(parts)}", *self._said()])

    def _said(self) -> list[str]:
        """Return what should be known beside the counts."""
        said = [] if self.stopped is None else [f"stopped: {self.stopped.why}"]
        if self.resumes_at is not None:
            said.append(f"the same call goes on from {utc_text(self.resumes_at)}")
        said += [*self.notes, *(f"not written: {file}" for file in self.not_written)]
        if self.edits:
            rows = pluralize(len(self.edits), "row")
            said.append(f"{rows} edited: the service cannot change an animal")
        if self.ambiguous:
            said.append(f"{pluralize(self.ambiguous, 'row')} for a person to decide")
        if self.files:
            said.append(f"files: {', '.join(path.name for path in self.files)}")
        return said

    __repr__ = __str__

    def _counts(self) -> list[tuple[str, int]]:
        """
        Return the outcomes of its rows, and how many have each; created ones always.
        """
        counts = [(name, getattr(self, name)) for name in OUTCOMES]
        return [(name, count) for name, count in counts if count or name == "created"]

    def _title(self) -> str:
        return f"{self.file} → {self.environment}: {pluralize(self.rows, 'row')}"

    def _repr_html_(self) -> str:
        rows = self._counts()
        note = "\n".join(self._said())
        return html_table(self._title(), ("outcome", "rows"), rows, note=note)


def check_folder(path: Path) -> Path:
    """
    Return the folder of the result files: that of the input, else the current one.

    Raises:
        SheetError: Neither can be written.
    """
    reason = ""
    for folder in (path.resolve().parent, Path.cwd()):
        try:
            check_writable(folder / ".petstore")
            return folder
        except OSError as error:
            reason = str(error)
    raise SheetError(
        f"the result files of {path.name} can be written neither beside it nor in the"
        f" current folder ({reason}); run the import in another folder"
    )


def _name_file(preview: ImportPreview, outcome: str) -> tuple[str, int]:
    """
    Return the name of a result file, and the first number that it may have; that of a
    created file counts on, and those of a sandbox or of staging say so.
    """
    options = preview.sheet.options
    sheet = preview.sheet.layout.sheet
    stem = options.path.stem if options.name is None else options.name
    number = 1
    input_stem = _CREATED.fullmatch(stem)
    if input_stem and outcome == "created":
        stem = input_stem[1]
        number = int(input_stem[2] or 1) + 1
    if len(sheet.names) > 1:
        stem += f".{sheet.name}"
    mark = f".{preview.environment}"
    if preview.environment != "production" and f"{mark}." not in f"{stem}.":
        stem += mark
    return f"{_NO_FILE_NAME.sub('_', stem)}.{outcome}{sheet.suffix}", number


def write_files(
    preview: ImportPreview, journal: Journal, entries: Sequence[Entry]
) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """
    Write what was created and rejected beside the input; of a DataFrame, nothing.

    A file of an earlier run is replaced, or removed where it holds nothing any more.
    One that a person changed is left alone, as is the input: the new one gets a number.

    Args:
        preview: The file as it was checked.
        journal: It knows which files are ours.
        entries: What became of each row that could be sent, in the order of the file.

    Returns:
        The files that were written, and what could not be written, and why.
    """
    if not preview.sheet.options.is_file:
        return (), ()
    layout = preview.sheet.layout
    path = preview.sheet.options.path.resolve()
    files = []
    failures = []
    for outcome, (titles, rows, bad_cells) in _fill(preview, journal, entries).items():
        name, number = _name_file(preview, outcome)
        content = b""
        try:
            if rows:
                above = _rows_above(layout)
                content = layout.sheet.content(
                    titles, rows, above=above, bad_cells=bad_cells
                )
                journal.note_written(_digest(content))
            file = _find_place(check_folder(path) / name, number, path, journal)
            if rows:
                replace_file(file, content)
                files.append(file)
            else:
                file.unlink(missing_ok=True)
        except (OSError, SheetError, JournalError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            if isinstance(error, PermissionError):
                reason += "; close it where it is open"
            failures.append(f"{name} ({reason})")
    return tuple(files), tuple(failures)


def _fill(
    preview: ImportPreview, journal: Journal, entries: Sequence[Entry]
) -> dict[str, tuple[list[str], list[list[str]], set[tuple[int, int]]]]:
    """
    Return titles, rows and bad cells of the created file, which has each animal with
    its id, those last that the file has no more, and of the rejected one, which has
    each row that was refused, with its number and the reason.
    """
    sheet = preview.sheet
    header = sheet.layout.titles.header
    columns = sheet.layout.titles.columns
    id_index = columns.get(_ID_TITLE, len(header))
    rows: list[tuple[Row | ProblemRow, str, int | None, str, list[str]]] = [
        (row, entry.state, entry.pet_id, entry.detail, ["name"])
        for row, entry in zip(sheet.rows_to_send, entries, strict=True)
    ]
    for problem_row in sheet.problem_rows:
        fields = [problem.field for problem in problem_row.problems]
        pet_id = None if _ID_TITLE in fields else problem_row.pet_id
        rows.append((problem_row, "rejected", pet_id, problem_row.reason, fields))
    animals: list[list[str]] = []
    rejects: list[list[str]] = []
    bad_cells: set[tuple[int, int]] = set()
    for row, state, pet_id, reason, fields in sorted(rows, key=lambda row: row[0][0]):
        if state == "created" or pet_id is not None:
            animals.append(_with_id(row.cells, id_index, pet_id))
        if state == "rejected":
            indexes = [columns.get(field, columns["name"]) for field in fields]
            bad_cells.update((len(rejects), index) for index in indexes)
            cells = _fit(row.cells, len(header), sheet.layout.sheet.delimiter)
            rejects.append([*cells, _number_cell(row.number), reason])
    removed = "import = :id AND NOT present AND state = 'created' AND listed_id IS NULL"
    for entry in journal.read(removed):
        cells = _known_cells(sheet.layout.titles, entry)
        animals.append(_with_id(cells, id_index, entry.pet_id))
    titles = [*header[:id_index], _ID_TITLE, *header[id_index + 1 :]]
    return {
        "created": (titles, animals, set()),
        "rejected": ([*header, *ADDED], rejects, bad_cells),
    }


def _with_id(cells: Sequence[str], index: int, pet_id: int | None) -> list[str]:
    """Return a row with the id of its animal in its place."""
    id_cell = "" if pet_id is None else _number_cell(pet_id)
    return [*cells[:index], id_cell, *cells[index + 1 :]]


def _fit(cells: Sequence[str], width: int, delimiter: str) -> list[str]:
    """
    Return as many cells as there are titles; those beyond the last join it: nothing is
    lost, and it stays a problem.
    """
    if len(cells) > width:
        return [*cells[: width - 1], delimiter.join(cells[width - 1 :])]
    return [*cells, *[""] * (width - len(cells))]


def _rows_above(layout: Layout) -> list[Sequence[str]]:
    """Return the rows above the header, those without a cell, too."""
    first = layout.header_row + 1
    if layout.titles.has_header:
        first -= 1
    records = takewhile(lambda record: record[0] < first, layout.sheet.records())
    rows = dict(records)
    return [rows.get(number, ()) for number in range(1, first)]


def _known_cells(titles: Titles, entry: Entry) -> list[str]:
    """Return the cells of a row that the file has no more, as far as they are known."""
    values = {**dict(zip(FIELDS, entry.content, strict=True)), "row_key": entry.key}
    cells = [""] * len(titles.header)
    for field, index in titles.columns.items():
        if values.get(field) is not None:
            cells[index] = text_of(values[field])
    return cells


def _number_cell(number: int) -> str:
    """Return a number as a workbook keeps it: exactly, or else as text."""
    return NonTextCell(str(number), "a number", number if number < EXACT else None)


def _find_place(path: Path, number: int, source: Path, journal: Journal) -> Path:
    """Return the first numbered path where a file of this import is, or none."""
    while True:
        file = path.with_stem(f"{path.stem}.{number}") if number > 1 else path
        if not file.exists():
            return file
        is_source = file.resolve() == source
        if not is_source and journal.is_ours(_digest(file.read_bytes())):
            return file
        number += 1


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
