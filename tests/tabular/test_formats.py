"""The table of formats: one row is all that a new format needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner

from petstore_tools import Sandbox
from petstore_tools.cli import cli
from petstore_tools.errors import SheetError
from petstore_tools.tabular.text_files import read_csv
from petstore_tools.tabular.workbooks import FORMATS, open_sheets

CORPUS = Path(__file__).parents[1] / "importing" / "corpus" / "files"


def test_a_row_of_the_table_is_enough_for_a_new_format(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    It is read, named in the message for other endings, and the result files are written like it.
    """
    path = tmp_path / "pets.psv"
    path.write_text("name|categoryId\nRex|3\nMia|cats\n")
    with pytest.raises(
        SheetError, match="pets.psv cannot be imported; save the sheet as one of these: .csv"
    ):
        sandbox.store.preview_import(path)
    monkeypatch.setitem(cast(dict[str, Any], FORMATS), ".psv", read_csv)

    result = sandbox.store.import_pets(path, progress=False)

    assert [file.name for file in result.files] == [
        "pets.sandbox.created.psv",
        "pets.sandbox.rejected.psv",
    ]
    assert result.files[0].read_text() == "name|categoryId|id\nRex|3|1\n"
    with pytest.raises(SheetError, match=r"\.ods, \.psv"):
        open_sheets(tmp_path / "pets.doc")


@pytest.mark.parametrize(
    ("source", "name", "written"),
    [
        ("plain.xlsx", "pets.csv", ".xlsx"),
        ("plain.xls", "pets.xlsx", ".xlsx"),
        ("plain.csv", "pets.xlsx", ".csv"),
    ],
)
def test_a_file_is_read_as_what_it_holds_whatever_its_name_says(
    sandbox: Sandbox, tmp_path: Path, source: str, name: str, written: str
) -> None:
    """
    People rename files, and programs call a text .xls; the ending of result files is the right one.
    """
    (tmp_path / name).write_bytes((CORPUS / source).read_bytes())

    result = sandbox.store.import_pets(tmp_path / name, progress=False, existing="send")

    assert (result.created, [file.name for file in result.files]) == (
        3,
        [f"pets.sandbox.created{written}"],
    )
    assert len(list(open_sheets(result.files[0])[0].records())) == 4


def test_the_help_of_the_import_names_each_ending() -> None:
    """It takes them from the table."""
    shown = CliRunner().invoke(cli, ["import", "--help"])

    assert all(f"{ending}," in shown.output or f"{ending}." in shown.output for ending in FORMATS)


def test_a_folder_and_a_file_that_is_not_there_are_named(tmp_path: Path) -> None:
    """One sentence each, whatever the format."""
    (tmp_path / "folder.xlsx").mkdir()
    for name in ("gone.csv", "gone.xlsx", "gone.ods"):
        with pytest.raises(SheetError, match=f"there is no file {name} in the folder"):
            open_sheets(tmp_path / name)
    with pytest.raises(SheetError, match="folder.xlsx cannot be read: Is a directory"):
        open_sheets(tmp_path / "folder.xlsx")
    (tmp_path / "pets.csv").write_text("name\nRex\n")
    with pytest.raises(SheetError, match="pets.csv is not a workbook: it has no sheet 'A'"):
        open_sheets(tmp_path / "pets.csv", "A")


@pytest.mark.parametrize("name", ["plain.xls", "plain.xlsb", "plain.xlsm", "pets.txt"])
def test_more_formats_are_imported(sandbox: Sandbox, tmp_path: Path, name: str) -> None:
    """
    Results come as a workbook or as the same kind of text; what a format does not show is said
    once.
    """
    path = tmp_path / name
    text = "name\tcategoryId\tstatus\r\nJürgen\t3\tsold\r\nBärbel\t4\t\r\nBo\t5\t\r\n"
    path.write_bytes(text.encode("utf-16") if name == "pets.txt" else (CORPUS / name).read_bytes())

    preview = sandbox.store.preview_import(path)
    result = sandbox.store.import_pets(path, progress=False, existing="send")

    ending = ".txt" if path.suffix == ".txt" else ".xlsx"
    assert (preview.problems, result.complete, result.created) == ((), True, 3)
    assert [file.name for file in result.files] == [f"{path.stem}.sandbox.created{ending}"]
    assert open_sheets(result.files[0])
    unseen = sum("cannot be seen" in note for note in preview.notes)
    assert unseen == (path.suffix in (".xls", ".xlsb"))
