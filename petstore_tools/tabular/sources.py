"""
Sources opened: a text or a workbook by what it holds, whatever its name says, and a
DataFrame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from petstore_tools.errors import SheetError
from petstore_tools.tabular.cells import Sheet
from petstore_tools.tabular.frames import FrameSource, to_pandas
from petstore_tools.tabular.text_files import read_csv
from petstore_tools.tabular.workbooks import is_workbook, read_workbook
from petstore_tools.text import printable

_TEXTS = (".csv", ".tsv", ".txt")
FORMATS = (*_TEXTS, ".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")


def open_source(
    source: object, sheet: str | None = None, encoding: str | None = None
) -> Sequence[Sheet]:
    """
    Open a spreadsheet, or a DataFrame as one.

    >>> [sheet] = open_source("animals.csv")
    >>> next(sheet.records())
    (1, ['name', 'categoryId', 'status'])

    Args:
        source: A DataFrame, or the path of a file. Its ending is one of `FORMATS`;
            whether it is a text or a workbook, its content tells.
        sheet: Which sheet of a workbook; None: all that are visible.
        encoding: Of a text file; None: it is found.

    Returns:
        Each sheet of a workbook that may be meant; the one of anything else.

    Raises:
        SheetError: It is not there, has another format, or cannot be read.
    """
    if not isinstance(source, str | Path):
        frame = to_pandas(source)
        if frame is None:
            raise SheetError(
                f"give the path of a file or a DataFrame, not {type(source).__name__}"
            )
        return [FrameSource(frame=frame)]
    path = Path(source)
    suffix = path.suffix.casefold()
    if suffix not in FORMATS:
        endings = ", ".join(FORMATS)
        raise SheetError(
            f"{path.name or path} cannot be imported; save the sheet as one of these:"
            f" {endings}"
        )
    content = _read_file(path)
    # programs call texts .xls, and people rename files
    if is_workbook(content):
        return read_workbook(content, path.name, sheet)
    if sheet is not None:
        raise SheetError(f"{path.name} is not a workbook: it has no sheet {sheet!r}")
    suffix = path.suffix if suffix in _TEXTS else ".csv"
    return [replace(read_csv(content, path.name, encoding), suffix=suffix)]


def _read_file(path: Path) -> bytes:
    try:
        if path.is_file():  # a pipe would wait for ever
            return path.read_bytes()
    except OSError as error:
        raise SheetError(
            f"{path.name} cannot be read ({error.strerror}): close it in Excel, or"
            " check its permissions"
        ) from error
    folder = path.absolute().parent
    raise SheetError(f"there is no file {printable(path.name)} in the folder {folder}")
