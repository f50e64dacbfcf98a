"""DataFrames read as sheets, whose first row of cells is row 2; and written as sheets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from decimal import Decimal
from io import BytesIO
from numbers import Integral
from typing import TYPE_CHECKING, Any, Final

from petstore_tools.tabular.cells import (
    EXACT,
    FrameRow,
    NonTextCell,
    Record,
    Sheet,
    label_of,
)
from petstore_tools.tabular.template import LONGEST_CELL, WRITER_OPTIONS
from petstore_tools.tabular.workbooks import text_of

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS: Final = 1_048_000  # of a sheet
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")  # no file and no request can hold it
_LONG: Final = 10**400  # far beyond int64; Python writes no int of more than 4,300 digits
_OTHER_FRAMES: Final = {  # the method that gives their rows, and the attribute with their titles
    "rows": "columns",  # polars
    "fetchall": "columns",  # a result of duckdb
    "to_pylist": "column_names",  # pyarrow
}


def to_pandas(frame: Any) -> pd.DataFrame | None:
    """Return a frame of pandas, polars, pyarrow or duckdb as one of pandas, None for all else."""
    import pandas as pd

    if isinstance(frame, pd.DataFrame):
        return frame
    for rows, names in _OTHER_FRAMES.items():
        if hasattr(frame, rows) and hasattr(frame, names):
            titles = list(getattr(frame, names))
            return pd.DataFrame(getattr(frame, rows)(), columns=titles, dtype="object")
    return None


@dataclass(frozen=True, kw_only=True)
class FrameSource(Sheet):
    """
    A frame as a sheet.

    Attributes:
        frame: The columns; the index names the rows.
    """

    delimiter: str = ""
    frame: pd.DataFrame

    def records(self) -> Iterator[Record]:
        """Yield the titles as row 1, then the rows."""
        yield 1, [str(title) for title in self.frame.columns]
        columns = [_texts(self.frame.iloc[:, at]) for at in range(self.frame.shape[1])]
        labels = self.frame.index.tolist()
        for number, (label, *cells) in enumerate(zip(labels, *columns, strict=True), start=2):
            yield FrameRow(number, label), cells


def _texts(column: pd.Series[Any]) -> list[str]:
    cells = zip(column.isna().tolist(), column.tolist(), strict=True)
    return ["" if is_missing else _text(value) for is_missing, value in cells]


def _text(value: Any) -> str:
    """Return a value as text; a whole number of a frame is exact, whatever its size."""
    if isinstance(value, str) and _LONE_SURROGATE.search(value):
        return NonTextCell(_LONE_SURROGATE.sub("�", value), "a text with a broken character")
    is_exact = isinstance(value, Integral | Decimal) and not isinstance(value, bool)
    if is_exact:
        is_whole = abs(value) < _LONG and value == int(value)
        return NonTextCell(str(int(value) if is_whole else Decimal(value)), "a number")
    return text_of(value)


def labels(numbers: Sequence[int]) -> pd.Series[Any]:
    """Return how people find rows: their numbers (int64), or their labels in a DataFrame."""
    import pandas as pd

    of_frame = any(isinstance(number, FrameRow) for number in numbers)
    return pd.Series([label_of(number) for number in numbers], dtype=None if of_frame else "int64")


def excel_writer(sink: BytesIO) -> pd.ExcelWriter[Any]:
    """Open a workbook for frames; text in it is never a formula, a number or a link."""
    import pandas as pd

    return pd.ExcelWriter(
        sink,
        engine="xlsxwriter",
        datetime_format="yyyy-mm-dd hh:mm:ss",
        engine_kwargs={"options": WRITER_OPTIONS},
    )


def sheet_cells(table: pd.DataFrame, zone: tzinfo | None) -> pd.DataFrame:
    """
    Return a table as a sheet can hold it: times in the zone, long texts cut, huge numbers as text.

    Args:
        table: At most `MOST_ROWS` of its rows are taken.
        zone: Time zone of the times, None for that of this machine. Excel knows no zones, so the
            title of a column names its zone. Where it has both summer and winter times, a column
            `zone` names that of each row: in autumn, an hour comes twice.
    """
    import pandas as pd

    cells = table.head(MOST_ROWS).copy()
    for name in list(cells):
        column = cells[name]
        if isinstance(column.dtype, pd.DatetimeTZDtype):
            local = [None if pd.isna(at) else at.to_pydatetime().astimezone(zone) for at in column]
            plain = [None if at is None else at.replace(tzinfo=None) for at in local]
            cells[name] = pd.to_datetime(pd.Series(plain, index=cells.index))
            now = datetime.now().astimezone(zone)
            zones = [str((at or now).tzname()) for at in local]
            cells = cells.rename(columns={name: f"{name} ({', '.join(sorted(set(zones)))})"})
            if len(set(zones)) > 1:
                cells["zone"] = zones
        elif pd.api.types.is_integer_dtype(column) and not column.between(-EXACT, EXACT).all():
            cells[name] = [
                value if abs(value) <= EXACT else str(value) for value in column.tolist()
            ]
        elif not pd.api.types.is_numeric_dtype(column):
            cells[name] = [
                value[:LONGEST_CELL] if isinstance(value, str) else value for value in column
            ]
    return cells
