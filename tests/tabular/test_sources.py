"""Spreadsheets opened by what they hold."""

import os
import zipfile

import pytest
from click.testing import CliRunner
from tables import corpus_file, read_json

from petstore_tools.cli import cli
from petstore_tools.errors import SheetError
from petstore_tools.tabular.sources import FORMATS, open_source


@pytest.mark.parametrize(
    ("source", "name", "returned"), read_json(__file__, "returned_files.json")
)
def test_a_file_is_read_as_what_it_holds_and_its_returned_list_is_known(
    sandbox, tmp_path, source, name, returned
):
    """
    People rename files, and programs call a text .xls; returned lists have the right
    ending. The returned list is the list to go on with, and stays it: nothing of it is
    sent again.
    """
    (tmp_path / name).write_bytes(corpus_file(source).read_bytes())
    sheet = None

    if source in (
        "plain.xls",
        "plain.xlsb",
    ):  # nobody can tell which of its rows are hidden
        sheet = "animals"
        with pytest.raises(
            SheetError, match=r'sheet="animals" \(--sheet animals\) sends every row'
        ):
            sandbox.store.import_pets(tmp_path / name, progress=False)
    result = sandbox.store.import_pets(tmp_path / name, sheet=sheet, progress=False)
    list_file = tmp_path / returned
    content = list_file.read_bytes()
    same_animals = sandbox.store.import_pets(list_file, sheet=sheet, progress=False)

    assert result.created == result.created_now == result.rows > 1
    assert (same_animals.created, same_animals.created_now) == (result.created, 0)
    assert same_animals.created == same_animals.rows
    assert same_animals.edits == ()
    assert result.list_file == same_animals.list_file == list_file
    assert list_file.read_bytes() == content
    assert len([*tmp_path.iterdir()]) == 2


def test_each_ending_is_named_by_the_help_and_by_the_refusal_of_another(tmp_path):
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
def test_what_cannot_be_opened_is_named(tmp_path, name, reason):
    """One sentence each, whatever the format."""
    (tmp_path / "folder.xlsx").mkdir()
    (tmp_path / "text.csv").write_text("name,categoryId")
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "cut.xlsx").write_bytes(corpus_file("plain.xlsx").read_bytes()[:500])
    with zipfile.ZipFile(tmp_path / "lost.xlsx", "w") as book:
        book.writestr("xl/workbook.xml", '<workbook><sheet name="A"/></workbook>')

    with pytest.raises(SheetError, match=reason):
        open_source(tmp_path / name, "A")


def test_an_address_is_no_file():
    """People paste the address of a sheet: what to do stands in the refusal."""
    with pytest.raises(SheetError, match="is an address, not a file: download"):
        open_source("https://docs.google.com/spreadsheets/d/1/edit")
