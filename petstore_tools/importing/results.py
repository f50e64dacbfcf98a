"""
What became of an import: the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from petstore_tools.importing.comparison import Edit
from petstore_tools.importing.entries import OUTCOMES, Entry, outcome_of
from petstore_tools.importing.read_sheet import ReadSheet
from petstore_tools.importing.returned import ReturnedList
from petstore_tools.importing.rows import describe_left_out, group_problems
from petstore_tools.importing.send import Stopped
from petstore_tools.importing.values import FIELDS, RowLeftOut
from petstore_tools.listing.frames import status_dtype, text_dtype
from petstore_tools.tabular.sources import row_label, row_labels
from petstore_tools.text import html_table, pluralize, some_of, utc_text

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ImportResult:
    """
    What became of every row of a file, earlier runs included.

    >>> store.import_pets("animals.csv", progress=False)
    animals.csv → sandbox: 10 rows: 10 created; go on with animals.sandbox.imported.csv

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
        list_file: Your list as it came back, to go on with; None if there is no file.
        notes: What else should be known.
        not_written: Why the list could not be written, "" if it was; the same call
            writes it.
        entries: What became of each row that is an animal, in the order of the file.
        rows_left_out: Rows that are left out because of the sheet.
        edits: Rows whose animal is known by its id or its key, with other values.
        returned: The list with its ids and notes.
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
    list_file: Path | None
    notes: tuple[str, ...]
    not_written: str
    entries: tuple[Entry, ...]
    rows_left_out: tuple[RowLeftOut, ...]
    edits: tuple[Edit, ...]
    returned: ReturnedList

    @property
    def list(self) -> pd.DataFrame:
        """
        Your list as it comes back, to go on with.

        >>> pets = pd.DataFrame({"name": ["Rex", "Mia"], "categoryId": [3, "cats"]})
        >>> result = store.import_pets(pets, name="pets", progress=False)
        >>> result.list["petstore_id"].isna().tolist()
        [False, True]

        Returns:
            Each row that is not empty, in its order, with the columns of the source,
            `petstore_id` (Int64), and `petstore_note` (text): a sentence about a row
            that is not an animal as the row says, else "".
        """
        return self.returned.frame

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
            "list": self.list_file and self.list_file.name,
            "not_written": self.not_written,
            "notes": [*self.notes, *self._doubt()],
            "edits": [*map(str, self.edits)],
            "rows_left_out": [
                {"row": str(row_label(row.number)), "reason": row.reason}
                for row in self.rows_left_out
            ],
        }

    def _repr_html_(self) -> str:
        rows = [(outcome_of(OUTCOMES[name]), n) for name, n in self._counts().items()]
        if earlier := self.created - self.created_now:
            rows.insert(1, ("of these, created before", earlier))
        return html_table(("", ""), rows, self._title, ". ".join(self._remarks()))

    @property
    def _title(self) -> str:
        return f"{self.file} → {self.environment}: {pluralize(self.rows, 'row')}"

    def _counts(self) -> dict[str, int]:
        counts = {name: getattr(self, name) for name in OUTCOMES}
        return {name: n for name, n in counts.items() if n or name == "created"}

    def __str__(self) -> str:
        parts = [
            f"{count:,} {outcome_of(OUTCOMES[name])}"
            for name, count in self._counts().items()
        ]
        if earlier := self.created - self.created_now:
            parts[0] = f"{self.created_now:,} created now, {earlier:,} before"
        return "; ".join([f"{self._title}: {', '.join(parts)}", *self._remarks()])

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

    def _remarks(self) -> Sequence[str]:
        """Return what should be known beside the counts."""
        remarks = [] if self.stopped is None else [f"stopped: {self.stopped.reason}"]
        if self.resumes_at is not None:
            remarks.append(f"the same call goes on from {utc_text(self.resumes_at)}")
        remarks += self.notes
        problems = [problem for row in self.entries for problem in row.problems]
        remarks += [f"problem: {fix}" for fix in some_of(group_problems(problems))]
        left_out = describe_left_out(self.rows_left_out)
        remarks += [f"left out, {text}" for text in left_out]
        if self.not_written:
            remarks.append(f"the list could not be written: {self.not_written}")
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
        if self.list_file:
            remarks.append(f"go on with {self.list_file.name}")
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
