"""The table of formats: one row is all that a new format needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from petstore_tools import Sandbox
from petstore_tools.errors import SheetError
from petstore_tools.tabular.csv_files import read_csv
from petstore_tools.tabular.formats import FORMATS, open_sheets


def test_a_row_of_the_table_is_enough_for_a_new_format(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read, named in the message for other endings, and the result files are written like it."""
    path = tmp_path / "pets.psv"
    path.write_text("name|categoryId\nRex|3\nMia|cats\n")
    with pytest.raises(SheetError, match="pets.psv cannot be imported; save the sheet as one of these: .csv"):
        sandbox.store.preview_import(path)
    monkeypatch.setitem(cast(dict[str, Any], FORMATS), ".psv", read_csv)

    result = sandbox.store.import_pets(path, progress=False)

    assert [file.name for file in result.files] == ["pets.sandbox.created.psv", "pets.sandbox.rejected.psv"]
    assert result.files[0].read_text() == "name|categoryId|id\nRex|3|1\n"
    with pytest.raises(SheetError, match=r"\.ods, \.psv"):
        open_sheets(tmp_path / "pets.doc")


def test_a_folder_and_a_file_that_is_not_there_are_named(tmp_path: Path) -> None:
    """One sentence each, whatever the format."""
    (tmp_path / "folder.xlsx").mkdir()
    for name in ("gone.csv", "gone.xlsx", "gone.ods"):
        with pytest.raises(SheetError, match=f"there is no file {name} in the folder"):
            open_sheets(tmp_path / name)
    with pytest.raises(SheetError, match="folder.xlsx cannot be read: Is a directory"):
        open_sheets(tmp_path / "folder.xlsx")
    with pytest.raises(SheetError, match="pets.csv is not a workbook: it has no sheet 'A'"):
        open_sheets(tmp_path / "pets.csv", "A")
