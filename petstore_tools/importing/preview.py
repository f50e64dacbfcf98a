"""
What an import would do, in facts and in words: every problem of the file, and the cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from petstore_tools.importing.comparison import Comparison, Edit
from petstore_tools.importing.imports import Target
from petstore_tools.importing.read_sheet import NOT_SENT, ReadSheet, origin_of
from petstore_tools.importing.rows import Fix, describe_left_out, group_problems
from petstore_tools.importing.values import ABOVE, RowProblem
from petstore_tools.listing.frames import text_dtype
from petstore_tools.tabular.sources import row_label, row_labels
from petstore_tools.text import (
    first_of,
    html_table,
    option,
    pluralize,
    quoted,
    some_of,
    wrap,
)
from petstore_tools.throttle.quota import Forecast

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 10  # lines about one thing
_FACTS = (
    "file environment host rows to_send unsent bad_rows created unknown refusal"
).split()
_SKIP = option("doubtful", "skip")
_SEND = option("doubtful", "send")


class DoubtfulRow(NamedTuple):
    """A row that could make an animal a second time, and why."""

    row: int
    name: str
    reason: str
    because: str

    def __str__(self) -> str:
        return f"row {self.row} {quoted(self.name)}: {self.reason}: {self.because}"


@dataclass(frozen=True, repr=False)
class ImportPreview:
    """
    What an import will do, before it does it.

    >>> preview = store.preview_import("animals.csv")
    >>> preview.rows, preview.to_send, preview.bad_rows
    (10, 10, 0)

    Attributes:
        sheet: What was read.
        target: The name of its import, and the place it goes to.
        host: Where it would go.
        to_send: Animals that would be created.
        unsent: Rows that are left to send, later ones included.
        comparison: What the journal has of each row.
        notes: What was found and should be known.
        forecast: Requests, days, finishing time.
        is_affordable: False where the listing makes the import end a day later, and
            `wait` is not set.
    """

    __module__ = "petstore_tools"

    sheet: ReadSheet
    target: Target
    host: str
    to_send: int
    unsent: int
    comparison: Comparison
    notes: tuple[str, ...]
    forecast: Forecast
    is_affordable: bool

    @property
    def environment(self) -> str:
        """Where it would go."""
        return self.target.environment

    @property
    def file(self) -> str:
        """What it reads."""
        return self.sheet.file

    @property
    def problems(self) -> tuple[RowProblem, ...]:
        """Why rows cannot be sent, by row."""
        return self.sheet.problems

    @property
    def edits(self) -> Sequence[Edit]:
        """Rows whose animal is known, with other values."""
        return self.comparison.edits

    @property
    def created(self) -> int:
        """Rows that were created, or that have an id."""
        return self.comparison.states["created"]

    @property
    def unknown(self) -> int:
        """Rows of which an earlier run could not tell whether they were created."""
        states = self.comparison.states
        return states["unknown"] + states["sending"]

    @property
    def told_apart(self) -> str:
        """By what rows are told apart."""
        columns = self.sheet.layout.columns
        label = self.sheet.layout.label
        by_key = "row_key" in columns
        if "petstore_id" in columns:
            return "their petstore_id" + (", else their row key" if by_key else "")
        if by_key:
            return f"their row key, column {label(columns['row_key'])}"
        better = f"a column petstore_id, or {self._key_option}"
        return f"name, category and status ({better}, tells them apart for good)"

    @property
    def _key_option(self) -> str:
        """How a row key is named: a column `id` of the office's own may be it."""
        return option("row_key", "…" if self.sheet.layout.id_column is None else "id")

    @property
    def rows(self) -> int:
        """Rows below the header that are not empty."""
        below = [row for row in self.sheet.rows_left_out if row.kind != ABOVE]
        return len(self.sheet.rows) + len(below)

    @property
    def bad_rows(self) -> int:
        """Rows that cannot be sent, and that are animals."""
        return len(self.sheet.problem_rows)

    @property
    def doubtful(self) -> pd.DataFrame:
        """
        The doubtful rows.

        Returns:
            Columns `row` (int64, or the label), `name`, `reason`, `because` (text), by
            row.
        """
        return _frame(DoubtfulRow, self._doubtful())

    def _doubtful(self) -> list[DoubtfulRow]:
        rows = []
        for index, doubt in self.comparison.doubts.items():
            row = self.sheet.rows_to_send[index]
            because = doubt.because
            if doubt.reason == "equal" and row.content != doubt.entry.content:
                because += f"; this row is {row.content}"
            if row.row_key and doubt.entry.key not in ("", row.row_key):
                because += f"; its key is {row.row_key}, that one's {doubt.entry.key}"
            rows.append(
                DoubtfulRow(row.number, row.content.name, doubt.reason, because)
            )
        return rows

    def _question(self) -> list[str]:
        """Return what a person is asked about the doubtful rows, by paragraph."""
        doubts = self.comparison.doubts.values()
        lines = [f"{_SKIP} leaves these rows out, {_SEND} creates them."]
        if any(map(self.comparison.may_be_renamed, doubts)):
            lines.append(
                f"Of a row with the same row key, {_SKIP} says that it is the same"
                f" animal with another name, {_SEND} that it is another animal."
            )
        lines.append(
            "The service cannot change an animal: a new name or status is not sent."
        )
        lines.append(f"To avoid this question, {self._cure}.")
        if not all(entry.waits for entry in self.comparison.entries):
            name = option("name", "…")
            lines.append(f"If this is another list, give it a name of its own: {name}.")
        if self.environment != "sandbox":  # its journal ends with the program
            lines.append(
                "To send single rows, answer skip. Then type petstore-tools imports"
                f" reconcile {self.target.id} --row N --absent (for more rows, repeat"
                " --row N; 2 is the first row of a DataFrame), and import again."
            )
        return lines

    @property
    def _cure(self) -> str:
        """What to do so that edits of rows are told without a question."""
        cures = []
        if "petstore_id" not in self.sheet.layout.columns:
            cures.append("go on with the list that comes back, which has the ids")
        if "row_key" not in self.sheet.layout.columns:
            cures.append(
                "import each new list with a column that tells its rows apart:"
                f" {self._key_option}"
            )
        return ", or ".join(cures) or "change no key"

    @property
    def doubt(self) -> str:
        """Which rows are doubtful and why, and what a person is asked about them."""
        rows = pluralize(len(self.comparison.doubts), "row")
        title = f"{rows} of {self.file} may exist already:"
        doubtful_rows = [wrap(row, "  ") for row in some_of(self._doubtful(), SHOWN)]
        return "\n".join([title, *doubtful_rows, *map(wrap, self._question())])

    @cached_property
    def refusal(self) -> str:
        """Why nothing is sent as asked, and what to choose; "" where it can go."""
        options = self.sheet.options
        if question := self.sheet.layout.question_of_sheet:
            return f"nothing was created: {question}"
        if options.strict and self.bad_rows:
            first_row = self.sheet.problem_rows[0]
            return (
                f"{self.bad_rows:,} of {self.rows:,} rows in {self.file} cannot be"
                " sent, and strict is set. Nothing was created. First:"
                f" {first_row.problems[0]}"
            )
        origin = origin_of(self.sheet)
        if origin and origin[1] != self.environment and self.comparison.ids:
            return (
                f"{self.file} came back from {origin[1]}, and this import goes to"
                f" {self.environment} ({self.host}), which has other ids. Nothing was"
                f" created. Import {origin[0].name} in its place"
            )
        if not self.is_affordable:
            return (
                "comparing the rows with the animals that exist takes"
                f" {pluralize(self.forecast.baseline, 'request')}, so the import would"
                f" end a day later. Nothing was created. {option('wait', True)} waits"
                " for it"
            )
        return ""

    @cached_property
    def groups(self) -> list[Fix]:
        """The problems, grouped by what fixes them."""
        return group_problems(self.problems)

    @property
    def fixes(self) -> pd.DataFrame:
        """
        What fixes the problems; a row that has several stands in several lines.

        >>> pets = pd.DataFrame({"name": ["Rex", "Mia"], "categoryId": ["cats", "2a"]})
        >>> store.preview_import(pets, name="pets").fixes[["rows", "column", "rule"]]
           rows column                         rule
        0     2      B  is not the id of a category

        Returns:
            Columns `rows` (int64: how many), `row` (int64, or a label: the first),
            `numbers` (of more rows), `column`, `field`, `values` (the most frequent
            cells), `rule`, `help` (text); the one with the most rows first.
        """
        return _frame(Fix, self.groups).astype({"rows": "int64"})

    def to_dict(self) -> dict[str, Any]:
        """
        Return the preview as JSON values: the counts, each problem, what fixes them,
        and the forecast.

        >>> store.preview_import("animals.csv").to_dict()["header"]
        "row 1: 'name', 'categoryId', 'status'"
        """
        tables: dict[str, Sequence[Any]] = {
            "doubtful": self._doubtful(),
            "edits": self.edits,
            "problems": self.problems,
            "fixes": self.groups,
        }
        return {
            **{name: getattr(self, name) for name in _FACTS},
            "journal": self.target.id,
            "blank": self.sheet.blank,
            "duplicates": len(self.comparison.duplicates),
            "removed": self.comparison.removed,
            "skipped": self.comparison.states["skipped"],
            **{
                name: [
                    thing._asdict() | {"row": str(row_label(thing.row))}
                    for thing in things
                ]
                for name, things in tables.items()
            },
            "matches": [*map(asdict, self.sheet.matches)],
            "notes": list(self.notes),
            "header": self.sheet.layout.header_line,
            "filled": [column._asdict() for column in self.sheet.columns],
            "left_out": [
                {"row": str(row_label(row.number)), "reason": row.reason}
                for row in self.sheet.rows_left_out
            ],
            "questions": self.sheet.questions,
            "forecast": asdict(self.forecast),
        }

    def _repr_html_(self) -> str:
        lines = self._lines()
        if self._is_done:
            lines = [("rows", line) for line in (*self._counts(), *self.notes)]
        call = self.sheet.questions
        copied = f"<pre>{escape(call)}</pre>" if call else ""
        return html_table(("", ""), lines, self._title) + copied

    @property
    def _title(self) -> str:
        return f"{self.file} → {self.environment} ({self.host})"

    def __str__(self) -> str:
        if self._is_done:
            return f"{self._title}: {'; '.join([*self._counts(), *self.notes])}"
        lines = [wrap(line, f"  {name:<9} ") for name, line in self._lines()]
        return "\n".join(filter(None, [self._title, *lines, self.sheet.questions]))

    __repr__ = __str__

    @property
    def _is_done(self) -> bool:
        """Whether there is nothing to send, to find out or to decide."""
        is_open = self.to_send or self.bad_rows or self.unknown or self.refusal
        return not (is_open or self.comparison.doubts or self.edits)

    def _counts(self) -> list[str]:
        comparison = self.comparison
        is_sent = self.to_send and not self.sheet.options.drop_duplicates
        duplicates = comparison.duplicates if is_sent else ()
        numbers = first_of(duplicates, SHOWN)
        left_out = describe_left_out(self.sheet.rows_left_out)
        noun = "duplicate" if len(duplicates) == 1 else "duplicates"
        equal = (
            f"{noun} (name, category and status of an earlier row), sent all the"
            f" same ({option('drop_duplicates', True)} leaves them out): row {numbers}"
        )
        counts = {
            "left for the same call without " + option("first"): (
                self.unsent - self.to_send
            ),
            "doubtful: may exist already": len(comparison.doubts),
            "created already": self.created,
            "edited: nothing is sent, since the service cannot change an animal": (
                len(self.edits)
            ),
            "unknown: the run finds out whether they were created": self.unknown,
            "left out as doubtful before": comparison.states["skipped"],
            "sent and no longer in the file": comparison.removed,
            equal: len(duplicates),
            **{f"left out, {text}": count for text, count in left_out.items()},
            "blank, skipped": self.sheet.blank,
        }
        lines = [f"{count:,} {meaning}" for meaning, count in counts.items() if count]
        can_be_doubtful = self.sheet.options.doubtful != "send"
        # rows may be left out when the inventory was listed
        is_upper_bound = comparison.needs_listing and can_be_doubtful
        at_most = "at most " if is_upper_bound else ""
        parts = [f"{at_most}{self.to_send:,} to send"] if self.to_send else []
        if self.bad_rows:
            parts.append(f"{self.bad_rows:,} with problems")
        return [", ".join(parts) or "nothing to send", *lines]

    def _lines(self) -> list[tuple[str, str]]:
        """Return what it says, line by line, with what each is about."""
        sheet = self.sheet
        layout = sheet.layout
        sums, *counts = self._counts()
        is_plain = layout.header_row == 1 and layout.has_header
        fields = [column for column in sheet.columns if column.becomes != NOT_SENT]
        unsent = [column.label for column in sheet.columns if column not in fields]
        doubtful_rows = self._doubtful()
        parts: dict[str, Sequence[object]] = {
            "header": [] if is_plain else [layout.header_line],
            "column": fields,
            "not sent": [first_of(unsent, SHOWN)],
            "first": [
                f"row {row.number}: {row.content}" for row in sheet.rows_to_send[:1]
            ],
            "rows": [f"{self.rows:,}: {sums}", *counts],
            "told apart by": [self.told_apart],
            "note": self.notes,
            "read as": sheet.matches,
            "problem": self.groups,
            "edited": self.edits,
            "forecast": [self.forecast] if self.to_send else [],
            "doubtful": doubtful_rows,
            "question": self._question()[:1] if doubtful_rows else [],
            "refused": [self.refusal],
        }
        return [
            (name, line)
            for name, lines in parts.items()
            for line in some_of(lines, SHOWN)
            if line
        ]


def _frame(kind: type[NamedTuple], rows: Sequence[Any]) -> pd.DataFrame:
    """Return tuples as a frame of texts, with the number or the label of each row."""
    import pandas as pd

    frame = pd.DataFrame(rows, columns=[*kind._fields], dtype="object")
    return frame.astype(text_dtype()).assign(row=row_labels([row.row for row in rows]))
