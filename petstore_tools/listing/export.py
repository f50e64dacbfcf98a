"""A listing as a file: CSV, a workbook, JSON or Parquet, written completely or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from petstore_tools.errors import ArgumentError, SheetError
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.parquet import parquet_bytes
from petstore_tools.tabular.atomic import replace_file
from petstore_tools.tabular.cells import EXACT, NonTextCell, escape_formula
from petstore_tools.tabular.csv_files import write_csv
from petstore_tools.tabular.workbooks import write_xlsx

if TYPE_CHECKING:
    import pandas as pd

SHEET_ROWS: Final = 1_048_575  # below the header
ENDINGS: Final = (".csv", ".xlsx", ".json", ".parquet")


def write(frame: pd.DataFrame, path: Path, *, for_excel: bool = False) -> None:
    """
    Write a listing; `import` reads the CSV and the workbook as they are.

    Args:
        frame: As `list_pets` gave it; with a column of names of the categories, where they are known.
        path: Its ending, one of `ENDINGS`, says what is written. Parquet and the workbook's properties
            say whether it is complete; the others have no place for it.
        for_excel: CSV only: mark the encoding, and put `'` before a name that Excel would run as a formula
            (it stays there: such a file is for people to read).

    Raises:
        MissingExtraError: Parquet needs the extra `parquet`.
        ArgumentError: Another ending.
        SheetError: A name is too long for a workbook, or there are too many rows.
    """
    match path.suffix.casefold():
        case ".csv":
            rows = _cells(frame)
            if for_excel:
                of_text = [title in ("name", "category") for title in frame.columns]
                rows = (
                    [escape_formula(cell) if text else cell for cell, text in zip(row, of_text, strict=True)]
                    for row in rows
                )
            write_csv(
                path,
                list(frame.columns),
                rows,
                encoding="utf-8-sig" if for_excel else "utf-8",
                line_ending="\r\n" if for_excel else "\n",
            )
        case ".xlsx":
            if len(frame) > SHEET_ROWS:
                raise SheetError(
                    f"{len(frame):,} animals do not fit in a sheet: write a .csv or .parquet file"
                )
            write_xlsx(path, list(frame.columns), _cells(frame), note=str(Listing.of(frame)))
        case ".json":
            replace_file(path, (frame.to_json(orient="records", force_ascii=False, indent=1) + "\n").encode())
        case ".parquet":
            replace_file(path, parquet_bytes(frame, Listing.of(frame)))
        case _:
            raise ArgumentError(
                f"{path.name!r} cannot be written: its ending must be one of {', '.join(ENDINGS)}"
            )


def _cells(frame: pd.DataFrame) -> Iterator[list[str]]:
    for values in zip(*(frame[name].tolist() for name in frame.columns), strict=True):
        yield [_cell(value) for value in values]


def _cell(value: Any) -> str:
    """Return a text, "" for none, or a number's cell; beyond what a spreadsheet counts exactly it is text."""
    if not isinstance(value, int):
        return value if isinstance(value, str) else ""
    return NonTextCell(str(value), "a number") if abs(value) <= EXACT else str(value)
