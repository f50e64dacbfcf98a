"""
Frames as sheets of a workbook: what Excel would round or run is text, and times are those of one
zone.
"""

from __future__ import annotations

from datetime import datetime, tzinfo
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from petstore_tools.tabular.cells import EXACT
from petstore_tools.tabular.template import LONGEST_CELL, WRITER_OPTIONS

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS: Final = 1_048_000  # of a sheet


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
        zone: Of the times, None for that of this machine; Excel knows no zones, so the titles name
            it.
    """
    import pandas as pd

    cells = table.head(MOST_ROWS).copy()
    for name in list(cells):
        column = cells[name]
        if isinstance(column.dtype, pd.DatetimeTZDtype):
            local = [None if pd.isna(at) else at.to_pydatetime().astimezone(zone) for at in column]
            plain = [None if at is None else at.replace(tzinfo=None) for at in local]
            cells[name] = pd.to_datetime(pd.Series(plain, index=cells.index))
            zones = sorted({str((at or datetime.now().astimezone(zone)).tzname()) for at in local})
            cells = cells.rename(columns={name: f"{name} ({', '.join(zones)})"})
        elif pd.api.types.is_integer_dtype(column) and not column.between(-EXACT, EXACT).all():
            cells[name] = [
                value if abs(value) <= EXACT else str(value) for value in column.tolist()
            ]
        elif not pd.api.types.is_numeric_dtype(column):
            cells[name] = [
                value[:LONGEST_CELL] if isinstance(value, str) else value for value in column
            ]
    return cells
