"""
Whatever options a file is read with: a recipe reads it in the same way, and no row is created
twice.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from inventories import existing_names

from petstore_tools import Sandbox
from petstore_tools.errors import SheetError
from petstore_tools.importing.recipe import write_recipe

OPTIONS: dict[str, st.SearchStrategy[Any]] = {
    "columns": st.sampled_from(
        [
            {"Tier": "name", "Art": "categoryId", "Stand": "status"},
            {"Tier": "name", "B": "categoryId"},
            {"Note": "name", "Art": "categoryId", "Stand": "status"},
        ]
    ),
    "categories": st.sampled_from([None, {3: "Hund", 4: "Katze"}, {1000: "Hund", 4: "Katze"}]),
    "statuses": st.dictionaries(
        st.sampled_from(["weg", "frei"]), st.sampled_from(["sold", "Pending", "available"])
    ),
    "defaults": st.sampled_from([None, {"status": "sold"}, {"categoryId": 4, "status": "pending"}]),
    "encoding": st.sampled_from([None, None, "cp1250"]),
    "trim": st.booleans(),
    "thousands": st.sampled_from(["", ".", ","]),
    "drop_duplicates": st.booleans(),
    "allow_totals": st.booleans(),
}
CHOSEN = st.fixed_dictionaries(OPTIONS)
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["Rex %d", " Mia %d ", "Ö %d", "%d\u00a0"]),
        st.sampled_from(["3", "Hund", "katze ", "1.000", "7,0", ""]),
        st.sampled_from(["sold", "weg", "FREI", ""]),
    ),
    min_size=1,
    max_size=8,
)
NUMBERS = itertools.count(
    1
)  # each row of all files has one of its own, in its name and in its note
RELAXED = settings(
    max_examples=30,
    deadline=None,
    phases=[
        Phase.explicit,
        Phase.reuse,
        Phase.generate,
    ],  # each example is an import: shrinking takes hours
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    with Sandbox(plan="60000/600000", clock="system", animals=0) as found:
        yield found


def _written(folder: Path, rows: list[tuple[str, str, str]]) -> Path:
    path = folder / f"{next(NUMBERS)}.csv"
    numbered = [
        (name % n, category, status, f"note {n}") for n, (name, category, status) in _numbered(rows)
    ]
    lines = ["Tier;Art;Stand;Note", *(";".join(row) for row in numbered)]
    path.write_bytes("\n".join(lines).encode("cp1252"))
    return path


def _numbered(rows: list[tuple[str, str, str]]) -> list[tuple[int, tuple[str, str, str]]]:
    return [(next(NUMBERS), row) for row in rows]


@given(rows=ROWS, options=CHOSEN)
@RELAXED
def test_a_recipe_gives_the_same_rows(
    box: Sandbox, tmp_path: Path, rows: list[tuple[str, str, str]], options: dict[str, Any]
) -> None:
    """
    As a file, and as the ID of the import: the same rows, problems, and values read differently.
    """
    path = _written(tmp_path, rows)
    asked = box.store.preview_import(path, **options)
    write_recipe(tmp_path / "its.toml", asked.options.recipe_entries)
    recipes: list[str | Path] = [tmp_path / "its.toml"]
    with suppress(SheetError):  # over half of the rows are bad
        recipes.append(box.store.import_pets(path, **options, progress=False).journal)

    for recipe in recipes:
        again = box.store.preview_import(path, recipe=recipe)
        assert (again.good, again.bad, again.matches) == (asked.good, asked.bad, asked.matches)


@given(rows=ROWS, choices=st.lists(CHOSEN, min_size=2, max_size=4))
@RELAXED
def test_other_options_never_create_a_row_again(
    box: Sandbox, tmp_path: Path, rows: list[tuple[str, str, str]], choices: list[dict[str, Any]]
) -> None:
    """
    A row that is created keeps its animal, whatever it is read as later; or the whole file is
    refused.
    """
    path = _written(tmp_path, rows)
    for options in choices:
        with suppress(SheetError):
            box.store.import_pets(path, **options, progress=False)

    numbers = Counter(re.search(r"\d+", name)[0] for name in existing_names(box).elements())  # type: ignore[index]
    assert not [number for number, count in numbers.items() if count > 1]
