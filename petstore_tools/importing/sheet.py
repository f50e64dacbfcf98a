"""Spreadsheets in: the header found, the columns understood, rows counted as the spreadsheet does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from petstore_tools import spec
from petstore_tools.errors import SheetError
from petstore_tools.importing.rows import TOTALS, Columns, Row, RowProblem, broken_row, find_columns, read_row
from petstore_tools.tabular.cells import MalformedLine, column_letter
from petstore_tools.tabular.csv_files import DELIMITERS, CsvSource, read_delimited
from petstore_tools.tabular.frames import FrameSource
from petstore_tools.tabular.workbooks import SUFFIXES, Worksheet, read_workbook
from petstore_tools.text import option

if TYPE_CHECKING:
    import pandas as pd

FORMATS: Final = (*DELIMITERS, *SUFFIXES)
LONG, MANY = 16, 100_000  # digits that are sure to be int64, and texts worth remembering
HEADER_WITHIN: Final = 10  # rows in which the header is looked for
PROBLEM_COLUMN: Final = "petstore_problem"
SAMPLES: Final = 3  # names shown where the encoding was guessed
ROW_COLUMN: Final = "petstore_row"
JOURNAL_COLUMN: Final = "petstore_journal"
UNKNOWN_COLUMN: Final = "petstore_unknown"
OTHER: Final = object()
_PLAIN: Final[dict[str, spec.Status | None]] = {**{status: status for status in spec.STATUSES}, "": None}


class Source(Protocol):
    """
    Cells of any origin.

    Attributes:
        suffix: Of files that are written like it.
        separator: What stands between cells.
        notes: What was found and may surprise.
    """

    @property
    def suffix(self) -> str: ...  # noqa: D102
    @property
    def separator(self) -> str: ...  # noqa: D102
    @property
    def notes(self) -> tuple[str, ...]: ...  # noqa: D102

    def records(self) -> Iterator[tuple[int, list[str] | MalformedLine]]:
        """Yield each row with its number as a spreadsheet shows it."""

    def guard(self, cell: str) -> str:
        """Keep a spreadsheet from running a cell of a file of ours."""

    def unguard(self, cell: str) -> str:
        """Undo `guard`."""

    def content(self, header: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
        """Return a file like it."""


@dataclass(frozen=True)
class Table:
    """
    A sheet, read and understood but not checked.

    Attributes:
        source: Its cells.
        header_row: As the spreadsheet counts.
        columns: Where the fields stand.
        rejects_of: Journal that wrote it, where it is a rejects file of ours, else "".
        notes: What was found and may surprise.
        sheet: Name of the sheet of a workbook, else "".
        sheets: Names of all sheets of the workbook.
        allow_totals: An animal may be called by a word for a total.
    """

    source: Source
    header_row: int
    columns: Columns
    rejects_of: str
    notes: tuple[str, ...]
    sheet: str = ""
    sheets: tuple[str, ...] = ()
    allow_totals: bool = False

    def label(self, path: Path) -> str:
        """Return the name of its file for people; of a workbook with several sheets the sheet, too."""
        return f"{path.name} ({self.sheet})" if len(self.sheets) > 1 else path.name

    @property
    def titles(self) -> tuple[str, ...]:
        """The header without the columns that a rejects file of ours adds."""
        header = self.columns.header
        return header[: header.index(ROW_COLUMN)] if self.rejects_of else header

    def rows(self) -> Iterator[Row | list[RowProblem] | None]:
        """Yield each row below the header: to send, with problems, or None where it is blank."""
        if self.rejects_of:
            yield from self._rows_of_rejects()
            return
        columns = self.columns
        width, at_name, at_category = len(columns.header), columns.name, columns.category_id
        at_status = columns.status
        categories: dict[str, int] = {}  # as typed: a file names few
        totals = frozenset() if self.allow_totals else TOTALS
        new = tuple.__new__  # a third of the time of Row(...), and there may be a million
        for number, cells in islice(self.source.records(), self.header_row, None):
            if isinstance(cells, MalformedLine):
                yield [broken_row(number, cells)]
                continue
            if len(cells) == width:  # the plain row, which nearly all are, without a call
                name, category = cells[at_name], cells[at_category]
                status = "" if at_status is None else cells[at_status]
                category_id, known_status = categories.get(category), _PLAIN.get(status, OTHER)
                if category_id is None and _is_plain(category):
                    category_id = int(category)
                    if len(categories) < MANY:
                        categories[category] = category_id
                if (
                    category_id is not None
                    and known_status is not OTHER
                    and type(name) is str
                    and (bare := name.strip())
                    and "\0" not in name
                    and bare.lower() not in totals
                ):
                    yield new(Row, (number, name, category_id, known_status, tuple(cells), ""))
                    continue
            yield read_row(number, cells, columns, allow_totals=self.allow_totals)

    def _rows_of_rejects(self) -> Iterator[Row | list[RowProblem] | None]:
        ours = self.columns.header.index(ROW_COLUMN)
        for number, cells in self.source.records():
            if number <= self.header_row:
                continue
            if isinstance(cells, MalformedLine):
                yield [broken_row(number, cells)]
                continue
            plain = [self.source.unguard(cell) for cell in cells]
            row = read_row(number, plain, self.columns, allow_totals=self.allow_totals)
            if isinstance(row, Row):
                row = row._replace(number=_number(row.cells[ours], row.number), cells=row.cells[:ours])
            yield row

    def cells(self, numbers: set[int]) -> Iterator[tuple[int, int, list[str]]]:
        """Yield number here, number in the first file, and cells as typed there, of some rows."""
        header = self.columns.header
        ours = header.index(ROW_COLUMN) if self.rejects_of else None
        for number, cells in self.source.records():
            if number not in numbers:
                continue
            if isinstance(cells, MalformedLine):
                yield number, number, [cells.line]
            elif ours is None:
                yield number, number, cells
            else:
                plain = [self.source.unguard(cell) for cell in cells] + [""] * len(header)
                yield number, _number(plain[ours], number), plain[:ours]


def _is_plain(category: str) -> bool:
    return category.isdecimal() and category.isascii() and len(category) < LONG


def _number(cell: str, otherwise: int) -> int:
    return int(cell) if cell.strip().isdecimal() and len(cell) < LONG else otherwise


def read_frame(frame: pd.DataFrame, mapping: Mapping[str, str] | None = None) -> Table:
    """
    Take a DataFrame for a sheet; its index names the rows.

    Raises:
        SheetError: It lacks a required column.
    """
    return _understand([FrameSource(frame)], mapping, "the DataFrame")


def read_table(path: Path, mapping: Mapping[str, str] | None = None, *, sheet: str | None = None) -> Table:
    """
    Open a spreadsheet and find its header; of a CSV file encoding and delimiter, too.

    Args:
        path: .csv, .tsv, .xlsx or .ods.
        mapping: Field by column title.
        sheet: Which sheet of a workbook; None: the visible one that has the columns.

    Raises:
        SheetError: Not there, of another format, empty, not text, or without the required columns.
    """
    return _understand(_sources(path, sheet), mapping, path.name)


def _sources(path: Path, sheet: str | None) -> Sequence[Source]:
    """Open a file; each sheet of a workbook that may be meant is a source."""
    suffix = path.suffix.casefold()
    if suffix not in FORMATS:
        raise SheetError(
            f"{path.name or path}: only .csv, .tsv, .xlsx and .ods can be imported; save the sheet as one of "
            "these"
        )
    if sheet is not None and suffix not in SUFFIXES:
        raise SheetError(f"{path.name} is no workbook: there is no sheet {sheet!r} in it")
    try:
        if suffix in SUFFIXES:
            with path.open("rb"):
                return read_workbook(path, sheet)
        return read_delimited(path, path.read_bytes())
    except FileNotFoundError as error:
        raise SheetError(f"there is no file {path.name} in the folder {path.absolute().parent}") from error
    except PermissionError as error:
        raise SheetError(
            f"{path.name} cannot be read: close it in Excel, or see to its permissions"
        ) from error
    except OSError as error:
        raise SheetError(f"{path.name} cannot be read: {error.strerror}") from error


def sheets_to_import(path: Path, mapping: Mapping[str, str] | None = None) -> list[str]:
    """
    Return the visible sheets of a workbook that have the columns, and rows below them.

    Raises:
        SheetError: It cannot be read.
    """
    found = []
    for sheet in _sources(path, None):
        if not isinstance(sheet, Worksheet):
            raise SheetError(f"{path.name} is no workbook: it has no sheets")
        with suppress(SheetError):
            header_row, _ = _find_header(sheet, mapping)
            if any(str(cell).strip() for cells in sheet.rows[header_row:] for cell in cells):
                found.append(sheet.name)
    return found


def _understand(sources: Sequence[Source], mapping: Mapping[str, str] | None, name: str) -> Table:
    """Take the one source that has the columns."""
    first_error: SheetError | None = None
    found: list[tuple[Source, int, Columns]] = []
    for source in sources:
        try:
            found.append((source, *_find_header(source, mapping)))
        except SheetError as error:
            first_error = first_error or error
    if not found:
        raise SheetError(f"{name}: {first_error}") from first_error
    sheets = [source.name for source, _, _ in found if isinstance(source, Worksheet)]
    if len(sheets) > 1:
        which = option('sheet="…"', "--sheet …, or --sheet all for one after the other")
        raise SheetError(
            f"{name}: sheets {', '.join(map(repr, sheets))} could all be meant: name one ({which})"
        )
    source, header_row, columns = found[0]
    header = columns.header
    if UNKNOWN_COLUMN in header:
        raise SheetError(
            f"{name} lists rows whose fate is unknown; they may stand already, so they are not imported: "
            "`petstore-tools imports` settles them"
        )
    ours = {PROBLEM_COLUMN, ROW_COLUMN, JOURNAL_COLUMN} <= set(header)
    journal = _first_cell(source, header_row, header.index(JOURNAL_COLUMN)) if ours else ""
    notes = source.notes + _guesses(source, header_row, columns) + _surprises(header_row, columns, ours=ours)
    sheet, all_sheets = (source.name, source.names) if isinstance(source, Worksheet) else ("", ())
    return Table(source, header_row, columns, journal, notes, sheet, all_sheets)


def _guesses(source: Source, header_row: int, columns: Columns) -> tuple[str, ...]:
    """Show names as they were read where the encoding was guessed: a wrong guess garbles them for good."""
    if not isinstance(source, CsvSource) or not source.guessed:
        return ()
    found: dict[str, None] = {}
    for number, cells in source.records():
        if number > header_row and not isinstance(cells, MalformedLine) and len(cells) > columns.name:
            name = cells[columns.name]
            if not name.isascii() and name in source.guessed:
                found[name] = None
            if len(found) == SAMPLES:
                break
    shown = ", ".join(map(repr, found))
    told = f"names as they were read: {shown}; if they look wrong, save the file as CSV UTF-8"
    return (told,) if found else ()


def _surprises(header_row: int, columns: Columns, *, ours: bool) -> tuple[str, ...]:
    """Tell what the file holds that is not sent, and what is sent that it does not hold."""
    used = (columns.name, columns.category_id, columns.status)
    titles = [(at, title) for at, title in enumerate(columns.header) if title.strip()]
    unused = [f"{column_letter(at)} {title!r}" for at, title in titles if at not in used]
    notes = [f"the header is in row {header_row}"] if header_row > 1 else []
    if unused and not ours:
        notes.append(f"not sent: {', '.join(unused)}")
    if columns.status is None:
        notes.append("no column for status: the animals will have none, and it cannot be added later")
    return tuple(notes)


def _find_header(source: Source, mapping: Mapping[str, str] | None) -> tuple[int, Columns]:
    first_error: SheetError | None = None
    for number, cells in islice(source.records(), HEADER_WITHIN):
        if isinstance(cells, MalformedLine) or not any(cell.strip() for cell in cells):
            continue
        while not cells[-1].strip() and source.suffix in SUFFIXES:  # a workbook's rows are all equally wide
            cells.pop()
        try:
            return number, find_columns(cells, mapping)
        except SheetError as error:
            first_error = first_error or error
    raise first_error or SheetError("there is no header row")


def _first_cell(source: Source, header_row: int, at: int) -> str:
    for number, cells in source.records():
        if (
            number > header_row
            and not isinstance(cells, MalformedLine)
            and len(cells) > at
            and cells[at].strip()
        ):
            return source.unguard(cells[at])
    raise SheetError(f"no row has a {JOURNAL_COLUMN}: restore that column of the rejects file, or delete it")
