"""What became of an import: the result, and the files beside the input."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from petstore_tools import render, spec
from petstore_tools.adapters import sheets
from petstore_tools.bulk.preview import Checked
from petstore_tools.bulk.send import Stopped
from petstore_tools.core.journal import Entry, Held
from petstore_tools.core.rows import RowProblem
from petstore_tools.words import counted, utc_text

if TYPE_CHECKING:
    import pandas as pd


_FATES: Final = {
    "row": "int64",
    "name": "str",
    "categoryId": "Int64",
    "status": None,
    "fate": "str",
    "id": "Int64",
    "at": None,
    "detail": "str",
}


@dataclass(frozen=True)
class ImportResult:
    """
    What became of every row of a file, earlier runs included.

    Attributes:
        file: Name of the file.
        environment: Where it went.
        rows: Rows below the header, blank ones left out; the sum of the six that follow.
        created: Stand in the service.
        rejected: Have a problem, or were refused by the service.
        unknown: May stand or not; not sent again before a look settles them.
        ambiguous: Of these, rows that a look could not settle: a person decides.
        pending: Not sent yet.
        held: Look like created rows edited since; not sent.
        skipped: Left out as asked: equal to an earlier row, or created by another import.
        created_now: Created by this run.
        requests: Requests of this run.
        stopped: Why it ended early, None where it did not.
        journal: Name of the journal.
        files: Result files that were written.
    """

    file: str
    environment: str
    rows: int
    created: int
    rejected: int
    unknown: int
    ambiguous: int
    pending: int
    held: int
    skipped: int
    created_now: int
    requests: int
    stopped: Stopped | None
    journal: str
    files: tuple[Path, ...]
    entries: tuple[Entry, ...] = field(repr=False, default=())
    problems: tuple[RowProblem, ...] = field(repr=False, default=())
    held_rows: tuple[Held, ...] = field(repr=False, default=())

    @property
    def resumes_at(self) -> float | None:
        """Unix seconds from which the same call goes on, None where nothing waits for a time."""
        return None if self.stopped is None else self.stopped.resumes_at

    @property
    def complete(self) -> bool:
        """Whether every row was created, or left out as asked."""
        return self.created + self.skipped == self.rows

    @property
    def frame(self) -> pd.DataFrame:
        """
        Every row and its fate.

        Returns:
            Columns `row` (int64), `name` (string), `categoryId` (Int64), `status` (ordered category),
            `fate` (string: created, rejected, unknown, pending, held), `id` (Int64), `at` (datetime64,
            UTC: when the fate was known), `detail` (string), by row. A row with problems has no values,
            since they could not be read, and no time.
        """
        import pandas as pd

        fates: list[tuple[Any, ...]] = [
            (e.number, *e.content, e.state, e.pet_id, e.changed_at, e.detail) for e in self.entries
        ]
        fates += [(h.row.number, *h.row.content, "held", None, None, str(h)) for h in self.held_rows]
        fates += [
            (row, None, None, None, "rejected", None, None, why)
            for row, why in _by_row(self.problems).items()
        ]
        fates.sort(key=lambda fate: fate[0])
        frame = pd.DataFrame(fates, columns=list(_FATES), dtype="object")
        times = pd.to_datetime(frame.pop("at").astype("float64"), unit="s", utc=True)
        frame = frame.astype({name: kind for name, kind in _FATES.items() if kind is not None})
        status = pd.CategoricalDtype(list(spec.STATUSES), ordered=True)
        frame["status"] = frame["status"].astype(status)
        frame.insert(6, "at", times.dt.floor("s").dt.as_unit("s"))
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Return the counts and how to go on, as plain JSON values."""
        names = ("rows", "created", "rejected", "unknown", "pending", "held")
        counts: dict[str, Any] = {name: getattr(self, name) for name in names}
        resumes_at = None if self.resumes_at is None else utc_text(self.resumes_at)
        return {**counts, "resumes_at": resumes_at, "journal": self.journal}

    def __str__(self) -> str:
        told = ", ".join(f"{count:,} {name}" for name, count in self._fates())
        text = f"{self.file} → {self.environment}: {counted(self.rows, 'row')}: {told}"
        if self.stopped is not None:
            text += f"; stopped: {self.stopped.why}"
            if self.stopped.resumes_at is not None:
                text += f"; the same call goes on from {utc_text(self.stopped.resumes_at)}"
        return text

    __repr__ = __str__

    def _fates(self) -> list[tuple[str, int]]:
        """Return the fates that rows met, and how many; created ones always."""
        names = ("created", "rejected", "unknown", "pending", "held", "skipped")
        return [(name, getattr(self, name)) for name in names if getattr(self, name) or name == "created"]

    def _repr_html_(self) -> str:
        note = str(self).partition("; ")[2]
        if self.ambiguous:
            note = f"{counted(self.ambiguous, 'row')} for a person to decide. {note}"
        title = f"{self.file} → {self.environment}: {counted(self.rows, 'row')}"
        return render.html_table(title, ("fate", "rows"), self._fates(), note=note)

    @property
    def unknown_frame(self) -> pd.DataFrame:
        """
        Rows that may stand or not.

        Returns:
            Columns as `frame`, and `candidates` (string: ids of animals that may be the row).
        """
        frame = self.frame
        ids = {entry.number: entry.may_be for entry in self.entries}
        lost = frame[frame["fate"] == "unknown"].reset_index(drop=True)
        return lost.assign(candidates=[ids.get(row, "") for row in lost["row"]]).astype({"candidates": "str"})


def _by_row(problems: Iterable[RowProblem]) -> dict[int, str]:
    found: dict[int, str] = {}
    for problem in problems:
        found[problem.row] = "; ".join(filter(None, (found.get(problem.row), str(problem))))
    return found


def write(
    path: Path, checked: Checked, entries: Sequence[Entry], *, wanted: Sequence[Entry], journal: str
) -> tuple[Path, ...]:
    """
    Write what was created, rejected and unknown beside the input, whole or not at all.

    Args:
        path: The input; where its folder cannot be written, the current folder is used.
        checked: The file as it was checked.
        entries: All rows of the journal.
        wanted: Those that the file holds.
        journal: Its name, carried by the rejects file so that what is fixed there is created once.

    Returns:
        The files that were written.
    """
    table = checked.table
    header = list(table.titles)
    folder = path.resolve().parent if os.access(path.resolve().parent, os.W_OK) else Path.cwd()
    stem = (
        path.stem if path.suffix.casefold() in sheets.FORMATS else path.name
    )  # a frame's name may have dots
    stem = stem.removesuffix(".rejected") if table.rejects_of else stem
    if len(table.sheets) > 1:
        stem += "." + re.sub(r'[\\/:*?"<>|]', "_", table.sheet)
    ours = [sheets.ROW_COLUMN, sheets.JOURNAL_COLUMN]
    created = [e for e in entries if e.state == "created"]
    created_header, created_cells = _aligned(created, table.titles)
    id_name = "id" if "id" not in created_header else "petstore_id"
    unknown = [e for e in entries if e.state == "unknown"]
    unknown_header, unknown_cells = _aligned(unknown, table.titles)
    contents: dict[str, tuple[list[str], list[list[str]]]] = {
        "created": (
            [*created_header, id_name],
            [[*cells, str(e.pet_id)] for e, cells in zip(created, created_cells, strict=True)],
        ),
        "rejected": (
            [*header, *ours, sheets.PROBLEM_COLUMN],
            _rejects(checked, wanted, journal, len(header)),
        ),
        "unknown": (
            [*unknown_header, sheets.ROW_COLUMN, sheets.UNKNOWN_COLUMN],
            [[*cells, str(e.number), _doubt(e)] for e, cells in zip(unknown, unknown_cells, strict=True)],
        ),
    }
    written: list[Path] = []
    for fate, (columns, rows) in contents.items():
        place = folder / f"{stem}.{fate}{table.source.suffix}"
        if fate == "rejected" and place.exists() and place != path.resolve():
            shutil.copy2(place, place.with_name(place.name + ".bak"))  # corrections may stand in it
        if rows or place.exists():
            table.source.write(place, columns, rows)
            written.append(place)
    return tuple(written)


def _aligned(entries: Sequence[Entry], titles: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Return a header, and the cells of rows under the titles they had when they were read."""
    columns = {key: None for had in (titles, *{e.titles: None for e in entries}) for key in _numbered(had)}
    rows = []
    for entry in entries:
        cells = dict(zip(_numbered(entry.titles or titles), entry.cells, strict=False))
        rows.append([cells.get(column, "") for column in columns])
    return [title for title, _ in columns], rows


def _numbered(titles: Sequence[str]) -> list[tuple[str, int]]:
    """Tell columns of the same title apart."""
    return [(title, titles[:at].count(title)) for at, title in enumerate(titles)]


def _doubt(entry: Entry) -> str:
    return f"{entry.detail}; it may be id {entry.may_be}" if entry.candidates else entry.detail


def _rejects(checked: Checked, entries: Sequence[Entry], journal: str, width: int) -> list[list[str]]:
    """Return the rows of the rejects file: cells guarded against being run as formulas."""
    table = checked.table
    refused = [(e.number, e.cells, e.detail) for e in entries if e.state == "rejected"]
    why = _by_row(checked.problems)
    refused += [(first, tuple(cells), why[here]) for here, first, cells in table.cells(set(why))]
    rows = []
    for number, cells, problem in sorted(refused):
        padded = [*cells, *[""] * (width - len(cells))]
        if len(padded) > width:  # they join the last one: nothing is lost, and the row is not mended unseen
            padded[width - 1 :] = [table.source.separator.join(padded[width - 1 :])]
        rows.append([table.source.guard(cell) for cell in (*padded, str(number), journal, problem)])
    return rows
