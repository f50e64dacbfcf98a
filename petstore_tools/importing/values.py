"""
Pure: what a cell and a row mean, decided by rules, each distinct cell once (§2.1,
§2.3).

Nothing is guessed: a cell is read as typed, or by a rule that the caller gave, or it is
a problem that names what would help.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple
from unicodedata import normalize

from petstore_tools import spec
from petstore_tools.errors import ArgumentError
from petstore_tools.importing.words import A_NOTE, A_TOTAL, ERRORS, FIELDS, Titles
from petstore_tools.tabular.cells import (
    FORMATTED,
    MERGED,
    MalformedLine,
    NonTextCell,
    Problem,
    Record,
    Sheet,
    are_blank,
    column_letter,
    is_blank,
    whole_number,
)
from petstore_tools.text import option, pluralize, quoted

Value = str | int | None  # of a name, a category, a status


_AS_TEXT = "format the column as text and give the value again"
_HELPS = {  # by a word for what a cell is in place of text
    "formula": (
        "open the workbook in a spreadsheet program, save it, and import it again"
    ),
    "error": "type the value",
    "merged": "undo the merging and type the value into each cell, or delete the row",
}
_IS_SHORTENED = Problem("is a number that the spreadsheet shortened", _AS_TEXT)
_SHORTENED = re.compile(r"-?\d[.,]\d+E\+\d+", re.ASCII)


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
        decided: What each distinct cell means, by field; names are left out.

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
        kind = _kind(cell)
        if kind not in ("", "a number") and (kind != FORMATTED or field == "name"):
            is_word = field == "status" and fold(cell) in self._words
            if not is_word or kind.startswith(MERGED):
                helps = [help_ for word, help_ in _HELPS.items() if word in kind]
                return Problem(f"is {kind}", *(helps or [_AS_TEXT]))
        if field == "name":  # nearly all are distinct
            return _name(cell)
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


def fold(text: str) -> str:
    """
    Return what is compared: without blanks around, in one case, each character written
    in one way.
    """
    return normalize("NFC", normalize("NFC", text.strip()).casefold())


def _name(cell: str) -> str | Problem:
    bare = cell.strip()
    if not bare:
        return Problem("is empty", "give a name")
    if "\0" in bare:
        return Problem("holds a NUL character", "retype it")
    return _IS_SHORTENED if _SHORTENED.fullmatch(bare) else bare


def _kind(cell: str) -> str:
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
        field: `name`, `categoryId`, `status`, or "" for the whole row.
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
    """

    number: int
    content: PetValues
    cells: tuple[str, ...]


class BadRow(NamedTuple):
    """A row that cannot be sent, with all its problems."""

    number: int
    cells: tuple[str, ...]
    problems: list[RowProblem]

    @property
    def why(self) -> str:
        """Its problems in one line."""
        return "; ".join(map(str, self.problems))


class LeftOut(NamedTuple):
    """
    A row that is not empty and not imported; `why` ends a sentence, such as `hidden`.
    """

    number: int
    why: str


AnyRow = Row | BadRow | LeftOut | None


def read_rows(
    records: Iterable[Record], titles: Titles, matcher: Matcher, sheet: Sheet
) -> Iterator[AnyRow]:
    """
    Yield each row: one to send, one with all its problems, one that is left out, or
    None where every cell is empty.

    Args:
        records: Number and cells of each row below the header, as typed; where a row is
            short, what has no column or may be empty counts as empty.
        titles: Which column holds which field.
        matcher: Decides the cells.
        sheet: Where they are from: in a text, a row of another width may have lost a
            sign.
    """
    width = len(titles.header)
    header = [*map(str.casefold, map(str.strip, titles.header))]
    # no row may lack it
    last = max(titles.columns.get(name, -1) for name in spec.REQUIRED)
    # of a field without a column, the cell behind the last one
    pick_fields = itemgetter(*(titles.columns.get(name, width) for name in FIELDS))
    for number, cells in records:
        whole = (*cells[:width], *[""] * (width - len(cells)))
        fields = pick_fields((*whole, ""))
        beyond = cells if len(cells) <= last else cells[width:]
        problem: tuple[str, ...] = ()
        if isinstance(cells, MalformedLine):
            problem = cells.reason, "check its quotation marks"
        elif beyond and not (sheet.name or are_blank(beyond)):
            rule = f"has {pluralize(len(cells), 'cell')} where the header has {width}"
            problem = rule, "check for a missing quote or comma"
        if problem:
            line = RowProblem(number, "", "", ", ".join(cells), *problem)
            yield BadRow(number, tuple(cells), [line])
        elif number in sheet.hidden:
            yield LeftOut(number, "hidden")
        elif are_blank(fields):
            unused = "filled only in columns that are not imported"
            yield None if are_blank(cells) else LeftOut(number, unused)
        elif [*map(str.casefold, map(str.strip, whole))] == header:
            yield LeftOut(number, "the header again")
        else:
            yield _decided(number, whole, fields, titles.places, matcher)


def _decided(
    number: int,
    cells: tuple[str, ...],
    fields: Sequence[str],
    places: Sequence[int | None],
    matcher: Matcher,
) -> Row | BadRow:
    """
    Decide each cell of a row that is not empty. Of a note no default makes an animal,
    and of a total none of its numbers does, unless the row has a status of its own.
    """
    values: list[Any] = [*map(matcher.decide, FIELDS, fields)]
    name = fields[0].strip()
    note = ""
    if not (fields[2].strip() and isinstance(values[2], str)):
        labels = {name, next(filter(str.strip, cells), "")}
        if any(map(A_TOTAL.fullmatch, labels)):
            note = "is a total or a line about the table"
    if name and not (fields[1].strip() or _kind(fields[1])):
        if places.count(None) < 2 and sum(map(is_blank, cells)) == len(cells) - 1:
            note = "stands alone in its row"
        elif A_NOTE.fullmatch(name):
            note = "is a total or a line about the table"
    if note:
        values = [Problem(note, "complete the row, or delete it"), None, None]
    if Problem not in map(type, values):
        return Row(number, PetValues(*values), cells)
    problems = [
        RowProblem(number, "" if at is None else column_letter(at), field, cell, *value)
        for field, at, cell, value in zip(FIELDS, places, fields, values, strict=True)
        if isinstance(value, Problem)
    ]
    return BadRow(number, cells, problems)


def count_matches(rows: Iterable[Row], places: Sequence[int | None]) -> list[Match]:
    """
    Count each distinct cell of rows that is not sent as typed, the most frequent first.
    """
    counts: Counter[tuple[str, str, Value]] = Counter()
    for row in rows:
        for field, at, value in zip(FIELDS, places, row.content, strict=True):
            cell = "" if at is None else row.cells[at]
            is_number = field == "name" and isinstance(cell, NonTextCell)
            is_same = cell == str(value) or (value is None and is_blank(cell))
            if is_number or not is_same:
                counts[field, str(cell), value] += 1
    return [Match(*match, count) for match, count in counts.most_common()]
