"""Which column holds which field: exact names, what the caller says, and what is proposed."""

from __future__ import annotations

import pytest

from petstore_tools.errors import SheetError
from petstore_tools.importing.titles import read_titles


@pytest.mark.case("P50")
@pytest.mark.parametrize(
    "header",
    [
        ["name", "categoryId", "status"],
        ["NAME ", "Category ID", "Status"],
        ["Name", "category_id", "STATUS"],
    ],
)
def test_exact_names_map_by_themselves(header: list[str]) -> None:
    """In any case; blanks and underscores do not count."""
    titles = read_titles(header)

    assert titles.columns == {"name": 0, "categoryId": 1, "status": 2}
    assert (titles.proposals, titles.missing) == ({}, ())


@pytest.mark.parametrize(
    ("header", "proposals"),
    [
        (["Tier", "Art", "Zustand"], {"Tier": "name", "Art": "categoryId", "Zustand": "status"}),
        (
            ["Tiername", "Kategorie-Nr.", "State"],
            {"Tiername": "name", "Kategorie-Nr.": "categoryId", "State": "status"},
        ),
        (["Pet name", "Species", "price"], {"Pet name": "name", "Species": "categoryId"}),
        (["Name", "Kind"], {"Kind": "categoryId"}),
        (
            ["Name*", "Category", "Verfügbarkeit"],
            {"Name*": "name", "Category": "categoryId", "Verfügbarkeit": "status"},
        ),
        (["name", "Art", "Kategorie"], {"Kategorie": "categoryId"}),
        (["Tier", "Tier", "Art"], {"A": "name", "Art": "categoryId"}),
        (["x", "y"], {}),
    ],
)
def test_other_titles_are_only_proposed(header: list[str], proposals: dict[str, str]) -> None:
    """
    Taken back as `columns=`, they are the mapping; of two likely columns the likelier one is
    proposed.
    """
    titles = read_titles(header)

    assert titles.proposals == proposals
    again = read_titles(header, titles.proposals)
    assert set(again.columns) == set(titles.columns) | set(proposals.values())
    assert again.proposals == {}


def test_a_refusal_holds_what_to_copy() -> None:
    """As an argument, and as flags at the command line."""
    titles = read_titles(["Tier", "Art", 'x"'])

    assert titles.missing == ("name", "categoryId")
    assert titles.refusal() == (
        "no column for name and categoryId; the header has 'Tier', 'Art', 'x\"'. "
        'If this is the right column, pass: columns={"Tier": "name", "Art": "categoryId"}'
    )
    assert titles.refusal().endswith('pass: --columns "Tier=name" --columns "Art=categoryId"')
    assert read_titles(["x", "y"]).refusal().endswith('say which one it is: --columns "TITLE=name"')


def test_what_the_caller_says_comes_first() -> None:
    """An exact name that the caller gave to nobody is not that field then."""
    titles = read_titles(["name", "Tier", "Art"], {"Tier": "name", "Art": "categoryId"})

    assert titles.columns == {"name": 1, "categoryId": 2}
    assert read_titles(["Art", "x"], {"Art": "name"}).proposals == {}


def test_a_default_replaces_a_column() -> None:
    """A column that is missing and has a default is not missed."""
    assert read_titles(["name"], defaults=["categoryId"]).missing == ()
    assert read_titles(["name"]).missing == ("categoryId",)


def test_two_columns_of_one_title_are_told_apart_by_letter() -> None:
    """A title that is a letter comes first."""
    header = ["Name", "Name", "Art", "C"]

    assert read_titles(header, {"B": "name", "Art": "categoryId"}).columns == {
        "name": 1,
        "categoryId": 2,
    }
    assert read_titles(header, {"B": "name", "C": "categoryId"}).columns == {
        "name": 1,
        "categoryId": 3,
    }
    with pytest.raises(
        SheetError,
        match=r"columns A 'Name' and B 'Name' could both be name; .* columns=\{\"A\": \"name\"\}",
    ):
        read_titles(header)
    with pytest.raises(
        SheetError, match="columns A and B both have the title 'Name'; give a letter"
    ):
        read_titles(header, {"Name": "name"})


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (
            {"Tier": "nmae"},
            "'nmae' is not a field; a column can be name, categoryId or status; did you mean 'name'",
        ),
        ({"Hund": "name"}, "there is no column 'Hund'; the header has 'Tier', 'Art'"),
        ({"Tier": "name", "Art": "name"}, "columns A 'Tier' and B 'Art' could both be name"),
    ],
)
def test_what_is_not_there_is_refused(given: dict[str, str], why: str) -> None:
    """With what is there."""
    with pytest.raises(SheetError, match=why):
        read_titles(["Tier", "Art"], given)
