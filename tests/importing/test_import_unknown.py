"""Rows whose answer was lost, at services that give a default status, and beside duplicates."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest
from inventories import existing, through
from proxy import Fate, FaultProxy

from petstore_tools import Sandbox
from petstore_tools.errors import SheetError


class DefaultingProxy(FaultProxy):
    """
    A service that gives a status to animals that were created without one; the document states
    none.
    """

    default = "available"

    def _ask(self, request: bytes) -> bytes:
        head, _, body = request.partition(b"\r\n\r\n")
        if head.startswith(b"POST"):
            body = json.dumps({"status": self.default} | json.loads(body)).encode()
            lines = [
                line
                for line in head.split(b"\r\n")
                if not line.lower().startswith(b"content-length")
            ]
            head = b"\r\n".join([*lines, b"Content-Length: %d" % len(body)])
        return super()._ask(head + b"\r\n\r\n" + body)


def thirty(path: Path) -> Path:
    path.write_text("name,categoryId\n" + "".join(f"Pet {n},{n % 7}\n" for n in range(30)))
    return path


@pytest.mark.case("P31")
def test_rows_without_a_status_are_found_at_a_service_that_gives_one(
    fast: Sandbox, tmp_path: Path
) -> None:
    """
    Seven of thirty answers are lost, some before and some after the commit: none stays unknown.
    """
    lost: dict[int, Fate] = {n: "drop after" if n % 2 else "drop before" for n in range(3, 30, 4)}
    with DefaultingProxy(
        fast.base_url, lambda method, n: lost.get(n, "pass") if method == "POST" else "pass"
    ) as proxy:
        result = through(fast, proxy).import_pets(thirty(tmp_path / "pets.csv"))

    assert (result.created, result.unknown) == (30, 0)
    assert existing(fast) == {(f"Pet {n}", n % 7, "available"): 1 for n in range(30)}


@pytest.mark.case("P31")
def test_until_the_default_is_known_an_animal_of_another_status_is_for_a_person(
    fast: Sandbox, tmp_path: Path
) -> None:
    """The only row's answer is lost: the animal with a status may be it, or another."""
    path = tmp_path / "one.csv"
    path.write_text("name,categoryId\nRex,3\n")
    with DefaultingProxy(
        fast.base_url, lambda method, n: "drop after" if (method, n) == ("POST", 1) else "pass"
    ) as proxy:
        result = through(fast, proxy).import_pets(path)

    assert (result.created, result.ambiguous, existing(fast).total()) == (0, 1, 1)


@pytest.mark.case("P35")
def test_a_second_machine_recognises_animals_that_the_service_gave_a_status(
    fast: Sandbox, tmp_path: Path
) -> None:
    """
    It has no journal: the listing before the first create shows each row's animal, so it asks.
    """
    path = thirty(tmp_path / "pets.csv")
    with DefaultingProxy(fast.base_url, lambda method, n: "pass") as proxy:
        through(fast, proxy).import_pets(path)
        elsewhere = through(fast, proxy, state=tmp_path / "other machine")
        with pytest.raises(SheetError, match="30 of 30 rows"):
            elsewhere.import_pets(path)
        skipped = elsewhere.import_pets(path, existing="skip")

    assert (skipped.created_now, skipped.skipped) == (0, 30)
    assert existing(fast).total() == 30


@pytest.mark.case("P34")
@pytest.mark.parametrize("seed", range(6))
def test_a_shuffled_file_with_duplicates_goes_on_beside_rows_that_a_person_must_decide(
    fast: Sandbox, tmp_path: Path, seed: int
) -> None:
    """
    Equal rows are lost one after the other, some committed: they are named, and all others are
    sent.
    """
    rng = random.Random(seed)
    rows = [f"{name},{rng.randint(1, 2)}" for name in ("Rex", "Mia") for _ in range(6)]
    rows += [f"Pet {n},3" for n in range(20)]
    path = tmp_path / "pets.csv"
    path.write_text("\n".join(["name,categoryId", *rows, ""]))
    lost: dict[int, Fate] = {n: rng.choice(["drop after", "drop before"]) for n in range(2, 11)}
    with FaultProxy(
        fast.base_url, lambda method, n: lost.get(n, "pass") if method == "POST" else "pass"
    ) as proxy:
        store = through(fast, proxy)
        store.import_pets(path)
        rng.shuffle(rows)
        path.write_text("\n".join(["name,categoryId", *rows, ""]))
        result = store.import_pets(path)

    assert (result.unsent, result.stopped) == (0, None)
    assert result.created + result.ambiguous == 32
    assert not existing(fast) - Counter((r.split(",")[0], int(r.split(",")[1]), None) for r in rows)


@pytest.mark.case("P34")
def test_three_equal_rows_that_are_lost_first_do_not_end_the_import(
    fast: Sandbox, tmp_path: Path
) -> None:
    """
    The service is well again at once: the three are named, and the other twenty go in the same
    call.
    """
    path = tmp_path / "pets.csv"
    path.write_text(
        "name,categoryId\n" + "Mia,4\n" * 3 + "".join(f"Pet {n},3\n" for n in range(20))
    )
    lost: dict[int, Fate] = {1: "drop after", 2: "drop before", 3: "drop before"}
    with FaultProxy(
        fast.base_url, lambda method, n: lost.get(n, "pass") if method == "POST" else "pass"
    ) as proxy:
        result = through(fast, proxy).import_pets(path)

    assert (result.created, result.ambiguous, result.unsent, result.stopped) == (20, 3, 0, None)


@pytest.mark.case("P33")
def test_a_reconcile_delay_that_is_longer_than_a_cell_waits_is_said(
    fast: Sandbox, tmp_path: Path
) -> None:
    """Ten minutes: the result says from when on the same call finds out, and how to wait for it."""
    with FaultProxy(
        fast.base_url, lambda method, n: "drop after" if (method, n) == ("POST", 5) else "pass"
    ) as proxy:
        store = through(fast, proxy)
        store.client.reconcile_after_s = 600
        first = store.import_pets(thirty(tmp_path / "pets.csv"))
        second = store.import_pets(tmp_path / "pets.csv", wait=True)

    assert first.stopped is not None
    assert (first.stopped.kind, first.unknown) == ("unknown rows", 1)
    assert "run the same call again then, or pass wait=True" in str(first)
    assert second.complete


def test_the_baseline_counts_the_requests_that_it_spends(fast: Sandbox, tmp_path: Path) -> None:
    """Thirty rows are worth ten requests, answers of 500 that are asked again among them."""
    fast.add([(f"Old {n}", 1, None) for n in range(900)])
    sick = b"HTTP/1.1 500 X\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
    with FaultProxy(
        fast.base_url, lambda method, n: sick if method == "GET" and n % 2 else "pass"
    ) as proxy:
        result = through(fast, proxy).import_pets(thirty(tmp_path / "pets.csv"))

    assert (result.created, proxy.counts["GET"], result.requests) == (30, 10, 40)


def test_a_failure_of_the_last_request_of_the_baseline_ends_the_baseline_alone(
    fast: Sandbox, tmp_path: Path
) -> None:
    """It is as if the inventory were too long to list: the import goes on without."""
    fast.add([(f"Old {n}", 1, None) for n in range(1_200)])
    sick = b"HTTP/1.1 500 X\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
    with FaultProxy(
        fast.base_url, lambda method, n: sick if (method, n) == ("GET", 10) else "pass"
    ) as proxy:
        result = through(fast, proxy).import_pets(thirty(tmp_path / "pets.csv"))

    assert (result.created, result.stopped) == (30, None)


def test_an_import_counts_its_own_requests(fast: Sandbox, tmp_path: Path) -> None:
    """What the same store is asked for meanwhile is not the import's."""

    def meanwhile(progress: object) -> None:
        fast.store.list_pets()

    result = fast.store.import_pets(thirty(tmp_path / "pets.csv"), progress=meanwhile)

    assert result.requests == 31
