"""A listing as a file: CSV, a workbook, JSON or Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from petstore_tools.errors import ArgumentError, SheetError
from petstore_tools.listing.completeness import Listing
from petstore_tools.tabular.atomic import replace_file
from petstore_tools.tabular.frames import FrameSource
from petstore_tools.tabular.template import LAST_ROW, rejects_bytes
from petstore_tools.tabular.text_files import csv_bytes

if TYPE_CHECKING:
    import pandas as pd

ENDINGS = (".csv", ".xlsx", ".json", ".parquet")


def write(frame: pd.DataFrame, path: Path) -> None:
    """
    Write a listing; `import` reads the CSV and the workbook as they are.

    >>> write(store.list_pets(first=3), Path("first.csv"))
    >>> Path("first.csv").read_text("utf-8-sig").splitlines()[0]
    'id,name,categoryId,status'

    Args:
        frame: As `list_pets` gave it; with a column of names of the categories, where
            they are known.
        path: Its ending, one of `ENDINGS`, says what is written. Parquet and the
            workbook's properties say whether it is complete; the others have no place
            for it.

    Raises:
        ImportError: Parquet needs pyarrow.
        ArgumentError: Another ending.
        SheetError: A name is too long for a workbook, or there are too many rows.
    """
    match path.suffix.casefold():
        case ".csv":
            content = csv_bytes(*_cells(frame))
        case ".xlsx":
            content = _workbook(frame)
        case ".json":
            records = frame.to_json(
                orient="records", force_ascii=False, indent=1, date_format="iso"
            )
            content = f"{records}\n".encode()
        case ".parquet":
            content = frame.to_parquet()
        case _:
            raise ArgumentError(
                f"{path.name!r} cannot be written: its ending must be one of"
                f" {', '.join(ENDINGS)}"
            )
    replace_file(path, content)


def _workbook(frame: pd.DataFrame) -> bytes:
    if len(frame) > LAST_ROW:
        raise SheetError(
            f"{len(frame):,} animals do not fit in a sheet: write a .csv or"
            " .parquet file"
        )
    note = str(Listing.of(frame)) if "listing" in frame.attrs else ""
    return rejects_bytes(*_cells(frame), note=note)


def _cells(frame: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Return the titles and the rows."""
    titles, *rows = [cells for _, cells in FrameSource(frame=frame).records()]
    return titles, rows
