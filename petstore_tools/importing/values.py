"""
Pure: what a cell and a row mean, decided by rules, each distinct cell once (§2.1,
§2.3).

Nothing is guessed: a cell is read as typed, or by a rule that the caller gave, or it is
a problem that names what would help.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import normalize

from petstore_tools import spec
from petstore_tools.errors import ArgumentError
from petstore_tools.tabular.cells import (
    FORMATTED,
    MERGED,
    NonTextCell,
    Problem,
    whole_number,
)
from petstore_tools.tabular.text_files import repair
from petstore_tools.text import clean, option, quoted

if TYPE_CHECKING:
    from petstore_tools.importing.options import ImportOptions

FIELDS = spec.NEW_PET_FIELDS
# what tells which row is which: columns that are read, and never sent
IDENTITY = ("petstore_id", "row_key")
# the two columns of a returned list; what stands in the second one is never read
ID_TITLE = "petstore_id"
NOTE_TITLE = "petstore_note"


def fold(text: str) -> str:
    """
    Return what is compared: without blanks around, in one case, each character written
    in one way; İ, I and the i without a dot are i.
    """
    if text.isascii():
        return text.strip().lower()
    lower = normalize("NFC", clean(text)).casefold()
    return normalize("NFC", lower).replace("i\u0307", "i").replace("\u0131", "i")


_WORDS = json.loads(
    resources.files(__package__).joinpath("words.json").read_text("utf-8")
)
# Titles that may mean a field, the likeliest first, as `bare` returns them: proposed,
# never just taken. The better ones say it better than the field's own title does.
BETTER_TITLES: dict[str, list[str]] = _WORDS["better titles"]
TITLES = {
    name: [*words, *_WORDS["titles"][name]] for name, words in BETTER_TITLES.items()
}
# words for a status, "" for none: all but the document's own are proposed, never just
# taken
STATUS_WORDS: dict[str, str] = {status: status for status in spec.STATUSES} | {
    fold(word): status for word, status in _WORDS["statuses"].items()
}
_TOTALS = frozenset(map(fold, _WORDS["totals"]))
_NOTES = frozenset(map(fold, _WORDS["notes"]))
# what stands in a text file for an error
ERRORS = frozenset(_WORDS["errors"])
_LETTERS = re.compile(r"[^\W\d_]+")
# what is wrong with a row that may be no animal
ALONE = "stands alone in its row"
# why a row is left out
ABOVE = "above the header"
HEADER_AGAIN = "the header again"
HIDDEN = "hidden"
NO_FIELDS = "without name, category and status"
DUPLICATE = "a duplicate of an earlier row"
COMPUTED = "computed from other rows"
TOTALS_ROW = "the totals row of a table"
ABOUT_TABLE = "a total or a line about the table"
# what to do if such a row is an animal, as the rest of a sentence
LEFT_OUT = {
    COMPUTED: "; if it is an animal, paste its value",
    TOTALS_ROW: "; if it is an animal, move it into the table",
    ABOUT_TABLE: "; if it is an animal, complete the row",
}
Value = str | int | None  # of a name, a category, a status, a key, an id
# of a word until somebody says what it means
NO_ID = "is not the id of a category"
NO_STATUS = "is not a status"
NO_CATEGORY = Problem("is empty", "give the id or the word of the category")
_AS_TEXT = "format the column as text and give the value again"
_HELPS = {  # by a word for what a cell is in place of text
    "formula": (
        "open the workbook in a spreadsheet program, save it, and import it again"
    ),
    "error": "type the value",
    "merged": "undo the merging and type the value into each cell, or delete the row",
}
# what is read in place of text: in a name only what is shown as typed, as a category
# and a status each word that somebody may explain
_NUMBERS = ("", "a number", FORMATTED)
_KINDS = {
    "name": ("", "a number"),
    **dict.fromkeys(("categoryId", "status"), (*_NUMBERS, "a boolean")),
}
_SHORTENED = re.compile(r"-?\d(?:[.,]\d+)?E\+\d+", re.ASCII)


def is_total(text: str) -> bool:
    """Say whether a text begins or ends with a word for a total: `Dogs Total: 12`."""
    words = _LETTERS.findall(fold(text))
    ends = {*words[:1], *words[-1:], " ".join(words[:2]), " ".join(words[-2:])}
    return not ends.isdisjoint(_TOTALS)


def is_note(text: str) -> bool:
    """Say whether a text begins with a word for a page, a date or a signature."""
    words = _LETTERS.findall(fold(text))
    return not _NOTES.isdisjoint((*words[:1], " ".join(words[:2])))


def is_known(title: str) -> bool:
    """Say whether a title is one that may mean a field."""
    return any(bare(title) in words for words in TITLES.values())


def bare(title: str) -> str:
    """
    Return the letters of a title, without what stands in brackets: `2. Name (*)` is
    `name`.
    """
    return re.sub(r"\(.*?\)|\[.*?\]|[\W\d_]", "", fold(normalize("NFKC", title)))


class Matcher:
    """
    Decides cells by rules, each distinct cell once.

    Args:
        options: What words stand for, beside whole numbers and the document's own; the
            defaults are for empty cells and missing columns, never for `name`.

    Attributes:
        defaults: By field, as they are read.

    Raises:
        ArgumentError: A rule contradicts the document, another rule or itself.
    """

    def __init__(self, options: ImportOptions) -> None:
        # what each distinct cell means, by field; those of names are not kept
        self._decided: defaultdict[str, dict[str, Value | Problem]] = defaultdict(dict)
        categories = options.category_words
        ids = {id_ for _, id_ in categories.pairs}
        self._known_ids = ids if categories.is_list else None
        # by field and folded word, the document's own among them
        self._ids = defaultdict(set)
        for word, id_ in categories.pairs:
            self._ids[fold(word)].add(id_)
        self._statuses: dict[str, str] = {status: status for status in spec.STATUSES}
        for word, status in (options.statuses or {}).items():
            self._add_status(str(word), str(status))
        self._readers = {
            "name": _name,
            "categoryId": self._category,
            "status": self._status,
            "row_key": _row_key,
            "petstore_id": _pet_id,
        }
        self._words = {
            "categoryId": self._ids.keys() - {""},
            "status": self._statuses,
        }
        self.defaults: dict[str, Value] = {}
        for field, value in (options.defaults or {}).items():
            if field not in self._words:
                raise ArgumentError(
                    f"defaults are for categoryId and status, not {field!r}"
                )
            default = self.decide(field, str(value))
            if default is None or isinstance(default, Problem):
                reason = default.rule if default else "is empty"
                raise ArgumentError(f"defaults: {value!r} for {field} {reason}")
            self.defaults[field] = default

    def _add_status(self, word: str, status: str) -> None:
        allowed = ", ".join(spec.STATUSES)
        if fold(status) not in ("", *spec.STATUSES):
            raise ArgumentError(f"statuses: {status!r} is not a status; use {allowed}")
        if not fold(word):
            default = option("defaults", {"status": "…"})
            raise ArgumentError(f"statuses: an empty cell is not a word; use {default}")
        meaning = self._statuses.setdefault(fold(word), fold(status))
        if meaning != fold(status):
            raise ArgumentError(
                f"statuses: {word!r} means {meaning!r} already, not {status!r}"
            )

    def decide(self, field: str, cell: str) -> Value | Problem:
        """
        Read a cell of a field, None where it is empty and may be; of a missing column
        the cell is "".
        """
        decided = self._decided[field]
        if type(cell) is str and cell in decided:  # nearly all are
            return decided[cell]
        kind = cell_kind(cell)
        if kind not in _KINDS.get(field, _NUMBERS):
            is_word = fold(cell) in self._words.get(field, ())
            if kind.startswith(MERGED) or not is_word:
                helps = [help_ for word, help_ in _HELPS.items() if word in kind]
                return Problem(f"is {kind}", *(helps or [_AS_TEXT]))
        read = self._readers[field]
        if field not in self._words:  # nearly all are distinct
            return read(clean(cell))
        if cell not in decided:  # a number is read as the text that it shows
            decided[cell] = read(clean(cell))
        return decided[cell]

    def _category(self, text: str) -> Value | Problem:
        if not text:
            return self.defaults.get("categoryId", NO_CATEGORY)
        number = whole_number(text)
        ids: set[int] = {*self._ids.get(fold(text), ())}
        if number is not None and number in (self._known_ids or {number}):
            ids.add(number)
        if len(ids) == 1:
            return min(ids)
        if ids:
            choice = " or ".join(map(str, sorted(ids)))
            help_ = f"rename one of them, or give the id: {choice}"
            return Problem("stands for several categories", help_)
        if number is not None:
            help_ = "add it to the categories, or correct the cell"
            return Problem("is not a known category", help_)
        help_ = option("categories", {"WORD": "ID"})
        return Problem(NO_ID, f"give the id, or say which one is meant: {help_}")

    def _status(self, text: str) -> Value | Problem:
        if not text:
            return self.defaults.get("status")
        word = fold(text)
        if word in self._statuses:
            return self._statuses[word] or None
        flag = option("statuses", {"WORD": "sold"})
        help_ = (
            f"use {', '.join(spec.STATUSES)}, or give the meaning of the word: {flag}"
        )
        return Problem(NO_STATUS, help_)


def _name(text: str) -> str | Problem:
    if not text:
        return Problem("is empty", "give a name")
    if "\0" in text:
        return Problem("holds a NUL character", "retype it")
    if not text.isascii() and (meant := repair(text)) != text:
        rule = f"was saved in the wrong encoding: it may be {meant!r}"
        return Problem(rule, "correct the name, or import a file that shows it rightly")
    return text


def _row_key(text: str) -> str | Problem:
    """Read a row's key as it is compared: a whole number as a number, 007 as 7."""
    if not text:
        return Problem("is empty", "give each row a key of its own")
    number = whole_number(text)
    return text if number is None else str(number)


def _pet_id(text: str) -> int | Problem | None:
    """Read the id of a row's animal, None where the row is new."""
    if not text:
        return None
    number = whole_number(text)
    if number is not None and number > 0:
        return number
    help_ = "give the id of the animal, or empty the cell if the animal is new"
    return Problem("is not the id of an animal", help_)


def cell_kind(cell: str) -> str:
    """
    Return what a cell is in place of text, "" where it is text; a text file holds
    errors, and numbers that a program shortened, as text.
    """
    text = clean(cell)
    if _SHORTENED.fullmatch(text):
        return "a number that the spreadsheet shortened"
    if isinstance(cell, NonTextCell):
        return cell.kind
    return f"the error {text}" if "#" in cell and text.lower() in ERRORS else ""


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


class RowLeftOut(NamedTuple):
    """
    A row that is not empty and not imported, because of the sheet.

    Attributes:
        number: As the spreadsheet counts, from 1; of a DataFrame a FrameRow.
        kind: Why, as the end of a sentence: `hidden`.
        detail: What shows it, such as its formula; may be empty.
    """

    number: int
    kind: str
    detail: str = ""

    def __str__(self) -> str:
        detail = f" ({self.detail})" if self.detail else ""
        return f"{self.number}{detail}"

    @property
    def reason(self) -> str:
        """Why it is left out, and what to do if it is an animal."""
        detail = f" ({self.detail})" if self.detail else ""
        return f"{self.kind}{detail}{LEFT_OUT.get(self.kind, '')}"
