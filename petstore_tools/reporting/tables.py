"""The tables of a report, each counted once."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import inf, nan

import pandas as pd

from petstore_tools.listing.frames import (
    UNSET,
    count_statuses,
    named_statuses,
    text_dtype,
)

# of an animal that had no status before, or has none after
NEW, GONE = "new", "gone"
# other events, and rows of the summary
SOLD, CHANGED, ARRIVED_SOLD = "became sold", "changed status", "arrived as sold"
# columns of days, and which one says of each cell that it is a lower bound
BOUNDS = {
    "median_days": "median_is_longer",
    "days_90": "days_90_is_longer",
    "longest_days": "longest_is_longer",
}
_DAY_COLUMNS = ("stays", "median_days", "days_90", "open_stays", "longest_days")


def breakdown(pets: pd.DataFrame, before: pd.DataFrame | None = None) -> pd.DataFrame:
    """
    Count animals per status: `count` and `share`, with an older listing `before` and
    `change`, too; zero rows are kept, and the share of no animals is missing.
    """
    older = pets if before is None else before
    sides = {"count": count_statuses(pets), "before": count_statuses(older)}
    table = pd.DataFrame(sides).fillna(0).astype("int64")
    order = [*table.index.drop(UNSET), UNSET]
    table = table.reindex(pd.Index(order, name="status", dtype=text_dtype()))
    table.insert(1, "share", table["count"] / (len(pets) or nan))
    table["change"] = table["count"] - table["before"]
    return table if before is not None else table[["count", "share"]]


def by_category(
    pets: pd.DataFrame, labels: Mapping[int, str], before: pd.DataFrame | None = None
) -> pd.DataFrame:
    """
    Count animals per categoryId (rows, the largest first): `label` where given,
    `total`, with an older listing `change`, and each status.
    """
    table = pd.crosstab(pets["categoryId"], named_statuses(pets))
    table = table.reindex(columns=[*count_statuses(pets)], fill_value=0)
    table.insert(0, "total", table.sum(axis=1))
    if before is not None:
        totals = before["categoryId"].value_counts()
        table = table.reindex(table.index.union(totals.index), fill_value=0)
        change = table["total"].sub(totals, fill_value=0).astype("int64")
        table.insert(1, "change", change)
    table = table.rename_axis(index="categoryId", columns=None).sort_values(
        "total", ascending=False, kind="stable"
    )
    if labels:
        names = table.index.map(lambda number: labels.get(number, ""))
        table.insert(0, "label", names.astype(text_dtype()))
    return table


def summary(
    events: pd.DataFrame,
    sizes: tuple[int, int],
    unseen: int,
    period_before: tuple[pd.DataFrame, tuple[int, int]] | None = None,
) -> pd.DataFrame:
    """
    Count what is asked first: how many animals are new, arrived as sold, became sold,
    changed to another status, and are gone. An animal counts once in each row, however
    often it came, was sold, or left.

    Args:
        events: As `History.events_between` returns them.
        sizes: How many animals there were, and how many there are.
        unseen: How many animals this listing may have missed.
        period_before: Events and sizes of the period before, if the history has it.

    Returns:
        Columns `what` (text), `animals` (int64), and `period_before` (int64), the same
        numbers for the period before.
    """
    sums = _summed(events, sizes)
    columns = {"animals": sums | ({"not seen": unseen} if unseen else {})}
    if period_before is not None:
        columns["period_before"] = _summed(*period_before)
    table = pd.DataFrame(columns, [*columns["animals"]]).fillna(0).astype("int64")
    return table.rename_axis("what").reset_index().astype({"what": text_dtype()})


def _summed(events: pd.DataFrame, sizes: tuple[int, int]) -> dict[str, int]:
    """Return the sums of one period."""
    before, now = sizes
    kinds = events["event"]
    rows = {
        NEW: kinds == NEW,
        ARRIVED_SOLD: (kinds == NEW) & (events["to"] == "sold"),
        SOLD: kinds == SOLD,
        CHANGED: kinds == CHANGED,
        GONE: kinds == GONE,
    }
    counts = {words: events.loc[row, "id"].nunique() for words, row in rows.items()}
    return {"animals before": before, **counts, "animals now": now}


def transitions(events: pd.DataFrame) -> pd.DataFrame:
    """Count the animals that went from one status to another, the most first."""
    ways = events.fillna({"from": NEW, "to": GONE})
    counts = ways.groupby(["from", "to"], as_index=False).agg(animals=("id", "nunique"))
    return counts.sort_values(
        "animals", ascending=False, kind="stable", ignore_index=True
    )


def days_in_status(times: pd.DataFrame, newest: int, order: list[str]) -> pd.DataFrame:
    """
    Measure how long animals stayed in a status, and how long they have been in it.

    Args:
        times: As `History.status_times` returns them.
        newest: The number of the snapshot that is reported on. An animal that this
            snapshot alone did not show is in no status.
        order: Of statuses; others come last.

    Returns:
        Index `status`; `stays` (int64: times that ended), `median_days` and `days_90`
        (float64: half and 90 % of them took no longer); `open_stays` (int64: animals
        that are still in it), `longest_days` (of these). For each of the three numbers
        of days, a column in `BOUNDS` (bool) says that the number is a lower bound:
        nobody saw some of these times begin, and the number would be larger if those
        times began long before.
    """
    ended = times[times["ended_by"].notna()]
    open_times = times[is_open(times, newest)]
    numbers = _day_numbers(ended, open_times)
    largest = _day_numbers(*map(_begun_long_before, (ended, open_times)))
    table = pd.DataFrame(
        {
            "stays": ended["status"].value_counts(),
            "open_stays": open_times["status"].value_counts(),
        }
    )
    for name, column in numbers.items():
        table[name] = column
        is_bound = column.notna() & (column != largest[name])
        table[BOUNDS[name]] = is_bound.reindex(table.index).eq(True)
    names = [*order, *table.index.difference(order)]
    table = table.loc[[name for name in names if name in table.index]]
    counts = {name: table[name].fillna(0) for name in ("stays", "open_stays")}
    table = table.assign(**counts).astype(dict.fromkeys(counts, "int64"))
    return table[[*_DAY_COLUMNS, *BOUNDS.values()]].rename_axis("status")


def is_open(times: pd.DataFrame, newest: int) -> pd.Series:
    """Say which times go on in the newest snapshot."""
    return times["ended_by"].isna() & (times["last"] == newest)


def _day_numbers(ended: pd.DataFrame, open_times: pd.DataFrame) -> dict[str, pd.Series]:
    """Return the numbers of days by status."""
    stays = ended.groupby("status")["days"]
    return {
        "median_days": stays.median(),
        "days_90": stays.quantile(0.9, interpolation="higher"),
        "longest_days": open_times.groupby("status")["days"].max(),
    }


def _begun_long_before(times: pd.DataFrame) -> pd.DataFrame:
    """Return times as if those that nobody saw begin had taken for ever."""
    return times.assign(days=times["days"].where(times["began_after"].notna(), inf))


def ageing(
    times: pd.DataFrame, newest: int, edges: list[float], order: list[str]
) -> pd.DataFrame:
    """
    Count the animals of each status by the days that they have been in it.

    Args:
        times: As `History.status_times` returns them.
        newest: The number of the snapshot that is reported on.
        edges: Days at which one row ends and the next row starts, in order.
        order: Of statuses; others come last.

    Returns:
        Columns `status` (text), `days_from`, `days_to` (float64: more than the first,
        at most the second; the second is missing in the last row of a status),
        `animals` (int64). Nobody saw some animals begin, and they may have been in
        their status for longer than the last edge: they have a row of their own, if
        they were not seen for so long. It says the days that they were seen at least.
    """
    open_times = times[is_open(times, newest)]
    rows = []
    for status in [*order, *sorted({*open_times["status"]} - {*order})]:
        of_status = open_times[open_times["status"] == status]
        is_unsure = of_status["began_after"].isna() & (of_status["days"] <= edges[-1])
        days = of_status.loc[~is_unsure, "days"]
        for start, end in pairwise([0.0, *edges, inf]):
            is_between = (days <= end) & ((days > start) | (start == 0.0))
            rows.append((status, start, end, is_between.sum()))
        if is_unsure.any():
            least = of_status.loc[is_unsure, "days"].min()
            rows.append((status, least, inf, is_unsure.sum()))
    table = pd.DataFrame(rows, columns=["status", "days_from", "days_to", "animals"])
    table["days_to"] = table["days_to"].where(table["days_to"] < inf)
    floats = dict.fromkeys(("days_from", "days_to"), "float64")
    return table.astype({"status": text_dtype(), **floats, "animals": "int64"})


def count_longer(ageing: pd.DataFrame, status: str, days: float) -> int:
    """Count the animals that have certainly been in a status for longer than that."""
    is_longer = (ageing["status"] == status) & (ageing["days_from"] >= days)
    return int(ageing.loc[is_longer, "animals"].sum())


def pending_animals(
    pets: pd.DataFrame, times: pd.DataFrame | None = None
) -> pd.DataFrame:
    """
    List the pending animals: `id`, `name`, `categoryId`. If snapshots are kept, also
    `since`, the first snapshot that showed each as pending, and the `days` since then,
    the longest first. `since` is missing if nobody saw that begin; then the days are a
    lower bound.
    """
    is_pending = pets["status"] == "pending"
    pending = pets.loc[is_pending, ["id", "name", "categoryId"]].reset_index(drop=True)
    if times is None:
        return pending
    is_open = times["ended_by"].isna() & (times["status"] == "pending")
    open_times = times[is_open].set_index("id")
    began = open_times["first_seen"].where(open_times["began_after"].notna())
    pending = pending.join(began.rename("since"), on="id")
    pending = pending.join(open_times["days"], on="id")
    return pending.sort_values(
        "since", kind="stable", na_position="first", ignore_index=True
    )
