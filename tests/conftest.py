"""Folders of its own for each test, and a sandbox for each test that asks."""

import gc
import logging
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import postgres as postgres_
import pytest
import responses
from commands import connection
from inventories import ROWS
from isolation import isolate_settings
from responses import registries
from wires import BASE, KEY, T0

from petstore_tools import PetStore, Sandbox
from petstore_tools.clock import ManualClock
from petstore_tools.plans import Plan
from petstore_tools.sandbox import samples
from petstore_tools.settings import SecretStr, Settings

MEMORY = Path("/dev/shm")
ROOM = 4 << 30
DOCUMENT = Path(__file__).parents[2] / "shared" / "INTERFACE.md"


def pytest_configure(config):
    isolate_settings()
    keep_files_in_memory()


def keep_files_in_memory():
    """
    Let temporary files lie in memory, where there is room: most of the time of a test
    goes to waiting for a disk, which is not what it is about.
    """
    if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM:
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None  # it is read anew


def pytest_collection_modifyitems(config, items):
    """
    A checkout alone has no interface document: the tests that read it are left out.
    """
    readers = [item for item in items if item.get_closest_marker("document")]
    if readers and not DOCUMENT.exists():
        items[:] = [item for item in items if item not in readers]
        config.hook.pytest_deselected(items=readers)


def pytest_collection_finish():
    """Let the garbage collector pass over modules and tests, which stay to the end."""
    gc.freeze()


def pytest_sessionfinish(session):
    """Where all parts must be there, a skipped test is a failed one."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if (
        os.environ.get("PETSTORE_REQUIRE_ALL")
        and reporter
        and reporter.stats.get("skipped")
    ):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(autouse=True)
def _own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("PETSTORE_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("PETSTORE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.delenv("PETSTORE_DATABASE_URL", raising=False)
    # in the background it is ignored
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # a command of this process sets it
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)


@pytest.fixture
def sandbox():
    with Sandbox(animals=0) as box:
        yield box


@pytest.fixture
def fast():
    """
    A sandbox whose plan does not stand in the way, so that several connections send.
    """
    with Sandbox(plan=Plan(100_000, 1_000_000), animals=0) as box:
        yield box


@pytest.fixture
def box():
    """A sandbox of 25 animals with the machine's clock, and a plan beyond any test."""
    with Sandbox(plan=Plan(10_000, 100_000), clock="system", animals=25) as sandbox:
        yield sandbox


@pytest.fixture
def shop(box, tmp_path, monkeypatch):
    """That sandbox, which the settings name, and an empty current folder."""
    monkeypatch.chdir(tmp_path)
    settings = {**connection(box), "PETSTORE_PLAN": "10000/100000"}
    for variable, value in settings.items():
        monkeypatch.setenv(variable, value)
    return box


@pytest.fixture
def file(tmp_path):
    """A file of sample animals."""
    path = tmp_path / "animals.csv"
    path.write_text(samples.animals_csv(ROWS), encoding="utf-8")
    return path


@pytest.fixture
def wire():
    """
    Answers in the order they are added; a test fails where one of them is not asked
    for.
    """
    with responses.RequestsMock(registry=registries.OrderedRegistry) as mock:
        yield mock


@pytest.fixture
def store(tmp_path):
    """A store on plan Free, with a clock that moves by itself."""
    settings = Settings(
        BASE, "production", SecretStr(KEY), Plan(60, 1_000, "free"), tmp_path
    )
    with PetStore.from_settings(settings, clock=ManualClock(T0)) as found:
        yield found


@pytest.fixture
def client(store):
    """What sends the requests of that store."""
    return store.client


@pytest.fixture
def log(caplog):
    """
    What a program sees that asks for waits, retries, refusals and reconciliations.
    """
    with caplog.at_level(logging.INFO, logger="petstore_tools"):
        yield caplog


@pytest.fixture(scope="session")
def postgres():
    """A real PostgreSQL server."""
    if reason := postgres_.missing_postgres():
        pytest.skip(f"no PostgreSQL: {reason}")
    with postgres_.run_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def pgbouncer(postgres):
    """A real PgBouncer in transaction mode, in front of that server."""
    if reason := postgres_.missing_bouncer():
        pytest.skip(reason)
    with postgres_.run_bouncer(postgres.port) as bouncer:
        yield bouncer


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request, tmp_path):
    """A database that does not exist yet: of SQLite, and of PostgreSQL."""
    return postgres_.name_database(request, tmp_path)
