"""
Which rows could make an animal a second time: the three rules, in a table and over
nights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from histories import new_rows
from tables import read_cases

from petstore_tools.importing.doubtful import (
    Doubt,
    Entry,
    State,
    find_doubtful,
    match,
)
from petstore_tools.importing.values import PetValues


def values(text: str) -> PetValues:
    """Read `rex/3/sold`."""
    name, category_id, status = [*text.split("/"), *["3", ""][text.count("/") :]]
    return PetValues(name, int(category_id), status or None)


def file(text: str) -> list[Entry]:
    """Read the rows of a file, one word each."""
    return new_rows(map(values, text.split()))


def find(
    rows: list[Entry],
    entries: list[Entry],
    equal: dict[int, Doubt],
    others: Sequence[list[Entry]] = (),
) -> dict[int, Doubt]:
    """Match the rows of a file, and say which are doubtful."""
    matches, missing = match(entries, rows)
    return find_doubtful(matches, entries, missing, equal=equal, others=others)


def journal(text: str, *, import_id: str = "ours") -> list[Entry]:
    """
    Read the rows of an import: created, `-` in front: not in the last run's file, `?`:
    unsent, `!`: a person agreed, `~`: unknown.
    """
    states = {"?": "unsent", "!": "unsent", "~": "unknown"}
    entries = []
    for number, word in enumerate(text.split(), start=2):
        content = values(word.lstrip("-?!~"))
        state = states.get(word[0], "created")
        row = Entry(
            number,
            import_id,
            content,
            number,
            word[0] != "-",
            state,
            word[0] == "!",
            pet_id=number,
        )  # type: ignore[arg-type]
        entries.append(row._replace(position=number if row.present else None))
    return entries


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
    new = file(rows)
    entries = journal(ours)
    other_entries = journal(theirs, import_id="other")
    sent = {entry.content for entry in other_entries}
    equal = {
        index: Doubt("equal", "exists")
        for index, row in enumerate(new)
        if row.content in sent
    }
    shared_names = {row[:2] for row in sent} & {row.content[:2] for row in new}

    doubts = find(new, entries, equal, [other_entries] if shared_names else [])

    doubtful_rows = {new[index].content for index in doubts.keys() - equal.keys()}
    assert doubtful_rows == {row.content for row in file(doubtful)}


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

    doubts = find(file("c x"), entries, {})

    assert list(doubts) == [1]


def test_a_row_that_equals_an_animal_explains_no_missing_row() -> None:
    """The missing row may still be the other new row in its place."""
    equal = {1: Doubt("equal", "the animal with id 7")}

    doubts = find(file("a b/4 x c"), journal("a b c"), equal)

    assert {index: doubt.reason for index, doubt in doubts.items()} == {
        1: "equal",
        2: "the same place",
    }
    assert (
        str(doubts[2])
        == "the same place: row 3 of import ours was 'b', 3, no status (id 3)"
    )


@pytest.mark.parametrize(
    "now", ["a b x c", "a b b/4 c"], ids=["by its place", "by its name"]
)
def test_a_doubt_names_a_row_that_was_sent(now: str) -> None:
    """Of equal rows, of which another one was not."""
    (doubt,) = find(file(now), journal("a b ?b c"), {}).values()

    assert doubt.because == "row 3 of import ours was 'b', 3, no status (id 3)"


def test_of_equal_rows_those_that_were_sent_are_found_first() -> None:
    """Whatever their order in the journal."""
    entries = journal("?a a")

    (matched_row,), missing = match(entries, file("a"))

    assert (matched_row, missing) == (entries[1]._replace(number=2), [entries[0]])


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
        matches, missing = match(sent, new_rows(rows))
        doubts = find_doubtful(matches, sent, missing, equal={})
        questions.append(len(doubts))
        entries = []
        for index, row in enumerate(matches):
            state: State = "skipped" if index in doubts else "created"
            state = row.state if row.key else state
            facts = row._replace(key=index + 1, number=index, state=state, answered=1)
            entries.append(facts._replace(present=True, position=index))
        sent = entries + [
            entry._replace(present=False, position=None) for entry in missing
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
