"""
Notebooks that are run: the nightly one on the service of the settings, and what stops
it; and the sample report.
"""

import os
import re
import shlex
import subprocess
import sys
from functools import partial
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from commands import run_program
from PIL import Image

from petstore_tools import PetStore, Sandbox

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ROOT / "notebooks"


@pytest.fixture
def box():
    """A service that the settings file alone names, as `configure` writes it."""
    with Sandbox(plan="pro", clock="system", animals=120) as service:
        address = f'base_url = "{service.base_url}"\nplan = "pro"\n'
        text = f'{address}api_key = "{service.api_key}"\n'
        Path(os.environ["PETSTORE_CONFIG"]).write_text(text)
        yield service


run = partial(subprocess.run, capture_output=True, text=True)


def run_nightly(folder, parameters):
    """Run the nightly notebook as a job does; return exit code, and what it said."""
    path = folder / "tonight.ipynb"
    notebook = NOTEBOOKS / "06_nightly_report.ipynb"
    command = [sys.executable, "-m", "papermill", notebook, path]
    words = shlex.split(f"--cwd {folder} --no-progress-bar {parameters}")
    done = run([*command, *words])
    return done.returncode, done.stderr + path.read_text("utf-8")


def run_cells(name, **parameters):
    """Run the cells of a notebook in this process; return what its names stand for."""
    names = {}
    for cell in nbformat.read(NOTEBOOKS / name, 4).cells:
        if cell.cell_type == "code":
            exec(cell.source, names)
        if "parameters" in cell.metadata.get("tags", []):
            names |= parameters
    return names


def test_settings_from_the_file_alone_are_those_of_all(box, tmp_path):
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
    code, notebook = run_nightly(
        tmp_path,
        "-p OUTPUT report.html -y 'CATEGORIES: {1: Hunde, 2: Katzen}'",
    )

    assert report.headline.startswith("120 animals: ")
    assert report.provenance.startswith("complete, ")
    assert "complete: 120 animals of the inventory of production" in listed.stderr
    assert code == 0, notebook
    assert "Stock is unchanged at 120. 1 was sold." in notebook
    # no sample category names a real inventory's
    assert not re.search("Rabbits|Guinea", notebook)
    assert list(box.traffic()["method"]) == ["GET"] * 6  # two pages for each of them
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "Hunde" in page
    assert re.findall(r"<td>([+-]\d+)</td>", page) != []


def test_without_settings_the_job_fails_and_names_configure(tmp_path):
    """
    It never falls back to a sandbox; papermill names a parameter that is misspelt.
    """
    code, notebook = run_nightly(tmp_path, "-p STATSU sold")

    assert code == 1
    assert "SettingsError: no base address" in notebook
    assert "petstore-tools configure" in notebook
    assert "sandbox, " not in notebook
    assert "unknown parameter: STATSU" in notebook


def test_a_sandbox_is_reported_on_where_it_is_asked_for(box):
    """And then it is called one; a filter is a parameter."""
    report = run_cells("06_nightly_report.ipynb", SANDBOX=True, STATUS="sold")["report"]

    assert report.provenance.startswith("complete, status sold, sandbox, ")
    assert len(box.traffic()) == 0


def cells_of(folder):
    """Return what stands in all sheets of the workbook."""
    path = folder / "status_report.xlsx"
    return pd.concat(pd.read_excel(path, sheet_name=None, engine="calamine")).to_csv()


def test_the_sample_report_and_its_picture_are_what_the_notebook_writes(tmp_path):
    """
    Page, workbook, and the page that the picture carries; `python
    notebooks/pictures.py` makes them again.
    """
    run_cells("03_status_report.ipynb", FOLDER=tmp_path)
    page = (tmp_path / "status_report.html").read_text("utf-8")

    assert (NOTEBOOKS / "status_report.html").read_text("utf-8") == page
    assert cells_of(NOTEBOOKS) == cells_of(tmp_path)
    with Image.open(NOTEBOOKS / "status_report.png") as picture:
        assert picture.info["page"] == page
