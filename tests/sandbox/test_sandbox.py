"""
A sandbox and its stores: whose budget they spend, and that they leave nothing behind,
however they
end: closed, dropped, half made, or with their process.
"""

import gc
import os
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
import requests
from inventories import write_rows
from services import is_port_closed, wait_until

from petstore_tools import PetStore, Sandbox
from petstore_tools.errors import (
    ArgumentError,
    FrameError,
    SettingsError,
    SheetError,
)
from petstore_tools.sandbox.faults import Fault


@pytest.fixture(autouse=True)
def _leaves_nothing(tmp_path, monkeypatch):
    """No thread, open file, socket or folder is left by any of these tests."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    Sandbox(animals=0).close()  # what asyncio opens once for good
    gc.collect()
    threads = set(threading.enumerate())
    files = _open_files()
    yield
    gc.collect()
    wait_until(lambda: set(threading.enumerate()) <= threads, 10)
    wait_until(lambda: _open_files() <= files, 10)
    assert list(tmp_path.glob("petstore-sandbox-*")) == []


def _open_files():
    """Count open files and sockets, where the system shows them."""
    folder = Path("/proc/self/fd")
    return len(os.listdir(folder)) if folder.exists() else 0


def test_an_import_is_rehearsed_on_a_copy_of_a_shop(tmp_path):
    """
    The copy has the same animals with the same ids, and goes on after the highest one.
    Its returned list names the ids of the copy, and is refused at the shop.
    """
    path = write_rows(tmp_path / "a.csv", "Rex,3,sold", "Mia,2,")
    with Sandbox(plan="business", animals=300) as shop:
        for pet_id in (3, 17, 299):
            shop.remove(pet_id)
        animals = shop.store.list_pets()
        with Sandbox(plan="business", animals=animals) as copy:
            assert copy.store.list_pets().equals(animals)
            result = copy.store.import_pets(path, progress=False)
            assert result.frame["id"].tolist() == [301, 302]
        shop.add([("Bo", 1, None)] * 2)
        (returned,) = tmp_path.glob("a.sandbox.*.csv")
        place = {"base_url": shop.base_url, "api_key": shop.api_key}

        with (
            PetStore(**place, plan="business", state_dir=tmp_path) as store,
            pytest.raises(SheetError, match="a.sandbox.imported.csv came back from"),
        ):
            store.import_pets(returned, progress=False)

        assert len(shop.store.list_pets()) == 299


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (lambda pets: pets.drop(columns="id"), "the frame lacks id"),
        (lambda pets: pd.concat([pets, pets]), "column id has an id twice"),
    ],
)
def test_a_copy_needs_each_animal_once_with_its_id(edit, reason):
    """Nothing is started for a frame that is no listing."""
    with Sandbox(animals=3) as shop:
        pets = edit(shop.store.list_pets())

    with pytest.raises(FrameError, match=reason):
        Sandbox(animals=pets)


def remaining(store):
    quota = store.quota()
    return quota.minute.left, quota.day.left


def test_a_connected_store_shares_the_budget_and_one_on_another_plan_has_its_own():
    """The service knows the key of the other plan and its numbers."""
    with Sandbox(plan="free", animals=3) as box:
        same = box.connect()
        other = box.connect(plan="pro")
        for store in (same, box.store, *[other] * 61):
            assert len(store.list_pets()) == 3

        # one asked for signs
        assert remaining(same) == remaining(box.store) == (57, 997)
        assert remaining(other) == (300 - 61, 10_000 - 61)
        assert (
            same.settings.api_key
            == box.store.settings.api_key
            != other.settings.api_key
        )
        assert same.client.clock is box.clock
        assert box.traffic()["status"].eq(200).all()


def test_other_settings_are_taken_by_their_names(tmp_path):
    """A name that is none is refused, and so is a plan without both numbers."""
    with Sandbox(animals=0) as box:
        settings = box.connect(
            state_dir=tmp_path / "elsewhere", pagination="skip"
        ).settings
        with pytest.raises(TypeError, match="argument 'progress'"):
            box.connect(progress=False)
        with pytest.raises(SettingsError, match="unknown plan"):
            box.connect(plan="enterprise")

    assert (settings.state_dir, settings.pagination) == (tmp_path / "elsewhere", "skip")


def test_animals_are_added_outside_the_interface():
    """They are listed as they are; no request is sent for them, and none is counted."""
    with Sandbox(animals=0) as box:
        ids = box.add([("Rex", 3, "sold"), ("Mia", 2, None)])
        assert box.add([]) == []
        assert box.traffic().empty

        listed = [
            (pet.id, pet.name, pet.category_id, pet.status) for pet in box.store.pets()
        ]
        assert listed == [(ids[0], "Rex", 3, "sold"), (ids[1], "Mia", 2, None)]


def test_connected_stores_end_with_the_sandbox_and_may_be_closed_before():
    """In any order; then no further store can be connected."""
    files = _open_files()
    box = Sandbox(animals=3)
    closed = box.connect()
    kept_store = box.connect(plan="pro")
    for store in (closed, kept_store):
        store.list_pets()
    closed.close()

    box.close()

    # while both stores are still there; the server's own end a moment later
    wait_until(lambda: _open_files() == files, 10)
    assert is_port_closed(box.base_url)
    for call in (
        box.connect,
        partial(box.connect, plan="pro"),
        kept_store.list_pets,
        box.store.quota,
    ):
        with pytest.raises(ArgumentError, match="this sandbox is closed"):
            call()


@pytest.mark.parametrize(
    "store_of", [lambda box: box.store, lambda box: box.connect(plan="pro")]
)
def test_a_store_keeps_its_sandbox_and_so_does_a_listing_under_way(store_of):
    """
    `Sandbox().store` and `store.pages()` of it go on; dropped with them, the sandbox
    ends.
    """
    store = store_of(Sandbox(animals=250))
    gc.collect()
    assert store is not None
    assert len(store.list_pets()) == 250
    base_url = store.settings.base_url
    pages = iter(store.pages())
    next(pages)
    store = None
    gc.collect()
    assert sum(map(len, pages)) == 150

    del pages
    gc.collect()

    assert is_port_closed(base_url)


@dataclass(frozen=True)
class Collecting(Fault):
    """Collects garbage in the thread that serves."""

    def hits(self, number):
        gc.collect()
        return False


def test_a_sandbox_that_is_collected_in_its_own_thread_ends_too():
    """
    Garbage is collected wherever it comes to mind; a thread cannot wait for its own
    end.
    """
    gc.disable()
    try:
        box = Sandbox(animals=0, faults=[Collecting("slow")])
        base_url = box.base_url
        del box
        requests.get(f"{base_url}/health", timeout=10)
        wait_until(lambda: is_port_closed(base_url), 10)
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "end", ["", "raise SystemExit(0)", "1 / 0"], ids=["end", "exit", "error"]
)
def test_a_sandbox_ends_with_its_process(tmp_path, end):
    """Without a word, within seconds, and without a folder left."""
    program = (
        "from petstore_tools import Sandbox\nbox ="
        f" Sandbox(animals=3)\nbox.store.list_pets()\n{end}\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.stdout == ""
    assert done.stderr == "" or "ZeroDivisionError" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_fails_on_the_way_up_leaves_nothing():
    """A database that cannot be reached."""
    with pytest.raises(SettingsError, match="PostgreSQL"):
        Sandbox(database="postgresql://nobody@127.0.0.1:9/nothing")
