"""Animals as columns: from decoded rows to a DataFrame and back, always with the same dtypes."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self

from petstore_tools import spec
from petstore_tools.errors import FrameError
from petstore_tools.listing.completeness import Listing, digest
from petstore_tools.models import PetRow

if TYPE_CHECKING:
    import pandas as pd


def text_dtype() -> Literal["str", "string"]:
    """
    Return the dtype of names and other text: `str`, with pandas 2 `string` (there `str` means
    object).
    """
    import pandas as pd

    return "string" if pd.__version__.startswith("2.") else "str"


class Columns:
    """
    Animals gathered page by page, as columns: a dict per animal would take ten times the memory.
    """

    def __init__(self) -> None:
        self._values: dict[str, Any] = {
            name: array("q") if kind is int else [] for name, kind in spec.PET_FIELDS.items()
        }

    def __len__(self) -> int:
        """
        Return how many animals came whole: Ctrl-C may have come between two columns of a page.
        """
        return min(map(len, self._values.values()))

    @classmethod
    def of(cls, frame: pd.DataFrame) -> Self:
        """Take the animals of a frame that `to_frame` built."""
        columns = cls()
        for name, values in columns._values.items():
            values.extend(frame[name].astype("object").where(frame[name].notna(), None).tolist())
        return columns

    def add(self, rows: Sequence[PetRow]) -> None:
        """Append rows."""
        for name, values in self._values.items():
            values.extend([row.get(name) for row in rows])

    def to_frame(self, listing: Listing) -> pd.DataFrame:
        """
        Build the frame of a listing.

        Returns:
            Columns `id` (int64), `name` (`str`; `string` with pandas 2), `categoryId` (int64),
            `status` (ordered category: available < pending < sold, then values the document does
            not name; absent is missing).
            The same dtypes when empty. `attrs["listing"]` is the listing as plain JSON values, with
            the rows and the digest of this frame.

        Spec: §2.2, §2.3.
        """
        import pandas as pd

        columns = {name: values[: len(self)] for name, values in self._values.items()}
        others = sorted({s for s in columns["status"] if s is not None} - set(spec.STATUSES))
        statuses = pd.CategoricalDtype([*spec.STATUSES, *others], ordered=True)
        dtypes = {"id": "int64", "name": text_dtype(), "categoryId": "int64", "status": statuses}
        frame = pd.DataFrame(
            {name: pd.Series(values, dtype=dtypes[name]) for name, values in columns.items()}
        )
        own = digest(*columns.values())
        frame.attrs["listing"] = replace(listing, rows=len(frame), digest=own).to_dict()
        return frame


def check(frame: pd.DataFrame) -> None:
    """
    Check that a frame has the columns and dtypes of a listing.

    Raises:
        FrameError: A column is missing, an id or categoryId is no whole number, or status holds
            values that are no text.
    """
    import pandas as pd

    missing = [name for name in spec.PET_FIELDS if name not in frame.columns]
    if missing:
        raise FrameError(
            f"the frame lacks {', '.join(missing)}; it needs id, name, categoryId and status"
        )
    for name in (name for name, kind in spec.PET_FIELDS.items() if kind is int):
        if not pd.api.types.is_integer_dtype(frame[name]) or frame[name].hasnans:
            raise FrameError(
                f"column {name} has dtype {frame[name].dtype}, not int64: a missing value or a "
                "merge "
                "turns whole numbers into floats"
            )
    values = frame["status"].dropna().unique()
    if not all(isinstance(value, str) for value in values):
        raise FrameError(f"column status holds {values[0]!r}, which is no text")


def listing_of(frame: pd.DataFrame) -> Listing:
    """
    Return what a frame is a listing of, as it is now.

    Raises:
        FrameError: A column is missing or has another dtype, or the frame carries no listing.
    """
    check(frame)
    return Listing.of(frame)
