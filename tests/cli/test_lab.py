"""
`lab`: JupyterLab with a sandbox that says what it is, takes an import, and leaves nothing behind.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import requests
from commands import run

from petstore_tools import PetStore, Sandbox
from petstore_tools.errors import SettingsError
from petstore_tools.sandbox import samples

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for another process")


def until(holds: Callable[[], bool], seconds: float) -> bool:
    give_up_at = time.monotonic() + seconds
    while not (held := holds()) and time.monotonic() < give_up_at:
        time.sleep(0.1)
    return held


class Lab:
    """A running `petstore-tools lab` without FOLDER, with options for JupyterLab."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.at = f"http://127.0.0.1:{free.getsockname()[1]}"
        (folder / "notebooks").mkdir()
        (folder / "notebooks" / "mine.ipynb").write_text("{}")
        (folder / "temporary").mkdir()
        self.temporary = folder / "temporary"
        options = ["--no-browser", "--port", self.at.rpartition(":")[2], "--allow-root"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "petstore_tools", "lab", *options, "--IdentityProvider.token=t"],
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={
                **os.environ,
                "TMPDIR": str(self.temporary),
                "PETSTORE_LEDGER_URL": "postgresql://nobody/none",
            },
            start_new_session=True,
        )

    def ask(self, method: str, path: str, **more: object) -> requests.Response:
        return requests.request(method, f"{self.at}/api/{path}?token=t", timeout=10, **more)  # type: ignore[arg-type]

    def answers(self) -> bool:
        assert self.process.poll() is None
        try:
            return self.ask("GET", "status").status_code == 200
        except requests.ConnectionError:
            return False


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    running = Lab(tmp_path)
    family = []
    try:
        assert until(running.answers, 50)
        family = psutil.Process(running.process.pid).children(recursive=True)
        yield running
    finally:
        for process in (running.process, *family):
            with suppress(psutil.NoSuchProcess, ProcessLookupError):
                process.kill()
        running.process.communicate(timeout=20)


@pytest.mark.parametrize("by", ["Ctrl-C", "SIGTERM"])
def test_lab_leaves_no_process_and_no_file(lab: Lab, by: str) -> None:
    """
    A terminal's Ctrl-C goes to its whole group, a SIGTERM to one process; a kernel is running.
    """
    assert {entry["name"] for entry in lab.ask("GET", "contents").json()["content"]} == {
        "mine.ipynb"
    }
    assert lab.ask("POST", "kernels", json={"name": "python3"}).status_code == 201
    family = psutil.Process(lab.process.pid).children(recursive=True)
    assert len(family) >= 2

    if by == "Ctrl-C":
        os.killpg(lab.process.pid, signal.SIGINT)
    else:
        lab.process.send_signal(signal.SIGTERM)

    assert lab.process.wait(30) == 0
    assert until(lambda: not any(process.is_running() for process in family), 10)
    assert [
        path.name for path in lab.temporary.iterdir() if path.name.startswith("petstore-")
    ] == []


def test_what_lab_starts_is_called_a_sandbox_and_uses_nothing_of_yours(lab: Lab) -> None:
    """
    Its programs find the sandbox by their environment; the settings of a real service are not
    theirs.
    """
    assert lab.process.stderr is not None
    said = lab.process.stderr.readline()
    jupyter = psutil.Process(lab.process.pid).children()[0]
    given = {
        name: value for name, value in jupyter.environ().items() if name.startswith("PETSTORE_")
    }

    listed = run("quota", **given)
    with PetStore(
        base_url=given["PETSTORE_BASE_URL"], api_key=given["PETSTORE_API_KEY"], ledger="memory"
    ) as store:
        assert len(store.list_pets()) == 250

    assert said.startswith("The sandbox runs at http://127.0.0.1:")
    assert "PETSTORE_LEDGER_URL" not in given
    assert not Path(given["PETSTORE_CONFIG"]).exists()
    assert given["PETSTORE_ENVIRONMENT"] == "sandbox"
    assert listed.returncode == 0


def test_a_folder_that_is_not_there_is_named() -> None:
    """Before anything starts."""
    done = run("lab", "nowhere")

    assert done.returncode == 2
    assert "there is no folder 'nowhere'" in done.stderr


def test_the_environment_sandbox_is_never_a_service_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its name stands in result files: no real inventory may bear it."""
    monkeypatch.setenv("PETSTORE_ENVIRONMENT", "sandbox")

    here = PetStore(base_url="http://127.0.0.1:9/v1", api_key="k")
    assert repr(here).startswith("PetStore(sandbox, on this machine")
    with pytest.raises(SettingsError, match="for a service on this machine"):
        PetStore(base_url="https://shop.example/v1", api_key="k")


@pytest.mark.parametrize("name", ["animals.csv", "animals_with_problems.csv", "animals.xlsx"])
def test_the_sample_files_do_not_collide_with_a_sandboxs_own_animals(
    name: str, tmp_path: Path
) -> None:
    """The first import of a newcomer is not refused as a copy of what is there."""
    shutil.copy(ROOT / "data" / name, tmp_path)
    with Sandbox(plan="business") as box:
        columns = {"Animal name": "name"} if name.endswith(".xlsx") else None
        result = box.store.import_pets(
            tmp_path / name, columns=columns, allow_bad=True, progress=False
        )

    assert result.created > 0
    assert result.stopped is None


def test_a_sandbox_of_any_size_has_the_same_first_animals() -> None:
    """All different, and none of them in a file of samples."""
    few, many = samples.inventory(10), samples.inventory(3_000)

    assert few == many[:10]
    assert len(set(many)) == 3_000
    assert not set(many) & set(samples.animals(1_000))
