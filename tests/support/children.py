"""The command in a child of a process that has loaded it: it starts in milliseconds."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

_CHILDREN = multiprocessing.get_context(
    "forkserver" if sys.platform != "win32" else None
)
_CHILDREN.set_forkserver_preload(["children", "petstore_tools.cli.import_", "pandas"])


def _run(
    arguments: list[str],
    environment: Mapping[str, str],
    printed: Path,
    ready: Connection,
) -> None:
    from petstore_tools import cli
    from petstore_tools.store import PetStore  # noqa: F401 - loaded before a signal comes

    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, signal.default_int_handler)
    os.environ.update(environment)
    output = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(os.open(f"{printed}.err", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    try:
        ready.send(None)
        cli.main(arguments)
    except KeyboardInterrupt:  # outside the command, Python itself ends a process so
        sys.exit(130)


def run_in_child(
    arguments: list[str],
    environment: Mapping[str, str],
    printed: Path,
    *,
    sign: signal.Signals | None = None,
    after_s: float = 0.0,
) -> tuple[int, dict[str, Any]]:
    """
    Run a command of ours, and send it a signal so long after its begin.

    Returns:
        Its exit code, and the object that it printed, {} where it printed none.
    """
    ours, theirs = _CHILDREN.Pipe()
    process = _CHILDREN.Process(
        target=_run, args=(arguments, environment, printed, theirs)
    )
    process.start()
    ours.recv()
    if sign is not None:
        time.sleep(after_s)
        if process.is_alive() and process.pid:
            os.kill(process.pid, sign)
    process.join(300)
    assert process.exitcode is not None, f"{arguments} hangs"
    text = printed.read_text()
    return process.exitcode, json.loads(text) if text.strip() else {}
