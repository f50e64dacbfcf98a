"""
What notebooks need beside themselves: a database, and settings with a service behind
them.
"""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from pathlib import Path

import postgres as postgres_
import pytest
from isolation import isolate_settings

from petstore_tools import PetStore, Sandbox

# what runs for notebooks: their kernels see the environment, never a fixture
_OPEN = ExitStack()


def pytest_configure(config: pytest.Config) -> None:
    isolate_settings()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    if config.getoption("--collect-only"):
        return
    if (
        any(item.path.name.startswith("05_") for item in items)
        and not postgres_.missing_postgres()
    ):
        os.environ["PETSTORE_DATABASE_URL"] = _OPEN.enter_context(
            postgres_.run_postgres()
        ).database()
    if any(item.path.name.startswith("06_") for item in items):
        _give_settings()


def _give_settings() -> None:
    """
    Let the nightly notebook find a service in the settings file, and changes since a
    written report.
    """
    box = _OPEN.enter_context(Sandbox(plan="pro", clock="system", animals=120))
    entries = {"base_url": box.base_url, "api_key": box.api_key, "plan": "pro"}
    config = Path(os.environ["PETSTORE_CONFIG"])
    config.write_text(
        "".join(f"{name} = {json.dumps(value)}\n" for name, value in entries.items()),
        encoding="utf-8",
    )
    with PetStore() as store:
        store.status_report().to_html(config.with_name("yesterday.html"))
    for pet_id in (2, 3):
        box.change(pet_id, status="sold")
    box.remove(13)


def pytest_sessionfinish(session: pytest.Session) -> None:
    _OPEN.close()
