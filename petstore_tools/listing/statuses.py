"""
Statuses of a frame as codes and names: the three values, those that are not named (§2.3), and
`unset`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from petstore_tools import spec

if TYPE_CHECKING:
    import pandas as pd

UNSET: Final = "unset"  # §2.1 states no default, so a missing status is counted apart
OURS: Final = frozenset(
    {UNSET, "total", "label", "categoryId", "new", "gone"}
)  # names that tables have


def codes(pets: pd.DataFrame) -> tuple[Any, list[str]]:
    """Return a code per row and the name of each code; the last is `unset`."""
    found = pets["status"].astype("category")
    others = [str(value) for value in found.cat.categories if value not in spec.STATUSES]
    values = [*spec.STATUSES, *others]
    names = [f"{value!r} as sent" if value in OURS else value for value in values]
    return found.cat.set_categories(values).cat.codes.to_numpy(), [*names, UNSET]


def count(pets: pd.DataFrame) -> dict[str, int]:
    """Count animals by status, `unset` last; a status with no animals counts 0."""
    import numpy as np

    found, names = codes(pets)
    shifted = found.astype("int64") + 1  # a missing status is -1, so it falls into the first bin
    bins = np.bincount(shifted, minlength=len(names)).tolist()
    return dict(zip(names, [*bins[1:], bins[0]], strict=True))
