"""The branches of the error tree that callers can meet."""

from __future__ import annotations

from pathlib import Path

import pytest
import responses
from pydantic import SecretStr

from petstore_tools import PetStore, errors
from petstore_tools.clock import ManualClock
from petstore_tools.plans import Plan
from petstore_tools.settings import Settings

BASE = "https://pets.example/v1"


def branches(kind: type) -> set[type]:
    return {kind}.union(*(branches(below) for below in kind.__subclasses__()))


@responses.activate
def test_every_kind_of_error_answer_is_raised(tmp_path: Path) -> None:
    """
    A kind that no answer raises is none that callers need; a 429 is waited out or a QuotaError.
    """
    met = set()
    for status, code in (
        (400, ""),
        (401, ""),
        (404, ""),
        (418, ""),
        (429, "key_banned"),
        (429, "rate_limited"),
    ):
        settings = Settings(
            BASE, "production", SecretStr("k"), Plan(60, 1_000), tmp_path / f"{status}{code}"
        )
        with PetStore.from_settings(settings, clock=ManualClock(1_800_000_000.0)) as store:
            body = {"code": code, "message": "m", "status": status}
            responses.upsert(
                "POST", f"{BASE}/pets", json=body, status=status, headers={"Retry-After": "900"}
            )
            with pytest.raises(errors.PetstoreError) as raised:
                store.create_pet("Rex", category_id=3)
        met.add(type(raised.value))

    assert met == branches(errors.ApiError) | {errors.QuotaError}
