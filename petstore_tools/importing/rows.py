"""
Pure: from cells as typed to the values of an animal, or to problems that an analyst can fix (§2.1, §2.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from petstore_tools.importing.titles import FIELDS, Titles
from petstore_tools.importing.values import Matcher
from petstore_tools.tabular.cells import NonTextCell, column_letter
from petstore_tools.text import pluralize

_SHOWN: Final = 40  # characters of a cell


class PetValues(NamedTuple):
    """
    What is sent of a row, and what a listing shows of an animal beside its id (§2.1).

    Attributes:
        name: As typed, or trimmed where asked.
        category_id: int64.
        status: None where the field is not sent.
    """

    name: str
    category_id: int
    status: str | None


@dataclass(frozen=True, slots=True)
class RowProblem:
    """
    Why a row cannot be sent.

    Attributes:
        row: As the spreadsheet counts, from 1; of a DataFrame a FrameRow.
        column: Letter, "" where the whole row is meant.
        field: `name`, `categoryId`, `status`, or "" for the whole row.
        value: The cell as typed.
        rule: What is wrong.
        suggestion: What would help, or "".
    """

    row: int
    column: str
    field: str
    value: str
    rule: str
    suggestion: str = ""

    def __str__(self) -> str:
        place = f"row {self.row}" + (f", column {self.column} ({self.field})" if self.column else "")
        shown = self.value if len(self.value) <= _SHOWN else self.value[:_SHOWN] + "…"
        shown = f"{shown!r} " if shown else ""
        return f"{place}: {shown}{self.rule}" + (f"; {self.suggestion}" if self.suggestion else "")


class Row(NamedTuple):
    """
    A row that can be sent.

    Attributes:
        number: As the spreadsheet counts, from 1.
        content: The values that are sent.
        cells: All cells of the row as typed.
    """

    number: int
    content: PetValues
    cells: tuple[str, ...]


class BadRow(NamedTuple):
    """
    A row that cannot be sent.

    Attributes:
        number: As the spreadsheet counts, from 1.
        origin: Its number in the first file, where this one is a rejects file; else the same.
        cells: All cells of the row as typed.
        problems: All of them.
    """

    number: int
    origin: int
    cells: tuple[str, ...]
    problems: list[RowProblem]

    @property
    def why(self) -> str:
        """Its problems in one line."""
        return "; ".join(map(str, self.problems))


def read_row(
    number: int, cells: Sequence[str], titles: Titles, matcher: Matcher
) -> Row | list[RowProblem] | None:
    """
    Read a row.

    Args:
        number: As the spreadsheet counts.
        cells: As typed; where the row is short, what has no column or may be empty counts as empty.
        titles: Which column holds which field.
        matcher: Decides the cells, and counts what it reads differently.

    Returns:
        A row to send, all its problems, or None where every cell is empty.
    """
    header, places = titles.header, titles.places
    if len(cells) != len(header):
        if _is_blank(cells):
            return None
        if len(cells) <= titles.last_required or not _is_blank(cells[len(header) :]):
            rule = f"has {pluralize(len(cells), 'cell')} where the header has {len(header)}"
            return [RowProblem(number, "", "", ", ".join(cells), rule, "check for a missing quote or comma")]
        cells = [*cells[: len(header)], *[""] * (len(header) - len(cells))]
    name_at, category_at, status_at = places
    name = cells[name_at or 0]
    category = "" if category_at is None else cells[category_at]
    status = "" if status_at is None else cells[status_at]
    bare = name.strip()
    if not bare and _is_blank(cells):
        return None
    if bare == titles.title_of_name and [cell.strip() for cell in cells] == [t.strip() for t in header]:
        return [RowProblem(number, "", "", ", ".join(cells), "is the header again", "delete the row")]
    found = matcher.read(name, category, status)
    if not isinstance(found, dict):
        return Row(number, PetValues(*found), tuple(cells))
    typed = zip(FIELDS, places, (name, category, status), strict=True)
    return [
        RowProblem(number, "" if at is None else column_letter(at), field, cell, *found[field])
        for field, at, cell in typed
        if field in found
    ]


def _is_blank(cells: Sequence[str]) -> bool:
    """Say whether nothing is in the cells; a formula without a saved value is something."""
    return not any(cell.strip() or isinstance(cell, NonTextCell) for cell in cells)
