"""
Pure: from cells as typed to the values of an animal, or to problems that an analyst can fix (§2.1,
    §2.3).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from petstore_tools.importing.titles import FIELDS, Titles
from petstore_tools.importing.values import Match, Matcher
from petstore_tools.tabular.cells import MalformedLine, NonTextCell, Record, column_letter
from petstore_tools.text import pluralize

_SHOWN: Final = 40  # characters of a cell


class PetValues(NamedTuple):
    """
    What is sent of a row, and what a listing shows of an animal beside its id (§2.1).

    Attributes:
        name: As typed, without blanks around.
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
        place = f"row {self.row}" + (
            f", column {self.column} ({self.field})" if self.column else ""
        )
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


def read_rows(
    records: Iterable[Record], titles: Titles, matcher: Matcher
) -> Iterator[Row | BadRow | None]:
    """
    Yield each row: one to send, one with all its problems, or None where every cell is empty.

    Args:
        records: Number and cells of each row below the header, as typed; where a row is short, what
            has no column or may be empty counts as empty.
        titles: Which column holds which field.
        matcher: Decides the cells.
    """
    for number, cells in records:
        yield _read_row(number, cells, titles, matcher)


def _read_row(
    number: int, cells: list[str], titles: Titles, matcher: Matcher
) -> Row | BadRow | None:
    """Decide each cell of a row of any form."""
    header = titles.header
    if isinstance(cells, MalformedLine):
        return _bad(number, [cells.line], cells.why, "check its quotation marks")
    if _is_blank(cells):
        return None
    if len(cells) <= titles.last_required or not _is_blank(cells[len(header) :]):
        rule = f"has {pluralize(len(cells), 'cell')} where the header has {len(header)}"
        return _bad(number, cells, rule, "check for a missing quote or comma")
    whole = [*cells[: len(header)], *[""] * (len(header) - len(cells))]
    if [cell.strip() for cell in whole] == [title.strip() for title in header]:
        return _bad(number, cells, "is the header again", "delete the row")
    values, problems = [], []
    for of, at in zip(FIELDS, titles.places, strict=True):
        cell = "" if at is None else whole[at]
        value, _, problem = matcher.decide(of, cell)
        values.append(value)
        if problem:
            letter = "" if at is None else column_letter(at)
            problems.append(RowProblem(number, letter, of, cell, *problem))
    if problems:
        return BadRow(number, number, tuple(cells), problems)
    return Row(number, PetValues(*values), tuple(whole))


def _bad(number: int, cells: Sequence[str], rule: str, help_: str) -> BadRow:
    """Return a row that is bad as a whole."""
    return BadRow(
        number, number, tuple(cells), [RowProblem(number, "", "", ", ".join(cells), rule, help_)]
    )


def _is_blank(cells: Sequence[str]) -> bool:
    """Say whether nothing is in the cells; a formula without a saved value is something."""
    return not any(cell.strip() or isinstance(cell, NonTextCell) for cell in cells)


def count_matches(rows: Sequence[Row], titles: Titles, matcher: Matcher) -> list[Match]:
    """Count each distinct cell of rows that was not read as typed, the most frequent first."""
    found = []
    for of, at in zip(FIELDS, titles.places, strict=True):
        cells: Iterable[str] = ("" if at is None else row.cells[at] for row in rows)
        if of == "name":  # nearly all are distinct
            cells = (cell for cell in cells if type(cell) is not str or cell != cell.strip())
        for cell, count in Counter(cells).items():
            decided = matcher.decide(of, cell)
            if decided.how != "as typed":
                found.append(Match(of, str(cell), decided.value, decided.how, count))
    return sorted(found, key=lambda match: -match.count)
