"""
CSV and TSV files as people have them: encoding found, lines split or named, written
back alike.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from petstore_tools.errors import ArgumentError, SheetError
from petstore_tools.tabular.cells import MalformedLine, Record, Sheet
from petstore_tools.text import option, quoted

_DELIMITERS: Final = (",", ";", "\t", "|")
_UNMARKED: Final = {0: "utf-16-be", 1: "utf-16-le"}  # where the first NUL byte stands
_LINE: Final = 80  # characters of a line that are shown
_SAMPLE: Final = 100_000  # characters that tell the delimiter
# the first line may name the delimiter, as Excel takes it
_NAMED: Final = re.compile(r'"?sep=([^"\r\n])"?[\r\n]', re.IGNORECASE)
# letters of UTF-8 that are no accident: in cp1252, É before a sign looks like a single
# one
_ONLY_UTF8: Final = re.compile("[^\0-\x7f\u0180-\u07ff]|[\u0180-\u07ff]{2}")
_MARKS: Final = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


@dataclass(frozen=True, kw_only=True)
class CsvSource(Sheet):
    """
    A text file read with one delimiter.

    Attributes:
        text: Its decoded content.
        encoding: As Python names it.
    """

    text: str
    encoding: str

    def records(self) -> Iterator[Record]:
        """Yield each record with its number as a spreadsheet shows it."""
        return records(self.text, self.delimiter)

    def content(
        self, header: Sequence[str], rows: Iterable[Sequence[str]], **_: Any
    ) -> bytes:
        """Return a file like this one."""
        return csv_bytes(header, rows, encoding=self.encoding, delimiter=self.delimiter)


def read_csv(path: Path, encoding: str | None = None) -> CsvSource:
    """
    Return the one sheet of a text, split by the delimiter that gives most rows the same
    number of cells.

    Args:
        path: Of the file.
        encoding: None: it is found. A mark at the beginning of the file counts more.

    Raises:
        ArgumentError: There is no such encoding.
        SheetError: It is empty, or not text.
        OSError: It cannot be read.
    """
    found = _decoded(path.read_bytes(), path, encoding)
    text = found.text
    sample = found.text[:_SAMPLE]
    if not text.strip():
        raise SheetError(f"{path.name} is empty")
    if text.lstrip().startswith("<"):
        raise SheetError(
            f"{path.name} is a web page or XML: open it in a spreadsheet program, and"
            " save it as .xlsx"
        )
    named = _NAMED.match(text)
    delimiter = (
        named[1]
        if named
        else max(_DELIMITERS, key=lambda sign: _stability(sample, sign))
    )
    notes = () if delimiter == "," else (f"cells are separated by {delimiter!r}",)
    return replace(found, delimiter=delimiter, notes=(*found.notes, *notes))


def _stability(text: str, delimiter: str) -> tuple[float, int]:
    """
    Return which share of the rows a delimiter splits into the same number of cells, and
    that number.
    """
    rows = [cells for _, cells in records(text, delimiter)]
    widths = Counter(len(cells) for cells in rows if cells)
    shares = [
        (times / widths.total(), width) for width, times in widths.items() if width > 1
    ]
    return max(shares, default=(0, 1))


def _decoded(content: bytes, path: Path, given: str | None) -> CsvSource:
    """
    Decode a file: by its mark, as told, or as UTF-8; what is none of these is
    Windows-1252.
    """
    mark = next((name for mark, name in _MARKS.items() if content.startswith(mark)), "")
    told = mark or given or _UNMARKED.get(content.find(b"\0", 0, 2))
    name = option("encoding", "NAME")
    for encoding in [told] if told else ["utf-8", "cp1252"]:
        try:
            text = content.decode(encoding).lstrip("\ufeff")
        except LookupError as error:
            raise ArgumentError(f"encoding: there is no encoding {given!r}") from error
        except ValueError:
            if encoding.startswith("utf-8"):
                _refuse_mixture(content.removeprefix(codecs.BOM_UTF8), path)
            continue
        if encoding.startswith("utf-16"):
            return CsvSource(
                text=text, encoding="utf-16", notes=(f"read as {encoding.upper()}",)
            )
        # result files are marked, so that they are read alike without the option
        if told:
            encoding = "utf-8-sig"
        guess = (
            f"read as cp1252, since it is not UTF-8: if a letter is wrong, add {name}"
        )
        notes = (guess,) if encoding == "cp1252" else ()
        return CsvSource(text=text, encoding=encoding, notes=notes)
    raise SheetError(
        f"{path.name} is not text in {told or 'UTF-8 or Windows-1252'}; "
        f"save it as CSV (UTF-8), or name its encoding: {name}"
    )


def _refuse_mixture(content: bytes, path: Path) -> None:
    """Refuse a text of which one line is not UTF-8 and another can only be UTF-8."""
    lines: dict[str, str] = {}
    for number, line in enumerate(content.splitlines(), start=1):
        text = line.decode(errors="replace")
        encoding = "utf-8" if text.encode() == line else "cp1252"
        if encoding == "cp1252" or _ONLY_UTF8.search(text):
            shown = quoted(line.decode(encoding, errors="replace"), _LINE)
            lines.setdefault(encoding, f"line {number} ({shown})")
    if len(lines) == 2:
        raise SheetError(
            f"{path.name} is in two encodings: {lines['cp1252']} is not UTF-8, and"
            f" {lines['utf-8']} can only be UTF-8; correct the letters in a text"
            " editor, and save the file as UTF-8"
        )


def records(text: str, delimiter: str) -> Iterator[Record]:
    """
    Split CSV text, row numbers as a spreadsheet shows them.

    A line that cannot be split (a quote that is never closed, text behind a closing
    quote) is given as MalformedLine, and reading goes on with the next line.
    """
    file = io.StringIO(text, newline="")
    # some programs write a blank behind the delimiter
    is_spaced = f'{delimiter} "' in text
    number = 0
    end = 0  # of the last record
    while True:
        try:
            for cells in csv.reader(
                file, delimiter=delimiter, strict=True, skipinitialspace=is_spaced
            ):
                end = file.tell()
                number = number + 1
                yield number, cells
            return
        except csv.Error as error:
            is_open = "end of data" in str(error)
            why = (
                "has a quotation mark that is never closed"
                if is_open
                else "cannot be split"
            )
            file.seek(end)
            line = file.readline()
            end = file.tell()
            number = number + 1
            yield number, MalformedLine(line.rstrip("\r\n"), why)


def csv_bytes(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    encoding: str = "utf-8",
    delimiter: str = ",",
) -> bytes:
    """Return a CSV file; every cell reads back to the same text."""
    lines: list[str] = []
    # the writer quotes cells with either half of its own line ending, so it always
    # writes both
    writer = csv.writer(
        SimpleNamespace(write=lines.append), delimiter=delimiter, lineterminator="\r\n"
    )
    writer.writerows((header, *rows))
    text = "".join(line.removesuffix("\r\n") + "\n" for line in lines)
    # cells came in this encoding; a reason of the service's may not fit it
    return text.encode(encoding, errors="backslashreplace")
