"""
Stays: an animal in a name, category and status, from the listing that first showed it to the last
    one.

They hold what complete listings say over time in little space: an animal that does not change is
one row, however many listings show it. Listings are numbered in the order in which they were kept.
These functions take frames and return frames; `history.storage` keeps them on disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from petstore_tools import spec
from petstore_tools.listing.frames import text_dtype

if TYPE_CHECKING:
    import pandas as pd

VALUES: Final = list(spec.PET_FIELDS)
TEXTS: Final = [name for name, kind in spec.PET_FIELDS.items() if kind is str]


def fold(
    stays: pd.DataFrame, listing: pd.DataFrame, number: int, *, may_have_holes: bool = False
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """
    Fold the next listing into the open stays.

    Args:
        stays: The open stays, as this function returned them; empty before the first listing.
        listing: Columns `id`, `name`, `categoryId`, `status`; each id once.
        number: Of this listing; greater than that of each listing before.
        may_have_holes: The listing may lack animals that exist: what it does not show stays open.

    Returns:
        The open stays, and those that this listing ended: columns `id`, `name`, `categoryId`,
        `status` (strings, missing where unset), `first` and `last` (int64, the first and the last
        listing that showed it). An animal that changed has a row in both.
    """
    import pandas as pd

    new = plain(listing)
    before = stays.set_index("id").reindex(new["id"]).reset_index(drop=True)
    same = before["first"].notna()
    for name in VALUES[1:]:
        now, then = new[name], before[name]
        same &= (now == then).fillna(False).astype(bool) | (now.isna() & then.isna())
    first = before["first"].where(same, number).astype("int64")
    opened = new.assign(first=first, last=number)
    ended = stays[~stays["id"].isin(new.loc[same, "id"])]
    if may_have_holes:
        not_shown = ~ended["id"].isin(new["id"])
        opened = pd.concat([opened, ended[not_shown]], ignore_index=True)
        ended = ended[~not_shown]
    return opened, ended.reset_index(drop=True)


def shown_in(stays: pd.DataFrame, number: int) -> pd.DataFrame:
    """
    Return the animals that listing `number` showed, by ascending id: columns `id` to `status`.
    """
    shown = stays[(stays["first"] <= number) & (stays["last"] >= number)]
    return shown[VALUES].sort_values("id", ignore_index=True)


def plain(listing: pd.DataFrame) -> pd.DataFrame:
    """
    Return a listing's columns with plain strings: the categories of a status differ between
    listings.
    """
    import pandas as pd

    values = listing[VALUES].reset_index(drop=True)
    for name in values.select_dtypes("category"):  # quicker than astype
        words = pd.array(values[name].cat.categories.tolist(), dtype=text_dtype())
        values[name] = words.take(values[name].cat.codes.to_numpy("int64"), allow_fill=True)
    return values.astype(dict.fromkeys(TEXTS, text_dtype()))
