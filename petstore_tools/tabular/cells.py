"""Cells of spreadsheets: what was no text, lines that cannot be split, and columns as people name them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final, Self

EXACT: Final = 2**53  # from here on a double stands for several whole numbers, and nobody can tell which


class NonTextCell(str):
    """
    A cell that was no text, as text.

    Attributes:
        kind: What it was: `a number`, `a date`, `a time`, `a boolean`, `a number that may have been rounded`.
    """

    kind: str

    def __new__(cls, text: str, kind: str) -> Self:
        """Keep what it was."""
        made = super().__new__(cls, text)
        made.kind = kind
        return made


class FrameRow(int):
    """
    The number of a row of a DataFrame, as a file would count it; it is written as the row's label.

    Attributes:
        label: In the index.
    """

    label: Hashable

    def __new__(cls, number: int, label: Hashable) -> Self:
        """Keep the label."""
        made = super().__new__(cls, number)
        made.label = label
        return made

    def __str__(self) -> str:
        return repr(self.label) if isinstance(self.label, str) else str(self.label)


def label_of(number: int) -> Hashable:
    """Return how people find a row: its number, or its label in the index of a DataFrame."""
    return number.label if isinstance(number, FrameRow) else number


@dataclass(frozen=True)
class MalformedLine:
    """A line that no CSV reader can split, and why."""

    line: str
    why: str


def column_letter(position: int) -> str:
    """Return a column's letters as spreadsheets show them: 0 is A, 26 is AA."""
    text, rest = "", position + 1
    while rest:
        rest, digit = divmod(rest - 1, 26)
        text = chr(ord("A") + digit) + text
    return text
