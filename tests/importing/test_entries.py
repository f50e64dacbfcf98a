"""
Which row of a file is which, and which could make an animal a second time: in tables.
"""

import re

import pytest
from histories import new_rows, values
from tables import read_cases

from petstore_tools.importing.entries import (
    Entry,
    find_doubtful,
    match,
)
from petstore_tools.importing.values import PetValues


def file(text):
    """Read the rows of a file: `rex/3@7` has the key 7, `rex#5` the id 5."""
    rows = new_rows(values(re.split("[@#]", word)[0]) for word in text.split())
    return [_identify(row, word) for row, word in zip(rows, text.split(), strict=True)]


def _identify(row, word):
    """Give a row its key, or the animal that its id names."""
    row = row._replace(row_key=word.partition("@")[2])
    if pet_id := word.partition("#")[2]:
        return row._replace(pet_id=int(pet_id), has_id=True, state="created")
    return row


def find(
    rows,
    entries,
    animals=(),
    others=(),
):
    """Match the rows of a file, and say which are doubtful."""
    return find_doubtful(match(entries, rows, others), entries, animals, others)


def journal(text, *, import_id="ours"):
    """
    Read the rows of an import: created, `-` in front: not in the last run's file, `?`:
    unsent, `!`: a person agreed, `~`: unknown, `=`: left out as equal.
    """
    states = dict(zip("?!~=", ("unsent", "unsent", "unknown", "skipped"), strict=True))
    entries = []
    for row, word in zip(file(re.sub("[-?!~=]", "", text)), text.split(), strict=True):
        state = states.get(word[0], "created")
        facts = row._replace(
            entry_id=row.number,
            import_id=import_id,
            file=f"{import_id}.csv",
            present=word[0] != "-",
            state=state,
            answered=word[0] == "!",
            pet_id=row.number if state == "created" else None,
            detail="equal: 7" if state == "skipped" else "",
        )
        entries.append(facts._replace(position=row.number if facts.present else None))
    return entries


def animal(content, pet_id):
    """Return an animal that has these values."""
    return Entry(0, content, pet_id=pet_id, state="created")


@pytest.mark.parametrize(
    ("ours", "theirs", "rows", "equal", "changed", "same_key"),
    read_cases(__file__, "doubtful.txt"),
)
def test_a_row_is_doubtful_for_three_reasons(
    ours, theirs, rows, equal, changed, same_key
):
    """Whatever may exist already is asked about, and nothing else."""
    doubts = find(file(rows), journal(ours), (), journal(theirs, import_id="other"))

    numbers = {
        reason: [
            str(index + 2) for index, doubt in doubts.items() if doubt.reason == reason
        ]
        for reason in ("equal", "changed list", "the same row key")
    }
    assert [*numbers.values()] == [equal.split(), changed.split(), same_key.split()]


@pytest.mark.parametrize(
    ("ours", "animals", "rows", "doubtful"), read_cases(__file__, "equal.txt")
)
def test_as_many_rows_are_doubtful_as_animals_are_equal(ours, animals, rows, doubtful):
    """Less those that rows were left out for; an animal has all three values."""
    things = [
        animal(row.content, number) for number, row in enumerate(file(animals), 100)
    ]

    doubts = find(file(rows), journal(ours), things)

    assert [str(index + 2) for index in doubts] == doubtful.split()


@pytest.mark.parametrize(
    "now", ["a b x c", "a b b/3/sold c"], ids=["by its place", "by its name"]
)
def test_a_doubt_names_a_row_that_was_sent(now):
    """Of equal rows, of which another one was not."""
    (doubt,) = find(file(now), journal("a b ?b c")).values()

    assert "row 3 of ours.csv (id 3) is" in doubt.because


@pytest.mark.parametrize(
    ("theirs", "rows", "known"),
    [
        ("a@1 b@2", "a@1 b@2 c@3", "2 3"),
        ("a@1 b@2", "a@1 c@2 d@3", "2"),
        ("a@1 b@2 c@3", "a@1 x@2 y@3", ""),
        ("a@1", "a/4@1", ""),
        ("a@1/edited", "a@1", ""),
    ],
)
def test_keys_of_another_list_count_where_most_of_them_agree(theirs, rows, known):
    """At least half of the keys that both have bear the same name and category."""
    merged = match([], file(rows), journal(theirs, import_id="other")).rows

    assert [str(row.number) for row in merged if not row.waits] == known.split()


def test_a_row_that_was_renamed_is_known_by_its_key_ever_after():
    """Under the name that was sent, and under the one that a person called an edit."""
    (entry,) = journal("a@1")
    renamed = entry._replace(edited=PetValues("b", 3, None))

    assert match([entry], file("b@1")).namesakes == {0: entry}
    assert match([renamed], file("b@1")).rows[0].entry_id == entry.entry_id
    assert match([renamed], file("a@1")).rows[0].entry_id == entry.entry_id
