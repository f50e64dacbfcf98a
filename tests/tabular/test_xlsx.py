"""Workbooks that help people to fill them in."""

import re

import pytest
from office import list_rules, workbook_part

from petstore_tools.errors import SheetError
from petstore_tools.tabular.cells import FORMATTED, NonTextCell
from petstore_tools.tabular.sources import open_source
from petstore_tools.tabular.xlsx import (
    CATEGORY_SHEET,
    template_bytes,
    workbook_bytes,
)

CATEGORIES = {3: "Dogs", 4: "Cats", 7: "Vögel", 8: "Cats", 9: "12"}


def coloured_cells(content):
    """
    Return the cells below the header that have a format beside that of their column.
    """
    styled = re.findall(
        r'<c r="(\w+)" s="(\d+)"', workbook_part(content, "xl/worksheets/sheet1.xml")
    )
    (_, header), *_ = styled
    return [cell for cell, style in styled if style not in ("1", header)]


def test_a_template_has_examples_drop_downs_and_a_frozen_header(tmp_path):
    """
    Categories stand on a hidden sheet, each name once, which is not read as animals.
    """
    (tmp_path / "template.xlsx").write_bytes(template_bytes(CATEGORIES))
    content = template_bytes()

    assert list_rules(content) == {"C": "list available,pending,sold"}
    assert (
        list_rules(tmp_path / "template.xlsx")["B"]
        == f"list {CATEGORY_SHEET}!$A$1:$A$4"
    )
    sheet = workbook_part(content, "xl/worksheets/sheet1.xml")
    assert len(re.findall('prompt="[^"]*Example:', sheet)) == 3
    assert 'state="frozen"' in sheet
    assert "<cols>" in sheet
    book = workbook_part(tmp_path / "template.xlsx", "xl/workbook.xml")
    assert 'state="hidden"' in book
    [animals] = open_source(tmp_path / "template.xlsx")
    assert animals.name == "animals"


def test_rejects_show_the_bad_cells():
    """There is no drop-down, and a correction is text, so that 007 stays 007."""
    rows = [["Rex", "Dgos"], ["Total", NonTextCell("3", "a number")]]
    content = workbook_bytes(["Tier", "Art"], rows, bad_cells={(0, 1), (1, 0)})

    assert list_rules(content) == {}
    styles = workbook_part(content, "xl/styles.xml")
    assert "FFFFC7CE" in styles
    assert 'formatCode="@"' in styles
    assert coloured_cells(content) == ["B2", "A3"]


def test_a_bad_cell_that_was_no_text_does_not_pass_for_corrected(tmp_path):
    """
    It is an error as long as nobody types something: what it was is not known.
    """
    bad = [
        NonTextCell("", "a formula without a saved value"),
        NonTextCell("", "part of the merged cell A1"),
        NonTextCell("7", FORMATTED),
    ]
    positions = {(0, column) for column in range(len(bad))}
    content = workbook_bytes(["name", "b", "c"], [bad], bad_cells=positions)
    (tmp_path / "rejects.xlsx").write_bytes(content)

    [sheet] = open_source(tmp_path / "rejects.xlsx")

    _, (_, cells) = sheet.records()
    assert [*cells] == ["#N/A"] * len(bad)


def test_a_cell_that_excel_cannot_keep_is_refused():
    """It would be cut."""
    with pytest.raises(
        SheetError, match="32,768 characters is too long for a workbook"
    ):
        workbook_bytes(["name"], [["x" * 32_768]])


def test_the_same_rows_are_the_same_bytes_whenever_they_are_written():
    """By these an import knows that nobody changed its file."""
    properties = workbook_part(workbook_bytes(["name"], [["Rex"]]), "docProps/core.xml")

    assert {*re.findall(r">(\d{4}-[^<]*)<", properties)} == {"2000-01-01T00:00:00Z"}
