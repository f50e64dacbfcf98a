"""
Animals as columns: from decoded rows to a DataFrame and back, always with the same
dtypes.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from petstore_tools import spec
from petstore_tools.errors import ArgumentError, FrameError, SheetError
from petstore_tools.listing.completeness import Listing, digest
from petstore_tools.models import PetRow
from petstore_tools.tabular.atomic import replace_file
from petstore_tools.tabular.frames import FrameSource
from petstore_tools.tabular.template import LAST_ROW, rejects_bytes
from petstore_tools.tabular.text_files import csv_bytes

if TYPE_CHECKING:
    import pandas as pd


def text_dtype() -> Literal["str", "string"]:
    """
    Return the dtype of names and other text: `str`, with pandas 2 `string` (there `str`
    means object).
    """
    import pandas as pd

    return "string" if pd.__version__.startswith("2.") else "str"


def status_dtype(found: Iterable[str]) -> pd.CategoricalDtype:
    """
    Return the dtype of statuses: the three in the document's order, then what else is
    found.
    """
    import pandas as pd

    others = sorted(set(found) - set(spec.STATUSES))
    return pd.CategoricalDtype([*spec.STATUSES, *others], ordered=True)


class PetColumns:
    """
    Animals gathered page by page, as columns: a dict per animal would take ten times
    the memory.
    """

    def __init__(self) -> None:
        self._values: dict[str, Any] = {
            name: array("q") if kind is int else []
            for name, kind in spec.PET_FIELDS.items()
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
            values.extend(
                frame[name].astype("object").where(frame[name].notna(), None).tolist()
            )
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
        own = digest(*columns.values())
        statuses = status_dtype(s for s in columns["status"] if s is not None)
        places = {status: n for n, status in enumerate(statuses.categories)}
        found = [places.get(status, -1) for status in columns["status"]]
        frame = pd.DataFrame(
            {
                "id": np.array(columns["id"]),
                "name": pd.Series(columns["name"], dtype=text_dtype()),
                "categoryId": np.array(columns["categoryId"]),
                "status": pd.Categorical.from_codes(found, dtype=statuses),
            }
        )
        frame.attrs["listing"] = replace(listing, rows=len(frame), digest=own).to_dict()
        return frame


def check(frame: pd.DataFrame) -> None:
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


def read_listing(frame: pd.DataFrame) -> Listing:
    """
    Return what a frame is a listing of, as it is now.

    Raises:
        FrameError: A column is missing or has another dtype, or the frame carries no
            listing.
    """
    check(frame)
    return Listing.of(frame)


UNSET: Final = "unset"  # §2.1 states no default, so a missing status is counted apart
OURS: Final = frozenset(  # names that rows and columns of tables have
    f"{UNSET} total label category categoryId new gone from to before now change"
    " animals count share status what id name days median_days days_90 first_seen"
    " as_of other".split()
) | {"not seen"}


def codes(pets: pd.DataFrame) -> tuple[Any, list[str]]:
    """Return a code per row and the name of each code; the last is `unset`."""
    found = pets["status"].astype("category")
    others = [
        str(value) for value in found.cat.categories if value not in spec.STATUSES
    ]
    values = [*spec.STATUSES, *others]
    names = [f"{value!r} as sent" if value in OURS else value for value in values]
    names = [name if name.strip() else f"blank ({name!r})" for name in names]
    names.append(UNSET)
    places = found.cat.set_categories(values).cat.codes.to_numpy("int64")
    return places % len(names), names  # a missing status is -1, so the last


def count(pets: pd.DataFrame) -> dict[str, int]:
    """Count animals by status, `unset` last; a status with no animals counts 0."""
    import numpy as np

    places, names = codes(pets)
    bins = np.bincount(places, minlength=len(names))
    return dict(zip(names, bins.tolist(), strict=True))


ENDINGS: Final = (".csv", ".xlsx", ".json", ".parquet")


def write(frame: pd.DataFrame, path: Path) -> None:
    """
    Write a listing; `import` reads the CSV and the workbook as they are.

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
            titles, *rows = _cells(frame)
            replace_file(path, csv_bytes(titles, rows))
        case ".xlsx":
            if len(frame) > LAST_ROW:
                raise SheetError(
                    f"{len(frame):,} animals do not fit in a sheet: write a .csv or"
                    " .parquet file"
                )
            titles, *rows = _cells(frame)
            note = str(Listing.of(frame)) if "listing" in frame.attrs else ""
            replace_file(path, rejects_bytes(titles, rows, note=note))
        case ".json":
            records = frame.to_json(
                orient="records", force_ascii=False, indent=1, date_format="iso"
            )
            replace_file(path, f"{records}\n".encode())
        case ".parquet":
            replace_file(path, frame.to_parquet())
        case _:
            raise ArgumentError(
                f"{path.name!r} cannot be written: its ending must be one of"
                f" {', '.join(ENDINGS)}"
            )


def _cells(frame: pd.DataFrame) -> list[list[str]]:
    """Return the titles and the rows."""
    return [cells for _, cells in FrameSource(frame=frame).records()]
