"""
Several imports to one place at once: each row has an animal of its own, or is named as unknown.
"""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from inventories import Animals, existing, through
from proxy import Fate, FaultProxy, reply

from petstore_tools import PetStore, Sandbox
from petstore_tools.errors import JournalError
from petstore_tools.importing import lookup
from petstore_tools.importing.journals import list_journals, other_imports
from petstore_tools.importing.reconcile import LOST_ELSEWHERE
from petstore_tools.importing.results import ImportResult
from petstore_tools.importing.run_lock import Target, place_lock
from petstore_tools.importing.send import Progress
from petstore_tools.plans import Plan

AMPLE = Plan(100_000, 1_000_000)
REX = "name,categoryId,status\nRex,3,sold\n"


@pytest.mark.case("P61")
@pytest.mark.parametrize(
    "fate", ["drop before", "drop after", reply(500)], ids=["before", "after", "500"]
)
def test_an_equal_row_of_another_import_is_never_taken_for_ours(
    fast: Sandbox, tmp_path: Path, fate: Fate
) -> None:
    """
    A's answer is lost; B creates an equal animal while A waits: each row has its own, or is
    unknown.
    """
    a, b = tmp_path / "a.csv", tmp_path / "b.csv"
    a.write_text(REX)
    b.write_text(REX)
    others: list[ImportResult] = []
    with FaultProxy(
        fast.base_url, lambda method, n: fate if (method, n) == ("POST", 1) else "pass"
    ) as proxy:

        def meanwhile(progress: Progress) -> None:
            if "answer was lost" in progress.waits_for and not others:
                others.append(through(fast, proxy).import_pets(b, existing="send"))

        result = through(fast, proxy).import_pets(a, progress=meanwhile)

    ids = [*result.frame["id"].dropna(), *others[0].frame["id"].dropna()]
    assert (others[0].created, result.created) == (1, 1)
    assert len(set(ids)) == 2
    assert existing(fast) == Counter({("Rex", 3, "sold"): 2})


def _lost_in_both(
    fast: Sandbox, proxy: FaultProxy, tmp_path: Path
) -> tuple[list[PetStore], list[Path]]:
    """Let two imports lose the answer to an equal row, and stop before they reconcile."""
    stores, paths = (
        [through(fast, proxy), through(fast, proxy)],
        [tmp_path / "a.csv", tmp_path / "b.csv"],
    )
    for store, path in zip(stores, paths, strict=True):
        path.write_text(REX)
        store.client.max_wait_s = 0.0
        assert store.import_pets(path, existing="send").unknown == 1
        store.client.max_wait_s = 90.0
    return stores, paths


@pytest.mark.case("P61")
@pytest.mark.parametrize("committed", [0, 1, 2])
def test_two_imports_that_reconcile_at_the_same_instant(
    fast: Sandbox, tmp_path: Path, committed: int
) -> None:
    """Both have lost an equal row: each ends with an animal of its own, or unknown."""
    results: list[ImportResult] = []

    def fate(method: str, n: int) -> Fate:
        if method != "POST" or n > 2:
            return "pass"
        return "drop after" if n <= committed else "drop before"

    with FaultProxy(fast.base_url, fate) as proxy:
        stores, paths = _lost_in_both(fast, proxy, tmp_path)
        threads = [
            threading.Thread(
                target=lambda s=store, p=path: results.append(s.import_pets(p, existing="send"))
            )
            for store, path in zip(stores, paths, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)

    ids = [pet_id for result in results for pet_id in result.frame["id"].dropna()]
    assert len(ids) + sum(result.ambiguous for result in results) == 2
    assert len(set(ids)) == len(ids)
    assert len(ids) <= existing(fast).total() <= 2
    assert committed or len(ids) == 2


@pytest.mark.case("P61")
@pytest.mark.parametrize("decided", [True, False])
def test_an_equal_row_that_another_import_lost_is_waited_for(
    fast: Sandbox, tmp_path: Path, decided: bool
) -> None:
    """Decided in that time, the animal is ours; else it may be either's, and a person is asked."""
    waits: set[float] = set()
    with FaultProxy(
        fast.base_url,
        lambda method, n: (
            ["drop after", "drop before", "pass"][min(n, 3) - 1] if method == "POST" else "pass"
        ),
    ) as proxy:
        (a, b), (path, _) = _lost_in_both(fast, proxy, tmp_path)
        folder = a.journals
        other = next(k for k in list_journals(folder)[0] if k.target.path.name == "b.csv")

        def decide(progress: Progress) -> None:
            waits.update({progress.waits_until} if progress.waits_until else ())
            if len(waits) == 2 and decided and not progress.created:
                waits.add(0.0)
                lookup.decide(b.client, folder, other, 2, None)

        result = a.import_pets(path, progress=decide)

    assert (result.created, result.ambiguous) == ((1, 0) if decided else (0, 1))
    assert decided or result.frame.query("outcome == 'unknown'")["detail"].iloc[0] == LOST_ELSEWHERE


@pytest.mark.case("P61", "P71")
def test_what_a_journal_that_cannot_be_read_may_own_is_not_taken(
    fast: Sandbox, tmp_path: Path
) -> None:
    """
    Its animals are not known: a row that finds one like it is named, and no second one is made.
    """
    path = tmp_path / "a.csv"
    path.write_text(REX)
    with FaultProxy(
        fast.base_url, lambda method, n: "drop after" if (method, n) == ("POST", 1) else "pass"
    ) as proxy:
        store = through(fast, proxy)
        folder = store.journals
        folder.mkdir(parents=True)
        (folder / "0123456789ab.db").write_bytes(b"no database")
        result = store.import_pets(path)

    assert (result.created, result.ambiguous) == (0, 1)
    assert (
        "journal 0123456789ab of another import cannot be read"
        in result.frame.query("outcome == 'unknown'")["detail"].iloc[0]
    )


@pytest.mark.case("P61")
def test_reconciling_waits_for_the_lock_of_the_place(fast: Sandbox, tmp_path: Path) -> None:
    """While another import holds it, nothing is read or decided; the wait can be interrupted."""
    path = tmp_path / "a.csv"
    path.write_text(REX)
    folder = fast.store.journals
    seen: list[int] = []
    with FaultProxy(
        fast.base_url, lambda method, n: "drop after" if (method, n) == ("POST", 1) else "pass"
    ) as proxy:
        store = through(fast, proxy)
        place = Target("sandbox", proxy.base_url, path)
        held = place_lock(folder, place, lambda: None)

        def release() -> None:
            seen.append(proxy.counts["GET"])
            held.__exit__(None, None, None)

        def take(progress: Progress) -> None:
            if progress.waits_for and not seen:
                held.__enter__()
                seen.append(proxy.counts["GET"])
                threading.Timer(
                    0.4, lambda: (seen.append(proxy.counts["GET"]), held.__exit__(None, None, None))
                ).start()

        result = store.import_pets(path, progress=take)

    assert (result.created, seen[0]) == (1, seen[1])


OPENS = """
import signal, sys
from petstore_tools import PetStore
from petstore_tools.plans import Plan
from petstore_tools.importing.reconcile import LOST_ELSEWHERE
store = PetStore(base_url=sys.argv[1], api_key=sys.argv[2], plan=Plan(100000, 1000000), state_dir=sys.argv[3])
print("ready", flush=True)
store.import_pets(sys.argv[4], existing="send", progress=False)
"""


def _overlapping(rng: random.Random, folder: Path) -> list[Path]:
    """Write three files of few values, so that many rows of one are in the others, too."""
    paths = []
    for name in "abc":
        rows = [
            f"{rng.choice(['Rex', 'Mia', 'Max'])},{rng.randint(1, 3)},{rng.choice(['', 'sold'])}"
            for _ in range(rng.randint(5, 25))
        ]
        paths.append(folder / f"{name}.csv")
        paths[-1].write_text("\n".join(["name,categoryId,status", *rows, ""]))
    return paths


def _round(box: Sandbox, folder: Path, seed: int) -> tuple[int, int]:
    """
    Import three files at once, with kills and lost answers; return rows, and rows that are unknown.
    """
    rng = random.Random(seed)
    folder.mkdir()
    paths, state = _overlapping(rng, folder), folder / "state"
    before = existing(box)
    lost = {
        n: rng.choice(["drop before", "drop after"]) for n in range(1, 80) if rng.random() < 0.1
    }
    with FaultProxy(
        box.base_url, lambda method, n: lost.get(n, "pass") if method == "POST" else "pass"
    ) as proxy:
        command = [sys.executable, "-c", OPENS, proxy.base_url, box.api_key, str(state)]
        running = [
            subprocess.Popen([*command, str(path)], stdout=subprocess.PIPE) for path in paths
        ]
        for process in running:
            assert process.stdout is not None
            process.stdout.readline()
        time.sleep(rng.uniform(0.0, 0.4))
        for process in running:
            if rng.random() < 0.5:
                process.kill()
        for process in running:
            process.communicate(timeout=60)
        settings = {"plan": AMPLE, "state_dir": state, "progress": False}
        store = PetStore(base_url=proxy.base_url, api_key=box.api_key, **settings)  # type: ignore[arg-type]
        for path in [*paths, *paths]:
            for _ in range(10):
                if not store.import_pets(path, existing="send").unsent:
                    break
        store.close()
    found, damaged = list_journals(state / "imports")
    entries = [(k.id, k.target) for k in found]
    assert (len(entries), damaged) == (3, {})
    return _judge(box, before, paths, state / "imports", entries)


def _judge(
    box: Sandbox,
    before: Animals,
    paths: list[Path],
    folder: Path,
    journals: list[tuple[str, Target]],
) -> tuple[int, int]:
    """Check that every row has one animal of its own, or is named as unknown."""
    made = existing(box) - before
    wanted: Animals = Counter()
    for path in paths:
        for line in path.read_text().splitlines()[1:]:
            name, category_id, status = line.split(",")
            wanted[name, int(category_id), status or None] += 1
    owned = other_imports(folder, journals[0][1], but="")
    states: Counter[str] = sum((k.states for k in list_journals(folder)[0]), Counter())
    unknown = owned.unknown
    assert states["created"] == len(owned.owned), "an animal is the answer to two rows"
    assert states["unsent"] == states["sending"] == states["rejected"] == 0
    assert not made - wanted, "an animal exists twice"
    assert all(content in unknown for content in wanted - made), "a row is lost"
    return wanted.total(), states["unknown"] + states["ambiguous"]


def _rounds(tmp_path: Path, seeds: range) -> None:
    with Sandbox(plan=AMPLE, clock="system", animals=0) as box:
        counts = [_round(box, tmp_path / str(seed), seed) for seed in seeds]
    assert sum(rows for rows, _ in counts) > 0
    # one answer in ten is lost, and equal rows elsewhere share the doubt: most are decided all the
    # same
    assert sum(unknown for _, unknown in counts) < 0.5 * sum(rows for rows, _ in counts)


@pytest.mark.case("P61")
def test_parallel_imports_with_equal_rows_lose_and_double_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two rounds of three imports of overlapping files, with kills and lost answers."""
    monkeypatch.setenv("PETSTORE_RECONCILE_AFTER_S", "0.3")

    _rounds(tmp_path, range(2))


@pytest.mark.soak
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("part", range(20), ids="part{:03}".format)
def test_two_hundred_rounds_of_parallel_imports(
    tmp_path: Path, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The long form, ten rounds a part."""
    monkeypatch.setenv("PETSTORE_RECONCILE_AFTER_S", "0.3")

    _rounds(tmp_path, range(part * 10, part * 10 + 10))


@pytest.mark.case("P36", "P61")
def test_a_person_cannot_give_an_animal_to_two_imports(fast: Sandbox, tmp_path: Path) -> None:
    """The answer to a row of another import is refused as the answer to this one."""
    a, b = tmp_path / "a.csv", tmp_path / "b.csv"
    a.write_text(REX)
    b.write_text(REX)
    with FaultProxy(
        fast.base_url, lambda method, n: "drop before" if (method, n) == ("POST", 2) else "pass"
    ) as proxy:
        store = through(fast, proxy)
        first = store.import_pets(a)
        store.client.max_wait_s = 0.0
        second = store.import_pets(b, existing="send")
        folder = store.journals
        (journal,) = [k for k in list_journals(folder)[0] if k.id == second.journal]

        with pytest.raises(
            JournalError, match=f"id 1 belongs to a row of import {first.journal} already"
        ):
            lookup.decide(store.client, folder, journal, 2, 1)
