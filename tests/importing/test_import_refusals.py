"""Rows and requests that the service refuses, a service that fails, and files that are refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from inventories import ROWS, existing, expected, on_plan, through
from proxy import FaultProxy, reply

from petstore_tools import Sandbox
from petstore_tools.errors import ApiError, JournalError, SheetError, UnauthorizedError
from petstore_tools.http import client as backoff
from petstore_tools.importing.journal import open_journal
from petstore_tools.importing.matching import merge
from petstore_tools.importing.run_lock import Target
from petstore_tools.plans import Plan
from petstore_tools.sandbox import samples


@pytest.mark.case("P38")
@pytest.mark.parametrize("bad", [0, 2, 9])
def test_one_bad_row_of_ten_shifts_nothing(fast: Sandbox, tmp_path: Path, bad: int) -> None:
    """The first, the third or the last row is wrong: the outcomes of all ten are exact."""
    animals = samples.animals(10)
    lines = [
        f"{name},{'cats' if n == bad else category},{status or ''}"
        for n, (name, category, status) in enumerate(animals)
    ]
    path = tmp_path / "ten.csv"
    path.write_text("\n".join(["name,categoryId,status", *lines]), encoding="utf-8")

    result = fast.store.import_pets(path)

    outcomes = result.frame
    assert outcomes["outcome"].tolist() == [
        "rejected" if n == bad else "created" for n in range(10)
    ]
    assert outcomes["row"].tolist() == list(range(2, 12))
    whole = fast.store.list_pets().set_index("id")["name"]
    for n, pet_id in enumerate(outcomes["id"]):
        if n != bad:
            assert whole[pet_id] == animals[n][0]


@pytest.mark.case("P38")
@pytest.mark.parametrize("bad", [1, 5, 10])
def test_a_row_the_service_refuses_shifts_nothing_either(
    fast: Sandbox, tmp_path: Path, bad: int
) -> None:
    """A 400 for the n-th request is the outcome of the n-th row."""
    path = tmp_path / "ten.csv"
    path.write_text(samples.animals_csv(10), encoding="utf-8")
    refusal = reply(400, b'{"code":"invalid_body","message":"no","status":400}')
    with FaultProxy(
        fast.base_url, lambda method, n: refusal if (method, n) == ("POST", bad) else "pass"
    ) as proxy:
        store = through(fast, proxy)
        result = on_plan(store, Plan(60, 100_000)).import_pets(path, wait=True)

    assert result.frame["outcome"].tolist() == [
        "rejected" if n == bad else "created" for n in range(1, 11)
    ]
    assert existing(fast) == expected(10) - Counter([samples.animals(10)[bad - 1]])


@pytest.mark.case("P39")
def test_a_refused_key_stops_an_import_after_one_request(fast: Sandbox, file: Path) -> None:
    """401: one request, nothing marked, and the same file goes on with a good key."""
    with FaultProxy(fast.base_url, lambda method, n: reply(401)) as proxy:
        store = through(fast, proxy)
        with pytest.raises(UnauthorizedError):
            store.import_pets(file)
        assert proxy.counts == {"GET": 1}

    result = store.preview_import(file)
    assert (result.to_send, result.unknown) == (ROWS, 0)


@pytest.mark.case("P39a")
@pytest.mark.parametrize("blind", [False, True])
def test_a_service_that_answers_500_to_all_costs_a_handful_of_rows(
    fast: Sandbox, tmp_path: Path, blind: bool
) -> None:
    """
    Of 5,000 rows at most connections + 3 are lost; it stops, and where it can list, all are unsent.
    """
    path = tmp_path / "many.csv"
    path.write_text(samples.animals_csv(5_000), encoding="utf-8")
    fails = reply(500)
    with FaultProxy(
        fast.base_url, lambda method, n: fails if method == "POST" or (blind and n > 1) else "pass"
    ) as proxy:
        result = through(fast, proxy).import_pets(path)

    assert result.stopped is not None
    assert result.stopped.kind == "service"
    assert 3 <= proxy.counts["POST"] <= 16 + 3
    assert result.unknown == (proxy.counts["POST"] if blind else 0)
    assert proxy.counts["GET"] == 1 + (
        backoff.ATTEMPTS if blind else 1
    )  # the baseline, the listing after
    assert result.unsent == 5_000 - result.unknown


@pytest.mark.case("P39a")
@pytest.mark.parametrize("status", [404, 405])
def test_a_service_without_the_operation_stops_after_the_first_request(
    fast: Sandbox, file: Path, status: int
) -> None:
    """The request is wrong, not the row: nothing is unknown."""
    with FaultProxy(fast.base_url, lambda method, n: reply(status)) as proxy:
        store = through(fast, proxy)
        with pytest.raises(ApiError):
            store.import_pets(file)
        assert sum(proxy.counts.values()) == 1

    preview = store.preview_import(file)
    assert (preview.to_send, preview.unknown) == (ROWS, 0)


@pytest.mark.case("P39a")
@pytest.mark.parametrize("base_url", ["http://127.0.0.1:1/v1", "http://nowhere.invalid/v1"])
@pytest.mark.filterwarnings("ignore:the key is sent unencrypted")
def test_a_closed_port_or_an_unknown_host_makes_nothing_unknown(
    fast: Sandbox, file: Path, base_url: str
) -> None:
    """It is proven that nothing left: all rows stay unsent."""
    store = fast.connect(base_url=base_url)

    result = store.import_pets(file)

    assert result.stopped is not None
    assert (result.stopped.kind, result.unknown, result.unsent) == ("service", 0, ROWS)


def test_strict_sends_nothing_while_a_row_has_a_problem(fast: Sandbox, tmp_path: Path) -> None:
    """Without it the good rows go."""
    path = tmp_path / "pets.csv"
    path.write_text("name,categoryId\nRex,3\nMia,4\nMax,cats\n")
    with pytest.raises(SheetError, match="strict"):
        fast.store.import_pets(path, strict=True)
    assert fast.store.client.sent == 0

    path.write_text("name,categoryId\nRex,3\nMia,x\nMax,cats\n")
    assert fast.store.import_pets(path).created == 1


@pytest.mark.case("P37")
@pytest.mark.parametrize("harm", ["empty", "gone", "headless"])
def test_a_harmed_journal_is_refused_and_never_taken_for_new(
    fast: Sandbox, file: Path, harm: str
) -> None:
    """Truncated to nothing, vanished, or overwritten: nothing is sent."""
    fast.store.import_pets(file)
    journal = next((fast.store.journals).glob("*.db"))
    for side in journal.parent.glob("*.db-*"):
        side.unlink()
    if harm == "gone":
        journal.unlink()
    else:
        journal.write_bytes(b"" if harm == "empty" else b"\0" * 8_192)
    sent = fast.store.client.sent

    with pytest.raises(JournalError):
        fast.store.import_pets(file)

    assert fast.store.client.sent == sent
    assert existing(fast) == expected()


@pytest.mark.case("P37")
def test_a_fault_of_the_journals_file_is_an_error_of_ours(tmp_path: Path) -> None:
    """A full disk, a file gone bad: named as the journal's, whatever the call."""
    target = Target("sandbox", "http://127.0.0.1/v1", tmp_path / "pets.csv")
    with open_journal(tmp_path / "imports", target, now=0.0) as journal:
        journal.add_rows(merge([], []), now=0.0)
        assert journal._db is not None
        journal._db.close()

        for call in (
            journal.entries,
            lambda: journal.mark_lost(now=0.0),
            lambda: journal.add_rows(merge([], []), now=0.0),
        ):
            with pytest.raises(JournalError, match="cannot be used"):
                call()
