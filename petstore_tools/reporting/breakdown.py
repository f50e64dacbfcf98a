"""
Frames of animals counted and compared: by status, by category, what changed, and counts over time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from petstore_tools import spec
from petstore_tools.history import moments
from petstore_tools.listing.frames import UNSET, codes, count, text_dtype

NEW, GONE = "new", "gone"  # where an animal moved from, or to, that is in one listing only


def _index(names: Iterable[str]) -> pd.Index[Any]:
    """Return statuses as the index of a table, `unset` last."""
    ordered = [name for name in dict.fromkeys(names) if name != UNSET]
    return pd.Index([*ordered, UNSET], name="status", dtype=text_dtype())


def breakdown(pets: pd.DataFrame) -> pd.DataFrame:
    """Count animals per status: `count` (int64) and `share` (float64), zero rows kept."""
    found = count(pets)
    table = pd.DataFrame({"count": found.values()}, index=_index(found), dtype="int64")
    return table.assign(share=table["count"] / max(len(pets), 1))


def by_category(pets: pd.DataFrame, labels: Mapping[int, str]) -> pd.DataFrame:
    """
    Count animals per categoryId (rows) and status (columns), with `total`, and `label` where given.
    """
    found, names = codes(pets)
    table = pets.groupby(["categoryId", found]).size().unstack(fill_value=0)
    table = table.reindex(columns=[*range(len(names) - 1), -1], fill_value=0).set_axis(
        names, axis=1
    )
    table["total"] = table.sum(axis=1)
    if labels:
        table.insert(0, "label", table.index.map(lambda i: labels.get(i, "")).astype(text_dtype()))
    return table


def changes(before: pd.Series, now: pd.Series) -> pd.DataFrame:
    """
    Compare two counts by status or category: `before`, `now`, `change` (int64), the rows of both.
    """
    index = now.index.union(before.index)
    if index.name == "status":
        index = _index([*now.index, *before.index])
    table = pd.DataFrame({"before": before, "now": now}, index=index).fillna(0).astype("int64")
    return table.assign(change=table["now"] - table["before"])


def summary(now: int, before: int, moved: pd.DataFrame, status: str | None) -> pd.DataFrame:
    """
    Count what is asked first: how many animals, how many came, were sold, are gone.

    Listings of one status cannot tell an animal that is new from one that had another status
    before.

    Returns:
        Columns `what` (text), `animals` (int64), `share` (float64: of the animals before, 0 to 1).
    """
    new, gone = int((moved["from"] == NEW).sum()), int((moved["to"] == GONE).sum())
    sold = int(((moved["to"] == "sold") & (moved["from"] != NEW)).sum())
    if status is None:
        between = {"new": new, "became sold": sold, "gone": gone}
    else:
        between = {f"became {status} or new": new, f"no longer {status} or gone": gone}
    counts = {"animals before": before, **between, "animals now": now}
    table = pd.DataFrame({"what": list(counts), "animals": list(counts.values())})
    return table.assign(share=table["animals"] / max(before, 1))


def moved(before: pd.DataFrame, now: pd.DataFrame) -> pd.DataFrame:
    """
    Name the animals whose status differs, that are new, or that are gone.

    Returns:
        Columns `id` (int64), `name` (text), `categoryId` (int64), `from` and `to` (text: a status,
        `unset`, `new`, `gone`), by id.
    """
    older, newer = (
        frame.assign(status=named_statuses(frame)).set_index("id")[["name", "categoryId", "status"]]
        for frame in (before, now)
    )
    ids = newer.index.union(older.index)
    origin = older["status"].reindex(ids, fill_value=NEW)
    target = newer["status"].reindex(ids, fill_value=GONE)
    pets = pd.concat([newer, older.loc[older.index.difference(newer.index)]]).loc[ids]
    table = pets.assign(status=origin, to=target).rename(columns={"status": "from"})
    table = table[(origin != target).to_numpy()].rename_axis("id").reset_index()
    texts = dict.fromkeys(("name", "from", "to"), text_dtype())
    typed: pd.DataFrame = table.astype({"id": "int64", "categoryId": "int64", **texts})
    return typed


def counts_over_time(listings: Sequence[tuple[float, Mapping[str, int]]]) -> pd.DataFrame:
    """
    Lay out the counts of many listings: index `as_of` (datetime, UTC), an int64 column per status.
    """
    index = _index([*spec.STATUSES, *(name for _, counts in listings for name in counts)])
    times = moments(pd.Series([at for at, _ in listings], dtype="float64"))
    table = pd.DataFrame(
        [counts for _, counts in listings],
        index=pd.DatetimeIndex(times, name="as_of"),
        columns=index.tolist(),
    )
    return table.fillna(0).astype("int64")


def named_statuses(pets: pd.DataFrame) -> pd.Series:
    """
    Return the statuses of animals as text, `unset` where there is none, as every table names them.
    """
    found, names = codes(pets)
    return pd.Series(
        pd.array(names, dtype=text_dtype()).take(found), index=pets.index
    )  # -1 is the last
