"""CSV and TSV files as people have them: encoding found, lines split or named, written back alike."""

from __future__ import annotations

import codecs
import csv
import io
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from petstore_tools.errors import SheetError
from petstore_tools.tabular.atomic import replace_file
from petstore_tools.tabular.cells import MalformedLine

DELIMITERS: Final = {".csv": (",", ";", "\t", "|"), ".tsv": ("\t",)}
_RUNS_AS_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "'")


@dataclass(frozen=True)
class CsvSource:
    """
    A text file read with one delimiter.

    Attributes:
        text: Its decoded content.
        encoding: As Python names it.
        delimiter: One character.
        suffix: Of the file and of those written like it.
        notes: What was found and may surprise.
        guessed: Those of its lines whose encoding was guessed.
    """

    text: str
    encoding: str
    delimiter: str
    suffix: str
    notes: tuple[str, ...]
    guessed: str = ""

    @property
    def separator(self) -> str:
        """What stands between cells."""
        return self.delimiter

    @property
    def line_ending(self) -> str:
        """As in its first line."""
        return next((end for end in ("\r\n", "\n", "\r") if end in self.text), "\n")

    def records(self) -> Iterator[tuple[int, list[str] | MalformedLine]]:
        """Yield each record with its number as a spreadsheet shows it."""
        return records(self.text, self.delimiter)

    def guard(self, cell: str) -> str:
        """Keep a spreadsheet from running a cell."""
        return guard(cell)

    def unguard(self, cell: str) -> str:
        """Undo `guard`; only for files of ours."""
        return unguard(cell)

    def content(self, header: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
        """Return a file like this one."""
        return csv_bytes(
            header, rows, encoding=self.encoding, delimiter=self.delimiter, line_ending=self.line_ending
        )


def read_delimited(path: Path, content: bytes) -> list[CsvSource]:
    """
    Return a file once for each delimiter it may have.

    Raises:
        SheetError: It is empty, or no text.
    """
    text, encoding, notes, guessed = _decode(content, path.name)
    if not text.strip():
        raise SheetError(f"{path.name} is empty")
    usual, *others = DELIMITERS[path.suffix.casefold()]
    if encoding == "utf-16":
        notes = (*notes, "read as UTF-16")
    first = CsvSource(text, encoding, usual, path.suffix, notes, guessed)
    told = [(*notes, f"cells are separated by {delimiter!r}") for delimiter in others]
    return [first, *(replace(first, delimiter=d, notes=n) for d, n in zip(others, told, strict=True))]


def _decode(content: bytes, name: str) -> tuple[str, str, tuple[str, ...], str]:
    """Return text, encoding, notes, and the lines that are not UTF-8: they are read as Windows-1252."""
    marks = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
    encoding = next((encoding for mark, encoding in marks if content.startswith(mark)), "utf-8")
    try:
        return content.decode(encoding), encoding, (), ""
    except UnicodeDecodeError:
        pass
    lines: list[str] = []
    foreign: dict[int, str] = {}
    utf8 = False
    try:
        for number, line in enumerate(content.removeprefix(codecs.BOM_UTF8).splitlines(keepends=True), 1):
            try:
                lines.append(line.decode())
                utf8 = utf8 or not line.isascii()
            except UnicodeDecodeError:
                foreign[number] = line.decode("cp1252")
                lines.append(foreign[number])
    except UnicodeDecodeError:
        raise SheetError(
            f"{name} is no text in UTF-8, UTF-16 or Windows-1252; save it as CSV (UTF-8)"
        ) from None
    text, guessed = "".join(lines), "".join(foreign.values())
    if not utf8:
        return text, "cp1252", ("read as cp1252: it is not UTF-8",), guessed
    shown = ", ".join(map(str, list(foreign)[:10])) + (", …" if len(foreign) > 10 else "")
    return text, "utf-8", (f"encodings are mixed: UTF-8, but cp1252 in line {shown}",), guessed


def records(text: str, delimiter: str) -> Iterator[tuple[int, list[str] | MalformedLine]]:
    """
    Split CSV text, row numbers as a spreadsheet shows them.

    A line that cannot be split (a quote that is never closed, text behind a closing quote) is given as
    MalformedLine, and reading goes on with the next line.
    """
    lines = iter(io.StringIO(text, newline=""))
    read: list[str] = []  # lines of the record under way
    again: deque[str] = deque()  # lines behind a broken one, to be read anew

    def feed() -> Iterator[str]:
        while again:
            read.append(again.popleft())
            yield read[-1]
        note = read.append
        for line in lines:
            note(line)
            yield line

    number = 1
    while True:
        try:
            for cells in csv.reader(feed(), delimiter=delimiter, strict=True):
                read.clear()
                yield number, cells
                number += 1
        except csv.Error as error:
            why = "opens a quote that is never closed" if "end of data" in str(error) else "cannot be split"
            again.extendleft(reversed(read[1:]))
            yield number, MalformedLine(read[0].rstrip("\r\n"), why)
            number += 1
            read.clear()
        else:
            return


def guard(cell: str) -> str:
    """Put `'` before a cell that a spreadsheet would run as a formula."""
    return "'" + cell if cell.startswith(_RUNS_AS_FORMULA) else cell


def unguard(cell: str) -> str:
    """Undo `guard`; only for files of ours."""
    return cell[1:] if cell[:1] == "'" and cell[1:].startswith(_RUNS_AS_FORMULA) else cell


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]], **form: str) -> None:
    """Write a CSV file, whole or not at all; `csv_bytes` describes its form."""
    replace_file(path, csv_bytes(header, rows, **form))


def csv_bytes(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    encoding: str = "utf-8",
    delimiter: str = ",",
    line_ending: str = "\n",
) -> bytes:
    """Return a CSV file; every cell reads back to the same text."""
    text, line = io.StringIO(newline=""), io.StringIO(newline="")
    writer = csv.writer(line, delimiter=delimiter, lineterminator="\r\n")  # so that both are quoted
    for row in (header, *rows):
        writer.writerow(row)
        text.write(line.getvalue().removesuffix("\r\n") + line_ending)
        line.seek(0)
        line.truncate()
    # cells came in this encoding; a reason of the service's may not fit it
    return text.getvalue().encode(encoding, errors="backslashreplace")
