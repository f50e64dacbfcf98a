"""
The second call of an import: which row is which, whatever was edited, fed, skipped or renamed
between.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from inventories import existing_names
from proxy import FaultProxy, reply

from petstore_tools import PetStore, Sandbox
from petstore_tools.errors import JournalError
from petstore_tools.importing import lookup
from petstore_tools.importing.journals import list_journals
from petstore_tools.plans import Plan

DOGS = [(f"Dog {n}", 3) for n in range(10)]
AMPLE = Plan(100_000, 1_000_000)


def csv(path: Path, *rows: str) -> Path:
    path.write_text("\n".join(["name,categoryId", *rows, ""]))
    return path


def until_the_quota(box: Sandbox, creates: int) -> PetStore:
    """Return a store whose day ends after so many creates, without a baseline."""
    return PetStore.from_settings(
        replace(box.store.settings, plan=Plan(1_000, creates + 1)), clock=box.clock
    )


@pytest.mark.case("P35")
def test_what_was_skipped_stays_skipped(fast: Sandbox, tmp_path: Path) -> None:
    """The same call again, another one without the option, and one that sends it after all."""
    path = csv(tmp_path / "pets.csv", "Rex,1", "Mia,1")
    fast.store.create_pet("Rex", category_id=1)

    first, second, third = (
        fast.store.import_pets(path, existing=choice) for choice in ("skip", "skip", "ask")
    )  # type: ignore[arg-type]
    assert [(r.created, r.skipped) for r in (first, second, third)] == [(1, 1)] * 3
    assert existing_names(fast) == {"Rex": 1, "Mia": 1}
    assert first.frame["outcome"].tolist() == ["skipped", "created"]
    assert first.to_dict()["skipped"] == 1

    sent = fast.store.import_pets(path, existing="send")
    assert (sent.created, sent.skipped, existing_names(fast)["Rex"]) == (2, 0, 2)


@pytest.mark.case("P41")
def test_a_fixed_row_is_no_other_row_that_waits(fast: Sandbox, tmp_path: Path) -> None:
    """Fixed in the rejects file it equals one that was not sent yet: both are created."""
    path = csv(tmp_path / "pets.csv", "Rex,1", "Tom,1", "Mia,4", "Mia,x")
    until_the_quota(fast, 2).import_pets(path)
    rejects = tmp_path / "pets.sandbox.rejected.csv"
    rejects.write_text(rejects.read_text().replace("Mia,x", "Mia,4"))

    fast.store.import_pets(rejects)
    fast.store.import_pets(path)

    assert existing_names(fast) == {"Rex": 1, "Tom": 1, "Mia": 2}


@pytest.mark.case("P35", "P41")
def test_a_rejects_file_that_is_fed_twice_creates_once(fast: Sandbox, tmp_path: Path) -> None:
    """Between the two the row is fixed in the original, too, and a row above it is deleted."""
    path = csv(tmp_path / "pets.csv", "Rex,1", "Tom,1", "Zoe,x")
    fast.store.import_pets(path)
    rejects = tmp_path / "pets.sandbox.rejected.csv"
    fixed = rejects.read_text().replace("Zoe,x", "Zoe,4")
    rejects.write_text(fixed)
    fast.store.import_pets(rejects)
    fast.store.import_pets(csv(path, "Tom,1", "Zoe,4"))
    rejects.write_text(fixed)

    again = fast.store.import_pets(rejects)

    assert (again.created_now, existing_names(fast)["Zoe"]) == (0, 1)


@pytest.mark.case("P35", "P63")
def test_a_row_that_was_never_sent_comes_back_as_an_edit(fast: Sandbox, tmp_path: Path) -> None:
    """
    Rex,1 waits for the quota, goes as Rex,2, and is edited back: the animal is there, so it is
    held.
    """
    rows = ("Ace,1", "Bea,1", "Cid,1")
    path = csv(tmp_path / "pets.csv", *rows, "Rex,1")
    until_the_quota(fast, 3).import_pets(path)
    fast.store.import_pets(csv(path, *rows, "Rex,2"))

    back = fast.store.import_pets(csv(path, *rows, "Rex,1"))

    assert (back.created_now, back.held, existing_names(fast)["Rex"]) == (0, 1, 1)


@pytest.mark.case("P34", "P35")
def test_of_equal_rows_those_that_exist_are_found_first(fast: Sandbox, tmp_path: Path) -> None:
    """The first of two was refused, the second created; one of them is deleted from the file."""
    path = csv(tmp_path / "pets.csv", "Mia,4", "Mia,4")
    refusal = reply(400, b'{"code":"invalid_body","message":"no","status":400}')
    with FaultProxy(
        fast.base_url, lambda method, n: refusal if (method, n) == ("POST", 1) else "pass"
    ) as proxy:
        store = fast.connect(base_url=proxy.base_url)
        store.import_pets(path)
        one = store.import_pets(csv(path, "Mia,4"))

    assert (one.created, one.created_now, existing_names(fast)["Mia"]) == (1, 0, 1)


@pytest.mark.case("P42")
@pytest.mark.parametrize("values", ['"name":"REX","categoryId":3', '"name":"Rex","categoryId":9'])
def test_an_animal_that_the_service_changed_is_for_a_person(
    fast: Sandbox, tmp_path: Path, values: str
) -> None:
    """
    The answer names an animal of other values: it is the candidate, and the row is never sent
    again.
    """
    path, changed = csv(tmp_path / "pets.csv", "Rex,3"), reply(201, f'{{"id":1,{values}}}'.encode())
    with FaultProxy(
        fast.base_url, lambda method, n: changed if method == "POST" else "pass"
    ) as proxy:
        store = fast.connect(base_url=proxy.base_url)
        results = [store.import_pets(path) for _ in range(2)]

    assert [(r.ambiguous, r.unsent) for r in results] == [(1, 0)] * 2
    assert proxy.counts["POST"] == 1
    assert results[0].frame["candidates"].dropna().tolist() == ["1"]


@pytest.mark.case("P42")
def test_one_id_is_the_answer_to_one_row(fast: Sandbox, tmp_path: Path) -> None:
    """
    A service that answers two rows with one animal has created one: the second row is unknown.
    """
    path = csv(tmp_path / "pets.csv", "Rex,3", "Rex,3")
    same = reply(201, b'{"id":7,"name":"Rex","categoryId":3}')
    with FaultProxy(fast.base_url, lambda method, n: same if method == "POST" else "pass") as proxy:
        store = fast.connect(base_url=proxy.base_url)
        result = store.import_pets(path)

    assert (result.created, result.ambiguous) == (1, 1)


@pytest.mark.case("P34")
def test_a_decision_needs_one_row_of_that_number(fast: Sandbox, tmp_path: Path) -> None:
    """Two unknown rows bear it, one of them in the file: that one is meant."""
    path = csv(tmp_path / "pets.csv", "Ann,1")
    with FaultProxy(
        fast.base_url, lambda method, n: "drop after" if method == "POST" else "pass"
    ) as proxy:
        store = fast.connect(base_url=proxy.base_url)
        store.client.max_wait_s = 0.0
        store.import_pets(path)
        store.import_pets(csv(path, "Zoe,5"))
        folder = store.journals
        lookup.decide(store.client, folder, list_journals(folder)[0][0], 2, 2)
        result = store.import_pets(path)

    assert result.frame["id"].tolist() == [2]
    with pytest.raises(JournalError, match="not unknown"):
        lookup.decide(store.client, folder, list_journals(folder)[0][0], 9, 2)


def test_an_inventory_that_was_too_long_to_compare_is_said(fast: Sandbox, tmp_path: Path) -> None:
    """Five rows are worth five requests, 1,200 animals take twelve: what exists was not noticed."""
    fast.add([(f"Old {n}", 1, None) for n in range(1_200)])

    result = fast.store.import_pets(csv(tmp_path / "pets.csv", *(f"Old {n},1" for n in range(5))))

    assert (result.created, result.not_compared) == (5, True)
    assert "rows were not compared with the animals that existed" in str(result)


def test_skipped_rows_are_good_ones(fast: Sandbox, tmp_path: Path) -> None:
    """Two of four have problems, two are left out as asked: that is no wrong mapping."""
    path = csv(tmp_path / "pets.csv", "Rex,1", "Mia,1", "Tom,x", "Zoe,y")
    for name in ("Rex", "Mia"):
        fast.store.create_pet(name, category_id=1)

    result = fast.store.import_pets(path, existing="skip")

    assert (result.created, result.rejected, result.skipped) == (0, 2, 2)
