"""Imports by the command itself and in this process: signals, kills and interrupts."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from math import inf
from typing import get_args

import pytest
from commands import needs_signals
from inventories import connect_through, faulty_creates, stored_animals, write_rows
from lists import WAYS, Story, count_animals, edit_list, import_list, write_list
from raw import reply_bytes
from tables import soak_seeds

from petstore_tools import Sandbox
from petstore_tools.errors import DoubtfulRowsError, Interrupted, JournalError
from petstore_tools.plans import Plan
from petstore_tools.sandbox.faults import Fault, Kind

AMPLE = Plan(100_000, 1_000_000)
ROWS = [f"Rex {n},3,sold" for n in range(40)]
ANIMALS = [(f"Rex {n}", 3, "sold") for n in range(40)]
EDITS = "add 2;top 1;typo 2;rename 1;status 3;status all;delete 1;exchange 1".split(";")
BY_KEYS = [*EDITS, "sort", "double 1"]  # by values, nobody can tell which row is which
pytestmark = needs_signals


class HeldRequest:
    """A request that the service receives when it is released."""

    def __init__(self):
        self.under_way = threading.Event()
        self.release = threading.Event()

    def __call__(self, ask, request):
        self.under_way.set()
        self.release.wait(60)
        return ask(request)


def start_import(box, path, base_url, *options):
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


@pytest.mark.parametrize(
    "failures", [0, 3], ids=["answers come", "after three unusable answers"]
)
def test_an_interrupt_wins(fast, tmp_path, failures):
    """
    Whatever else was about to end the run; nothing leaves afterwards, and the result is
    there.
    """
    path = write_rows(tmp_path / "a.csv", *ROWS)
    held = HeldRequest()

    def fate(number):
        if number <= failures:
            return reply_bytes(500)
        return held if number >= failures + 2 else "pass"

    with faulty_creates(fast, fate) as proxy:
        store = connect_through(fast, proxy)

        def interrupt(progress):
            failed = failures and progress.unknown >= failures
            if held.under_way.is_set() or failed:
                raise KeyboardInterrupt

        with pytest.raises(Interrupted) as caught:
            store.import_pets(path, progress=interrupt)
        sent = proxy.counts["POST"]
        if not failures:  # the thread that awaits the last answer ends first
            store.client.max_wait_s = 0.0
            with pytest.raises(JournalError, match="still awaits an answer"):
                store.import_pets(path)
            store.client.max_wait_s = inf
        held.release.set()
        result = store.import_pets(path, doubtful="skip")

    assert caught.value.result.stopped.kind == "interrupted"
    assert sent <= failures + 20
    assert result.created == 40
    assert stored_animals(fast) == dict.fromkeys(ANIMALS, 1)


def test_an_edited_copy_is_asked_about_while_its_list_is_sent(fast, tmp_path):
    """Also about the rows that the running import has still to send."""
    path = write_rows(tmp_path / "a.csv", *ROWS)
    copy = write_rows(tmp_path / "b.csv", *ROWS[:-1], "Renamed,3,sold")
    held = HeldRequest()

    with faulty_creates(fast, lambda number: held if number == 1 else "pass") as proxy:
        store = connect_through(fast, proxy)
        run = partial(store.import_pets, path)
        thread = threading.Thread(target=run)
        thread.start()
        held.under_way.wait(60)
        with pytest.raises(DoubtfulRowsError) as asked:
            store.import_pets(copy)
        held.release.set()
        thread.join(60)
        # the rows that were shown, which have their animals now
        result = store.import_pets(copy, doubtful="skip")

    assert result.left_out == len(ROWS)
    doubtful = asked.value.preview.doubtful
    assert len(doubtful) == len(ROWS)
    assert doubtful["reason"].value_counts().to_dict() == {
        "equal": len(ROWS) - 1,
        "changed list": 1,
    }
    assert "row 41 of a.csv (not sent) is missing here" in doubtful["because"].iloc[-1]
    assert stored_animals(fast) == dict.fromkeys(ANIMALS, 1)


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_command_at_once_with_its_object(fast, tmp_path, sign):
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


@pytest.mark.parametrize("seeds", soak_seeds(1, 2, total=1_001))
def test_signals_double_and_lose_nothing(tmp_path, seeds):
    """
    The command is killed and interrupted on the way, with faults, and the file beside
    the database is gone; between its runs, people edit the list.
    """
    for seed in seeds:
        rng = random.Random(seed)
        way = WAYS[seed % 3]
        with Sandbox(plan=AMPLE, clock="system", animals=0) as box:
            folder = tmp_path / f"{seed}"
            folder.mkdir()
            story = Story(way, folder, box)
            story.rng = rng
            edit_list(story, "new 12")
            for _ in range(rng.randint(2, 4)):
                for _ in range(rng.randint(1, 3)):
                    stop_import(story)
                import_list(story)
                for edit in rng.sample(EDITS if way == WAYS[0] else BY_KEYS, 2):
                    edit_list(story, edit)
            import_list(story)
        assert story.counts["doubled"] == 0, seed
        assert not story.missing, seed


def stop_import(story):
    """Run the command, with faults of the service, and end it at a random instant."""
    box = story.box
    rng = story.rng
    kind = rng.choice(get_args(Kind))
    box.faults[:] = [Fault(kind, "POST", every=rng.randint(2, 7), seconds=0.05)]
    path, options = write_list(story)
    flags = [f"--{name.replace('_', '-')}={text}" for name, text in options.items()]
    limit = len(box.traffic()) + rng.randint(0, 20)
    with start_import(box, path, box.base_url, *flags) as process:
        while process.poll() is None and len(box.traffic()) < limit:
            time.sleep(0.002)
        process.send_signal(rng.choice([signal.SIGKILL, signal.SIGINT, signal.SIGTERM]))
    box.faults.clear()
    for beside in story.store.journal_folder.glob("*.db-journal"):
        beside.unlink()  # as in a copy of the database alone
    count_animals(story, story.lists[story.file])
