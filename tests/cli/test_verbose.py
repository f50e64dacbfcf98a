"""`-v`: waits, retries and refusals on stderr, and the progress bar stays whole."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from commands import on_a_terminal, run

from petstore_tools import Sandbox
from petstore_tools.sandbox.faults import Fault

TIME = "[0-9]{2}:[0-9]{2}:[0-9]{2}"
RETRY = rf"{TIME} GET /v1/pets: the service answered 500\. Attempt 2 of 5 follows in [0-9.]+ s\."


@pytest.mark.parametrize(
    ("flags", "retries", "answers"), [((), 0, 0), (("-v",), 1, 0), (("-vv",), 1, 4)]
)
def test_v_writes_retries_and_vv_each_request_to_stderr(
    flags: tuple[str, ...], retries: int, answers: int
) -> None:
    """The second of four requests fails; data stays alone on stdout."""
    with Sandbox(animals=300, clock="system", faults=[Fault("error_before", at=(2,))]) as box:
        done = run("list", *flags, box=box)
        quiet = run("list", box=box)

    assert done.returncode == 0
    assert len(re.findall(rf"^{RETRY}$", done.stderr, re.M)) == retries
    assert (
        len(re.findall(rf"^{TIME} GET /v1/pets: the service answered [0-9]+\.$", done.stderr, re.M))
        == answers
    )
    assert done.stdout == quiet.stdout


@pytest.mark.parametrize(
    "command", [("imports", "reconcile"), ("imports",), ("report",), ("keys", "list")]
)
def test_each_command_takes_v(command: tuple[str, ...]) -> None:
    """Commands below a command as well."""
    assert "-v, --verbose" in run(*command, "--help").stdout


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of its own needs POSIX")
def test_on_a_terminal_each_line_stands_above_the_bar(tmp_path: Path) -> None:
    """The bar is taken away, the line is written, and the bar is drawn again."""
    with Sandbox(animals=300, clock="system", faults=[Fault("error_before", at=(2,))]) as box:
        code, shown = on_a_terminal("list", "-v", box=box, cwd=tmp_path)

    lines = [line.rpartition("\r")[2] for line in shown.split("\r\n")]
    (said,) = [line for line in lines if "Attempt" in line]
    assert code == 0
    assert re.fullmatch(RETRY, said)
    assert any(line.startswith("list: 300 animal") for line in lines)
