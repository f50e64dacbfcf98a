"""The history as a file: CSV, a workbook, JSON or Parquet, whole or not at all."""

from __future__ import annotations

from datetime import UTC
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

from petstore_tools.tabular.atomic import write_output
from petstore_tools.tabular.excel import excel_writer, sheet_cells

if TYPE_CHECKING:
    import pandas as pd

ENDINGS: Final = (".csv", ".xlsx", ".json", ".parquet")


def write(history: pd.DataFrame, path: Path) -> None:
    """
    Write a history, as `PetStore.history` returns it; times are UTC.

    The interval `ended_between` becomes two columns, `ended_after` and `ended_before`.

    Raises:
        OutputError: The file cannot be written.
        MissingExtraError: Parquet needs the extra `parquet`.
    """
    import pandas as pd

    between = pd.arrays.IntervalArray(history["ended_between"])
    flat = history.drop(columns="ended_between").assign(
        ended_after=between.left, ended_before=between.right
    )
    match path.suffix.casefold():
        case ".csv":
            content = flat.to_csv(index=False).encode()
        case ".json":
            content = flat.to_json(
                orient="records", date_format="iso", force_ascii=False, indent=1
            ).encode()
        case ".parquet":
            content = flat.to_parquet(index=False)
        case _:
            content = _workbook(flat)
    write_output(path, content)


def _workbook(flat: pd.DataFrame) -> bytes:
    """Return a workbook with a filter and a fixed header."""
    sink = BytesIO()
    with excel_writer(sink) as writer:
        cells = sheet_cells(flat, UTC)
        cells.to_excel(writer, sheet_name="History", index=False, freeze_panes=(1, 0))
        sheet = writer.sheets["History"]
        sheet.autofilter(0, 0, max(len(cells), 1), len(cells.columns) - 1)
        sheet.autofit()
    return sink.getvalue()
