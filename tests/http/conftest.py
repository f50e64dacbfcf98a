"""
What tests of requests share: answers in place of a service, and a store that gets them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
import responses
from responses import registries
from wires import BASE, KEY, T0

from petstore_tools import PetStore
from petstore_tools.clock import ManualClock
from petstore_tools.http.client import Client
from petstore_tools.plans import Plan
from petstore_tools.settings import SecretStr, Settings


@pytest.fixture
def wire() -> Iterator[responses.RequestsMock]:
    """
    Answers in the order they are added; a test fails where one of them is not asked
    for.
    """
    with responses.RequestsMock(registry=registries.OrderedRegistry) as mock:
        yield mock


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PetStore]:
    """
    A store on plan Free, with a clock that moves by itself and waits of the same length
    each time.
    """
    settings = Settings(
        BASE, "production", SecretStr(KEY), Plan(60, 1_000, "free"), tmp_path
    )
    with PetStore.from_settings(settings, clock=ManualClock(T0)) as found:
        found.client.rng = random.Random(1)
        yield found


@pytest.fixture
def client(store: PetStore) -> Client:
    """What sends the requests of that store."""
    return store.client
