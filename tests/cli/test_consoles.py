"""A console that knows few letters, as Windows has it: cp1252, or plain ASCII."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from petstore_tools import Sandbox
from petstore_tools.cli import COMMANDS

PETS = "name,categoryId,status\nŻabka 🐸,3,\nŁódź,cats,sold\nRex → Max,4,weg…\n"
EVERY = """if True:
    import sys
    from petstore_tools.cli import main

    def run(*arguments):
        print("$", *arguments, flush=True)
        try:
            main(arguments)
        except SystemExit as ended:
            print("exit", ended.code, flush=True)
"""
CALLS = """
    for arguments in (
        ["import", "pets.csv", "--dry-run"],
        ["import", "pets.csv", "--yes"],
        ["import", "pets.csv", "--yes", "--json"],
        ["imports"],
        ["list"],
        ["list", "-o", "Żabka.csv"],
        ["report"],
        ["report", "-o", "übersicht→.html"],
        ["history"],
        ["quota"],
        ["doctor"],
        ["template", "→Ż.xlsx"],
        ["template", "…/Ż.xlsx"],
        ["keys", "list", "--database", "kein→Ordner/a.db"],
        ["lsit"],
        ["list", "--environment", "Żabka"],
        ["import", "\\udcff.csv"],
    ):
        run(*arguments)
"""
HELP = """
    for name in sys.argv[1:]:
        run(name, "--help")
"""
LIBRARY = """if True:
    from petstore_tools import PetStore
    store = PetStore(progress=True)
    store.import_pets("pets.csv")
    store.list_pets()
"""


def on_console(
    code: str, box: Sandbox, folder: Path, encoding: str, *arguments: str
) -> tuple[int, str]:
    """Run a program whose console has an encoding, and return its exit code and what it wrote."""
    (folder / "pets.csv").write_text(PETS, encoding="utf-8")
    environ = {
        **os.environ,
        "PETSTORE_BASE_URL": box.base_url,
        "PETSTORE_API_KEY": box.api_key,
        "PETSTORE_PLAN": "pro",
        "PYTHONIOENCODING": encoding,
        "PYTHONUTF8": "0",
    }
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=110,
        check=False,
    )
    return done.returncode, done.stdout.decode("utf-8", "replace")


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_every_command_writes_what_it_has_to_say(
    box: Sandbox, tmp_path: Path, encoding: str
) -> None:
    """Polish names, arrows and frogs: each command ends with a code of the table."""
    code, text = on_console(EVERY + CALLS, box, tmp_path, encoding)

    assert code == 0, text
    assert "Traceback" not in text
    assert "UnicodeEncodeError" not in text
    codes = [line for line in text.splitlines() if line.startswith("exit")]
    assert codes == [f"exit {n}" for n in (1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 2, 2, 2)], text
    assert "Żabka" in text


def test_every_help_is_written_on_a_console_with_few_letters(box: Sandbox, tmp_path: Path) -> None:
    """The help of all commands."""
    code, text = on_console(EVERY + HELP, box, tmp_path, "ascii", *COMMANDS)

    assert (code, text.count("exit 0"), "Traceback" in text) == (0, len(COMMANDS), False), text


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_a_script_whose_output_goes_to_a_file_is_not_stopped_by_a_preview(
    box: Sandbox, tmp_path: Path, encoding: str
) -> None:
    """
    What the encoding lacks is spelt out: an import that prints its preview sends its rows all the
    same.
    """
    code, text = on_console(LIBRARY, box, tmp_path, encoding)

    assert (code, "Traceback" in text) == (0, False), text
    assert len(box.store.list_pets()) == 26
    assert "\\u2192" in text
