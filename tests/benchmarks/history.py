"""
What a long history costs: stays as the store keeps them, beside a full copy of each listing read by duckdb.

Listings of the same inventory, a day apart; 0.5 % of the animals change, come or go each day. `--animals` and
`--listings` make it smaller.

Run: python tests/benchmarks/history.py
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd

from petstore_tools import spec
from petstore_tools.history.snapshots import SnapshotStore
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import Columns
from petstore_tools.listing.parquet import parquet_bytes
from petstore_tools.tabular.atomic import replace_file

T0 = 1_700_000_000.0
CHANGED_A_DAY = 0.005
URL = "https://pets.example/v1"
STATUSES = [*spec.STATUSES, None]
MEASURED = (10, 100, 300, 1_000)


def inventories(animals: int, listings: int) -> Iterator[pd.DataFrame]:
    """Yield one listing after the other."""
    rng = random.Random(1)
    names = [f"Pet {n}" for n in range(5_000)]
    rows = [
        {"id": n, "name": rng.choice(names), "categoryId": rng.randrange(12), "status": rng.choice(STATUSES)}
        for n in range(1, animals + 1)
    ]
    newest = animals
    for day in range(listings):
        columns, at = Columns(), T0 + day * spec.DAY_S
        columns.add(rows)  # type: ignore[arg-type]
        yield columns.to_frame(Listing("complete", "x", None, 0, "", 1, 1, 0, at - 60, at, "production"))
        for _ in range(int(animals * CHANGED_A_DAY)):
            at_row, what = rng.randrange(len(rows)), rng.random()
            if what < 0.1:
                rows.pop(at_row)
            elif what < 0.2:
                newest += 1
                rows.append({"id": newest, "name": rng.choice(names), "categoryId": 1, "status": None})
            else:
                rows[at_row] = rows[at_row] | {"status": rng.choice(STATUSES)}


def seconds(do: Callable[[], object]) -> float:
    """Return the least of three times."""
    times = []
    for _ in range(3):
        began = time.perf_counter()
        do()
        times.append(time.perf_counter() - began)
    return min(times)


def bytes_in(folder: Path) -> int:
    """Return the size of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--animals", type=int, default=100_000)
    parser.add_argument("--listings", type=int, default=1_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        state, copies = Path(folder, "state"), Path(folder, "copies")
        copies.mkdir()
        store = SnapshotStore(state, "production", URL)
        keeping = writing = 0.0
        reports: dict[int, float] = {}
        for number, frame in enumerate(inventories(args.animals, args.listings), 1):
            began = time.perf_counter()
            copy = parquet_bytes(frame, Listing.as_listed(frame))
            replace_file(copies / f"{number:04}.parquet", copy)
            writing += time.perf_counter() - began
            began = time.perf_counter()
            store.keep(frame)
            keeping += time.perf_counter() - began
            if number in MEASURED:
                now = Listing.as_listed(frame).ended_at + 1
                reports[number] = seconds(lambda now=now: compared(state, now))
        print(f"{args.listings:,} listings of {args.animals:,} animals | ratio")
        print(f"size, of full copies | {bytes_in(state) / bytes_in(copies):.3f}")
        print(f"keeping a listing, of writing it whole | {keeping / writing:.2f}")
        first = reports[min(reports)]
        for number, took in reports.items():
            print(f"what the {number:,}th report reads, of the {min(reports)}th | {took / first:.2f}")
        print("| history() of all, MB above the imports | s |")
        for name, code in (("petstore_tools", OURS), ("duckdb on full copies", PEER)):
            done = subprocess.run(
                [sys.executable, "-c", code, str(state), str(copies)],
                capture_output=True,
                text=True,
                check=False,
            )
            print(f"{name} | {(done.stdout.strip().splitlines() or ['not run'])[-1]}")


def compared(state: Path, now: float) -> None:
    """Read what a report needs: all counts, the listing of a week ago, and what ended in 30 days."""
    store = SnapshotStore(state, "production", URL)
    _ = [snapshot.counts for snapshot in store.all()]
    store.since("7d", status=None, now=now)
    store.history(pet_id=None, since="30d", now=now)


MEASURE = """
import re, sys, time
import pandas, pyarrow.parquet, duckdb
from pathlib import Path
from petstore_tools.history.snapshots import SnapshotStore

def peak_mb():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024

before, began = peak_mb(), time.perf_counter()
{}
print(f"{{peak_mb() - before:.0f}} MB | {{time.perf_counter() - began:.1f}} s")
"""
OURS = MEASURE.format(
    'SnapshotStore(Path(sys.argv[1]), "production", "https://pets.example/v1").storage.stays()'
)
PEER = MEASURE.format(
    'duckdb.sql("SELECT id, status, min(as_of), max(as_of) FROM read_parquet($f) GROUP BY id, status", '
    'params={"f": sys.argv[2] + "/*.parquet"}).df()'
)

if __name__ == "__main__":
    main()
