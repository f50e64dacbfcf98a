"""
Workbooks that help people to fill them in: examples, drop-downs, and bad cells in
colour.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from petstore_tools import spec
from petstore_tools.errors import SheetError
from petstore_tools.tabular.cells import EXACT, FORMATTED

# hidden, and by its name never read as animals
CATEGORY_SHEET = "petstore_categories"
LAST_ROW = 1_048_575  # of a sheet, counted from 0
WRITER_OPTIONS = {  # text is never a formula or a link
    "in_memory": True,
    "strings_to_formulas": False,
    "strings_to_urls": False,
}
_TOO_LONG = -2  # XlsxWriter's answer to a text longer than Excel keeps
_HINTS = {
    "name": "The animal's name; it must not be empty.\nExample: Rex",
    "categoryId": "The category's id, or its name where one can be chosen.\nExample: 3",
    "status": (
        f"One of {', '.join(spec.STATUSES)}; it may be empty.\nExample: available"
    ),
}
_TEXT_FORMAT = {"num_format": "@"}  # so that 007 stays 007
# what spreadsheets call bad
_BAD_FORMAT = {"bg_color": "#FFC7CE", "font_color": "#9C0006", **_TEXT_FORMAT}


def template_bytes(categories: Mapping[int, str] | None = None) -> bytes:
    r"""
    Return an empty workbook (.xlsx) to be filled in, one row for each animal.

    >>> template_bytes({3: "Dogs"})[:4]
    b'PK\x03\x04'

    Args:
        categories: Name by id: with it, a category is chosen by its name.
    """
    return workbook_bytes([*_HINTS], [], hints=_HINTS, categories=categories)


def workbook_bytes(
    titles: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    bad_cells: Collection[tuple[int, int]] = (),
    hints: Mapping[str, str] = {},
    categories: Mapping[int, str] | None = None,
    note: str = "",
) -> bytes:
    """
    Return a workbook (.xlsx) of rows, which may wait for a correction.

    Args:
        titles: Of the columns.
        rows: Cells as text; a number (`NonTextCell`) is written as one.
        bad_cells: Positions of the row and of the cell in it that are coloured, both
            from 0.
        hints: By title, of the first columns: such a column is to be filled in, with
            a drop-down where its values are known.
        categories: Name by id, for the drop-down.
        note: For the properties of the workbook.

    Raises:
        SheetError: A cell is longer than Excel keeps.
    """
    import xlsxwriter

    memory = io.BytesIO()
    with xlsxwriter.Workbook(memory, WRITER_OPTIONS) as book:
        book.set_properties({"comments": note})
        sheet = book.add_worksheet("animals")
        sheet.write_row(0, 0, titles, book.add_format({"bold": True}))
        bad_format = book.add_format(_BAD_FORMAT)
        for row, cells in enumerate(rows):
            for column, cell in enumerate(cells):
                is_bad = (row, column) in bad_cells
                value = _typed_value(cell, is_bad=is_bad)
                cell_format = bad_format if is_bad else None
                if sheet.write(row + 1, column, value, cell_format) == _TOO_LONG:
                    raise SheetError(
                        f"a cell of {len(cell):,} characters is too long for a"
                        " workbook: use CSV"
                    )
        sheet.freeze_panes(1, 0)
        sheet.autofit()
        drop_downs: dict[str, Any] = {"status": [*spec.STATUSES]}
        if categories:
            names = sorted(set(categories.values()))
            hidden_sheet = book.add_worksheet(CATEGORY_SHEET)
            hidden_sheet.write_column(0, 0, names)
            hidden_sheet.hide()
            drop_downs["categoryId"] = f"={CATEGORY_SHEET}!$A$1:$A${len(names)}"
        for column, (field, hint) in enumerate(hints.items()):
            rule = {
                "validate": "list" if field in drop_downs else "any",
                "source": drop_downs.get(field),
                "error_type": "warning",  # words and ids are accepted, too
                "input_message": hint,
            }
            sheet.data_validation(1, column, LAST_ROW, column, rule)
            sheet.set_column(column, column, 24, book.add_format(_TEXT_FORMAT))
    return memory.getvalue()


def _typed_value(cell: str, *, is_bad: bool) -> str | float:
    """
    Return what is written: a bad cell that was no text does not pass for corrected.
    """
    kind = getattr(cell, "kind", "")
    is_name = is_bad and kind == FORMATTED  # of a name, what was typed is not known
    if (
        "number" in kind
        and not is_name
        and (abs(float(cell)) < EXACT or "rounded" in kind)
    ):
        return float(cell)
    return "#N/A" if is_bad and kind else str(cell)
