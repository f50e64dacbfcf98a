"""Workbooks that help people to fill them in: examples, drop-downs, and bad cells in colour."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from petstore_tools import spec
from petstore_tools.errors import SheetError
from petstore_tools.tabular.cells import EXACT

CATEGORY_SHEET: Final = "petstore_categories"  # hidden, and by its name never read as animals
LONGEST_CELL: Final = 32_767  # characters that Excel keeps
LAST_ROW: Final = 1_048_575  # of a sheet, counted from 0
WRITER_OPTIONS: Final = {  # text is never a formula or a link
    "in_memory": True,
    "default_date_format": "yyyy-mm-dd",
    "strings_to_formulas": False,
    "strings_to_urls": False,
}
_CUT: Final = -2  # XlsxWriter's answer where a text is longer than Excel keeps
_EXAMPLES: Final = {
    "name": "The animal's name; it must not be empty.\nExample: Rex",
    "categoryId": "The category's id, or its name where one can be chosen.\nExample: 3",
    "status": f"One of {', '.join(spec.STATUSES)}; it may be empty.\nExample: available",
}
_BAD: Final = {"bg_color": "#FFC7CE", "font_color": "#9C0006"}  # what spreadsheets call bad
_TEXT: Final = {"num_format": "@"}  # so that 007 stays 007


def template_bytes(categories: Mapping[int, str] | None = None) -> bytes:
    """
    Return an empty workbook (.xlsx) to be filled in, one row for each animal.

    Args:
        categories: Name by id: with it, a category is chosen by its name.
    """
    fields = {field: at for at, field in enumerate(spec.NEW_PET_FIELDS)}
    return rejects_bytes(
        spec.NEW_PET_FIELDS, [], fields=fields, categories=categories, examples=_EXAMPLES
    )


def rejects_bytes(
    titles: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    bad: Collection[tuple[int, int]] = (),
    fields: Mapping[str, int] = {},
    categories: Mapping[int, str] | None = None,
    examples: Mapping[str, str] = {},
    note: str = "",
) -> bytes:
    """
    Return a workbook (.xlsx) of rows, which may wait for a correction.

    Args:
        titles: Of the columns.
        rows: Cells as text; what was no text (`NonTextCell`) is written as what it was.
        bad: Positions of the row and of the cell in it that are coloured, both from 0.
        fields: Which column holds which field, from 0.
        categories: Name by id, for the drop-down.
        examples: Notes on the titles of fields.
        note: For the properties of the workbook.

    Raises:
        SheetError: A cell is longer than Excel keeps.
    """
    import xlsxwriter

    memory = io.BytesIO()
    with xlsxwriter.Workbook(memory, WRITER_OPTIONS) as book:
        book.set_properties({"comments": note})
        sheet = book.add_worksheet("animals")
        red = book.add_format(_BAD)
        sheet.write_row(0, 0, titles, book.add_format({"bold": True}))
        for row, cells in enumerate(rows):
            for at, cell in enumerate(cells):
                colour = red if (row, at) in bad else None
                if sheet.write(row + 1, at, _native(cell), colour) == _CUT:
                    raise SheetError(
                        f"a cell of {len(cell):,} characters is too long for a workbook: use CSV"
                    )
        sheet.freeze_panes(1, 0)
        sheet.autofit()
        for field, example in examples.items():
            sheet.set_column(fields[field], fields[field], 24, book.add_format(_TEXT))
            sheet.write_comment(0, fields[field], example, {"x_scale": 2})
        _add_drop_downs(book, sheet, fields, categories or {})
    return memory.getvalue()


def _native(cell: str) -> object:
    """Return what a cell was: text stays text, and what was no text does not pass for corrected."""
    match getattr(cell, "kind", ""):
        case "a boolean":
            return cell == "TRUE"
        case "a date":
            return datetime.fromisoformat(cell)
        case "a number" if abs(float(cell)) >= EXACT:  # of a frame, where it is exact
            return str(cell)
        case "a number" | "a number that may have been rounded":
            return float(cell)
        case "a formula without a saved value":
            return "#N/A"
    return str(cell)


def _add_drop_downs(
    book: Any, sheet: Any, fields: Mapping[str, int], categories: Mapping[int, str]
) -> None:
    """
    Let a spreadsheet offer statuses and categories; it warns, since words and ids are accepted too.
    """
    sources: dict[str, Any] = {"status": list(spec.STATUSES)}
    if categories:
        hidden = book.add_worksheet(CATEGORY_SHEET)
        hidden.write_column(0, 0, _choices(categories))
        hidden.hide()
        sources["categoryId"] = f"={CATEGORY_SHEET}!$A$1:$A${len(categories)}"
    for field in sources.keys() & fields.keys():
        rule = {"validate": "list", "source": sources[field], "error_type": "warning"}
        sheet.data_validation(1, fields[field], LAST_ROW, fields[field], rule)


def _choices(categories: Mapping[int, str]) -> list[str | int]:
    """Return what each category is chosen by: its id where its name is not clear."""
    names = sorted((name.strip(), number) for number, name in categories.items())
    same = Counter(name.casefold() for name, _ in names)
    return [
        number if same[name.casefold()] > 1 or name.lstrip("-").isdecimal() else name
        for name, number in names
    ]
