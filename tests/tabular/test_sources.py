"""Spreadsheets opened by what they hold."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from tables import read_json

from petstore_tools import Sandbox
from petstore_tools.cli import cli
from petstore_tools.errors import SheetError
from petstore_tools.tabular.sources import FORMATS, open_source

CORPUS = Path(__file__).parents[1] / "importing" / "corpus"


@pytest.mark.parametrize(
    ("source", "name", "written"),
    [
        ("plain.xlsx", "pets.csv", ".xlsx"),
        ("plain.xlsb", "pets.xlsx", ".xlsx"),
        ("plain.csv", "pets.xlsx", ".csv"),
        ("plain.csv", "pets.txt", ".txt"),
    ],
)
def test_a_file_is_read_as_what_it_holds_whatever_its_name_says(
    sandbox: Sandbox, tmp_path: Path, source: str, name: str, written: str
) -> None:
    """
    People rename files, and programs call a text .xls; result files have the right
    ending.
    """
    (tmp_path / name).write_bytes((CORPUS / source).read_bytes())
    sheet = None

    if source == "plain.xlsb":  # nobody can tell which of its rows are hidden
        sheet = "animals"
        with pytest.raises(
            SheetError, match=r'sheet="animals" \(--sheet animals\) sends every row'
        ):
            sandbox.store.import_pets(tmp_path / name, progress=False)
    result = sandbox.store.import_pets(tmp_path / name, sheet=sheet, progress=False)

    assert (result.created, result.complete) == (3, True)
    assert [file.name for file in result.files] == [f"pets.sandbox.created{written}"]
    assert len(list(open_source(result.files[0])[0].records())) == 4


def test_each_ending_is_named_by_the_help_and_by_the_refusal_of_another(
    tmp_path: Path,
) -> None:
    """Both take them from the table."""
    help_text = CliRunner().invoke(cli, ["import", "--help"]).output
    with pytest.raises(SheetError, match="save the sheet as one of these: ") as refused:
        open_source(tmp_path / "pets.doc")

    assert all(
        ending in help_text and ending in str(refused.value) for ending in FORMATS
    )


@pytest.mark.parametrize(
    ("name", "reason"),
    read_json(__file__, "unopened.json"),
)
def test_what_cannot_be_opened_is_named(tmp_path: Path, name: str, reason: str) -> None:
    """One sentence each, whatever the format."""
    (tmp_path / "folder.xlsx").mkdir()
    (tmp_path / "text.csv").write_text("name,categoryId")
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "cut.xlsx").write_bytes((CORPUS / "plain.xlsx").read_bytes()[:500])
    with zipfile.ZipFile(tmp_path / "lost.xlsx", "w") as book:
        book.writestr("xl/workbook.xml", '<workbook><sheet name="A"/></workbook>')

    with pytest.raises(SheetError, match=reason):
        open_source(tmp_path / name, "A")
