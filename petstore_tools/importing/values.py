"""
Pure: what a cell and a row mean, decided by rules, each distinct cell once (§2.1, §2.3).

Nothing is guessed: a cell is read as typed, or by a rule that the caller gave, or it is a problem
that names what would help.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple
from unicodedata import normalize

from petstore_tools import spec
from petstore_tools.errors import ArgumentError
from petstore_tools.importing.titles import FIELDS, Titles
from petstore_tools.tabular.cells import (
    EXACT,
    MERGED,
    MalformedLine,
    NonTextCell,
    Record,
    are_blank,
    column_letter,
    is_blank,
)
from petstore_tools.text import option, pluralize, quoted, suggest

_SEPARATORS: Final = ".,'\u2019 \u00a0\u202f"  # between groups of three digits
_WHOLE: Final = re.compile(r"(-?\d+)(?:([.,])0+)?", re.ASCII)
_GROUPED: Final = re.compile(
    rf"-?[1-9]\d{{0,2}}([{_SEPARATORS}])\d{{3}}(?:\1\d{{3}})*(?:[.,]0+)?", re.ASCII
)
_LONG: Final = 400  # characters; int() refuses 4,300 digits


class Problem(NamedTuple):
    """
    Why a cell cannot be sent.

    Attributes:
        rule: What is wrong, as the rest of a sentence about the cell: `is empty`.
        help: What fixes it; a suggestion is a question: `did you mean 'sold'?`.
    """

    rule: str
    help: str


def whole_number(text: str, delimiter: str) -> int | Problem | None:
    """
    Read a whole number.

    Args:
        text: Without blanks around.
        delimiter: The sign between cells; where it is not a comma, `7,0` is 7.

    Returns:
        The number (int64), why it cannot be read for sure, or None where the text is not a whole
        number.
    """
    if _GROUPED.fullmatch(text):
        return Problem("has its digits in groups", "type the number without the signs between them")
    found = _WHOLE.fullmatch(text)
    if found is None or found[2] == delimiter == ",":
        return None
    too_large = Problem("is too large", "give a smaller number")
    if len(text) > _LONG:
        return too_large
    value = int(found[1])
    if found[2] and abs(value) >= EXACT:
        return Problem("may have been rounded", "format the column as text and type it again")
    return value if spec.INT64_MIN <= value <= spec.INT64_MAX else too_large


_IS_TOTAL: Final = Problem("is a word for a total", "delete the row")
_IS_SHORTENED: Final = Problem(
    "is a number that the spreadsheet shortened", "format the column as text and type it again"
)
# words for a status, "" for none, in the languages of the titles: proposed, never just taken
STATUS_WORDS: Final = {
    word: status
    for status, words in {
        "available": """frei verfügbar disponible libre dostępny dostępna disponibile beschikbaar
            disponível volný volná dostupný ledig tillgänglig tilgængelig""",
        "pending": """reserviert vorgemerkt réservé réservée zarezerwowany zarezerwowana reservado
            reservada prenotato riservato gereserveerd reserved rezervovaný reserverad""",
        "sold": """verkauft vendu vendue sprzedany sprzedana vendido vendida venduto venduta
            verkocht prodaný prodaná prodáno såld solgt prodán""",
        "": "n/a - k.a. none keine keiner aucun brak ninguno nessuno geen unbekannt unknown",
    }.items()
    for word in words.split()
}
How = Literal["as typed", "matched name", "matched word", "default", "corrected number", "trimmed"]

# with known words, to find suggestions: difflib takes about 10 microseconds for each
_COMPARISONS: Final = 100_000
# words for a total or a mean in many languages, folded and without the signs around them
_TOTALS: Final = frozenset(
    "total|totals|grand total|subtotal|subtotals|sub total|sub-total|sum|total sum|average|"
    "total animals|total pets|number of animals|gesamt|insgesamt|summe|gesamtsumme|zwischensumme|"
    "endsumme|ergebnis|gesamtergebnis|gesamt ergebnis|teilergebnis|total result|gesamtanzahl|"
    "gesamtzahl|gesamttotal|anzahl|anzahl tiere|tiere gesamt|durchschnitt|mittelwert|"
    "total général|sous-total|sous total|totaux|somme|moyenne|nombre total|total animaux|suma|"
    "suma total|total general|subtotales|promedio|número total|total animales|totale|"
    "totale generale|totale complessivo|totali|somma|subtotale|totale animali|razem|suma końcowa|"
    "suma całkowita|suma częściowa|łącznie|ogółem|podsuma|średnia|w sumie|totaal|eindtotaal|"
    "subtotaal|som|gemiddelde|totaal dieren|total geral|celkem|součet|mezisoučet|spolu|súčet|"
    "ukupno|skupaj|összesen|végösszeg|yhteensä|summa|totalt|i alt|samtals|kokku|kopā|iš viso|"
    "toplam|genel toplam|ara toplam|итого|всего|сумма|суммарно|разом|усього|всього|общо|σύνολο|"
    "\u03c3|∑|jumlah|合計|小計|総計|总计|合计|小计|總計|합계|총계".split("|")
)
_AROUND: Final = " \t\xa0:=.()-_*#/0123456789"  # signs and numbers beside a word for a total
# how a line begins that is about the table, not about an animal: a total, a page, a signature
_A_NOTE: Final = re.compile(
    rf".*:|(?:{'|'.join(_TOTALS)}|page|seite|blatt|pages?|strona|p[aá]gina|pagina|stand|as of|date"
    r"|datum|data|fecha|erstellt|created|prepared|printed|gedruckt|signature|unterschrift|podpis"
    r"|firma|handtekening|geprüft|genehmigt|exportiert|approved|checked|exported|generated"
    r"|last updated|créé|généré|imprimé|établi|signé|creado|impreso|firmado|creato|stampato"
    r"|utworzono|wygenerowano|wydrukowano|sporządził|gemaakt|afgedrukt|opgesteld)\b.*",
    re.IGNORECASE | re.DOTALL,
)
_SHORTENED: Final = re.compile(r"-?\d[.,]\d+E\+\d+", re.ASCII)
# what stands in a text file for an error, in the languages of spreadsheet programs
_ERRORS: Final = frozenset(
    """#n/a #nv #n/d #n/d! #n/b #ref! #bezug! #rif! #¡ref! #adr! #verw! #name? #nom? #¿nombre?
    #nome? #nazwa? #naam? #value! #wert! #valeur! #¡valor! #valore! #arg! #waarde! #div/0! #¡div/0!
    #dzielenie/0! #deel/0! #num! #zahl! #nombre! #¡num! #liczba! #getal! #null! #nul! #¡nulo!
    #nullo! #zero! #leeg! #error! #spill! #calc! #field! #blocked! #unknown! #überlauf!""".split()
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
        is_text: Whether a row of another width than the header may have lost a quote or comma.
        in_frame: Cells are values of a DataFrame, which nobody types.

    Raises:
        ArgumentError: A rule contradicts the document, another rule or itself.
    """

    categories: Mapping[int, str] | None = None
    statuses: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, str | int] = field(default_factory=dict)
    delimiter: str = ""
    is_text: bool = False
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
        for given, status in self.statuses.items():
            word = str(given)
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
        decided: What each distinct cell means, by field; names are left out.

    Raises:
        ArgumentError: A default is no value of its field.
    """

    def __init__(self, rules: ValueRules) -> None:
        self.rules = rules
        self.decided: dict[str, dict[str, Decided]] = {field_: {} for field_ in FIELDS}
        self._words = rules.words()
        self._ids: defaultdict[str, set[int]] = defaultdict(set)  # by name
        self._titles: dict[str, str] = {}  # names as their table has them
        for id_, name in sorted((rules.categories or {}).items()):
            if fold(name):
                self._ids[fold(name)].add(id_)
                self._titles.setdefault(fold(name), name.strip())
        self._comparisons = _COMPARISONS
        self._defaults: dict[str, Decided] = {}
        for field_, value in rules.defaults.items():
            text = str(value)
            found = self._category(text) if field_ == "categoryId" else self._status(text)
            if found.problem or found.value is None:
                why = found.problem.rule if found.problem else "is empty"
                raise ArgumentError(f"defaults: {value!r} for {field_} {why}")
            self._defaults[field_] = Decided(found.value, "default")

    def decide(self, field_: str, cell: str) -> Decided:
        """Read a cell of a field; of a missing column the cell is ""."""
        decided = self.decided[field_]
        if type(cell) is str and cell in decided:
            return decided[cell]
        kind = _kind(cell)
        if kind not in ("", "a number") and not (field_ == "status" and fold(cell) in self._words):
            return self._no_text(kind)
        if field_ == "name":  # nearly all are distinct
            return self._name(cell, is_number=bool(kind))
        if cell not in decided:  # a number is read as the text that it shows
            decided[cell] = self._category(cell) if field_ == "categoryId" else self._status(cell)
        return decided[cell]

    def _name(self, cell: str, *, is_number: bool) -> Decided:
        bare = cell.strip()
        if not bare:
            return _problem("is empty", "give a name")
        if "\0" in bare:
            return _problem("holds a NUL character", "retype it")
        if _is_total(bare):
            return Decided(problem=_IS_TOTAL)
        if "E+" in bare and _SHORTENED.fullmatch(bare):
            return Decided(problem=_IS_SHORTENED)
        if is_number:
            return Decided(str(cell), "corrected number")
        return Decided(bare, "as typed" if bare == cell else "trimmed")

    def _category(self, cell: str) -> Decided:
        text = cell.strip()
        categories = self.rules.categories
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
        if _SHORTENED.fullmatch(text):
            return Decided(problem=_IS_SHORTENED)
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
        elif "merged" in kind:
            help_ = "undo the merging, and type the value into each cell"
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


def _is_total(cell: str) -> bool:
    """Say whether a cell is a word for a total, with a number or without: `Summe: 17`."""
    return cell.strip(_AROUND).casefold() in _TOTALS


def _problem(rule: str, help_: str) -> Decided:
    return Decided(problem=Problem(rule, help_))


def _kind(cell: str) -> str:
    """
    Return what a cell is in place of text, "" where it is text; a text file holds errors as text.
    """
    if isinstance(cell, NonTextCell):
        return cell.kind
    return f"the error {cell.strip()}" if "#" in cell and cell.strip().lower() in _ERRORS else ""


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
        column = f", column {self.column} ({self.field})" if self.column else ""
        typed = f": {quoted(self.value)}" if self.value else ""
        return f"row {self.row}{column}{typed} {self.rule}; {self.suggestion}".removesuffix("; ")


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
        cells: All cells of the row as typed.
        problems: All of them.
    """

    number: int
    cells: tuple[str, ...]
    problems: list[RowProblem]

    @property
    def why(self) -> str:
        """Its problems in one line."""
        return "; ".join(map(str, self.problems))


class LeftOut(NamedTuple):
    """
    A row that is not empty and is not imported.

    Attributes:
        number: As the spreadsheet counts, from 1.
        why: The reason, as the end of a sentence: `hidden`.
    """

    number: int
    why: str


AnyRow = Row | BadRow | LeftOut | None


def read_rows(
    records: Iterable[Record], titles: Titles, matcher: Matcher, *, hidden: Collection[int] = ()
) -> Iterator[AnyRow]:
    """
    Yield each row: one to send, one with all its problems, one that is left out, or None where
    every cell is empty.

    Args:
        records: Number and cells of each row below the header, as typed; where a row is short, what
            has no column or may be empty counts as empty.
        titles: Which column holds which field.
        matcher: Decides the cells.
        hidden: Numbers of rows that nobody sees.
    """
    width = len(titles.header)
    is_text = matcher.rules.is_text
    header = [cell.strip().casefold() for cell in titles.header]
    for number, cells in records:
        if isinstance(cells, MalformedLine):
            yield _bad(number, [cells.line], cells.why, "check its quotation marks")
            continue
        whole = tuple(cells)
        if len(cells) != width:
            beyond = cells if len(cells) <= titles.last_required else cells[width:]
            if is_text and not are_blank(beyond):
                rule = f"has {pluralize(len(cells), 'cell')} where the header has {width}"
                yield _bad(number, cells, rule, "check for a missing quote or comma")
                continue
            whole = (*cells[:width], *[""] * (width - len(cells)))
        fields = ["" if at is None else whole[at] for at in titles.places]
        name = fields[0].strip().casefold()
        if number in hidden:
            yield LeftOut(number, "hidden")
        elif not name and are_blank(fields):
            unused = "filled only in columns that are not imported"
            yield None if are_blank(cells) else LeftOut(number, unused)
        elif name in header and [cell.strip().casefold() for cell in whole] == header:
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
    """Decide each cell of a row that is not empty."""
    found = [*map(matcher.decide, FIELDS, fields)]
    name, category, status = found
    content = PetValues(name.value, category.value, status.value)
    may_be_note = (is_blank(fields[1]) or fields[0].isdecimal()) and not is_blank(fields[0])
    if not (name.problem or category.problem or status.problem or may_be_note):
        return Row(number, content, cells)
    problems = [
        RowProblem(number, "" if at is None else column_letter(at), field_, cell, *decided.problem)
        for field_, at, cell, decided in zip(FIELDS, places, fields, found, strict=True)
        if decided.problem
    ]
    if name.problem == _IS_TOTAL:
        problems = problems[:1]  # nothing else helps
    elif may_be_note and not (name.problem or _is_covered(problems)):
        # no default makes an animal of a note, and no total one of its numbers
        columns = [at for at in places if at is not None]
        is_alone = len(columns) > 1 and sum(not is_blank(cell) for cell in cells) == 1
        if is_alone or _A_NOTE.fullmatch(fields[0].strip()) or any(map(_is_total, cells)):
            rule = "stands alone in its row" if is_alone else "is a line about the table"
            help_ = "complete the row, or delete it"
            letter = column_letter(places[0] or 0)
            problems = [RowProblem(number, letter, "name", fields[0], rule, help_)]
    if problems:
        return BadRow(number, cells, problems)
    return Row(number, content, cells)


def _is_covered(problems: Iterable[RowProblem]) -> bool:
    """Whether a cell is covered by a merged one above it."""
    return any(problem.rule.startswith(f"is {MERGED} {problem.column}") for problem in problems)


def _bad(number: int, cells: Sequence[str], rule: str, help_: str) -> BadRow:
    """Return a row that is bad as a whole."""
    return BadRow(number, tuple(cells), [RowProblem(number, "", "", ", ".join(cells), rule, help_)])


def count_matches(rows: Sequence[Row], titles: Titles, matcher: Matcher) -> list[Match]:
    """Count each distinct cell of rows that was not read as typed, the most frequent first."""
    found = []
    for field_, at in zip(FIELDS, titles.places, strict=True):
        cells: Iterable[str] = ("" if at is None else row.cells[at] for row in rows)
        if field_ == "name":  # nearly all are distinct
            cells = (cell for cell in cells if type(cell) is not str or cell != cell.strip())
        for cell, count in Counter(cells).items():
            decided = matcher.decide(field_, cell)
            if decided.how != "as typed":
                found.append(Match(field_, str(cell), decided.value, decided.how, count))
    return sorted(found, key=lambda match: -match.count)
