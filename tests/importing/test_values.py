"""What cells mean, by rules that agree; the corpus has examples."""

from ast import literal_eval
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import read_cases

from petstore_tools import spec
from petstore_tools.errors import ArgumentError
from petstore_tools.importing.values import FIELDS, Matcher, fold
from petstore_tools.tabular.categories import CategoryWords
from petstore_tools.tabular.cells import NonTextCell, Problem
from petstore_tools.text import quoted


def test_a_value_that_is_quoted_whole_bears_no_mark_of_a_cut():
    """Forty characters are; of more the first forty, and the mark."""
    assert [quoted("x" * length)[-2] for length in (40, 41)] == ["x", "…"]


def make_matcher(rules):
    """Return what decides by rules, of which the categories are names by id."""
    pairs = [(name, id_) for id_, name in (rules.get("categories") or {}).items()]
    words = CategoryWords(pairs, bool(pairs))
    options = {"statuses": {}, "defaults": {}, **rules, "category_words": words}
    return Matcher(SimpleNamespace(**options))


@pytest.mark.parametrize(
    ("rules", "reason"),
    read_cases(__file__, "rules.txt"),
)
def test_rules_that_contradict_are_refused(rules, reason):
    """Before any row is read."""
    with pytest.raises(ArgumentError, match=reason):
        make_matcher(literal_eval(rules))


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
    st.sampled_from(
        (*NAMES, "7,0", "sold", "SOLD", "weg", "Summe", "#N/A", "a\0b", "\u00a0")
    )
    | IDS.map(str)
    | st.text(max_size=5)
    | st.builds(NonTextCell, IDS.map(str), st.sampled_from(("a number", "a date")))
)
RULES = st.fixed_dictionaries(
    {
        "categories": st.none()
        | st.dictionaries(
            IDS, st.sampled_from(NAMES) | st.text(max_size=4), min_size=1, max_size=6
        ),
        "statuses": st.dictionaries(
            st.sampled_from(("weg", "frei")), st.sampled_from(spec.STATUSES)
        ),
        "defaults": st.sampled_from(({}, {"status": "sold"})),
    }
)


@given(
    rules=RULES, cells=st.lists(CELLS, max_size=30), field_name=st.sampled_from(FIELDS)
)
def test_a_cell_has_one_meaning_and_its_value_is_read_as_itself(
    rules, cells, field_name
):
    """Never two ids; a problem says what is wrong and what helps."""
    matcher, second_matcher = make_matcher(rules), make_matcher(rules)
    for text in cells:
        value = matcher.decide(field_name, text)
        if isinstance(value, Problem):
            assert all(value)
            continue
        categories = rules["categories"]
        if field_name == "categoryId" and categories is not None:
            ids_of_the_name = {
                id_ for id_, name in categories.items() if fold(name) == fold(text)
            }
            assert ids_of_the_name <= {value}
            assert value in categories
        if value is not None:
            second_reading = second_matcher.decide(field_name, str(value))
            ambiguous = "stands for several categories"
            assert second_reading == value or (
                isinstance(second_reading, Problem) and second_reading.rule == ambiguous
            )
