"""What an import would do, in facts and in words: every problem of the file, and the cost."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from petstore_tools.importing.doubtful import Doubt, Entry
from petstore_tools.importing.journal import Target
from petstore_tools.importing.options import ImportOptions
from petstore_tools.importing.sheet import ASKED, Table
from petstore_tools.importing.titles import FIELDS
from petstore_tools.importing.values import BadRow, LeftOut, Match, Row, RowProblem
from petstore_tools.listing.frames import text_dtype
from petstore_tools.tabular.cells import column_letter
from petstore_tools.tabular.frames import labels
from petstore_tools.text import first_of, html_table, option, pluralize, printable, quoted, some_of
from petstore_tools.throttle.quota import Forecast

if TYPE_CHECKING:
    import pandas as pd

LINES: Final = 15  # of problems
_FEW: Final = 5  # rows that a line shows, and values of theirs


@dataclass(frozen=True)
class Fix:
    """
    Rows that one decision fixes.

    Attributes:
        rows: How many.
        row: The first.
        numbers: The first of them in words.
        column: Letter, "" where whole rows are meant.
        field: `name`, `categoryId`, `status`, or "".
        values: Cells as typed, the most frequent first, in words.
        rule: What is wrong, as the rest of a sentence about one cell or row.
        help: What fixes it.
    """

    rows: int
    row: int
    numbers: str
    column: str
    field: str
    values: str
    rule: str
    help: str

    def __str__(self) -> str:
        rows = f"{pluralize(self.rows, 'row')} ({self.numbers})"
        cells = f"column {self.column}" + (f" ({self.values})" if self.values else "")
        return f"{rows}: {cells if self.column else 'the row'} {self.rule} → {self.help}"


def group(problems: Iterable[RowProblem]) -> list[Fix]:
    """Group the first problem of each row by column, rule and help; the largest group first."""
    groups: dict[tuple[str, ...], list[RowProblem]] = defaultdict(list)
    for problem in problems:
        groups[problem.column, problem.field, problem.rule, problem.suggestion].append(problem)
    fixes = []
    for (column, field, rule, help_), found in groups.items():
        numbers = [problem.row for problem in found]
        typed = Counter(problem.value for problem in found if problem.value.strip())
        values = first_of([quoted(value) for value, _ in typed.most_common()], _FEW)
        row = first_of(numbers, _FEW)
        fixes.append(Fix(len(found), numbers[0], row, column, field, values, rule, help_))
    return sorted(fixes, key=lambda fix: -fix.rows)


@dataclass(frozen=True)
class DoubtfulRow:
    """A row that could make an animal a second time, and why."""

    row: int
    name: str
    reason: str
    because: str

    def __str__(self) -> str:
        return f"row {self.row} {quoted(self.name)}: {self.reason}: {self.because}"


SHOWN: Final = 10  # doubtful rows, and those left out
COLUMNS: Final = 30  # of the file that are shown
SAMPLES: Final = 3  # values of each
MATCHES: Final = 30  # values that were read differently from what was typed
_COUNTS: Final = (
    "file",
    "environment",
    "host",
    "journal",
    "columns",
    "rows",
    "to_send",
    "bad_rows",
    "created",
    "unknown",
    "skipped",
    "duplicates",
    "dropped",
    "removed",
    "blank",
    "refusal",
)
_SKIP: Final = option('doubtful="skip"')
_SEND: Final = option('doubtful="send"')


@dataclass(frozen=True, repr=False)
class Source:
    """
    A source read to its end.

    Attributes:
        options: What is imported, and how.
        table: The sheet.
        target: What its import is for.
        good: Rows that can be sent, in the sheet's order.
        bad: Rows that cannot.
        left_out: Rows that are not empty and not imported, each with the reason.
        blank: Empty rows, skipped.
        matches: Each distinct cell that is read differently from what was typed, the most frequent
            first.
    """

    options: ImportOptions
    table: Table
    target: Target
    good: tuple[Row, ...]
    bad: tuple[BadRow, ...]
    left_out: tuple[LeftOut, ...]
    blank: int
    matches: tuple[Match, ...]

    @property
    def file(self) -> str:
        """Name of the file, and of the sheet where there are several."""
        name = self.target.path.name
        sheet = self.table.source
        return f"{name} ({sheet.name})" if len(sheet.names) > 1 else name

    @property
    def filled(self) -> list[dict[str, Any]]:
        """For each column of the file: how often it is filled, and what becomes of it."""
        used = {at: of for of, at in self.table.columns.columns.items()}
        rows = [row.cells for row in self.good] + [row.cells for row in self.bad]
        found = []
        for at, title in enumerate(self.table.columns.header[:COLUMNS]):
            cells = [cells[at] for cells in rows if len(cells) > at and cells[at].strip()]
            samples = [str(cell) for cell in islice(dict.fromkeys(cells), SAMPLES)]
            facts = {"column": column_letter(at), "title": str(title), "filled": len(cells)}
            if title.strip() or cells:
                found.append({**facts, "values": samples, "becomes": used.get(at, "not sent")})
        return found

    @cached_property
    def questions(self) -> str:
        """The call and the command with everything that needs an answer, "" where nothing does."""
        asked = ASKED & {problem.rule for problem in self.problems}
        return self.table.questions() if asked or self.table.columns.proposals else ""

    @property
    def bad_rows(self) -> int:
        """Rows that cannot be sent."""
        return len(self.bad)

    @property
    def problems(self) -> tuple[RowProblem, ...]:
        """Why rows cannot be sent, by row."""
        return tuple(problem for row in self.bad for problem in row.problems)


@dataclass(frozen=True, repr=False)
class ImportPreview(Source):
    """
    What an import will do, before it does it.

    Attributes:
        environment, host: Where it would go.
        file, columns: What it reads, and which column is which field.
        rows: Rows below the header, blank ones left out.
        to_send: Animals that would be created.
        unsent: Rows that are left to send, later ones included.
        created: Rows that earlier runs of this import created.
        unknown: Rows of which an earlier run could not tell whether they were created; they are not
            sent.
        skipped: Rows that were left out as doubtful.
        sent: Rows that count as sent already by this import.
        removed: Of those, rows that the file does not hold any more.
        problems, bad_rows: Why rows cannot be sent, and how many cannot.
        duplicates: Rows that share their three values with an earlier row.
        dropped: Of these, rows left out as asked.
        known: What the journal has of each row, None for a new one.
        doubts: Why rows are doubtful, by their place in `good`, in its order.
        doubtful: The same as a frame.
        lists: Whether the inventory is listed before anything is sent.
        matches: Each distinct cell that is read differently from what was typed, with its count.
        fixes, problems_frame: The problems by what fixes them, and each one.
        blank: Empty rows, skipped.
        notes: What was found and should be known.
        forecast: Requests, days, finishing time.
        alone: The same without a listing.
        refusal: Why nothing is sent as asked, and what to choose; "" where it can go.
        journal: Name of the import in the journal.
    """

    host: str
    to_send: int
    unsent: int
    created: int
    unknown: int
    skipped: int
    sent: int
    removed: int
    duplicates: int
    dropped: int
    known: tuple[Entry | None, ...]
    doubts: Mapping[int, Doubt]
    lists: bool
    notes: tuple[str, ...]
    forecast: Forecast
    alone: Forecast

    @property
    def environment(self) -> str:
        """Where it would go."""
        return self.target.environment

    @property
    def journal(self) -> str:
        """Name of the import in the journal."""
        return self.target.id

    @property
    def columns(self) -> str:
        """Which column is which field."""
        return self.table.columns.describe()

    @property
    def rows(self) -> int:
        """Rows below the header, blank ones left out."""
        return len(self.good) + self.bad_rows + self.dropped

    @property
    def doubtful(self) -> pd.DataFrame:
        """
        The doubtful rows.

        Returns:
            Columns `row` (int64, or the label), `name`, `reason`, `because` (text), by row.
        """
        return _frame(DoubtfulRow, self._doubtful())

    def _doubtful(self) -> list[DoubtfulRow]:
        rows = [(self.good[at], doubt) for at, doubt in self.doubts.items()]
        return [
            DoubtfulRow(row.number, row.content.name, doubt.reason, doubt.because)
            for row, doubt in rows
        ]

    @property
    def is_affordable(self) -> bool:
        """Whether a listing does not put the end off by a day that nobody agreed to."""
        return self.options.wait or self.forecast.days <= max(1, self.alone.days)

    @property
    def question(self) -> str:
        """What a person is asked about the doubtful rows."""
        rows = pluralize(len(self.doubts), "row")
        another = ""
        if self.removed and 2 * self.removed >= self.sent:
            name = option('name="…"', "--name …")
            another = f"; if this is another list under an old file name, name it: {name}"
        return (
            f"{rows} of {self.file} may be animals that exist already ({self.sent:,} rows of it "
            f"were sent or skipped before). {_SKIP} leaves these rows out, "
            f"{_SEND} creates them{another}"
        )

    @cached_property
    def refusal(self) -> str:
        """Why nothing is sent as asked, and what to choose; "" where it can go."""
        source = self.table.source
        if source.is_unseen and not self.options.sheet:
            name = option(f'sheet="{source.name}"')
            return (
                "whether rows are hidden cannot be seen in this kind of workbook. Nothing was "
                f"created. {name} sends every row of that sheet; saved as .xlsx, hidden rows are "
                "left out"
            )
        if self.options.strict and self.bad:
            rows = len(self.good) + self.bad_rows
            return (
                f"{self.bad_rows:,} of {rows:,} rows in {self.file} cannot be sent, and strict is "
                f"set. Nothing was created. First: {self.problems[0]}"
            )
        if not (self.is_affordable or self.options.doubtful == "send"):
            return (
                "comparing the rows with the animals that exist takes "
                f"{pluralize(self.forecast.baseline, 'request')}, so the import would end a day "
                f"later. Nothing was created. {option('wait=True')} waits for it, "
                f"{_SEND} sends the rows without it"
            )
        return ""

    @cached_property
    def groups(self) -> list[Fix]:
        """The problems, grouped by what fixes them; each row counts under its first problem."""
        return group(row.problems[0] for row in self.bad)

    @property
    def fixes(self) -> pd.DataFrame:
        """
        What fixes the problems: each row of the file counts once, under its first problem.

        Returns:
            Columns `rows` (int64: how many), `row` (int64, or a label: the first), `numbers` (of
            more rows), `column`, `field`, `values` (the most frequent cells), `rule`, `help`
            (text); the one with the most rows first.
        """
        return _frame(Fix, self.groups)

    @property
    def problems_frame(self) -> pd.DataFrame:
        """
        The problems as a frame.

        Returns:
            Columns `row` (int64, or the label), `column`, `field`, `value`, `rule`, `suggestion`
            (text).
        """
        return _frame(RowProblem, self.problems)

    def to_dict(self) -> dict[str, Any]:
        """
        Return the preview as JSON values: the counts, each problem, what fixes them, and the
        forecast.
        """
        frames = {"doubtful": self.doubtful, "problems": self.problems_frame, "fixes": self.fixes}
        return {
            **{name: getattr(self, name) for name in _COUNTS},
            **{
                name: frame.astype({"row": str}).to_dict("records")
                for name, frame in frames.items()
            },
            "matches": [asdict(match) for match in self.matches],
            "notes": list(self.notes),
            "header": self.table.header,
            "filled": self.filled,
            "left_out": [row._asdict() for row in self.left_out],
            "questions": self.questions,
            "forecast": asdict(self.forecast),
        }

    def __str__(self) -> str:
        lines = [f"  {name:<9} {line}" for name, line in self._lines()]
        return "\n".join([self._place(), *lines])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(self._place(), ("", ""), [*self._lines()])

    def _place(self) -> str:
        return f"{printable(self.file)} → {self.environment} ({self.host})"

    def _counts(self) -> list[str]:
        dropped = f"({option('drop_duplicates=True')} leaves them out)"
        equal = "and left out" if self.options.drop_duplicates else dropped
        left_out: dict[str, list[int]] = defaultdict(list)
        for row in self.left_out:
            left_out[row.why].append(row.number)
        counts = (
            (len(self.doubts), "doubtful: they may exist already"),
            (self.created, "created already by this import"),
            (self.unknown, "unknown: the run finds out whether they were created"),
            (self.skipped, "left out as doubtful before"),
            (self.removed, "sent and no longer in the file"),
            (self.duplicates, f"equal to an earlier row {equal}"),
            *(
                (len(rows), f"left out, {why}: row {first_of(rows, SHOWN)}")
                for why, rows in left_out.items()
            ),
            (self.blank, "blank, skipped"),
        )
        first = f"{self.rows:,}: {self.to_send:,} to send, {self.bad_rows:,} with problems"
        return [first, *(f"{count:,} {what}" for count, what in counts if count)]

    def _lines(self) -> Iterator[tuple[str, str]]:
        """Yield what it says, line by line, with what each is about."""
        rows = len(self.good) + self.bad_rows
        firsts = [(row.number, zip(FIELDS, row.content, strict=True)) for row in self.good[:1]]
        parts: dict[str, Sequence[object]] = {
            "columns": [self.columns],
            "header": [self.table.header],
            "first": [
                f"row {number}: {', '.join(f'{of} {value!r}' for of, value in values)}"
                for number, values in firsts
            ],
            "column": [
                f"{column} {title!r} → {becomes}; {filled:,} of {rows:,} filled: "
                + first_of([*map(quoted, values)])
                for column, title, filled, values, becomes in map(dict.values, self.filled)
            ],
            "rows": self._counts(),
            "note": self.notes,
            "read as": some_of(self.matches, MATCHES),
            "problem": some_of(self.groups, LINES),
            "proposal": [self.questions],
            "doubtful": some_of(self._doubtful(), SHOWN),
            "question": [f"{self.question}."] if self.doubts else [],
            "forecast": [self.forecast],
            "refused": [self.refusal],
        }
        return ((name, str(line)) for name, lines in parts.items() for line in lines if line)


def _frame(kind: type, things: Sequence[Any]) -> pd.DataFrame:
    """Return dataclasses as a frame, with the number or the label of the row of each."""
    import pandas as pd

    kinds = {of.name: "int64" if of.type == "int" else text_dtype() for of in fields(kind)}
    frame = pd.DataFrame([*map(asdict, things)], columns=[*kinds]).astype(kinds)
    return frame.assign(row=labels([thing.row for thing in things]))
