"""The throttle against the real service, with a manual clock and real ledger files."""

import sqlite3
import threading
from pathlib import Path

import pytest

from petstore_tools import PetStore, Sandbox
from petstore_tools.errors import LedgerError
from petstore_tools.http.client import CallOptions
from petstore_tools.http.transport import Reply
from petstore_tools.plans import Plan
from petstore_tools.sandbox import samples
from petstore_tools.throttle.throttle import Throttle


@pytest.mark.case("P13", "P60")
def test_200_reads_at_60_a_minute_meet_no_429_and_no_idle_window() -> None:
    """Four windows; the best possible time is 180 s, and one window more is allowed."""
    with Sandbox(plan="free", animals=1) as box:
        client = box.store.client
        statuses: list[int] = []
        attempt = client.attempt

        def watched(*args: object, **more: object) -> Reply:
            reply: Reply = attempt(*args, **more)  # type: ignore[arg-type]
            statuses.append(reply.status)
            return reply

        client.attempt = watched  # type: ignore[method-assign]
        before = box.clock.now()
        for _ in range(200):
            client.call("GET", f"{box.base_url}/pets?limit=1", call_options=CallOptions(wait=True))
        took_s = box.clock.now() - before

    assert statuses == [200] * 200
    assert 180 <= took_s <= 240


@pytest.mark.case("P23")
def test_a_restart_in_the_middle_of_the_day_forgets_nothing() -> None:
    """A new store on the same ledger knows what the day has left, without a request."""
    with Sandbox(plan="60/100", animals=1) as box:
        for _ in range(70):
            box.store.client.call(
                "GET", f"{box.base_url}/pets", call_options=CallOptions(wait=True)
            )
        box.store.close()

        again = box.connect()
        quota = again.quota()

        assert (quota.day.left, again.client.sent) == (30, 0)
        again.close()


@pytest.mark.case("P25")
def test_two_keys_and_two_addresses_do_not_share_a_budget_and_no_key_is_on_disk(
    tmp_path: Path,
) -> None:
    """One state folder, three budgets; no file name or content holds a key."""
    settings = [
        ("https://a/v1", "psk_one"),
        ("https://a/v1", "psk_two"),
        ("https://b/v1", "psk_one"),
    ]
    stores = [
        PetStore(base_url=url, api_key=key, plan="free", state_dir=tmp_path)
        for url, key in settings
    ]
    for granted, store in enumerate(stores, start=1):
        for _ in range(granted):
            store.client.ledger.update(
                lambda budget: Throttle(Plan(60, 1_000), budget).ask(1_800_000_000.0)
            )
            store.client.ledger.update(lambda budget: setattr(budget, "needs_probe", False))

    flying = [store.client.ledger.update(lambda budget: len(budget.in_flight)) for store in stores]

    assert flying == [1, 2, 3]
    on_disk = b"".join(p.name.encode() + p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())
    assert b"psk_" not in on_disk
    assert (tmp_path / "budget.db").stat().st_mode & 0o077 == 0
    for store in stores:
        store.close()


@pytest.mark.case("P24")
@pytest.mark.parametrize("harm", ["not a database", "bad state", "a folder"])
def test_a_ledger_that_cannot_be_used_is_an_error_before_any_request(harm: str) -> None:
    """Never unlimited speed: nothing is sent, and the message says what helps."""
    with Sandbox(animals=1) as box:
        path = box.store.settings.state_dir / "budget.db"
        path.parent.mkdir(parents=True)
        if harm == "not a database":
            path.write_bytes(b"x" * 5_000)
        elif harm == "a folder":
            path.mkdir()
        else:
            box.store.list_pets()
            with sqlite3.connect(path) as db:
                db.execute("UPDATE key_budget SET state = '{'")
            db.close()
        sent = box.store.client.sent

        with pytest.raises(LedgerError, match='ledger="memory"'):
            box.store.list_pets()

        assert box.store.client.sent == sent


@pytest.mark.case("P30")
def test_progress_is_called_from_the_callers_thread_and_nothing_is_printed_from_others(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Worker threads neither print nor call back: notebook outputs repeat."""
    path = tmp_path / "animals.csv"
    path.write_text(samples.animals_csv(50), encoding="utf-8")
    threads: set[int] = set()
    with Sandbox(plan=Plan(100_000, 1_000_000), animals=0) as box:
        preview = box.store.preview_import(path)
        result = box.store.import_pets(
            path, progress=lambda progress: threads.add(threading.get_ident())
        )

    assert result.complete
    assert threads == {threading.get_ident()}
    assert capfd.readouterr() == (f"{preview}\n", "")


def test_a_budget_of_this_process_alone_says_so() -> None:
    """The fallback is named where people look."""
    store = PetStore(base_url="https://a/v1", api_key="k", plan="free", ledger="memory")

    assert "this process only" in store.quota().to_text()
