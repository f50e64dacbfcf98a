"""Seeded sample animals: the same ones on every machine and every Python."""

import json
import random
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import islice
from typing import Any

from petstore_tools import spec
from petstore_tools.errors import ArgumentError, FrameError
from petstore_tools.listing.frames import check_columns
from petstore_tools.service.database import Database
from petstore_tools.service.models import StoredPet
from petstore_tools.tabular.sources import to_pandas

SEED = 20_260_105
# names of categories with their weights; first, middle and last parts of names
_TABLES = json.loads(files(__package__).joinpath("samples.json").read_text("utf-8"))
CATEGORIES: dict[int, str] = dict(enumerate(_TABLES["categories"], start=1))
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


@lru_cache(maxsize=4)  # a notebook or a test opens many sandboxes
def inventory(count: int) -> tuple[Animal, ...]:
    """
    Return the animals of a sandbox: none of a file in `data/` is among them, so each
    can be imported.
    """
    in_files = [*animals(1_000), *animals(60, seed=3), *animals(12, seed=7)]
    names = {animal[:2] for animal in in_files}
    generated = _generate_animals(SEED)
    unused = (animal for animal in generated if animal[:2] not in names)
    return tuple(islice(unused, count))


def read_animals(animals: Any) -> list[StoredPet]:
    """
    Return the animals that a sandbox starts with: so many samples, or a listing's.

    Raises:
        ArgumentError: It is neither a number, 0 or more, nor a frame.
        FrameError: The frame has other columns than a listing, or an id twice.
    """
    if isinstance(animals, int) and animals >= 0:
        return [(number, *pet) for number, pet in enumerate(inventory(animals), 1)]
    frame = None if isinstance(animals, int) else to_pandas(animals)
    if frame is None:
        raise ArgumentError(
            "animals must be a number, 0 or more, or a frame of list_pets(), not"
            f" {animals!r:.80}"
        )
    check_columns(frame)
    if not frame["id"].is_unique:
        raise FrameError("column id has an id twice: a copy needs each animal once")
    pets = frame[[*spec.PET_FIELDS]].astype("object")
    return [*pets.where(pets.notna(), None).itertuples(index=False, name=None)]


def fill(database: Database, pets: Sequence[StoredPet]) -> bool:
    """Add animals to a database that has none; say whether it did."""
    is_empty = not database.execute("SELECT id FROM pet LIMIT 1")
    if is_empty and pets:
        database.run(lambda session: session.copy_pets(pets))
    return is_empty


def _generate_animals(seed: int) -> Iterator[Animal]:
    rng = random.Random(seed)
    previous_animals: set[Animal] = set()
    while True:
        name = "".join(rng.choices(part)[0] for part in _TABLES["name_parts"])
        if len(previous_animals) > 10_000:
            name += f" {rng.randrange(10**6)}"
        (category_id,) = rng.choices([*CATEGORIES], _TABLES["categories"].values())
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
    import pandas as pd

    frame = pd.DataFrame(animals(count, seed=seed), columns=spec.NEW_PET_FIELDS)
    return frame.to_csv(index=False, lineterminator="\n")
