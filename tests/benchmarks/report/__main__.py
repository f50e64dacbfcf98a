"""
The breakdown beside pandas and numpy, in one run: status counts with `unset`, zero rows kept.

    python tests/benchmarks/report [--rows 10000000]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median

import numpy as np
import pandas as pd

from petstore_tools.reporting import tables as counting

REPEATS = 5


def ms(do: Callable[[], object]) -> float:
    """Return the median of a few runs."""
    took = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        do()
        took.append(time.perf_counter() - began)
    return 1_000 * median(took)


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser()
    options.add_argument("--rows", type=int, default=10_000_000)
    rows = options.parse_args().rows
    chance = np.random.default_rng(1)
    codes = chance.choice(np.array([-1, 0, 1, 2], dtype="int8"), rows, p=[0.05, 0.5, 0.2, 0.25])
    status = pd.Categorical.from_codes(codes, ["available", "pending", "sold"], ordered=True)
    pets = pd.DataFrame({"status": status, "categoryId": chance.integers(1, 13, rows)})
    plain = pets["status"].astype("object").fillna("unset")

    timed = {
        "numpy bincount on the codes": ms(lambda: np.bincount(codes + np.int8(1), minlength=4)),
        "petstore_tools breakdown": ms(lambda: counting.breakdown(pets)),
        "value_counts(dropna=False)": ms(
            lambda: pets["status"].value_counts(dropna=False, sort=False)
        ),
        "groupby(observed=False, dropna=False).size()": ms(
            lambda: pets.groupby("status", observed=False, dropna=False).size()
        ),
        "crosstab": ms(lambda: pd.crosstab(plain, "all")),
        "petstore_tools by category": ms(lambda: counting.by_category(pets, {})),
        "groupby([categoryId, status]).size().unstack()": ms(
            lambda: (
                pets.groupby(["categoryId", "status"], observed=False, dropna=False)
                .size()
                .unstack()
            )
        ),
    }
    ours = timed["petstore_tools breakdown"]
    assert (
        counting.breakdown(pets)["count"].tolist()
        == np.roll(np.bincount(codes + 1, minlength=4), -1).tolist()
    )
    print(f"| {rows:,} rows | ms | times ours |\n|---|---:|---:|")
    for name, took in timed.items():
        print(f"| {name} | {took:.0f} | {took / ours:.2f} |")


if __name__ == "__main__":
    main()
