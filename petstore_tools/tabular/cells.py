"""
Sheets as rows of cells: what a cell was, lines that cannot be split, columns as people
name them.
"""

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, time, timedelta
from decimal import Context, Decimal
from functools import cache
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

from petstore_tools import spec
from petstore_tools.text import clean

# from here on a double stands for several whole numbers, and nobody can tell which
EXACT = 2**53
MERGED = "part of the merged cell"  # the beginning of the kind of such a cell
NUMBER = "a number"
ROUNDED = "a number that may have been rounded"
FORMATTED = "a number that the sheet shows otherwise"  # 007, 50 %
# 7.0, but not 1.000, which may be a thousand
_FRACTION = re.compile(r"-?\d+[.,]\d{4,17}", re.ASCII)  # a double
_AS_EXCEL = Context(prec=15)  # significant digits: Excel has no more
_WHOLE = re.compile(r"(?!-?[1-9]\d{0,2}[.,]000$)(-?\d+)(?:[.,]0+)?", re.ASCII)


class NonTextCell(str):
    """
    A cell that was not text, as text.

    Attributes:
        kind: What it was: `a number`, `a number that the sheet shows otherwise`, `a
            number that may have been rounded`, `a date`, `a time`, `a boolean`.
        value: What it was; None where its text tells that, or nobody knows.
        number_format: How .xlsx shows it: a code, or the number of one that every
            workbook has; 0 where nobody knows.
    """

    __slots__ = ("kind", "number_format", "value")
    kind: str
    value: Any
    number_format: str | int

    def __new__(
        cls, text: str, kind: str = "", value: Any = None, number_format: str | int = 0
    ) -> Self:
        """
        Keep what it was; a pickle makes the cell without it, and sets it afterwards.
        """
        cell = super().__new__(cls, text)
        cell.kind = kind
        cell.value = value
        cell.number_format = number_format
        return cell


class FrameRow(int):
    """
    The number of a row of a DataFrame, as a file would count it; it is written as the
    row's label.

    Attributes:
        label: In the index.
    """

    label: Hashable

    def __new__(cls, number: int, label: Hashable = None) -> Self:
        """
        Keep the label; a pickle makes the number without it, and sets it afterwards.
        """
        row_number = super().__new__(cls, number)
        row_number.label = label
        return row_number

    def __str__(self) -> str:
        return repr(self.label) if isinstance(self.label, str) else str(self.label)


class Area(NamedTuple):
    """
    Cells that a formula refers to: rows from 1, columns from 0, the last ones included.
    """

    top: int
    bottom: int
    left: int
    right: int


_LAST = 1 << 20  # row or column of a reference that names none
_OTHER_WORKBOOK = re.compile(r"(?<!\w)\[(\d+)\]")
_QUOTED_TEXT = re.compile(r'"[^"]*"')
_CELL = r"\$?(?P<{0}_column>[a-z]{{1,3}})?\$?(?P<{0}_row>\d+)?"
_REFERENCE = re.compile(  # B2, B2:B9, B:B, 2:9, each perhaps with its sheet
    rf"(?:(?P<sheet>'(?:[^']|'')+'|[\w.]+)!)?(?<![\w.$]){_CELL.format('first')}"
    rf"(?P<range>:{_CELL.format('last')})?(?![\w.(!])"
)
_TABLE_REFERENCE = re.compile(r"([^\W\d][\w.]*)?\[((?:[^][]|\[[^]]*\])*)\]")
Record = tuple[int, Sequence[str]]  # the number of a row, and its cells


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """
    The cells of a sheet, whatever it was read from; each format has a class of its own.

    Attributes:
        suffix: Ending of the files that are written like it.
        source: The bytes of the file that it was read from.
        delimiter: What is written between cells.
        notes: What was found and should be known.
        name: Of a sheet of a workbook, else "".
        names: Of all sheets of the workbook.
        hidden: Rows that the spreadsheet does not show.
        formulas: The formula of a cell, by its row and its column, from 0.
        cell_names: The cells that a name of the workbook stands for, in lower case.
        table_columns: Where the data of each column of a table of Excel is, by the
            names of both, in lower case.
        totals: Row and column, from 0, of the cells in the totals rows of such tables.
        is_unseen: Whether nobody can tell what it hides.
    """

    suffix: str = ".csv"
    source: bytes = field(default=b"", repr=False)
    delimiter: str = ","
    notes: tuple[str, ...] = ()
    name: str = ""
    names: tuple[str, ...] = ()
    hidden: set[int] = field(default_factory=set)
    formulas: dict[tuple[int, int], str] = field(default_factory=dict)
    cell_names: dict[str, str] = field(default_factory=dict)
    table_columns: dict[tuple[str, str], Area] = field(default_factory=dict)
    totals: set[tuple[int, int]] = field(default_factory=set)
    is_unseen: bool = False

    def records(self) -> Iterator[Record]:
        """
        Yield each row with its number as a spreadsheet shows it; empty ones may be left
        out.
        """
        raise NotImplementedError


def text_of(value: Any, number_kind: str = NUMBER, number_format: str | int = 0) -> str:
    """
    Return a cell's value as text, "" for none; one that was no text keeps what it was
    (`NonTextCell`). A whole number is exact, whatever its size.

    >>> text_of(7.0), text_of(7.0).kind
    ('7', 'a number')
    """
    match value:
        case None:
            return ""
        case str():
            return str(value)
        case bool():
            text = str(value).upper()
            kind = "a boolean"
        case float() if abs(value) < EXACT:
            # Excel has no more digits
            shown = value if value.is_integer() else float(f"{value:.15g}")
            text = str(int(shown)) if shown.is_integer() else str(shown)
            noise = None if shown == value else value
            return NonTextCell(text, number_kind, noise, number_format)
        case float():  # or no number at all: NaN
            text = f"{value:.0f}"
            kind = ROUNDED
        case Integral():  # Python writes no int of more than 4,300 digits
            return text_of(Decimal(int(value)), number_kind, number_format)
        case Real():
            return text_of(float(value), number_kind, number_format)
        case Decimal():
            return NonTextCell(str(value), number_kind, number_format=number_format)
        case date():
            text = value.isoformat().removesuffix("T00:00:00")
            kind = "a date"
        case time() | timedelta():
            text = str(value)
            kind = "a time"
        case _:
            text = str(value)
            kind = f"of type {type(value).__name__}"
    return NonTextCell(text, kind, value, number_format)


class Problem(NamedTuple):
    """
    Why a cell cannot be taken as it is.

    Attributes:
        rule: What is wrong, as the rest of a sentence about the cell: `is empty`.
        help: What fixes it.
    """

    rule: str
    help: str


class MalformedLine(list[str]):
    """
    A line that cannot be read, as one cell.

    Attributes:
        problem: Why, and what fixes it.
    """

    def __init__(self, line: str, problem: Problem) -> None:
        super().__init__([line])
        self.problem = problem


def whole_number(text: str) -> int | None:
    """
    Read a whole number: `7.0`, `7,0`, and 6.9999999999999996, which Excel shows as 7.

    >>> whole_number("7,0"), whole_number("Dogs"), whole_number("6.9999999999999996")
    (7, None, 7)

    Returns:
        The number (int64), None where the text is not one for sure: `1.000` may be 1 or
        1,000.
    """
    text = clean(text)
    if digits := _WHOLE.fullmatch(text):
        number = Decimal(digits[1])
    elif _FRACTION.fullmatch(text):
        number = _AS_EXCEL.plus(Decimal(text.replace(",", ".")))
    else:
        return None
    if number != number.to_integral_value():
        return None
    is_int64 = spec.INT64_MIN <= number <= spec.INT64_MAX
    return int(number) if is_int64 else None


def is_blank(cell: str) -> bool:
    """
    Say whether nothing is in a cell; a formula without a saved value is something.
    """
    if cell.isascii() and cell.strip():  # nearly all are
        return False
    return not clean(cell) and getattr(cell, "kind", MERGED).startswith(MERGED)


def are_blank(cells: Iterable[str]) -> bool:
    """Say whether nothing is in any of some cells."""
    return all(map(is_blank, cells))


def references(formula: str, sheet: Sheet) -> Iterator[Area]:
    """
    Yield the cells of its own sheet that a formula refers to, as areas.

    >>> [*references("=SUM(B2:B9)+Prices!C3", Sheet())]
    [Area(top=2, bottom=9, left=1, right=1)]
    """
    text = formula.casefold()
    if "dummyfunction" not in text:  # Google keeps its own functions in a text
        text = _QUOTED_TEXT.sub("", text)
    text = _OTHER_WORKBOOK.sub(r"_\1_", text).replace(":offset(", f":{_LAST},(")
    tables = {table: f"{table}[]" for table, _ in sheet.table_columns}
    for name, cells in {**sheet.cell_names, **tables}.items():
        text = re.sub(rf"(?<![\w.]){re.escape(name)}(?![\w.\[(!])", cells, text)
    for table, inner in _TABLE_REFERENCE.findall(text):
        if "@" not in inner and "#this row" not in inner:
            titles = {*re.findall(r"(?<![#\w])[^][,:#]+", inner)}
            for (name, title), area in sheet.table_columns.items():
                if table in ("", name) and title in (titles or {title}):
                    yield area
    for match in _REFERENCE.finditer(_TABLE_REFERENCE.sub("", text)):
        owner = (match["sheet"] or "").strip("'").replace("''", "'")
        is_cell = match["first_column"] and match["first_row"]
        if owner in ("", sheet.name.casefold()) and (match["range"] or is_cell):
            yield _area(match)


def _area(match: re.Match[str]) -> Area:
    """Return the cells of a reference; a whole column or row goes to the last one."""
    prefix = "last" if match["range"] else "first"
    first, last = match["first_column"], match[f"{prefix}_column"]
    return Area(
        int(match["first_row"] or 1),
        int(match[f"{prefix}_row"] or _LAST),
        column_index(first.upper()) if first else 0,
        column_index(last.upper()) if last else _LAST,
    )


@cache
def column_index(letters: str) -> int:
    """
    Return the index of a column, from 0.

    >>> column_index("A"), column_index("AA")
    (0, 26)
    """
    from xlsxwriter.utility import xl_cell_to_rowcol

    return int(xl_cell_to_rowcol(f"{letters}1")[1])


def column_letter(index: int) -> str:
    """
    Return a column's letters as spreadsheets show them.

    >>> column_letter(0), column_letter(26)
    ('A', 'AA')
    """
    from xlsxwriter.utility import xl_col_to_name

    return str(xl_col_to_name(index))
