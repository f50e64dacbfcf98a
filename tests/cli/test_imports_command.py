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


def test_show_stops_at_twenty_rows_unless_all_are_asked_for(run: Run, tmp_path: Path) -> None:
    """As `list` does; how many more there are is said."""
    name = begun(run, tmp_path)

    short = run("imports", "show", name)
    whole = run("imports", "show", name, "--all")

    left = whole.stdout.count("Animal ")
    assert left >= 30
    assert short.stdout.count("Animal ") == 20
    assert f"... {left - 20} more; --all shows them" in short.stderr
    assert "more" not in whole.stderr


def test_imports_of_another_environment_are_left_out_where_one_is_named(
    run: Run, tmp_path: Path
) -> None:
    """Without the option all are listed."""
    name = begun(run, tmp_path)

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
