"""
What a long history costs: stays as the store keeps them, beside a full copy of each listing read by
    duckdb.

Listings of the same inventory, a day apart; 0.5 % of the animals change, come or go each day.
`--animals` and
`--listings` make it smaller. Times are CPU seconds, which a busy machine changes little.

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
from petstore_tools.history.snapshots import SnapshotStore
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import Columns
from petstore_tools.listing.parquet import parquet_bytes
from petstore_tools.reporting.build import report_and_keep
from petstore_tools.tabular.atomic import replace_file

T0 = 1_700_000_000.0
CHANGED_A_DAY = 0.005
STATUSES = [*spec.STATUSES, None]
MEASURED = (10, 100, 300, 1_000)


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
        columns, at = Columns(), T0 + day * spec.DAY_S
        columns.add(rows)  # type: ignore[arg-type]
        yield columns.to_frame(
            Listing("complete", "x", None, 0, "", 1, 1, 0, at - 60, at, "production")
        )
        for _ in range(int(animals * CHANGED_A_DAY)):
            at_row, what = rng.randrange(len(rows)), rng.random()
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
        store = SnapshotStore(state)
        ratios: list[float] = []
        reports: dict[int, tuple[float, float]] = {}
        for number, frame in enumerate(inventories(args.animals, args.listings), 1):
            if number in MEASURED:
                reports[number] = reported(state, frame)
            listing = Listing.as_listed(frame)
            path = copies / f"{number:04}.parquet"
            writing = cpu_s(lambda: replace_file(path, parquet_bytes(frame, listing)))  # noqa: B023
            ratios.append(cpu_s(lambda: store.keep(frame)) / writing)  # noqa: B023
        print(f"{args.listings:,} listings of {args.animals:,} animals | ratio of CPU seconds")
        print(f"size, of full copies | {bytes_in(state) / bytes_in(copies):.3f}")
        for what, part in (
            ("all", ratios),
            ("the first 100", ratios[:100]),
            ("the last 100", ratios[-100:]),
        ):
            print(f"keeping a listing, of writing it whole: median of {what} | {median(part):.2f}")
        first = reports[min(reports)]
        for number, (whole, read) in reports.items():
            of = f"the {number:,}th report, of the {min(reports)}th"
            print(
                f"{of} | {whole / first[0]:.2f} ({whole:.2f} s); what it reads {read / first[1]:.2f}"
            )
        print("| history() of all, MB above the imports | s |")
        for name, code in (("petstore_tools", OURS), ("duckdb on full copies", PEER)):
            done = subprocess.run(
                [sys.executable, "-c", code, str(state), str(copies)],
                capture_output=True,
                text=True,
                check=False,
            )
            print(f"{name} | {(done.stdout.strip().splitlines() or ['not run'])[-1]}")


def reported(state: Path, frame: pd.DataFrame) -> tuple[float, float]:
    """
    Make the page of the next report three times; return the least CPU seconds of all, and of
    reading.
    """
    now, whole, read = Listing.as_listed(frame).ended_at + 1, [], []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(state, folder, dirs_exist_ok=True)
            store = SnapshotStore(Path(folder))

            def report(store: SnapshotStore = store) -> None:
                since = store.since("7d", status=None, now=now)
                report_and_keep(frame, store, since, partial=False).to_html()

            read.append(cpu_s(lambda store=store: compared(store, now)))
            whole.append(cpu_s(report))
    return min(whole), min(read)


def compared(store: SnapshotStore, now: float) -> None:
    """
    Read what a report needs: all counts, the listing of a week ago, and what ended in 30 days.
    """
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
OURS = MEASURE.format("SnapshotStore(Path(sys.argv[1])).history(now=time.time())")
PEER = MEASURE.format(
    'duckdb.sql("SELECT id, status, min(as_of), max(as_of) FROM read_parquet($f) GROUP BY id, status", '
    'params={"f": sys.argv[2] + "/*.parquet"}).df()'
)

if __name__ == "__main__":
    main()
