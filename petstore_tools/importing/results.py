"""
What became of an import: the result, and the files beside the input, whole or not at
all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from petstore_tools.errors import JournalError, SheetError
from petstore_tools.importing.comparison import Edit
from petstore_tools.importing.entries import OUTCOMES, Entry, outcome_of
from petstore_tools.importing.journal import Journal
from petstore_tools.importing.layout import ADDED, Layout
from petstore_tools.importing.preview import ImportPreview
from petstore_tools.importing.read_sheet import ReadSheet
from petstore_tools.importing.rows import describe_left_out, group_problems
from petstore_tools.importing.send import Stopped
from petstore_tools.importing.values import FIELDS, RowLeftOut
from petstore_tools.listing.frames import status_dtype, text_dtype
from petstore_tools.tabular.atomic import existing_numbers, numbered, replace_file
from petstore_tools.tabular.cells import text_of
from petstore_tools.tabular.sources import row_label, row_labels
from petstore_tools.text import pluralize, some_of, utc_text

if TYPE_CHECKING:
    import pandas as pd


_ID_TITLE = "petstore_id"


@dataclass(frozen=True)
class ImportResult:
    """
    What became of every row of a file, earlier runs included.

    >>> store.import_pets("animals.csv", progress=False)
    animals.csv → sandbox: 10 rows: 10 created; go on with animals.sandbox.created.csv

    Attributes:
        file: Name of the file.
        environment: Where it went.
        rows: Rows below the header, blank ones left out; the sum of the outcomes.
        created: Exist in the service.
        rejected: Have a problem, or were refused by the service.
        unknown: May exist or not; not sent again before they are reconciled.
        ambiguous: Of these, rows that a listing could not decide: a person does.
        not_sent: Not sent yet.
        left_out: Left out because you said so, or because of the sheet.
        created_now: Created by this run.
        skipped_now: Left out by this run as doubtful.
        stopped: Why it ended early, None where it did not.
        journal: Name of the import.
        files: The list to go on with, and the file of rejected rows.
        notes: What else should be known.
        not_written: Those that could not be written, and why; the same call writes
            them.
        entries: What became of each row that is an animal, in the order of the file.
        rows_left_out: Rows that are left out because of the sheet.
        edits: Rows whose animal is known by its id or its key, with other values.
    """

    __module__ = "petstore_tools"

    file: str
    environment: str
    rows: int
    created: int
    rejected: int
    unknown: int
    ambiguous: int
    not_sent: int
    left_out: int
    created_now: int
    skipped_now: int
    stopped: Stopped | None
    journal: str
    files: tuple[Path, ...]
    notes: tuple[str, ...]
    not_written: tuple[str, ...]
    entries: tuple[Entry, ...]
    rows_left_out: tuple[RowLeftOut, ...]
    edits: tuple[Edit, ...]

    @property
    def resumes_at(self) -> float | None:
        """
        Unix seconds from which the same call goes on, None where nothing waits for a
        time.
        """
        return None if self.stopped is None else self.stopped.resumes_at

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
            not sent, left out), `id` (Int64), `at` (datetime64, UTC: when the outcome
            was known), `detail` (text), `candidates` (text: ids of animals that may be
            an unknown row), by row. A row with problems has its name as typed, and no
            other value and no time. A row that is left out because of the sheet has its
            reason alone.
        """
        import pandas as pd

        text = text_dtype()
        kinds = {
            "name": text,
            "categoryId": "Int64",
            "status": status_dtype(()),
            "outcome": text,
            "id": "Int64",
            "at": "float64",
            "detail": text,
            "candidates": text,
        }
        edits = {edit.row: f"edited: {edit.changes}" for edit in self.edits}
        rows: list[tuple[Any, ...]] = [
            (
                entry.number,
                *entry.content,
                outcome_of(entry.state),
                entry.animal_id,
                int(entry.changed_at) or None,
                edits.get(entry.number, entry.reason),
                entry.may_be,
            )
            for entry in self.entries
        ]
        nothing = [None] * len(FIELDS)
        rows += [
            (row.number, *nothing, "left out", None, None, row.reason, "")
            for row in self.rows_left_out
        ]
        rows.sort(key=itemgetter(0))
        frame = pd.DataFrame(rows, columns=["row", *kinds], dtype="object")
        frame = frame.astype(kinds)
        times = pd.to_datetime(frame["at"], unit="s", utc=True).dt.as_unit("s")
        return frame.assign(row=row_labels([*frame["row"]]), at=times)

    def to_dict(self) -> dict[str, Any]:
        """
        Return the counts and how to go on, as plain JSON values.

        >>> result = store.import_pets("animals.csv", progress=False)
        >>> result.to_dict()["created"]
        10
        """
        counts = {name: getattr(self, name) for name in ("rows", *OUTCOMES)}
        return counts | {
            "stopped": self.stopped and self.stopped.kind,
            "resumes_at": self.resumes_at and utc_text(self.resumes_at),
            "journal": self.journal,
            "files": [path.name for path in self.files],
            "not_written": list(self.not_written),
            "notes": [*self.notes, *self._doubt()],
            "edits": [*map(str, self.edits)],
            "rows_left_out": [
                {"row": str(row_label(row.number)), "reason": row.reason}
                for row in self.rows_left_out
            ],
        }

    def __str__(self) -> str:
        counts = {name: getattr(self, name) for name in OUTCOMES}
        parts = [
            f"{count:,} {outcome_of(OUTCOMES[name])}"
            for name, count in counts.items()
            if count or name == "created"
        ]
        if earlier := self.created - self.created_now:
            parts[0] = f"{self.created_now:,} created now, {earlier:,} before"
        title = f"{self.file} → {self.environment}: {pluralize(self.rows, 'row')}"
        return "; ".join([f"{title}: {', '.join(parts)}", *self._remarks()])

    def _doubt(self) -> Iterator[str]:
        """Say where rows that may exist are shown, if there are any."""
        # as doubtful, also by an earlier run; what was never to be sent has no number
        left_out = sum(e.state == "skipped" and e.entry_id > 0 for e in self.entries)
        if doubtful := self.unknown + left_out:
            where = "result.frame"
            if self.environment != "sandbox":  # its journal ends with the program
                where = (
                    f"petstore-tools imports show {self.journal} (in Python {where})"
                )
            rows = pluralize(doubtful, "row")
            yield f"{rows} may exist already: {where} says which, and why"

    def _remarks(self) -> list[str]:
        """Return what should be known beside the counts."""
        remarks = [] if self.stopped is None else [f"stopped: {self.stopped.reason}"]
        if self.resumes_at is not None:
            remarks.append(f"the same call goes on from {utc_text(self.resumes_at)}")
        remarks += self.notes
        problems = [problem for row in self.entries for problem in row.problems]
        remarks += [f"problem: {fix}" for fix in some_of(group_problems(problems))]
        left_out = describe_left_out(self.rows_left_out)
        remarks += [f"left out, {text}" for text in left_out]
        remarks += [f"not written: {file}" for file in self.not_written]
        new_edits = [edit for edit in self.edits if edit.is_new]
        if new_edits:
            rows = pluralize(len(new_edits), "row")
            edits = "; ".join(some_of(new_edits))
            remarks.append(f"{rows} edited, which changes no animal: {edits}")
        if earlier := len(self.edits) - len(new_edits):
            remarks.append(f"{pluralize(earlier, 'row')} edited before")
        if self.ambiguous:
            rows = pluralize(self.ambiguous, "row")
            remarks.append(f"your decision is needed for {rows}")
        remarks += self._doubt()
        is_whole = self.stopped is None and not self.unknown
        list_title = "go on with" if is_whole else "created so far:"
        for path in self.files:
            is_list = path.name.rfind(".created") >= path.name.rfind(".rejected")
            title = list_title if is_list else "rejected rows:"
            remarks.append(f"{title} {path.name}")
        return remarks

    __repr__ = __str__


def entries_of_rows(sheet: ReadSheet, entries: Iterable[Entry]) -> list[Entry]:
    """
    Return what became of each row of a file, in its order.

    Args:
        sheet: The file.
        entries: What became of those that could be sent.
    """
    next_entry = iter(entries)
    return [
        row
        if row.problems
        # of a DataFrame, the numbers of the file have labels
        else next(next_entry)._replace(
            number=row.number, content=row.content, cells=row.cells
        )
        for row in sheet.rows
    ]


def write_files(
    preview: ImportPreview, journal: Journal, entries: Sequence[Entry]
) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """
    Write what was created and rejected beside the input; of a DataFrame, nothing.

    A file of an earlier run is replaced, or removed where it holds nothing any more.
    One that a person changed is left alone, as is the input: the new one gets a number,
    unless a file that this import wrote had the same contents: that one is named, or
    the list that went on from it.
    An input in which each row has its id is the list to go on with, and stays it.

    Args:
        preview: The file as it was checked.
        journal: It knows which files are ours.
        entries: What became of each row, in the order of the file, then of those that
            were created and that the file has no more.

    Returns:
        The files that were written, or stay, and what could not be written, and why.
    """
    if not preview.sheet.options.is_file:
        return (), ()
    sheet = preview.sheet
    source = sheet.options.path.resolve()
    tables = {
        "created": _fill_created(entries, sheet.layout),
        "rejected": _fill_rejected(entries, sheet.layout),
    }
    files = []
    failures = []
    for outcome, (titles, rows, bad_cells) in tables.items():
        name, first_number = sheet.name_result(outcome, preview.environment)
        try:
            path = source.with_name(name)
            file = _find_place(path, first_number, source, journal)
            is_new = not file.exists()
            if not rows:
                file.unlink(missing_ok=True)
            elif is_new and rows == [[*row.cells] for row in sheet.rows]:
                files.append(source)
                continue
            else:
                content = sheet.layout.sheet.content(
                    titles,
                    rows,
                    above=sheet.layout.cells_above,
                    bad_cells=bad_cells,
                    name=sheet.layout.sheet.name,
                )
                digest = sha256(content).hexdigest()
                if is_new and (written_file := _find_written(path, digest, journal)):
                    if outcome == "created":
                        written_file = _follow(written_file, path, journal)
                    files.append(written_file)
                    continue
                journal.note_written(file.name, digest)
                replace_file(file, content)
                files.append(file)
            _delete_older(path, file, journal)
        except (OSError, SheetError, JournalError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            if isinstance(error, PermissionError):
                reason += "; close it where it is open"
            failures.append(f"{name} ({reason})")
    return tuple(files), tuple(failures)


# titles, rows, and the positions of bad cells in these
_Table = tuple[list[str], list[list[str]], set[tuple[int, int]]]


def _fill_created(entries: Sequence[Entry], layout: Layout) -> _Table:
    """Return titles and rows of a created file: each animal, with its id."""
    header = layout.header
    index = layout.columns.get(_ID_TITLE, len(header))
    # a row that has an id, before those that were left out as equal to its animal
    by_id = {entry.animal_id: entry for entry in reversed(entries)}
    by_id |= {entry.pet_id: entry for entry in reversed(entries)}
    animals = [
        (entry.cells or _known_cells(layout, entry), text_of(entry.animal_id))
        for entry in entries
        if entry.animal_id is not None and by_id[entry.animal_id] is entry
    ]
    titles, *rows = [
        [*cells[:index], pet_id, *cells[index + 1 :]]
        for cells, pet_id in ((header, _ID_TITLE), *animals)
    ]
    return titles, rows, set()


def _fill_rejected(entries: Iterable[Entry], layout: Layout) -> _Table:
    """
    Return titles, rows and the bad cells of a rejects file: each row with its number in
    the source, and with its problems.
    """
    columns = layout.columns
    width = len(layout.header)
    rows: list[list[str]] = []
    bad_cells = set()
    for entry in entries:
        if entry.state == "rejected":
            for field in [problem.field for problem in entry.problems] or ["name"]:
                bad_cells.add((len(rows), columns.get(field, columns["name"])))
            cells = [*entry.cells, *[""] * (width - len(entry.cells))]
            if len(cells) > width:  # nothing is lost, and it stays a problem
                cells[width - 1 :] = [layout.sheet.delimiter.join(cells[width - 1 :])]
            rows.append([*cells, text_of(entry.number), entry.reason])
    return [*layout.header, *ADDED], rows, bad_cells


def _known_cells(layout: Layout, entry: Entry) -> tuple[str, ...]:
    """Return the cells of a row that the file has no more, as far as they are known."""
    values = {**dict(zip(FIELDS, entry.content, strict=True)), "row_key": entry.key}
    cells = [""] * len(layout.header)
    for field, index in layout.columns.items():
        cells[index] = text_of(values.get(field))
    return tuple(cells)


def _find_place(path: Path, number: int, source: Path, journal: Journal) -> Path:
    """
    Return where a file can be written: the newest of the numbered paths, or the next
    one where that is not ours.
    """
    number = max([*existing_numbers(path), number])
    newest = numbered(path, number)
    is_free = not newest.exists() or _is_ours(newest, source, journal)
    return newest if is_free else numbered(path, number + 1)


def _find_written(path: Path, digest: str, journal: Journal) -> Path | None:
    """Return the file that this import wrote with these contents, if it is there."""
    files = (numbered(path, number) for number in existing_numbers(path))
    return next((f for f in files if journal.wrote_last(f.name, digest)), None)


def _follow(file: Path, path: Path, journal: Journal) -> Path:
    """
    Return a list, or where that was imported, the list that went on from it: a later
    one, which an import wrote.
    """
    sources = journal.read_sources()
    later_files = [numbered(path, number) for number in existing_numbers(path)]
    for later_file in later_files[later_files.index(file) + 1 :]:
        if file.resolve() in sources and journal.has_written(later_file.name):
            file = later_file
    return file


def _is_ours(file: Path, source: Path, journal: Journal) -> bool:
    """Say whether this import wrote a file, and nobody changed it."""
    return (
        file.is_file()  # a folder or a pipe is somebody's
        and file.resolve() != source
        and journal.is_ours(sha256(file.read_bytes()).hexdigest())
    )


def _delete_older(path: Path, newest: Path, journal: Journal) -> None:
    """
    Delete the other numbered files of this import that nobody changed, and that are no
    source; one that cannot be deleted stays.
    """
    sources = journal.read_sources()
    for number in existing_numbers(path):
        file = numbered(path, number)
        is_numbered = number > 1 and file != newest and file.resolve() not in sources
        if is_numbered and _is_ours(file, newest, journal):
            with suppress(OSError):
                file.unlink()
