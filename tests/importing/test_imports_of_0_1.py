"""
What version 0.1 wrote is gone on with: journals in every state, and snapshots
(`tests/fixtures/0.1`).
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from inventories import existing_names

from petstore_tools import Sandbox
from petstore_tools.importing.journals import list_journals
from petstore_tools.plans import Plan

OLD = Path(__file__).parents[1] / "fixtures" / "0.1"


@pytest.fixture
def fast() -> Iterator[Sandbox]:
    """A sandbox whose plan is no limit; ids 1 and 2 are those that the old journal names."""
    with Sandbox(plan=Plan(100_000, 1_000_000), animals=0) as box:
        box.add([("Rex", 3, "sold"), ("Mia", 4, None)])
        yield box


def journal_of_0_1(box: Sandbox, path: Path) -> str:
    """Put the old journal where 0.1 would have kept it for this file; return its name."""
    parts = json.dumps(["sandbox", box.base_url, str(path)])
    name = hashlib.sha256(parts.encode()).hexdigest()[:12]
    folder = box.state_dir / "imports"
    folder.mkdir(parents=True, exist_ok=True)
    (old,) = (OLD / "imports").glob("*.db")
    for suffix in (".db", ".lock"):
        shutil.copy(old.with_suffix(suffix), folder / f"{name}{suffix}")
    with sqlite3.connect(folder / f"{name}.db") as db:
        db.execute("UPDATE about SET value = ? WHERE name = 'base_url'", (box.base_url,))
        db.execute("UPDATE about SET value = ? WHERE name = 'path'", (str(path),))
    db.close()
    return name


@pytest.mark.case("P74")
@pytest.mark.parametrize("committed", [True, False])
def test_a_journal_of_0_1_is_gone_on_with_and_no_row_is_sent_twice(
    fast: Sandbox, tmp_path: Path, committed: bool
) -> None:
    """
    Created rows stay, the one on its way is looked up, what was unsent or refused goes, doubt
    remains.
    """
    path = shutil.copy(OLD / "animals.csv", tmp_path / "animals.csv")
    name = journal_of_0_1(fast, path)
    if committed:
        fast.add([("Mia", 4, None), ("Luna", 7, None)])

    result = fast.store.import_pets(path)
    again = fast.store.import_pets(path)

    assert result.journal == name
    assert (result.created, result.ambiguous, result.rejected) == (6, 1, 1)
    assert (again.created_now, again.unknown) == (0, 1)
    assert existing_names(fast) == {"Rex": 1, "Mia": 2, "Bella": 1, "Luna": 1, "Tom": 1}
    assert result.frame["candidates"].dropna().tolist() == ["7 or 8"]


@pytest.mark.case("P74", "P62")
def test_a_workbook_of_0_1_goes_on_under_its_sheet(fast: Sandbox, tmp_path: Path) -> None:
    """0.1 kept one journal for all sheets: the sheet that comes first goes on with it."""
    import pandas as pd

    path, rows = tmp_path / "animals.xlsx", pd.read_csv(OLD / "animals.csv", dtype="str")
    name = journal_of_0_1(fast, path)
    with pd.ExcelWriter(path, engine="xlsxwriter") as book:
        rows.to_excel(book, sheet_name="Dogs", index=False)
        rows.head(0).to_excel(book, sheet_name="Cats", index=False)

    dogs = fast.store.import_pets(path, sheet="Dogs")

    assert (dogs.journal, dogs.created, dogs.ambiguous) == (name, 6, 1)
    (journal,) = list_journals(fast.state_dir / "imports")[0]
    assert journal.target.sheet == "Dogs"


@pytest.mark.case("P74")
def test_a_journal_of_0_1_is_listed(fast: Sandbox, tmp_path: Path) -> None:
    """Before any run of this version, and without a word of 1970."""
    name = journal_of_0_1(fast, tmp_path / "animals.csv")

    ((journal,), errors) = list_journals(fast.state_dir / "imports")

    assert (journal.id, errors, journal.reading) == (name, {}, {})
    assert (journal.states["created"], journal.states["ambiguous"]) == (2, 1)
    assert journal.changed_at > 1_767_600_000
