"""A changed row that equals another one by now: neither takes the animal of the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from petstore_tools import Sandbox


@pytest.mark.parametrize(
    ("before", "after", "held"),
    [
        (
            "Ada,1,\nRexx,1,sold\nRex,1,sold\nMia,2,\n",
            "Ada,1,\nRex,1,sold\nRex,1,sold\nMia,2,\n",
            [3],
        ),
        ("Ada,1,\nMia,1,sold\nMia,2,pending\n", "Ada,1,\nMia,2,pending\nMia,2,pending\n", [3]),
    ],
    ids=["name corrected", "values changed"],
)
def test_a_row_that_becomes_equal_to_a_later_one_is_held(
    tmp_path: Path, before: str, after: str, held: list[int]
) -> None:
    """The later row is unchanged, so it keeps its animal, and nothing is created again."""
    path = tmp_path / "pets.csv"
    with Sandbox(animals=0) as box:
        path.write_text(f"name,categoryId,status\n{before}")
        created = box.store.import_pets(path, progress=False).created
        path.write_text(f"name,categoryId,status\n{after}")

        again = box.store.import_pets(path, progress=False)

        assert (again.created_now, [h.row.number for h in again.held_rows]) == (0, held)
        assert len(box.store.list_pets()) == created


def test_other_meanings_of_words_exchange_no_rows(tmp_path: Path) -> None:
    """
    Names and words that mean something else by now: each row is held as the animal it was made of.
    """
    path = tmp_path / "pets.csv"
    path.write_text("name,categoryId,status\nRex,Dogs,verk\nRex,Cats,res\n")
    with Sandbox(animals=0) as box:
        first = box.store.import_pets(
            path,
            categories={1: "Dogs", 2: "Cats"},
            statuses={"verk": "sold", "res": "pending"},
            progress=False,
        )
        assert first.created == 2

        again = box.store.import_pets(
            path,
            categories={2: "Dogs", 3: "Cats"},
            statuses={"verk": "pending", "res": "available"},
            progress=False,
        )

        assert again.created_now == 0
        assert [(h.row.number, h.exists_as.number) for h in again.held_rows] == [(2, 2), (3, 3)]
