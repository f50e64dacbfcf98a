"""
Sheets as rows of cells: what a cell was, lines that cannot be split, columns as people
name them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from functools import cache
from numbers import Real
from typing import Any, ClassVar, Final, NamedTuple, Self

from petstore_tools import spec

# from here on a double stands for several whole numbers, and nobody can tell which
EXACT: Final = 2**53
MERGED: Final = "part of the merged cell"  # the beginning of the kind of such a cell
FORMATTED: Final = "a number that the sheet shows otherwise"  # 007, 50 %
_RUNS_AS_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "'")

_SEPARATORS: Final = ".,'\u2019 \u00a0\u202f"  # between groups of three digits
_WHOLE: Final = re.compile(r"(-?\d+)(?:[.,]0+)?", re.ASCII)
_GROUPED: Final = re.compile(
    rf"-?[1-9]\d{{0,2}}([{_SEPARATORS}])\d{{3}}(?:\1\d{{3}})*(?:[.,]0+)?", re.ASCII
)


class NonTextCell(str):
    """
    A cell that was not text, as text.

    Attributes:
        kind: What it was: `a number`, `a number that the sheet shows otherwise`, `a
            number that may have been rounded`, `a date`, `a time`, `a boolean`.
    """

    __slots__ = ("kind",)
    kind: str

    def __new__(cls, text: str, kind: str = "") -> Self:
        """
        Keep what it was; a pickle makes the cell without it, and sets it afterwards.
        """
        made = super().__new__(cls, text)
        made.kind = kind
        return made


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
        made = super().__new__(cls, number)
        made.label = label
        return made

    def __str__(self) -> str:
        return repr(self.label) if isinstance(self.label, str) else str(self.label)


class MalformedLine(list[str]):
    """
    A line that no CSV reader can split, as one cell.

    Attributes:
        why: The reason, as the rest of a sentence about the line.
    """

    def __init__(self, line: str, why: str) -> None:
        super().__init__([line])
        self.why = why


Record = tuple[int, list[str]]  # the number of a row, and its cells


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """
    The cells of a sheet, whatever it was read from; each format has a class of its own.

    Attributes:
        suffix: Ending of the files that are written like it.
        delimiter: What is written between cells.
        notes: What was found and should be known.
        name: Of a sheet of a workbook, else "".
        names: Of all sheets of the workbook.
        hidden: Rows that the spreadsheet does not show.
        hidden_columns: Columns that it does not show, from 0.
        is_unseen: Whether nobody can tell what it hides.
    """

    suffix: str = ".csv"
    delimiter: str = ","
    notes: tuple[str, ...] = ()
    name: str = ""
    names: tuple[str, ...] = ()
    hidden: AbstractSet[int] = frozenset()
    hidden_columns: AbstractSet[int] = frozenset()
    is_unseen: bool = False

    content: ClassVar[Callable[..., bytes]]
    """Return a file like it; a workbook also shows which cells are bad."""

    def records(self) -> Iterator[Record]:
        """
        Yield each row with its number as a spreadsheet shows it; empty ones may be left
        out.
        """
        raise NotImplementedError

    def escape(self, cell: str) -> str:
        """
        Put `'` before a cell of a rejects file that a spreadsheet would run as a
        formula.
        """
        return "'" + cell if cell.startswith(_RUNS_AS_FORMULA) else cell

    def unescape(self, cell: str) -> str:
        """Undo `escape`; only for files that the toolkit wrote."""
        return (
            cell[1:]
            if cell[:1] == "'" and cell[1:].startswith(_RUNS_AS_FORMULA)
            else cell
        )


def text_of(value: Any, number_kind: str = "a number") -> str:
    """
    Return a cell's value as text; one that was no text keeps what it was
    (`NonTextCell`).
    """
    match value:
        case str():
            return str(value)
        case bool():
            return NonTextCell("TRUE" if value else "FALSE", "a boolean")
        case Real():
            number = float(value)
            if not abs(number) < EXACT:  # or no number at all: NaN
                return NonTextCell(
                    f"{number:.0f}", "a number that may have been rounded"
                )
            text = str(int(number)) if number.is_integer() else repr(number)
            return NonTextCell(text, number_kind)
        case date():
            return NonTextCell(value.isoformat(), "a date")
        case time() | timedelta():
            return NonTextCell(str(value), "a time")
    return NonTextCell(str(value), f"of type {type(value).__name__}")


class Problem(NamedTuple):
    """
    Why a cell cannot be sent.

    Attributes:
        rule: What is wrong, as the rest of a sentence about the cell: `is empty`.
        help: What fixes it.
    """

    rule: str
    help: str


def whole_number(text: str) -> int | Problem | None:
    """
    Read a whole number; `7.0` and `7,0` are 7.

    Args:
        text: Without blanks around.

    Returns:
        The number (int64), why it cannot be read for sure, or None where the text is
        not a whole number.
    """
    if _GROUPED.fullmatch(text):
        return Problem(
            "has its digits in groups", "type the number without the signs between them"
        )
    found = _WHOLE.fullmatch(text)
    if found is None:
        return None
    value = Decimal(found[1])
    if spec.INT64_MIN <= value <= spec.INT64_MAX:
        return int(value)
    return Problem("is too large", "give a smaller number")


def is_blank(cell: str) -> bool:
    """
    Say whether nothing is in a cell; a formula without a saved value is something.
    """
    return not cell.strip() and getattr(cell, "kind", MERGED).startswith(MERGED)


def are_blank(cells: Iterable[str]) -> bool:
    """Say whether nothing is in any of some cells."""
    return all(map(is_blank, cells))


@cache
def column_position(letters: str) -> int:
    """Return the position of a column from 0: A is 0, AA is 26."""
    from xlsxwriter.utility import xl_cell_to_rowcol

    position: int = xl_cell_to_rowcol(f"{letters}1")[1]
    return position


def column_letter(position: int) -> str:
    """Return a column's letters as spreadsheets show them: 0 is A, 26 is AA."""
    from xlsxwriter.utility import xl_col_to_name

    letters: str = xl_col_to_name(position)
    return letters
