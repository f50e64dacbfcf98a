"""
Pure: whole numbers as people write them: `7`, `7.0`, `7,0`; none is rounded or guessed.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from petstore_tools import spec
from petstore_tools.tabular.cells import EXACT

_SEPARATORS: Final = ".,'\u2019 \u00a0\u202f"  # between groups of three digits
_WHOLE: Final = re.compile(r"(-?\d+)(?:([.,])0+)?", re.ASCII)
_GROUPED: Final = re.compile(
    rf"-?[1-9]\d{{0,2}}([{_SEPARATORS}])\d{{3}}(?:\1\d{{3}})*(?:[.,]0+)?", re.ASCII
)
_LONG: Final = 400  # characters; int() refuses 4,300 digits


class Problem(NamedTuple):
    """
    Why a cell cannot be sent.

    Attributes:
        rule: What is wrong, as the rest of a sentence about the cell: `is empty`.
        help: What fixes it; a suggestion is a question: `did you mean 'sold'?`.
    """

    rule: str
    help: str


def whole_number(text: str, delimiter: str) -> int | Problem | None:
    """
    Read a whole number.

    Args:
        text: Without blanks around.
        delimiter: The sign between cells; where it is not a comma, `7,0` is 7.

    Returns:
        The number (int64), why it cannot be read for sure, or None where the text is not a whole
        number.
    """
    if _GROUPED.fullmatch(text):
        return Problem("has its digits in groups", "type the number without the signs between them")
    found = _WHOLE.fullmatch(text)
    if found is None or found[2] == delimiter == ",":
        return None
    too_large = Problem("is too large", "give a smaller number")
    if len(text) > _LONG:
        return too_large
    value = int(found[1])
    if found[2] and abs(value) >= EXACT:
        return Problem("may have been rounded", "format the column as text and type it again")
    return value if spec.INT64_MIN <= value <= spec.INT64_MAX else too_large
