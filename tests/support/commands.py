"""
The command line in a process of its own, with a sandbox as its service where one is
given.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from petstore_tools import Sandbox

RunCommand = Callable[..., subprocess.CompletedProcess[str]]


def run_program(
    *arguments: str,
    code: str | None = None,
    box: Sandbox | None = None,
    cwd: Path | None = None,
    stdin: str | int = "",
    **env: str,
) -> subprocess.CompletedProcess[str]:
    """
    Run a command of ours, or Python code, to its end; it never shows a traceback or the
    key.
    """
    told = (
        {"PETSTORE_BASE_URL": box.base_url, "PETSTORE_API_KEY": box.api_key}
        if box
        else {}
    )
    done = subprocess.run(
        [
            sys.executable,
            *(["-m", "petstore_tools", *arguments] if code is None else ["-c", code]),
        ],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=cwd,
        env={**os.environ, **told, **env},
        **({"input": stdin} if isinstance(stdin, str) else {"stdin": stdin}),  # type: ignore[call-overload]
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert box is None or box.api_key not in done.stdout + done.stderr
    return done


def run_on_terminal(
    *arguments: str,
    box: Sandbox,
    cwd: Path,
    answers: str = "",
    meanwhile: Callable[[], object] = lambda: None,
) -> tuple[int, str]:
    """
    Run a command of ours on a terminal of its own; return its exit code and all that
    the screen showed. While its question is read, something else may happen.
    """
    import pty  # POSIX only
    import termios

    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (40, 120))  # of no columns, a bar is not drawn
    told = {
        "PETSTORE_BASE_URL": box.base_url,
        "PETSTORE_API_KEY": box.api_key,
        "PETSTORE_PROGRESS": "1",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "petstore_tools", *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=cwd,
        env={**os.environ, **told},
    )
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # EIO: the other side is closed
        while more := os.read(ours, 65_536):
            shown += more
            if answers and shown.endswith(
                b"]: "
            ):  # typed when the question is there, as a person does
                meanwhile()
                os.write(ours, answers.encode())
                answers = ""
    os.close(ours)
    return process.wait(60), shown.decode()
