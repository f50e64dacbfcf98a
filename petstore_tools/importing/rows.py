"""
Pure: from cells as typed to the values of an animal, or to problems that an analyst can fix (§2.1, §2.3).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from petstore_tools import spec
from petstore_tools.errors import SheetError
from petstore_tools.tabular.cells import EXACT, FrameRow, NonTextCell, column_letter
from petstore_tools.text import option, pluralize, suggest

_ALIASES: Final = {
    "name": ("name", "petname", "animalname"),
    "categoryId": ("categoryid", "category"),
    "status": ("status", "petstatus"),
}
_WHOLE: Final = re.compile(r"(-?\d+)(\.0+)?", re.ASCII)
_SHOWN: Final = 40  # characters of a cell
LONGEST_NUMBER: Final = 400  # characters; far beyond int64, and Python reads no int of more than 4,300 digits
_TOTALS: Final = re.compile(
    r"((grand )?total|totals|subtotal|summe|gesamt|gesamtsumme|zwischensumme)( ?:)?", re.IGNORECASE
)


class PetValues(NamedTuple):
    """
    What is sent of a row, and what a listing shows of an animal beside its id (§2.1).

    Attributes:
        name: As typed.
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
        content: The values that are sent; the name as typed, no status where the cell is empty.
        cells: All cells of the row as typed.
        correction: What was read differently from what was typed, or "".
    """

    number: int
    content: PetValues
    cells: tuple[str, ...]
    correction: str = ""


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


@dataclass(frozen=True, slots=True)
class Columns:
    """
    Which column holds which field.

    Attributes:
        header: The header cells as typed.
        name, category_id: Positions from 0.
        status: Position, None where the file has no such column.
    """

    header: tuple[str, ...]
    name: int
    category_id: int
    status: int | None

    @property
    def columns(self) -> dict[str, int]:
        """Position by field, of those that have a column."""
        places = zip(spec.COLUMNS[1:], (self.name, self.category_id, self.status), strict=True)
        return {field: at for field, at in places if at is not None}

    def describe(self) -> str:
        """Say which column is which field: `name ← A 'Name', categoryId ← C 'Category ID'`."""
        fields = (("name", self.name), ("categoryId", self.category_id), ("status", self.status))
        return ", ".join(
            f"{field} ← {column_letter(at)} {self.header[at]!r}" for field, at in fields if at is not None
        )


def find_columns(header: Sequence[str], columns: Mapping[str, str] | None = None) -> Columns:
    """
    Find the fields in a header.

    Args:
        header: Cells as typed.
        columns: Field by column title, where the titles do not tell.

    Raises:
        SheetError: A required column is missing, two could be meant, or `columns` names a title or field
            that is not there.

    Spec: §2.1, required fields.
    """
    titles = [cell.strip() for cell in header]
    given = {title.strip(): field for title, field in (columns or {}).items()}
    for title, field in given.items():
        if field not in _ALIASES:
            raise SheetError(f"{field!r} is not a field; a column can be name, categoryId or status")
        if title not in titles:
            raise SheetError(f"there is no column {title!r}; the header has {_listed(titles)}")
    found = {field: _find(field, titles, given) for field in _ALIASES}
    name, category_id = found["name"], found["categoryId"]
    if name is None or category_id is None:
        missing = " and ".join(field for field in spec.REQUIRED if found[field] is None)
        raise SheetError(
            f"no column for {missing}; the header has {_listed(titles)}. "
            f"Rename a column, or say which one it is: {_column_option('name')}"
        )
    return Columns(tuple(header), name, category_id, found["status"])


def _find(field: str, titles: list[str], given: Mapping[str, str]) -> int | None:
    places = [at for at, title in enumerate(titles) if given.get(title) == field]
    if field not in given.values():
        plain = ["" if title in given else re.sub(r"[\s_\-]+", "", title.casefold()) for title in titles]
        places = [at for at, title in enumerate(plain) if title in _ALIASES[field]]
    if len(places) > 1:
        listed = " and ".join(f"{column_letter(at)} {titles[at]!r}" for at in places)
        raise SheetError(f"columns {listed} could both be {field}; say which one is: {_column_option(field)}")
    return places[0] if places else None


def _column_option(field: str) -> str:
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
        columns: Which column holds which field.
        allow_totals: An animal may be called by a word for a total.

    Returns:
        A row to send, all its problems, or None where every cell is empty.
    """
    bare = [cell.strip() for cell in cells]
    if not any(bare):
        return None
    if bare == [cell.strip() for cell in columns.header]:
        return [RowProblem(number, "", "", ", ".join(cells), "is the header again", "delete the row")]
    width = len(columns.header)
    if len(cells) < width or any(bare[width:]):
        rule = f"has {pluralize(len(cells), 'cell')} where the header has {width}"
        return [RowProblem(number, "", "", ", ".join(cells), rule, "check for a missing quote or comma")]
    typed_status = "" if columns.status is None else cells[columns.status]
    name = _name(_Cell(number, columns.name, "name", cells[columns.name]), allow_totals=allow_totals)
    category_id = _category_id(_Cell(number, columns.category_id, "categoryId", cells[columns.category_id]))
    status = _status(_Cell(number, columns.status or 0, "status", typed_status))
    problems = [value for value in (name, category_id, status) if isinstance(value, RowProblem)]
    if isinstance(name, RowProblem) or isinstance(category_id, RowProblem) or isinstance(status, RowProblem):
        return problems
    corrections = [f"the number {name} is taken for a name"] if name is not cells[columns.name] else []
    if status is not None and status != typed_status:
        corrections.append(f"{typed_status!r} is read as {status}")
    return Row(number, PetValues(name, category_id, status), tuple(cells[:width]), "; ".join(corrections))


class _Cell(NamedTuple):
    """A cell and its place."""

    number: int
    at: int
    field: str
    text: str

    @property
    def kind(self) -> str:
        """What it was in place of text or a number, else ""."""
        kind = self.text.kind if isinstance(self.text, NonTextCell) else ""
        return "" if kind == "a number" else kind

    def problem(self, rule: str, help_: str) -> RowProblem:
        return RowProblem(self.number, column_letter(self.at), self.field, self.text, rule, help_)

    def no_text(self, rule: str) -> RowProblem:
        """Say how a cell is corrected whose value is not text: in a frame nothing is typed."""
        in_frame = isinstance(self.number, FrameRow)
        return self.problem(
            rule,
            "put text or an integer there" if in_frame else "format the column as text and type it again",
        )


def _name(cell: _Cell, *, allow_totals: bool) -> str | RowProblem:
    bare = cell.text.strip()
    if cell.kind:
        return cell.no_text(f"is {cell.kind}")
    if not bare:
        return cell.problem("is empty", "give a name")
    if "\0" in bare:
        return cell.problem("contains a NUL character", "retype it")
    if not allow_totals and _TOTALS.fullmatch(bare):
        advice = f"delete the row; or, for an animal of that name: {option('allow_totals=True')}"
        return cell.problem("is a word for a total", advice)
    return str(cell.text) if isinstance(cell.text, NonTextCell) else cell.text


def _category_id(cell: _Cell) -> int | RowProblem:
    text = cell.text.strip()
    if cell.kind:
        return cell.no_text(f"is {cell.kind}")
    if not text:
        return cell.problem("is empty", "give the number of the category")
    whole = _WHOLE.fullmatch(text)
    if whole is None:
        return cell.problem("is not a whole number", "fix the cell or map the column")
    value = int(whole[1]) if len(text) <= LONGEST_NUMBER else spec.INT64_MAX + 1
    if whole[2] and abs(value) >= EXACT:
        return cell.no_text("may have been rounded")
    if not spec.INT64_MIN <= value <= spec.INT64_MAX:
        return cell.problem("is too large", "give a smaller number")
    return value


def _status(cell: _Cell) -> str | RowProblem | None:
    text = cell.text.strip().casefold()
    if not text or text in spec.STATUSES:
        return text or None
    hint = suggest(text, spec.STATUSES).removeprefix("; ")
    return cell.problem("is no status", hint or f"use {', '.join(spec.STATUSES)} or leave it empty")
