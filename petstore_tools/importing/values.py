"""
Pure: what a cell and a row mean, decided by rules, each distinct cell once (§2.1,
§2.3).

Nothing is guessed: a cell is read as typed, or by a rule that the caller gave, or it is
a problem that names what would help.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from petstore_tools import spec
from petstore_tools.errors import ArgumentError
from petstore_tools.importing.words import ERRORS, FIELDS, fold
from petstore_tools.tabular.cells import (
    FORMATTED,
    MERGED,
    NonTextCell,
    Problem,
    is_blank,
    whole_number,
)
from petstore_tools.text import option, pluralize, quoted

Value = str | int | None  # of a name, a category, a status, a key, an id


_AS_TEXT = "format the column as text and give the value again"
_HELPS = {  # by a word for what a cell is in place of text
    "formula": (
        "open the workbook in a spreadsheet program, save it, and import it again"
    ),
    "error": "type the value",
    "merged": "undo the merging and type the value into each cell, or delete the row",
}
_IS_SHORTENED = Problem("is a number that the spreadsheet shortened", _AS_TEXT)
_SHORTENED = re.compile(r"-?\d(?:[.,]\d+)?E\+\d+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Match:
    """
    A distinct cell that is not sent as typed: what it is read as, and in how many
    cells.
    """

    field: str
    typed: str
    value: Value
    count: int

    def __str__(self) -> str:
        typed = repr(self.typed) if self.typed.strip() else "an empty cell"
        if self.typed == self.value:
            typed = f"the number {self.typed}"
        value = "no status" if self.value is None else repr(self.value)
        return (
            f"{self.field}: {typed} is read as {value} in"
            f" {pluralize(self.count, 'row')}"
        )


class Matcher:
    """
    Decides cells by rules, each distinct cell once.

    Args:
        categories: Name by id; None where only ids are accepted. A cell is an id first,
            then a name.
        statuses: Status by word, in any case, beside the document's own words; "" is no
            status.
        defaults: By field, for empty cells and missing columns; never for `name`.

    Attributes:
        decided: What each distinct cell of a category or a status means, by field.

    Raises:
        ArgumentError: A rule contradicts the document, another rule or itself.
    """

    def __init__(
        self,
        categories: Mapping[int, str] | None = None,
        statuses: Mapping[str, str] | None = None,
        defaults: Mapping[str, str | int] | None = None,
    ) -> None:
        self.decided: defaultdict[str, dict[str, Value | Problem]] = defaultdict(dict)
        self._categories = categories
        # by folded word, the document's own among them
        self._words: dict[str, str] = {status: status for status in spec.STATUSES}
        for word, status in (statuses or {}).items():
            self._add_word(str(word), status)
        self._ids: defaultdict[str, set[int]] = defaultdict(set)  # by name
        for id_, name in (categories or {}).items():
            self._ids[fold(name)].add(id_)
        self._defaults: dict[str, Value] = {}
        for field, value in (defaults or {}).items():
            if field not in ("categoryId", "status"):
                raise ArgumentError(
                    f"defaults are for categoryId and status, not {field!r}"
                )
            default = self.decide(field, str(value))
            if default is None or isinstance(default, Problem):
                reason = default.rule if default else "is empty"
                raise ArgumentError(f"defaults: {value!r} for {field} {reason}")
            self._defaults[field] = default

    def _add_word(self, word: str, status: str) -> None:
        allowed = ", ".join(spec.STATUSES)
        if fold(status) not in ("", *spec.STATUSES):
            raise ArgumentError(f"statuses: {status!r} is not a status; use {allowed}")
        if not fold(word):
            default = option("defaults", {"status": "…"})
            raise ArgumentError(f"statuses: an empty cell is not a word; use {default}")
        meaning = self._words.setdefault(fold(word), fold(status))
        if meaning != fold(status):
            raise ArgumentError(
                f"statuses: {word!r} means {meaning!r} already, not {status!r}"
            )

    def decide(self, field: str, cell: str) -> Value | Problem:
        """Read a cell of a field; of a missing column the cell is ""."""
        decided = self.decided[field]
        if type(cell) is str and cell in decided:  # nearly all are
            return decided[cell]
        kind = cell_kind(cell)
        if kind not in ("", "a number") and (kind != FORMATTED or field == "name"):
            is_word = field == "status" and fold(cell) in self._words
            if not is_word or kind.startswith(MERGED):
                helps = [help_ for word, help_ in _HELPS.items() if word in kind]
                return Problem(f"is {kind}", *(helps or [_AS_TEXT]))
        if field in _READERS:  # nearly all are distinct
            return _READERS[field](cell)
        if cell not in decided:  # a number is read as the text that it shows
            decided[cell] = (
                self._category(cell) if field == "categoryId" else self._status(cell)
            )
        return decided[cell]

    def _category(self, cell: str) -> Value | Problem:
        text = cell.strip()
        if not text:
            help_ = option("defaults", {"categoryId": "ID"})
            empty = Problem("is empty", f"give the id of the category, or {help_}")
            return self._defaults.get("categoryId", empty)
        number = whole_number(text)
        ids = set(self._ids.get(fold(text), ()))
        if isinstance(number, int) and number in (self._categories or {number}):
            ids.add(number)
        if len(ids) == 1:
            return min(ids)
        if ids:
            help_ = (
                "rename one of them, or give the id:"
                f" {' or '.join(map(str, sorted(ids)))}"
            )
            return Problem("stands for several categories", help_)
        if isinstance(number, Problem):
            return number
        if _SHORTENED.fullmatch(text):
            return _IS_SHORTENED
        if self._categories is not None:
            help_ = "add it to the categories, or correct the cell"
            return Problem("is not a known category", help_)
        if any(map(str.isalpha, text)):
            file = option("categories", "FILE")
            return Problem("is a name, not an id", f"name the category file: {file}")
        return Problem(
            "is not a whole number", "correct the cell, or choose another column"
        )

    def _status(self, cell: str) -> Value | Problem:
        text = fold(cell)
        if text in self._words:
            return self._words[text] or None
        if not text:
            return self._defaults.get("status")
        flag = option("statuses", {"WORD": "sold"})
        help_ = (
            f"use {', '.join(spec.STATUSES)}, or give the meaning of the word: {flag}"
        )
        return Problem("is not a status", help_)


def _name(cell: str) -> str | Problem:
    bare = cell.strip()
    if not bare:
        return Problem("is empty", "give a name")
    if "\0" in bare:
        return Problem("holds a NUL character", "retype it")
    return _IS_SHORTENED if _SHORTENED.fullmatch(bare) else bare


def _row_key(cell: str) -> str | Problem:
    """Read a row's key as it is compared: a whole number as a number, 007 as 7."""
    bare = cell.strip()
    if not bare:
        return Problem("is empty", "give each row a key of its own")
    if _SHORTENED.fullmatch(bare):
        return _IS_SHORTENED
    number = whole_number(bare)
    return str(number) if isinstance(number, int) else bare


def _pet_id(cell: str) -> int | Problem | None:
    """Read the id of a row's animal, None where the row is new."""
    bare = cell.strip()
    number = whole_number(bare)
    if not bare or (isinstance(number, int) and number > 0):
        return number if bare else None
    help_ = "give the id of the created file, or delete it where the animal is new"
    return Problem("is not the id of an animal", help_)


_READERS = {"name": _name, "row_key": _row_key, "petstore_id": _pet_id}


def cell_kind(cell: str) -> str:
    """
    Return what a cell is in place of text, "" where it is text; a text file holds
    errors as text.
    """
    if isinstance(cell, NonTextCell):
        return cell.kind
    return (
        f"the error {cell.strip()}"
        if "#" in cell and cell.strip().lower() in ERRORS
        else ""
    )


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

    def __str__(self) -> str:
        return f"{quoted(self.name)}, {self.category_id}, {self.status or 'no status'}"


class RowProblem(NamedTuple):
    """
    Why a row cannot be sent.

    Attributes:
        row: As the spreadsheet counts, from 1; of a DataFrame a FrameRow.
        column: Letter, "" where the whole row is meant.
        field: `name`, `categoryId`, `status`, `row_key`, `petstore_id`, or "" for the
            whole row.
        value: The cell as typed.
        rule: What is wrong.
        help: What fixes it.
    """

    row: int
    column: str
    field: str
    value: str
    rule: str
    help: str

    def __str__(self) -> str:
        column = f", column {self.column} ({self.field})" if self.column else ""
        typed = f": {quoted(self.value)}" if self.value else ""
        return f"row {self.row}{column}{typed} {self.rule}; {self.help}"


class Row(NamedTuple):
    """
    A row that can be sent.

    Attributes:
        number: As the spreadsheet counts, from 1; of a DataFrame a FrameRow.
        content: The values that are sent.
        cells: All cells of the row as typed.
        row_key: Its key as it is compared (`row_key=`), "" without one.
        pet_id: Of its animal (`petstore_id`), None where the row is new.
        reject_of: In a rejects file, its row in the sheet that was imported; 0 for
            none.
    """

    number: int
    content: PetValues
    cells: tuple[str, ...]
    row_key: str = ""
    pet_id: int | None = None
    reject_of: int = 0


class ProblemRow(NamedTuple):
    """
    A row that cannot be sent, with all its problems, and its key and its id where they
    can be read.
    """

    number: int
    cells: tuple[str, ...]
    problems: list[RowProblem]
    row_key: str = ""
    pet_id: int | None = None

    @property
    def reason(self) -> str:
        """Its problems in one line."""
        return "; ".join(map(str, self.problems))


class RowLeftOut(NamedTuple):
    """
    A row that is not empty and not imported; its reason ends a sentence: `hidden`.
    """

    number: int
    reason: str


def count_matches(rows: Iterable[Row], indexes: Sequence[int | None]) -> list[Match]:
    """
    Count each distinct cell of rows that is not sent as typed, the most frequent first.
    """
    counts: Counter[tuple[str, str, Value]] = Counter()
    for row in rows:
        for field, index, value in zip(FIELDS, indexes, row.content, strict=True):
            cell = "" if index is None else row.cells[index]
            is_number = field == "name" and isinstance(cell, NonTextCell)
            is_same = cell == str(value) or (value is None and is_blank(cell))
            if is_number or not is_same:
                counts[field, str(cell), value] += 1
    return [Match(*match, count) for match, count in counts.most_common()]
