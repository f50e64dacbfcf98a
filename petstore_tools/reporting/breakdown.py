"""Frames of animals counted and compared: codes of statuses, breakdowns, what changed, history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from petstore_tools import spec
from petstore_tools.listing import frames

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
    index = pd.Index(names, name="status", dtype=frames.text_dtype())
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
        table.insert(0, "label", pd.Series(named, index=table.index, dtype=frames.text_dtype()))
    return table


def changes(before: pd.DataFrame, now: pd.DataFrame) -> pd.DataFrame:
    """Compare two breakdowns: `before`, `now`, `change` (int64), a row for each status of either."""
    import pandas as pd

    names = [n for n in dict.fromkeys([*now.index, *before.index]) if n != UNSET]
    index = pd.Index([*names, UNSET], name="status", dtype=frames.text_dtype())
    table = pd.DataFrame({"before": before["count"], "now": now["count"]}, index=index)
    table = table.fillna(0).astype("int64")
    table["change"] = table["now"] - table["before"]
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
    ids = later.index.union(then.index)
    origin = then["status"].reindex(ids, fill_value=NEW)
    target = later["status"].reindex(ids, fill_value=GONE)
    pets = pd.concat([later, then.loc[then.index.difference(later.index)]]).loc[ids]
    table = pets.assign(status=origin, to=target).rename(columns={"status": "from"})
    table = table[(origin != target).to_numpy()].rename_axis("id").reset_index()
    text = frames.text_dtype()
    dtypes = {"id": "int64", "categoryId": "int64", "name": text, "from": text, "to": text}
    typed: pd.DataFrame = table.astype(dtypes)
    return typed


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
    times = pd.to_datetime([int(at * 1e6) for at, _ in counted], unit="us", utc=True).as_unit("us")
    rows = [counts.reindex([*names, UNSET], fill_value=0).tolist() for _, counts in counted]
    table = pd.DataFrame(rows, index=times.rename("as_of"), columns=[*names, UNSET])
    return table.astype("int64")


def _names(pets: pd.DataFrame) -> pd.Series:
    import pandas as pd

    found, names = codes(pets)
    return pd.Series([names[code] for code in found.tolist()], index=pets.index, dtype=frames.text_dtype())
