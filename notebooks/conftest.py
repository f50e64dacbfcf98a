"""
What notebooks need beside themselves: a database, and settings with a service behind
them. `--store` keeps what they show now.
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from copy import deepcopy
from functools import cache
from importlib import import_module
from pathlib import Path

import nbformat
import postgres as postgres_
import pytest
from isolation import isolate_settings
from nbclient import NotebookClient

from petstore_tools import PetStore, Sandbox, spec
from petstore_tools import settings as settings_
from petstore_tools.clock import ManualClock

# what runs for notebooks: their kernels see the environment, never a fixture
_OPEN = ExitStack()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--store", action="store_true", help="store what notebooks show")


def pytest_collect_file(file_path: Path, parent: pytest.Dir) -> pytest.File | None:
    if file_path.suffix != ".ipynb" or not parent.config.getoption("store", False):
        return None
    return _File.from_parent(parent, path=file_path)


class _File(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        yield _Notebook.from_parent(self, name="outputs")


class _Notebook(pytest.Item):
    """Runs a notebook, and stores what it shows."""

    def runtest(self) -> None:
        notebook = nbformat.read(self.path, 4)
        metadata = deepcopy(notebook.metadata)
        folder = {"metadata": {"path": str(self.path.parent)}}
        options = {"record_timing": False, "coalesce_streams": True}
        NotebookClient(notebook, resources=folder, **options).execute()
        notebook.metadata = metadata
        nbformat.write(notebook, self.path)


def pytest_configure(config: pytest.Config) -> None:
    isolate_settings()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before the first cell of a notebook, and so before its kernel begins."""
    if item.path.suffix == ".ipynb":
        # else the first picture on a machine says on stderr that it looks for fonts
        import_module("matplotlib.font_manager")
        _prepare(item.path.name[:2])


@cache
def _prepare(number: str) -> None:
    """Start what the notebook of this number needs, once."""
    if number == "05" and not postgres_.missing_postgres():
        os.environ["PETSTORE_DATABASE_URL"] = _OPEN.enter_context(
            postgres_.run_postgres()
        ).database()
    if number == "06":
        _give_settings()


def _give_settings() -> None:
    """
    Let the nightly notebook find a service in the settings file, two weeks of kept
    listings, and changes since a written report.
    """
    box = _OPEN.enter_context(Sandbox(plan="pro", clock="system", animals=120))
    entries = {"base_url": box.base_url, "api_key": box.api_key, "plan": "pro"}
    config = Path(os.environ["PETSTORE_CONFIG"])
    config.write_text(
        "".join(f"{name} = {json.dumps(value)}\n" for name, value in entries.items()),
        encoding="utf-8",
    )
    settings = settings_.load()
    # two weeks of listings, as a nightly job keeps them
    for night in range(14):
        clock = ManualClock(time.time() - (14 - night) * spec.DAY_S)
        with PetStore.from_settings(settings, clock=clock) as store:
            store.snapshot()
        for pet_id in (3 + 7 * night, 6 + 8 * night):
            box.change(pet_id, status="sold")
    with PetStore() as store:
        store.status_report().to_html(config.with_name("yesterday.html"))
    for pet_id in (2, 5):
        box.change(pet_id, status="pending")
    box.remove(13)


def pytest_sessionfinish(session: pytest.Session) -> None:
    _OPEN.close()
