"""
What a long history costs, beside one Parquet file a listing.

Listings of the same inventory, a day apart; 0.5 % of the animals change, come or go each day.
`--animals` and `--listings` make it smaller. Times are CPU seconds, which a busy machine changes
little.

Run: python tests/benchmarks/history.py
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import pandas as pd

from petstore_tools import spec
from petstore_tools.history import History
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import Columns
from petstore_tools.reporting.report import check_looks, report_and_keep
from petstore_tools.tabular.atomic import replace_file

T0 = 1_700_000_000.0
CHANGED_A_DAY = 0.005
STATUSES = [*spec.STATUSES, None]
MEASURED = (10, 100, 300, 1_000)  # reports, in turns at the end, the least of so many
TURNS = 11


def inventories(animals: int, listings: int) -> Iterator[pd.DataFrame]:
    """Yield one listing after the other."""
    rng = random.Random(1)
    names = [f"Pet {n}" for n in range(5_000)]
    rows = [
        {
            "id": n,
            "name": rng.choice(names),
            "categoryId": rng.randrange(12),
            "status": rng.choice(STATUSES),
        }
        for n in range(1, animals + 1)
    ]
    newest = animals
    for day in range(listings):
        columns = Columns()
        at = T0 + day * spec.DAY_S
        columns.add(rows)  # type: ignore[arg-type]
        yield columns.to_frame(
            Listing("complete", "x", None, 0, "", 1, 1, 0, at - 60, at, "production")
        )
        for _ in range(int(animals * CHANGED_A_DAY)):
            at_row = rng.randrange(len(rows))
            what = rng.random()
            if what < 0.1:
                rows.pop(at_row)
            elif what < 0.2:
                newest += 1
                rows.append(
                    {"id": newest, "name": rng.choice(names), "categoryId": 1, "status": None}
                )
            else:
                rows[at_row] = rows[at_row] | {"status": rng.choice(STATUSES)}


def cpu_s(do: Callable[[], object]) -> float:
    """Return the CPU seconds that something takes."""
    began = time.process_time()
    do()
    return time.process_time() - began


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--animals", type=int, default=100_000)
    parser.add_argument("--listings", type=int, default=1_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        history = History(Path(folder, "history.db"))
        copy = Path(folder, "copy.parquet")
        ours = list[float]()
        theirs = list[float]()
        kept: dict[int, tuple[History, pd.DataFrame, list[float]]] = {}
        for number, frame in enumerate(inventories(args.animals, args.listings), 1):
            if number in MEASURED:
                before = Path(folder, f"before{number}.db")
                shutil.copy(history.path, before)
                kept[number] = (History(before), frame, [])
            theirs.append(cpu_s(lambda: replace_file(copy, frame.to_parquet())))  # noqa: B023
            ours.append(cpu_s(lambda: history.keep(frame)))  # noqa: B023
        print(f"{args.listings:,} listings of {args.animals:,} animals | CPU seconds, ratio")
        print(f"the file | {history.path.stat().st_size / 1e6:.1f} MB")
        for what, part in (("all", slice(None)), ("the last 100", slice(-100, None))):
            ratio = median(ours[part]) / median(theirs[part])
            print(f"keeping a listing, median of {what} | {median(ours[part]):.2f} s | {ratio:.1f}")
        for _ in range(TURNS):
            for one, frame, times in kept.values():
                times.append(cpu_s(lambda: reported(one, frame)))  # noqa: B023
        first = min(kept)
        for number, (_, _, times) in kept.items():
            ratio = min(times) / min(kept[first][2])
            print(f"the {number:,}th report, of the {first}th | {min(times):.2f} s | {ratio:.2f}")
        done = subprocess.run(
            [sys.executable, __file__, "--read", str(history.path)],
            capture_output=True,
            text=True,
            check=True,
        )
        print(f"history() of all, above the imports | {done.stdout.strip()}")


def reported(history: History, frame: pd.DataFrame) -> None:
    """Make the page of a report that compares with a listing of a week before; keep nothing."""
    listing = Listing.as_listed(frame)
    looked_at = frame.copy()
    looked_at.attrs["listing"] = {**frame.attrs["listing"], "started_at": 0.0}
    since = history.since("7d", status=None, now=listing.ended_at + 1)
    looks = check_looks(None, "Report", "", None, lists=True)
    report_and_keep(looked_at, history, since, looks, partial=False).to_html()


def read(path: Path) -> None:
    """Print how much memory and time the whole history takes."""
    before = peak_mb()
    began = time.perf_counter()
    rows = len(History(path).history(now=time.time()))
    took = time.perf_counter() - began
    print(f"{peak_mb() - before:.0f} MB | {took:.1f} s | {rows:,} rows")


def peak_mb() -> float:
    """Return the greatest memory that this process had."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


if __name__ == "__main__":
    if sys.argv[1:2] == ["--read"]:
        read(Path(sys.argv[2]))
    else:
        main()
