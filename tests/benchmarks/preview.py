"""
The preview of an import beside reading the cells alone: CPU seconds, and memory beyond
the imports.

Names of categories and words of statuses are matched with tables, and 1 % of the rows
are bad. Each runs in a process of its own. Another version is measured by the script of
its own checkout: the ratios can be compared.

Run: python tests/benchmarks/preview.py [ROWS]
"""

import csv
import os
import sys
import tempfile
from functools import partial
from pathlib import Path

import pandas as pd
from programs import costs, head, measured, row

IDS = {f"Category {n}": n for n in range(1, 13)}
WORDS = {"frei": "available", "verkauft": "sold"}
BAD = [
    ("", "Category 3", "sold"),
    ("Rex", "cats", "frei"),
    ("Rex", "Category 3", "gone"),
]


def write(folder, rows):
    """Write the same table as text and as a workbook."""
    words = [*WORDS, "available", ""]
    table = []
    for n in range(rows):
        good = (f"Pet {n}", f"Category {n % 12 + 1}", words[n % 4])
        table.append(BAD[n // 100 % 3] if n % 100 == 7 else good)
    paths = [folder / "animals.csv", folder / "animals.xlsx"]
    frame = pd.DataFrame(table, columns=["name", "categoryId", "status"])
    frame.to_csv(paths[0], index=False)
    frame.to_excel(paths[1], index=False)
    return paths


def read_cells(path):
    """Read all cells and look at nothing: the floor."""
    from python_calamine import CalamineWorkbook

    if path.suffix == ".xlsx":
        return len(CalamineWorkbook.from_path(path).get_sheet_by_index(0).to_python())
    with path.open(newline="", encoding="utf-8") as file:
        return len(list(csv.reader(file)))


def preview(path):
    """Read, check, and name every problem with its row and column."""
    from petstore_tools import PetStore

    with PetStore(base_url="http://localhost/v1", api_key="k", plan="pro") as store:
        return store.preview_import(path, categories=IDS, statuses=WORDS).rows


WAYS = {"the cells alone": read_cells, "petstore_tools": preview}


def measure(way, path):
    """Return what a way takes."""
    sample = path.with_name(f"small{path.suffix}")
    WAYS[way](sample)  # imports are not what is measured
    return costs(partial(WAYS[way], path))


def main(rows=100_000):
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PETSTORE_STATE_DIR"] = folder
        for small in write(Path(folder), 10):
            small.rename(small.with_name(f"small{small.suffix}"))
        for path in write(Path(folder), rows):
            head(f"{rows:,} rows of {path.suffix}", "CPU s", "ratio", "MB")
            base = 0.0
            for way in WAYS:
                runs = [measured(measure, way, path) for _ in range(3)]
                best = min(runs, key=lambda run: run["cpu"])
                base = base or best["cpu"]
                row(
                    way,
                    f"{best['cpu']:.2f}",
                    f"{best['cpu'] / base:.1f}",
                    f"{best['mb']:.0f}",
                )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
