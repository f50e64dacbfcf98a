"""What a cell means: by rules, never by a guess."""

from __future__ import annotations

import pytest

from petstore_tools.errors import ArgumentError
from petstore_tools.importing.values import Decided, Matcher, Problem, ValueRules
from petstore_tools.tabular.cells import NonTextCell

CATEGORIES = {3: "Dogs", 4: " Cats", 7: "Vögel", 8: "Fish", 9: "fish"}


def read(of: str, cell: str, **rules: object) -> object:
    """Return what a cell is read as, or its problem."""
    found = Matcher(ValueRules(**rules)).decide(of, cell)
    return found.problem or found.value


@pytest.mark.case("P48")
@pytest.mark.parametrize(
    ("cell", "how"),
    [
        ("7", "as typed"),
        (" 7 ", "corrected number"),
        ("\u00a07\u202f", "corrected number"),
        ("7.0", "corrected number"),
        ("7,00", "corrected number"),
        ("007", "corrected number"),
        (NonTextCell("7", "a number"), "as typed"),
    ],
)
def test_a_whole_number_may_be_written_in_several_ways(cell: str, how: str) -> None:
    """Each but the plain one is counted as corrected."""
    assert Matcher(ValueRules()).decide("categoryId", cell) == Decided(7, how)


@pytest.mark.parametrize(
    "cell", ["7a", "7.5", "7,5", "7e0", "+7", "\u0667", "7 0", "0x7", "7.", "1.00.000"]
)
def test_other_texts_with_digits_are_no_whole_number(cell: str) -> None:
    """Nothing is rounded and nothing is guessed."""
    assert read("categoryId", cell) == Problem(
        "is not a whole number", "correct the cell, or choose another column"
    )


@pytest.mark.parametrize(
    ("separator", "cell", "value"),
    [
        (".", "1.000", 1000),
        (",", "1,000", 1000),
        ("'", "1'234'567", 1234567),
        ("'", "1\u2019000", 1000),
        (" ", "1\u202f000", 1000),
        (".", "-1.000,0", -1000),
    ],
)
def test_grouped_digits_are_a_problem_until_the_separator_is_given(
    separator: str, cell: str, value: int
) -> None:
    """`1.000` is a thousand for some and one for others."""
    found = read("categoryId", cell)

    assert found == Problem("has its digits in groups", f'thousands="{separator}"')
    assert read("categoryId", cell, thousands=separator) == value


def test_another_separator_than_the_one_given_stays_a_problem() -> None:
    """`thousands="."` says nothing of commas, and its point no longer begins decimals."""
    assert read("categoryId", "1,000", thousands=".") == Problem(
        "has its digits in groups", 'thousands=","'
    )
    assert read("categoryId", "7.0", thousands=".") == Problem(
        "is not a whole number", "correct the cell, or choose another column"
    )


def test_a_decimal_comma_needs_another_delimiter() -> None:
    """Where cells are separated by commas, `7,0` is more likely two cells."""
    assert read("categoryId", "7,0", delimiter=";") == 7
    assert isinstance(read("categoryId", "7,0", delimiter=","), Problem)


@pytest.mark.case("P48")
def test_ids_stay_within_int64_and_exact() -> None:
    """§2.1: int64; a decimal number beyond 2^53 may have been rounded by a spreadsheet."""
    assert read("categoryId", str(-(2**63))) == -(2**63)
    assert read("categoryId", str(2**63)) == Problem("is too large", "give a smaller number")
    assert read("categoryId", "9" * 5000) == Problem("is too large", "give a smaller number")
    found = read("categoryId", f"{2**53}.0")
    assert isinstance(found, Problem)
    assert found.rule == "may have been rounded"


@pytest.mark.parametrize(
    ("cell", "id_"),
    [("3", 3), ("Dogs", 3), (" dogs ", 3), ("CATS", 4), ("VÖGEL", 7), ("Vo\u0308gel", 7)],
)
def test_a_category_is_an_id_or_a_name(cell: str, id_: int) -> None:
    """Names are matched trimmed and in any case; one letter may be written in two ways."""
    assert read("categoryId", cell, categories=CATEGORIES) == id_


def test_a_category_that_is_not_in_the_table_is_a_problem() -> None:
    """An id, a name, and a name that is nearly one."""
    helps = "add it to the categories, or correct the cell"
    assert read("categoryId", "5", categories=CATEGORIES) == Problem(
        "is not a known category", helps
    )
    assert read("categoryId", "Horses", categories=CATEGORIES) == Problem(
        "is not a known category", helps
    )
    assert read("categoryId", "Dgos", categories=CATEGORIES) == Problem(
        "is not a known category", "did you mean 'Dogs'?"
    )


def test_what_means_two_categories_is_refused() -> None:
    """A name with two ids, and a cell that is one category's id and another's name."""
    assert read("categoryId", "FISH", categories=CATEGORIES) == Problem(
        "is the name of several categories", "give the id: 8 or 9"
    )
    found = read("categoryId", "3", categories={3: "Dogs", 4: "3"})
    assert isinstance(found, Problem)
    assert found.rule == "is the id of one category and the name of another"
    assert read("categoryId", "3", categories={3: "3", 4: "Dogs"}) == 3


def test_names_without_a_table_ask_for_one() -> None:
    """The option is worded for where it is read."""
    assert read("categoryId", "Dogs") == Problem(
        "is a name, not an id", "name the category file: --categories FILE"
    )


@pytest.mark.case("P49")
def test_statuses_are_matched_in_any_case_and_by_words_of_the_caller() -> None:
    """§2.3: three statuses; an empty cell sends none."""
    words = {"Verkauft": "sold", "frei": "Available"}
    read_as = {
        cell: read("status", cell, statuses=words)
        for cell in ("sold", "SOLD ", "verKAUFT", "Frei", "")
    }

    assert read_as == {
        "sold": "sold",
        "SOLD ": "sold",
        "verKAUFT": "sold",
        "Frei": "available",
        "": None,
    }
    assert read("status", "avialable") == Problem("is not a status", "did you mean 'available'?")
    found = read("status", "weg")
    assert isinstance(found, Problem)
    assert found.help.startswith("use available, pending, sold, or give the meaning of the word")


def test_defaults_fill_empty_cells_only() -> None:
    """A default may be given as people type it."""
    rules = {"defaults": {"status": "SOLD", "categoryId": "dogs"}, "categories": CATEGORIES}

    assert read("status", " ", **rules) == "sold"
    assert read("categoryId", "", **rules) == 3
    assert read("status", "gone", **rules) != "sold"
    assert read("name", "", **rules) == Problem("is empty", "give a name")


@pytest.mark.parametrize("of", ["name", "categoryId", "status"])
@pytest.mark.parametrize(
    ("cell", "fix"),
    [
        (NonTextCell("Err:502", "the error Err:502"), "type the value"),
        (
            NonTextCell("", "a formula without a saved value"),
            "open the workbook in a spreadsheet program",
        ),
        (NonTextCell("2026-01-01", "a date"), "format the column as text"),
    ],
)
def test_cells_that_are_no_text_are_called_what_they_are(
    of: str, cell: NonTextCell, fix: str
) -> None:
    """
    An error is never empty, so it takes no default; a text of the same letters is another cell.
    """
    matcher = Matcher(ValueRules(defaults={"status": "sold", "categoryId": 3}))

    problem = matcher.decide(of, cell).problem

    assert problem is not None
    assert problem.rule == f"is {cell.kind}"
    assert problem.help.startswith(fix)
    assert matcher.decide(of, str(cell)).problem != problem


@pytest.mark.parametrize("of", ["name", "categoryId", "status"])
def test_an_error_of_a_spreadsheet_in_a_text_file_is_one(of: str) -> None:
    """An animal cannot be deleted again, and none is called #REF!."""
    assert read(of, " #REF! ") == Problem("is the error #REF!", "type the value")
    assert read(of, "#Wert!") == Problem("is the error #Wert!", "type the value")


@pytest.mark.case("P47", "P65")
def test_names_are_sent_as_typed() -> None:
    """
    But not empty, no total, and no NUL; a number is taken for a name and counted; blanks go where
    told.
    """
    assert [read("name", name) for name in ("NA", " Rex ", "=A1", "😀")] == [
        "NA",
        " Rex ",
        "=A1",
        "😀",
    ]
    assert (
        Matcher(ValueRules()).decide("name", NonTextCell("7", "a number")).how == "corrected number"
    )
    assert Matcher(ValueRules(trim=True)).decide("name", " Rex ") == Decided("Rex", "trimmed")
    assert read("name", "Summe:", allow_totals=True) == "Summe:"
    rules = {cell: read("name", cell) for cell in ("\u00a0", "a\0b", "Summe:")}
    assert [problem.rule for problem in rules.values() if isinstance(problem, Problem)] == [
        "is empty",
        "holds a NUL character",
        "is a word for a total",
    ]


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        ({"defaults": {"name": "Rex"}}, "name takes none"),
        ({"defaults": {"colour": "red"}}, "there is no field 'colour'"),
        ({"defaults": {"status": "gone"}}, "'gone' for status is not a status"),
        (
            {"defaults": {"categoryId": 5}, "categories": CATEGORIES},
            "5 for categoryId is not a known category",
        ),
        ({"defaults": {"status": ""}}, "is empty"),
        ({"statuses": {"weg": "gone"}}, "'gone' is not a status"),
        ({"statuses": {"weg": "soldd"}}, "did you mean 'sold'"),
        ({"statuses": {"": "sold"}}, "an empty cell is not a word"),
        ({"statuses": {"SOLD": "pending"}}, "'SOLD' means 'sold' already"),
        ({"statuses": {"weg": "sold", "Weg": "pending"}}, "'Weg' means 'sold' already"),
        ({"thousands": "x"}, "thousands must be"),
    ],
)
def test_rules_that_contradict_are_refused(rules: dict[str, object], why: str) -> None:
    """Before any row is read."""
    with pytest.raises(ArgumentError, match=why):
        Matcher(ValueRules(**rules))


def test_suggestions_end_before_they_take_long() -> None:
    """
    A wrong column of a hundred thousand words is no reason to compare each with each category.
    """
    matcher = Matcher(ValueRules(categories={n: f"Category {n}" for n in range(60_000)}))

    first, second = (matcher.decide("categoryId", f"Catgory {n}").problem for n in range(2))

    assert first is not None
    assert first.help.startswith("did you mean")
    assert second == Problem(
        "is not a known category", "add it to the categories, or correct the cell"
    )
