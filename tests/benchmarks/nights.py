"""
How often an import asks about rows that may exist already, where a list is imported
each night.

Each scenario is thirty imports through the service, its clock a day on each time.
Columns: nights that asked, rows that were held back, and animals in the service beside
those that should be there.

Run: python tests/benchmarks/nights.py
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from programs import head, row

# isort: split
from inventories import write_rows

from petstore_tools import DoubtfulRowsError, Plan, Sandbox

NIGHTS = 30
Row = tuple[str, int, str]
Files = dict[str, list[Row]]


def rows(word: object, number: int) -> list[Row]:
    """Return rows with names of their own."""
    return [(f"{word} {n}", 3, "available") for n in range(number)]


def one_status_edited(night: int, files: Files) -> int:
    """Edit the status of a row, and add three."""
    name, category_id, _ = files["list.csv"][night]
    files["list.csv"][night] = (name, category_id, "sold")
    files["list.csv"] += rows(f"night {night}", 3)
    return 3


def one_row_deleted(night: int, files: Files) -> int:
    """Delete a row, and add three."""
    del files["list.csv"][night * 2]
    files["list.csv"] += rows(f"night {night}", 3)
    return 3


def list_that_grows(night: int, files: Files) -> int:
    """Add three rows; begin a new list each month, under the name of the month."""
    files[f"month {night // 30}.csv"] = files.pop(next(iter(files))) + rows(
        f"night {night}", 3
    )
    return 3


def file_each_week(night: int, files: Files) -> int:
    """Put other animals into a file of their own each week."""
    if night % 7:
        return 0
    files.clear()
    files[f"week {night}.csv"] = rows(f"week {night}", 20)
    return 20


def rows_that_exist(night: int, files: Files) -> int:
    """Import a file of animals of which one exists already."""
    files.clear()
    files[f"night {night}.csv"] = [
        ("list 0", 3, "available"),
        *rows(f"night {night}", 3),
    ]
    return 3


def next_list_under_the_old_name(night: int, files: Files) -> int:
    """Put other animals in the place of all, once in ten nights."""
    if night % 10:
        return 0
    files["list.csv"] = rows(f"list {night}", 60)
    return 60


SCENARIOS: dict[str, Callable[[int, Files], int]] = {
    "the status of one row is edited, three are added": one_status_edited,
    "one row is deleted, three are added": one_row_deleted,
    "a list grows, and bears the name of its month": list_that_grows,
    "a file of other animals each week": file_each_week,
    "a file of which one animal exists": rows_that_exist,
    "another list under the old name each tenth night": next_list_under_the_old_name,
    "the same with `name=`": next_list_under_the_old_name,
}


def play(change: Callable[[int, Files], int], *, named: bool) -> tuple[int, int, int]:
    """
    Import for thirty nights; count the nights that asked, rows held back, and wrong
    animals.
    """
    files: Files = {"list.csv": rows("list", 60)}
    asked = 0
    held = 0
    wanted = 60
    with (
        tempfile.TemporaryDirectory() as folder,
        Sandbox(plan=Plan(100_000, 1_000_000), animals=0) as box,
    ):
        for night in range(NIGHTS + 1):
            if night:
                wanted += change(night, files)
            (file, content), *_ = files.items()
            path = Path(folder, file)
            write_rows(path, *(",".join(map(str, cells)) for cells in content))
            name = f"list of night {night // 10}" if named else None
            try:
                box.store.import_pets(path, name=name, progress=False)
            except DoubtfulRowsError as error:
                asked += 1
                held += len(error.preview.doubts)
                exists = change is not next_list_under_the_old_name
                box.store.import_pets(
                    path,
                    doubtful="skip" if exists else "send",
                    name=name,
                    progress=False,
                )
            box.advance(days=1)
        stands = len(box.store.list_pets())
    return asked, held, stands - wanted


def main() -> None:
    """Print the table."""
    head(
        "thirty nights",
        "nights that asked",
        "rows held back",
        "animals too many or too few",
    )
    for name, change in SCENARIOS.items():
        row(name, *play(change, named="name=" in name))


if __name__ == "__main__":
    main()
