"""
Which rows could make an animal a second time: the three rules, in a table and over
nights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from petstore_tools.importing.doubtful import Doubt, Entry, find_doubtful, match
from petstore_tools.importing.values import PetValues


def values(text: str) -> PetValues:
    """Read `rex/3/sold`."""
    name, category_id, status = [*text.split("/"), *["3", ""][text.count("/") :]]
    return PetValues(name, int(category_id), status or None)


def file(text: str) -> list[PetValues]:
    """Read the rows of a file, one word each."""
    return [values(word) for word in text.split()]


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
        entries.append(replace(row, position=number if row.present else None))
    return entries


CASES = {  # what was sent, the file now, the doubtful rows
    "nothing new": ("a b c", "a b c", ""),
    "another order": ("a b c", "c a b", ""),
    "a row deleted, another appended": ("a b c", "a c d", ""),
    "a status changed": ("a b c", "a b/3/sold c", "b/3/sold"),
    "a status changed while the sheet grows": ("a b c", "a b/3/sold c d", "b/3/sold"),
    "the last status changed while it grows": ("a b c", "a b c/3/sold d", "c/3/sold"),
    "a name changed in its place": ("a b c", "a x c d", "x"),
    "a name changed, and a row copied to the end": ("a b c d", "a x c d d e", "x"),
    "a name changed, another of the old one added": ("a b c", "a x c b/4", "x b/4"),
    "a name changed, and the order": ("a b c", "c a x", "x"),
    "two rows of one name, both edited": ("a/1 a/2", "a/3 a/4", "a/3 a/4"),
    "one of two rows of a name renamed, the other edited": (
        "a b/1 b/2 c",
        "a x b/3 c",
        "x b/3",
    ),
    "the first of two equal rows renamed": ("a b b c", "a x b c", "x"),
    "the second of two equal rows renamed": ("a b b c", "a b x c", "x"),
    "a row became equal to its neighbour": ("a b c", "b b c", "b"),
    "another list under the old name": ("a b c", "x y z", "x y z"),
    "one of two equal rows renamed, of which one was sent": (
        "a b ?b c",
        "a b x c",
        "x",
    ),
    "a row that was not sent is edited": ("a ?b c", "a x c", ""),
    "a row gone long ago bears the name": ("a -b c", "a c b/4", "b/4"),
    "a row gone long ago asks no more by its place": ("a -b c", "a x c", ""),
    "one of two equal rows, gone long ago, asks no more by its place": (
        "a b -b c",
        "a x b c",
        "",
    ),
    "an unsent row of the name of a missing one": ("a b ?b/4", "a b/4", "b/4"),
    "one that a person agreed to": ("a b !b/4", "a b/4", ""),
    "a row is edited that is unknown": ("a ~b c", "a b/4 c", "b/4"),
}


@pytest.mark.case("P35", "P63", "P69")
@pytest.mark.parametrize(("sent", "now", "doubtful"), CASES.values(), ids=CASES)
def test_a_row_is_doubtful_by_its_name_or_its_place(
    sent: str, now: str, doubtful: str
) -> None:
    """Whatever may be an edit is asked about, and nothing else."""
    contents = file(now)

    entries = journal(sent)
    doubts = find_doubtful(contents, entries, *match(entries, contents), equal={})

    assert {contents[index] for index in doubts} == set(file(doubtful))


@pytest.mark.parametrize(
    ("ours", "theirs", "now", "doubtful"),
    [
        ("", "a b c", "a x c", "x"),
        ("", "a b c", "a b x", "x"),
        ("", "a b c", "x y z", ""),
        ("", "a b", "a b/4", "b/4"),
        ("", "a b", "a/3/sold b/3/sold", "a/3/sold b/3/sold"),
        ("", "a b c", "a x y b/4", ""),
        ("", "a b c", "a x y", ""),
        ("", "a b c", "a x c/3/sold", "c/3/sold"),
        ("a c", "a b c", "a b/3/sold c", "b/3/sold"),
        ("a c", "a b c", "a b/4 c", ""),
        ("a c", "a b c", "a x c", ""),
    ],
    ids=[
        "renamed",
        "renamed at the end",
        "shares nothing",
        "another category",
        "every status edited",
        "shares one row and one name",
        "shares one row",
        "one name",
        "a status edited, later",
        "another category, later",
        "renamed, later",
    ],
)
def test_a_copy_of_another_import_is_compared_with_it(
    ours: str, theirs: str, now: str, doubtful: str
) -> None:
    """By name and category always, and by place until a row of it was sent."""
    contents = file(now)
    entries = journal(ours)
    other_entries = journal(theirs, import_id="other")
    sent = {entry.content for entry in other_entries}
    equal = {
        index: Doubt("equal", "exists")
        for index, content in enumerate(contents)
        if content in sent
    }
    shares = {content[:2] for content in sent} & {content[:2] for content in contents}

    other_imports = [other_entries] if shares else []
    doubts = find_doubtful(
        contents, entries, *match(entries, contents), equal=equal, others=other_imports
    )

    assert {contents[index] for index in doubts.keys() - equal.keys()} == set(
        file(doubtful)
    )


def test_a_row_moved_by_a_part_and_renamed_after_it_is_doubtful() -> None:
    """The order of the last run counts, too."""
    moved = {"c": 2, "a": 3}
    entries = [
        replace(
            entry,
            number=moved.get(entry.content.name, 4),
            present=entry.content.name != "b",
        )
        for entry in journal("c a b")
    ]
    entries = [replace(e, position="abc".index(e.content.name)) for e in entries]
    contents = file("c x")

    doubts = find_doubtful(contents, entries, *match(entries, contents), equal={})

    assert list(doubts) == [1]


def test_a_row_that_equals_an_animal_explains_no_missing_row() -> None:
    """The missing row may still be the other new row in its place."""
    contents = file("a b/4 x c")

    entries = journal("a b c")
    equal = {1: Doubt("equal", "the animal with id 7")}
    doubts = find_doubtful(contents, entries, *match(entries, contents), equal=equal)

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
    contents = file(now)

    entries = journal("a b ?b c")
    (doubt,) = find_doubtful(
        contents, entries, *match(entries, contents), equal={}
    ).values()

    assert doubt.because == "row 3 of import ours was 'b', 3, no status (id 3)"


def test_of_equal_rows_those_that_were_sent_are_found_first() -> None:
    """Whatever their order in the journal."""
    entries = journal("?a a")

    (matched_row,), missing = match(entries, file("a"))

    assert (matched_row, missing) == (entries[1], [entries[0]])


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
        matches, missing = match(sent, rows)
        doubts = find_doubtful(rows, sent, matches, missing, equal={})
        questions.append(len(doubts))
        entries = []
        for index, (content, entry) in enumerate(zip(rows, matches, strict=True)):
            state = "skipped" if index in doubts else "created"
            state = state if entry is None else entry.state
            entries.append(
                Entry(
                    index,
                    "ours",
                    content,
                    index,
                    True,
                    state,
                    answered=True,
                    position=index,
                )
            )  # type: ignore[arg-type]
        sent = entries + [
            replace(entry, present=False, position=None) for entry in missing
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
