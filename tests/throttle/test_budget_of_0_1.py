"""Budgets and settings that version 0.1 wrote are gone on with."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
import responses
from pydantic import SecretStr

from petstore_tools import PetStore, Plan
from petstore_tools.clock import ManualClock
from petstore_tools.errors import KeyBannedError, QuotaError
from petstore_tools.settings import Settings

OLD = Path(__file__).parents[1] / "fixtures" / "0.1"
BASE, T0 = "https://pets.example/v1", 1_767_603_600.0
FREE = Plan(60, 1_000, "free")
PETS = f"{BASE}/pets"

pytestmark = pytest.mark.case("P74")


@pytest.fixture
def opened(tmp_path: Path) -> Callable[..., PetStore]:
    """Opens the budget of a key, so many seconds after 0.1 used it last."""
    shutil.copy(OLD / "budget" / "budget.db", tmp_path)

    def open_store(key: str, plan: Plan | None = FREE, *, later_s: float = 1.0) -> PetStore:
        return PetStore.from_settings(
            Settings(BASE, "production", SecretStr(key), plan, tmp_path),
            clock=ManualClock(T0 + later_s),
        )

    return open_store


@responses.activate
def test_what_0_1_spent_is_spent(opened: Callable[..., PetStore]) -> None:
    """
    37 answered, one on its way, 23 left by the service's word: then the count goes on from there.
    """
    responses.get(PETS, json=[])
    with opened("used") as store:
        before = store.quota()
        assert (before.minute.left, before.day.left, before.in_flight) == (22, 962, 1)
        assert (before.day.here, before.day.others) == (0, 38)

        store.client.call("GET", PETS)

        after = store.quota()
        assert (after.minute.left, after.day.left) == (21, 961)
        assert (after.day.here, after.day.others) == (1, 38)
    assert len(responses.calls) == 1


@responses.activate
def test_a_request_on_its_way_when_0_1_died_stays_spent(opened: Callable[..., PetStore]) -> None:
    """
    An hour later it is given up: it was spent until now, and counts from now on for minute and day.
    """
    with opened("used", later_s=3_600) as store:
        quota = store.quota()

    assert (quota.in_flight, quota.minute.left, quota.day.left) == (0, 59, 962)


@responses.activate
def test_a_block_of_0_1_holds_to_its_end_and_no_longer(opened: Callable[..., PetStore]) -> None:
    """Nothing is sent before; the first request after it goes."""
    with (
        opened("blocked", later_s=600) as store,
        pytest.raises(QuotaError, match="refused a") as raised,
    ):
        store.client.call("GET", PETS)
    assert raised.value.resumes_at == pytest.approx(T0 + 3_600, abs=1)
    assert len(responses.calls) == 0

    responses.get(PETS, json=[])
    with opened("blocked", later_s=3_601) as store:
        assert store.client.call("GET", PETS).status == 200


@responses.activate
def test_a_ban_of_0_1_holds_also_when_the_clock_was_set_back_since(
    opened: Callable[..., PetStore],
) -> None:
    """It is first used an hour before: 15 minutes at most are left of it."""
    with opened("banned", later_s=-3_600) as store, pytest.raises(KeyBannedError) as raised:
        store.client.call("GET", PETS)
    assert raised.value.retry_at == pytest.approx(T0 + 900 - 3_600, abs=1)

    with opened("banned", later_s=5 - 3_600) as store, pytest.raises(KeyBannedError) as raised:
        store.client.call("GET", PETS)
    assert raised.value.retry_at == pytest.approx(T0 + 900 - 3_600, abs=1)


def test_a_plan_that_0_1_learnt_is_known(opened: Callable[..., PetStore]) -> None:
    """No request has to teach it again."""
    with opened("learnt", None) as store:
        assert store.quota().plan.startswith("pro")


@responses.activate
def test_the_crowd_of_a_day_of_0_1_is_summed_up(
    opened: Callable[..., PetStore], tmp_path: Path
) -> None:
    """200 processes: none of their requests is forgotten, and the budget becomes small."""
    responses.get(PETS, json=[])
    with opened("crowd", Plan(1_000, 100_000)) as store:
        store.client.call("GET", PETS)
        day = store.quota().day

    assert (day.here, day.others) == (1, 200)
    with sqlite3.connect(tmp_path / "budget.db") as db:
        sizes = sorted(len(state) for (state,) in db.execute("SELECT state FROM key_budget"))
    db.close()
    assert sizes[-1] < 4_000


@responses.activate
def test_version_0_1_refuses_what_this_version_wrote(
    opened: Callable[..., PetStore], tmp_path: Path
) -> None:
    """It would find no requests and send too many; it expects an object where a word stands."""
    responses.get(PETS, json=[])
    with opened("used") as store:
        store.client.call("GET", PETS)

    with sqlite3.connect(tmp_path / "budget.db") as db:
        states = [json.loads(state) for (state,) in db.execute("SELECT state FROM key_budget")]
    db.close()
    assert sorted(type(state["spent"]) is str for state in states) == [False] * 4 + [True]
