"""
Pure: what a cell means, decided by rules, each distinct cell once (§2.1, §2.3).

Nothing is guessed: a cell is read as typed, or by a rule that the caller gave, or it is a problem that names
what would help.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from unicodedata import normalize

from petstore_tools import spec
from petstore_tools.errors import ArgumentError
from petstore_tools.importing.whole_numbers import SEPARATORS, Problem, whole_number
from petstore_tools.tabular.cells import NonTextCell
from petstore_tools.text import option, pluralize, suggest

Field = Literal["name", "categoryId", "status"]
How = Literal["as typed", "matched name", "matched word", "default", "corrected number", "trimmed"]
Key = str | tuple[str, str]  # a cell, and of one that was no text its kind, too
Values = tuple[str, int, str | None]  # name, id of the category, status

MANY: Final = 100_000  # cells read as typed that are worth remembering
_COMPARISONS: Final = 100_000  # with known words, to find suggestions: difflib takes about 10 µs for each
_TOTAL_WORDS: Final = "total totals subtotal summe gesamt gesamtsumme zwischensumme".split()
_TOTALS: Final = {word + end for word in (*_TOTAL_WORDS, "grand total") for end in ("", ":", " :")}
_ERRORS: Final = frozenset("#n/a #nv #ref! #bezug! #name? #value! #wert! #div/0! #num! #zahl! #null!".split())

A_NAME: Final = "is a name, not an id"
SEVERAL: Final = {  # a rule in the plural, for several cells
    A_NAME: "are names, not ids",
    "is empty": "are empty",
    "is not a status": "are not statuses",
    "is not a whole number": "are not whole numbers",
    "is not a known category": "are not known categories",
    "is the name of several categories": "are names of several categories",
    "is the id of one category and the name of another": "are ids of one category and names of another",
    "has its digits in groups": "have their digits in groups",
    "is a word for a total": "are words for a total",
    "holds a NUL character": "hold a NUL character",
    "may have been rounded": "may have been rounded",
    "is too large": "are too large",
}


@dataclass(slots=True)
class Decided:
    """
    What a cell means.

    Attributes:
        value: Text of a name, int64 of a category, a status; None for no status and for a problem.
        how: How it was read.
        problem: Why it cannot be sent, or None.
        count: Cells that were decided so; cells read as typed are not all counted.
    """

    value: Any = None
    how: How = "as typed"
    problem: Problem | None = None
    count: int = 0


@dataclass(frozen=True, slots=True)
class Match:
    """A distinct cell that was not read as typed: what it is read as, how, and in how many cells."""

    field: Field
    typed: str
    value: str | int | None
    how: How
    count: int

    def __str__(self) -> str:
        typed = "an empty cell" if self.how == "default" else repr(self.typed)
        if self.how == "corrected number" and self.field == "name":
            typed = f"the number {self.typed}"
        return f"{self.field}: {typed} is read as {self.value!r} in {pluralize(self.count, 'row')}"


@dataclass(frozen=True)
class ValueRules:
    """
    How cells are read.

    Attributes:
        categories: Name by id; None where only ids are accepted. A cell is an id first, then a name.
        statuses: Status by word, in any case, beside the document's own words.
        defaults: By field, for empty cells and missing columns; never for `name`.
        thousands: The sign between groups of three digits; "" where such cells are a problem.
        trim: Take blanks off both ends of names.
        allow_totals: An animal may be called by a word for a total.
        delimiter: The sign between cells; where it is not a comma, `7,0` is 7.
        in_frame: Cells are values of a DataFrame, which nobody types.

    Raises:
        ArgumentError: A rule contradicts the document, another rule or itself.
    """

    categories: Mapping[int, str] | None = None
    statuses: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, str | int] = field(default_factory=dict)
    thousands: str = ""
    trim: bool = False
    allow_totals: bool = False
    delimiter: str = ""
    in_frame: bool = False

    def __post_init__(self) -> None:
        if self.thousands and (len(self.thousands) != 1 or self.thousands not in SEPARATORS):
            raise ArgumentError(
                f"thousands must be a point, a comma, an apostrophe or a blank, not {self.thousands!r}"
            )
        for field_ in self.defaults:
            if field_ not in ("categoryId", "status"):
                why = "name takes none" if field_ == "name" else f"there is no field {field_!r}"
                raise ArgumentError(f"defaults are for categoryId and status: {why}")
        self.words()

    def words(self) -> dict[str, str]:
        """Return status by folded word, the document's own among them."""
        words: dict[str, str] = {status: status for status in spec.STATUSES}
        for word, status in self.statuses.items():
            if fold(status) not in spec.STATUSES:
                raise ArgumentError(f"statuses: {status!r} is not a status{suggest(status, spec.STATUSES)}")
            if not fold(word):
                default = option('defaults={"status": …}', "--default status=…")
                raise ArgumentError(f"statuses: an empty cell is not a word; use {default}")
            if words.setdefault(fold(word), fold(status)) != fold(status):
                raise ArgumentError(f"statuses: {word!r} means {words[fold(word)]!r} already, not {status!r}")
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
        self._words = rules.words()
        self._ids: defaultdict[str, set[int]] = defaultdict(set)  # by name
        for id_, name in (rules.categories or {}).items():
            if fold(name):
                self._ids[fold(name)].add(id_)
        self._comparisons = _COMPARISONS
        self._rules: dict[Field, Callable[[str], Decided]] = {
            "name": self._name,
            "categoryId": self._category,
            "status": self._status,
        }
        self._decided: dict[Field, dict[Key, Decided]] = {of: {} for of in self._rules}
        self._defaults: dict[str, Decided] = {}
        for of, value in rules.defaults.items():
            found = self._category(str(value)) if of == "categoryId" else self._status(str(value))
            if found.problem or found.value is None:
                why = found.problem.rule if found.problem else "is empty"
                raise ArgumentError(f"defaults: {value!r} for {of} {why}")
            self._defaults[of] = Decided(found.value, "default")

    def decide(self, of: Field, cell: str) -> Decided:
        """Read a cell of a field, and count it; of a missing column the cell is ""."""
        memo = self._decided[of]
        key = cell if type(cell) is str else (str(cell), getattr(cell, "kind", ""))
        found = memo.get(key)
        if found is None:
            found = self._rules[of](cell)
            if found.how != "as typed" or (of != "name" and len(memo) < MANY):
                memo[key] = found
        found.count += 1
        return found

    def read(self, name: str, category: str, status: str) -> Values | dict[Field, Problem]:
        """Read the cells of a row, "" where there is no column: its values, or its problems by field."""
        if type(name) is type(category) is type(status) is str:  # nearly all rows of a text, without a call
            id_, known = self._decided["categoryId"].get(category), self._decided["status"].get(status)
            bare = name.strip()
            if (
                id_ is not None
                and known is not None
                and id_.problem is known.problem is None
                and bare
                and (folded := bare.lower()) not in _TOTALS
                and folded not in _ERRORS
                and "\0" not in name
                and not self.rules.trim
            ):
                id_.count += 1
                known.count += 1
                return name, id_.value, known.value
        cells: dict[Field, str] = {"name": name, "categoryId": category, "status": status}
        found = {of: self.decide(of, cell) for of, cell in cells.items()}
        problems = {of: made.problem for of, made in found.items() if made.problem}
        return problems or (found["name"].value, found["categoryId"].value, found["status"].value)

    def matches(self) -> list[Match]:
        """Return each distinct cell that was not read as typed, with its count, the most frequent first."""
        found = [
            Match(of, key if isinstance(key, str) else key[0], made.value, made.how, made.count)
            for of, memo in self._decided.items()
            for key, made in memo.items()
            if made.count and made.how != "as typed"
        ]
        return sorted(found, key=lambda match: -match.count)

    def _name(self, cell: str) -> Decided:
        kind, bare = _kind(cell), cell.strip()
        if kind and kind != "a number":
            return self._no_text(kind)
        if not bare:
            return _problem("is empty", "give a name")
        if "\0" in cell:
            return _problem("holds a NUL character", "retype it")
        if not self.rules.allow_totals and bare.lower() in _TOTALS:
            help_ = f"delete the row; or, for an animal of that name: {option('allow_totals=True')}"
            return _problem("is a word for a total", help_)
        if kind:
            return Decided(str(cell), "corrected number")
        if self.rules.trim and bare != cell:
            return Decided(bare, "trimmed")
        return Decided(cell)

    def _category(self, cell: str) -> Decided:
        kind, text = _kind(cell), cell.strip()
        if kind and kind != "a number":
            return self._no_text(kind)
        if not text:
            help_ = option('defaults={"categoryId": ID}', "--default categoryId=ID")
            return self._default("categoryId") or _problem(
                "is empty", f"give the id of the category, or {help_}"
            )
        number = whole_number(text, self.rules.thousands, self.rules.delimiter)
        if self.rules.categories is None:
            return self._without_table(number, cell, text)
        ids = set(self._ids.get(fold(text), ()))
        if isinstance(number, int) and number in self.rules.categories:
            if ids - {number}:
                rule = "is the id of one category and the name of another"
                return _problem(rule, "rename one of the two categories")
            return Decided(number, _as_typed(number, cell))
        if len(ids) == 1:
            return Decided(ids.pop(), "matched name")
        if ids:
            listed = " or ".join(map(str, sorted(ids)))
            return _problem("is the name of several categories", f"give the id: {listed}")
        if isinstance(number, Problem):
            return Decided(problem=number)
        help_ = "" if number is not None else self._suggestion(text, self._ids, self._title)
        return _problem("is not a known category", help_ or "add it to the categories, or correct the cell")

    def _without_table(self, number: int | Problem | None, cell: str, text: str) -> Decided:
        if isinstance(number, int):
            return Decided(number, _as_typed(number, cell))
        if number is not None:
            return Decided(problem=number)
        if any(map(str.isalpha, text)) and not any(map(str.isdigit, text)):
            return _problem(A_NAME, option("categories=FILE", "--categories FILE"))
        return _problem("is not a whole number", "correct the cell, or choose another column")

    def _status(self, cell: str) -> Decided:
        kind, text = _kind(cell), cell.strip()
        found = self._words.get(fold(text))
        if found is not None:
            return Decided(found, "as typed" if found == cell else "matched word")
        if kind and kind != "a number":
            return self._no_text(kind)
        if not text:
            return self._default("status") or Decided()
        help_ = self._suggestion(text, self._words, str)
        flag = option('statuses={"WORD": "sold"}', '--status-word "WORD=sold"')
        return _problem(
            "is not a status",
            help_ or f"use {', '.join(spec.STATUSES)}, or give the meaning of the word: {flag}",
        )

    def _default(self, of: Field) -> Decided | None:
        """Return the value of an empty cell: one for each distinct one, since each is counted."""
        default = self._defaults.get(of)
        return Decided(default.value, "default") if default else None

    def _no_text(self, kind: str) -> Decided:
        if "formula" in kind:
            return _problem(
                f"is {kind}", "open the workbook in a spreadsheet program, save it, and import it again"
            )
        return _problem(f"is {kind}", "type the value" if "error" in kind else self._as_text())

    def _as_text(self) -> str:
        in_frame = self.rules.in_frame
        return "put text or an integer there" if in_frame else "format the column as text and type it again"

    def _suggestion(self, text: str, known: Iterable[str], title: Callable[[str], str]) -> str:
        """Ask whether the nearest word was meant; "" where none is near, or after very many comparisons."""
        from difflib import get_close_matches

        words = list(known)
        self._comparisons -= len(words)
        near = get_close_matches(fold(text), words, 1) if self._comparisons >= 0 else []
        return f"did you mean {title(near[0])!r}?" if near else ""

    def _title(self, folded: str) -> str:
        """Return a category's name as its table has it."""
        return (self.rules.categories or {})[min(self._ids[folded])].strip()


def fold(text: str) -> str:
    """Return what is compared: without blanks around, in one case, each character written in one way."""
    return normalize("NFC", normalize("NFC", text.strip()).casefold())


def _problem(rule: str, help_: str) -> Decided:
    return Decided(problem=Problem(rule, help_))


def _kind(cell: str) -> str:
    """Return what a cell is in place of text, "" where it is text; a text file holds errors as text."""
    if isinstance(cell, NonTextCell):
        return cell.kind
    return f"the error {cell.strip()}" if cell.strip().lower() in _ERRORS else ""


def _as_typed(number: int, cell: str) -> How:
    return "as typed" if str(number) == cell else "corrected number"
