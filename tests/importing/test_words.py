"""Titles of columns: what is proposed, and what a refusal says; the corpus has examples."""

from __future__ import annotations

import pytest

from petstore_tools.importing.words import is_known, read_titles


@pytest.mark.case("P50")
@pytest.mark.parametrize(
    ("header", "proposals"),
    [
        ("name,categoryId,status", {}),
        ("Tier,Art,Zustand", {"Tier": "name", "Art": "categoryId", "Zustand": "status"}),
        ("name,Art,Kategorie", {"Kategorie": "categoryId"}),  # the likelier one
        ("Tier,Tier,Art", {"A": "name", "Art": "categoryId"}),
        ("x,y", {}),
    ],
)
def test_titles_that_are_given_back_as_proposed_map(header: str, proposals: dict[str, str]) -> None:
    """Nothing is proposed twice."""
    titles = read_titles(header.split(","))

    assert titles.proposals == proposals
    again = read_titles(header.split(","), titles.proposals)
    assert set(again.columns) == {*titles.columns, *proposals.values()}
    assert again.proposals == {}


def test_a_refusal_says_what_is_missing_and_what_could_be_meant() -> None:
    """All fields at once."""
    assert read_titles(["Tier", "Art", 'x"']).refusal() == (
        "no column for name and categoryId; the header has 'Tier', 'Art', 'x\"'"
    )
    twice = read_titles(["Name", "Name", "Status", "status", "x"])
    assert twice.missing == ["name", "categoryId", "status"]
    assert twice.proposals == {}
    assert twice.refusal().startswith(
        "no column for categoryId; columns A 'Name' and B 'Name' could both be name; "
        "columns C 'Status' and D 'status' could both be status; the header has"
    )
    assert read_titles(["name"], defaults=["categoryId"]).missing == []
    assert [is_known(title) for title in ("2. Imię (*)", "Imiê", "Größe")] == [True, False, False]
