"""
Spreadsheets understood: the header found, the columns matched, rows counted as the spreadsheet
does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from petstore_tools.errors import SheetError
from petstore_tools.importing.titles import Titles, columns_option, read_titles
from petstore_tools.importing.values import (
    BadRow,
    Match,
    Matcher,
    Row,
    ValueRules,
    count_matches,
    read_rows,
)
from petstore_tools.tabular.cells import Record, Sheet, column_letter
from petstore_tools.tabular.frames import FrameSource
from petstore_tools.tabular.workbooks import open_sheets
from petstore_tools.text import option

if TYPE_CHECKING:
    import pandas as pd

HEADER_WITHIN: Final = 30  # rows in which the header is searched
SAMPLES: Final = 3  # names shown where the encoding was guessed
PROBLEM_COLUMN: Final = "petstore_problem"
ROW_COLUMN: Final = "petstore_row"
JOURNAL_COLUMN: Final = "petstore_journal"
_PLAIN: Final = ValueRules()


@dataclass(frozen=True)
class Table:
    """
    A sheet, read and understood but not checked.

    Attributes:
        source: Its cells.
        header_row: As the spreadsheet counts.
        columns: Which column holds which field.
        rules: How its cells are read.
        rejects_of: Journal that wrote it, where it is a rejects file of the toolkit, else "".
        notes: What was found and should be known.
    """

    source: Sheet
    header_row: int
    columns: Titles
    rules: ValueRules
    rejects_of: str
    notes: tuple[str, ...]

    @property
    def titles(self) -> tuple[str, ...]:
        """The header without the columns that a rejects file adds."""
        header = self.columns.header
        return header[: header.index(ROW_COLUMN)] if self.rejects_of else header

    @cached_property
    def matcher(self) -> Matcher:
        """What decides its cells."""
        in_frame = isinstance(self.source, FrameSource)
        return Matcher(replace(self.rules, delimiter=self.source.delimiter, in_frame=in_frame))

    def rows(self) -> Iterator[Row | BadRow | None]:
        """Yield each row below the header: to send, with problems, or None where it is blank."""
        below = islice(self.source.records(), self.header_row, None)
        return (
            self._again(below) if self.rejects_of else read_rows(below, self.columns, self.matcher)
        )

    def _again(self, below: Iterator[Record]) -> Iterator[Row | BadRow | None]:
        """Yield rows of a rejects file with their cells, and their numbers, in the first file."""
        width, unescape = len(self.titles), self.source.unescape
        plain = ((number, cells and [*map(unescape, cells)]) for number, cells in below)
        for row in read_rows(plain, self.columns, self.matcher):
            if row is None:
                yield None
                continue
            cells, number = row.cells[:width], _number(row.cells[width : width + 1], row.number)
            if isinstance(row, Row):
                yield row._replace(number=number, cells=cells)
            else:
                yield row._replace(origin=number, cells=cells)

    def matches(self, rows: Sequence[Row]) -> list[Match]:
        """Count each distinct cell of its rows that was read differently from what was typed."""
        return count_matches(rows, self.columns, self.matcher)


def _number(cells: Sequence[str], otherwise: int) -> int:
    return next(
        (int(cell) for cell in cells if cell.strip().isdecimal() and len(cell) < 16), otherwise
    )


def read_table(
    source: Path | pd.DataFrame,
    columns: Mapping[str, str] | None = None,
    *,
    sheet: str | None = None,
    encoding: str | None = None,
    rules: ValueRules = _PLAIN,
) -> Table:
    """
    Open a spreadsheet and find its header; of a CSV file encoding and delimiter, too.

    Args:
        source: A file, whose ending is one of `tabular.workbooks.FORMATS`, or a DataFrame, whose
            index names the rows.
        columns: Field by column title, or by letter.
        sheet: Which sheet of a workbook; None: the visible one that has the columns.
        encoding: Of a text file; None: it is found.
        rules: How cells are read.

    Raises:
        SheetError: Not there, of another format, empty, not text, or without the required columns.
    """
    if isinstance(source, Path):
        name, sheets = source.name, open_sheets(source, sheet, encoding)
    else:
        name, sheets = "the DataFrame", [FrameSource(frame=source)]
    found = [_understand(sheet, columns, rules) for sheet in sheets]
    tables = [table for table in found if isinstance(table, Table)]
    if not tables:
        refused = [refusal for refusal in found if isinstance(refusal, _Refusal)]
        raise SheetError(f"{name}: {max(refused, key=attrgetter('fields')).why}")
    if len(tables) > 1:
        which = option('sheet="…"')
        listed = ", ".join(repr(table.source.name) for table in tables)
        raise SheetError(f"{name}: sheets {listed} all have the columns: name one ({which})")
    return tables[0]


class _Refusal(NamedTuple):
    """Why a row is no header: how many fields it may name, how many cells it has, and the rest."""

    fields: int
    cells: int
    why: str


def _understand(
    source: Sheet, given: Mapping[str, str] | None, rules: ValueRules
) -> Table | _Refusal:
    """
    Take the first row that names all required fields; else say of the likeliest one what it lacks.
    """
    best = _Refusal(-1, -1, "there is no header row")
    for number, cells in islice(source.records(), HEADER_WITHIN):
        filled = [at for at, cell in enumerate(cells) if cell.strip()]
        if not filled:
            continue
        if source.name:  # a workbook's rows are all equally wide
            cells = cells[: filled[-1] + 1]
        try:
            titles = read_titles(cells, given, defaults=rules.defaults)
            if not titles.missing:
                return _table(source, number, titles, rules)
            fields = len(titles.columns) + len(titles.proposals)
            refused = _Refusal(fields, len(filled), titles.refusal())
        except SheetError as wrong:
            refused = _Refusal(1, len(filled), str(wrong))
        if refused[:2] > best[:2]:
            best = refused
    return best


def _table(source: Sheet, header_row: int, columns: Titles, rules: ValueRules) -> Table:
    ours = {PROBLEM_COLUMN, ROW_COLUMN, JOURNAL_COLUMN} <= set(columns.header)
    journal = _first_journal(source, header_row, columns) if ours else ""
    notes = (
        *source.notes,
        *_guessed_names(source, header_row, columns),
        *_notes(header_row, columns, rules, ours=ours),
    )
    return Table(source, header_row, columns, rules, journal, notes)


def _column(source: Sheet, header_row: int, at: int) -> Iterator[str]:
    """Yield the cells of a column below the header."""
    for _, cells in islice(source.records(), header_row, None):
        if len(cells) > at:
            yield cells[at]


def _first_journal(source: Sheet, header_row: int, columns: Titles) -> str:
    for cell in _column(source, header_row, columns.header.index(JOURNAL_COLUMN)):
        if cell.strip():
            return source.unescape(cell)
    raise SheetError(
        f"no row has a {JOURNAL_COLUMN}: restore that column of the rejects file, or delete it"
    )


def _guessed_names(source: Sheet, header_row: int, columns: Titles) -> list[str]:
    """Show names with guessed letters: a wrong guess garbles them for good."""
    names = _column(source, header_row, columns.columns["name"]) if source.is_guessed else ()
    found = dict.fromkeys(name for name in names if not name.isascii())
    shown = ", ".join(map(repr, islice(found, SAMPLES)))
    how = "if a letter is wrong, save the file as CSV UTF-8, or name its encoding: "
    how += option('encoding="…"', "--encoding NAME")
    return [f"the encoding was guessed, and names read so: {shown}; {how}"] if found else []


def _notes(header_row: int, columns: Titles, rules: ValueRules, *, ours: bool) -> list[str]:
    """Say what the file holds that is not sent, and what is sent that it does not hold."""
    used = columns.columns.values()
    titles = [(at, title) for at, title in enumerate(columns.header) if title.strip()]
    unused = [f"{column_letter(at)} {title!r}" for at, title in titles if at not in used]
    notes = [f"the header is in row {header_row}"] if header_row > 1 else []
    if unused and not ours:
        notes.append(f"not sent: {', '.join(unused)}")
    if columns.proposals:
        meant = ", ".join(f"{title!r} may be {field}" for title, field in columns.proposals.items())
        notes.append(f"{meant}; if this is meant: {columns_option(columns.proposals)}")
    if "status" not in columns.columns and "status" not in rules.defaults:
        notes.append(
            "no column for status: the animals will have none, and it cannot be added later"
        )
    return notes
