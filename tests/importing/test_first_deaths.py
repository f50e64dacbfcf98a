"""
`first=5`, then the whole file, killed at random instants, with answers lost at random: each row
once.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from inventories import existing

from petstore_tools import PetStore, Sandbox
from petstore_tools.plans import Plan
from petstore_tools.sandbox.faults import Fault

ROWS, FIRST = 40, 5
STATUSES = ("available", "pending", "sold", "")
RUN = """
import sys
from petstore_tools import PetStore
url, key, state, path, first = sys.argv[1:]
store = PetStore(base_url=url, api_key=key, plan="100000/1000000", state_dir=state, progress=False)
store.quota()
print("ready", flush=True)
store.import_pets(path, first=int(first) or None)
"""


def _faults(rng: random.Random) -> list[Fault]:
    """
    About every sixth answer to a create is lost, before or after it was made; each takes a moment.
    """
    numbers = [n for n in range(1, 500) if rng.random() < 1 / 6]
    kinds = ("drop_before", "drop_after", "error_after", "garbage")
    chosen = [(rng.choice(kinds), n) for n in numbers]
    lost = [
        Fault(kind, method="POST", at=tuple(n for k, n in chosen if k == kind)) for kind in kinds
    ]
    return [fault for fault in lost if fault.at] + [Fault("slow", method="POST", seconds=0.01)]


def _killed(box: Sandbox, path: Path, first: int, delay_s: float) -> bool:
    """Begin the import in a process of its own, kill it then, and say whether it still ran."""
    arguments = [box.base_url, box.api_key, str(path.parent / "state"), str(path), str(first)]
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    try:
        process.wait(delay_s)
    except subprocess.TimeoutExpired:
        process.kill()
    process.communicate(timeout=20)
    return process.returncode != 0


def _first_rows_then_all(folder: Path, seed: int, kills: int) -> int:
    """Check one such import, and return how many of its runs were killed."""
    rng, path = random.Random(seed), folder / "animals.csv"
    rows = [(f"Animal {n}", n % 7, rng.choice(STATUSES)) for n in range(ROWS)]
    lines = [",".join(map(str, row)) for row in rows]
    path.write_text("\n".join(["name,categoryId,status", *lines]), encoding="utf-8")
    killed = 0
    with Sandbox(
        plan=Plan(100_000, 1_000_000), clock="system", animals=0, faults=_faults(rng)
    ) as box:
        for kill in range(kills):
            first = FIRST if kill < kills // 2 else 0
            before = existing(box).total()
            killed += _killed(box, path, first, rng.uniform(0, 0.5))
            assert not first or existing(box).total() <= before + FIRST
        store = PetStore(
            base_url=box.base_url,
            api_key=box.api_key,
            plan="100000/1000000",
            state_dir=folder / "state",
            progress=False,
        )
        with store:
            for _ in range(40):
                before = existing(box).total()
                result = store.import_pets(path, first=FIRST)
                assert existing(box).total() <= before + FIRST
                if rng.random() < 0.5:
                    break
            for _ in range(40):
                result = store.import_pets(path)
                if result.complete:
                    break
        found = existing(box)

    assert (result.complete, result.created, result.unknown) == (True, ROWS, 0)
    assert found == Counter((name, category, status or None) for name, category, status in rows)
    return killed


@pytest.fixture(autouse=True)
def reconciles_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service here commits at once or never."""
    monkeypatch.setenv("PETSTORE_RECONCILE_AFTER_S", "0.2")


@pytest.mark.case("P31", "P32")
@pytest.mark.parametrize("seed", [1])
def test_the_first_rows_and_then_all_are_created_once_whatever_dies(
    tmp_path: Path, seed: int
) -> None:
    """
    Eight kills, half of them among the first rows; no run of the first rows creates more than five.
    """
    assert _first_rows_then_all(tmp_path, seed, kills=8) >= 2


@pytest.mark.soak
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("part", range(20), ids="part{:03}".format)
def test_first_rows_two_thousand_kills(tmp_path: Path, part: int) -> None:
    """The long form: ten imports a part, ten kills each."""
    for seed in range(1_000 + part * 10, 1_010 + part * 10):
        (folder := tmp_path / str(seed)).mkdir()
        _first_rows_then_all(folder, seed, kills=10)
