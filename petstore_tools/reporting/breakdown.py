"""Frames of animals counted and compared: codes of statuses, breakdowns, what changed, history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from petstore_tools import spec

if TYPE_CHECKING:
    import pandas as pd

UNSET: Final = "unset"  # §2.1 states no default, so a missing status is counted apart
OURS: Final = frozenset({UNSET, "total", "label", "categoryId", "new", "gone"})  # names that tables have
NEW, GONE = "new", "gone"  # where an animal moved from, or to, that stands in one listing only


def codes(pets: pd.DataFrame) -> tuple[Any, list[str]]:
    """Return a code per row and the name of each code; the last is `unset`."""
    import pandas as pd

    status = pets["status"]
    found = status if isinstance(status.dtype, pd.CategoricalDtype) else status.astype("category")
    others = [str(value) for value in found.cat.categories if value not in spec.STATUSES]
    values = [*spec.STATUSES, *others]
    if list(found.cat.categories) != values:
        found = found.astype(pd.CategoricalDtype(values, ordered=True))
    names = [f"{value!r} as sent" if value in OURS else value for value in values]
    return found.cat.codes.to_numpy(), [*names, UNSET]


def breakdown(pets: pd.DataFrame) -> pd.DataFrame:
    """Count animals per status: `count` (int64) and `share` (float64), zero rows kept."""
    import numpy as np
    import pandas as pd

    found, names = codes(pets)
    shifted = found + found.dtype.type(1) if len(names) < 127 else found.astype("int64") + 1
    bins = np.bincount(shifted, minlength=len(names))  # a missing status is -1, so the first bin
    counts = np.append(bins[1:], bins[0]).astype("int64")
    shares = counts / len(pets) if len(pets) else np.zeros(len(names))
    index = pd.Index(names, name="status", dtype="str")
    return pd.DataFrame({"count": counts, "share": shares}, index=index)


def by_category(pets: pd.DataFrame, labels: Mapping[int, str]) -> pd.DataFrame:
    """Count animals per categoryId (rows) and status (columns), with `total`, and `label` where given."""
    import numpy as np
    import pandas as pd

    found, names = codes(pets)
    places, ids = pd.factorize(pets["categoryId"].to_numpy(), sort=True)
    width = len(names)
    cells = np.bincount(places * width + found + 1, minlength=len(ids) * width)  # unset, at -1, comes first
    table = pd.DataFrame(
        np.roll(cells.reshape(len(ids), width), -1, axis=1).astype("int64"),
        index=pd.Index(ids, name="categoryId", dtype="int64"),
        columns=names,
    )
    table["total"] = table.sum(axis=1)
    if labels:
        named = [labels.get(i, "") for i in ids.tolist()]
        table.insert(0, "label", pd.Series(named, index=table.index, dtype="str"))
    return table


def changes(before: pd.DataFrame, now: pd.DataFrame) -> pd.DataFrame:
    """Compare two breakdowns: `before`, `now`, `change` (int64), a row for each status of either."""
    names = [n for n in dict.fromkeys([*now.index, *before.index]) if n != UNSET]
    told = {"before": before["count"], "now": now["count"]}
    table = now.iloc[:, :0].reindex([*names, UNSET])
    for name, counts in told.items():
        table[name] = counts.reindex(table.index, fill_value=0).astype("int64")
    table["change"] = table["now"] - table["before"]
    table.index.name = "status"
    return table


def moved(before: pd.DataFrame, now: pd.DataFrame) -> pd.DataFrame:
    """
    Name the animals whose status differs, that are new, or that are gone.

    Returns:
        Columns `id` (int64), `name` (string), `categoryId` (int64), `from` and `to` (string: a status,
        `unset`, `new`, `gone`), by id.
    """
    import pandas as pd

    then, later = (
        frame.assign(status=_names(frame)).set_index("id")[["name", "categoryId", "status"]]
        for frame in (before, now)
    )
    stayed = later.index.intersection(then.index)
    changed = stayed[(later.loc[stayed, "status"] != then.loc[stayed, "status"]).to_numpy()]
    new, gone = later.index.difference(then.index), then.index.difference(later.index)
    was, becomes = then["status"], later["status"]
    parts = [
        _moving(later.loc[changed], was[changed], becomes[changed]),
        _moving(later.loc[new], NEW, becomes[new]),
        _moving(then.loc[gone], was[gone], GONE),
    ]
    table = pd.concat(parts).drop(columns="status").rename_axis("id").sort_index().reset_index()
    dtypes = {"id": "int64", "categoryId": "int64", "name": "str", "from": "str", "to": "str"}
    typed: pd.DataFrame = table.astype(dtypes)
    return typed


def _moving(pets: pd.DataFrame, origin: Any, target: Any) -> pd.DataFrame:
    return pets.assign(**{"from": origin, "to": target})


def moves(table: pd.DataFrame) -> list[tuple[str, str, int]]:
    """Return how many animals moved from where to where, the most first."""
    counts = Counter(zip(table["from"].tolist(), table["to"].tolist(), strict=True))
    return [(origin, target, count) for (origin, target), count in counts.most_common()]


def history(listings: Iterable[tuple[float, pd.DataFrame]]) -> pd.DataFrame:
    """Count each of many listings: index `as_of` (datetime, UTC), an int64 column per status."""
    import pandas as pd

    counted = [(at, breakdown(frame)["count"]) for at, frame in listings]
    names = [
        n for n in dict.fromkeys([*spec.STATUSES, *(n for _, c in counted for n in c.index)]) if n != UNSET
    ]
    index = pd.to_datetime([int(at * 1e6) for at, _ in counted], unit="us", utc=True)
    rows = [counts.reindex([*names, UNSET], fill_value=0).tolist() for _, counts in counted]
    table = pd.DataFrame(rows, index=pd.DatetimeIndex(index, name="as_of"), columns=[*names, UNSET])
    return table.astype("int64")


def _names(pets: pd.DataFrame) -> pd.Series:
    import pandas as pd

    found, names = codes(pets)
    return pd.Series([names[code] for code in found.tolist()], index=pets.index, dtype="str")
