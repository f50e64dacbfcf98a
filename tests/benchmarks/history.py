"""
What a long history costs, beside one Parquet file a listing: CPU seconds.

Listings of the same inventory, a day apart; 0.5 % of the animals change, come or go
each day. The reports are made in turns at the end, on copies of the history as it was.

Run: python tests/benchmarks/history.py [ANIMALS LISTINGS]     (10 listings or more)
"""

import random
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from statistics import median

from programs import costs, head, measured, row

# isort: split
from inventories import listing_frame

from petstore_tools import spec
from petstore_tools.history.database import HistoryDatabase
from petstore_tools.history.reading import History
from petstore_tools.reporting.facts import read_looks
from petstore_tools.reporting.report import report_and_keep

T0 = 1_700_000_000.0
CHANGED_A_DAY = 0.005
TURNS = 11  # of reports; the least counts


def inventories(animals, listings):
    """Yield one listing after the other."""
    rng = random.Random(1)

    def animal(number):
        return number, f"Pet {rng.randrange(5_000)}", rng.randrange(12), status()

    def status():
        return rng.choice([*spec.STATUSES, None])

    rows = [animal(number) for number in range(1, animals + 1)]
    newest = animals
    for day in range(listings):
        yield listing_frame(rows, T0 + day * spec.DAY_S)
        for _ in range(int(animals * CHANGED_A_DAY)):
            index = rng.randrange(len(rows))
            kind = rng.random()
            if kind < 0.1:
                rows.pop(index)
            elif kind < 0.2:
                newest += 1
                rows.append(animal(newest))
            else:
                rows[index] = (*rows[index][:3], status())


def main(animals=100_000, listings=1_000):
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        history = History(HistoryDatabase(Path(folder, "history.db")))
        parquet = Path(folder, "one.parquet")
        ours = []
        theirs = []
        copies = {}
        for number, frame in enumerate(inventories(animals, listings), 1):
            if number in (10, 100, listings):
                path = Path(folder, f"before{number}.db")
                shutil.copy(history.database.path, path)
                copies[number] = (path, frame)
            theirs.append(costs(partial(frame.to_parquet, parquet))["cpu"])
            ours.append(costs(partial(history.keep, frame))["cpu"])
        head(f"{listings:,} listings of {animals:,} animals", "CPU s", "ratio")
        base = median(theirs)
        row("one Parquet file", f"{base:.2f}", "1.0")
        row(
            "keeping a listing, median",
            f"{median(ours):.2f}",
            f"{median(ours) / base:.1f}",
        )
        row("the file", f"{history.database.path.stat().st_size / 1e6:.1f} MB", "")
        reports = {number: [] for number in copies}
        pages = {}
        for _ in range(TURNS):
            for number, (path, frame) in copies.items():
                shutil.copy(path, history.database.path)
                made = costs(partial(report, history, frame))
                pages[number] = made["result"]
                reports[number].append(made["cpu"])
        base = min(reports[10])
        for number, times in reports.items():
            row(
                f"the report of the {number:,}th, {len(pages[number]) / 1e3:.0f} kB",
                f"{min(times):.2f}",
                f"{min(times) / base:.2f}",
            )
        read = measured(read_all, history.database.path)
        row(
            f"history() of all, {read['result']:,} rows",
            f"{read['mb']:.0f} MB above the imports",
            f"{read['cpu']:.1f} s",
        )


def report(history, frame):
    """Keep a listing, and return the page of a report on the week before it."""
    looks = read_looks(None, "Report", "", None)
    return report_and_keep(frame, history, "7d", looks).to_html()


def read_all(path):
    """Return what reading all stays takes, and how many there are."""
    history = History(HistoryDatabase(path))
    return costs(lambda: len(history.history()))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
