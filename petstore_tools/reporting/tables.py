"""The tables of a report, each counted once."""

from __future__ import annotations

from collections.abc import Mapping
from math import nan

import pandas as pd

from petstore_tools.listing.frames import (
    UNSET,
    count_statuses,
    named_statuses,
    text_dtype,
)

# of an animal that had no status before, or has none after
NEW, GONE = "new", "gone"


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


def summary(ways: pd.DataFrame, before: int, now: int, unseen: int) -> pd.DataFrame:
    """
    Count what is asked first: how many animals are new, became sold, are gone, each
    once in each line, however often it came, was sold, or left.

    Args:
        ways: A row an event: `id`, `from` (or `new`), `to` (or `gone`).
        before: How many animals there were.
        now: How many there are.
        unseen: How many this listing may have missed.

    Returns:
        Columns `what` (text), `animals` (int64).
    """
    moves = {NEW: ("from", NEW), "became sold": ("to", "sold"), GONE: ("to", GONE)}
    sums = {"animals before": before}
    for words, (side, name) in moves.items():
        sums[words] = ways.loc[ways[side] == name, "id"].nunique()
    sums["animals now"] = now
    if unseen:
        sums["not seen"] = unseen
    return pd.DataFrame(sums.items(), columns=["what", "animals"])


def transitions(ways: pd.DataFrame) -> pd.DataFrame:
    """Count the animals that went from one status to another, the most first."""
    counts = ways.groupby(["from", "to"], as_index=False).agg(animals=("id", "nunique"))
    return counts.sort_values(
        "animals", ascending=False, kind="stable", ignore_index=True
    )


def days_in_status(times: pd.DataFrame, newest: int, order: list[str]) -> pd.DataFrame:
    """
    Measure how long animals stayed in a status, and how long they have been in it.

    Args:
        times: As `History.status_times` returns them.
        newest: The number of the snapshot that is reported on; what it alone did not
            show is in no status.
        order: Of statuses; others come last.

    Returns:
        Index `status`; `stays` (int64: times that ended), `median_days` and `days_90`
        (float64: half and 90 % of them took no longer); `open_stays` (int64: animals
        that are still in it), `longest_days` (of these); `is_longer` (bool: nobody saw
        the longest begin, so it took at least as long), `stays_are_longer` (bool:
        nobody saw one of those begin that ended, so the two are lower bounds).
    """
    times = times.assign(is_longer=times["began_after"].isna())
    ended_stays = times[times["ended_by"].notna()].groupby("status")
    is_open = times["ended_by"].isna() & (times["last"] == newest)
    open_times = times[is_open]
    by_length = open_times.sort_values(["days", "is_longer"]).set_index("status")
    longest = by_length[~by_length.index.duplicated(keep="last")]
    table = pd.DataFrame(
        {
            "stays": ended_stays["days"].count(),
            "median_days": ended_stays["days"].median(),
            "days_90": ended_stays["days"].quantile(0.9, interpolation="higher"),
            "open_stays": open_times["status"].value_counts(),
            "longest_days": longest["days"],
            "is_longer": longest["is_longer"],
            "stays_are_longer": ended_stays["is_longer"].any(),
        }
    ).rename_axis("status")
    names = [*order, *table.index.difference(order)]
    table = table.loc[[name for name in names if name in table.index]]
    counts = {name: table[name].fillna(0) for name in ("stays", "open_stays")}
    flags = {name: table[name].eq(True) for name in ("is_longer", "stays_are_longer")}
    return table.assign(**counts, **flags).astype(dict.fromkeys(counts, "int64"))


def pending_animals(
    pets: pd.DataFrame, times: pd.DataFrame | None = None
) -> pd.DataFrame:
    """
    List the pending animals: `id`, `name`, `categoryId`; where snapshots are kept, also
    `since`, the first one that showed them so, the oldest first: missing where nobody
    saw it begin, and these come before all others.
    """
    is_pending = pets["status"] == "pending"
    pending = pets.loc[is_pending, ["id", "name", "categoryId"]].reset_index(drop=True)
    if times is None:
        return pending
    is_open = times["ended_by"].isna() & times["began_after"].notna()
    begins = times[is_open & (times["status"] == "pending")].set_index("id")
    pending = pending.join(begins["first_seen"].rename("since"), on="id")
    return pending.sort_values(
        "since", kind="stable", na_position="first", ignore_index=True
    )
