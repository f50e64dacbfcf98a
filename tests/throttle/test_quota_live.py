"""The throttle against the real service, with a manual clock and real ledger files."""

import multiprocessing
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from harms import damage
from proxy import FaultProxy
from raw import reply_bytes
from tables import read_table
from wires import BASE, KEY

from petstore_tools import PetStore, Sandbox
from petstore_tools.errors import LedgerError
from petstore_tools.http.client import CallOptions
from petstore_tools.plans import Plan
from petstore_tools.sandbox import samples
from petstore_tools.throttle.ledger import SqliteLedger, subject


def test_200_reads_at_60_a_minute_meet_no_429_and_no_idle_window():
    """Four windows; the best possible time is 180 s, and one window more is allowed."""
    with Sandbox(plan="free", animals=1) as box:
        client = box.store.client
        before = box.clock.now()
        url = f"{box.base_url}/pets?limit=1"
        for _ in range(200):
            client.call("GET", url, call_options=CallOptions(wait=True))
        took_s = box.clock.now() - before

    assert client.sent == 200  # a refused one would be sent again
    assert 180 <= took_s <= 240


def _read_four_times(base_url, folder):
    """Be one process of four threads."""
    store = PetStore(base_url=base_url, api_key="k", plan="free", state_dir=folder)
    with store, ThreadPoolExecutor(4) as threads:
        url = f"{base_url}/pets"
        replies = threads.map(lambda _: store.client.call("GET", url), range(4))
        assert [reply.status for reply in replies] == [200] * 4


def test_two_processes_of_four_threads_keep_one_retry_after(tmp_path):
    """
    The first request of all is refused for two seconds: nobody else sends before they
    are over.
    """
    came_at = []

    def fate(method, number):
        came_at.append(time.monotonic())
        if number == 1:
            return reply_bytes(429, Retry_After="2")
        return reply_bytes(200, b"[]")

    context = multiprocessing.get_context("spawn")
    with FaultProxy("http://127.0.0.1:1/v1", fate) as proxy:
        args = (proxy.base_url, tmp_path)
        processes = [
            context.Process(target=_read_four_times, args=args) for _ in range(2)
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join(120)

    assert [process.exitcode for process in processes] == [0, 0]
    assert len(came_at) == 9
    assert came_at[1] - came_at[0] >= 2


def test_two_keys_and_two_addresses_do_not_share_a_budget_and_no_key_is_on_disk(
    tmp_path,
):
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
    ledgers = [store.client.ledger for store in stores]
    for number, ledger in enumerate(ledgers):
        ledger.update(lambda budget, number=number: setattr(budget, "grants", number))

    grants = [ledger.update(lambda budget: budget.grants) for ledger in ledgers]

    assert grants == [0, 1, 2]
    for path in filter(Path.is_file, tmp_path.rglob("*")):
        assert b"psk_" not in path.name.encode() + path.read_bytes()
    assert (tmp_path / "budget.db").stat().st_mode & 0o077 == 0
    for store in stores:
        store.close()


@pytest.mark.parametrize(("harm", "reason"), read_table(__file__, "harms.json"))
def test_a_ledger_that_cannot_be_used_is_an_error_before_any_request(
    harm, reason, tmp_path
):
    """
    Never unlimited speed: nothing is sent, the message says why and what helps, and the
    file stays as it is.
    """
    path = tmp_path / "budget.db"
    with closing(SqliteLedger(path, subject(BASE, KEY))) as ledger:
        ledger.update(lambda budget: None)
    damage(path, harm)
    content = b"" if path.is_dir() else path.read_bytes()
    with PetStore(base_url=BASE, api_key=KEY, plan="free", state_dir=tmp_path) as store:
        with pytest.raises(
            LedgerError, match="Without it no request is sent"
        ) as raised:
            store.list_pets()

        assert reason in str(raised.value)
        assert store.client.sent == 0
    assert path.is_dir() or path.read_bytes() == content


def test_progress_is_called_from_the_callers_thread_and_nothing_is_printed_from_others(
    tmp_path, capfd
):
    """Worker threads neither print nor call back: notebook outputs repeat."""
    path = tmp_path / "animals.csv"
    path.write_text(samples.animals_csv(50), "utf-8")
    threads = set()
    with Sandbox(plan=Plan(100_000, 1_000_000), animals=0) as box:
        preview = box.store.preview_import(path)
        result = box.store.import_pets(
            path, progress=lambda progress: threads.add(threading.get_ident())
        )

    assert result.created == result.rows
    assert threads == {threading.get_ident()}
    assert capfd.readouterr() == (f"{preview}\n", "")
