"""
Animals as columns: from decoded rows to a DataFrame and back, always with the same
dtypes; its statuses, counted; and as files: CSV, a workbook, JSON or Parquet.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from petstore_tools import spec
from petstore_tools.errors import ArgumentError, FrameError, SheetError
from petstore_tools.listing.completeness import Listing, digest
from petstore_tools.models import PetRow
from petstore_tools.tabular.atomic import write_output
from petstore_tools.tabular.sources import FrameSource
from petstore_tools.tabular.text_files import csv_bytes, mark_utf8
from petstore_tools.tabular.workbooks import LAST_ROW, workbook_bytes

if TYPE_CHECKING:
    import pandas as pd


def text_dtype() -> Literal["str", "string"]:
    """
    Return the dtype of names and other text: `str`, with pandas 2 `string` (there `str`
    means object).
    """
    import pandas as pd

    return "string" if pd.__version__.startswith("2.") else "str"


def status_dtype(statuses: Iterable[str]) -> pd.CategoricalDtype:
    """
    Return the dtype of statuses: the three in the document's order, then others.

    >>> status_dtype(["sold", "resting"]).categories.tolist()
    ['available', 'pending', 'sold', 'resting']
    """
    import pandas as pd

    unnamed = sorted(set(statuses) - set(spec.STATUSES))
    return pd.CategoricalDtype([*spec.STATUSES, *unnamed], ordered=True)


class PetColumns:
    """
    Animals gathered page by page, as columns: a dict per animal would take ten times
    the memory.

    >>> len(PetColumns.of(store.list_pets()))
    250
    """

    def __init__(self) -> None:
        self._values: dict[str, Any] = {
            "id": array("q"),
            "name": [],
            "categoryId": array("q"),
            "status": [],
        }

    def __len__(self) -> int:
        """
        Return how many animals came whole: Ctrl-C may have come between two columns of
        a page.
        """
        return min(map(len, self._values.values()))

    @classmethod
    def of(cls, frame: pd.DataFrame) -> Self:
        """Take the animals of a frame that `to_frame` built."""
        columns = cls()
        for name, values in columns._values.items():
            values.extend(frame[name].tolist())
        return columns

    def add(self, rows: Sequence[PetRow]) -> None:
        """Append rows."""
        for name, values in self._values.items():
            values.extend([row.get(name) for row in rows])

    def to_frame(self, listing: Listing) -> pd.DataFrame:
        """
        Build the frame of a listing.

        Returns:
            Columns `id` (int64), `name` (`str`; `string` with pandas 2), `categoryId`
            (int64), `status` (ordered category: available < pending < sold, then values
            the document does not name; absent is missing). The same dtypes when empty.
            `attrs["listing"]` is the listing as plain JSON values, with the rows and
            the digest of this frame.

        Spec: §2.2, §2.3.
        """
        import numpy as np
        import pandas as pd

        columns = self._values
        whole = len(self)
        for values in columns.values():
            del values[whole:]
        content = digest(*columns.values())
        statuses = pd.Index(columns["status"], dtype="object")
        dtype = status_dtype(statuses.dropna())
        frame = pd.DataFrame(
            {
                "id": np.array(columns["id"]),
                "name": pd.Series(columns["name"], dtype=text_dtype()),
                "categoryId": np.array(columns["categoryId"]),
                "status": pd.Categorical(statuses, dtype=dtype),
            }
        )
        listing = replace(listing, rows=len(frame), digest=content)
        frame.attrs["listing"] = listing.to_dict()
        return frame


def check_columns(frame: pd.DataFrame) -> None:
    """
    Check that a frame has the columns and dtypes of a listing.

    Raises:
        ArgumentError: A column is there twice.
        FrameError: A column is missing, an id or categoryId is no whole number, or
            status holds values that are no text.
    """
    import pandas as pd

    if not frame.columns.is_unique:
        raise ArgumentError("the frame has two columns of one name: drop one of them")
    missing = [name for name in spec.PET_FIELDS if name not in frame.columns]
    if missing:
        raise FrameError(
            f"the frame lacks {', '.join(missing)}; it needs id, name, categoryId and"
            " status"
        )
    for name, kind in spec.PET_FIELDS.items():
        if kind is int and (
            not pd.api.types.is_integer_dtype(frame[name]) or frame[name].hasnans
        ):
            raise FrameError(
                f"column {name} has dtype {frame[name].dtype}, not int64: a missing"
                " value or a merge turns whole numbers into floats"
            )
    values = frame["status"].dropna().unique()
    if not all(isinstance(value, str) for value in values):
        raise FrameError(f"column status holds {values[0]!r}, which is no text")


def without_arrow(frame: pd.DataFrame) -> pd.DataFrame:
    """
    Return a frame whose statuses and ids have the dtypes of a listing, if they have
    Arrow types, as `read_parquet` gives them when asked.
    """
    import pandas as pd

    values: dict[str, Any] = {
        name: frame[name].tolist()
        for name in ("id", "categoryId", "status")
        if isinstance(frame[name].dtype, pd.ArrowDtype)
    }
    if "status" in values:
        statuses = pd.Index(values["status"], dtype="object")
        dtype = status_dtype(statuses.dropna())
        values["status"] = pd.Categorical(statuses, dtype=dtype)
    return frame.assign(**values)


UNSET = "unset"  # §2.1 states no default, so a missing status is counted apart
_TABLE_NAMES = (  # names that rows and columns of tables have
    f"{UNSET},total,label,category,categoryId,new,gone,from,to,before,now,change"
    ",animals,count,share,status,what,id,name,stays,median_days,days_90,open_stays"
    ",longest_days,median_is_longer,days_90_is_longer,longest_is_longer,days_from"
    ",days_to,days,period_before,since,as_of,after,by,event,not seen"
).split(",")


def named_statuses(pets: pd.DataFrame) -> pd.Series:
    """
    Return the statuses of animals as text, `unset` where there is none, as every table
    names them.
    """
    statuses = _as_category(pets["status"]).cat.rename_categories(status_name)
    with_unset = statuses.cat.add_categories([UNSET]).fillna(UNSET)
    return with_unset.astype(text_dtype()).rename(None)


def _as_category(column: pd.Series) -> pd.Series:
    """Return a column as a category of pandas, also one of Arrow that has nulls."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        return column
    return column.astype("object").astype("category")


def status_name(status: str | None) -> str:
    """Return a status so that it is no other name of a table, and can be seen."""
    if status is None:
        return UNSET
    if not status.strip():
        # a page shows several blanks as one
        visible = status.replace(" ", "\N{OPEN BOX}")
        return f"blank ({visible!r})"
    is_ours = status in _TABLE_NAMES or re.search(r"^blank \(| as sent$", status)
    is_plain = status == status.strip() and not is_ours
    return status if is_plain else f"{status!r} as sent"


def count_statuses(pets: pd.DataFrame) -> dict[str, int]:
    """
    Count animals by status, `unset` last; a status with no animals counts 0.

    >>> count_statuses(store.list_pets())
    {'available': 129, 'pending': 50, 'sold': 59, 'unset': 12}
    """
    column = _as_category(pets["status"])
    numbers = column.value_counts()
    statuses = status_dtype(column.cat.categories).categories
    counts = {status_name(status): int(numbers.get(status, 0)) for status in statuses}
    return counts | {UNSET: int(column.isna().sum())}


ENDINGS = (".csv", ".xlsx", ".json", ".parquet")


def write_frame(frame: pd.DataFrame, path: Path) -> None:
    """
    Write a listing; `import` reads the CSV and the workbook as they are.

    >>> write_frame(store.list_pets(first=3), Path("first.csv"))
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
            content = mark_utf8(csv_bytes(*frame_cells(frame)))
        case ".xlsx":
            if len(frame) > LAST_ROW:
                raise SheetError(
                    f"{len(frame):,} animals do not fit in a sheet: write a .csv or"
                    " .parquet file"
                )
            note = str(Listing.of(frame)) if "listing" in frame.attrs else ""
            content = workbook_bytes(*frame_cells(frame), note=note)
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
    write_output(path, content)


def frame_cells(frame: pd.DataFrame) -> tuple[Sequence[str], list[Sequence[str]]]:
    """Return the titles and the rows."""
    titles, *rows = [cells for _, cells in FrameSource(frame=frame).records()]
    return titles, rows
