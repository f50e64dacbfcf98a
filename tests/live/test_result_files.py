"""The files beside the input: what a person corrected stays, and what cannot be written is said."""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from petstore_tools import Sandbox
from petstore_tools.core.plan import Plan


@pytest.fixture
def box() -> Iterator[Sandbox]:
    with Sandbox(plan=Plan(100_000, 1_000_000), animals=0) as found:
        yield found


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.case("P70")
def test_cells_keep_the_titles_under_which_they_were_read(box: Sandbox, tmp_path: Path) -> None:
    """A column added in the middle, and created rows that the file does not hold any more."""
    path = tmp_path / "pets.csv"
    path.write_text("name,note,categoryId,note\nRex,a,3,b\nMia,c,4,d\n")
    box.store.import_pets(path)
    path.write_text("name,age,categoryId,note\nMia,7,4,e\nMax,8,5,f\n")

    result = box.store.import_pets(path)

    created = result.files[0].read_text().splitlines()
    assert created == ["name,age,categoryId,note,note,id", "Rex,,3,a,b,1", "Mia,7,4,e,,2", "Max,8,5,f,,3"]


@pytest.mark.case("P70")
def test_rows_of_version_0_1_without_titles_keep_the_id_in_its_column(box: Sandbox, tmp_path: Path) -> None:
    """Its journals hold cells alone: they stand from the left, and the id under `id`."""
    path = tmp_path / "pets.csv"
    path.write_text("name,categoryId\nRex,3\nMia,4\n")
    box.store.import_pets(path)
    (journal,) = (box.store._settings.state_dir / "imports").glob("*.db")
    with sqlite3.connect(journal) as db:
        db.execute("UPDATE row SET cells = json_array(name, category_id || '')")
    db.close()
    path.write_text("name,categoryId,note\nMia,4,new\n")

    result = box.store.import_pets(path)

    assert [(row["name"], row["categoryId"], row["note"], row["id"]) for row in rows_of(result.files[0])] == [
        ("Rex", "3", "", "1"),
        ("Mia", "4", "new", "2"),
    ]
