"""What became of an import: the result, and the files beside the input."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from petstore_tools import spec
from petstore_tools.errors import SheetError
from petstore_tools.importing.journal import Journal
from petstore_tools.importing.matching import Held
from petstore_tools.importing.preview import ImportPreview
from petstore_tools.importing.row_states import Entry
from petstore_tools.importing.rows import BadRow, RowProblem
from petstore_tools.importing.send import Stopped
from petstore_tools.importing.sheet import JOURNAL_COLUMN, PROBLEM_COLUMN, ROW_COLUMN, UNKNOWN_COLUMN
from petstore_tools.listing.frames import text_dtype
from petstore_tools.tabular.atomic import check_writable, replace_file
from petstore_tools.tabular.formats import FORMATS
from petstore_tools.tabular.frames import labels
from petstore_tools.tabular.workbooks import LONGEST_CELL
from petstore_tools.text import html_table, pluralize, utc_text

if TYPE_CHECKING:
    import pandas as pd


_REJECTED: Final = re.compile(r"\.rejected(\.\d+)?$")
_OUTCOMES: Final = ("created", "rejected", "unknown", "unsent", "held", "skipped")


@dataclass(frozen=True)
class ImportResult:
    """
    What became of every row of a file, earlier runs included.

    Attributes:
        file: Name of the file.
        environment: Where it went.
        rows: Rows below the header, blank ones left out; the sum of the six that follow.
        created: Exist in the service.
        rejected: Have a problem, or were refused by the service.
        unknown: May exist or not; not sent again before they are reconciled.
        ambiguous: Of these, rows that a listing could not decide: a person does.
        unsent: Not sent yet.
        held: Look like created rows edited since; not sent.
        skipped: Left out as asked: equal to an earlier row, or created by another import.
        created_now: Created by this run.
        requests: Requests of this run.
        stopped: Why it ended early, None where it did not.
        journal: Name of the journal.
        files: Result files that were written.
        not_compared: Requests after which the baseline was given up, so that rows whose animals exist already
            were not noticed; 0 where it was made or not asked for.
        not_written: Those that could not be written, and why; the same call writes them.
    """

    file: str
    environment: str
    rows: int
    created: int
    rejected: int
    unknown: int
    ambiguous: int
    unsent: int
    held: int
    skipped: int
    created_now: int
    requests: int
    stopped: Stopped | None
    journal: str
    files: tuple[Path, ...]
    not_compared: int = 0
    not_written: tuple[str, ...] = ()
    entries: tuple[Entry, ...] = field(repr=False, default=())
    bad: tuple[BadRow, ...] = field(repr=False, default=())
    held_rows: tuple[Held, ...] = field(repr=False, default=())

    @property
    def resumes_at(self) -> float | None:
        """Unix seconds from which the same call goes on, None where nothing waits for a time."""
        return None if self.stopped is None else self.stopped.resumes_at

    @property
    def problems(self) -> tuple[RowProblem, ...]:
        """Why rows cannot be sent, by row."""
        return tuple(problem for row in self.bad for problem in row.problems)

    @property
    def complete(self) -> bool:
        """Whether every row was created, or left out as asked."""
        return self.created + self.skipped == self.rows

    @property
    def frame(self) -> pd.DataFrame:
        """
        Every row and its outcome.

        Returns:
            Columns `row` (int64, or the label), `name` (text), `categoryId` (Int64), `status` (ordered
            category), `outcome` (text: created, rejected, unknown, unsent, held, skipped), `id` (Int64),
            `at` (datetime64, UTC: when the outcome was known), `detail` (text), by row. A row with problems
            has no values, since they could not be read, and no time.
        """
        import pandas as pd

        found: list[tuple[Any, ...]] = [
            (e.number, *e.content, e.state, e.pet_id, e.changed_at, e.detail) for e in self.entries
        ]
        found += [(h.row.number, *h.row.content, "held", None, None, str(h)) for h in self.held_rows]
        found += [(bad.number, None, None, None, "rejected", None, None, bad.why) for bad in self.bad]
        found.sort(key=itemgetter(0))
        text = text_dtype()
        kinds: dict[str, Any] = {
            "name": text,
            "categoryId": "Int64",
            "status": pd.CategoricalDtype(list(spec.STATUSES), ordered=True),
            "outcome": text,
            "id": "Int64",
            "at": "float64",
            "detail": text,
        }
        frame = pd.DataFrame(found, columns=["row", *kinds], dtype="object").astype(kinds)
        times = pd.to_datetime(frame["at"], unit="s", utc=True).dt.floor("s").dt.as_unit("s")
        return frame.assign(row=labels([row[0] for row in found]), at=times)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts and how to go on, as plain JSON values."""
        counts: dict[str, Any] = {name: getattr(self, name) for name in ("rows", *_OUTCOMES)}
        resumes_at = None if self.resumes_at is None else utc_text(self.resumes_at)
        written = {"journal": self.journal, "not_written": list(self.not_written)}
        return {**counts, "resumes_at": resumes_at, **written}

    def __str__(self) -> str:
        (_, created), *others = self._counts()
        before = created - self.created_now
        parts = (
            [f"{self.created_now:,} created now", f"{before:,} before"]
            if before
            else [f"{created:,} created"]
        )
        parts += [f"{count:,} {name}" for name, count in others]
        text = f"{self.file} → {self.environment}: {pluralize(self.rows, 'row')}: {', '.join(parts)}"
        if self.stopped is not None:
            text += f"; stopped: {self.stopped.why}"
            if self.stopped.resumes_at is not None:
                text += f"; the same call goes on from {utc_text(self.stopped.resumes_at)}"
        if self.not_compared:
            text += (
                f"; the inventory was not compared first, since {pluralize(self.not_compared, 'request')} "
                "did not list all of it, so rows whose animals exist already were not noticed"
            )
        return "; ".join([text, *(f"not written: {file}" for file in self.not_written)])

    __repr__ = __str__

    def _counts(self) -> list[tuple[str, int]]:
        """Return the outcomes of its rows, and how many have each; created ones always."""
        counts = [(name, getattr(self, name)) for name in _OUTCOMES]
        return [(name, count) for name, count in counts if count or name == "created"]

    def _repr_html_(self) -> str:
        note = str(self).partition("; ")[2]
        if self.ambiguous:
            note = f"{pluralize(self.ambiguous, 'row')} for a person to decide. {note}"
        title = f"{self.file} → {self.environment}: {pluralize(self.rows, 'row')}"
        return html_table(title, ("outcome", "rows"), self._counts(), note=note)

    @property
    def unknown_frame(self) -> pd.DataFrame:
        """
        Rows of which nobody knows whether they were created.

        Returns:
            Columns as `frame`, and `candidates` (string: ids of animals that may be the row).
        """
        frame = self.frame
        lost = frame[frame["outcome"] == "unknown"].reset_index(drop=True)
        candidates = [entry.may_be for entry in self.entries if entry.state == "unknown"]  # in the same order
        return lost.assign(candidates=candidates).astype({"candidates": text_dtype()})


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
        f"the result files of {path.name} can be written neither beside it nor in the current folder "
        f"({why}); run the import in another folder"
    )


def _stem(preview: ImportPreview) -> str:
    """Return how the names of the result files begin; those of a sandbox or of staging say so."""
    path, table = preview.options.path, preview.table
    stem = path.stem if path.suffix.casefold() in FORMATS else path.name  # a frame's may have dots
    if table.rejects_of:
        stem = _REJECTED.sub("", stem)  # it names the sheet
    elif len(table.source.names) > 1:
        stem += "." + re.sub(r'[\\/:*?"<>|]', "_", table.source.name)
    mark = "" if preview.environment == "production" else f".{preview.environment}"
    return stem if stem.endswith(mark) else stem + mark


def write(preview: ImportPreview, journal: Journal) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """
    Write what was created, rejected and unknown beside the input, whole or not at all.

    A file of an earlier run is replaced, or removed where it holds nothing any more. One that a person
    changed is left alone, as is the input: the new one gets a number. Where the source is read back from the
    journal, the rejects file is left as it is.

    Args:
        preview: The file as it was checked.
        journal: Its name is carried by the rejects file, so that what is fixed there is created once.

    Returns:
        The files that were written, and what could not be written, and why.
    """
    path, source = preview.options.path, preview.table.source
    try:
        folder = check_folder(path)
    except SheetError as error:
        return (), (str(error),)
    written, failed = [], []
    for outcome, (header, rows) in _contents(preview, journal).items():
        first = folder / f"{_stem(preview)}.{outcome}{source.suffix}"
        try:
            content = source.content(header, rows) if rows else b""
            place = _write(first, path.resolve(), content, journal)
        except (OSError, SheetError) as error:
            why = getattr(error, "strerror", None) or str(error)
            helps = "; close it where it is open" if isinstance(error, PermissionError) else ""
            failed.append(f"{first.name} ({why}{helps})")
        else:
            written += [place] if content else []
    return tuple(written), tuple(failed)


def _write(first: Path, source: Path, content: bytes, journal: Journal) -> Path:
    """Write a file where one of ours is or none, and remove ours where there is nothing to write."""
    ours = journal.written | {_digest(content)}
    numbered = (first.with_name(f"{first.stem}.{number}{first.suffix}") for number in itertools.count(2))
    place = next(
        place
        for place in itertools.chain([first], numbered)
        if place != source and (not place.exists() or _digest(place.read_bytes()) in ours)
    )
    if content:
        journal.note_written(_digest(content))
        replace_file(place, content)
    else:
        place.unlink(missing_ok=True)
    return place


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _contents(preview: ImportPreview, journal: Journal) -> dict[str, tuple[Sequence[str], list[list[str]]]]:
    """Return header and rows of each result file."""
    titles, entries = preview.table.titles, journal.entries()
    created = [(e, [str(e.pet_id)]) for e in entries if e.state == "created"]
    unknown = [(e, [str(e.number), _doubt(e)]) for e in entries if e.state == "unknown"]
    header, rows = _aligned(created, titles)
    unknown_header, unknown_rows = _aligned(unknown, titles)
    contents: dict[str, tuple[Sequence[str], list[list[str]]]] = {
        "created": ([*header, "id" if "id" not in header else "petstore_id"], rows)
    }
    if preview.options.from_journal is None:
        rejects = _rejects(preview, journal.entries(wanted=2), journal.id, len(titles))
        contents["rejected"] = ([*titles, ROW_COLUMN, JOURNAL_COLUMN, PROBLEM_COLUMN], rejects)
    contents["unknown"] = ([*unknown_header, ROW_COLUMN, UNKNOWN_COLUMN], unknown_rows)
    return contents


def _aligned(
    rows: Sequence[tuple[Entry, list[str]]], titles: tuple[str, ...]
) -> tuple[list[str], list[list[str]]]:
    """Return a header, and the cells of rows under the titles they were read with."""
    cells = [
        # version 0.1 noted no titles
        dict(zip(_numbered(e.titles or titles + ("",) * (len(e.cells) - len(titles))), e.cells, strict=False))
        for e, _ in rows
    ]
    columns = dict.fromkeys(itertools.chain(_numbered(titles), *cells))
    aligned = [
        [found.get(column, "") for column in columns] + more
        for found, (_, more) in zip(cells, rows, strict=True)
    ]
    return [title for title, _ in columns], aligned


@cache
def _numbered(titles: tuple[str, ...]) -> list[tuple[str, int]]:
    """Tell columns of the same title apart."""
    return [(title, titles[:at].count(title)) for at, title in enumerate(titles)]


def _doubt(entry: Entry) -> str:
    return _fit(f"{entry.detail}; it may be id {entry.may_be}" if entry.candidates else entry.detail)


def _fit(reason: str) -> str:
    """Cut a reason to what a cell of a spreadsheet holds."""
    return reason if len(reason) <= LONGEST_CELL else reason[: LONGEST_CELL - 1] + "…"


def _rejects(preview: ImportPreview, entries: Sequence[Entry], journal: str, width: int) -> list[list[str]]:
    """Return the rows of the rejects file: no spreadsheet runs their cells as formulas."""
    refused = [(e.number, e.cells, e.detail) for e in entries if e.state == "rejected"]
    refused += [(bad.origin, bad.cells, bad.why) for bad in preview.bad]
    rows = []
    for number, cells, problem in sorted(refused):
        padded = [*cells, *[""] * (width - len(cells))]
        if len(padded) > width:  # they join the last one: nothing is lost, and the row stays a problem
            padded[width - 1 :] = [preview.table.source.delimiter.join(padded[width - 1 :])]
        added = (str(int(number)), journal, _fit(problem))
        rows.append([preview.table.source.escape(cell) for cell in (*padded, *added)])
    return rows
