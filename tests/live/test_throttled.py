"""The throttle on sessions of other projects."""

from __future__ import annotations

import threading
from collections import Counter

import pytest
import requests

from petstore_tools import Sandbox
from petstore_tools.errors import QuotaError
from petstore_tools.throttled import ThrottleAdapter


def session_of(box: Sandbox, *, wait: bool = True) -> requests.Session:
    """Return a session as any project would make it, throttled, on the sandbox's clock and ledger."""
    session = requests.Session()
    session.headers["Authorization"] = f"Bearer {box.api_key}"
    adapter = ThrottleAdapter(
        base_url=box.base_url,
        api_key=box.api_key,
        plan="60/1000",
        state_dir=box.store._settings.state_dir,
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
def test_a_429_closes_the_door_for_the_session_and_the_store() -> None:
    """A stranger has used the minute up: one refusal, and nobody knocks again before its end."""
    with Sandbox(plan="10/1000", animals=1) as box, session_of(box, wait=False) as session:
        stranger = {"Authorization": f"Bearer {box.api_key}"}
        for _ in range(10):
            requests.get(f"{box.base_url}/pets", headers=stranger, timeout=5)
        assert session.get(f"{box.base_url}/pets", timeout=5).status_code == 429
        box.store._client.admission._max_wait_s = 0.0

        with pytest.raises(QuotaError, match="refused a request"):
            box.store.list_pets()
        box.advance(minutes=2)

        assert len(box.store.list_pets()) == 1


def test_it_never_retries_by_itself() -> None:
    """Every attempt asks."""
    adapter = ThrottleAdapter(base_url="https://x/v1", api_key="k", ledger="memory")

    assert adapter.max_retries.total == 0
