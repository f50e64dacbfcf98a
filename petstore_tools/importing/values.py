"""
Pure: what a cell means, decided by rules, each distinct cell once (§2.1, §2.3).

Nothing is guessed: a cell is read as typed, or by a rule that the caller gave, or it is a problem
that names what would help.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple
from unicodedata import normalize

from petstore_tools import spec
from petstore_tools.errors import ArgumentError
from petstore_tools.importing.whole_numbers import Problem, whole_number
from petstore_tools.tabular.cells import NonTextCell
from petstore_tools.text import option, pluralize, suggest

How = Literal["as typed", "matched name", "matched word", "default", "corrected number", "trimmed"]

_COMPARISONS: Final = (
    100_000  # with known words, to find suggestions: difflib takes about 10 µs for each
)
_TOTAL_WORDS: Final = "total totals subtotal summe gesamt gesamtsumme zwischensumme".split()
_TOTALS: Final = {word + end for word in (*_TOTAL_WORDS, "grand total") for end in ("", ":", " :")}
_ERRORS: Final = frozenset(
    "#n/a #nv #ref! #bezug! #name? #value! #wert! #div/0! #num! #zahl! #null!".split()
)


class Decided(NamedTuple):
    """
    What a cell means.

    Attributes:
        value: Text of a name, int64 of a category, a status; None for no status and for a problem.
        how: How it was read.
        problem: Why it cannot be sent, or None.
    """

    value: Any = None
    how: How = "as typed"
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """
    A distinct cell that was not read as typed: what it is read as, how, and in how many cells.
    """

    field: str
    typed: str
    value: str | int | None
    how: How
    count: int

    def __str__(self) -> str:
        typed = "an empty cell" if self.how == "default" else repr(self.typed)
        if self.how == "corrected number" and self.field == "name":
            typed = f"the number {self.typed}"
        value = "no status" if self.value is None else repr(self.value)
        return f"{self.field}: {typed} is read as {value} in {pluralize(self.count, 'row')}"


@dataclass(frozen=True)
class ValueRules:
    """
    How cells are read.

    Attributes:
        categories: Name by id; None where only ids are accepted. A cell is an id first, then a
            name.
        statuses: Status by word, in any case, beside the document's own words; "" is no status.
        defaults: By field, for empty cells and missing columns; never for `name`.
        delimiter: The sign between cells; where it is not a comma, `7,0` is 7.
        in_frame: Cells are values of a DataFrame, which nobody types.

    Raises:
        ArgumentError: A rule contradicts the document, another rule or itself.
    """

    categories: Mapping[int, str] | None = None
    statuses: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, str | int] = field(default_factory=dict)
    delimiter: str = ""
    in_frame: bool = False

    def __post_init__(self) -> None:
        for field_ in self.defaults:
            if field_ not in ("categoryId", "status"):
                why = "name takes none" if field_ == "name" else f"there is no field {field_!r}"
                raise ArgumentError(f"defaults are for categoryId and status: {why}")
        self.words()

    def words(self) -> dict[str, str]:
        """Return status by folded word, the document's own among them."""
        words: dict[str, str] = {status: status for status in spec.STATUSES}
        for word, status in self.statuses.items():
            if fold(status) not in ("", *spec.STATUSES):
                raise ArgumentError(
                    f"statuses: {status!r} is not a status{suggest(status, spec.STATUSES)}"
                )
            if not fold(word):
                default = option('defaults={"status": …}', "--default status=…")
                raise ArgumentError(f"statuses: an empty cell is not a word; use {default}")
            if words.setdefault(fold(word), fold(status)) != fold(status):
                raise ArgumentError(
                    f"statuses: {word!r} means {words[fold(word)]!r} already, not {status!r}"
                )
        return words


class Matcher:
    """
    Decides cells by rules, each distinct cell once.

    Attributes:
        rules: How cells are read.

    Raises:
        ArgumentError: A default is no value of its field.
    """

    def __init__(self, rules: ValueRules) -> None:
        self.rules = rules
        self._decided: dict[tuple[str, str], Decided] = {}
        self._words = rules.words()
        self._ids: defaultdict[str, set[int]] = defaultdict(set)  # by name
        self._titles: dict[str, str] = {}  # names as their table has them
        for id_, name in sorted((rules.categories or {}).items()):
            if fold(name):
                self._ids[fold(name)].add(id_)
                self._titles.setdefault(fold(name), name.strip())
        self._comparisons = _COMPARISONS
        self._defaults: dict[str, Decided] = {}
        for of, value in rules.defaults.items():
            found = self._category(str(value)) if of == "categoryId" else self._status(str(value))
            if found.problem or found.value is None:
                why = found.problem.rule if found.problem else "is empty"
                raise ArgumentError(f"defaults: {value!r} for {of} {why}")
            self._defaults[of] = Decided(found.value, "default")

    def decide(self, of: str, cell: str) -> Decided:
        """Read a cell of a field; of a missing column the cell is ""."""
        kind = _kind(cell)
        if kind not in ("", "a number") and not (of == "status" and fold(cell) in self._words):
            return self._no_text(kind)
        if of == "name":
            return self._name(cell, is_number=bool(kind))
        found = self._decided.get((of, cell))  # a number is read as the text that it shows
        if found is None:
            found = self._category(cell) if of == "categoryId" else self._status(cell)
            self._decided[of, cell] = found
        return found

    def _name(self, cell: str, *, is_number: bool) -> Decided:
        bare = cell.strip()
        if not bare:
            return _problem("is empty", "give a name")
        if "\0" in cell:
            return _problem("holds a NUL character", "retype it")
        if bare.lower() in _TOTALS:
            return _problem("is a word for a total", "delete the row")
        if is_number:
            return Decided(str(cell), "corrected number")
        return Decided(bare, "as typed" if bare == cell else "trimmed")

    def _category(self, cell: str) -> Decided:
        text, categories = cell.strip(), self.rules.categories
        if not text:
            help_ = option('defaults={"categoryId": ID}', "--default categoryId=ID")
            empty = _problem("is empty", f"give the id of the category, or {help_}")
            return self._defaults.get("categoryId", empty)
        number = whole_number(text, self.rules.delimiter)
        ids = self._ids.get(fold(text), set())
        if isinstance(number, int) and (categories is None or number in categories):
            if ids - {number}:
                rule = "is the id of one category and the name of another"
                return _problem(rule, "rename one of the two categories")
            return Decided(number, "as typed" if str(number) == cell else "corrected number")
        if len(ids) == 1:
            return Decided(min(ids), "matched name")
        if ids:
            listed = " or ".join(map(str, sorted(ids)))
            return _problem("is the name of several categories", f"give the id: {listed}")
        if isinstance(number, Problem):
            return Decided(problem=number)
        if categories is not None:
            help_ = "" if number is not None else self._suggestion(text, self._titles)
            return _problem(
                "is not a known category", help_ or "add it to the categories, or correct the cell"
            )
        if any(map(str.isalpha, text)) and not any(map(str.isdigit, text)):
            file = option('categories="FILE"', "--categories FILE")
            return _problem("is a name, not an id", f"name the category file: {file}")
        return _problem("is not a whole number", "correct the cell, or choose another column")

    def _status(self, cell: str) -> Decided:
        text = fold(cell)
        if text in self._words:
            found = self._words[text] or None
            return Decided(found, "as typed" if found == cell else "matched word")
        if not text:
            return self._defaults.get("status", Decided())
        flag = option('statuses={"WORD": "sold"}', '--status-word "WORD=sold"')
        help_ = f"use {', '.join(spec.STATUSES)}, or give the meaning of the word: {flag}"
        suggestion = self._suggestion(text, {word: word for word in self._words})
        return _problem("is not a status", suggestion or help_)

    def _no_text(self, kind: str) -> Decided:
        if "formula" in kind:
            help_ = "open the workbook in a spreadsheet program, save it, and import it again"
        elif "error" in kind:
            help_ = "type the value"
        elif self.rules.in_frame:
            help_ = "put text or an integer there"
        else:
            help_ = "format the column as text and type it again"
        return _problem(f"is {kind}", help_)

    def _suggestion(self, text: str, titles: Mapping[str, str]) -> str:
        """
        Ask whether the nearest word was meant; "" where none is near, or after very many
        comparisons.
        """
        from difflib import get_close_matches

        self._comparisons -= len(titles)
        near = get_close_matches(fold(text), titles, 1) if self._comparisons >= 0 else []
        return f"did you mean {titles[near[0]]!r}?" if near else ""


def fold(text: str) -> str:
    """
    Return what is compared: without blanks around, in one case, each character written in one way.
    """
    return normalize("NFC", normalize("NFC", text.strip()).casefold())


def _problem(rule: str, help_: str) -> Decided:
    return Decided(problem=Problem(rule, help_))


def _kind(cell: str) -> str:
    """
    Return what a cell is in place of text, "" where it is text; a text file holds errors as text.
    """
    if isinstance(cell, NonTextCell):
        return cell.kind
    return f"the error {cell.strip()}" if cell.strip().lower() in _ERRORS else ""
