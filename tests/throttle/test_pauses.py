"""A 503 that names a time: all who share the budget keep it."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

import pytest
from proxy import Fate, FaultProxy, reply

from petstore_tools import PetStore, Sandbox
from petstore_tools.errors import ApiError, QuotaError


class Pausing:
    """A service that answers 503 to its first requests, and the times at which requests came."""

    def __init__(self, box: Sandbox) -> None:
        self.box = box
        self.answers = []
        self.came_at = []
        self.proxy = FaultProxy(box.base_url, self._fate)

    def _fate(self, method: str, number: int) -> Fate:
        self.came_at.append(self.box.clock.now())
        return self.answers.pop(0) if self.answers else "pass"

    def store(self) -> PetStore:
        """Return a further client on the same budget."""
        settings = dataclasses.replace(self.box.store.settings, base_url=self.proxy.base_url)
        return PetStore.from_settings(settings, clock=self.box.clock)


@pytest.fixture
def service() -> Iterator[Pausing]:
    with Sandbox(plan="60/1000", animals=1) as box:
        pausing = Pausing(box)
        with pausing.proxy:
            yield pausing


def date(at: float) -> str:
    return format_datetime(datetime.fromtimestamp(at, UTC), usegmt=True)


@pytest.mark.case("P72")
@pytest.mark.parametrize(
    ("said", "least_s", "most_s"),
    [
        ("20", 20, 22),
        ("1.5", 1.5, 4),
        ("date", 40, 42),
        ("0", 0, 2),
        ("1000000000", 300, 302),
        ("a date in 2100", 300, 302),
        ("soon", 0, 2),
        ("-5", 0, 2),
    ],
)
def test_a_503_is_asked_again_when_it_said(
    service: Pausing, said: str, least_s: float, most_s: float
) -> None:
    """
    Seconds, a date, or at most five minutes; nonsense is a failure like any other, under backoff.
    """
    now = service.box.clock.now()
    text = {"date": date(now + 40), "a date in 2100": date(4_102_444_800)}.get(said, said)
    service.answers = [reply(503, Retry_After=text, Date=date(now))]
    with service.store() as store:
        assert len(store.list_pets(wait=True)) == 1

    first, second = service.came_at
    assert least_s <= second - first <= most_s


@pytest.mark.case("P72")
def test_a_service_that_pauses_every_time_costs_five_requests_over_minutes(
    service: Pausing,
) -> None:
    """Not five of the day within seconds: each waits for the time that was named."""
    service.answers = [reply(503, Retry_After="60") for _ in range(9)]
    with service.store() as store, pytest.raises(ApiError, match="503"):
        store.list_pets(wait=True)

    assert len(service.came_at) == 5
    assert service.came_at[-1] - service.came_at[0] >= 240


@pytest.mark.case("P72")
def test_whoever_shares_the_budget_keeps_the_pause(service: Pausing) -> None:
    """A create of one process is answered 503: a listing of another waits, and says until when."""
    service.answers = [reply(503, Retry_After="200")]
    with service.store() as one, service.store() as two:
        with pytest.raises(ApiError, match="503"):
            one.create_pet("Rex", category_id=3)
        began_at = service.box.clock.now()

        with pytest.raises(
            QuotaError, match=r"the service asked for a pause \(503\)\. Run the same call"
        ) as caught:
            two.list_pets()

        assert caught.value.resumes_at == pytest.approx(began_at + 200, abs=1)
        blocked_until = two.quota().blocked_until
        assert blocked_until == pytest.approx(began_at + 200, abs=1)
        assert len(service.came_at) == 1
        assert len(two.list_pets(wait=True)) == 1
        assert service.came_at[1] >= began_at + 200


@pytest.mark.case("P17")
def test_a_clock_set_back_while_a_request_is_blocked_makes_the_wait_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By an hour: a Retry-After of 1 s is over in under three by a stopwatch."""
    answers = [reply(429, Retry_After="1"), reply(200, b"[]")]
    real = time.time
    back_s = [0.0]
    monkeypatch.setattr(time, "time", lambda: real() - back_s[0])

    def fate(method: str, number: int) -> Fate:
        if number == 1:
            threading.Timer(0.5, lambda: back_s.__setitem__(0, 3_600.0)).start()
        return answers.pop(0)

    with (
        FaultProxy("http://127.0.0.1:1/v1", fate) as proxy,
        PetStore(base_url=proxy.base_url, api_key="k", plan="pro", state_dir=tmp_path) as store,
    ):
        began_at = time.monotonic()
        assert store.client.call("GET", f"{proxy.base_url}/pets").status == 200
        took_s = time.monotonic() - began_at

    assert back_s == [3_600.0]
    assert 1.5 <= took_s < 3
