"""
CSV and TSV files as people have them: encoding found, lines split or named, cells
filled in beside cells that stay byte for byte.
"""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain, count, pairwise
from types import SimpleNamespace
from typing import Any

from petstore_tools.errors import ArgumentError, SheetError
from petstore_tools.tabular.cells import MalformedLine, Problem, Record, Sheet
from petstore_tools.text import option, quoted

_DELIMITERS = (",", ";", "\t", "|")
_UTF16_BY_NUL = {0: "utf-16-be", 1: "utf-16-le"}  # position of the first NUL
_FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r", "'")
_EXCERPT_LENGTH = 80  # characters of a line that are shown
_BROKEN = Problem("cannot be split", "check its quotation marks")
_TOO_LONG = Problem(
    f"has a cell of more than {csv.field_size_limit():,} characters",
    "shorten the cell, or remove it if the column is not needed",
)
_CUT_OFF = Problem(
    "may be cut off: the file ends in it, and it has fewer cells than the line before",
    "complete the row, and end it with a line break",
)
_SAMPLE_LENGTH = 100_000  # characters that tell the delimiter
# the first line may name the delimiter, as Excel takes it
_DELIMITER_LINE = re.compile(r'"?sep=([^"\r\n])"?[\r\n]', re.IGNORECASE)
# letters of UTF-8 that are no accident: in cp1252, É before a sign looks like a single
# one
_ONLY_UTF8 = re.compile("[^\0-\x7f\u0180-\u07ff]|[\u0180-\u07ff]{2}")
_WEB_PAGE = re.compile(  # a saved page or archive, or XML
    r"\s*(?:<|MIME-Version:|From: <Saved by)", re.IGNORECASE
)
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
    codecs.BOM_UTF32_LE: "utf-32-le",  # it begins like that of UTF-16
    codecs.BOM_UTF32_BE: "utf-32-be",
}
_PLAIN_SIGNS = {"→": "->", "…": "..."}  # not every encoding has them


@dataclass(frozen=True, kw_only=True)
class CsvSource(Sheet):
    """
    A text file read with one delimiter.

    Attributes:
        text: Its decoded content.
        encoding: Of the text, as Python names it.
        mark: The bytes before the text, such as a byte order mark.
    """

    text: str
    encoding: str
    mark: bytes = b""

    def records(self) -> Iterator[Record]:
        """
        Yield each record with its number as a spreadsheet shows it.

        If the text ends without a line end, in a line with fewer cells than the line
        before, a download may have broken off there.
        """
        width = 0
        ends_open = not self.text.endswith(("\n", "\r"))
        lines = pairwise(chain(records(self.text, self.delimiter), [None]))
        for line, next_line in lines:
            assert line is not None
            number, cells = line
            if len(cells) < width and ends_open and next_line is None:
                cells = MalformedLine(self.delimiter.join(cells), _CUT_OFF)
            width = len(cells)
            yield number, cells

    def fill(
        self,
        cells: Mapping[int, Mapping[int, int | str]],
        titles: Sequence[str] = (),
        header_row: int = 0,
    ) -> bytes:
        r"""
        Return the file with other cells; all its other cells stay byte for byte.

        >>> sheet = read_csv(b"name;id\nRex\n", "animals.csv")
        >>> sheet.fill({2: {1: 17}})
        b'name;id\nRex;17\n'

        Args:
            cells: By row number, then by column from 0.
            titles: A new line with titles, if the file has none.
            header_row: The row after which the new line stands.
        """
        lines = []
        for number, old_cells, line in split(self.text, self.delimiter):
            body = line.rstrip("\r\n")
            changes = cells.get(number, {})
            raw_cells = _split_raw(body, self.delimiter)
            if changes and len(raw_cells) == len(old_cells):
                raw_cells += [""] * (max(changes) + 1 - len(raw_cells))
                for column, value in changes.items():
                    raw_cells[column] = self._raw_cell(str(value))
                line = self.delimiter.join(raw_cells) + line[len(body) :]
            lines.append(line)
        if titles:
            end = lines[0][len(lines[0].rstrip("\r\n")) :] or "\n"
            raw_cells = [*map(self._raw_cell, titles)]
            lines.insert(header_row, self.delimiter.join(raw_cells) + end)
        return self.mark + "".join(lines).encode(self.encoding)

    @cached_property
    def _letters(self) -> str:
        """The encoding of new cells: plain letters where all are."""
        return "ascii" if self.text.isascii() and not self.mark else self.encoding

    @cached_property
    def _is_quoted(self) -> bool:
        """Whether each cell has quotation marks."""
        return f'"{self.delimiter}"' in self.text

    def _raw_cell(self, text: str) -> str:
        """Return a cell as it is written, with letters that the file can have."""
        text = "".join(_PLAIN_SIGNS.get(sign, sign) for sign in text)
        text = text.encode(self._letters, errors="replace").decode(self._letters)
        signs = {*'"\r\n', *_DELIMITERS, self.delimiter}
        if not self._is_quoted and signs.isdisjoint(text):
            return text
        return '"' + text.replace('"', '""') + '"'


def _split_raw(line: str, delimiter: str) -> list[str]:
    """Return the cells of a line as they stand there, with their quotation marks."""
    sign = re.escape(delimiter)
    cells = re.findall(rf'( *"(?:[^"]|"")*"[^{sign}]*|[^{sign}]*)(?:{sign}|\Z)', line)
    # behind the last delimiter, the end of the line is found once more
    return cells if line.endswith(delimiter) else cells[:-1] or cells


def escape(cell: str) -> str:
    """
    Put `'` before a cell that a spreadsheet would run as a formula.

    >>> escape("=A1"), escape("Rex")
    ("'=A1", 'Rex')
    """
    return "'" + cell if cell.startswith(_FORMULA_SIGNS) else cell


def read_csv(content: bytes, name: str, encoding: str | None = None) -> CsvSource:
    r"""
    Return the one sheet of a text, split by the delimiter that gives most rows the same
    number of cells.

    >>> sheet = read_csv(b"name;categoryId\nRex;3\n", "animals.csv")
    >>> list(sheet.records())
    [(1, ['name', 'categoryId']), (2, ['Rex', '3'])]

    Args:
        content: Of the file.
        name: Of the file, for messages.
        encoding: None: it is found. A mark at the beginning of the file counts more.

    Raises:
        ArgumentError: There is no such encoding.
        SheetError: It is empty, or not text.
    """
    decoded = _decode(content, name, encoding)
    text = decoded.text
    if not text.strip():
        raise SheetError(f"{name} is empty: save it with its rows, and try again")
    if _WEB_PAGE.match(text):
        raise SheetError(
            f"{name} is a web page or XML, whatever its name says: open it in a"
            " spreadsheet program, and save it as .xlsx"
        )
    sample = text[:_SAMPLE_LENGTH]
    delimiter_line = _DELIMITER_LINE.match(text)
    splits = partial(_stability, sample)
    delimiter = delimiter_line[1] if delimiter_line else max(_DELIMITERS, key=splits)
    notes = () if delimiter == "," else (f"cells are separated by {delimiter!r}",)
    return replace(
        decoded,
        delimiter=delimiter,
        notes=(*decoded.notes, *notes),
    )


def _stability(text: str, delimiter: str) -> tuple[float, int]:
    """
    Return which share of the rows a delimiter splits into the same number of cells, and
    that number.
    """
    widths = Counter(len(cells) for _, cells in records(text, delimiter) if cells)
    shares = [
        (count / widths.total(), width) for width, count in widths.items() if width > 1
    ]
    return max(shares, default=(0, 1))


def _decode(content: bytes, name: str, encoding: str | None) -> CsvSource:
    """
    Decode a file: by its mark, as asked, or as UTF-8; what is none of these is
    Windows-1252.
    """
    certain = encoding or _UTF16_BY_NUL.get(content.find(b"\0", 0, 2))
    mark = b""
    for begin, codec in _BYTE_ORDER_MARKS.items():
        if content.startswith(begin):
            mark = begin
            certain = codec
    body = content.removeprefix(mark)
    spelling = option("encoding", "NAME")
    for candidate in [certain] if certain else ["utf-8", "cp1252"]:
        try:
            text = body.decode(candidate)
        except LookupError as error:
            raise ArgumentError(
                f"there is no encoding {encoding!r}: use a name such as cp1250"
            ) from error
        except ValueError:
            if candidate.startswith("utf-8"):
                _refuse_mixture(body, name)
            continue
        notes = []
        if candidate.startswith("utf-16"):
            notes.append(f"read as {candidate.upper()}")
        elif not certain and candidate == "cp1252":
            notes.append(
                "read as cp1252 (Western Europe), since it is not UTF-8: if a letter is"
                f" wrong, name the encoding, such as {option('encoding', 'cp1250')} for"
                " Central Europe"
            )
        bare_text = text.lstrip("\ufeff")
        mark += text[: len(text) - len(bare_text)].encode(candidate)
        return CsvSource(
            text=bare_text, encoding=candidate, mark=mark, notes=tuple(notes)
        )
    raise SheetError(
        f"{name} is not text in {certain or 'UTF-8 or Windows-1252'}; "
        f"save it as CSV (UTF-8), or name its encoding: {spelling}"
    )


def _refuse_mixture(content: bytes, name: str) -> None:
    """Refuse a text of which one line is not UTF-8 and another can only be UTF-8."""
    excerpts: dict[str, str] = {}
    for number, line in enumerate(content.splitlines(), start=1):
        text = line.decode(errors="replace")
        encoding = "utf-8" if text.encode() == line else "cp1252"
        if encoding == "cp1252" or _ONLY_UTF8.search(text):
            letters = line.decode(encoding, errors="replace")
            excerpt = f"line {number} ({quoted(letters, _EXCERPT_LENGTH)})"
            excerpts.setdefault(encoding, excerpt)
    if len(excerpts) == 2:
        raise SheetError(
            f"{name} is in two encodings: {excerpts['cp1252']} is not UTF-8, and"
            f" {excerpts['utf-8']} can only be UTF-8; correct the letters in a text"
            " editor, and save the file as UTF-8"
        )


def repair(text: str) -> str:
    """
    Return what a text may be that was saved as UTF-8 and read as Windows-1252.

    >>> repair("ZoÃ«"), repair("Zoë")
    ('Zoë', 'Zoë')
    """
    if text.isascii():
        return text
    controls = range(0x80, 0xA0)  # in place of signs that Windows-1252 lacks
    for garbled in (text, f"{text}\xa0"):  # à at the end lost its blank
        with suppress(UnicodeError):
            letters = [
                sign.encode("latin-1" if ord(sign) in controls else "cp1252")
                for sign in garbled
            ]
            meant = b"".join(letters).decode()
            if _ONLY_UTF8.search(meant):
                return meant
    return text


def records(text: str, delimiter: str) -> Iterator[Record]:
    r"""
    Split CSV text, row numbers as a spreadsheet shows them.

    A line that cannot be split (a quote that is never closed, text behind a closing
    quote) is given as MalformedLine, and reading goes on with the next line.

    >>> list(records('Rex,3\n"Mia,4\n', ","))
    [(1, ['Rex', '3']), (2, ['"Mia,4'])]
    """
    for number, cells, _ in split(text, delimiter):
        yield number, cells


def split(text: str, delimiter: str) -> Iterator[tuple[int, Sequence[str], str]]:
    """Yield each record with its number, its cells, and the text that it is."""
    file = io.StringIO(text, newline="")
    # some programs write a blank behind the delimiter
    is_spaced = f'{delimiter} "' in text
    read = partial(
        csv.reader, file, delimiter=delimiter, strict=True, skipinitialspace=is_spaced
    )
    reader = read()
    record_end = 0
    for number in count(1):
        record_start = record_end
        cells: Sequence[str]
        try:
            cells = next(reader)
            record_end = file.tell()
        except StopIteration:
            return
        except csv.Error as error:
            file.seek(record_start)
            line = file.readline()
            record_end = file.tell()
            problem = _TOO_LONG if "field limit" in str(error) else _BROKEN
            cells = MalformedLine(line.rstrip("\r\n"), problem)
            reader = read()
        # an interrupt is lost in a `try` that is closed here
        yield number, cells, text[record_start:record_end]


def mark_utf8(content: bytes) -> bytes:
    """
    Put a byte order mark before UTF-8 that has a letter beyond ASCII: Excel reads it
    rightly only with the mark.
    """
    return content if content.isascii() else codecs.BOM_UTF8 + content


def csv_bytes(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    encoding: str = "utf-8",
    **dialect: Any,
) -> bytes:
    r"""
    Return a CSV file; every cell reads back to the same text.

    >>> csv_bytes(["name", "categoryId"], [["Rex, the dog", "3"]])
    b'name,categoryId\n"Rex, the dog",3\n'
    """
    lines: list[str] = []
    # the writer quotes cells with either half of its own line ending, so it always
    # writes both
    writer = csv.writer(
        SimpleNamespace(write=lines.append), lineterminator="\r\n", **dialect
    )
    writer.writerows((header, *rows))
    text = "".join(line.removesuffix("\r\n") + "\n" for line in lines)
    # cells came in this encoding; a reason of the service's may not fit it
    return text.encode(encoding, errors="backslashreplace")
