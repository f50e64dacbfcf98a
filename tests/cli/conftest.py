"""
A service with 25 animals, and the command line in a process of its own, in a folder of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import commands
import pytest

from petstore_tools import Sandbox
from petstore_tools.plans import Plan


@pytest.fixture
def box() -> Iterator[Sandbox]:
    with Sandbox(plan=Plan(10_000, 100_000), clock="system", animals=25) as found:
        yield found


@pytest.fixture
def run(box: Sandbox, tmp_path: Path) -> Callable[..., object]:
    """Run a command, or `code=`, with the sandbox as its service."""
    return partial(commands.run, box=box, cwd=tmp_path, PETSTORE_PLAN="10000/100000")
