"""What the kept listings say about each animal over time."""

from __future__ import annotations

import random

import pandas as pd
import pytest

from petstore_tools import Sandbox, spec
from petstore_tools.errors import ArgumentError, FrameError

DAY_S = 86_400


def test_the_history_of_one_animal_has_a_row_for_each_status() -> None:
    """With the times between which it changed."""
    with Sandbox(animals=20) as box:
        for status in ("available", "available", "pending", None):
            box.change(4, status=status)
            box.store.snapshot()
            box.advance(days=1)

        history = box.store.history(id=4)

    assert history["status"].astype("object").where(history["status"].notna(), None).tolist() == [
        "available",
        "pending",
        None,
    ]
    assert history["ended_between"].isna().tolist() == [False, False, True]
    assert history["ended_between"][0].left == history["last_seen"][0]
    assert history["ended_between"][0].right == pd.Timestamp("2026-01-07 09:00", tz="UTC")
    assert list(history.columns) == [*spec.PET_FIELDS, "first_seen", "last_seen", "ended_between"]


def test_an_empty_history_has_the_same_columns_and_dtypes() -> None:
    """Before the first listing, of an animal that never was, and of a full one."""
    with Sandbox(animals=3) as box:
        before = box.store.history()
        box.store.snapshot()
        full, of_nobody = box.store.history(), box.store.history(id=99)

    assert len(before) == len(of_nobody) == 0
    assert before.dtypes.astype(str).to_dict() == full.dtypes.astype(str).to_dict()
    assert of_nobody.dtypes.astype(str).to_dict() == full.dtypes.astype(str).to_dict()


def test_since_leaves_out_what_had_ended_before() -> None:
    """What is still so is always in it."""
    with Sandbox(animals=10) as box:
        for pet_id in (1, 2):
            box.store.snapshot()
            box.advance(days=10)
            box.remove(pet_id)
        box.store.snapshot()
        every, recent = box.store.history(), box.store.history(since="5d")

        with pytest.raises(ArgumentError, match="in the future"):
            box.store.history(since="2999-01-01")

    assert sorted(every["id"]) == list(range(1, 11))
    assert sorted(recent["id"]) == list(range(2, 11))


def test_history_costs_no_request() -> None:
    """It reads files."""
    with Sandbox(animals=10) as box:
        box.store.snapshot()
        asked = len(box.traffic())
        box.store.history()

        assert len(box.traffic()) == asked


@pytest.mark.parametrize("seed", range(4))
def test_every_stay_is_true_within_the_spacing_of_the_listings(seed: int) -> None:
    """200 changes over 60 days by a script: what was true at each listing is in a stay, and no more."""
    rng = random.Random(seed)
    truth: list[dict[int, tuple[str, int, str | None]]] = []
    with Sandbox(plan="business", animals=40) as box:
        for _ in range(60):
            for _ in range(rng.choice((2, 3, 4))):
                animals = [(i, s) for i, _, _, s in box.store.list_pets().itertuples(index=False)]
                pet_id, _ = rng.choice(animals)
                match rng.random():
                    case change if change < 0.15:
                        box.remove(pet_id)
                    case change if change < 0.3:
                        box.add([("Rex", 3, rng.choice([*spec.STATUSES, None]))])
                    case _:
                        box.change(pet_id, status=rng.choice([*spec.STATUSES, None]))
            if rng.random() < 0.6 or not truth:
                truth.append({pet.id: (pet.name, pet.category_id, pet.status) for pet in box.store.pets()})
                box.store.snapshot()
            box.advance(days=1)
        times = [pd.Timestamp(s.as_of) for s in box.store.snapshots()]
        history = box.store.history()

    said: list[dict[int, tuple[str, int, str | None]]] = [{} for _ in times]
    for pet_id, name, category, status, first_seen, last_seen, ended in history.itertuples(index=False):
        shown = [n for n, at in enumerate(times) if first_seen <= at <= last_seen]
        for n in shown:
            assert pet_id not in said[n]
            said[n][pet_id] = (name, category, None if pd.isna(status) else status)
        if not pd.isna(ended):
            assert ended.left == last_seen == times[shown[-1]]
            assert ended.right <= times[shown[-1] + 1]
    assert said == truth


def test_a_damaged_file_of_the_history_is_named() -> None:
    """The next listing begins anew; nothing is stuck."""
    with Sandbox(animals=10) as box:
        box.store.snapshot()
        (opened,) = box.store.snapshots().folder.glob("open/*.parquet")
        opened.write_bytes(b"PAR1")

        with pytest.raises(FrameError, match="open/000001"):
            box.store.history()
        with pytest.warns(UserWarning, match="begins anew"):
            box.store.snapshot()

        assert [len(snapshot.frame()) for snapshot in box.store.snapshots()[1:]] == [10]
        assert len(box.store.history()) == 10
