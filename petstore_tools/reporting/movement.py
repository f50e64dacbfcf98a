"""
What the history says beside the counts: how long animals stay in a status, and which wait longest.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import Final

import pandas as pd

from petstore_tools.reporting.breakdown import GONE, NEW, named_statuses

DAY_S: Final = 86_400.0


def time_in_status(
    history: pd.DataFrame, listed_at: Sequence[datetime], by: Sequence[str] = ("status",)
) -> pd.DataFrame:
    """
    Measure how long animals stayed in a status before they changed or went.

    Only times with a known beginning and end count: what the first kept listing showed had begun
    earlier. A time runs from the middle of the two listings between which it began to the middle of
    those between which it ended.

    Args:
        history: As `PetStore.history` returns it.
        listed_at: The ends of all kept listings, ascending.
        by: Columns to group by: `status`, or `categoryId` and `status`.

    Returns:
        The columns of `by`, `animals` (int64), `median_days` and `days_90` (float64: 90 % stayed no
        longer).
    """
    times = history.assign(status=named_statuses(history))
    ended = pd.arrays.IntervalArray(times["ended_between"]).mid
    days = (ended - _middle_of_begin(times, listed_at)).dt.total_seconds() / DAY_S
    times = times.assign(days=days).dropna(subset=["days"])
    groups = times.groupby(list(by), observed=True, sort=True)["days"]
    table = groups.agg(
        animals="size", median_days="median", days_90=lambda days: days.quantile(0.9)
    )
    return table.reset_index()


def longest(history: pd.DataFrame, status: str, now: pd.Timestamp, most: int = 20) -> pd.DataFrame:
    """
    Name the animals that are in a status and have been for longest.

    Returns:
        Columns `id`, `name`, `categoryId`, `first_seen` (datetime, UTC: the listing that first
        showed it so; where that is the first kept one, it was so before) and `days` (float64, at
        least).
    """
    open_ones = history[history["ended_between"].isna() & (named_statuses(history) == status)]
    table = open_ones.nsmallest(most, "first_seen")[["id", "name", "categoryId", "first_seen"]]
    days = (now - table["first_seen"]).dt.total_seconds() / DAY_S
    return table.assign(days=days).reset_index(drop=True)


def flow(moved: pd.DataFrame) -> pd.DataFrame:
    """
    Lay out how many animals moved from which status (rows) to which (columns), with totals.

    Args:
        moved: As `breakdown.moved` returns it.
    """
    table = pd.crosstab(moved["from"], moved["to"], margins=True, margins_name="total")
    first, last = [name for name in table.index if name not in (NEW, "total")], [NEW, "total"]
    rows = [*first, *(name for name in last if name in table.index)]
    columns = [*(n for n in table.columns if n not in (GONE, "total")), GONE, "total"]
    return table.reindex(index=rows, columns=columns, fill_value=0).astype("int64")


def _middle_of_begin(history: pd.DataFrame, listed_at: Sequence[datetime]) -> pd.Series:
    """
    Return the middle of the listing before and the first that showed it; missing for the first
    listing.
    """
    before = {pd.Timestamp(at): pd.Timestamp(earlier) for earlier, at in pairwise(listed_at)}
    earlier = history["first_seen"].map(before)
    return earlier + (history["first_seen"] - earlier) / 2
