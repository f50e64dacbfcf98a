"""Further stores on a sandbox: whose budget they spend, and that they end with it."""

from __future__ import annotations

import gc
import os
import socket
import tempfile
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from services import until

from petstore_tools import PetStore, Sandbox
from petstore_tools.errors import ArgumentError, SettingsError


@pytest.fixture(autouse=True)
def _leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No thread, open file, socket or folder is left by any of these tests."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    Sandbox(animals=0).close()  # what asyncio opens once for good
    gc.collect()
    threads = set(threading.enumerate())
    files = _open_files()
    yield
    gc.collect()
    until(lambda: set(threading.enumerate()) <= threads, 10)
    until(lambda: _open_files() <= files, 10)
    assert list(tmp_path.glob("petstore-sandbox-*")) == []


def _open_files() -> int:
    """Count open files and sockets, where the system shows them."""
    folder = Path("/proc/self/fd")
    return len(os.listdir(folder)) if folder.exists() else 0


def left(store: PetStore) -> tuple[int | None, int | None]:
    quota = store.quota()
    return quota.minute.left, quota.day.left


def test_a_connected_store_shares_the_sandboxs_key_and_budget() -> None:
    """What one of them sends, the other has no more."""
    with Sandbox(plan="60/1000", animals=3) as box:
        other = box.connect()
        assert len(other.list_pets()) == 3
        box.store.list_pets()

        assert left(other) == left(box.store) == (58, 998)
        assert other.settings.api_key == box.store.settings.api_key
        assert other.client.clock is box.clock


def test_a_store_on_another_plan_has_a_key_and_a_budget_of_its_own() -> None:
    """The service knows the key and its numbers; the sandbox's budget is not touched."""
    with Sandbox(plan="free", animals=3) as box:
        other = box.connect(plan="pro")
        for _ in range(61):
            assert len(other.list_pets()) == 3

        assert left(other) == (300 - 61, 10_000 - 61)
        assert left(box.store) == (60, 1_000)
        assert other.settings.api_key != box.store.settings.api_key
        assert box.traffic()["status"].eq(200).all()


def test_other_settings_are_taken_by_their_names(tmp_path: Path) -> None:
    """A name that is none is refused, and so is a plan without both numbers."""
    with Sandbox(animals=0) as box:
        assert (
            box.connect(state_dir=tmp_path / "elsewhere").settings.state_dir
            == tmp_path / "elsewhere"
        )
        assert box.connect(pagination="skip").settings.pagination == "skip"
        with pytest.raises(TypeError, match="state_folder"):
            box.connect(state_folder=tmp_path)
        with pytest.raises(SettingsError, match="unknown plan 'enterprise'"):
            box.connect(plan="enterprise")


def test_connected_stores_end_with_the_sandbox_and_may_be_closed_before() -> None:
    """In any order; then no further store can be connected."""
    files = _open_files()
    box = Sandbox(animals=3)
    closed = box.connect()
    kept = box.connect(plan="pro")
    for store in (closed, kept):
        store.list_pets()
    closed.close()

    box.close()

    assert _open_files() == files  # while both stores are still there
    parts = urlsplit(box.base_url)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((parts.hostname or "", parts.port or 0), timeout=5)
    for call in (box.connect, partial(box.connect, plan="pro"), kept.list_pets, box.store.quota):
        with pytest.raises(ArgumentError, match="this sandbox is closed"):
            call()


@pytest.mark.case("P73")
def test_a_connected_store_keeps_the_sandbox_as_its_own_does() -> None:
    """Dropped with all its stores it ends; with one of them it goes on."""
    store: PetStore | None = Sandbox(animals=3).connect(plan="pro")
    gc.collect()
    assert store is not None
    assert len(store.list_pets()) == 3

    store = None


def test_animals_are_added_outside_the_interface() -> None:
    """They are listed as they are; no request is sent for them, and none is counted."""
    with Sandbox(animals=1) as box:
        ids = box.add([("Rex", 3, "sold"), ("Mia", 2, None)])
        assert box.add([]) == []
        assert box.traffic().empty

        frame = box.store.list_pets().tail(2).astype(object)
        rows = frame.where(frame.notna(), None).itertuples(index=False, name=None)
        assert list(rows) == [(ids[0], "Rex", 3, "sold"), (ids[1], "Mia", 2, None)]
