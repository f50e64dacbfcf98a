"""Seeded sample animals: the same ones on every machine and every Python."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Iterator
from itertools import islice

from petstore_tools import spec

SEED = 20_260_105
_CATEGORIES = (
    "Dogs, Cats, Rabbits, Guinea pigs, Hamsters, Parrots, "
    "Canaries, Tortoises, Geckos, Goldfish, Ponies, Goats"
)
CATEGORIES = dict(enumerate(_CATEGORIES.split(", "), start=1))
_WEIGHTS = (24, 22, 10, 8, 7, 6, 5, 4, 4, 6, 2, 2)
_NAMES = """
Abby Ace Achilles Ajax Alba Alfie Amber Angus Apollo Archie Astrid Athena Bailey Balu
Bandit Basil Bella Benji Bertie Biscuit Blanche Bobby Bonnie Boris Bruno Buddy Caesar
Candy Casper Charlie Chico Cleo Coco Cookie Cosmo Daisy Dexter Diego Dora Duke Edgar
Elsa Emma Felix Fergus Fiona Flash Flora Frida Freya Gaston Ginger Gizmo Gustav Hazel
Heidi Henry Hugo Ida Igor Iris Ivy Jasper Jerry Josie Juno Kasper Kiki Kira Lady Lars
Leo Lily Linus Lola Lotte Louie Lucky Lulu Luna Maggie Marlon Max Mia Milo Minnie Misty
Molly Monty Muffin Nala Nelly Nero Nina Noah Nora Odin Olive Oscar Otis Paula Peanut
Penny Pepper Percy Pippa Pluto Poppy Prince Quincy Rex Rocky Romeo Rosie Ruby Rufus
Salem Sally Sam Sandy Scout Shadow Simba Sky Smokey Sophie Stella Sunny Tango Teddy Theo
Thor Tilly Titus Toby Trixie Tulip Uma Vera Violet Wanda Whisky Willow Winston Xena Yara
Yuki Zelda Zeus Ziggy Zoe Żabka Søren Émile Jürgen Niño Łatka
""".split()
_TITLES = ("",) * 6 + ("Little ", "Old ", "Lady ", "Sir ", "Mister ", "Miss ")
_ENDINGS = ("",) * 7 + (" II", " III", " of Oak Farm", " the Brave")
_STATUSES = (*spec.STATUSES, None)
_STATUS_WEIGHTS = (55, 18, 22, 5)

Animal = tuple[str, int, str | None]


def animals(count: int, *, seed: int = SEED) -> list[Animal]:
    """
    Make plausible animals.

    Args:
        count: How many.
        seed: Another seed, other animals.

    Returns:
        Name, categoryId (one of 12) and status (None where unset, about one in twenty)
        of each. No two share all three values.

        >>> animals(2)
        [('Mister Sandy II', 1, None), ('Sandy III', 11, 'available')]

    Spec: §2.1, §2.3.
    """
    return list(islice(_generate_animals(seed), count))


def inventory(count: int) -> list[Animal]:
    """
    Return the animals of a sandbox: none of a file in `data/` is among them, so each
    can be imported.
    """
    in_files = [*animals(1_000), *animals(60, seed=3), *animals(12, seed=7)]
    names = {animal[:2] for animal in in_files}
    generated = _generate_animals(SEED)
    unused = (animal for animal in generated if animal[:2] not in names)
    return list(islice(unused, count))


def _generate_animals(seed: int) -> Iterator[Animal]:
    rng = random.Random(seed)
    previous_animals: set[Animal] = set()
    while True:
        parts = (rng.choices(pool)[0] for pool in (_TITLES, _NAMES, _ENDINGS))
        name = "".join(parts)
        if len(previous_animals) > 10_000:
            name += f" {rng.randrange(10**6)}"
        (category_id,) = rng.choices(tuple(CATEGORIES), _WEIGHTS)
        (status,) = rng.choices(_STATUSES, _STATUS_WEIGHTS)
        animal = (name, category_id, status)
        if animal not in previous_animals:
            previous_animals.add(animal)
            yield animal


def animals_csv(count: int = 1_000, *, seed: int = SEED) -> str:
    """
    Return sample animals as the text of a CSV file with columns name, categoryId,
    status.
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(
        [spec.NEW_PET_FIELDS, *animals(count, seed=seed)]
    )
    return text.getvalue()
