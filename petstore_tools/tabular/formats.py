"""The formats of spreadsheets that can be read: one row each, and nothing else names an ending."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from petstore_tools.errors import SheetError
from petstore_tools.tabular.cells import Sheet
from petstore_tools.tabular.csv_files import read_csv
from petstore_tools.tabular.workbooks import read_workbook

# by ending: a function of the path, and the sheet and the encoding that are asked for, which gives
# each sheet that may be meant
FORMATS: Final[Mapping[str, Callable[[Path, str | None, str | None], Sequence[Sheet]]]] = {
    ".csv": read_csv,
    ".tsv": read_csv,
    ".txt": read_csv,
    ".xlsx": read_workbook,
    ".xlsm": read_workbook,
    ".xlsb": read_workbook,
    ".xls": read_workbook,
    ".ods": read_workbook,
}
_WORKBOOKS: Final = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  # what their files begin with


def open_sheets(
    path: Path, sheet: str | None = None, encoding: str | None = None
) -> Sequence[Sheet]:
    """
    Open a spreadsheet.

    Args:
        path: Its ending is one of `FORMATS`; whether it is a text or a workbook, its content tells.
        sheet: Which sheet of a workbook; None: all that are visible.
        encoding: Of a text file; None: it is found.

    Returns:
        Each sheet of a workbook that may be meant; the one of a text.

    Raises:
        SheetError: It is not there, has another format, or cannot be read.
    """
    read = FORMATS.get(path.suffix.casefold())
    if read is None:
        endings = ", ".join(FORMATS)
        raise SheetError(
            f"{path.name or path} cannot be imported; save the sheet as one of these: {endings}"
        )
    try:
        with path.open("rb") as file:  # programs call texts .xls, and people rename files
            is_workbook = file.read(4).startswith(_WORKBOOKS)
        if read is read_workbook and not is_workbook:
            return [replace(found, suffix=".csv") for found in read_csv(path, sheet, encoding)]
        return (read_workbook if is_workbook and read is read_csv else read)(path, sheet, encoding)
    except FileNotFoundError as error:
        raise SheetError(
            f"there is no file {path.name} in the folder {path.absolute().parent}"
        ) from error
    except PermissionError as error:
        raise SheetError(
            f"{path.name} cannot be read: close it in Excel, or check its permissions"
        ) from error
    except OSError as error:
        raise SheetError(f"{path.name} cannot be read: {error.strerror}") from error
