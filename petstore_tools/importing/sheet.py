"""Spreadsheets understood: the header found, the columns matched, rows counted as the spreadsheet does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from petstore_tools.errors import SheetError
from petstore_tools.importing.rows import BadRow, Columns, Row, RowProblem, find_columns, read_row
from petstore_tools.tabular.cells import MalformedLine, Sheet, column_letter
from petstore_tools.tabular.formats import open_sheets
from petstore_tools.tabular.frames import FrameSource
from petstore_tools.text import option

if TYPE_CHECKING:
    import pandas as pd

HEADER_WITHIN: Final = 10  # rows in which the header is searched
SAMPLES: Final = 3  # names shown where the encoding was guessed
PROBLEM_COLUMN: Final = "petstore_problem"
ROW_COLUMN: Final = "petstore_row"
JOURNAL_COLUMN: Final = "petstore_journal"
UNKNOWN_COLUMN: Final = "petstore_unknown"


@dataclass(frozen=True)
class Table:
    """
    A sheet, read and understood but not checked.

    Attributes:
        source: Its cells.
        header_row: As the spreadsheet counts.
        columns: Which column holds which field.
        rejects_of: Journal that wrote it, where it is a rejects file of the toolkit, else "".
        notes: What was found and should be known.
    """

    source: Sheet
    header_row: int
    columns: Columns
    rejects_of: str
    notes: tuple[str, ...]

    def label(self, path: Path) -> str:
        """Return the name of its file for people; of a workbook with several sheets the sheet, too."""
        return f"{path.name} ({self.source.name})" if len(self.source.names) > 1 else path.name

    @property
    def titles(self) -> tuple[str, ...]:
        """The header without the columns that a rejects file adds."""
        header = self.columns.header
        return header[: header.index(ROW_COLUMN)] if self.rejects_of else header

    def rows(self, *, allow_totals: bool = False) -> Iterator[Row | BadRow | None]:
        """
        Yield each row below the header: to send, with problems, or None where it is blank.

        Args:
            allow_totals: An animal may be called by a word for a total.
        """
        width = len(self.titles)
        for number, cells in islice(self.source.records(), self.header_row, None):
            if isinstance(cells, MalformedLine):
                problem = RowProblem(number, "", "", cells.line, cells.why, "check its quotes")
                yield BadRow(number, number, (cells.line,), [problem])
                continue
            typed, origin = cells, number
            if self.rejects_of:
                cells = [self.source.unescape(cell) for cell in cells]
                typed, origin = cells[:width], _number(cells[width : width + 1], number)
            row = read_row(number, cells, self.columns, allow_totals=allow_totals)
            if isinstance(row, list):
                yield BadRow(number, origin, tuple(typed), row)
            elif row is not None and self.rejects_of:
                yield row._replace(number=origin, cells=tuple(typed))
            else:
                yield row


def _number(cells: Sequence[str], otherwise: int) -> int:
    return next((int(cell) for cell in cells if cell.strip().isdecimal() and len(cell) < 16), otherwise)


def read_frame(frame: pd.DataFrame, columns: Mapping[str, str] | None = None) -> Table:
    """
    Take a DataFrame for a sheet; its index names the rows.

    Raises:
        SheetError: It lacks a required column.
    """
    return _understand([FrameSource(frame=frame)], columns, "the DataFrame")


def read_table(path: Path, columns: Mapping[str, str] | None = None, *, sheet: str | None = None) -> Table:
    """
    Open a spreadsheet and find its header; of a CSV file encoding and delimiter, too.

    Args:
        path: Its ending is one of `tabular.formats.FORMATS`.
        columns: Field by column title.
        sheet: Which sheet of a workbook; None: the visible one that has the columns.

    Raises:
        SheetError: Not there, of another format, empty, not text, or without the required columns.
    """
    return _understand(open_sheets(path, sheet), columns, path.name)


def sheets_to_import(path: Path, columns: Mapping[str, str] | None = None) -> list[str]:
    """
    Return the visible sheets of a workbook that have the columns, and rows below them.

    Raises:
        SheetError: It cannot be read, or no sheet is like that.
    """
    found = []
    for source in open_sheets(path):
        if not source.name:
            raise SheetError(f"{path.name} is not a workbook: it has no sheets")
        with suppress(SheetError):
            table = _understand([source], columns, path.name)
            if any(row is not None for row in table.rows()):
                found.append(source.name)
    if not found:
        raise SheetError(f"{path.name} has no visible sheet with the columns and rows below them")
    return found


def _understand(sources: Sequence[Sheet], given: Mapping[str, str] | None, name: str) -> Table:
    """Take the one source that has the columns."""
    first_error: SheetError | None = None
    found: list[tuple[Sheet, int, Columns]] = []
    for source in sources:
        try:
            found.append((source, *_find_header(source, given)))
        except SheetError as error:
            first_error = first_error or error
    if not found:
        raise SheetError(f"{name}: {first_error}") from first_error
    sheets = [source.name for source, _, _ in found if source.name]
    if len(sheets) > 1:
        which = option('sheet="…"', "--sheet …, or --sheet all for one after the other")
        raise SheetError(
            f"{name}: sheets {', '.join(map(repr, sheets))} all have the columns: name one ({which})"
        )
    source, header_row, columns = found[0]
    if UNKNOWN_COLUMN in columns.header:
        raise SheetError(
            f"{name} lists rows of which nobody knows whether they were created, so it is not imported; "
            "run `petstore-tools imports` to reconcile them"
        )
    ours = {PROBLEM_COLUMN, ROW_COLUMN, JOURNAL_COLUMN} <= set(columns.header)
    journal = _first_journal(source, header_row, columns) if ours else ""
    notes = (
        *source.notes,
        *_guessed_names(source, header_row, columns),
        *_notes(header_row, columns, ours=ours),
    )
    return Table(source, header_row, columns, journal, notes)


def _find_header(source: Sheet, given: Mapping[str, str] | None) -> tuple[int, Columns]:
    first_error: SheetError | None = None
    for number, cells in islice(source.records(), HEADER_WITHIN):
        if isinstance(cells, MalformedLine) or not any(cell.strip() for cell in cells):
            continue
        while source.name and not cells[-1].strip():  # a workbook's rows are all equally wide
            cells.pop()
        try:
            return number, find_columns(cells, given)
        except SheetError as error:
            first_error = first_error or error
    raise first_error or SheetError("there is no header row")


def _column(source: Sheet, header_row: int, at: int) -> Iterator[str]:
    """Yield the cells of a column below the header."""
    for _, cells in islice(source.records(), header_row, None):
        if not isinstance(cells, MalformedLine) and len(cells) > at:
            yield cells[at]


def _first_journal(source: Sheet, header_row: int, columns: Columns) -> str:
    for cell in _column(source, header_row, columns.header.index(JOURNAL_COLUMN)):
        if cell.strip():
            return source.unescape(cell)
    raise SheetError(f"no row has a {JOURNAL_COLUMN}: restore that column of the rejects file, or delete it")


def _guessed_names(source: Sheet, header_row: int, columns: Columns) -> list[str]:
    """Show names as they were read where the encoding was guessed: a wrong guess garbles them for good."""
    names = _column(source, header_row, columns.name) if source.guessed else ()
    found = dict.fromkeys(name for name in names if not name.isascii() and name in source.guessed)
    shown = ", ".join(map(repr, islice(found, SAMPLES)))
    return (
        [f"names as they were read: {shown}; if they look wrong, save the file as CSV UTF-8"] if found else []
    )


def _notes(header_row: int, columns: Columns, *, ours: bool) -> list[str]:
    """Say what the file holds that is not sent, and what is sent that it does not hold."""
    used = (columns.name, columns.category_id, columns.status)
    titles = [(at, title) for at, title in enumerate(columns.header) if title.strip()]
    unused = [f"{column_letter(at)} {title!r}" for at, title in titles if at not in used]
    notes = [f"the header is in row {header_row}"] if header_row > 1 else []
    if unused and not ours:
        notes.append(f"not sent: {', '.join(unused)}")
    if columns.status is None:
        notes.append("no column for status: the animals will have none, and it cannot be added later")
    return notes
