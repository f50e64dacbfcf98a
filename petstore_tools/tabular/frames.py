"""DataFrames read as sheets, whose first row of cells is row 2."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral
from typing import TYPE_CHECKING, Any

from petstore_tools.tabular.cells import (
    FrameRow,
    NonTextCell,
    Record,
    Sheet,
    text_of,
)

if TYPE_CHECKING:
    import pandas as pd

# no file and no request can hold it
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
# the method that gives their rows, and the attribute with their titles
_OTHER_FRAMES = {
    "rows": "columns",  # polars
    "fetchall": "columns",  # a result of duckdb
    "to_pylist": "column_names",  # pyarrow
}


def to_pandas(frame: Any) -> pd.DataFrame | None:
    """
    Return a frame of pandas, polars, pyarrow or duckdb as one of pandas, None for all
    else.

    >>> to_pandas([1]) is None
    True
    """
    import pandas as pd

    if isinstance(frame, pd.DataFrame):
        return frame
    for rows, titles in _OTHER_FRAMES.items():
        if hasattr(frame, rows) and hasattr(frame, titles):
            columns = list(getattr(frame, titles))
            return pd.DataFrame(getattr(frame, rows)(), columns=columns, dtype="object")
    return None


@dataclass(frozen=True, kw_only=True)
class FrameSource(Sheet):
    """
    A frame as a sheet.

    Attributes:
        frame: The columns; the index names the rows.
    """

    frame: pd.DataFrame

    def records(self) -> Iterator[Record]:
        """
        Yield the titles as row 1, then the rows.

        >>> list(FrameSource(frame=pd.DataFrame({"name": ["Rex"]})).records())
        [(1, ['name']), (2, ['Rex'])]
        """
        yield 1, [str(title) for title in self.frame.columns]
        values = self.frame.astype("object").where(self.frame.notna(), "")
        for number, (label, *cells) in enumerate(values.itertuples(name=None), start=2):
            yield FrameRow(number, label), [_cell_text(cell) for cell in cells]


def _cell_text(value: Any) -> str:
    """Return a value as text; a whole number of a frame is exact, whatever its size."""
    if isinstance(value, str) and _LONE_SURROGATE.search(value):
        text = _LONE_SURROGATE.sub("�", value)
        return NonTextCell(text, "a text with a broken character")
    if isinstance(value, Integral) and not isinstance(value, bool):
        value = Decimal(int(value))  # Python writes no int of more than 4,300 digits
    if isinstance(value, Decimal):
        return NonTextCell(str(value), "a number")
    return text_of(value)


def row_label(number: int) -> Any:
    """
    Return how people find a row: its number, or its label in a DataFrame.

    >>> row_label(4)
    4
    """
    return getattr(number, "label", number)


def row_labels(numbers: Sequence[int]) -> pd.Series[Any]:
    """
    Return how people find rows: their numbers (int64), or their labels in a DataFrame.
    """
    import pandas as pd

    return pd.Series([*map(row_label, numbers)], dtype=None if numbers else "int64")
