"""Spreadsheets in and out: rows counted as the spreadsheet counts them, cells as text."""

from __future__ import annotations

import codecs
import csv
import io
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final

from petstore_tools.core.rows import Columns, Row, RowProblem, find_columns, letter, read_row
from petstore_tools.errors import SheetError

DELIMITERS: Final = {".csv": (",", ";", "\t", "|"), ".tsv": ("\t",)}
HEADER_WITHIN: Final = 10  # rows in which the header is looked for
PROBLEM_COLUMN: Final = "petstore_problem"
ROW_COLUMN: Final = "petstore_row"
JOURNAL_COLUMN: Final = "petstore_journal"
UNKNOWN_COLUMN: Final = "petstore_unknown"
_RUNS_AS_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "'")


@dataclass(frozen=True)
class Broken:
    """A line that no CSV reader can split, and why."""

    line: str
    why: str


@dataclass(frozen=True)
class Table:
    """
    A CSV file, read and understood but not checked.

    Attributes:
        path: The file.
        text: Its decoded content.
        encoding: As Python names it.
        delimiter: One character.
        line_ending: As in its first line.
        header_row: As the spreadsheet counts.
        columns: Where the fields stand.
        rejects_of: Journal that wrote it, where it is a rejects file of ours, else "".
        notes: What was found and may surprise.
    """

    path: Path
    text: str
    encoding: str
    delimiter: str
    line_ending: str
    header_row: int
    columns: Columns
    rejects_of: str
    notes: tuple[str, ...]

    def rows(self) -> Iterator[Row | list[RowProblem] | None]:
        """Yield each row below the header: to send, with problems, or None where it is blank."""
        header = self.columns.header
        ours = header.index(ROW_COLUMN) if self.rejects_of else None
        for number, cells in records(self.text, self.delimiter):
            if number <= self.header_row:
                continue
            if isinstance(cells, Broken):
                yield [RowProblem(number, "", "", cells.line, cells.why, "check its quotes")]
                continue
            if ours is None:
                yield read_row(number, cells, self.columns)
                continue
            row = read_row(number, [unguard(cell) for cell in cells], self.columns)
            if isinstance(row, Row):
                row = replace(row, number=_number(row.cells[ours], row.number), cells=row.cells[:ours])
            yield row

    def cells(self, numbers: set[int]) -> Iterator[tuple[int, int, list[str]]]:
        """Yield number here, number in the first file, and cells as typed there, of some rows."""
        header = self.columns.header
        ours = header.index(ROW_COLUMN) if self.rejects_of else None
        for number, cells in records(self.text, self.delimiter):
            if number not in numbers:
                continue
            if isinstance(cells, Broken):
                yield number, number, [cells.line]
            elif ours is None:
                yield number, number, cells
            else:
                plain = [unguard(cell) for cell in cells] + [""] * len(header)
                yield number, _number(plain[ours], number), plain[:ours]


def _number(cell: str, otherwise: int) -> int:
    return int(cell) if cell.strip().isdecimal() else otherwise


def read_table(path: Path, mapping: Mapping[str, str] | None = None) -> Table:
    """
    Open a CSV or TSV file and find its encoding, delimiter and header.

    Args:
        path: The file.
        mapping: Field by column title.

    Raises:
        SheetError: Not there, of another format, empty, not text, or without the required columns.
    """
    if path.suffix.casefold() not in DELIMITERS:
        raise SheetError(f"{path.name}: only .csv and .tsv can be imported; save the sheet as CSV (UTF-8)")
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise SheetError(f"there is no file {path.name} in that folder") from error
    except OSError as error:
        raise SheetError(f"{path.name} cannot be read: {error.strerror}") from error
    text, encoding, notes = _decode(content, path.name)
    if not text.strip():
        raise SheetError(f"{path.name} is empty")
    first_error: SheetError | None = None
    for delimiter in DELIMITERS[path.suffix.casefold()]:
        try:
            header_row, columns = _find_header(text, delimiter, mapping)
        except SheetError as error:
            first_error = first_error or error
            continue
        header = columns.header
        if UNKNOWN_COLUMN in header:
            raise SheetError(
                f"{path.name} lists rows whose fate is unknown; they may stand already, so they are not "
                "imported: look for them in the inventory first"
            )
        ours = {PROBLEM_COLUMN, ROW_COLUMN, JOURNAL_COLUMN} <= set(header)
        journal = _first_cell(text, delimiter, header_row, header.index(JOURNAL_COLUMN)) if ours else ""
        notes += _surprises(header_row, columns, ours=ours)
        ending = next((end for end in ("\r\n", "\n", "\r") if end in text), "\n")
        return Table(path, text, encoding, delimiter, ending, header_row, columns, journal, notes)
    raise SheetError(f"{path.name}: {first_error}") from first_error


def _decode(content: bytes, name: str) -> tuple[str, str, tuple[str, ...]]:
    """Return text, encoding and notes; lines that are not UTF-8 are read as Windows-1252, and named."""
    marks = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
    encoding = next((encoding for mark, encoding in marks if content.startswith(mark)), "utf-8")
    try:
        return content.decode(encoding), encoding, ()
    except UnicodeDecodeError:
        pass
    lines: list[str] = []
    foreign, utf8 = [], False
    try:
        for number, line in enumerate(content.removeprefix(codecs.BOM_UTF8).splitlines(keepends=True), 1):
            try:
                lines.append(line.decode())
                utf8 = utf8 or not line.isascii()
            except UnicodeDecodeError:
                lines.append(line.decode("cp1252"))
                foreign.append(number)
    except UnicodeDecodeError:
        raise SheetError(
            f"{name} is no text in UTF-8, UTF-16 or Windows-1252; save it as CSV (UTF-8)"
        ) from None
    if not utf8:
        return "".join(lines), "cp1252", ("read as cp1252: it is not UTF-8",)
    shown = ", ".join(map(str, foreign[:10])) + (", …" if len(foreign) > 10 else "")
    return "".join(lines), "utf-8", (f"encodings are mixed: UTF-8, but cp1252 in line {shown}",)


def _surprises(header_row: int, columns: Columns, *, ours: bool) -> tuple[str, ...]:
    """Tell what the file holds that is not sent, and what is sent that it does not hold."""
    used = (columns.name, columns.category_id, columns.status)
    titles = [(at, title) for at, title in enumerate(columns.header) if title.strip()]
    unused = [f"{letter(at)} {title!r}" for at, title in titles if at not in used]
    notes = [f"the header is in row {header_row}"] if header_row > 1 else []
    if unused and not ours:
        notes.append(f"not sent: {', '.join(unused)}")
    if columns.status is None:
        notes.append("no column for status: the animals will have none, and it cannot be added later")
    return tuple(notes)


def _find_header(text: str, delimiter: str, mapping: Mapping[str, str] | None) -> tuple[int, Columns]:
    first_error: SheetError | None = None
    for number, cells in islice(records(text, delimiter), HEADER_WITHIN):
        if isinstance(cells, Broken) or not any(cell.strip() for cell in cells):
            continue
        try:
            return number, find_columns(cells, mapping)
        except SheetError as error:
            first_error = first_error or error
    raise first_error or SheetError("there is no header row")


def _first_cell(text: str, delimiter: str, header_row: int, at: int) -> str:
    for number, cells in records(text, delimiter):
        if number > header_row and not isinstance(cells, Broken) and len(cells) > at and cells[at].strip():
            return unguard(cells[at])
    raise SheetError(f"no row has a {JOURNAL_COLUMN}: restore that column of the rejects file, or delete it")


def records(text: str, delimiter: str) -> Iterator[tuple[int, list[str] | Broken]]:
    """
    Split CSV text, row numbers as a spreadsheet shows them.

    A line that cannot be split (a quote that is never closed, text behind a closing quote) is given as
    Broken, and reading goes on with the next line.
    """
    lines = io.StringIO(text, newline="").readlines()
    start, number = 0, 1
    while start < len(lines):
        reader = csv.reader(islice(lines, start, None), delimiter=delimiter, strict=True)
        read = 0
        try:
            for cells in reader:
                yield number, cells
                number, read = number + 1, reader.line_num
        except csv.Error as error:
            broken = lines[start + read].rstrip("\r\n")
            why = "opens a quote that is never closed" if "end of data" in str(error) else "cannot be split"
            yield number, Broken(broken, why)
            number, read = number + 1, read + 1
        start += read


def guard(cell: str) -> str:
    """Put `'` before a cell that a spreadsheet would run as a formula."""
    return "'" + cell if cell.startswith(_RUNS_AS_FORMULA) else cell


def unguard(cell: str) -> str:
    """Undo `guard`; only for files of ours."""
    return cell[1:] if cell[:1] == "'" and cell[1:].startswith(_RUNS_AS_FORMULA) else cell


def write_csv(
    path: Path,
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    encoding: str = "utf-8",
    delimiter: str = ",",
    line_ending: str = "\n",
) -> None:
    """Write a CSV file whole or not at all; every cell reads back to the same text."""
    text, line = io.StringIO(newline=""), io.StringIO(newline="")
    writer = csv.writer(line, delimiter=delimiter, lineterminator="\r\n")  # so that both are quoted
    for row in (header, *rows):
        writer.writerow(row)
        text.write(line.getvalue().removesuffix("\r\n") + line_ending)
        line.seek(0)
        line.truncate()
    # cells came in this encoding; a reason of the service's may not fit it
    replace_file(path, text.getvalue().encode(encoding, errors="backslashreplace"))


def replace_file(path: Path, content: bytes) -> None:
    """Write a file beside its place and move it there: a reader sees the old one or the new one."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            Path(temporary).chmod(path.stat().st_mode & 0o777)
        else:
            umask = os.umask(0)
            os.umask(umask)
            Path(temporary).chmod(0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
