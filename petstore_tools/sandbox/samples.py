"""Seeded sample animals: the same ones on every machine and every Python."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar

from petstore_tools import spec

SEED: Final = 20_260_105
CATEGORIES: Final = {
    1: "Dogs",
    2: "Cats",
    3: "Rabbits",
    4: "Guinea pigs",
    5: "Hamsters",
    6: "Parrots",
    7: "Canaries",
    8: "Tortoises",
    9: "Geckos",
    10: "Goldfish",
    11: "Ponies",
    12: "Goats",
}
_WEIGHTS: Final = (24, 22, 10, 8, 7, 6, 5, 4, 4, 6, 2, 2)
_NAMES: Final = """
Abby Ace Achilles Ajax Alba Alfie Amber Angus Apollo Archie Astrid Athena Bailey Balu Bandit Basil
Bella Benji Bertie Biscuit Blanche Bobby Bonnie Boris Bruno Buddy Caesar Candy Casper Charlie Chico
Cleo Coco Cookie Cosmo Daisy Dexter Diego Dora Duke Edgar Elsa Emma Felix Fergus Fiona Flash Flora
Frida Freya Gaston Ginger Gizmo Gustav Hazel Heidi Henry Hugo Ida Igor Iris Ivy Jasper Jerry Josie
Juno Kasper Kiki Kira Lady Lars Leo Lily Linus Lola Lotte Louie Lucky Lulu Luna Maggie Marlon Max
Mia Milo Minnie Misty Molly Monty Muffin Nala Nelly Nero Nina Noah Nora Odin Olive Oscar Otis Paula
Peanut Penny Pepper Percy Pippa Pluto Poppy Prince Quincy Rex Rocky Romeo Rosie Ruby Rufus Salem
Sally Sam Sandy Scout Shadow Simba Sky Smokey Sophie Stella Sunny Tango Teddy Theo Thor Tilly Titus
Toby Trixie Tulip Uma Vera Violet Wanda Whisky Willow Winston Xena Yara Yuki Zelda Zeus Ziggy Zoe
Żabka Søren Émile Jürgen Niño Łatka
""".split()
_TITLES: Final = ("", "", "", "", "", "", "Little ", "Old ", "Lady ", "Sir ", "Mister ", "Miss ")
_ENDINGS: Final = ("", "", "", "", "", "", "", " II", " III", " of Oak Farm", " the Brave")
_STATUSES: Final = (*spec.STATUSES, None)
_STATUS_WEIGHTS: Final = (55, 18, 22, 5)

T = TypeVar("T")
Animal = tuple[str, int, str | None]


def animals(count: int, *, seed: int = SEED) -> list[Animal]:
    """
    Make plausible animals.

    Args:
        count: How many.
        seed: Another seed, other animals.

    Returns:
        Name, categoryId (one of 12) and status (None where unset, about one in twenty) of each. No
        two share all three values.

    Spec: §2.1, §2.3.
    """
    return list(islice(_endless(seed), count))


def inventory(count: int) -> list[Animal]:
    """Return the animals of a sandbox: none of a file in `data/` is among them, so each can be imported."""
    files = (animals(1_000), animals(60, seed=3), animals(12, seed=7))
    in_files = {animal[:2] for file in files for animal in file}
    return list(islice((animal for animal in _endless(SEED) if animal[:2] not in in_files), count))


def _endless(seed: int) -> Iterator[Animal]:
    chance = random.Random(seed)
    made: set[Animal] = set()
    while True:
        parts = (_pick(chance, pool) for pool in (_TITLES, _NAMES, _ENDINGS))
        name = "".join(parts)
        if len(made) > 10_000:
            name += f" {chance.randrange(10**6)}"
        category_id = _weighted(chance, tuple(CATEGORIES), _WEIGHTS)
        animal = (name, category_id, _weighted(chance, _STATUSES, _STATUS_WEIGHTS))
        if animal not in made:
            made.add(animal)
            yield animal


def animals_csv(count: int = 1_000, *, seed: int = SEED) -> str:
    """Return sample animals as the text of a CSV file with columns name, categoryId, status."""
    return _csv(
        [("name", "categoryId", "status")]
        + [(name, str(category), status or "") for name, category, status in animals(count, seed=seed)]
    )


def problems_csv() -> str:
    """Return a CSV file that holds every kind of problem an import names, between good rows."""
    good = [(name, str(category), status or "") for name, category, status in animals(12, seed=7)]
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
    rows: list[tuple[str, ...]] = [("name", "categoryId", "status")]
    for number, animal in enumerate(good):
        rows += [animal, *bad[number * 2 : number * 2 + 2], *kept[number : number + 1]]
    return _csv(rows)


def write_workbook(path: Path) -> None:
    """
    Write a workbook as people keep them: a title above the header, typed cells, problems, a hidden sheet.

    Of its 65 rows 60 are animals that can be sent; the others hold a date, an error of typing, no number.
    """
    import xlsxwriter

    with xlsxwriter.Workbook(path) as book:
        book.set_properties({"created": datetime(2026, 1, 5, tzinfo=UTC)})
        bold, day = book.add_format({"bold": True}), book.add_format({"num_format": "yyyy-mm-dd"})
        sheet, lists = book.add_worksheet("Arrivals"), book.add_worksheet("Lists")
        lists.write_column(0, 0, spec.STATUSES)
        lists.hide()
        sheet.write(0, 0, "Arrivals, spring 2026", bold)
        sheet.write_row(2, 0, ("Animal name", "Category ID", "Status", "Keeper"), bold)
        keepers = ("Ana", "Bo", "Chidi")
        rows: list[tuple[object, ...]] = [(*animal, "") for animal in animals(60, seed=3)]
        rows[10:10] = [(datetime(2024, 5, 1), 2, "available", "a date"), ("Bella", "cats", "sold", "")]
        rows[25:25] = [("Milo", 7, "avialable", ""), (7, 3, " Sold ", "a number")]
        rows[40:40] = [(), ("Nala", 2**53 + 2, "pending", ""), ("", 4, "available", "no name yet")]
        rows[50] = ("Otis", 2, "available", "")  # one of two that are called so
        rows[52] = rows[50]
        for number, row in enumerate(rows, start=3):
            for at, cell in enumerate(row):
                if isinstance(cell, datetime):
                    sheet.write_datetime(number, at, cell, day)
                elif cell is not None and cell != "":
                    sheet.write(number, at, cell)
            if row and not row[3]:
                sheet.write(number, 3, keepers[number % 3])
        sheet.autofit()


def _csv(rows: Iterable[tuple[str, ...]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _pick(chance: random.Random, pool: tuple[str, ...] | list[str]) -> str:
    return pool[int(chance.random() * len(pool))]


def _weighted(chance: random.Random, values: tuple[T, ...], weights: tuple[int, ...]) -> T:
    left = chance.random() * sum(weights)
    for value, weight in zip(values, weights, strict=True):
        left -= weight
        if left < 0:
            return value
    return values[-1]
