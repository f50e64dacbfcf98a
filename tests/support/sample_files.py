"""
The files of `data/`, from the seeded sample animals: what users try the toolkit with.

    python tests/support/sample_files.py    # writes them anew
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import xlsxwriter

from petstore_tools import spec
from petstore_tools.sandbox.samples import animals, animals_csv, as_csv

DATA = Path(__file__).parents[2] / "data"


def problems_csv() -> str:
    """Return a CSV file that holds every kind of problem an import names, between good rows."""
    bad = [
        ("", "3", "available"),
        ("   ", "3", "sold"),
        ("Rex", "", "available"),
        ("Bella", "cats", "available"),
        ("Milo", "7,0", "pending"),
        ("Luna", "1E+10", "sold"),
        ("Coco", "1_000", "sold"),
        ("Nala", "+7", "available"),
        ("Otis", "3.5", "available"),
        ("Zeus", "9223372036854775808", "available"),
        ("Ruby", "2", "avialable"),
        ("Hugo", "2", "vendu"),
        ("Ida", "2", "available", "a cell too many"),
        ("Ivy",),
        ("", "dogs", "gone"),
    ]
    kept = [
        ("NA", "2", "available"),
        ("007", "1", "sold"),
        ("=A1", "1", "pending"),
        ("Sam", " 4 ", "SOLD "),
        ("Sam", "7.0", "Available"),
        ("Twin", "5", "available"),
        ("Twin", "5", "available"),
        (),
    ]
    rows: list[tuple[object, ...]] = [spec.NEW_PET_FIELDS]
    for number, animal in enumerate(animals(12, seed=7)):
        rows += [animal, *bad[number * 2 : number * 2 + 2], *kept[number : number + 1]]
    return as_csv(rows)


def write_workbook(path: Path) -> None:
    """
    Write a workbook as people keep them: a title above the header, typed cells, problems, a hidden
        sheet.

    Of its 65 rows 60 are animals that can be sent; the others hold a date, an error of typing, no
    number.
    """
    with xlsxwriter.Workbook(path, {"default_date_format": "yyyy-mm-dd"}) as book:
        book.set_properties({"created": datetime(2026, 1, 5, tzinfo=UTC)})
        bold = book.add_format({"bold": True})
        sheet = book.add_worksheet("Arrivals")
        lists = book.add_worksheet("Lists")
        lists.write_column(0, 0, spec.STATUSES)
        lists.hide()
        sheet.write(0, 0, "Arrivals, spring 2026", bold)
        sheet.write_row(2, 0, ("Animal name", "Category ID", "Status", "Keeper"), bold)
        keepers = ("Ana", "Bo", "Chidi")
        rows: list[tuple[object, ...]] = [(*animal, "") for animal in animals(60, seed=3)]
        rows[10:10] = [
            (datetime(2024, 5, 1), 2, "available", "a date"),
            ("Bella", "cats", "sold", ""),
        ]
        rows[25:25] = [("Milo", 7, "avialable", ""), (7, 3, " Sold ", "a number")]
        rows[40:40] = [(), ("Nala", 2**53 + 2, "pending", ""), ("", 4, "available", "no name yet")]
        rows[50] = ("Otis", 2, "available", "")  # one of two that are called so
        rows[52] = rows[50]
        for number, row in enumerate(rows, start=3):
            sheet.write_row(number, 0, row)
            if row and not row[3]:
                sheet.write(number, 3, keepers[number % 3])
        sheet.autofit()


def main() -> None:
    """Write all three."""
    (DATA / "animals.csv").write_text(animals_csv(), encoding="utf-8", newline="")
    (DATA / "animals_with_problems.csv").write_text(problems_csv(), encoding="utf-8", newline="")
    write_workbook(DATA / "animals.xlsx")


if __name__ == "__main__":
    main()
