"""
What the history says beside the counts: how long animals stay in a status, and which wait longest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pandas as pd

from petstore_tools.history import moments
from petstore_tools.reporting.breakdown import GONE, NEW, named_statuses

DAY_S: Final = 86_400.0


def time_in_status(stays: pd.DataFrame, by: Sequence[str] = ("status",)) -> pd.DataFrame:
    """
    Measure how long animals stayed in a status before they changed or went.

    Only stays with a known beginning and end count: what the first kept listing showed had begun
    earlier. A stay runs from the middle of the time in which it began to the middle of the time in
    which it ended.

    Args:
        stays: As `History.stays` returns them.
        by: Columns to group by: `status`, or `categoryId` and `status`.

    Returns:
        The columns of `by`, `animals` (int64), `median_days` and `days_90` (float64: 90 % stayed no
        longer).
    """
    began = (stays["began_after"] + stays["first_seen"]) / 2
    ended = (stays["ended_after"] + stays["ended_by"]) / 2
    days = (ended - began) / DAY_S
    known = stays.assign(status=named_statuses(stays), days=days).dropna(subset=["days"])
    groups = known.groupby(list(by), observed=True, sort=True)["days"]
    table = groups.agg(
        animals="size", median_days="median", days_90=lambda days: days.quantile(0.9)
    )
    return table.reset_index()


def longest(stays: pd.DataFrame, status: str, now: float, most: int = 20) -> pd.DataFrame:
    """
    Name the animals that are in a status and have been for longest.

    Returns:
        Columns `id`, `name`, `categoryId`, `first_seen` (datetime, UTC: the listing that first
        showed it so; where that is the first kept one, it was so before) and `days` (float64, at
        least).
    """
    open_ones = stays[stays["ended_by"].isna() & (named_statuses(stays) == status)]
    table = open_ones.nsmallest(most, "first_seen")[["id", "name", "categoryId", "first_seen"]]
    days = (now - table["first_seen"]) / DAY_S
    table = table.assign(first_seen=moments(table["first_seen"]), days=days)
    return table.reset_index(drop=True)


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
