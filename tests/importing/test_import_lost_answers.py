"""Creates whose answer is lost, and what a listing of the inventory finds out about them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from inventories import ROWS, existing, expected, through
from proxy import Fate, FaultProxy, reply

from petstore_tools import PetStore, Sandbox
from petstore_tools.importing.row_states import Entry
from petstore_tools.importing.send import Progress

LOST = ["drop before", "drop after", reply(500), reply(504), reply(201, b"{}")]
LOST_IDS = ["before commit", "after commit", "500", "504", "201 without an animal"]


@pytest.mark.case("P31")
@pytest.mark.parametrize("fate", LOST, ids=LOST_IDS)
def test_a_lost_answer_is_found_out_by_one_listing(fast: Sandbox, file: Path, fate: Fate) -> None:
    """
    Whatever happened to the tenth create: one listing, a minute later, and every row exists once.
    """
    with FaultProxy(
        fast.base_url, lambda method, n: fate if (method, n) == ("POST", 10) else "pass"
    ) as proxy:
        before = fast.clock.now()
        shown: list[Progress] = []
        result = through(fast, proxy).import_pets(file, progress=shown.append)

    assert (result.created, result.unknown, result.complete) == (ROWS, 0, True)
    assert existing(fast) == expected()
    assert fast.clock.now() - before >= 60
    waited = [p for p in shown if "answer was lost" in p.waits_for]
    assert {(p.created, p.unknown, p.waits_until) for p in waited} == {(ROWS - 1, 1, before + 60)}
    assert proxy.counts["POST"] == (ROWS if fate == "drop after" else ROWS + 1)
    assert proxy.counts["GET"] == 2


@pytest.mark.case("P31")
@pytest.mark.parametrize(("lost", "created"), [(1, 1), (2, 1), (99, 0)])
def test_the_only_row_of_a_file_is_sent_again_but_not_for_ever(
    fast: Sandbox, tmp_path: Path, lost: int, created: int
) -> None:
    """
    Its first answers are lost before the commit: a listing, another try; after three the run ends.
    """
    path = tmp_path / "one.csv"
    path.write_text("name,categoryId\nRex,3\n")
    with FaultProxy(
        fast.base_url, lambda method, n: "drop before" if method == "POST" and n <= lost else "pass"
    ) as proxy:
        result = through(fast, proxy).import_pets(path)

    assert (result.created, result.unsent, proxy.counts["POST"]) == (
        created,
        1 - created,
        min(lost + 1, 3),
    )
    assert (result.stopped is None) == bool(created)
    assert sum(existing(fast).values()) == created


@pytest.mark.case("P33")
def test_a_commit_half_a_minute_late_is_found(fast: Sandbox, file: Path) -> None:
    """The answer is lost at once, the animal exists 30 s later: the listing waits for it."""
    late: list[float] = []

    def fate(method: str, n: int) -> Fate:
        if (method, n) != ("POST", 10):
            return "pass"
        late.append(fast.clock.now() + 30)
        return "drop before"

    with FaultProxy(fast.base_url, fate) as proxy:
        store = through(fast, proxy)
        lost = _lost(store, file)
        assert len(late) == 1
        fast.advance(seconds=30)
        fast.add([lost[0].content])
        result = store.import_pets(file)

    assert (result.complete, proxy.counts["POST"]) == (True, ROWS)
    assert existing(fast) == expected()


def _lost(store: PetStore, file: Path) -> list[Entry]:
    """Import, and stop before the listing."""
    store.client.max_wait_s = 0.0
    result = store.import_pets(file)
    store.client.max_wait_s = 90.0
    return [entry for entry in result.entries if entry.state == "unknown"]


def test_reconciling_that_would_take_long_is_left_to_a_later_call(
    fast: Sandbox, file: Path
) -> None:
    """Ten minutes are no wait for a cell that was not asked to wait; a later call finds out."""
    with FaultProxy(
        fast.base_url, lambda method, n: "drop after" if (method, n) == ("POST", 10) else "pass"
    ) as proxy:
        store = through(fast, proxy)
        store.client.reconcile_after_s = 600
        first = store.import_pets(file)
        fast.advance(minutes=11)
        second = store.import_pets(file)

    assert (first.unknown, first.stopped and first.stopped.kind) == (1, "unknown rows")
    assert first.resumes_at == fast.clock.now() - 60
    assert "pass wait=True" in str(first)
    assert (second.complete, second.created_now) == (True, 1)
    assert existing(fast) == expected()


@pytest.mark.case("P34")
@pytest.mark.parametrize("fate", ["drop before", "drop after"])
def test_two_identical_rows_of_which_one_is_lost_are_each_created_once(
    fast: Sandbox, tmp_path: Path, fate: Fate
) -> None:
    """The second's answer is lost; both exist in the end, and no third one."""
    path = tmp_path / "equal.csv"
    path.write_text("name,categoryId\nMia,4\nMia,4\nRex,3\n")
    with FaultProxy(
        fast.base_url, lambda method, n: fate if (method, n) == ("POST", 2) else "pass"
    ) as proxy:
        result = through(fast, proxy).import_pets(path)

    assert result.complete
    assert existing(fast) == Counter({("Mia", 4, None): 2, ("Rex", 3, None): 1})
    assert result.frame["id"].is_unique


def test_an_equal_animal_of_another_program_makes_it_ambiguous(fast: Sandbox, file: Path) -> None:
    """
    Ours exists, and another program's: nobody can tell which, so nothing is sent and both are
    named.
    """
    with FaultProxy(
        fast.base_url, lambda method, n: "drop after" if (method, n) == ("POST", 10) else "pass"
    ) as proxy:
        store = through(fast, proxy)
        (lost,) = _lost(store, file)
        fast.add([lost.content])
        result = store.import_pets(file)

    (entry,) = [entry for entry in result.entries if entry.state == "unknown"]
    assert (result.ambiguous, len(entry.candidates)) == (1, 2)
    assert (
        entry.detail
        == "1 row with these values got no answer, but there are 2 new animals with them"
    )
