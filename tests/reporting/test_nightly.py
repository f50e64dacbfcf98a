"""
The nightly notebook: the service of the settings, wherever they are kept, and what
stops it.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import run_program

from petstore_tools import PetStore, Sandbox

ROOT = Path(__file__).parents[2]


@pytest.fixture
def box() -> Iterator[Sandbox]:
    """A service that the settings file alone names, as `configure` writes it."""
    with Sandbox(plan="pro", clock="system", animals=120) as service:
        entries = {
            "base_url": service.base_url,
            "api_key": service.api_key,
            "plan": "pro",
        }
        text = "".join(
            f"{name} = {json.dumps(value)}\n" for name, value in entries.items()
        )
        Path(os.environ["PETSTORE_CONFIG"]).write_text(text)
        yield service


def nightly(
    folder: Path, *parameters: str
) -> tuple[subprocess.CompletedProcess[str], str]:
    """
    Run the notebook as a job does; return what became of it, and the notebook that it
    made.
    """
    notebook_path = folder / "tonight.ipynb"
    notebook = ROOT / "notebooks" / "06_nightly_report.ipynb"
    command = [
        sys.executable,
        "-m",
        "papermill",
        notebook,
        notebook_path,
        "--cwd",
        folder,
    ]
    done = subprocess.run(
        [*command, "--no-progress-bar", *parameters],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return done, notebook_path.read_text("utf-8")


@pytest.mark.case("P68")
def test_settings_from_the_file_alone_are_those_of_all(
    box: Sandbox, tmp_path: Path
) -> None:
    """
    Command line, library and nightly notebook list the same service, and call it by the
    same name. The page that is written is what `last` means the next night; the
    categories are a parameter.
    """
    with PetStore() as store:
        report = store.status_report()
    report.to_html(tmp_path / "yesterday.html")
    listed = run_program("list", cwd=tmp_path)
    box.change(2, status="sold")
    tonight, notebook = nightly(
        tmp_path,
        "-p",
        "OUTPUT",
        "report.html",
        "-y",
        "CATEGORIES: {1: Hunde, 2: Katzen}",
    )

    assert report.headline.startswith("Complete: 120 animals of the inventory, ")
    assert "complete: 120 animals of the inventory of production" in listed.stderr
    assert tonight.returncode == 0, tonight.stderr
    assert "Complete: 120 animals of the inventory, " in notebook
    # no sample category names a real inventory's
    assert not re.search("Rabbits|Guinea", notebook)
    assert list(box.traffic()["method"]) == ["GET"] * 6  # two pages for each of them
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "Hunde" in page
    assert re.findall(r"<td>([+-]\d+)</td>", page) != []


@pytest.mark.case("P55", "P68")
def test_without_settings_the_job_fails_and_names_configure(tmp_path: Path) -> None:
    """
    It never falls back to a sandbox; papermill names a parameter that is misspelt.
    """
    done, notebook = nightly(tmp_path, "-p", "STATSU", "sold")

    assert done.returncode == 1
    assert "SettingsError: no base address" in done.stderr
    assert "petstore-tools configure" in done.stderr
    assert "of the inventory of sandbox" not in notebook
    assert "unknown parameter: STATSU" in done.stderr


@pytest.mark.case("P68")
def test_a_sandbox_is_reported_on_where_it_is_asked_for(
    box: Sandbox, tmp_path: Path
) -> None:
    """And then it is called one; a filter is a parameter."""
    done, notebook = nightly(tmp_path, "-p", "SANDBOX", "True", "-p", "STATUS", "sold")

    assert done.returncode == 0
    assert "animals of status sold in sandbox" in notebook
    assert len(box.traffic()) == 0
