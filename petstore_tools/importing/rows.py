"""From cells as typed to animals, or to problems that an analyst can fix (§2.1, §2.3)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, NamedTuple

from petstore_tools import spec
from petstore_tools.errors import SheetError
from petstore_tools.tabular.cells import EXACT, FrameRow, MalformedLine, NonTextCell, column_letter
from petstore_tools.text import option, pluralize

_ALIASES: Final = {
    "name": ("name", "petname", "animalname"),
    "categoryId": ("categoryid", "category"),
    "status": ("status", "petstatus"),
}
_WHOLE: Final = re.compile(r"-?\d+", re.ASCII)
_WHOLE_AS_DECIMAL: Final = re.compile(r"(-?\d+)\.0+", re.ASCII)
_SHOWN: Final = 40
_TOTALS: Final = {
    "total",
    "totals",
    "grand total",
    "subtotal",
    "summe",
    "gesamt",
    "gesamtsumme",
    "zwischensumme",
}
TOTALS: Final = frozenset(word + end for word in _TOTALS for end in ("", ":", " :"))

PetValues = tuple[str, int, str | None]


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


def broken_row(row: int, broken: MalformedLine) -> RowProblem:
    """Say why a line cannot be read as a row."""
    return RowProblem(row, "", "", broken.line, broken.why, "check its quotes")


class Row(NamedTuple):
    """
    A row that can be sent.

    Attributes:
        number: As the spreadsheet counts, from 1.
        name: As typed.
        category_id: int64.
        status: None where the cell is empty: the field is not sent.
        cells: All cells of the row as typed.
        correction: What was read differently from what was typed, or "".
    """

    number: int
    name: str
    category_id: int
    status: str | None
    cells: tuple[str, ...]
    correction: str = ""

    @property
    def content(self) -> PetValues:
        """The three values that are sent."""
        return self.name, self.category_id, self.status


@dataclass(frozen=True, slots=True)
class Columns:
    """
    Where the fields stand.

    Attributes:
        header: The header cells as typed.
        name, category_id: Positions from 0.
        status: Position, None where the file has no such column.
    """

    header: tuple[str, ...]
    name: int
    category_id: int
    status: int | None

    def describe(self) -> str:
        """Echo the mapping: `name ← A 'Name', categoryId ← C 'Category ID'`."""
        fields = (("name", self.name), ("categoryId", self.category_id), ("status", self.status))
        return ", ".join(
            f"{field} ← {column_letter(at)} {self.header[at]!r}" for field, at in fields if at is not None
        )


def find_columns(header: Sequence[str], mapping: Mapping[str, str] | None = None) -> Columns:
    """
    Find the fields in a header.

    Args:
        header: Cells as typed.
        mapping: Field by column title, where the titles do not tell.

    Raises:
        SheetError: A required column is missing, two could be meant, or the mapping names a column or
            field that is not there.

    Spec: §2.1, required fields.
    """
    titles = [cell.strip() for cell in header]
    given = {title.strip(): field for title, field in (mapping or {}).items()}
    for title, field in given.items():
        if field not in _ALIASES:
            raise SheetError(f"there is no field {field!r}: map to name, categoryId or status")
        if title not in titles:
            raise SheetError(f"there is no column {title!r}; the header has {_listed(titles)}")
    found = {field: _find(field, titles, given) for field in _ALIASES}
    name, category_id = found["name"], found["categoryId"]
    if name is None or category_id is None:
        missing = " and ".join(field for field in spec.REQUIRED if found[field] is None)
        raise SheetError(
            f"no column for {missing}; the header has {_listed(titles)}. "
            f"Rename a column or map it: {_mapped('name')}"
        )
    return Columns(tuple(header), name, category_id, found["status"])


def _find(field: str, titles: list[str], given: Mapping[str, str]) -> int | None:
    named = [title for title, target in given.items() if target == field]
    places = [at for at, title in enumerate(titles) if title in named]
    if not named:
        places = [
            at
            for at, title in enumerate(titles)
            if title not in given and re.sub(r"[\s_\-]+", "", title.casefold()) in _ALIASES[field]
        ]
    if len(places) > 1:
        listed = " and ".join(f"{column_letter(at)} {titles[at]!r}" for at in places)
        raise SheetError(f"columns {listed} could both be {field}; map one: {_mapped(field)}")
    return places[0] if places else None


def _mapped(field: str) -> str:
    return option(f'columns={{"Column": "{field}"}}', f'--columns "Column={field}"')


def _listed(titles: list[str]) -> str:
    return ", ".join(repr(title) for title in titles[:20]) or "no cells"


def read_row(
    number: int, cells: Sequence[str], columns: Columns, *, allow_totals: bool = False
) -> Row | list[RowProblem] | None:
    """
    Read a row.

    Args:
        number: As the spreadsheet counts.
        cells: As typed.
        columns: Where the fields stand.
        allow_totals: An animal may be called by a word for a total.

    Returns:
        A row to send, all its problems, or None where every cell is empty.
    """
    if not any(cell.strip() for cell in cells):
        return None
    if tuple(cell.strip() for cell in cells) == tuple(cell.strip() for cell in columns.header):
        return [RowProblem(number, "", "", ", ".join(cells), "is the header again", "delete the row")]
    width = len(columns.header)
    if len(cells) < width or any(cell.strip() for cell in cells[width:]):
        rule = f"has {pluralize(len(cells), 'cell')} where the header has {width}"
        return [RowProblem(number, "", "", ", ".join(cells), rule, "check for a missing quote or comma")]
    problems: list[RowProblem] = []
    name = cells[columns.name]
    kind = name.kind if isinstance(name, NonTextCell) else ""
    if kind and kind != "a number":
        problems.append(_problem(number, columns.name, "name", name, f"is {kind}", _as_text(number)))
    elif not name.strip():
        problems.append(_problem(number, columns.name, "name", name, "is empty", "give a name"))
    elif "\0" in name:
        problems.append(_problem(number, columns.name, "name", name, "holds a NUL character", "retype it"))
    elif name.strip().lower() in TOTALS and not allow_totals:
        help_ = f"delete the row; or, for an animal of that name: {option('allow_totals=True')}"
        problems.append(_problem(number, columns.name, "name", name, "is a word for a total", help_))
    category_id = _category_id(number, columns.category_id, cells[columns.category_id])
    status: str | RowProblem | None = None
    if columns.status is not None:
        status = _status(number, columns.status, cells[columns.status])
    problems += [value for value in (category_id, status) if isinstance(value, RowProblem)]
    if problems or isinstance(category_id, RowProblem) or isinstance(status, RowProblem):
        return problems
    typed = "" if columns.status is None else cells[columns.status]
    corrected = f"{typed!r} is read as {status}" if status is not None and typed != status else ""
    if kind:
        corrected = "; ".join(filter(None, (f"the number {name} is taken for a name", corrected)))
    return Row(number, str(name), category_id, status, tuple(cells[:width]), corrected)


def _problem(number: int, at: int, field: str, value: str, rule: str, help_: str) -> RowProblem:
    return RowProblem(number, column_letter(at), field, value, rule, help_)


def _as_text(number: int) -> str:
    """Say how a cell is mended whose value is no text: in a frame nothing is typed."""
    in_frame = isinstance(number, FrameRow)
    return "put text or an integer there" if in_frame else "format the column as text and type it again"


def _category_id(number: int, at: int, cell: str) -> int | RowProblem:
    def problem(rule: str, help_: str) -> RowProblem:
        return _problem(number, at, "categoryId", cell, rule, help_)

    kind = cell.kind if isinstance(cell, NonTextCell) else ""
    if kind and kind != "a number":
        return problem(f"is {kind}", _as_text(number))
    text = cell.strip()
    if not text:
        return problem("is empty", "give the number of the category")
    decimal = _WHOLE_AS_DECIMAL.fullmatch(text)
    if decimal is None and not _WHOLE.fullmatch(text):
        return problem("is not a whole number", "fix the cell or map the column")
    if len(text) > 400:
        return problem("is beyond int64", "give a smaller number")
    value = int(decimal.group(1) if decimal else text)
    if decimal and abs(value) >= EXACT:
        return problem("may have been rounded", _as_text(number))
    if not spec.INT64_MIN <= value <= spec.INT64_MAX:
        return problem("is beyond int64", "give a smaller number")
    return value


def _status(number: int, at: int, cell: str) -> str | RowProblem | None:
    text = cell.strip().casefold()
    if not text:
        return None
    if text in spec.STATUSES:
        return text
    close = get_close_matches(text, spec.STATUSES, n=1)
    hint = f"did you mean {close[0]}?" if close else f"use {', '.join(spec.STATUSES)} or leave it empty"
    return _problem(number, at, "status", cell, "is no status", hint)
