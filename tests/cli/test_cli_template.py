"""`template`: a workbook that people fill in, and that imports with no problem."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from commands import run
from inventories import existing

from petstore_tools import Sandbox
from petstore_tools.tabular.template import CATEGORY_SHEET


def fill(path: Path, *rows: tuple[str, str, str]) -> None:
    """Write rows below the header, and show the sheets that are hidden."""
    lines = [
        f'<row r="{number}">'
        + "".join(
            f'<c r="{column}{number}" t="inlineStr"><is><t>{cell}</t></is></c>'
            for column, cell in zip("ABC", cells, strict=True)
        )
        + "</row>"
        for number, cells in enumerate(rows, start=2)
    ]
    empty = path.read_bytes()
    with zipfile.ZipFile(io.BytesIO(empty)) as book, zipfile.ZipFile(path, "w") as filled:
        for name in book.namelist():
            content = book.read(name)
            if name == "xl/worksheets/sheet1.xml":
                content = content.replace(
                    b"</sheetData>", "".join(lines).encode() + b"</sheetData>"
                )
            filled.writestr(name, content.replace(b' state="hidden"', b""))


def test_a_template_that_is_filled_in_imports_with_no_problem(
    fast: Sandbox, tmp_path: Path
) -> None:
    """Also where somebody shows the sheet of categories: it is never read as animals."""
    (tmp_path / "categories.csv").write_text("id,name\n3,Dogs\n4,Cats\n")
    done = run("template", "animals.xlsx", "--categories", "categories.csv", cwd=tmp_path)
    assert (done.returncode, "petstore-tools import animals.xlsx" in done.stdout) == (0, True)
    fill(tmp_path / "animals.xlsx", ("007", "Dogs", "sold"), ("Mia", "4", ""))
    with zipfile.ZipFile(tmp_path / "animals.xlsx") as book:
        assert CATEGORY_SHEET in book.read("xl/workbook.xml").decode()

    categories = tmp_path / "categories.csv"
    preview = fast.store.preview_import(tmp_path / "animals.xlsx", categories=categories)
    result = fast.store.import_pets(tmp_path / "animals.xlsx", categories=categories)

    assert (preview.problems, CATEGORY_SHEET in str(preview)) == ((), False)
    assert (result.complete, [path.name for path in result.files]) == (
        True,
        ["animals.sandbox.created.xlsx"],
    )
    assert existing(fast) == {("007", 3, "sold"): 1, ("Mia", 4, None): 1}


def test_a_file_that_exists_is_not_replaced(tmp_path: Path) -> None:
    """It may be filled in already; and only .xlsx can be written."""
    assert run("template", "animals.xlsx", cwd=tmp_path).returncode == 0
    before = (tmp_path / "animals.xlsx").read_bytes()
    again = run("template", "animals.xlsx", cwd=tmp_path)
    assert (again.returncode, "must be a new file" in again.stderr) == (2, True)
    assert (tmp_path / "animals.xlsx").read_bytes() == before
    assert "ends in .xlsx" in run("template", "animals.csv", cwd=tmp_path).stderr
