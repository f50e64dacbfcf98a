"""
What stands after an import of 500 rows that meets faults, beside the README's loop.

Of the creates, every 25th loses its answer after the commit, every 25th before it, and
every 25th is answered 500. In the second scenario the process is killed three times as
well, soon after its first create, and started again as one would: by the same command.
Cells: animals too many / rows that do not stand / whether what the tool said of the
number created is true. All rows have a status: pandas makes a number of an empty cell,
which JSON does not have.

Run: python tests/benchmarks/faults.py [ROWS]
"""

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from programs import head, row, run_readme_loop

# isort: split
from inventories import stored_animals, write_rows
from services import keyed_session

from petstore_tools import PetStore, Plan, Sandbox
from petstore_tools.sandbox import samples
from petstore_tools.sandbox.faults import Fault

AMPLE = Plan(100_000, 1_000_000)
FAULTS = [
    Fault(kind, "POST", numbers=tuple(range(first, 10_000, 25)))
    for kind, first in (("drop_after", 5), ("drop_before", 10), ("error_before", 15))
]
KILL_AFTER_S = (0.2, 0.6, 0.4)  # after its first create


def the_loop(path, base_url, key):
    """The loop that the README prints; it says nothing."""
    run_readme_loop(keyed_session(key), base_url, path.parent)
    return ""


def ours(path, base_url, key):
    """The import of this toolkit."""
    os.environ["PETSTORE_RECONCILE_AFTER_S"] = "0.5"
    store = PetStore(
        base_url=base_url, api_key=key, plan=AMPLE, state_dir=path.parent / "state"
    )
    for _ in range(10):
        result = store.import_pets(path)
        if not result.not_sent:
            break
    return result.created


WAYS = {"petstore_tools": ours, "the loop": the_loop}


def kill_after_first_create(command, box, after_s):
    """
    Start a program, and kill it so long after it made an animal, unless it has ended.
    """
    before = stored_animals(box).total()
    nothing = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=nothing, stderr=nothing) as program:
        while program.poll() is None and stored_animals(box).total() == before:
            time.sleep(0.01)
        with suppress(subprocess.TimeoutExpired):
            program.wait(after_s)
        program.kill()


def run(way, rows, *, kills):
    """Import through the faults; return the cell of a table."""
    animals = [animal for animal in samples.animals(2 * rows) if animal[2]][:rows]
    with (
        tempfile.TemporaryDirectory() as name,
        Sandbox(plan=AMPLE, clock="system", animals=0, faults=FAULTS) as box,
    ):
        path = write_rows(
            Path(name) / "animals.csv", *(f"{n},{c},{s}" for n, c, s in animals)
        )
        command = [sys.executable, __file__, way, str(path), box.base_url, box.api_key]
        for after_s in KILL_AFTER_S if kills else ():
            kill_after_first_create(command, box, after_s)
        done = subprocess.run(command, capture_output=True, check=True)
        stock = stored_animals(box)
    expected_animals = Counter(animals)
    too_many = (stock - expected_animals).total()
    output = done.stdout.split()
    if not output:
        words = "nothing"
    elif int(output[-1]) == (stock & expected_animals).total() and not too_many:
        words = "the truth"
    else:
        words = "not the truth"
    return f"{too_many} / {(expected_animals - stock).total()} / {words}"


def main(words):
    """Print the table."""
    if len(words) > 1:
        print(WAYS[words[0]](Path(words[1]), words[2], words[3]))
        return
    rows = int(words[0]) if words else 500
    head(f"{rows} rows", "lost answers", "lost answers and 3 kills")
    for way in WAYS:
        row(way, *(run(way, rows, kills=kills) for kills in (False, True)))


if __name__ == "__main__":
    main(sys.argv[1:])
