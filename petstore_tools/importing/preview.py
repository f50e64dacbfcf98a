"""What an import would do, in facts and in words: every problem of the file, and the cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from dataclasses import field as member
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from petstore_tools.importing.doubtful import Doubt, Entry
from petstore_tools.importing.journal import Target
from petstore_tools.importing.options import ImportOptions
from petstore_tools.importing.sheet import Table
from petstore_tools.importing.titles import FIELDS
from petstore_tools.importing.values import BadRow, LeftOut, Match, Row, RowProblem
from petstore_tools.listing.frames import text_dtype
from petstore_tools.tabular.cells import column_letter, label_of
from petstore_tools.tabular.frames import labels
from petstore_tools.text import first_of, html_table, option, pluralize, quoted, some_of
from petstore_tools.throttle.quota import Forecast

if TYPE_CHECKING:
    import pandas as pd

LINES: Final = 15  # of problems
_ROWS: Final = 5  # that a line shows, and of their values:
_VALUES: Final = 2


@dataclass(slots=True)
class Fix:
    """
    Rows that one decision fixes.

    Attributes:
        column: Letter, "" where whole rows are meant.
        field: `name`, `categoryId`, `status`, or "".
        rule: What is wrong, as the rest of a sentence about one cell or row.
        help: What fixes it.
        rows: Their numbers, in the order of the sheet.
        values: Rows by cell as typed.
    """

    column: str
    field: str
    rule: str
    help: str
    rows: list[int] = member(default_factory=list)
    values: Counter[str] = member(default_factory=Counter)

    def __str__(self) -> str:
        parts = [f"{pluralize(len(self.rows), 'row')} ({first_of(self.rows, _ROWS)}):"]
        if self.column:
            parts += [f"column {self.column}", self.cells(_VALUES)]
        return " ".join([*filter(None, parts), self.rule, "→", self.help])

    def cells(self, most: int) -> str:
        """Return the most frequent cells as typed: `'Dogs', 'Cats', and 3 more`."""
        typed = [quoted(value) for value, _ in self.values.most_common() if value.strip()]
        return first_of(typed, most)

    def record(self) -> dict[str, Any]:
        """Return it as a row of a table; `rows` is how many, `row` the first as people find it."""
        texts = {"column": self.column, "field": self.field, "values": self.cells(10)}
        rows = {"rows": len(self.rows), "row": label_of(self.rows[0])}
        return {**rows, **texts, "rule": self.rule, "help": self.help}


def group(problems: Iterable[RowProblem]) -> list[Fix]:
    """
    Group problems by column, rule and what fixes them; each row counts under its first problem.

    Args:
        problems: In the order of the rows, those of one row together.

    Returns:
        The groups, the one with the most rows first.
    """
    groups: dict[tuple[str, ...], Fix] = {}
    last: int | None = None
    for problem in problems:
        if problem.row != last:
            last = problem.row
            key = (problem.column, problem.field, problem.rule, problem.suggestion)
            fix = groups.setdefault(key, Fix(*key))
            fix.rows.append(problem.row)
            fix.values[problem.value] += 1
    return sorted(groups.values(), key=lambda fix: -len(fix.rows))


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
_PROBLEM: Final = ("column", "field", "value", "rule", "suggestion")


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
        for at, title in enumerate(self.table.titles[:COLUMNS]):
            cells = [cells[at] for cells in rows if len(cells) > at and cells[at].strip()]
            samples = [str(cell) for cell in islice(dict.fromkeys(cells), SAMPLES)]
            facts = {"column": column_letter(at), "title": str(title), "filled": len(cells)}
            if title.strip() or cells:
                found.append({**facts, "values": samples, "becomes": used.get(at, "not sent")})
        return found

    def _filled_lines(self) -> list[str]:
        rows = len(self.good) + len(self.bad)
        return [
            f"{facts['column']} {facts['title']!r} → {facts['becomes']}; "
            f"{facts['filled']:,} of {rows:,} filled: "
            + first_of(list(map(quoted, facts["values"])))
            for facts in self.filled
        ]

    @cached_property
    def questions(self) -> str:
        """The call and the command with everything that needs an answer, "" where nothing does."""
        asked = {"is a name, not an id", "is not a status"} & {p.rule for p in self.problems}
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
        rows = [self.good[at] for at in self.doubts]
        records = [
            {"name": row.content.name, "reason": doubt.reason, "because": doubt.because}
            for row, doubt in zip(rows, self.doubts.values(), strict=True)
        ]
        return _frame([row.number for row in rows], records, ("name", "reason", "because"))

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
        return group(self.problems)

    @property
    def fixes(self) -> pd.DataFrame:
        """
        What fixes the problems: each row of the file counts once, under its first problem.

        Returns:
            Columns `rows` (int64: how many), `row` (int64, or a label: the first), `column`,
            `field`, `values` (the most frequent cells), `rule`, `help` (text); the one with the
            most rows first.
        """
        texts = ("column", "field", "values", "rule", "help")
        records = [fix.record() for fix in self.groups]
        frame = _frame([fix.rows[0] for fix in self.groups], records, texts)
        frame.insert(0, "rows", [len(fix.rows) for fix in self.groups])
        return frame.astype({"rows": "int64"})

    @property
    def problems_frame(self) -> pd.DataFrame:
        """
        The problems as a frame.

        Returns:
            Columns `row` (int64, or the label), `column`, `field`, `value`, `rule`, `suggestion`
            (text).
        """
        return _frame([p.row for p in self.problems], map(asdict, self.problems), _PROBLEM)

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
        return f"{self.file} → {self.environment} ({self.host})"

    def _counts(self) -> list[str]:
        dropped = f"({option('drop_duplicates=True')} leaves them out)"
        equal = "and left out" if self.options.drop_duplicates else dropped
        counts = (
            (len(self.doubts), "doubtful: they may exist already"),
            (self.created, "created already by this import"),
            (self.unknown, "unknown: the run finds out whether they were created"),
            (self.skipped, "left out as doubtful before"),
            (self.removed, "sent and no longer in the file"),
            (self.duplicates, f"equal to an earlier row {equal}"),
            *self._left_out(),
            (self.blank, "blank, skipped"),
        )
        first = f"{self.to_send:,} to send, {self.bad_rows:,} with problems"
        return [first, *(f"{count:,} {what}" for count, what in counts if count)]

    def _first_row(self) -> str:
        row = self.good[0]
        values = zip(FIELDS, row.content, strict=True)
        return f"row {row.number}: " + ", ".join(f"{of} {value!r}" for of, value in values)

    def _left_out(self) -> Iterator[tuple[int, str]]:
        for why in dict.fromkeys(row.why for row in self.left_out):
            rows = [row.number for row in self.left_out if row.why == why]
            yield len(rows), f"left out, {why}: row {first_of(rows, SHOWN)}"

    def _doubt_lines(self) -> list[str]:
        return [
            f"row {self.good[at].number} {quoted(self.good[at].content.name)}: {doubt}"
            for at, doubt in self.doubts.items()
        ]

    def _lines(self) -> Iterator[tuple[str, str]]:
        """Yield what it says, line by line, with what each is about."""
        counts = self._counts()
        parts: dict[str, Sequence[object]] = {
            "columns": [self.columns],
            "header": [self.table.header],
            "first": [self._first_row()] if self.good else [],
            "column": self._filled_lines(),
            "rows": [f"{self.rows:,}: {counts[0]}", *counts[1:]],
            "note": self.notes,
            "read as": some_of(self.matches, MATCHES),
            "problem": some_of(self.groups, LINES),
            "proposal": [self.questions] if self.questions else [],
            "doubtful": some_of(self._doubt_lines(), SHOWN),
            "question": [f"{self.question}."] if self.doubts else [],
            "forecast": [self.forecast],
            "refused": [self.refusal] if self.refusal else [],
        }
        for name, lines in parts.items():
            for line in lines:
                yield name, str(line)


def _frame(
    rows: Sequence[int], records: Iterable[Mapping[str, Any]], texts: Sequence[str]
) -> pd.DataFrame:
    """Return records as a frame of texts, with the number or the label of the row of each."""
    import pandas as pd

    frame = pd.DataFrame([*records], columns=[*texts]).astype(dict.fromkeys(texts, text_dtype()))
    frame.insert(0, "row", labels(rows))
    return frame
