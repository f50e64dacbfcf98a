"""Rows that a spreadsheet hides, formulas and error cells: what a person does not see."""

from __future__ import annotations

import zipfile
from pathlib import Path

import xlsxwriter
from inventories import existing_names

from petstore_tools import Sandbox
from petstore_tools.importing.options import ImportOptions


def write(path: Path, *names: str, hidden: tuple[str, ...] = ()) -> Path:
    """Write animals of category 3, some in hidden rows."""
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("animals")
        sheet.write_row(0, 0, ["name", "categoryId"])
        for number, name in enumerate(names, start=1):
            sheet.write_row(number, 0, [name, 3])
            if name in hidden:
                sheet.set_row(number, options={"hidden": True})
    return path


def test_hidden_rows_go_only_when_asked_for(fast: Sandbox, tmp_path: Path) -> None:
    """
    The preview names them; they are neither sent nor counted, until `hidden=True`, which is stored.
    """
    path = write(tmp_path / "pets.xlsx", "Rex", "Mia", "Bo", hidden=("Mia",))

    preview = fast.store.preview_import(path)
    first = fast.store.import_pets(path)
    assert "1 row hidden on the sheet, not sent: 3; to send them: hidden=True" in preview.notes
    assert (first.rows, first.created, first.complete) == (2, 2, True)
    assert existing_names(fast) == {"Rex": 1, "Bo": 1}

    result = fast.store.import_pets(path, hidden=True)
    assert (result.rows, result.created_now, result.complete) == (3, 1, True)
    assert existing_names(fast) == {"Rex": 1, "Mia": 1, "Bo": 1}
    assert ImportOptions(path, hidden=True).reading["hidden"] is True


def test_a_hidden_row_does_not_count_among_the_values_that_are_read_differently(
    fast: Sandbox, tmp_path: Path
) -> None:
    """The preview counts what is sent: with `hidden=True` that row, too."""
    path, statuses = tmp_path / "pets.xlsx", {"verkauft": "sold", "weg": "sold"}
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("animals")
        for number, status in enumerate(["status", "verkauft", "verkauft", "weg"]):
            sheet.write_row(number, 0, [status if number == 0 else "Rex", 3, status])
        sheet.write_row(0, 0, ["name", "categoryId"])
        for number in (2, 3):
            sheet.set_row(number, options={"hidden": True})

    shown = fast.store.preview_import(path, statuses=statuses)
    every = fast.store.preview_import(path, statuses=statuses, hidden=True)

    assert {match.typed: match.count for match in shown.matches} == {"verkauft": 1}
    assert {match.typed: match.count for match in every.matches} == {"verkauft": 2, "weg": 1}


def test_a_hidden_row_that_was_created_counts_as_present(fast: Sandbox, tmp_path: Path) -> None:
    """A filter set later makes no row a removed one, and no row is sent twice."""
    names = ("Rex", "Mia", "Bo", "Ada")
    path = write(tmp_path / "pets.xlsx", *names)
    fast.store.import_pets(path)
    write(path, *names, "Zoe", hidden=("Mia", "Bo", "Ada"))

    preview = fast.store.preview_import(path)
    result = fast.store.import_pets(path)

    assert (preview.removed, preview.held, preview.to_send) == (0, (), 1)
    assert (result.rows, result.created, result.complete) == (5, 5, True)
    assert set(existing_names(fast).values()) == {1}


def test_a_visible_row_is_not_sent_again_where_a_hidden_one_is_equal(
    fast: Sandbox, tmp_path: Path
) -> None:
    """The created animal is the visible row's, wherever the hidden one is."""
    path = write(tmp_path / "pets.xlsx", "Mia", "Rex")
    fast.store.import_pets(path)
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("animals")
        sheet.write_column(0, 0, ["name", "Mia", "Mia", "Rex"])
        sheet.write_column(0, 1, ["categoryId", 3, 3, 3])
        sheet.set_row(1, options={"hidden": True})

    result = fast.store.import_pets(path)

    assert (result.created_now, result.created, result.complete) == (0, 2, True)
    assert existing_names(fast) == {"Mia": 1, "Rex": 1}


def test_error_cells_and_formulas_are_called_what_they_are(fast: Sandbox, tmp_path: Path) -> None:
    """
    An error is no empty cell, and a formula without a saved value is none either; neither is ever
    sent.
    """
    path = tmp_path / "pets.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("animals")
        sheet.write_row(0, 0, ["name", "categoryId", "status"])
        sheet.write_row(1, 0, ["Rex", 3, "sold"])
        sheet.write_formula(1, 1, "=1+2", None, 3)
        sheet.write_row(2, 0, ["Mia"])
        sheet.write_formula(2, 1, "=NA()", None, "#N/A")
        sheet.write_row(3, 0, ["Bo", 4])
        sheet.write_formula(3, 2, '=LOWER("SOLD")', None, "")
    _without_saved_values(path)

    first = fast.store.import_pets(path)
    rejects = tmp_path / "pets.sandbox.rejected.xlsx"
    again = fast.store.import_pets(rejects)

    said = [str(problem) for problem in first.problems]
    assert "column B (categoryId): '#N/A' is the error #N/A" in said[0]
    assert "column C (status): is a formula without a saved value" in said[1]
    assert (first.created, first.rejected, again.created_now, again.rejected) == (1, 2, 0, 2)
    assert any(
        "formulas, whose saved values are read: column B (2 cells), column C" in note
        for note in fast.store.preview_import(path).notes
    )


def _without_saved_values(path: Path) -> None:
    """
    Take the values of text formulas out of a workbook, as a program does that calculates nothing.
    """
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    name = "xl/worksheets/sheet1.xml"
    parts[name] = parts[name].replace(b' t="str"', b"").replace(b"<v></v>", b"")
    with zipfile.ZipFile(path, "w") as book:
        for part, content in parts.items():
            book.writestr(part, content)
