"""
Which rows could make an animal a second time: the four rules, in tables and over
nights.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

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
    return find_doubtful(matches, entries, equals=equals, other_sheets=sheets)


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


@pytest.mark.case("P35", "P63", "P69")
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


@pytest.mark.case("P98", "P99")
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


def test_a_row_moved_by_a_part_and_renamed_after_it_is_doubtful() -> None:
    """The order of the last run counts, too."""
    moved = {"c": 2, "a": 3}
    entries = [
        entry._replace(
            number=moved.get(entry.content.name, 4),
            present=entry.content.name != "b",
        )
        for entry in journal("c a b")
    ]
    entries = [e._replace(position="abc".index(e.content.name)) for e in entries]

    doubts = find(file("c x"), entries)

    assert list(doubts) == [1]


def test_a_row_that_equals_an_animal_explains_no_missing_row() -> None:
    """The missing row may still be the other new row in its place."""
    doubts = find(
        file("a b/4 x c"), journal("a b c"), [animal(values("b/4"), pet_id=7)]
    )

    assert {index: str(doubt) for index, doubt in doubts.items()} == {
        1: "equal: the animal with id 7 has the same values",
        2: "the same position: row 3 of ours.csv (id 3) was 'b', 3, no status",
    }


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


def nights(change: Callable[[int, list[PetValues]], None]) -> list[int]:
    """
    Import a list for thirty nights, and skip what is doubtful; count what was asked.
    """
    rows = [PetValues(f"animal {n}", 3, "available") for n in range(200)]
    sent: list[Entry] = []
    questions = []
    for night in range(31):
        if night:
            change(night, rows)
        matches = match(sent, new_rows(rows))
        doubts = find_doubtful(matches, sent, equals={})
        questions.append(len(doubts))
        entries = []
        for index, row in enumerate(matches.rows):
            state: State = "skipped" if index in doubts else "created"
            facts = row._replace(entry_id=index + 1, number=index, answered=True)
            state = row.state if row.entry_id else state
            facts = facts._replace(state=state, waits=False, position=index)
            entries.append(facts._replace(present=True))
        sent = entries + [
            entry._replace(present=False, position=None) for entry in matches.missing
        ]
    return questions[1:]


def one_status_edited(night: int, rows: list[PetValues]) -> None:
    """Edit a row, and add three."""
    rows[night] = rows[night]._replace(status="sold")
    rows += [PetValues(f"new {night} {n}", 3, None) for n in range(3)]


def one_row_deleted(night: int, rows: list[PetValues]) -> None:
    """Delete a row, and add three."""
    del rows[night * 3]
    rows += [PetValues(f"new {night} {n}", 3, None) for n in range(3)]


def next_list(night: int, rows: list[PetValues]) -> None:
    """Put other animals in the place of all."""
    rows[:] = [PetValues(f"list {night} {n}", 3, None) for n in range(200)]


@pytest.mark.case("P63")
@pytest.mark.parametrize(
    ("change", "questions"),
    [(one_status_edited, 1), (one_row_deleted, 0), (next_list, 200)],
    ids=[
        "one status edited",
        "one row deleted while it grows",
        "a new list under the old name",
    ],
)
def test_thirty_nights_ask_about_no_row_that_is_new(
    change: Callable[[int, list[PetValues]], None], questions: int
) -> None:
    """
    Only what may be an edit is held back; a new list under an old name is one question.
    """
    assert nights(change) == [questions] * 30
