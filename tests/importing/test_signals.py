"""
Kills and signals at random instants, faults of the service and edits of the files
beside them: imports by the command itself, and imports, listings and waits in a process
that goes on.
"""

from __future__ import annotations

import random
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

import pandas as pd
import pytest
from children import run_in_child
from inventories import stored_animals, write_rows

from petstore_tools import PetStore, Sandbox
from petstore_tools.cli import exits
from petstore_tools.plans import Plan
from petstore_tools.sandbox.faults import Fault, Kind

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="no signal for another process"
)
AMPLE = Plan(100_000, 1_000_000)
HISTORIES = 25  # of a part
INSTANTS = 25
PARTS = pytest.mark.parametrize("part", range(40), ids="part{:03}".format)
THREADS = ("import", "page")
STOPS = {"quota": 4, "banned": 4, "key refused": 3, "service": 5, "interrupted": 130}


@dataclass
class History:
    """A file, what a person does to it, and what becomes of its runs."""

    rng: random.Random
    box: Sandbox
    folder: Path
    rows: list[str] = field(default_factory=list)
    bad_rows: int = 0

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / "animals.csv"

    def edit(self) -> None:
        """
        Add rows, sometimes one with a problem; at times, change or remove a result
        file.
        """
        name = f"{self.folder.name} {len(self.rows)}"
        for number in range(self.rng.randint(1, 4)):
            status = self.rng.choice(["available", "sold", ""])
            self.rows += [f"{name} {number},{self.rng.randint(1, 3)},{status}"] * (
                self.rng.choice([1, 1, 1, 2])
            )
        if self.rng.random() < 0.4:
            self.rows.append(f"{name} bad,cats,")
            self.bad_rows += 1
        write_rows(self.path, *self.rows)
        for beside in self.folder.glob("animals.*.csv"):
            what = self.rng.choice(["leave", "leave", "change", "remove"])
            if what == "change":
                beside.write_text(beside.read_text() + "a line of mine\n")
            if what == "remove":
                beside.unlink()

    def run(self, sign: signal.Signals | None = None) -> int:
        """Run the command, with a signal at a random instant; return its exit code."""
        told = {
            "PETSTORE_BASE_URL": self.box.base_url,
            "PETSTORE_API_KEY": self.box.api_key,
            "PETSTORE_STATE_DIR": str(self.folder / "state"),
            "PETSTORE_PLAN": "100000/1000000",
            "PETSTORE_RECONCILE_AFTER_S": "0.1",
        }
        arguments = ["import", str(self.path), "--yes", "--json"]
        after_s = self.rng.expovariate(4)
        code, facts = run_in_child(
            arguments, told, self.folder / "printed", sign=sign, after_s=after_s
        )
        partly = facts.get("rejected") or facts.get("unknown") or facts.get("skipped")
        expected = {STOPS.get(facts.get("stopped") or "", int(bool(partly)))}
        if sign is not None and "stopped" not in facts:
            expected = {130}  # before the first request
        if sign == signal.SIGKILL:
            expected |= {-signal.SIGKILL}
            for beside in (self.folder / "state/imports").glob("*.db-journal"):
                beside.unlink()  # as in a copy of the database alone
        errors = (self.folder / "printed.err").read_text()
        assert code in expected, (code, facts, errors)
        assert "mistake" not in errors
        return code


def _play(seed: int, box: Sandbox, folder: Path) -> None:
    """
    Edit and run a file, with whatever may go wrong, until nothing does; then look.
    """
    folder.mkdir()
    rng = random.Random(seed)
    history = History(rng, box, folder)
    history.edit()
    for _ in range(rng.randint(1, 5)):
        methods = rng.choice([["POST"], ["POST"], ["GET", "POST"]])
        box.faults[:] = [
            Fault(
                rng.choice(get_args(Kind)),
                method,
                every=rng.randint(2, 7),
                seconds=0.05,
            )
            for method in methods
        ]
        signs = [signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM, None]
        history.run(rng.choice(signs))
        if rng.random() < 0.5:
            history.edit()
    box.faults.clear()
    codes = [history.run() for _ in range(3)]

    assert codes[-1] == int(history.bad_rows > 0)
    rows = Counter(row for row in history.rows if ",cats," not in row)
    made = {
        f"{name},{category_id},{status or ''}": count
        for (name, category_id, status), count in stored_animals(box).items()
        if name.startswith(f"{folder.name} ")
    }
    assert made == rows
    files = sorted(folder.glob("animals.created*.csv"), key=lambda p: p.stat().st_mtime)
    created = pd.read_csv(files[-1], dtype=str)
    assert created["id"].dropna().is_unique  # a 201 without a usable body names none
    assert len(created) == rows.total()


@pytest.mark.soak
@pytest.mark.case("P32")
@pytest.mark.timeout(3_600)
@PARTS
def test_a_thousand_histories_of_the_command(tmp_path: Path, part: int) -> None:
    """
    Each row has one animal and one line in the result files, and each exit code is
    right.
    """
    with Sandbox(plan=AMPLE, clock="system", animals=3) as box:
        for seed in range(part * HISTORIES, (part + 1) * HISTORIES):
            _play(seed, box, tmp_path / f"h{seed}")


def _interrupted(call: Callable[[], object], after_s: float) -> BaseException | None:
    """Make a call with Ctrl-C so long after its begin; None where it had ended."""
    me = threading.get_ident()
    timer = threading.Timer(after_s, signal.pthread_kill, (me, signal.SIGINT))
    ended = False
    try:
        timer.start()
        try:
            call()
            ended = True
        finally:
            timer.cancel()
            timer.join()
    except KeyboardInterrupt as interrupt:
        timer.join()
        return None if ended else interrupt
    assert ended
    return None


def _calls(
    box: Sandbox, folder: Path
) -> list[tuple[PetStore, Callable[[], object], float]]:
    """
    Return what a person interrupts: the store, the call, and the seconds that it takes.
    """
    folder.mkdir()
    store = box.connect(state_dir=folder / "state", reconcile_after_s=30.0)
    path = write_rows(
        folder / "a.csv", *(f"{folder.name} {n},3,sold" for n in range(6)), "x,cats,"
    )
    box.faults[:] = (
        [Fault("drop_after", "POST", numbers=(3,))] if folder.name.endswith("0") else []
    )
    used_up = box.connect(plan=Plan(60, 1), state_dir=folder / "state")
    used_up.list_pets(first=1)
    return [
        (store, lambda: store.import_pets(path, progress=False, wait=True), 0.4),
        (store, store.list_pets, 0.1),
        (used_up, lambda: used_up.list_pets(wait=True), 0.3),
        (
            used_up,
            lambda: used_up.import_pets(
                path, name="b", doubtful="send", progress=False, wait=True
            ),
            0.3,
        ),
    ]


@pytest.mark.soak
@pytest.mark.case("P97")
@pytest.mark.timeout(3_600)
# an interrupt inside a library leaves its socket to the garbage collector
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@PARTS
def test_a_thousand_instants_of_calls(tmp_path: Path, part: int) -> None:
    """The interrupt is raised, nothing is sent afterwards, and nothing stays locked."""
    rng = random.Random(part)
    kept = []
    with Sandbox(plan=AMPLE, clock="system", animals=120) as box:
        for number in range(INSTANTS):
            store, call, takes_s = rng.choice(_calls(box, tmp_path / f"i{number}"))
            before = len(box.traffic()) - store.client.sent
            interrupt = _interrupted(call, rng.uniform(0, takes_s))
            sent = store.client.sent
            threads = [t for t in threading.enumerate() if t.name.startswith(THREADS)]
            for thread in threads:
                thread.join(60)
                assert not thread.is_alive()
            assert len(box.traffic()) - before <= sent + len(threads)
            assert interrupt is None or exits.of_error(interrupt) == exits.INTERRUPTED
            kept.append(interrupt)
            box.faults.clear()
            beside = box.connect(
                state_dir=tmp_path / f"i{number}" / "state", reconcile_after_s=0.0
            )
            result = beside.import_pets(
                tmp_path / f"i{number}" / "a.csv", progress=False
            )
            assert (result.created, result.rejected) == (6, 1)
            made = stored_animals(box)
            assert {made[f"i{number} {n}", 3, "sold"] for n in range(6)} == {1}
    assert any(kept)
