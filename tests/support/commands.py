"""
The command line in a process of its own, with a sandbox as its service where one is
given.
"""

import os
import shlex
import subprocess
import sys
from contextlib import suppress
from unittest.mock import patch

import pytest
from click.testing import CliRunner

from petstore_tools.cli import cli, main

needs_terminal = pytest.mark.skipif(
    sys.platform == "win32", reason="a terminal of its own needs POSIX"
)
needs_signals = pytest.mark.skipif(
    sys.platform == "win32", reason="no signal for another process or a thread"
)


def connection(sandbox):
    """Return the settings that name a sandbox."""
    return {
        "PETSTORE_BASE_URL": sandbox.base_url,
        "PETSTORE_API_KEY": sandbox.api_key,
    }


def run_program(*arguments, code=None, sandbox=None, cwd=None, stdin="", **env):
    """
    Run a command of ours, or Python code, to its end; it never shows a traceback or the
    key.
    """
    program = ["-m", "petstore_tools", *arguments] if code is None else ["-c", code]
    source = {"input": stdin} if isinstance(stdin, str) else {"stdin": stdin}
    process = subprocess.run(
        [sys.executable, *program],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=cwd,
        env={**os.environ, **(connection(sandbox) if sandbox else {}), **env},
        **source,
        timeout=60,
    )
    assert "Traceback" not in process.stderr
    assert sandbox is None or sandbox.api_key not in process.stdout + process.stderr
    return process


def end_main(line, *words):
    """
    Run a command of ours in this process, and return its exit code: a line as it is
    typed, and words that come from elsewhere.
    """
    command = ["petstore-tools", *shlex.split(line), *words]
    with patch.object(sys, "argv", command), pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


def configure(*answers, environment="production", code=0):
    """Answer what `configure` asks; it ends with 0, or the code that is named."""
    arguments = ["configure", "--environment", environment]
    done = CliRunner().invoke(cli, arguments, input="\n".join([*answers, ""]))
    assert done.exit_code == code, done.output
    return done


def run_on_terminal(*arguments, sandbox, cwd, answers="", before_answer=lambda: None):
    """
    Run a command of ours on a terminal of its own; return its exit code and all that
    the screen showed. While its question is read, something else may happen.
    """
    import pty  # POSIX only
    import termios

    terminal, child_end = pty.openpty()
    termios.tcsetwinsize(child_end, (40, 120))  # of no columns, a bar is not drawn
    process = subprocess.Popen(
        [sys.executable, "-m", "petstore_tools", *arguments],
        stdin=child_end,
        stdout=child_end,
        stderr=child_end,
        cwd=cwd,
        env={**os.environ, **connection(sandbox), "PETSTORE_PROGRESS": "1"},
    )
    os.close(child_end)
    screen = b""
    with suppress(OSError):  # EIO: the other side is closed
        while chunk := os.read(terminal, 65_536):
            screen += chunk
            # typed when the question is there, as a person does
            if answers and screen.endswith(b"]: "):
                before_answer()
                os.write(terminal, answers.encode())
                answers = ""
    os.close(terminal)
    return process.wait(60), screen.decode()
