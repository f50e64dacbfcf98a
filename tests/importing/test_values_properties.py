"""Invariants of matching, for any table, any words and any cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from petstore_tools import spec
from petstore_tools.importing.titles import FIELDS, read_titles
from petstore_tools.importing.values import Matcher, Row, ValueRules, count_matches, fold, read_rows
from petstore_tools.tabular.cells import NonTextCell

NAMES = (
    "Dogs",
    "dogs ",
    "DOGS",
    "Cats",
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
TABLES = st.none() | st.dictionaries(
    IDS, st.sampled_from(NAMES) | st.text(max_size=4), min_size=1, max_size=6
)
CELLS = (
    st.sampled_from((*NAMES, "7,0", " 7 ", "sold", "SOLD", "weg", "9.0", "1'000", "\u00a0"))
    | IDS.map(str)
    | st.text(max_size=5)
    | st.builds(
        NonTextCell, IDS.map(str), st.sampled_from(("a number", "a date", "the error #N/A"))
    )
)
RULES = st.builds(
    ValueRules,
    categories=TABLES,
    statuses=st.dictionaries(st.sampled_from(("weg", "frei")), st.sampled_from(spec.STATUSES)),
    defaults=st.sampled_from(({}, {"status": "sold"})),
    thousands=st.sampled_from(("", ".", ",", "'")),
    trim=st.booleans(),
    delimiter=st.sampled_from(",;"),
)
ROWS = st.lists(
    st.tuples(
        st.sampled_from(
            ("Rex", " Rex", " ", "Summe", "#N/A", "a\0b", NonTextCell("7", "a number"))
        ),
        st.sampled_from(
            ("3", "dogs", "3,0", "4", NonTextCell("3", "a number"), NonTextCell("3", "a date"))
        ),
        st.sampled_from(("sold", "SOLD", "", "weg", NonTextCell("", "the error #N/A"))),
    ),
    max_size=20,
)
TITLES = read_titles(FIELDS)


@given(rules=RULES, cells=st.lists(CELLS, max_size=30))
def test_no_value_is_matched_to_two_ids(rules: ValueRules, cells: Sequence[str]) -> None:
    """A cell that was matched names one id only, by the table itself; in any order of the cells."""
    once, reversed_ = Matcher(rules), Matcher(rules)
    values = [once.decide("categoryId", cell).value for cell in cells]

    assert values == [reversed_.decide("categoryId", cell).value for cell in reversed(cells)][::-1]
    for cell, value in zip(cells, values, strict=True):
        if value is not None and rules.categories is not None:
            assert value in rules.categories
            named = {id_ for id_, name in rules.categories.items() if fold(name) == fold(cell)}
            assert named <= {value}


@given(rules=RULES, rows=ROWS | st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=20))
def test_what_is_not_read_as_typed_is_counted_exactly(
    rules: ValueRules, rows: Sequence[tuple[str, str, str]]
) -> None:
    """Of rows that are sent, each cell that is not sent as typed counts once, and no other cell."""
    matcher = Matcher(rules)
    sent = [row for row in read_rows(_numbered(rows), TITLES, matcher) if isinstance(row, Row)]
    expected: Counter[object] = Counter()
    for row in sent:
        for of, cell, value in zip(FIELDS, row.cells, row.content, strict=True):
            as_typed = type(cell) is str or of != "name"  # a number in a name is told
            if not ((as_typed and str(value) == cell) or (value is None and not cell.strip())):
                expected[of, str(cell), value] += 1

    matches = count_matches(sent, TITLES, matcher)

    assert Counter({(m.field, m.typed, m.value): m.count for m in matches}) == expected
    assert len(matches) == len(expected)
    assert all(match.how != "as typed" for match in matches)


@given(rules=RULES, cells=st.lists(CELLS, max_size=30), of=st.sampled_from(FIELDS))
def test_matching_twice_equals_matching_once(
    rules: ValueRules, cells: Sequence[str], of: str
) -> None:
    """A value is read as itself, or refused where a table names one category by another's id."""
    for cell in cells:
        first = Matcher(rules).decide(of, cell)
        if first.problem is None and first.value is not None:
            again = Matcher(rules).decide(of, str(first.value))
            if again.problem is not None:
                assert again.problem.rule == "is the id of one category and the name of another"
            else:
                assert (again.value, again.how) == (first.value, "as typed")


@given(
    rules=st.builds(
        ValueRules, st.just({3: "Dogs"}), trim=st.booleans(), allow_totals=st.booleans()
    ),
    rows=ROWS,
)
def test_a_row_is_read_as_its_cells_are(
    rules: ValueRules, rows: Sequence[tuple[str, str, str]]
) -> None:
    """The way for plain rows gives what deciding each cell does."""
    found = read_rows(_numbered([*rows, *rows]), TITLES, Matcher(rules))
    for row, cells in zip(found, [*rows, *rows], strict=True):
        decided = [Matcher(rules).decide(of, cell) for of, cell in zip(FIELDS, cells, strict=True)]
        if isinstance(row, Row):
            assert row.content == tuple(made.value for made in decided)
            assert not any(made.problem for made in decided)
        elif row is not None:
            problems = [(p.rule, p.suggestion) for p in row.problems]
            assert problems == [made.problem for made in decided if made.problem]


def _numbered(rows: Sequence[tuple[str, str, str]]) -> list[tuple[int, list[str]]]:
    return [(number, [*cells]) for number, cells in enumerate(rows, start=2)]


@settings(max_examples=30)
@given(cells=st.lists(CELLS, max_size=30))
def test_a_problem_always_says_what_helps(cells: Sequence[str]) -> None:
    """No problem without a rule and a fix, and no value beside a problem."""
    matcher = Matcher(ValueRules(categories={3: "Dogs"}))
    for of in FIELDS:
        for cell in cells:
            found = matcher.decide(of, cell)
            assert found.problem is None or (all(found.problem) and found.value is None)
