"""A listing as a file: CSV, a workbook, JSON or Parquet, written completely or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from petstore_tools.errors import ArgumentError, SheetError
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.parquet import parquet_bytes
from petstore_tools.tabular.atomic import replace_file
from petstore_tools.tabular.cells import escape_formula
from petstore_tools.tabular.csv_files import write_csv
from petstore_tools.tabular.frames import FrameSource
from petstore_tools.tabular.template import LAST_ROW
from petstore_tools.tabular.workbooks import write_xlsx

if TYPE_CHECKING:
    import pandas as pd

ENDINGS: Final = (".csv", ".xlsx", ".json", ".parquet")


def write(frame: pd.DataFrame, path: Path, *, for_excel: bool = False) -> None:
    """
    Write a listing; `import` reads the CSV and the workbook as they are.

    Args:
        frame: As `list_pets` gave it; with a column of names of the categories, where they are
            known.
        path: Its ending, one of `ENDINGS`, says what is written. Parquet and the workbook's
            properties say whether it is complete; the others have no place for it.
        for_excel: CSV only: mark the encoding, and put `'` before a name that Excel would run as a
            formula (it stays there: such a file is for people to read).

    Raises:
        MissingExtraError: Parquet needs the extra `parquet`.
        ArgumentError: Another ending.
        SheetError: A name is too long for a workbook, or there are too many rows.
    """
    match path.suffix.casefold():
        case ".csv":
            form = {"encoding": "utf-8-sig", "line_ending": "\r\n"} if for_excel else {}
            for name in frame.columns.difference(["id", "categoryId"]) if for_excel else ():
                frame = frame.assign(**{name: frame[name].map(escape_formula, na_action="ignore")})
            titles, *rows = _cells(frame)
            write_csv(path, titles, rows, **form)
        case ".xlsx":
            if len(frame) > LAST_ROW:
                raise SheetError(
                    f"{len(frame):,} animals do not fit in a sheet: write a .csv or .parquet file"
                )
            titles, *rows = _cells(frame)
            write_xlsx(path, titles, rows, note=str(Listing.of(frame)))
        case ".json":
            replace_file(
                path, (frame.to_json(orient="records", force_ascii=False, indent=1) + "\n").encode()
            )
        case ".parquet":
            replace_file(path, parquet_bytes(frame, Listing.of(frame)))
        case _:
            raise ArgumentError(
                f"{path.name!r} cannot be written: its ending must be one of {', '.join(ENDINGS)}"
            )


def _cells(frame: pd.DataFrame) -> list[list[str]]:
    """Return the titles and the rows."""
    return [cells for _, cells in FrameSource(frame=frame).records()]
