"""What became of an import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from petstore_tools import spec
from petstore_tools.importing.matching import Held
from petstore_tools.importing.row_states import Entry
from petstore_tools.importing.send import Stopped
from petstore_tools.importing.values import BadRow, RowProblem
from petstore_tools.listing.frames import text_dtype
from petstore_tools.tabular.frames import labels
from petstore_tools.text import html_table, pluralize, utc_text

if TYPE_CHECKING:
    import pandas as pd


OUTCOMES: Final = ("created", "rejected", "unknown", "unsent", "held", "skipped")


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
        not_compared: Whether the baseline would have taken too many requests, so that rows whose
            animals exist already were not noticed.
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
    not_compared: bool = False
    not_written: tuple[str, ...] = ()
    entries: tuple[Entry, ...] = field(repr=False, default=())
    bad: tuple[BadRow, ...] = field(repr=False, default=())
    held_rows: tuple[Held, ...] = field(repr=False, default=())
    fields: Mapping[str, int] = field(repr=False, default_factory=dict)

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
            Columns `row` (int64, or the label), `name` (text), `categoryId` (Int64), `status`
            (ordered category), `outcome` (text: created, rejected, unknown, unsent, held, skipped),
            `id` (Int64),
            `at` (datetime64, UTC: when the outcome was known), `detail` (text), `candidates` (text:
            ids of animals that may be an unknown row), by row. A row with problems has its name as
            typed and no time; what was typed for the others is in `typed_category` and
            `typed_status` (text).
        """
        import pandas as pd

        found: list[tuple[Any, ...]] = [
            (e.number, *e.content, e.state, e.pet_id, e.changed_at, e.detail, e.may_be or None)
            for e in self.entries
        ]
        found += [
            (h.row.number, *h.row.content, "held", None, None, str(h), None) for h in self.held_rows
        ]
        found = [(*row, None, None) for row in found]
        for bad in self.bad:
            name, *typed = (self._typed(bad, field) for field in spec.NEW_PET_FIELDS)
            found.append(
                (bad.number, name, None, None, "rejected", None, None, bad.why, None, *typed)
            )
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
            "candidates": text,
            "typed_category": text,
            "typed_status": text,
        }
        frame = pd.DataFrame(found, columns=["row", *kinds], dtype="object").astype(kinds)
        times = pd.to_datetime(frame["at"], unit="s", utc=True).dt.floor("s").dt.as_unit("s")
        return frame.assign(row=labels([row[0] for row in found]), at=times)

    def _typed(self, bad: BadRow, field: str) -> str | None:
        at = self.fields.get(field, len(bad.cells))
        return str(bad.cells[at]) if at < len(bad.cells) else None

    def to_dict(self) -> dict[str, Any]:
        """Return the counts and how to go on, as plain JSON values."""
        counts: dict[str, Any] = {name: getattr(self, name) for name in ("rows", *OUTCOMES)}
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
        text = (
            f"{self.file} → {self.environment}: {pluralize(self.rows, 'row')}: {', '.join(parts)}"
        )
        if self.stopped is not None:
            text += f"; stopped: {self.stopped.why}"
            if self.stopped.resumes_at is not None:
                text += f"; the same call goes on from {utc_text(self.stopped.resumes_at)}"
        if self.not_compared:
            text += (
                "; the rows were not compared with the animals that existed, as listing these "
                "takes many "
                "requests, so rows whose animals existed already were not noticed"
            )
        return "; ".join([text, *(f"not written: {file}" for file in self.not_written)])

    __repr__ = __str__

    def _counts(self) -> list[tuple[str, int]]:
        """Return the outcomes of its rows, and how many have each; created ones always."""
        counts = [(name, getattr(self, name)) for name in OUTCOMES]
        return [(name, count) for name, count in counts if count or name == "created"]

    def _repr_html_(self) -> str:
        note = str(self).partition("; ")[2]
        if self.ambiguous:
            note = f"{pluralize(self.ambiguous, 'row')} for a person to decide. {note}"
        if self.files:
            note += f" Files: {', '.join(path.name for path in self.files)}."
        title = f"{self.file} → {self.environment}: {pluralize(self.rows, 'row')}"
        return html_table(title, ("outcome", "rows"), self._counts(), note=note)
