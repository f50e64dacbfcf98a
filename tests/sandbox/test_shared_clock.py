"""One turned clock over several processes."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from petstore_tools import Sandbox

COLLEAGUE = """
import sys
from petstore_tools import Sandbox
store = Sandbox.join(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for _ in range(50):
    store.list_pets(first=1)
store.close()
"""


@pytest.mark.case("P21", "P60")
def test_two_processes_on_one_turned_clock_use_each_minute_to_its_end() -> None:
    """120 requests of two real processes at 40 a minute: 40, 40, 20, and no refusal."""
    with Sandbox(plan="40/1000", animals=3) as box:
        command = [sys.executable, "-c", COLLEAGUE, box.invite()]
        colleague = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert colleague.stdin is not None
        assert colleague.stdout is not None
        colleague.stdout.readline()
        colleague.stdin.write("go\n")
        colleague.stdin.flush()
        for _ in range(50):
            box.store.list_pets(first=1)
        colleague.communicate(timeout=60)
        traffic = box.traffic()

    assert colleague.returncode == 0
    assert (traffic["status"] == 200).all()
    assert traffic.groupby(traffic["at"].dt.floor("min")).size().tolist() == [40, 40, 20]


def test_a_process_that_is_killed_at_work_does_not_stop_the_clock() -> None:
    """It never ends what it began; its line ends, and the clock moves on."""
    code = """
import sys
from petstore_tools import Sandbox
with Sandbox.join(sys.argv[1]).client.clock.working():
    print("at work", flush=True)
    sys.stdin.readline()
"""
    with Sandbox(plan="2/1000", animals=1) as box:
        command = [sys.executable, "-c", code, box.invite()]
        killed = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert killed.stdout is not None
        assert killed.stdout.readline() == b"at work\n"
        killed.kill()
        killed.communicate(timeout=10)
        before = time.monotonic()
        for _ in range(3):
            box.store.list_pets()

        assert time.monotonic() - before < 20
        assert box.clock.now() > 1_767_603_660


def test_a_sandbox_on_the_machines_clock_needs_no_invitation() -> None:
    """PetStore joins it by its address."""
    with Sandbox(clock="system", animals=0) as box, pytest.raises(ValueError, match="PetStore"):
        box.invite()
