"""`petstore-tools list`: how it ends, what it asks, and what it checks before the first request."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from petstore_tools import Sandbox
from petstore_tools.core.plan import Plan
from petstore_tools.faults import Fault

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def box() -> Iterator[Sandbox]:
    with Sandbox(plan=Plan(10_000, 100_000), clock="system", animals=25) as found:
        yield found


@pytest.fixture
def run(box: Sandbox, tmp_path: Path) -> Run:
    """Run Python or a command in a folder of its own, with the sandbox as its service."""

    def call(*arguments: str, code: str | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
        given = {
            **os.environ,
            "PETSTORE_BASE_URL": box.base_url,
            "PETSTORE_API_KEY": box.api_key,
            "PETSTORE_PLAN": "10000/100000",
            **environ,
        }
        what = ["-m", "petstore_tools", *arguments] if code is None else ["-c", code]
        return subprocess.run(
            [sys.executable, *what],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=given,
            stdin=subprocess.DEVNULL,
            timeout=60,
            check=False,
        )

    return call


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGALRM")
def test_an_exit_that_somebody_asked_for_keeps_its_code(run: Run, box: Sandbox) -> None:
    """A handler of SIGTERM calls `sys.exit(143)`: that is no success."""
    box.faults.append(Fault("slow", seconds=20))
    code = """if True:
        import signal, sys
        from petstore_tools.cli import main
        signal.signal(signal.SIGALRM, lambda *_: sys.exit(143))
        signal.alarm(2)
        main(["list"])
    """

    assert run(code=code).returncode == 143


@pytest.mark.parametrize("wanted", ["list_pets()", "snapshot()", "status_report()"])
def test_without_progress_nothing_is_printed(run: Run, wanted: str) -> None:
    """`progress=False` also where a bar would be drawn."""
    code = f"import ipykernel; from petstore_tools import PetStore; PetStore(progress=False).{wanted}"

    done = run(code=code, PETSTORE_PROGRESS="1")

    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
