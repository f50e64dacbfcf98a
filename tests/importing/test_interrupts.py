"""
Ctrl-C at each line of an import and of a listing: it wins, and leaves nothing behind.
"""

import gc
import random
import signal
import sqlite3
import sys
import threading
import time
from functools import partial

import pytest
from commands import needs_signals
from interrupts import Interrupter
from inventories import connect_through, stored_animals, write_rows
from proxy import FaultProxy
from tables import soak_parts

from petstore_tools import Sandbox
from petstore_tools.plans import Plan

AMPLE = Plan(100_000, 1_000_000)
PARTS = soak_parts(range(80))
THREADS = ("import", "page")


def _await_threads():
    """Let the threads of a call end; return how many there were."""
    running = [
        thread for thread in threading.enumerate() if thread.name.startswith(THREADS)
    ]
    for thread in running:
        thread.join(60)
        assert not thread.is_alive()
    return len(running)


class Office:
    """A service, and stores of people who interrupt what they do."""

    def __init__(self, box, folder):
        self.box = box
        self._folder = folder
        self._people = 0

    def welcome(self):
        """
        Return the store of a new person, and a file of two animals and a row with a
        problem.
        """
        self._people += 1
        folder = self._folder / str(self._people)
        folder.mkdir()
        store = self.box.connect(state_dir=folder / "state", reconcile_after_s=0.0)
        rows = f"Rex {self._people},3,sold", f"Mia {self._people},4,", "Ida,cats,"
        return store, write_rows(folder / "a.csv", *rows)

    def interrupt(self, call, point):
        """
        Interrupt a call, and make it again while the interrupt is kept, as a notebook
        keeps it.
        """
        store, path = self.welcome()
        interrupter = Interrupter(point)
        interrupt = None
        try:
            interrupter.run(lambda: call(store, path))
        except KeyboardInterrupt as error:
            interrupt = error
        sent = len(self.box.traffic())
        # what the caller's thread had sent may be answered later
        under_way = 1 + _await_threads()
        assert len(self.box.traffic()) - sent <= under_way
        call(store, path)
        store.quota()
        assert (interrupt is not None) == interrupter.has_interrupted


def _import(box, store, path):
    result = store.import_pets(path, progress=False)
    assert (result.created, result.rejected) == (2, 1)
    animals = stored_animals(box)
    number = path.parent.name
    assert animals[f"Rex {number}", 3, "sold"] == 1
    assert animals[f"Mia {number}", 4, None] == 1


def _listing(_, store, __):
    assert len(store.list_pets()) >= 120


@needs_signals
def test_an_interrupt_wins_while_another_program_holds_the_journal(fast, tmp_path):
    """It is raised as it is, and the same call goes on when the other one has ended."""
    me = threading.get_ident()
    path = write_rows(tmp_path / "a.csv", "Rex,3,sold")
    connections = list[sqlite3.Connection]()

    def press():
        while not sys._current_frames()[me].f_code.co_filename.endswith(
            "petstore_tools/sqlite.py"
        ):
            time.sleep(0.01)
        signal.pthread_kill(me, signal.SIGINT)

    def hold(method, number):
        if not connections:
            (database,) = store.journal_folder.glob("*.db")
            connections.append(sqlite3.connect(database, check_same_thread=False))
            connections[0].execute("BEGIN IMMEDIATE")
            threading.Thread(target=press).start()
        return "pass"

    with FaultProxy(fast.base_url, hold) as proxy:
        store = connect_through(fast, proxy)
        with pytest.raises(KeyboardInterrupt):
            store.import_pets(path, progress=False)
        connections[0].close()
        result = store.import_pets(path, progress=False)

    assert (result.created, stored_animals(fast)) == (1, {("Rex", 3, "sold"): 1})


@needs_signals
@pytest.mark.parametrize("kind", ["import", "listing"])
def test_an_interrupt_ends_a_wait_for_tomorrow(tmp_path, kind):
    """Whenever it comes; nothing is sent, and the budget is not locked."""
    path = write_rows(tmp_path / "a.csv", "Rex,3,sold")
    with Sandbox(plan=AMPLE, clock="system", animals=120) as box:
        store = box.connect(plan=Plan(60, 1))
        store.list_pets(first=1)

        def wait():
            press = threading.get_ident(), signal.SIGINT
            threading.Timer(0.3, signal.pthread_kill, press).start()
            if kind == "import":
                store.import_pets(path, progress=False, wait=True, doubtful="send")
            store.list_pets(wait=True)

        with pytest.raises(KeyboardInterrupt):
            wait()

        _await_threads()
        assert len(box.traffic()) == 1
        assert store.quota().day.left == 0


@pytest.mark.skipif(sys.gettrace() is not None, reason="another tracer runs")
# an interrupt inside a library leaves its socket to the garbage collector
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("kind", [_import, _listing], ids=["import", "listing"])
@pytest.mark.parametrize("part", PARTS)
def test_an_interrupt_at_any_line_wins(tmp_path, part, kind):
    """
    Nothing leaves afterwards, nothing stays locked, and the same call goes on; with `-m
    soak` at all lines and with the waits that they cost, else at one of eighty.
    """
    clock = "system" if part else "manual"
    with Sandbox(plan=AMPLE, clock=clock, animals=120) as box:
        office = Office(box, tmp_path)
        call = partial(kind, box)
        call(*office.welcome())  # it loads modules
        passing = Interrupter()
        passing.run(lambda: call(*office.welcome()))
        points = [
            point
            for point in sorted(passing.pass_counts)
            if clock == "system" or not point[0].endswith("clock.py")
        ]
        random.Random(0).shuffle(points)

        for point in points[part :: len(PARTS)]:
            office.interrupt(call, point)
    gc.collect()  # what interrupts have left is this test's
