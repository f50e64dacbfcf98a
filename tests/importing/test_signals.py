"""Imports by the command itself and in this process: signals, kills and interrupts."""

from __future__ import annotations

import csv
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from inventories import connect_through, faulty_creates, stored_animals, write_rows
from proxy import Action, SendRequest
from raw import reply_bytes

from petstore_tools import Sandbox
from petstore_tools.errors import Interrupted, JournalError
from petstore_tools.importing.options import Progress
from petstore_tools.importing.results import ImportResult
from petstore_tools.plans import Plan

AMPLE = Plan(100_000, 1_000_000)
ROWS = [f"Rex {n},3,sold" for n in range(80)]
ANIMALS = [(f"Rex {n}", 3, "sold") for n in range(80)]
KILLS = [  # at which number of creates, and how many animals there were before
    pytest.param((10, 30, 50, 70), 0, id="small inventory"),
    pytest.param((10, 30, 50, 70), 1_200, id="large inventory"),
    *(
        pytest.param(
            sorted(random.Random(part).choices(range(80), k=4)),
            0,
            marks=pytest.mark.soak,
            id=f"part{part:03}",
        )
        for part in range(40)
    ),
]
pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="no signal for another process"
)


class HeldRequest:
    """A request that the service receives when it is released."""

    def __init__(self) -> None:
        self.under_way = threading.Event()
        self.release = threading.Event()

    def __call__(self, ask: SendRequest, request: bytes) -> bytes:
        self.under_way.set()
        self.release.wait(60)
        return ask(request)


def start_import(
    box: Sandbox, path: Path, base_url: str, *options: str
) -> subprocess.Popen[bytes]:
    """Start the command in a process of its own."""
    settings = {
        "PETSTORE_BASE_URL": base_url,
        "PETSTORE_API_KEY": box.api_key,
        "PETSTORE_STATE_DIR": str(path.parent / "state"),
        "PETSTORE_PLAN": "100000/1000000",
        "PETSTORE_RECONCILE_AFTER_S": "0.3",
    }
    command = [sys.executable, "-m", "petstore_tools", "import", str(path), "--yes"]
    return subprocess.Popen(
        [*command, *options],
        env={**os.environ, **settings},
        stdout=subprocess.PIPE if options else subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.mark.case("P66", "P78")
@pytest.mark.parametrize(
    "failures", [0, 3], ids=["answers come", "after three unusable answers"]
)
def test_an_interrupt_wins(fast: Sandbox, tmp_path: Path, failures: int) -> None:
    """
    Whatever else was about to end the run; nothing leaves afterwards, and the result is
    there.
    """
    path = write_rows(tmp_path / "a.csv", *ROWS[:40])
    held = HeldRequest()

    def fate(number: int) -> Action:
        if number <= failures:
            return reply_bytes(500)
        return held if number >= failures + 2 else "pass"

    with faulty_creates(fast, fate) as proxy:
        store = connect_through(fast, proxy)

        def interrupt(progress: Progress) -> None:
            failed = failures and progress.unknown >= failures
            if held.under_way.is_set() or failed:
                raise KeyboardInterrupt

        with pytest.raises(Interrupted) as caught:
            store.import_pets(path, progress=interrupt)
        sent = proxy.counts["POST"]
        if not failures:  # the thread that awaits the last answer ends first
            store.client.max_wait_s = 0.0
            with pytest.raises(JournalError, match="still awaits an answer"):
                store.import_pets(path, progress=False)
            store.client.max_wait_s = 90.0
        held.release.set()
        result = store.import_pets(path, progress=False, doubtful="skip")

    assert isinstance(caught.value.result, ImportResult)
    assert caught.value.result.stopped is not None
    assert caught.value.result.stopped.kind == "interrupted"
    assert sent <= failures + 20
    assert result.created == 40
    assert stored_animals(fast) == dict.fromkeys(ANIMALS[:40], 1)


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_command_at_once_with_its_object(
    fast: Sandbox, tmp_path: Path, sign: signal.Signals
) -> None:
    """What was under way is unknown, and the same command goes on."""
    path = write_rows(tmp_path / "a.csv", *ROWS[:5])
    held = HeldRequest()

    with faulty_creates(fast, lambda n: held if n == 3 else "pass") as proxy:
        process = start_import(fast, path, proxy.base_url, "--json")
        assert held.under_way.wait(60)
        process.send_signal(sign)
        printed, _ = process.communicate(timeout=60)
        held.release.set()
        second_process = start_import(fast, path, proxy.base_url, "--json")
        second_output, _ = second_process.communicate(timeout=120)

    facts = json.loads(printed)
    assert (process.returncode, facts["stopped"]) == (130, "interrupted")
    assert facts["unknown"] >= 1
    assert second_process.returncode == 0
    assert json.loads(second_output)["created"] == 5


@pytest.mark.case("P32", "P75", "P78")
@pytest.mark.parametrize(("limits", "old"), KILLS)
def test_kill_9_of_the_command_doubles_and_loses_nothing(
    tmp_path: Path, limits: list[int], old: int
) -> None:
    """
    Four times on the way, with lost answers, and the file beside the database is gone
    each time; each row has one animal and one line in the result file.
    """
    path = write_rows(tmp_path / "a.csv", *ROWS)

    def fate(number: int) -> Action:
        if number % 9:
            return "pass"
        return "drop before" if number % 2 else "drop after"

    with (
        Sandbox(plan=AMPLE, clock="system", animals=0) as box,
        faulty_creates(box, fate) as proxy,
    ):
        box.add([(f"Old {n}", 1, None) for n in range(old)])
        before = stored_animals(box)
        for limit in limits:
            process = start_import(box, path, proxy.base_url)
            while process.poll() is None and proxy.counts.get("POST", 0) < limit:
                time.sleep(0.002)
            process.kill()
            process.wait(60)
            for beside in (tmp_path / "state/imports").glob("*.db-journal"):
                beside.unlink()  # as in a copy of the database alone
        codes = [start_import(box, path, proxy.base_url).wait(120) for _ in range(3)]
        animals = stored_animals(box) - before

    assert codes[-1] == 0
    assert animals == dict.fromkeys(ANIMALS, 1)
    with (tmp_path / "a.created.csv").open(encoding="utf-8-sig") as file:
        ids = [row["petstore_id"] for row in csv.DictReader(file)]
    assert len({*ids} - {""}) == len(ids) == len(ROWS)
