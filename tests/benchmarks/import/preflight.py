"""
Checking a million rows offline beside what people would use.

Categories are names, statuses are other words, both to be matched with a table, and 1 % of the rows
are bad.

Each runs in a process of its own; seconds of the processor, memory beyond the imports, and rows
that were called bad. A peer that is not installed prints `not run`.

Run: python tests/benchmarks/import/preflight.py
"""

from __future__ import annotations

import csv
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROWS = 1_000_000
IDS = {f"Category {n}": n for n in range(1, 13)}
WORDS = {"frei": "available", "verkauft": "sold", "available": "available", "": None}


def parse_only(path: Path) -> int:
    """Split the file and look at nothing: the floor."""
    with path.open(newline="", encoding="utf-8") as file:
        for _ in csv.reader(file):
            pass
    return 0


def ours(path: Path) -> int:
    """Read, check and name every problem with row and column."""
    from petstore_tools.importing.options import ImportOptions
    from petstore_tools.importing.sheet import read_table
    from petstore_tools.importing.values import Row

    statuses = {word: status for word, status in WORDS.items() if word and status}
    options = ImportOptions(path, categories=IDS, statuses=statuses)
    return sum(not isinstance(row, Row) for row in read_table(options).rows())


def csv_and_pydantic(path: Path) -> int:
    """A model a row."""
    from pydantic import ValidationError

    from petstore_tools.models import NewPet

    bad = 0
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            try:
                NewPet(
                    name=row["name"],
                    category_id=IDS[row["categoryId"]],
                    status=WORDS[row["status"]],  # type: ignore[arg-type]
                )
            except (ValidationError, KeyError):
                bad += 1
    return bad


def pandas_and_pydantic(path: Path) -> int:
    """A frame, then a model a row."""
    import pandas as pd
    from pydantic import ValidationError

    from petstore_tools.models import NewPet

    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    bad = 0
    for name, category, status in frame.itertuples(index=False):
        try:
            NewPet(name=name, category_id=IDS[category], status=WORDS[status])  # type: ignore[arg-type]
        except (ValidationError, KeyError):
            bad += 1
    return bad


def pandera(path: Path) -> int:
    """A schema over a frame."""
    import pandas as pd
    import pandera.pandas as pa

    schema = pa.DataFrameSchema(
        {
            "name": pa.Column(str, pa.Check.str_matches(r".*\S")),
            "categoryId": pa.Column(str, pa.Check.isin(list(IDS))),
            "status": pa.Column(str, pa.Check.isin(list(WORDS))),
        }
    )
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    try:
        schema.validate(frame, lazy=True)
    except pa.errors.SchemaErrors as errors:
        return int(errors.failure_cases["index"].nunique())
    return 0


def frictionless(path: Path) -> int:
    """A table schema."""
    from frictionless import Resource, Schema, fields, system

    system.trusted = True
    schema = Schema(
        fields=[
            fields.StringField(name="name", constraints={"required": True}),
            fields.StringField(name="categoryId", constraints={"enum": list(IDS)}),
            fields.StringField(name="status", constraints={"enum": list(WORDS)}),
        ]
    )
    report = Resource(path=str(path), schema=schema).validate(limit_errors=ROWS)
    return len({error.row_number for task in report.tasks for error in task.errors})  # type: ignore[attr-defined]


WAYS: list[Callable[[Path], int]] = [
    parse_only,
    ours,
    csv_and_pydantic,
    pandas_and_pydantic,
    pandera,
    frictionless,
]


def write(path: Path) -> None:
    """Write the file: every hundredth row has one of three problems."""
    bad = (("", "Category 3", "sold"), ("Rex", "cats", "frei"), ("Rex", "Category 3", "gone"))
    words = tuple(WORDS)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("name", "categoryId", "status"))
        for n in range(ROWS):
            good = (f"Pet {n}", f"Category {n % 12 + 1}", words[n % 4])
            writer.writerow(bad[n // 100 % 3] if n % 100 == 7 else good)


def main() -> None:
    if len(sys.argv) == 3:
        way = next(way for way in WAYS if way.__name__ == sys.argv[1])
        sample = Path(sys.argv[2]).with_name("small.csv")
        sample.write_text("name,categoryId,status\nRex,Category 3,frei\n", encoding="utf-8")
        way(sample)  # imports are not the subject
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        started = time.process_time()
        bad = way(Path(sys.argv[2]))
        took = time.process_time() - started
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        print(json.dumps({"bad": bad, "s": took, "mb": grown / 1_024}))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "animals.csv"
        write(path)
        print(
            "| check 1,000,000 rows | s | of the parse | MB | bad rows |\n|---|---:|---:|---:|---:|"
        )
        floor = 0.0
        for way in WAYS:
            runs = []
            for _ in range(3):
                done = subprocess.run(
                    [sys.executable, __file__, way.__name__, str(path)],
                    capture_output=True,
                    check=False,
                )
                if done.returncode == 0:
                    runs.append(json.loads(done.stdout.splitlines()[-1]))
            if not runs:
                print(f"| {way.__name__} | not run | | | |")
                continue
            best = min(runs, key=lambda run: run["s"])
            floor = floor or best["s"]
            print(
                f"| {way.__name__} | {best['s']:.2f} | {best['s'] / floor:.1f} | {best['mb']:.0f} |"
                f" {best['bad']:,} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
