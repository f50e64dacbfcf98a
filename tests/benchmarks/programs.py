"""What the benchmarks share: the programs that run beside them, and the rows of their tables."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))


@contextmanager
def serving(*command: object) -> Iterator[str]:
    """Run a script that serves until its input ends; give the line that it prints first."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, *map(str, command)], stdin=pipe, stdout=pipe, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.stdin.close()


def serve_until_input_ends(*said: object) -> None:
    """Be what `serving` runs: say how to reach the server, and wait."""
    print(*said, flush=True)
    sys.stdin.read()


def measured(*command: object) -> Any:
    """Run a script that prints what it measured as JSON; None where a peer is not installed."""
    done = subprocess.run(
        [sys.executable, *map(str, command)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(done.stderr.strip().rpartition("\n")[2], file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def peak_mb() -> float:
    """Return the most memory that this process had; `getrusage` counts that of its parent, too."""
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1_024


def row(*cells: object) -> None:
    """Print a row of a table in Markdown."""
    print("|", " | ".join(map(str, cells)), "|", flush=True)


def head(title: str, *titles: str) -> None:
    """Print the first two lines of a table: one column of words, and columns of numbers."""
    print()
    row(title, *titles)
    row("---", *["---:"] * len(titles))
