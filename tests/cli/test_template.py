"""`template`: a workbook that people fill in."""

from __future__ import annotations

from pathlib import Path

from commands import RunCommand
from python_calamine import CalamineWorkbook

from petstore_tools.tabular.xlsx import CATEGORY_SHEET


def test_a_template_offers_the_categories(run: RunCommand, tmp_path: Path) -> None:
    """
    Those of the settings; `--categories` counts more; the command that imports it is
    shown.
    """
    (tmp_path / "names.csv").write_text("id,name\n3,Dogs\n")
    (tmp_path / "others.csv").write_text("id,name\n4,Cats\n")
    env = {"PETSTORE_CATEGORIES": str(tmp_path / "names.csv")}

    done = run("template", "told.xlsx", **env)
    run("template", "given.xlsx", "--categories", "others.csv", **env)

    assert "petstore-tools import told.xlsx" in done.stdout
    for name, choices in (("told", [["Dogs"]]), ("given", [["Cats"]])):
        book = CalamineWorkbook.from_path(tmp_path / f"{name}.xlsx")
        assert book.get_sheet_by_name(CATEGORY_SHEET).to_python() == choices


def test_a_file_that_exists_is_not_replaced(run: RunCommand, tmp_path: Path) -> None:
    """It may be filled in already; and only .xlsx can be written."""
    assert run("template", "animals.xlsx").returncode == 0
    before = (tmp_path / "animals.xlsx").read_bytes()

    for name in ("animals.xlsx", "animals.csv"):
        refused = run("template", name)
        assert (refused.returncode, "name a new file" in refused.stderr) == (2, True)
    assert (tmp_path / "animals.xlsx").read_bytes() == before
