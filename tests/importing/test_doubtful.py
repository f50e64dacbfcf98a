"""
Which rows could make an animal a second time: the four rules, in tables.
"""

import re
from collections.abc import Sequence

import pytest
from histories import new_rows
from tables import read_cases

from petstore_tools.importing.doubtful import (
    Doubt,
    equals_by_row,
    find_doubtful,
)
from petstore_tools.importing.entries import Entry, State, match
from petstore_tools.importing.values import PetValues


def values(text: str) -> PetValues:
    """Read `rex/3/sold`."""
    name, category_id, status = [*text.split("/"), *["3", ""][text.count("/") :]]
    return PetValues(name, int(category_id), status or None)


def file(text: str) -> list[Entry]:
    """Read the rows of a file: `rex/3@7` has the key 7, `rex#5` the id 5."""
    rows = new_rows(values(re.split("[@#]", word)[0]) for word in text.split())
    return [_identify(row, word) for row, word in zip(rows, text.split(), strict=True)]


def _identify(row: Entry, word: str) -> Entry:
    """Give a row its key, or the animal that its id names."""
    row = row._replace(
        row_key=f"Chip\n{key}" if (key := word.partition("@")[2]) else ""
    )
    if pet_id := word.partition("#")[2]:
        facts = row._replace(pet_id=int(pet_id), has_id=True)
        return facts._replace(waits=False, state="created")
    return row


def find(
    rows: list[Entry],
    entries: list[Entry],
    animals: Sequence[Entry] = (),
    others: Sequence[Entry] = (),
) -> dict[int, Doubt]:
    """Match the rows of a file, and say which are doubtful."""
    keys = {entry.row_key: entry for entry in others if entry.row_key}
    matches = match(entries, rows, keys)
    equals = equals_by_row(matches.rows, animals)
    names = {row.content[:2] for row in rows}
    is_sharing = any(entry.content[:2] in names for entry in others)
    sheets = [others] if is_sharing else []
    has_ids = any(row.has_id for row in rows)
    return find_doubtful(
        matches, entries, equals=equals, other_sheets=sheets, has_ids=has_ids
    )


def journal(text: str, *, import_id: str = "ours") -> list[Entry]:
    """
    Read the rows of an import: created, `-` in front: not in the last run's file, `?`:
    unsent, `!`: a person agreed, `~`: unknown, `=`: left out as equal.
    """
    states: dict[str, State] = dict(
        zip("?!~=", ("unsent", "unsent", "unknown", "skipped"), strict=True)
    )
    entries = []
    for row, word in zip(file(re.sub("[-?!~=]", "", text)), text.split(), strict=True):
        state = states.get(word[0], "created")
        facts = row._replace(
            entry_id=row.number,
            import_id=import_id,
            file=f"{import_id}.csv",
            present=word[0] != "-",
            waits=state == "unsent",
            state=state,
            answered=word[0] in "!=",
            pet_id=row.number if state == "created" else None,
            detail="equal: 7" if state == "skipped" else "",
        )
        entries.append(facts._replace(position=row.number if facts.present else None))
    return entries


def animal(content: PetValues, pet_id: int, row_key: str = "") -> Entry:
    """Return an animal that has these values."""
    return Entry(0, "", "", content, 0, row_key, pet_id=pet_id)


@pytest.mark.parametrize(
    ("ours", "theirs", "rows", "doubtful"), read_cases(__file__, "doubtful.txt")
)
def test_a_row_is_doubtful_by_its_name_or_its_place(
    ours: str, theirs: str, rows: str, doubtful: str
) -> None:
    """
    Whatever may be an edit is asked about, and nothing else; beside another import by
    name and category always, and by place until a row of the copy was sent.
    """
    other_entries = journal(theirs, import_id="other")
    new = file(rows)
    contents = {row.content for row in new}
    animals = [
        animal(entry.content, entry.entry_id + 50, entry.row_key)
        for entry in other_entries
        if entry.content in contents
    ]

    doubts = find(new, journal(ours), animals, other_entries)

    doubtful_rows = {
        new[index].content for index, doubt in doubts.items() if doubt.reason != "equal"
    }
    assert doubtful_rows == {row.content for row in file(doubtful)}


@pytest.mark.parametrize(
    ("ours", "animals", "rows", "doubtful"), read_cases(__file__, "equal.txt")
)
def test_as_many_rows_are_doubtful_as_are_equal(
    ours: str, animals: str, rows: str, doubtful: str
) -> None:
    """Less those that rows were left out for, and none of another key."""
    things = [
        animal(row.content, number, row.row_key)
        for number, row in enumerate(file(animals), start=100)
    ]

    doubts = find(file(rows), journal(ours), things)

    assert [str(index + 2) for index in doubts] == doubtful.split()


@pytest.mark.parametrize(
    "now", ["a b x c", "a b b/4 c"], ids=["by its place", "by its name"]
)
def test_a_doubt_names_a_row_that_was_sent(now: str) -> None:
    """Of equal rows, of which another one was not."""
    (doubt,) = find(file(now), journal("a b ?b c")).values()

    assert doubt.because == "row 3 of ours.csv (id 3) was 'b', 3, no status"


def test_of_equal_rows_those_that_were_sent_are_found_first() -> None:
    """Whatever their order in the journal."""
    entries = journal("?a a")

    matches = match(entries, file("a"))

    assert matches.rows == [entries[1]._replace(number=2)]
    assert [entry.content for entry in matches.missing] == [entries[0].content]
