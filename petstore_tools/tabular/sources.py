"""
Sources opened: a DataFrame as a sheet, and a file as the text or the workbook that it
holds, whatever its name says.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from petstore_tools.errors import SheetError
from petstore_tools.tabular.cells import (
    EXACT,
    ROUNDED,
    FrameRow,
    NonTextCell,
    Record,
    Sheet,
    text_of,
)
from petstore_tools.tabular.text_files import read_csv
from petstore_tools.text import printable

if TYPE_CHECKING:
    import pandas as pd

_TEXTS = (".csv", ".tsv", ".txt")
FORMATS = (*_TEXTS, ".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_ADDRESS = re.compile("https?:/", re.IGNORECASE)
_NO_SHEETS = {  # by their first bytes
    b"%PDF": "a PDF",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"\x1f\x8b": "a compressed file",
    b"{\\rtf": "a text document",
}
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
        exact = [*map(_exact_below, self.frame.dtypes)]
        for number, (label, *cells) in enumerate(values.itertuples(name=None), start=2):
            texts = [*map(_cell_text, cells, exact)]
            yield FrameRow(number, label), texts


def _exact_below(dtype: Any) -> int:
    """Return up to which number a column holds each whole number."""
    sizes = {2: 1 << 11, 4: 1 << 24}  # float16, float32
    return sizes.get(dtype.itemsize, EXACT) if dtype.kind == "f" else EXACT


def _cell_text(value: Any, exact: int) -> str:
    """Return a value as text that can be sent."""
    if isinstance(value, float) and exact <= abs(value) < EXACT:
        return NonTextCell(f"{value:.0f}", ROUNDED)
    if isinstance(value, str) and _LONE_SURROGATE.search(value):
        text = _LONE_SURROGATE.sub("�", value)
        return NonTextCell(text, "a text with a broken character")
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


def open_source(
    source: object, sheet: str | None = None, encoding: str | None = None
) -> Sequence[Sheet]:
    """
    Open a spreadsheet, or a DataFrame as one.

    >>> [sheet] = open_source("animals.csv")
    >>> next(sheet.records())
    (1, ['name', 'categoryId', 'status'])

    Args:
        source: A DataFrame, a sheet that was read, or the path of a file. Its ending is
            one of `FORMATS`; whether it is a text or a workbook, its content tells.
        sheet: Which sheet of a workbook; None: all that are visible.
        encoding: Of a text file; None: it is found.

    Returns:
        Each sheet of a workbook that may be meant; the one of anything else.

    Raises:
        SheetError: It is not there, has another format, or cannot be read.
    """
    if isinstance(source, Sheet):
        return [source]
    if not isinstance(source, str | Path):
        frame = to_pandas(source)
        if frame is None:
            raise SheetError(
                f"give the path of a file or a DataFrame, not {type(source).__name__}"
            )
        return [FrameSource(frame=frame)]
    path = Path(os.path.expanduser(source))
    suffix = path.suffix.casefold()
    if _ADDRESS.match(str(source)):
        raise SheetError(
            f"{printable(str(source))} is an address, not a file: download the sheet"
            " (in Google Sheets: File, Download, Microsoft Excel), and give the path of"
            " the file"
        )
    if os.path.isdir(path):  # also of a name that is too long
        raise SheetError(f"{path.name or path} is a folder: give the path of a file")
    if path.name.startswith("~$"):
        raise SheetError(
            f"{path.name} only says that {path.name[2:]} is open in Excel: give the"
            f" path of {path.name[2:]}"
        )
    if suffix not in FORMATS:
        raise SheetError(
            f"{path.name or path} cannot be imported; save the sheet as one of these:"
            f" {', '.join(FORMATS)}"
        )
    return open_content(_read_file(path), path, sheet, encoding)


def open_content(
    content: bytes, path: Path, sheet: str | None = None, encoding: str | None = None
) -> Sequence[Sheet]:
    """Open a spreadsheet by its bytes, as `open_source` does; the path is its name."""
    # loaded here: most commands read no file
    from petstore_tools.tabular.workbooks import OPENERS, read_workbook

    for beginning, kind in _NO_SHEETS.items():
        if content.startswith(beginning):
            raise SheetError(
                f"{path.name} is {kind}, not a spreadsheet: give the sheet itself, as"
                " .xlsx or .csv"
            )
    # programs call texts .xls, and people rename files
    if content[:4] in OPENERS:
        sheets = read_workbook(content, path.name, sheet)
        return [replace(worksheet, source=content) for worksheet in sheets]
    if sheet is not None:
        raise SheetError(
            f"{path.name} is not a workbook, so it has no sheet {sheet!r}: leave out"
            " sheet (--sheet)"
        )
    suffix = path.suffix if path.suffix.casefold() in _TEXTS else ".csv"
    text = read_csv(content, path.name, encoding)
    return [replace(text, suffix=suffix, source=content)]


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
