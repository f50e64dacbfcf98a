"""Titles of columns: exact ones map by themselves, others are only proposed."""

from __future__ import annotations

import pytest

from petstore_tools.errors import SheetError
from petstore_tools.importing.titles import is_known, read_titles

ALL = ("name", "categoryId", "status")


@pytest.mark.case("P50")
@pytest.mark.parametrize(
    ("header", "columns", "proposals"),
    [
        ("name,categoryId,status", ALL, {}),
        ("Name,Category ID,STATUS", ALL, {}),
        (" name ,category_id,Status ", ALL, {}),
        ("Tier,Art,Zustand", (), {"Tier": "name", "Art": "categoryId", "Zustand": "status"}),
        ("Tiername,Kategorie-Nr.", (), {"Tiername": "name", "Kategorie-Nr.": "categoryId"}),
        ("Pet name,Species,price", (), {"Pet name": "name", "Species": "categoryId"}),
        ("Name,Kind", ("name",), {"Kind": "categoryId"}),
        ("Name*,Category", (), {"Name*": "name", "Category": "categoryId"}),
        ("name,Art,Kategorie", ("name",), {"Kategorie": "categoryId"}),  # the likelier one
        ("Tier,Tier,Art", (), {"A": "name", "Art": "categoryId"}),
        ("Imię,Gatunek,Stan", (), {"Imię": "name", "Gatunek": "categoryId", "Stan": "status"}),
        ("Nom,Espèce,Statut", (), {"Nom": "name", "Espèce": "categoryId", "Statut": "status"}),
        ("x,y", (), {}),
    ],
)
def test_exact_titles_map_and_others_are_proposed(
    header: str, columns: tuple[str, ...], proposals: dict[str, str]
) -> None:
    """In any case, without blanks and underscores; proposals given back are the mapping."""
    titles = read_titles(header.split(","))

    assert (tuple(titles.columns), titles.proposals) == (columns, proposals)
    again = read_titles(header.split(","), titles.proposals)
    assert set(again.columns) == {*columns, *proposals.values()}
    assert again.proposals == {}


def test_a_refusal_says_what_is_missing_and_what_could_be_meant() -> None:
    """All fields at once."""
    assert read_titles(["Tier", "Art", 'x"']).refusal() == (
        "no column for name and categoryId; the header has 'Tier', 'Art', 'x\"'"
    )
    twice = read_titles(["Name", "Name", "Status", "status", "x"])
    assert twice.missing == ("name", "categoryId", "status")
    assert twice.proposals == {"A": "name", "C": "status"}
    assert twice.refusal().startswith(
        "no column for categoryId; columns A 'Name' and B 'Name' could both be name; "
        "columns C 'Status' and D 'status' could both be status; the header has"
    )
    assert read_titles(["name"], defaults=["categoryId"]).missing == ()
    assert [is_known(title) for title in ("2. Imię (*)", "Imiê", "Größe")] == [True, False, False]


@pytest.mark.parametrize(
    ("header", "given", "wanted"),
    [
        ("name,Tier,Art", {"Tier": "name", "Art": "categoryId"}, {"name": 1, "categoryId": 2}),
        ("Name,Name,Art,C", {"B": "name", "Art": "categoryId"}, {"name": 1, "categoryId": 2}),
        ("Name,Name,Art,C", {"B": "name", "C": "categoryId"}, {"name": 1, "categoryId": 3}),
        ("Name,Name,Art", {"Name": "name"}, "columns A and B both have the title 'Name': give"),
        ("Tier,Art", {"Tier": "nmae"}, "'nmae' is not a field; .* did you mean 'name'"),
        ("Tier,Art", {"Hund": "name"}, "there is no column 'Hund'; the header has 'Tier', 'Art'"),
    ],
)
def test_what_the_caller_says_comes_first_and_is_there(
    header: str, given: dict[str, str], wanted: object
) -> None:
    """A title that is a letter comes before the letter."""
    if isinstance(wanted, str):
        with pytest.raises(SheetError, match=wanted):
            read_titles(header.split(","), given)
    else:
        assert read_titles(header.split(","), given).columns == wanted
