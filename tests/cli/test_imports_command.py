"""
`petstore-tools imports`: what it shows, of which environment, and how an import is gone on with.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from petstore_tools import Sandbox
from petstore_tools.plans import Plan

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def box() -> Iterator[Sandbox]:
    with Sandbox(plan=Plan(10_000, 100), clock="system", animals=0) as found:
        yield found


def begun(run: Run, folder: Path, rows: int = 130) -> str:
    """Import more rows than a day has requests, and return the name of the import."""
    lines = [f"Animal {n},{n}" for n in range(rows)]
    (folder / "many.csv").write_text("\n".join(["name,categoryId", *lines]))
    done = run("import", "many.csv", "--yes", "--json", PETSTORE_PLAN="10000/100")
    assert done.returncode == 4
    return str(json.loads(done.stdout)["journal"])


def test_the_list_is_of_the_environment_that_is_named_and_a_row_that_is_left_is_shown(
    run: Run, tmp_path: Path
) -> None:
    """Without the option all imports are listed."""
    name = begun(run, tmp_path)

    assert run("imports", "show", name).stdout.count("Animal ") >= 30
    assert name in run("imports").stdout
    assert name in run("imports", "--environment", "production").stdout
    assert run("imports", "--environment", "staging").stdout == "No imports yet.\n"


def test_a_short_name_that_several_imports_begin_with_is_refused(run: Run, tmp_path: Path) -> None:
    """And one that none begins with."""
    assert "no import begins with '': " in run("imports", "show", "").stderr
    for n in range(2):
        (tmp_path / f"{n}.csv").write_text(f"name,categoryId\nRex {n},{n}\n")
        assert run("import", f"{n}.csv", "--yes").returncode == 0

    assert "several imports begin with '': " in run("imports", "show", "").stderr
    assert "no import begins with 'zzz': " in run("imports", "show", "zzz").stderr


def test_a_service_without_keys_says_so(run: Run, tmp_path: Path) -> None:
    """As `imports` does, in place of an empty table."""
    assert run("keys", "list", "--database", str(tmp_path / "new.db")).stdout == "No keys yet.\n"
