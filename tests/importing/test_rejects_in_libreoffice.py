"""A rejects workbook that a person opens and saves in LibreOffice."""

from __future__ import annotations

import shutil
from pathlib import Path

import xlsxwriter
from inventories import existing_names
from office import libreoffice, needs_libreoffice, part, rules

from petstore_tools import Sandbox


@needs_libreoffice
def test_an_untouched_rejects_workbook_saved_there_shows_everything_and_sends_nothing(
    fast: Sandbox, tmp_path: Path
) -> None:
    """Notes, colours and drop-downs stay; so do the rows, each with its problem."""
    path, categories = tmp_path / "pets.xlsx", {3: "Dogs", 4: "Cats"}
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("animals")
        for row, cells in enumerate(
            [
                ["name", "categoryId", "status", "note"],
                ["Rex", "Dogs", "sold", "007"],
                ["=Mia", "Dgos", "sold", "1.50"],
                ["Bo", 4, "avialable", ""],
                [7, 4.5, "", " x "],
            ]
        ):
            sheet.write_row(row, 0, cells)
        sheet.write_string(2, 0, "=Mia")
    first = fast.store.import_pets(path, categories=categories)
    rejects = next(file for file in first.files if "rejected" in file.name)

    saved = libreoffice(rejects, "xlsx")
    shutil.copy(saved, rejects)
    second = fast.store.import_pets(rejects, categories=categories)

    assert (first.created, first.rejected) == (1, 3)
    assert rules(saved).keys() == {"B", "C"}
    assert "FFFFC7CE" in part(saved, "xl/styles.xml")
    assert (second.created_now, second.rejected) == (0, 3)
    assert [found.value for found in second.problems] == [found.value for found in first.problems]
    assert [found.rule for found in second.problems] == [found.rule for found in first.problems]
    assert existing_names(fast) == {"Rex": 1}
