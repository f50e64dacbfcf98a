"""Imports whose process dies: at every boundary, and by kill -9 at any instant."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from inventories import existing, expected
from proxy import FaultProxy

from petstore_tools import PetStore, Sandbox
from petstore_tools.plans import Plan
from petstore_tools.sandbox import samples

KILLED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell has it ignored
from dataclasses import replace
from petstore_tools import PetStore
from petstore_tools.importing.journal import open_journal
from petstore_tools.importing.run_lock import Target
from petstore_tools.tabular.workbooks import write_xlsx
from petstore_tools.importing.matching import merge
from petstore_tools.importing.row_states import Entry
from petstore_tools.plans import Plan
store = PetStore(base_url=sys.argv[1], api_key=sys.argv[2], plan=Plan(100000, 1000000), state_dir=sys.argv[3])
print("ready", flush=True)
print(store.import_pets(sys.argv[4]), flush=True)
"""


def _start(box: Sandbox, file: Path, base_url: str) -> subprocess.Popen[bytes]:
    """Begin the import in a process of its own."""
    arguments = [base_url, box.api_key, str(file.parent / "state"), str(file)]
    process = subprocess.Popen([sys.executable, "-c", KILLED, *arguments], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def _end(process: subprocess.Popen[bytes]) -> int:
    process.communicate(timeout=20)
    return process.returncode


def _kill_9_after(process: subprocess.Popen[bytes], delay_s: float) -> bool:
    """Kill the process, and say whether it still ran."""
    try:
        process.wait(delay_s)
    except subprocess.TimeoutExpired:
        process.kill()
    return _end(process) != 0


@pytest.fixture
def reconciles_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service here commits at once or never."""
    monkeypatch.setenv("PETSTORE_RECONCILE_AFTER_S", "0.3")


def _killed_often(file: Path, kills: int, seed: int) -> None:
    """
    Kill an import again and again, each 25th reply lost; in the end every row exists exactly once.
    """
    with (
        Sandbox(plan=Plan(100_000, 1_000_000), clock="system", animals=0) as box,
        FaultProxy(
            box.base_url,
            lambda method, n: ("drop after", "drop before")[n // 25 % 2] if n % 25 == 0 else "pass",
        ) as proxy,
    ):
        kills_landed = sum(
            _kill_9_after(_start(box, file, proxy.base_url), 0.05 + (seed + kill * 37) % 100 / 200)
            for kill in range(kills)
        )
        store = PetStore(
            base_url=proxy.base_url,
            api_key=box.api_key,
            plan=Plan(100_000, 1_000_000),
            state_dir=file.parent / "state",
            progress=False,
        )
        for _ in range(40):
            result = store.import_pets(file)
            if not result.unsent:
                break
        store.close()
        found = existing(box)

    assert kills_landed >= kills // 2
    assert (result.created, result.unknown, result.complete) == (result.rows, 0, True)
    assert found == Counter(entry.content for entry in result.entries)


@pytest.mark.case("P32")
def test_kill_9_at_random_instants_doubles_and_loses_nothing(
    tmp_path: Path, reconciles_soon: None
) -> None:
    """25 kills with replies lost between them."""
    path = tmp_path / "animals.csv"
    path.write_text(samples.animals_csv(3_000), encoding="utf-8")

    _killed_often(path, kills=25, seed=1)


DIES = """
import itertools, os, sys
from petstore_tools import PetStore
from petstore_tools.http import transport
from petstore_tools.importing import journal, lookup
from petstore_tools.tabular import atomic, text_files
from petstore_tools.plans import Plan

def dying(call, at, when):
    numbers = itertools.count(1)  # several threads call
    def wrapped(*args, **more):
        mine = next(numbers) == at
        if mine and when == "before":
            os._exit(9)
        try:
            return call(*args, **more)
        finally:
            if mine:
                os._exit(9)  # also where it failed
    return wrapped

place, name, at, when = sys.argv[5:]
owner = eval(place)
setattr(owner, name, dying(getattr(owner, name), int(at), when))
store = PetStore(base_url=sys.argv[1], api_key=sys.argv[2], plan=Plan(100000, 1000000), state_dir=sys.argv[3])
store.import_pets(sys.argv[4])
"""


# every boundary of a run, in its order; POST 3 has its answer lost, so that there is something to
# reconcile
BOUNDARIES = [
    ("journal", "create_file", 1),  # the journal gets its name
    ("transport.Transport", "send", 1),  # the baseline
    ("journal.Journal", "keep_baseline", 1),
    ("journal.Journal", "add_rows", 1),
    ("journal.Journal", "transition", 1),  # the first intent
    ("transport.Transport", "send", 2),  # the first create
    ("journal.Journal", "transition", 2),  # its answer is recorded
    ("transport.Transport", "send", 4),  # the one whose answer is lost
    ("journal.Journal", "transition", 8),
    ("journal.Journal", "transition", 40),
    ("lookup", "list_inventory", 2),  # the listing after
    ("journal.Journal", "transition", 41),
    ("journal.Journal", "mark_lost", 2),
    ("text_files", "csv_bytes", 1),  # the created file
    ("atomic.os", "replace", 1),
]


@pytest.mark.case("P32")
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda b: f"{b[0]}.{b[1]}-{b[2]}")
def test_a_death_at_every_boundary_doubles_and_loses_nothing(
    tmp_path: Path, reconciles_soon: None, boundary: tuple[str, str, int], when: str
) -> None:
    """The process is gone there, without a word; the next run ends with every row created once."""
    path = tmp_path / "animals.csv"
    path.write_text(samples.animals_csv(20), encoding="utf-8")
    lose = lambda method, n: "drop after" if (method, n) == ("POST", 3) else "pass"  # noqa: E731
    with (
        Sandbox(plan=Plan(100_000, 1_000_000), clock="system", animals=0) as box,
        FaultProxy(box.base_url, lose) as proxy,
    ):
        arguments = [
            proxy.base_url,
            box.api_key,
            str(tmp_path / "state"),
            str(path),
            *map(str, boundary),
            when,
        ]
        died = subprocess.run(
            [sys.executable, "-c", DIES, *arguments], capture_output=True, timeout=60, check=False
        )
        assert died.returncode == 9, died.stderr.decode()
        settings = {"plan": "100000/1000000", "state_dir": tmp_path / "state", "progress": False}
        store = PetStore(base_url=proxy.base_url, api_key=box.api_key, **settings)  # type: ignore[arg-type]
        result = store.import_pets(path)
        store.close()
        found = existing(box)

    assert (result.created, result.unknown, result.complete) == (20, 0, True)
    assert found == expected(20)
    assert len((tmp_path / "animals.created.csv").read_text().splitlines()) == 21


@pytest.mark.case("P32")
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("transition", [1, 2, 5, 6, 7, 9, 10])
def test_a_death_among_the_first_rows_doubles_and_loses_nothing(
    tmp_path: Path, reconciles_soon: None, transition: int, when: str
) -> None:
    """
    Five rows go first, the third answer is lost, the process dies: then five more, then the others.
    """
    path = tmp_path / "animals.csv"
    path.write_text(samples.animals_csv(20), encoding="utf-8")
    lose = lambda method, n: "drop after" if (method, n) == ("POST", 3) else "pass"  # noqa: E731
    with (
        Sandbox(plan=Plan(100_000, 1_000_000), clock="system", animals=0) as box,
        FaultProxy(box.base_url, lose) as proxy,
    ):
        state = tmp_path / "state"
        boundary = ["journal.Journal", "transition", str(transition), when]
        arguments = [proxy.base_url, box.api_key, str(state), str(path), *boundary]
        script = DIES.replace("import_pets(sys.argv[4])", "import_pets(sys.argv[4], first=5)")
        died = subprocess.run([sys.executable, "-c", script, *arguments], timeout=60, check=False)
        before = existing(box).total()
        settings = {"plan": "100000/1000000", "state_dir": state, "progress": False}
        store = PetStore(base_url=proxy.base_url, api_key=box.api_key, **settings)  # type: ignore[arg-type]
        first = store.import_pets(path, first=5)
        result = store.import_pets(path)
        store.close()
        found = existing(box)

    assert (died.returncode, before <= 5) == (9, True)
    assert first.unknown == 0
    assert 5 <= first.created <= 10
    assert result.complete
    assert found == expected(20)


@pytest.mark.soak
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("seed", range(200), ids="part{:03}".format)
def test_kill_9_two_thousand_times(tmp_path: Path, seed: int, reconciles_soon: None) -> None:
    """
    The long form: 200 imports, ten kills each; `-k part00` or `-k part01` is a hundred of them.
    """
    path = tmp_path / "animals.csv"
    path.write_text(samples.animals_csv(1_500), encoding="utf-8")

    _killed_often(path, kills=10, seed=seed * 7)


@pytest.mark.skipif(
    os.name != "posix", reason="SIGINT to another process is POSIX; CI runs it on Linux"
)
@pytest.mark.case("P66")
def test_ctrl_c_ends_a_script_and_leaves_a_resumable_import(tmp_path: Path) -> None:
    """The process ends by itself within two seconds, and the next run goes on."""
    path = tmp_path / "animals.csv"
    path.write_text(samples.animals_csv(3_000), encoding="utf-8")
    with Sandbox(plan=Plan(100_000, 1_000_000), clock="system", animals=0) as box:
        process = _start(box, path, box.base_url)
        while sum(existing(box).values()) < 50:
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        interrupted_at = time.monotonic()
        code = _end(process)
        took_s = time.monotonic() - interrupted_at
        store = PetStore(
            base_url=box.base_url,
            api_key=box.api_key,
            plan="100000/1000000",
            state_dir=path.parent / "state",
        )
        preview = store.preview_import(path)
        store.close()

        assert code == 1
        assert took_s < 5
        assert 0 < preview.created < 3_000
        assert preview.created + preview.unknown == sum(existing(box).values())
