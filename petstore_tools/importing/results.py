"""
What became of an import: the result, and the files beside the input, whole or not at
all.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from petstore_tools.errors import JournalError, SheetError
from petstore_tools.importing.comparison import Edit
from petstore_tools.importing.entries import Entry
from petstore_tools.importing.journal import Journal
from petstore_tools.importing.layout import ADDED
from petstore_tools.importing.preview import ImportPreview
from petstore_tools.importing.send import Stopped
from petstore_tools.importing.values import ProblemRow
from petstore_tools.listing.frames import status_dtype, text_dtype
from petstore_tools.tabular.atomic import check_writable, replace_file
from petstore_tools.tabular.cells import column_index
from petstore_tools.tabular.sources import row_labels
from petstore_tools.text import html_table, pluralize, utc_text

if TYPE_CHECKING:
    import pandas as pd


OUTCOMES = ("created", "rejected", "unknown", "unsent", "skipped")
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
    for place in (path, Path(path.name)):
        try:
            folder = place.resolve().parent
            check_writable(folder / ".petstore")
            return folder
        except OSError as error:
            why = error
    raise SheetError(
        f"the result files of {path.name} can be written neither beside it nor in the"
        f" current folder ({why}); run the import in another folder"
    )


def _stem(preview: ImportPreview) -> str:
    """
    Return how the names of the result files begin; those of a sandbox or of staging say
    so.
    """
    options = preview.sheet.options
    sheet = preview.sheet.layout.sheet
    stem = options.path.stem if options.name is None else options.name
    if len(sheet.names) > 1:
        stem += f".{sheet.name}"
    mark = "" if preview.environment == "production" else f".{preview.environment}"
    return _NO_FILE_NAME.sub("_", stem) + ("" if f"{mark}." in f"{stem}." else mark)


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
    options = preview.sheet.options
    if not options.is_file:
        return (), ()
    path = options.path
    sheet = preview.sheet.layout.sheet
    titles = preview.sheet.layout.titles.header
    absent = journal.read("import = :id AND NOT present")
    sheet_rows = [row.cells for row in preview.sheet.rows_to_send]
    sheet_rows += [_cells(preview, entry) for entry in absent]
    created = []
    for cells, entry in zip(sheet_rows, [*entries, *absent], strict=True):
        if entry.state == "created":
            pet_id = "" if entry.pet_id is None else str(entry.pet_id)
            created.append([*cells, pet_id])
    rejected, bad_cells = _rejects(preview, entries)
    id_title = "id" if "id" not in titles else "petstore_id"
    contents = {
        "created": ([*titles, id_title], created, set()),
        "rejected": ([*titles, *ADDED], rejected, bad_cells),
    }
    written = []
    failed = []
    for outcome, (header, rows, marks) in contents.items():
        name = f"{_stem(preview)}.{outcome}{sheet.suffix}"
        try:
            content = sheet.content(header, rows, bad_cells=marks) if rows else b""
            if content:
                journal.note_written(_digest(content))
            place = _write(check_folder(path) / name, path.resolve(), content, journal)
        except (OSError, SheetError, JournalError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            if isinstance(error, PermissionError):
                reason += "; close it where it is open"
            failed.append(f"{name} ({reason})")
        else:
            written += [place] if content else []
    return tuple(written), tuple(failed)


def _cells(preview: ImportPreview, entry: Entry) -> tuple[str, ...]:
    """
    Return the cells of a row that the file does not have any more, as far as they are
    known.
    """
    titles = preview.sheet.layout.titles
    values = zip(titles.indexes, entry.content, strict=True)
    known = {at: str(value) for at, value in values if value is not None}
    return tuple(known.get(at, "") for at in range(len(titles.header)))


def _write(path: Path, source: Path, content: bytes, journal: Journal) -> Path:
    """
    Write a file where one of ours is or none, and remove ours where there is nothing to
    write.
    """
    stem = path.stem
    number = 1
    while path.exists() and not (
        path.resolve() != source and journal.is_ours(_digest(path.read_bytes()))
    ):
        number += 1
        path = path.with_stem(f"{stem}.{number}")
    if content:
        replace_file(path, content)
    else:
        path.unlink(missing_ok=True)
    return path


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _rejects(
    preview: ImportPreview, entries: Sequence[Entry]
) -> tuple[list[list[str]], set[tuple[int, int]]]:
    """
    Return the rows of the rejects file, whose cells no spreadsheet runs as formulas,
    and the positions of the bad cells, which a workbook marks.
    """
    layout = preview.sheet.layout
    titles = layout.titles
    width = len(titles.header)
    at_name = titles.columns["name"]
    refused: list[tuple[int, Sequence[str], str, list[int]]] = [
        (row.number, row.cells, entry.detail, [at_name])
        for row, entry in zip(preview.sheet.rows_to_send, entries, strict=True)
        if entry.state == "rejected"
    ]
    for bad in preview.sheet.problem_rows:
        places = [column_index(p.column) if p.column else at_name for p in bad.problems]
        refused.append((bad.number, bad.cells, bad.reason, places))
    rows = []
    marks: set[tuple[int, int]] = set()
    for at, (number, cells, why, places) in enumerate(sorted(refused)):
        marks.update((at, place) for place in places)
        # cells beyond the last join it: nothing is lost, and it stays a problem
        last = layout.sheet.delimiter.join(cells[width - 1 :])
        padded = [*cells[: width - 1], *[""] * (width - 1 - len(cells)), last]
        rows.append(
            [layout.sheet.escape(cell) for cell in (*padded, str(int(number)), why)]
        )
    return rows, marks
