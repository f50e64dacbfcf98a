"""`petstore-tools history`: on the screen and in files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from commands import run

from petstore_tools import PetStore, Sandbox


def store_of(sandbox: Sandbox) -> PetStore:
    """Return the store that the command line opens at a sandbox."""
    return PetStore(base_url=sandbox.base_url, api_key=sandbox.api_key, progress=False)


@pytest.fixture
def box() -> Iterator[Sandbox]:
    """A sandbox with two kept listings; animal 2 was sold in between."""
    with Sandbox(plan="pro", animals=30, clock="system") as sandbox, store_of(sandbox) as store:
        store.snapshot()
        sandbox.change(2, status="sold")
        store.snapshot()
        yield sandbox


def test_the_history_of_one_animal_is_a_table(box: Sandbox) -> None:
    """With the two listings between which it changed; no request is sent."""
    asked = len(box.traffic())

    done = run("history", "--id", "2", box=box)

    first, second = done.stdout.splitlines()[-2:]
    assert "available" in first
    assert re.search(r"20\d\d-\d\d-\d\d \d\d:\d\d and 20\d\d", first)
    assert "sold" in second
    assert "2 snapshots" in done.stderr
    assert (done.returncode, len(box.traffic())) == (0, asked)


def test_the_categories_of_the_settings_are_named(box: Sandbox, tmp_path: Path) -> None:
    """On the screen and in a file, in a column beside their ids."""
    names, path = tmp_path / "names.csv", tmp_path / "history.csv"
    names.write_text("id,name\n1,Dogs\n", encoding="utf-8")

    shown = run("history", "--id", "2", box=box, PETSTORE_CATEGORIES=str(names))
    run("history", "-o", str(path), box=box, PETSTORE_CATEGORIES=str(names))

    assert shown.stdout.split()[:5] == ["id", "name", "categoryId", "category", "status"]
    assert "Dogs" in shown.stdout
    frame = pd.read_csv(path)
    assert set(frame.loc[frame["categoryId"] == 1, "category"]) == {"Dogs"}


def test_ids_have_all_their_digits_and_a_status_that_is_not_set_is_empty() -> None:
    """No separators, and no nan."""
    with Sandbox(plan="pro", animals=0, clock="system") as sandbox, store_of(sandbox) as store:
        sandbox.add([("Rex", 1_234_567, None)])
        store.snapshot()
        done = run("history", box=sandbox)

    assert re.search(r"^1 +Rex +1234567 +20", done.stdout, re.M)


@pytest.mark.parametrize("ending", [".csv", ".xlsx", ".json", ".parquet"])
def test_the_history_is_written_to_a_file(box: Sandbox, tmp_path: Path, ending: str) -> None:
    """The same rows in each format; an interval is two columns."""
    path = tmp_path / f"history{ending}"

    done = run("history", "-o", str(path), box=box)

    read = {".csv": pd.read_csv, ".json": pd.read_json, ".parquet": pd.read_parquet}
    frame = read[ending](path) if ending in read else pd.read_excel(path, engine="calamine")
    assert done.returncode == 0, done.stderr
    assert len(frame) == 31
    assert frame["id"].tolist().count(2) == 2
    assert [name.removesuffix(" (UTC)") for name in frame.columns][-2:] == [
        "ended_after",
        "ended_before",
    ]


def test_without_a_kept_listing_it_says_so() -> None:
    """And how many there are."""
    with Sandbox(animals=3) as sandbox:
        done = run("history", box=sandbox)

    assert "The kept listings show no such animal." in done.stdout
    assert "no snapshots yet" in done.stderr
