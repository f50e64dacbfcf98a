"""
A source read to its end: the header found, the columns matched, each row sent, bad or
left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from petstore_tools.errors import SheetError
from petstore_tools.http.client import Client
from petstore_tools.importing.imports import Target
from petstore_tools.importing.options import ImportOptions, spell
from petstore_tools.importing.values import (
    AnyRow,
    BadRow,
    LeftOut,
    Match,
    Matcher,
    Row,
    RowProblem,
    count_matches,
    fold,
    read_rows,
)
from petstore_tools.importing.words import (
    FIELDS,
    STATUS_WORDS,
    Titles,
    is_known,
    read_titles,
)
from petstore_tools.tabular.cells import (
    MalformedLine,
    Record,
    Sheet,
    are_blank,
    column_letter,
    is_blank,
)
from petstore_tools.tabular.sources import open_source
from petstore_tools.text import option, printable

HEADER_WITHIN = 1_000  # rows in which the header is searched
COLUMNS = 30  # of the file that are shown
SAMPLES = 3  # values shown of a column
# categories or status words that are asked for: more are no words
MOST_WORDS = 50
# until a meaning is given
ASKED = frozenset(("is a name, not an id", "is not a status"))
ADDED = ["petstore_row", "petstore_problem"]  # columns of a rejects file


@dataclass(frozen=True)
class Table:
    """
    A sheet, read and understood but not checked.

    Attributes:
        source: Its cells.
        header_row: As the spreadsheet counts; where there is no header, the row before
            the first.
        columns: Which column holds which field.
        options: How it is read.
        above: Rows above the header that are not empty.
        added: Columns of a rejects file that the toolkit added, behind those of the
            header.
        wrong: Why the row is no header, where `columns=` does not fit it.
    """

    source: Sheet
    header_row: int
    columns: Titles
    options: ImportOptions
    above: tuple[int, ...] = ()
    added: int = 0
    wrong: str = ""

    @cached_property
    def matcher(self) -> Matcher:
        """What decides its cells."""
        options = self.options
        return Matcher(options.category_names, options.statuses, options.defaults)

    @property
    def header(self) -> str:
        """Where the header is, and its cells."""
        if self.columns.has_header:
            return f"row {self.header_row}: {self.columns.shown()}"
        return f"none: row {self.header_row + 1} is the first animal"

    def rows(self) -> Iterator[AnyRow]:
        """
        Yield each row below the header: to send, bad, left out, or None where it is
        empty.
        """
        return read_rows(self._below(), self.columns, self.matcher, self.source)

    def _below(self) -> Iterator[Record]:
        """
        Yield the rows below the header; of a rejects file with the cells as they were.
        """
        width = len(self.columns.header)
        for number, cells in self.source.records():
            if number > self.header_row:
                if self.added and not isinstance(cells, MalformedLine):
                    cells = [*map(self.source.unescape, cells)]
                    del cells[width : width + self.added]
                yield number, cells

    @property
    def notes(self) -> list[str]:
        """What was found and should be known."""
        columns = self.columns
        others = [repr(name) for name in self.source.names if name != self.source.name]
        unread = f"sheet {self.source.name!r}; not read: {', '.join(others)}"
        notes = [*([unread] if others else ()), *self.source.notes]
        notes += [
            f"column {columns.place(at)} is hidden, and is read"
            for at in columns.columns.values()
            if at in self.source.hidden_columns
        ]
        if "status" not in {*columns.columns, *(self.options.defaults or {})}:
            notes.append(
                "no column for status: the animals will have none, and it cannot be"
                " added later; " + option("columns", {"TITLE": "status"}) + " names one"
            )
        return notes

    @property
    def likeness(self) -> tuple[int, int]:
        """
        How many fields a row may name, and how many cells it has; the header has the
        most.
        """
        columns = self.columns
        fields = len(columns.columns) + len(columns.proposals) + len(columns.doubts)
        filled = [cell for cell in columns.header if not is_blank(cell)]
        return fields, len(filled)

    @property
    def refusal(self) -> str:
        """What is missing, and the call with everything that needs an answer."""
        if self.wrong:
            return self.wrong
        said = "; ".join([self.columns.refusal(), *self.source.notes])
        return f"{said}. To read it: {self.questions()}"

    def questions(self) -> str:
        """
        Return the one call, and the one command, that asks for each title, category and
        status word which needs an answer; what is proposed stands there, the rest is
        left open.
        """
        options = self.options
        given = {**(options.columns or {}), **self.columns.proposals}
        titles = read_titles(self.columns.header, given, options.defaults)
        read = replace(
            self, columns=replace(titles, has_header=self.columns.has_header)
        )
        asked = read._unread()
        words = {word: STATUS_WORDS.get(fold(word), "…") for word in asked["status"]}
        statuses = {**(options.statuses or {}), **words}
        categories: Any = options.categories
        # beside names, an id is known that is listed, too
        if names := asked["categoryId"]:
            decided = read.matcher.decided["categoryId"].values()
            ids = sorted({found for found in decided if isinstance(found, int)})
            categories = dict.fromkeys(names, ...) | {str(id_): id_ for id_ in ids}
        elif not isinstance(categories, str | Path | None):
            categories = {"…": ...}
        answered = replace(
            options, columns=given, categories=categories, statuses=statuses
        )
        missing = (
            [*titles.missing, "status"] if read._may_hold_status() else titles.missing
        )
        return spell(answered, missing)

    def _may_hold_status(self) -> bool:
        """
        Say whether the status has no column, and one of an unknown title holds words.
        """
        columns = self.columns
        if "status" in {
            *columns.columns,
            *columns.missing,
            *(self.options.defaults or {}),
        }:
            return False
        places = {at for at, title in enumerate(columns.header) if not is_known(title)}
        places -= {*columns.columns.values()}
        return any(
            cells[at][:1].isalpha()
            for _, cells in self._below()
            for at in places
            if at < len(cells)
        )

    def _unread(self) -> dict[str, list[str]]:
        """Return the distinct cells of each field that wait for their meaning."""
        found: dict[str, dict[str, str]] = {field: {} for field in FIELDS}
        for row in self.rows():
            for problem in row.problems if isinstance(row, BadRow) else ():
                if problem.rule in ASKED:
                    found[problem.field].setdefault(
                        fold(problem.value), problem.value.strip()
                    )
        return {field: [*words.values()][:MOST_WORDS] for field, words in found.items()}


def read_table(options: ImportOptions) -> Table:
    """
    Open a spreadsheet and find its header; of a CSV file encoding and delimiter, too.

    Raises:
        SheetError: Not there, of another format, empty, not text, or without the
            required columns: then it shows the call with everything that needs an
            answer.
    """
    sheets = open_source(options.source, options.sheet, options.encoding)
    found = [_understand(sheet, options) for sheet in sheets]
    name = options.path.name if options.is_file else "the DataFrame"
    tables = [table for table in found if not table.columns.missing]
    if not tables:
        best = max(found, key=lambda table: table.likeness)
        fields, _ = best.likeness
        tables = [table for table in found if table.likeness[0] == fields > 0]
        if len(tables) < 2:
            raise SheetError(f"{name}: {best.refusal}")
    if len(tables) > 1:
        listed = ", ".join(repr(table.source.name) for table in tables)
        asked = replace(tables[0], options=replace(options, sheet="…")).questions()
        raise SheetError(
            f"{name}: sheets {listed} may be meant: name one. To read it: {asked}"
        )
    return tables[0]


def _understand(source: Sheet, options: ImportOptions) -> Table:
    """
    Find the header: the first row that names all required fields; where they are named
    by letter, the first row that has these columns, or none where that row is data.
    Else the likeliest row.
    """
    nothing = Titles((), {}, {}, FIELDS, {})
    tables = [Table(source, 0, nothing, options, wrong="there is no header row")]
    filled = (record for record in source.records() if not are_blank(record[1]))
    above: list[int] = []
    for number, cells in islice(filled, HEADER_WITHIN):
        try:
            table = _header(source, number, cells, options)
        except SheetError as wrong:
            titles = replace(nothing, header=tuple(cells))
            table = Table(source, number, titles, options, wrong=str(wrong))
        tables.append(replace(table, above=tuple(above)))
        above.append(number)
        if not table.columns.missing:
            return tables[-1]
    return max(tables, key=lambda table: table.likeness)


def _header(
    source: Sheet, number: int, cells: Sequence[str], options: ImportOptions
) -> Table:
    """
    Take a row for the header; where columns are named by letter, for data where a
    category or a status stands in its place.
    """
    added = cells[cells.index(ADDED[0]) :] if {*ADDED} <= {*cells} else []
    header = cells[: len(cells) - len(added)]
    titles = read_titles(header, options.columns, options.defaults)
    table = Table(source, number, titles, options, added=len(added))
    # by pandas
    is_counted = not options.is_file and all(map(str.isdecimal, header))
    if not options.by_letter or is_counted:
        return table
    is_data = any(
        isinstance(table.matcher.decide(field, header[at]), int | str)
        for field, at in titles.columns.items()
        if field != "name" and header[at].strip()
    )
    if options.header and not is_data:
        return table
    letters = [column_letter(at) for at in range(len(header))]
    titles = read_titles(letters, options.columns, options.defaults)
    titles = replace(titles, has_header=False)
    return replace(table, header_row=number - 1, columns=titles)


@dataclass(frozen=True, repr=False)
class Source:
    """
    A source read to its end.

    Attributes:
        options: What is imported, and how.
        table: The sheet.
        target: The name of its import, and the place it goes to.
        good: Rows that can be sent, in the sheet's order.
        bad: Rows that cannot.
        left_out: Rows that are not empty and not imported, each with the reason.
        blank: Empty rows, skipped.
    """

    options: ImportOptions
    table: Table
    target: Target
    good: tuple[Row, ...]
    bad: tuple[BadRow, ...]
    left_out: tuple[LeftOut, ...]
    blank: int

    @property
    def file(self) -> str:
        """
        Name of the file as it can be printed, and of the sheet where there are several.
        """
        name = printable(self.target.path.name)
        sheet = self.table.source
        return f"{name} ({sheet.name})" if len(sheet.names) > 1 else name

    @property
    def filled(self) -> list[dict[str, Any]]:
        """
        For each column of the file: how often it is filled, what becomes of it, and
        three values, those first that a wrong encoding would garble.
        """
        used = {at: field for field, at in self.table.columns.columns.items()}
        rows = [row.cells for row in self.good] + [row.cells for row in self.bad]
        found = []
        for at, title in enumerate(self.table.columns.header[:COLUMNS]):
            cells = [
                cells[at] for cells in rows if len(cells) > at and cells[at].strip()
            ]
            # odd letters first
            distinct = sorted(dict.fromkeys(cells), key=str.isascii)
            if title.strip() or cells:
                found.append(
                    {
                        "column": column_letter(at),
                        "title": str(title),
                        "filled": len(cells),
                        "values": [*map(str, distinct[:SAMPLES])],
                        "becomes": used.get(at, "not sent"),
                    }
                )
        return found

    @cached_property
    def questions(self) -> str:
        """
        The call and the command with everything that needs an answer, "" where nothing
        does.
        """
        asked = ASKED & {problem.rule for problem in self.problems}
        return self.table.questions() if asked or self.table.columns.proposals else ""

    @cached_property
    def matches(self) -> list[Match]:
        """Each distinct cell that is not sent as typed, the most frequent first."""
        return count_matches(self.good, self.table.columns.places)

    @property
    def bad_rows(self) -> int:
        """Rows that cannot be sent."""
        return len(self.bad)

    @property
    def problems(self) -> tuple[RowProblem, ...]:
        """Why rows cannot be sent, by row."""
        return tuple(problem for row in self.bad for problem in row.problems)


def read_source(client: Client, options: ImportOptions) -> Source:
    """
    Read a file to its end.

    Raises:
        SheetError: It cannot be used, or has no rows.
    """
    table = read_table(options)
    path = Path(options.name) if options.name else options.path.resolve()
    above = [LeftOut(number, "above the header") for number in table.above]
    rows: list[AnyRow] = [*above, *table.rows()]
    if not any(rows):
        raise SheetError(f"{options.path.name} has a header and no rows")
    return Source(
        options,
        table,
        Target(client.environment, client.service_id, path, table.source.name),
        tuple(row for row in rows if isinstance(row, Row)),
        tuple(row for row in rows if isinstance(row, BadRow)),
        left_out=tuple(row for row in rows if isinstance(row, LeftOut)),
        blank=rows.count(None),
    )
