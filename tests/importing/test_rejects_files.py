"""The rejects file: what is fixed there is imported, as typed, and nothing else."""

from __future__ import annotations

import datetime
import zipfile
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from inventories import existing
from python_calamine import CalamineWorkbook

from petstore_tools import Sandbox
from petstore_tools.tabular.text_files import write_csv
from petstore_tools.tabular.workbooks import open_sheets, write_xlsx


@pytest.mark.case("P41")
def test_the_rejects_file_imports_only_what_was_fixed(fast: Sandbox, tmp_path: Path) -> None:
    """Fixed there, then fixed in the original too: each row is created once."""
    path = tmp_path / "pets.csv"
    path.write_bytes(
        "name;categoryId;status;note\r\nRex;3;sold;a\r\n=Mia;cats;;b\r\nMax;4;gone;c\r\n".encode(
            "utf-8-sig"
        )
    )
    first = fast.store.import_pets(path)
    rejects = tmp_path / "pets.sandbox.rejected.csv"
    content = rejects.read_bytes()
    assert content.startswith(b"\xef\xbb\xbfname;categoryId;status;note;petstore_row")
    assert b"'=Mia" in content
    assert (first.created, first.rejected) == (1, 2)

    rejects.write_bytes(content.replace(b";cats;", b";5;", 1))
    second = fast.store.import_pets(rejects)
    assert (second.created, second.created_now, second.rejected) == (1, 1, 1)

    path.write_bytes(path.read_bytes().replace(b";cats;", b";5;").replace(b";gone;", b";sold;"))
    third = fast.store.import_pets(path)

    assert (third.created, third.created_now) == (3, 1)
    assert existing(fast) == Counter([("Rex", 3, "sold"), ("=Mia", 5, None), ("Max", 4, "sold")])
    assert (tmp_path / "pets.sandbox.created.csv").read_bytes().decode("utf-8-sig").splitlines()[
        0
    ] == "name;categoryId;status;note;id"


@pytest.mark.case("P41", "P43")
def test_a_workbook_goes_and_comes_back_as_a_workbook(fast: Sandbox, tmp_path: Path) -> None:
    """
    Created and rejected rows in .xlsx files, every cell the same text; the fixed rejects go once.
    """
    path = tmp_path / "pets.xlsx"
    write_xlsx(
        path, ["name", "categoryId", "note"], [["=Rex", "3", "007"], ["Mia", "cats", "=1+1"]]
    )
    first = fast.store.import_pets(path)
    created = (
        CalamineWorkbook.from_path(tmp_path / "pets.sandbox.created.xlsx")
        .get_sheet_by_index(0)
        .to_python()
    )
    rejects = (
        CalamineWorkbook.from_path(tmp_path / "pets.sandbox.rejected.xlsx")
        .get_sheet_by_index(0)
        .to_python()
    )

    assert created == [["name", "categoryId", "note", "id"], ["=Rex", "3", "007", "1"]]
    assert rejects[1][:4] == ["Mia", "cats", "=1+1", "3"]
    write_xlsx(tmp_path / "pets.sandbox.rejected.xlsx", rejects[0], [["Mia", "5", *rejects[1][2:]]])
    second = fast.store.import_pets(tmp_path / "pets.sandbox.rejected.xlsx")

    assert (first.created, second.created_now, second.complete) == (1, 1, True)
    assert existing(fast) == Counter([("=Rex", 3, None), ("Mia", 5, None)])


@pytest.mark.case("P41")
@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_an_untouched_rejects_file_sends_nothing(
    fast: Sandbox, tmp_path: Path, ending: str
) -> None:
    """Its rows stay rejected; the last column says why, and a workbook shows the cells, too."""
    header, rows = ["name", "categoryId", "status"], [["Rex", "3", "sold"], ["Mia", "cats", "gone"]]
    path = tmp_path / f"pets.{ending}"
    (write_xlsx if ending == "xlsx" else write_csv)(path, header, rows)
    first = fast.store.import_pets(path)
    rejects = tmp_path / f"pets.sandbox.rejected.{ending}"
    (line,) = [row for _, row in open_sheets(rejects)[0].records()][1:]
    again = fast.store.import_pets(rejects)

    assert (first.created, first.rejected) == (1, 1)
    assert "row 3, column B (categoryId): 'cats' is a name, not an id" in line[-1]
    assert (again.created_now, again.requests, again.rejected) == (0, 0, 1)
    assert existing(fast).total() == 1
    if ending == "xlsx":
        with zipfile.ZipFile(rejects) as book:
            sheet = book.read("xl/worksheets/sheet1.xml").decode()
        coloured = [cell for cell in ("A2", "B2", "C2") if f'<c r="{cell}" s=' in sheet]
        assert coloured == ["B2", "C2"]
        assert "available,pending,sold" in sheet


@pytest.mark.case("P41")
def test_a_date_in_a_name_is_no_name_in_the_rejects_file_either(
    fast: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    What was no text stays none in a workbook, and is left out of CSV: unfixed, it is rejected
    again.
    """
    monkeypatch.chdir(tmp_path)
    born = datetime.datetime(2024, 5, 1)
    frame = pd.DataFrame({"name": ["Rex", born], "categoryId": [3, 2**53 + 2]}, dtype="object")
    frame.to_excel("pets.xlsx", index=False, engine="xlsxwriter")

    fast.store.import_pets("pets.xlsx")
    fast.store.import_pets(frame, name="pets2", existing="send")
    again = [
        fast.store.import_pets(f"{name}")
        for name in ("pets.sandbox.rejected.xlsx", "pets2.sandbox.rejected.csv")
    ]

    assert [(result.created_now, result.rejected) for result in again] == [(0, 1), (0, 1)]


@pytest.mark.case("P41", "P48")
def test_a_rounded_number_in_the_last_column_is_none_the_better_for_the_rejects_file(
    fast: Sandbox, tmp_path: Path
) -> None:
    """As text it would read exactly, and pass; it stays the number it was."""
    frame = pd.DataFrame({"name": ["Rex", "Mia"], "categoryId": [3.0, 2.0**60]})
    frame.to_excel(tmp_path / "pets.xlsx", index=False, engine="xlsxwriter")

    first = fast.store.import_pets(tmp_path / "pets.xlsx")
    again = fast.store.import_pets(tmp_path / "pets.sandbox.rejected.xlsx")

    assert (first.created, first.rejected) == (1, 1)
    assert (again.created_now, again.rejected) == (0, 1)
