"""
Options are named as they are given where the message is read: in Python, or at the command line.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter

from petstore_tools import Sandbox
from petstore_tools.errors import QuotaError, SheetError
from petstore_tools.text import at_the_command_line, option

TITLES = ["name", "categoryId"]
# the file, the option in Python, the option at the command line
MESSAGES = [
    ("Tier,categoryId\nRex,3\n", 'columns={"Tier": "name"}', '--columns "Tier=name"'),
    (
        "name,Category ID,category_id\nRex,3,3\n",
        'columns={"B": "categoryId"}',
        '--columns "B=categoryId"',
    ),
    ("name,categoryId\nRex,Dogs\n", 'categories="FILE"', "--categories FILE"),
    ("name,categoryId\nRex,x\nMia,y\nTom,3\n", "allow_bad=True", "--allow-bad"),
    ("id,name,categoryId\n1,Rex,3\n", 'existing="send"', "--existing send"),
    ("name,categoryId\nBello,7\n", 'existing="skip"', "--existing skip"),
    ({"One": [TITLES, ["Rex", 3]], "Two": [TITLES, ["Mia", 4]]}, 'sheet="…"', "--sheet …"),
]


def write(folder: Path, content: Any) -> Path:
    if isinstance(content, str):
        (folder / "pets.csv").write_text(content)
        return folder / "pets.csv"
    with xlsxwriter.Workbook(folder / "pets.xlsx") as book:
        for name, rows in content.items():
            sheet = book.add_worksheet(name)
            for number, cells in enumerate(rows):
                sheet.write_row(number, 0, cells)
    return folder / "pets.xlsx"


@pytest.fixture(scope="module")
def box() -> Any:
    with Sandbox(plan="6000/60000", clock="system", animals=0) as found:
        found.store.create_pet("Bello", category_id=7)
        yield found


@pytest.mark.parametrize(
    ("content", "python", "flag"), MESSAGES, ids=[flag for *_, flag in MESSAGES]
)
def test_a_message_names_the_option_where_it_is_read(
    box: Sandbox, tmp_path: Path, content: Any, python: str, flag: str
) -> None:
    """
    A caller of Python never reads of `--columns`, and a user of the command line never of
    `mapping=`.
    """
    path = write(tmp_path, content)
    with pytest.raises(SheetError) as caught:
        box.store.import_pets(path)
    told = {
        "PETSTORE_BASE_URL": box.base_url,
        "PETSTORE_API_KEY": box.api_key,
        "PETSTORE_PLAN": "6000/60000",
    }
    done = subprocess.run(
        [sys.executable, "-m", "petstore_tools", "import", path.name, "--yes"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, **told},
        cwd=tmp_path,
        timeout=60,
        check=False,
    )

    error = next(line for line in done.stderr.splitlines() if line.startswith("Error: "))
    assert (python in str(caught.value), " --" in str(caught.value)) == (True, False)
    assert (flag in error, python.partition("=")[0] + "=" in error) == (True, False)


def test_a_wait_is_offered_in_the_same_way() -> None:
    """Also by errors that are made in another thread than the one that reads them."""
    assert "pass wait=True." in str(QuotaError("the day is used", plan="free", resumes_at=0.0))
    with at_the_command_line():
        error = QuotaError("the day is used", plan="free", resumes_at=0.0)
    assert "pass --wait." in str(error)
    assert option("wait=True") == "wait=True"
