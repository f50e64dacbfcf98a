"""What cells and rows mean: by rules, never by a guess."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from petstore_tools import spec
from petstore_tools.errors import ArgumentError
from petstore_tools.importing.titles import FIELDS, read_titles
from petstore_tools.importing.values import (
    AnyRow,
    BadRow,
    LeftOut,
    Matcher,
    Row,
    ValueRules,
    count_matches,
    fold,
    read_rows,
)
from petstore_tools.tabular.cells import NonTextCell

CATEGORIES = {3: "Dogs", 4: " Cats", 7: "Vögel", 8: "Fish", 9: "fish"}
KNOWN = {"categories": CATEGORIES}
WORDS = {"statuses": {"Verkauft": "sold", "frei": "Available", "n/a": ""}}
DEFAULTS = {"defaults": {"status": "SOLD", "categoryId": "dogs"}, **KNOWN}
NUMBER = "is not a whole number; correct"
BIG = "is too large; give a smaller number"
GROUPS = "has its digits in groups; type the number"
ROUNDED = "may have been rounded; format the column as text"
TITLES = read_titles(FIELDS)


def cell(text: str, kind: str) -> NonTextCell:
    return NonTextCell(text, kind)


def rows(*cells: Sequence[str], **rules: Any) -> list[AnyRow]:
    records = [(number, [*row]) for number, row in enumerate(cells, start=2)]
    return list(read_rows(records, TITLES, Matcher(ValueRules(is_text=True, **rules))))


# field, cell, rules, and its value with how it was read, or its problem
READ: list[tuple[str, str, dict[str, Any], object]] = [
    *(
        ("name", name, {}, (name, "as typed"))
        for name in "NA null None nan TRUE 007 1e5 =A1 🐕 Totally Summer Gesa Totalus:".split()
    ),
    ("name", "x" * 10_000, {}, ("x" * 10_000, "as typed")),
    ("name", "\xa0 Rex\t", {}, ("Rex", "trimmed")),
    ("name", cell("7", "a number"), {}, ("7", "corrected number")),
    ("name", "\u00a0", DEFAULTS, "is empty; give a name"),
    ("name", "a\0b", {}, "holds a NUL character; retype it"),
    *(
        ("name", word, {}, "is a word for a total; delete the row")
        for word in (
            *("Total", "SUMME", " gesamt ", "Subtotal:", "Grand total", "Zwischensumme :"),
            *("Sous-total", "Razem", "Suma", "Totale:", "Subtotaal", "Total général"),
        )
    ),
    ("name", "2,76098E+14", {}, "is a number that the spreadsheet shortened; format"),
    ("categoryId", "2.76E+14", {}, "is a number that the spreadsheet shortened; format"),
    ("name", " #REF! ", {}, "is the error #REF!; type the value"),
    *(("categoryId", text, {}, (7, "corrected number")) for text in (" 7 ", "\u00a07", "007")),
    *(("categoryId", text, {}, (7, "corrected number")) for text in ("7.0", "7,00")),
    ("categoryId", "7,0", {"delimiter": ","}, NUMBER),
    ("categoryId", cell("7", "a number"), {}, (7, "as typed")),
    *(
        ("categoryId", str(number), {}, (number, "as typed"))
        for number in (7, -1, 2**53 + 1, 2**63 - 1, -(2**63))
    ),
    *(
        ("categoryId", text, {}, NUMBER)
        for text in "7a 7.5 7,5 7e0 1E+10 1_000 +7 \u0667 0x7 7. 1.00.000".split()
    ),
    *(
        ("categoryId", text, {}, GROUPS)
        for text in ("1.000", "1,000", "1'234'567", "1\u2019000", "1\u202f000", "-1.000,0")
    ),
    ("categoryId", str(2**63), {}, BIG),
    ("categoryId", "9" * 5_000, {}, BIG),
    ("categoryId", f"{2**53}.0", {}, ROUNDED),
    ("categoryId", f"-{2**53}.00", {}, ROUNDED),
    ("categoryId", "", {}, "is empty; give the id of the category, or defaults="),
    *(("categoryId", name, KNOWN, (3, "matched name")) for name in ("Dogs", " dogs ", "DOGS")),
    *(("categoryId", name, KNOWN, (7, "matched name")) for name in ("VÖGEL", "Vo\u0308gel")),
    ("categoryId", "5", KNOWN, "is not a known category; add it to the categories"),
    ("categoryId", "Horses", KNOWN, "is not a known category; add it to the categories"),
    ("categoryId", "Dgos", KNOWN, "is not a known category; did you mean 'Dogs'?"),
    ("categoryId", "FISH", KNOWN, "is the name of several categories; give the id: 8 or 9"),
    ("categoryId", "3", {"categories": {3: "A", 4: "3"}}, "is the id of one category and the name"),
    ("categoryId", "3", {"categories": {3: "3", 4: "A"}}, (3, "as typed")),
    ("categoryId", "Dogs", {}, "is a name, not an id; name the category file: categories="),
    ("categoryId", " ", DEFAULTS, (3, "default")),
    ("status", "sold", {}, ("sold", "as typed")),
    ("status", "SOLD ", {}, ("sold", "matched word")),
    ("status", "verKAUFT", WORDS, ("sold", "matched word")),
    ("status", "Frei", WORDS, ("available", "matched word")),
    ("status", "N/A", WORDS, (None, "matched word")),
    ("status", " ", {}, (None, "as typed")),
    ("status", " ", DEFAULTS, ("sold", "default")),
    ("status", "avialable", {}, "is not a status; did you mean 'available'?"),
    ("status", "weg", DEFAULTS, "is not a status; use available, pending, sold, or give"),
    *(
        (of, cell(text, kind), DEFAULTS, f"is {kind}; {helps}")  # an error is never empty
        for of in FIELDS
        for text, kind, helps in (
            ("Err:502", "the error Err:502", "type the value"),
            ("", "a formula without a saved value", "open the workbook in a spreadsheet program"),
            ("2026-01-01", "a date", "format the column as text"),
        )
    ),
]


@pytest.mark.case("P47", "P48", "P49", "P65")
@pytest.mark.parametrize(("of", "text", "rules", "wanted"), READ)
def test_a_cell_is_its_value_or_a_problem_that_says_what_helps(
    of: str, text: str, rules: dict[str, Any], wanted: object
) -> None:
    """Ids keep all digits of int64, nothing is rounded, and what is not as typed is counted."""
    found = Matcher(ValueRules(**rules)).decide(of, text)

    if isinstance(wanted, str):
        assert found.problem is not None
        assert "; ".join(found.problem).startswith(wanted)
    else:
        assert (found.value, found.how, found.problem) == (*wanted, None)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        ({"defaults": {"name": "Rex"}}, "name takes none"),
        ({"defaults": {"colour": "red"}}, "there is no field 'colour'"),
        ({"defaults": {"status": "gone"}}, "'gone' for status is not a status"),
        ({"defaults": {"categoryId": 5}, **KNOWN}, "5 for categoryId is not a known category"),
        ({"defaults": {"status": ""}}, "is empty"),
        ({"statuses": {"weg": "gone"}}, "'gone' is not a status"),
        ({"statuses": {"weg": "soldd"}}, "did you mean 'sold'"),
        ({"statuses": {"": "sold"}}, "an empty cell is not a word"),
        ({"statuses": {"SOLD": "pending"}}, "'SOLD' means 'sold' already"),
        ({"statuses": {"weg": "sold", "Weg": "pending"}}, "'Weg' means 'sold' already"),
    ],
)
def test_rules_that_contradict_are_refused(rules: dict[str, Any], why: str) -> None:
    """Before any row is read."""
    with pytest.raises(ArgumentError, match=why):
        Matcher(ValueRules(**rules))


def test_suggestions_end_before_they_take_long() -> None:
    """A wrong column of 100,000 words is no reason to compare each with each category."""
    matcher = Matcher(ValueRules(categories={n: f"Category {n}" for n in range(60_000)}))

    first, second = (matcher.decide("categoryId", f"Catgory {n}").problem for n in range(2))

    assert first is not None
    assert first.help.startswith("did you mean")
    assert second is not None
    assert second.help.startswith("add it to the categories")


@pytest.mark.case("P45", "P46", "P65", "P88")
@pytest.mark.parametrize(
    ("cells", "rules", "wanted"),
    [
        (["Rex"], {}, "has 1 cell where the header has 3"),
        (["Rex", "3", "", "more"], {}, "has 4 cells where the header has 3"),
        ([" ", " ", " ", "Rex"], {}, "has 4 cells where the header has 3"),
        ([" name", "categoryId", "status "], {}, LeftOut(2, "the header again")),
        (["Rex", "3"], {}, ("Rex", 3, None)),
        (["Rex", "3", "", "", ""], {}, ("Rex", 3, None)),
        (["", "  ", ""], {}, None),
        ([], {}, None),
        (["", cell("", "a formula without a saved value"), ""], {}, "is empty"),
        (["Rex", "", "sold"], DEFAULTS, ("Rex", 3, "sold")),
        (["erstellt von Frau Schmidt", "", ""], DEFAULTS, "stands alone in its row; complete"),
        (["Seite 1", "", "sold"], DEFAULTS, "is a line about the table; complete the row"),
        (["Total of pets", "", "sold"], DEFAULTS, "is a line about the table; complete the row"),
        (["Datum:", "", "sold"], DEFAULTS, "is a line about the table; complete the row"),
        (["Razem", "", ""], DEFAULTS, "is a word for a total; delete the row"),
        (["Total recall", "3", ""], {}, ("Total recall", 3, None)),
    ],
)
def test_a_row_of_any_form_is_read_named_left_out_or_blank(
    cells: list[str], rules: dict[str, Any], wanted: object
) -> None:
    """Nothing is shifted, and no default makes an animal of a line that is none."""
    (row,) = rows(cells, **rules)

    if isinstance(wanted, str):
        assert isinstance(row, BadRow)
        assert (row.number, wanted in row.why) == (2, True)
    else:
        assert (row.content if isinstance(row, Row) else row) == wanted


def test_all_problems_of_a_row_are_told_at_once() -> None:
    """Each with its place, its cell as typed and what helps."""
    (row,) = rows([" ", "cats", "avialable"])

    assert isinstance(row, BadRow)
    assert [p.field for p in row.problems] == ["name", "categoryId", "status"]
    assert str(row.problems[2]) == (
        "row 2, column C (status): 'avialable' is not a status; did you mean 'available'?"
    )


def test_each_distinct_cell_is_listed_once_with_its_count() -> None:
    """The most frequent first; none that is read as typed, and none of a row that is not sent."""
    rules = {"categories": {3: "Dogs", 8: "Fish", 9: "fish"}, "defaults": {"status": "sold"}}
    cells = ["Dogs,SOLD", "dogs,", "Dogs,", "3,", "Fish,SOLD", "none,"]

    read = [
        row for row in rows(*(["Rex", *c.split(",")] for c in cells), **rules) if type(row) is Row
    ]

    assert [str(m) for m in count_matches(read, TITLES, Matcher(ValueRules(**rules)))] == [
        "status: an empty cell is read as 'sold' in 3 rows",
        "categoryId: 'Dogs' is read as 3 in 2 rows",
        "categoryId: 'dogs' is read as 3 in 1 row",
        "status: 'SOLD' is read as 'sold' in 1 row",
    ]


NAMES = (
    "Dogs",
    "dogs ",
    "Straße",
    "STRASSE",
    "7",
    "7.0",
    " 3",
    "1.000",
    "",
    "Vögel",
    "Vo\u0308gel",
)
IDS = st.integers(1, 9)
CELLS = (
    st.sampled_from((*NAMES, "7,0", "sold", "SOLD", "weg", "Summe", "#N/A", "a\0b", "\u00a0"))
    | IDS.map(str)
    | st.text(max_size=5)
    | st.builds(NonTextCell, IDS.map(str), st.sampled_from(("a number", "a date")))
)
RULES = st.builds(
    ValueRules,
    categories=st.none()
    | st.dictionaries(IDS, st.sampled_from(NAMES) | st.text(max_size=4), min_size=1, max_size=6),
    statuses=st.dictionaries(st.sampled_from(("weg", "frei")), st.sampled_from(spec.STATUSES)),
    defaults=st.sampled_from(({}, {"status": "sold"})),
    delimiter=st.sampled_from(",;"),
)


@given(rules=RULES, cells=st.lists(CELLS, max_size=30), of=st.sampled_from(FIELDS))
def test_a_cell_has_one_meaning_in_any_order_and_its_value_is_read_as_itself(
    rules: ValueRules, cells: Sequence[str], of: str
) -> None:
    """Never two ids; a problem says what is wrong and what helps, and has no value."""
    once = Matcher(rules)
    reversed_ = Matcher(rules)
    found = [once.decide(of, text) for text in cells]
    values = [reversed_.decide(of, text).value for text in reversed(cells)]

    assert [decided.value for decided in found] == values[::-1]
    for text, decided in zip(cells, found, strict=True):
        if decided.problem:
            assert all(decided.problem)
            assert decided.value is None
            continue
        if of == "categoryId" and rules.categories is not None:
            named = {id_ for id_, name in rules.categories.items() if fold(name) == fold(text)}
            assert named <= {decided.value}
            assert decided.value in rules.categories
        if decided.value is not None:
            again = Matcher(rules).decide(of, str(decided.value))
            both = "is the id of one category and the name of another"
            assert again.value == decided.value or (again.problem and again.problem.rule == both)


@given(rules=RULES, cells=st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=20))
def test_what_is_not_read_as_typed_is_counted_exactly(
    rules: ValueRules, cells: Sequence[tuple[str, str, str]]
) -> None:
    """Of rows that are sent, each cell that is not sent as typed counts once, and no other cell."""
    matcher = Matcher(rules)
    records = [(number, [*row]) for number, row in enumerate(cells, start=2)]
    sent = [row for row in read_rows(records, TITLES, matcher) if isinstance(row, Row)]
    expected: Counter[object] = Counter()
    for row in sent:
        for of, text, value in zip(FIELDS, row.cells, row.content, strict=True):
            as_typed = type(text) is str or of != "name"  # a number in a name is told
            if not ((as_typed and str(value) == text) or (value is None and not text.strip())):
                expected[of, str(text), value] += 1

    matches = count_matches(sent, TITLES, matcher)

    assert Counter({(m.field, m.typed, m.value): m.count for m in matches}) == expected
