"""Sources that are no files: bytes, open files and standard input."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from inventories import existing_names

from petstore_tools import Sandbox
from petstore_tools.errors import SheetError

CORPUS = Path(__file__).parent / "corpus" / "files"
TEXT = "name,categoryId,status\nRex,3,sold\nMia,cats,\nZoë,4,\n"


def test_bytes_and_open_files_go_on_by_their_name(
    fast: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Bytes, then a binary and a text file of one name are one import; results go to the current
    folder.
    """
    monkeypatch.chdir(tmp_path)

    first = fast.store.import_pets(TEXT.encode(), name="spring", first=1)
    second = fast.store.import_pets(io.BytesIO(TEXT.encode()), name="spring")
    third = fast.store.import_pets(io.StringIO(TEXT), name="spring")

    assert (first.created_now, second.created_now, third.created_now) == (1, 1, 0)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "spring.sandbox.created.csv",
        "spring.sandbox.rejected.csv",
    ]
    assert existing_names(fast) == {"Rex": 1, "Zoë": 1}


@pytest.mark.parametrize(
    "name", ["plain.xlsx", "plain.xlsm", "plain.xlsb", "plain.xls", "plain.ods"]
)
def test_workbooks_are_known_by_their_content(sandbox: Sandbox, name: str) -> None:
    """Whatever ending the name has, or none."""
    for called in ("spring", "spring.csv", name):
        preview = sandbox.store.preview_import((CORPUS / name).read_bytes(), name=called)
        assert (preview.to_send, preview.problems) == (3, ())


def test_a_text_may_have_the_ending_of_a_text(sandbox: Sandbox) -> None:
    """The name stays as it is."""
    for called in ("spring", "spring.txt", "spring.xlsx"):
        assert sandbox.store.preview_import(TEXT.encode(), name=called).to_send == 2


def test_what_is_no_file_needs_a_name(sandbox: Sandbox) -> None:
    """The message says which option; an empty source says that it is empty."""
    with pytest.raises(
        SheetError, match='data that is not a file needs a name \\(name="spring"\\)'
    ):
        sandbox.store.preview_import(TEXT.encode())
    with pytest.raises(SheetError, match="spring.csv is empty"):
        sandbox.store.preview_import(b"", name="spring")


def test_standard_input_is_imported_with_a_name(fast: Sandbox, tmp_path: Path) -> None:
    """`import - --name spring --yes`; without the name it is refused."""
    settings = {"PETSTORE_BASE_URL": fast.base_url, "PETSTORE_API_KEY": fast.api_key}

    def run(*more: str) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "petstore_tools", "import", "-", "--no-baseline", *more]
        return subprocess.run(
            command,
            input=TEXT.encode(),
            cwd=tmp_path,
            env={**os.environ, **settings},
            capture_output=True,
            timeout=60,
            check=False,
        )

    refused, done = run("--yes"), run("--yes", "--name", "spring")

    assert (refused.returncode, b"needs a name (--name spring)" in refused.stderr) == (2, True)
    assert (done.returncode, b"2 created, 1 rejected" in done.stdout) == (1, True), done.stderr
    assert (tmp_path / "spring.created.csv").exists() or list(tmp_path.glob("spring*created.csv"))
    assert existing_names(fast) == {"Rex": 1, "Zoë": 1}
