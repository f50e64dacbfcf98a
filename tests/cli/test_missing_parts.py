"""
What is said where settings, an optional part or a command is missing: one line that helps (item
17).
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from commands import run
from nbclient import NotebookClient

from petstore_tools import PetStore, Sandbox
from petstore_tools.errors import (
    ArgumentError,
    Interrupted,
    PetstoreError,
    SettingsError,
)

ROOT = Path(__file__).parents[2]


def without(folder: Path, *modules: str) -> dict[str, str]:
    """Return variables under which these modules cannot be imported."""
    lines = [f"sys.modules[{name!r}] = None" for name in modules]
    (folder / "sitecustomize.py").write_text("\n".join(["import sys", *lines]))
    return {"PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}


@pytest.mark.parametrize(
    ("command", "module", "extra"),
    [
        (("serve",), "uvicorn", "server"),
        (("demo",), "uvicorn", "server"),
    ],
)
def test_a_missing_part_ends_in_one_line_that_installs_it(
    command: tuple[str, ...], module: str, extra: str, tmp_path: Path
) -> None:
    """
    From a checkout, too: it names the folder this toolkit came from, and the Python that runs it.
    """
    here = {"PETSTORE_BASE_URL": "http://127.0.0.1:9/v1", "PETSTORE_API_KEY": "k"}

    done = run(*command, cwd=tmp_path, **here, **without(tmp_path, module))

    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert f"needs the extra {extra!r}: {shlex.quote(sys.executable)} -m pip install" in line
    assert f"petstore-tools[{extra}] @ file:" in line


def test_a_parquet_file_without_pyarrow_names_it(tmp_path: Path) -> None:
    """It is of no extra; nothing was sent."""
    here = {"PETSTORE_BASE_URL": "http://127.0.0.1:9/v1", "PETSTORE_API_KEY": "k"}

    done = run("list", "-o", "a.parquet", cwd=tmp_path, **here, **without(tmp_path, "pyarrow"))

    assert done.returncode == 2
    assert "a Parquet file needs pyarrow: " in done.stderr
    assert done.stderr.endswith("-m pip install pyarrow\n")


def test_a_fixture_without_the_server_fails_with_that_line(tmp_path: Path) -> None:
    """No traceback in somebody's test report."""
    (tmp_path / "test_it.py").write_text("def test_it(petstore_store): pass\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        str(tmp_path / "test_it.py"),
    ]
    environment = {**os.environ, **without(tmp_path, "uvicorn")}

    done = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=60
    )

    assert "the sandbox needs the extra 'server': " in done.stdout
    assert "Traceback" not in done.stdout
    assert "sandbox.py" not in done.stdout


@pytest.mark.parametrize("command", ["list", "report", "quota", "doctor"])
def test_configure_is_named_wherever_settings_are_missing(command: str) -> None:
    """Address and key, by command and in Python."""
    done = run(command)
    assert done.returncode == 2
    assert "petstore-tools configure" in done.stdout + done.stderr

    with pytest.raises(SettingsError, match="no API key(.|\n)*petstore-tools configure"):
        PetStore(base_url="https://a/v1")


def test_what_is_expected_is_one_line_in_a_notebook_and_the_rest_a_traceback() -> None:
    """
    Settings that are missing, a date that cannot be read; a fault of the reader's own is shown
    whole.
    """
    cells = [
        "from petstore_tools import PetStore, Sandbox\nPetStore(base_url='https://a/v2', api_key='k')",
        "with Sandbox(animals=1) as box:\n    box.store.status_report(since='05/03/2026')",
        "with Sandbox(animals=1) as box:\n    box.store.list_pets()['colour']",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, kernel_name="python3", allow_errors=True, timeout=60).execute()
    refused, unread, unexpected = [cell.outputs[-1].traceback for cell in notebook.cells]

    assert refused == [
        "SettingsError: the base address must end in /v1; did you mean https://a/v1 ?"
    ]
    assert len(unread) == 1
    assert unread[0].startswith(
        "ArgumentError: '05/03/2026' cannot be read: write a date as 2026-03-05"
    )
    assert "KeyError" in "".join(unexpected)
    assert len("".join(unexpected).splitlines()) > 10


def test_errors_of_ours_are_one_line_and_catchable_as_what_they_are() -> None:
    """An argument is a ValueError, an interrupt a KeyboardInterrupt."""
    assert issubclass(ArgumentError, (PetstoreError, ValueError))
    assert PetstoreError("it is so")._render_traceback_() == ["PetstoreError: it is so"]
    assert Interrupted("3 rows")._render_traceback_() == ["Interrupted: 3 rows"]
    with Sandbox(animals=1) as box, pytest.raises(ValueError, match="in the future"):
        box.store.status_report(since="2999-01-01")
