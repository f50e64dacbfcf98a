"""
Pure: whole numbers as people write them: `7`, `7.0`, `7,0`, `1.000`; none is rounded or guessed.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from petstore_tools import spec
from petstore_tools.tabular.cells import EXACT
from petstore_tools.text import option

# signs between groups of three digits; those of one text mean the same
_ALIKE: Final = (".", ",", "'\u2019", " \u00a0\u202f")
SEPARATORS: Final = "".join(_ALIKE)
_WHOLE: Final = re.compile(r"-?\d+", re.ASCII)
_GROUPED: Final = re.compile(
    rf"(-?[1-9]\d{{0,2}}(?:([{SEPARATORS}])\d{{3}})(?:\2\d{{3}})*)([.,]0+)?", re.ASCII
)
_DECIMAL: Final = re.compile(r"(-?\d+)([.,])0+", re.ASCII)
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


def whole_number(text: str, thousands: str, delimiter: str) -> int | Problem | None:
    """
    Read a whole number.

    Args:
        text: Without blanks around.
        thousands: The sign between groups of three digits; "" where such texts are a problem.
        delimiter: The sign between cells; where it is not a comma, `7,0` is 7.

    Returns:
        The number (int64), why it cannot be read for sure, or None where the text is not a whole
        number.
    """
    if len(text) > _LONG:
        return (
            Problem("is too large", "give a smaller number")
            if text.lstrip("-").isdecimal()
            else None
        )
    digits, is_decimal = text, False
    if grouped := _GROUPED.fullmatch(text):
        separator, decimals = grouped[2], grouped[3] or ""
        alike = next(tuple(signs) for signs in _ALIKE if separator in signs)
        if thousands not in alike or decimals.startswith(separator):
            help_ = option(f'thousands="{alike[0]}"', f'--thousands "{alike[0]}"')
            return Problem("has its digits in groups", help_)
        digits, is_decimal = grouped[1].replace(separator, ""), bool(decimals)
    elif decimal := _DECIMAL.fullmatch(text):
        if decimal[2] == thousands or decimal[2] == delimiter == ",":
            return None
        digits, is_decimal = decimal[1], True
    elif not _WHOLE.fullmatch(text):
        return None
    value = int(digits)
    if is_decimal and abs(value) >= EXACT:
        return Problem("may have been rounded", "format the column as text and type it again")
    if not spec.INT64_MIN <= value <= spec.INT64_MAX:
        return Problem("is too large", "give a smaller number")
    return value
