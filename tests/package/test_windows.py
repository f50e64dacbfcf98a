"""What Windows and macOS do otherwise, made on Linux: files in use, spellings."""

import os
import sys

import pytest

from petstore_tools.tabular.atomic import replace_file
from petstore_tools.text import write_command

PETS = "name,categoryId\nRex,3\nMia,cats\n"


def open_files():
    """Return the files that this process has open."""
    links = (f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd"))
    return {os.readlink(link) for link in links if os.path.lexists(link)}


@pytest.fixture
def files_in_use(monkeypatch):
    """As Windows does: no file is replaced, moved or removed while it is open."""
    if sys.platform != "linux":
        pytest.skip("needs /proc")

    def refusing(call):
        def careful(*paths, **options):
            targets = {os.path.realpath(os.fsdecode(path)) for path in paths}
            if not options and targets & open_files():
                raise PermissionError(
                    13, "The process cannot access the file", str(paths[-1])
                )
            return call(*paths, **options)

        return careful

    for name in ("replace", "rename", "unlink", "remove"):
        monkeypatch.setattr(os, name, refusing(getattr(os, name)))


@pytest.mark.usefixtures("files_in_use")
def test_no_job_replaces_or_removes_a_file_that_it_has_open(fast, tmp_path):
    """Import, import again, snapshots, history, and a report over an older one."""
    path = tmp_path / "pets.csv"
    for text in (PETS, PETS + "Tom,4\n"):
        path.write_text(text)
        fast.store.import_pets(path)
        fast.store.snapshot()
    report = fast.store.status_report(since="last")
    for _ in range(2):
        report.to_excel(tmp_path / "report.xlsx")

    assert len(fast.store.history()) == 2
    assert (tmp_path / "pets.sandbox.imported.csv").read_text().count("Tom,4,") == 1


def test_a_file_that_another_program_reads_for_a_moment_is_replaced(
    tmp_path, monkeypatch
):
    """
    A scanner for viruses holds it: it is tried again for less than a second, and then
    said.
    """
    path = tmp_path / "a.json"
    real = os.replace
    refused = iter(range(3))

    def busy(*paths):
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


def test_a_line_to_copy_is_quoted_as_cmd_and_powershell_read_it(monkeypatch):
    """In double quotes: there, a single quote is a letter like another."""
    monkeypatch.setattr(sys, "platform", "win32")
    words = ["import", r"C:\pets\a&b's.csv", "--statuses", 'a "b"=sold']

    assert write_command(words) == (
        r'''import "C:\pets\a&b's.csv" --statuses "a \"b\"=sold"'''
    )
