"""The throttle on sessions of other projects."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
import requests
from proxy import Fate, FaultProxy, reply

from petstore_tools import PetStore, Plan, Sandbox
from petstore_tools.errors import QuotaError
from petstore_tools.http.requests_adapter import ThrottleAdapter


def session_of(box: Sandbox, *, wait: bool = True) -> requests.Session:
    """
    Return a session as any project would make it, throttled, on the sandbox's clock and ledger.
    """
    session = requests.Session()
    session.headers["Authorization"] = f"Bearer {box.api_key}"
    adapter = ThrottleAdapter(
        base_url=box.base_url,
        api_key=box.api_key,
        plan="60/1000",
        state_dir=box.store.settings.state_dir,
        wait=wait,
        clock=box.clock,
    )
    session.mount(box.base_url, adapter)
    return session


def test_a_session_of_another_project_meets_no_429() -> None:
    """150 requests of four threads at 60 a minute: three windows, all 200."""
    statuses: Counter[int] = Counter()
    with Sandbox(plan="60/1000", animals=1) as box, session_of(box) as session:
        before = box.clock.now()

        def read() -> None:
            for _ in range(38):
                statuses[session.get(f"{box.base_url}/pets", timeout=5).status_code] += 1

        with box.clock.working():
            threads = [threading.Thread(target=read) for _ in range(4)]
            for thread in threads:
                thread.start()
        for thread in threads:
            thread.join(60)
        took_s = box.clock.now() - before

    assert statuses == {200: 152}
    assert 120 <= took_s <= 180


def test_it_shares_its_budget_with_the_store() -> None:
    """What the session spent, the store knows."""
    with Sandbox(plan="60/1000", animals=1) as box, session_of(box) as session:
        for _ in range(7):
            session.get(f"{box.base_url}/pets", timeout=5)

        assert box.store.quota().minute.left == 53


@pytest.mark.case("P14")
def test_a_429_blocks_the_session_and_the_store() -> None:
    """Another program has used the minute up: one refusal, and nothing is sent before its end."""
    with Sandbox(plan="10/1000", animals=1) as box, session_of(box, wait=False) as session:
        other_program = {"Authorization": f"Bearer {box.api_key}"}
        for _ in range(10):
            requests.get(f"{box.base_url}/pets", headers=other_program, timeout=5)
        assert session.get(f"{box.base_url}/pets", timeout=5).status_code == 429
        box.store.client.gate._max_wait_s = 0.0

        with pytest.raises(QuotaError, match="answered 429"):
            box.store.list_pets()
        box.advance(minutes=2)

        assert len(box.store.list_pets()) == 1


def test_a_store_on_a_throttled_session_counts_each_request_once() -> None:
    """
    Both would count; the store goes past the adapter, and the session's own requests still count.
    """
    with Sandbox(plan="60/1000", animals=1, clock="system") as box, session_of(box) as session:
        given = {
            "base_url": box.base_url,
            "api_key": box.api_key,
            "plan": "60/1000",
            "session": session,
        }
        with PetStore(**given, state_dir=box.state_dir) as store:  # type: ignore[arg-type]
            for _ in range(7):
                store.client.call("GET", f"{box.base_url}/pets")
            session.get(f"{box.base_url}/pets", timeout=5)

            assert store.quota().day.here == 8 == len(box.traffic())


def test_it_never_retries_by_itself() -> None:
    """Every attempt asks."""
    adapter = ThrottleAdapter(base_url="https://x/v1", api_key="k", ledger="memory")

    assert adapter.max_retries.total == 0


CROWD = """
import sys, threading, time
import requests
from petstore_tools.http.requests_adapter import ThrottleAdapter
base_url, key, folder, until = sys.argv[1:]
session = requests.Session()
session.headers["Authorization"] = f"Bearer {key}"
adapter = ThrottleAdapter(base_url=base_url, api_key=key, plan="100000/1000000", state_dir=folder, wait=True)
session.mount("http://", adapter)
def want():
    while time.time() < float(until):
        session.get(f"{base_url}/pets", timeout=5)
        time.sleep(0.01)
threads = [threading.Thread(target=want) for _ in range(4)]
print("ready", flush=True)
sys.stdin.readline()
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@pytest.mark.case("P14")
def test_after_one_429_no_thread_of_two_processes_sends_before_its_time(tmp_path: Path) -> None:
    """
    Eight threads in two real processes: what was under way arrives, then nothing for two seconds.
    """
    arrivals: list[float] = []
    refused_at: list[float] = []

    def fate(method: str, n: int) -> Fate:
        arrivals.append(time.time())
        if n != 60:
            return "pass"
        refused_at.append(time.time())
        return reply(429, Retry_After="2")

    with (
        Sandbox(plan=Plan(100_000, 1_000_000), clock="system", animals=1) as box,
        FaultProxy(box.base_url, fate) as proxy,
    ):
        arguments = [proxy.base_url, box.api_key, str(tmp_path), str(time.time() + 6)]
        crowd = [
            subprocess.Popen(
                [sys.executable, "-c", CROWD, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            for _ in range(2)
        ]
        for process in crowd:
            assert process.stdout is not None
            process.stdout.readline()
        for process in crowd:
            assert process.stdin is not None
            process.stdin.write(b"go\n")
            process.stdin.flush()
        for process in crowd:
            process.communicate(timeout=30)

    (closed,) = refused_at
    too_early = [at - closed for at in arrivals if 0.3 < at - closed < 2]
    assert too_early == []
    assert sum(at > closed + 2 for at in arrivals) > 20
    assert sum(closed < at <= closed + 0.3 for at in arrivals) <= 8
