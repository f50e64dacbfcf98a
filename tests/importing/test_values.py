"""What cells mean: by rules that agree, and in any order; the corpus has examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from petstore_tools import spec
from petstore_tools.errors import ArgumentError
from petstore_tools.importing.titles import FIELDS
from petstore_tools.importing.values import Matcher, ValueRules, fold
from petstore_tools.tabular.cells import NonTextCell


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        ({"defaults": {"name": "Rex"}}, "name takes none"),
        ({"defaults": {"colour": "red"}}, "there is no field 'colour'"),
        ({"defaults": {"status": "gone"}}, "'gone' for status is not a status"),
        (
            {"defaults": {"categoryId": 5}, "categories": {3: "Dogs"}},
            "5 for categoryId is not a known category",
        ),
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
