"""
Workbooks that help people to fill them in: drop-downs, examples, and bad cells with the reason.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from petstore_tools import spec
from petstore_tools.errors import SheetError
from petstore_tools.tabular.cells import EXACT

CATEGORY_SHEET: Final = "petstore_categories"  # hidden, and by its name never read as animals
LONGEST_CELL: Final = 32_767  # characters that Excel keeps
MOST_NOTES: Final = (
    2_000  # with more, a spreadsheet opens slowly; every bad cell is coloured all the same
)
_NOTHING: Final[Mapping[Any, Any]] = MappingProxyType({})
LAST_ROW: Final = 1_048_575  # of a sheet, counted from 0
_EXACT: Final = 10**15 - 1  # a spreadsheet keeps 15 digits of a number
_WIDTH: Final = 24  # of a column of the template, in characters
_EXAMPLES: Final = {
    "name": "The animal's name; it must not be empty.\nExample: Rex",
    "categoryId": (
        "The id of the animal's category: a whole number; it must not be empty.\nExample: 3"
    ),
    "status": f"One of {', '.join(spec.STATUSES)}; it may be empty.\nExample: available",
}
WRITER_OPTIONS: Final = {  # text is never a formula or a link
    "in_memory": True,
    "default_date_format": "yyyy-mm-dd",
    "strings_to_formulas": False,
    "strings_to_urls": False,
}
_BAD: Final = {"bg_color": "#FFC7CE", "font_color": "#9C0006"}  # what spreadsheets call bad
_TEXT: Final = {"num_format": "@"}  # so that 007 stays 007


def template_bytes(categories: Mapping[int, str] | None = None) -> bytes:
    """
    Return an empty workbook (.xlsx) to be filled in, one row for each animal.

    Args:
        categories: Name by id: with it, a category is chosen by its name.
    """
    examples = dict(_EXAMPLES)
    if categories:
        chosen, _ = next(_choices(categories))
        examples["categoryId"] = (
            f"The animal's category: choose it from the list.\nExample: {chosen}"
        )
    fields = {field: at for at, field in enumerate(spec.NEW_PET_FIELDS)}
    return rejects_bytes(
        spec.NEW_PET_FIELDS, [], fields=fields, categories=categories, examples=examples
    )


def rejects_bytes(
    titles: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    bad: Mapping[tuple[int, int], str] = _NOTHING,
    fields: Mapping[str, int] = _NOTHING,
    categories: Mapping[int, str] | None = None,
    examples: Mapping[str, str] | None = None,
    note: str = "",
) -> bytes:
    """
    Return a workbook (.xlsx) of rows, which may wait for a correction.

    Args:
        titles: Of the columns.
        rows: Cells as text; what was no text (`NonTextCell`) is written as what it was.
        bad: The reason, by position of the row and of the bad cell in it, both from 0.
        fields: Which column holds which field, from 0.
        categories: Name by id, for the drop-down.
        examples: Notes on the titles of fields.
        note: For the properties of the workbook.

    Raises:
        SheetError: A cell is longer than Excel keeps.
    """
    import xlsxwriter

    memory, lines = io.BytesIO(), list(rows)
    with xlsxwriter.Workbook(memory, WRITER_OPTIONS) as book:
        book.set_properties({"comments": note})
        sheet, red, text = (
            book.add_worksheet("animals"),
            book.add_format(_BAD),
            book.add_format(_TEXT),
        )
        sheet.write_row(0, 0, titles, book.add_format({"bold": True}))
        for row, cells in enumerate(lines, start=1):
            if (longest := max(map(len, cells), default=0)) > LONGEST_CELL:
                raise SheetError(
                    f"a cell of {longest:,} characters is too long for a workbook: use CSV"
                )
            sheet.write_row(row, 0, map(_native, cells))
        for count, (row, at) in enumerate(sorted(bad)):
            sheet.write(row + 1, at, _native(lines[row][at]) if at < len(lines[row]) else "", red)
            if count < MOST_NOTES:
                sheet.write_comment(row + 1, at, bad[row, at][:LONGEST_CELL], {"x_scale": 2})
        sheet.freeze_panes(1, 0)
        sheet.autofit()
        for field, example in (examples or {}).items():
            at = fields[field]
            sheet.set_column(at, at, _WIDTH, None if field == "categoryId" else text)
            sheet.write_comment(0, at, example, {"x_scale": 2})
        _add_drop_downs(book, sheet, fields, categories)
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
    book: Any, sheet: Any, fields: Mapping[str, int], categories: Mapping[int, str] | None
) -> None:
    """
    Let a spreadsheet offer statuses and categories; it warns, since words and ids are accepted too.
    """
    rules: dict[str, dict[str, Any]] = {
        "status": {
            "validate": "list",
            "source": list(spec.STATUSES),
            "error_type": "warning",
            "error_message": f"Choose {', '.join(spec.STATUSES)}, or leave the cell empty.",
        },
        "categoryId": {
            "validate": "integer",
            "criteria": "between",
            "minimum": -_EXACT,
            "maximum": _EXACT,
            "error_message": "Type the id of the category: a whole number.",
        },
    }
    if categories:
        choices = list(_choices(categories))
        hidden = book.add_worksheet(CATEGORY_SHEET)
        for row, cells in enumerate([("category", "id"), *choices]):
            hidden.write_row(row, 0, cells)
        hidden.hide()
        rules["categoryId"] = {
            "validate": "list",
            "source": f"={CATEGORY_SHEET}!$A$2:$A${len(choices) + 1}",
            "error_type": "warning",
            "error_message": "Choose a category from the list.",
        }
    for field, rule in rules.items():
        if (at := fields.get(field)) is not None:
            sheet.data_validation(1, at, LAST_ROW, at, rule)


def _choices(categories: Mapping[int, str]) -> Iterator[tuple[str | int, int]]:
    """
    Yield what a category is chosen by, and its id: by the id itself where its name is not clear.
    """
    same = Counter(name.strip().casefold() for name in categories.values())
    for id_, name in sorted(categories.items(), key=lambda category: category[1].casefold()):
        bare = name.strip()
        clear = bare and same[bare.casefold()] == 1 and not bare.lstrip("-").isdecimal()
        yield (bare if clear else id_), id_
