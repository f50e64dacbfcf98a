"""Seeded sample animals: the same ones on every machine and every Python."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Final

from petstore_tools import spec

SEED: Final = 20_260_105
_CATEGORIES: Final = """
Dogs, Cats, Rabbits, Guinea pigs, Hamsters, Parrots, Canaries, Tortoises, Geckos, Goldfish, Ponies, Goats
"""
CATEGORIES: Final = dict(enumerate(_CATEGORIES.strip().split(", "), start=1))
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
_HEADER: Final = spec.COLUMNS[1:]
_STATUSES: Final = (*spec.STATUSES, None)
_STATUS_WEIGHTS: Final = (55, 18, 22, 5)

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
    rng = random.Random(seed)
    made: set[Animal] = set()
    while True:
        parts = (rng.choices(pool)[0] for pool in (_TITLES, _NAMES, _ENDINGS))
        name = "".join(parts)
        if len(made) > 10_000:
            name += f" {rng.randrange(10**6)}"
        (category_id,) = rng.choices(tuple(CATEGORIES), _WEIGHTS)
        (status,) = rng.choices(_STATUSES, _STATUS_WEIGHTS)
        animal = (name, category_id, status)
        if animal not in made:
            made.add(animal)
            yield animal


def animals_csv(count: int = 1_000, *, seed: int = SEED) -> str:
    """Return sample animals as the text of a CSV file with columns name, categoryId, status."""
    return _csv([_HEADER, *animals(count, seed=seed)])


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
    rows: list[tuple[object, ...]] = [_HEADER]
    for number, animal in enumerate(animals(12, seed=7)):
        rows += [animal, *bad[number * 2 : number * 2 + 2], *kept[number : number + 1]]
    return _csv(rows)


def write_workbook(path: Path) -> None:
    """
    Write a workbook as people keep them: a title above the header, typed cells, problems, a hidden sheet.

    Of its 65 rows 60 are animals that can be sent; the others hold a date, an error of typing, no number.
    """
    import xlsxwriter

    with xlsxwriter.Workbook(path, {"default_date_format": "yyyy-mm-dd"}) as book:
        book.set_properties({"created": datetime(2026, 1, 5, tzinfo=UTC)})
        bold = book.add_format({"bold": True})
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
            sheet.write_row(number, 0, row)
            if row and not row[3]:
                sheet.write(number, 3, keepers[number % 3])
        sheet.autofit()


def _csv(rows: Iterable[tuple[object, ...]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
