"""
A sandbox leaves nothing behind, however it ends: closed, dropped, half made, or with its process.
"""

from __future__ import annotations

import gc
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests
from services import until

from petstore_tools import PetStore, Sandbox
from petstore_tools.errors import SettingsError
from petstore_tools.sandbox.faults import Fault


@pytest.fixture(autouse=True)
def _own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    threads = set(threading.enumerate())
    yield
    gc.collect()
    until(lambda: set(threading.enumerate()) <= threads, 10)
    assert list(tmp_path.glob("petstore-sandbox-*")) == []


def refuses(base_url: str) -> bool:
    """Say whether nobody listens there."""
    parts = urlsplit(base_url)
    try:
        socket.create_connection((parts.hostname or "", parts.port or 0), timeout=5).close()
    except ConnectionRefusedError:
        return True
    return False


@pytest.mark.case("P73")
def test_a_dropped_sandbox_ends() -> None:
    """
    Thread, port, databases and folder are gone as soon as it is collected; it was in full use
    before.
    """
    box = Sandbox(animals=150)
    base_url = box.base_url
    box.store.list_pets()
    box.store.create_pet("Rex", category_id=1)

    del box
    gc.collect()

    assert refuses(base_url)


@pytest.mark.case("P73")
def test_its_store_keeps_it_and_so_does_a_listing_under_way() -> None:
    """`Sandbox().store` and `store.pages()` of it go on; then it ends with them."""
    store: PetStore | None = Sandbox(animals=250).store
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

    assert refuses(base_url)


@dataclass(frozen=True)
class Collecting(Fault):
    """Collects garbage in the thread that serves."""

    def hits(self, number: int) -> bool:
        gc.collect()
        return False


@pytest.mark.case("P73")
def test_a_sandbox_that_is_collected_in_its_own_thread_ends_too() -> None:
    """Garbage is collected wherever it comes to mind; a thread cannot wait for its own end."""
    gc.disable()
    try:
        box = Sandbox(animals=0, faults=[Collecting("slow")])
        base_url = box.base_url
        del box
        requests.get(f"{base_url}/health", timeout=10)
        until(lambda: refuses(base_url), 10)
    finally:
        gc.enable()


@pytest.mark.case("P73")
@pytest.mark.parametrize("end", ["", "raise SystemExit(0)", "1 / 0"], ids=["end", "exit", "error"])
def test_a_sandbox_ends_with_its_process(tmp_path: Path, end: str) -> None:
    """Without a word, within seconds, and without a folder left."""
    program = f"from petstore_tools import Sandbox\nbox = Sandbox(animals=3)\nbox.store.list_pets()\n{end}\n"
    began_at = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"TMPDIR": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=30,
    )

    assert done.stdout == ""
    assert done.stderr == "" or "ZeroDivisionError" in done.stderr
    assert time.monotonic() - began_at < 15


def test_what_fails_on_the_way_up_leaves_nothing() -> None:
    """A database that cannot be reached."""
    with pytest.raises(SettingsError, match="PostgreSQL"):
        Sandbox(database="postgresql://nobody@127.0.0.1:9/nothing")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Sandbox(animals=-1), "0 or more, not -1"),
        (lambda: Sandbox(animals="3"), "0 or more, not '3'"),  # type: ignore[arg-type]
        (lambda: Fault("explode"), "kind must be one of slow, drop_before"),  # type: ignore[arg-type]
        (lambda: Fault("slow", method="post"), "GET, HEAD, POST, .*, not 'post'"),
        (lambda: Fault("slow", at=(0,)), "each at least 1"),
        (lambda: Fault("slow", at=(3, -1)), "each at least 1"),
        (lambda: Fault("slow", at=5), "numbers of requests"),  # type: ignore[arg-type]
        (lambda: Fault("slow", seconds=float("nan")), "not be negative"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(make: Callable[[], object], says: str) -> None:
    """Before anything is started."""
    with pytest.raises(ValueError, match=says):
        make()
