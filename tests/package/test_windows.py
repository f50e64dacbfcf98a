"""What Windows and macOS do otherwise, made on Linux: files in use, spellings."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from petstore_tools import Sandbox
from petstore_tools.plans import Plan
from petstore_tools.tabular.atomic import replace_file

PETS = "name,categoryId\nRex,3\nMia,cats\n"


@pytest.fixture
def box() -> Iterator[Sandbox]:
    with Sandbox(plan=Plan(100_000, 1_000_000), animals=3) as found:
        yield found


def open_files() -> set[str]:
    """Return the files that this process has open."""
    links = (f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd"))
    return {os.readlink(link) for link in links if os.path.lexists(link)}


@pytest.fixture
def files_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Windows does: no file is replaced, moved or removed while it is open."""
    if sys.platform != "linux":
        pytest.skip("needs /proc")

    def refusing(call: Callable[..., None]) -> Callable[..., None]:
        def careful(*paths: Any, **options: Any) -> None:
            named = {os.path.realpath(os.fsdecode(path)) for path in paths}
            if not options and named & open_files():
                raise PermissionError(13, "The process cannot access the file", str(paths[-1]))
            return call(*paths, **options)

        return careful

    for name in ("replace", "rename", "unlink", "remove"):
        monkeypatch.setattr(os, name, refusing(getattr(os, name)))


@pytest.mark.usefixtures("files_in_use")
def test_no_job_replaces_or_removes_a_file_that_it_has_open(box: Sandbox, tmp_path: Path) -> None:
    """Import, import again, snapshots, history, and a report over an older one."""
    path = tmp_path / "pets.csv"
    for text in (PETS, PETS + "Tom,4\n"):
        path.write_text(text)
        box.store.import_pets(path, progress=False)
        box.store.snapshot()
    report = box.store.status_report(since="last")
    for _ in range(2):
        report.to_excel(tmp_path / "report.xlsx")

    assert len(box.store.history()) == 5
    assert (tmp_path / "pets.sandbox.created.csv").read_text().count("\n") == 3
    assert (tmp_path / "pets.sandbox.rejected.csv").exists()


@pytest.mark.usefixtures("files_in_use")
def test_a_result_file_that_is_open_is_said_and_the_next_run_writes_it(
    box: Sandbox, tmp_path: Path
) -> None:
    """Nothing is raised after the sending; closed, the same call writes it."""
    path = tmp_path / "pets.csv"
    created = tmp_path / "pets.sandbox.created.csv"
    path.write_text(PETS)
    box.store.import_pets(path, progress=False)
    path.write_text(PETS + "Tom,4\n")

    with created.open():
        result = box.store.import_pets(path, progress=False)
    left = created.read_text().count("\n")
    again = box.store.import_pets(path, progress=False)

    assert (result.created, result.rejected, left) == (2, 1, 2)
    assert [why.startswith("pets.sandbox.created.csv (") for why in result.not_written] == [True]
    assert again.created_now == 0
    assert created.read_text().count("\n") == 3
    assert not list(tmp_path.glob(".petstore-*"))


def test_a_file_that_another_program_reads_for_a_moment_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scanner for viruses holds it: it is tried again for less than a second, and then said."""
    path = tmp_path / "a.json"
    real = os.replace
    refused = iter(range(3))

    def busy(*paths: Any) -> None:
        if next(refused, None) is not None:
            raise PermissionError(13, "in use")
        real(*paths)

    monkeypatch.setattr(os, "replace", busy)
    replace_file(path, b"new")
    refused = iter(range(99))
    with pytest.raises(PermissionError):
        replace_file(path, b"newer")

    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a.json"]
