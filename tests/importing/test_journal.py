"""The database of the imports to a place: what it holds, and what it refuses."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from harms import damage, full_disk
from histories import new_rows
from tables import read_table

from petstore_tools.clock import ManualClock
from petstore_tools.errors import JournalError, SettingsError
from petstore_tools.importing.comparison import Comparison
from petstore_tools.importing.doubtful import Doubt
from petstore_tools.importing.entries import Entry, State
from petstore_tools.importing.imports import Target, find_import, list_imports
from petstore_tools.importing.journal import Journal, open_journal, read_journal
from petstore_tools.importing.lost_rows import (
    mark_dead,
    reconcile,
    record_decision,
    seconds_lost,
    take_listing,
)
from petstore_tools.importing.reconcile import Outcome
from petstore_tools.importing.values import PetValues

REX = PetValues("Rex", 3, "sold")
MIA = PetValues("Mia", 4, None)


def target(name: str = "a.csv") -> Target:
    """Return what an import is for."""
    return Target("staging", "https://pets.example/v1", Path(f"/files/{name}"))


def add(journal: Journal, *contents: PetValues) -> list[Entry]:
    """Add rows of a new file."""
    journal.bad_rows = 1
    journal.add_file(new_rows(contents), compared=True)
    return journal.read()


def answer(journal: Journal, entry: Entry, outcome: Outcome) -> None:
    """Send a row, and record its answer."""
    assert journal.record([], intent=entry)
    journal.record([(entry, outcome)])


def show(
    journal: Journal, *animals: tuple[int, PetValues], began: float = 0.0
) -> dict[int, Outcome]:
    """Take a complete listing; return what it says about lost rows."""
    rows = [
        {"id": i, "name": v.name, "categoryId": v.category_id, "status": v.status}
        for i, v in animals
    ]
    take_listing(journal, [rows])
    return reconcile(journal, began=began, after_s=60.0)


def refused(folder: Path, reason: str) -> None:
    """Try to open the journal of an import."""
    with pytest.raises(JournalError, match=reason), open_journal(folder, target()):
        pass


def test_an_animal_belongs_to_one_row_of_one_import(tmp_path: Path) -> None:
    """
    An answer that names another row's animal, or one that existed before, gives no id.
    """
    with (
        open_journal(tmp_path, target("a.csv")) as a,
        open_journal(tmp_path, target("b.csv")) as b,
    ):
        show(a, (5, MIA))
        answer(a, add(a, REX)[0], Outcome("created", 7, changed=frozenset({"name"})))
        rows = add(b, MIA, MIA._replace(name="Tom"))
        answer(b, rows[0], Outcome("created", 7))
        answer(b, rows[1], Outcome("created", 5))

        said = "the answer names id {}, another animal's"
        assert [e.pet_id for e in a.read()] == [7]
        assert [(e.state, e.pet_id, e.detail) for e in b.read()] == [
            ("created", None, said.format(7)),
            ("created", None, said.format(5)),
        ]


def test_an_answer_is_for_a_row_that_is_on_its_way(tmp_path: Path) -> None:
    """What another program changed meanwhile stays as it is."""
    with open_journal(tmp_path, target()) as journal:
        (entry,) = add(journal, REX)

        with pytest.raises(JournalError, match="another program changed row 2 of"):
            journal.record([(entry, Outcome("created", 7))])

        assert journal.counts() == {"unsent": 1}


def test_a_person_cannot_decide_against_the_constraint(tmp_path: Path) -> None:
    """
    An animal that another row has, a row that is not unknown; absent is sent again.
    """
    with (
        open_journal(tmp_path, target("a.csv")) as a,
        open_journal(tmp_path, target("b.csv")) as b,
    ):
        answer(a, add(a, REX)[0], Outcome("created", 7))
        b.compared_ids = {entry.entry_id for entry in a.read()}
        for entry in add(b, REX, MIA):
            answer(b, entry, Outcome("unknown"))

        with pytest.raises(
            JournalError, match=r"this animal is row 2 of a.csv \(id 7\)"
        ):
            record_decision(b, 2, 7)
        with pytest.raises(
            JournalError, match="row 2 of import .* is not to be decided"
        ):
            record_decision(a, 2, None)
        record_decision(b, 2, 8)
        record_decision(b, 3, None)

        assert [(e.state, e.pet_id) for e in b.read()] == [
            ("created", 8),
            ("unsent", None),
        ]
    with open_journal(tmp_path, target("c.csv")) as c:
        c.compared_ids = {1, 2, 3}
        for content in (REX, MIA):
            add(c, content)
            answer(c, c.unsent()[0], Outcome("unknown"))
        add(c, MIA._replace(name="Tom"))

        with pytest.raises(JournalError, match="row 2 of import .* stands for several"):
            record_decision(c, 2, None)


@pytest.mark.parametrize("state", ["unknown", "created"])
@pytest.mark.parametrize(
    ("content", "row_key"),
    [
        (REX._replace(status="pending"), ""),
        (REX._replace(status=None), ""),
        (MIA, "K\n7"),
    ],
)
def test_a_row_waits_that_another_import_sent_since_the_file_was_compared(
    tmp_path: Path, state: State, content: PetValues, row_key: str
) -> None:
    """
    For the next run, whatever was answered: of its name and category, or with its key.
    """
    sent_row, row = new_rows([REX, content])
    with (
        open_journal(tmp_path, target("a.csv")) as a,
        open_journal(tmp_path, target("b.csv")) as b,
    ):
        a.add_file([sent_row._replace(row_key=row_key)], compared=True)
        doubts = {0: Doubt("equal", "")}
        comparison = Comparison([], [row._replace(row_key=row_key)], doubts)
        b.add_file(comparison.with_answers({0: "send"}), compared=True)
        answer(a, a.read()[0], Outcome(state))

        may_leave = b.record([], intent=b.read()[0])

        assert not may_leave
        assert [(e.state, e.waits) for e in b.read()] == [("skipped", True)]
        add(b, REX._replace(name="Tom"))
        assert b.record([], intent=b.unsent()[0])


def test_rows_of_a_dead_process_are_unknown_and_those_of_a_living_one_are_not(
    tmp_path: Path,
) -> None:
    """The lock of an import tells, also for who looks at the dead import itself."""
    with open_journal(tmp_path, target("a.csv")) as journal:
        journal.record([], intent=add(journal, REX)[0])
    with (
        open_journal(tmp_path, target("b.csv")) as alive,
        read_journal(tmp_path, target("a.csv")) as dead,
    ):
        alive.record([], intent=add(alive, MIA)[0])

        mark_dead(dead)

        assert (alive.counts(), dead.counts()) == ({"sending": 1}, {"unknown": 1})


def test_a_clock_that_begins_anew_shows_too_little_time(tmp_path: Path) -> None:
    """Never too much: at least what passed since the machine was started."""
    clock = ManualClock(100.0)
    with open_journal(tmp_path, target(), clock) as journal:
        answer(journal, add(journal, REX)[0], Outcome("unknown"))
        clock.advance(30)
        waited_s = seconds_lost(journal)
    with read_journal(tmp_path, target(), ManualClock(20.0)) as journal:
        assert (waited_s, seconds_lost(journal)) == ([30.0], [20.0])


def test_a_set_waits_for_a_row_on_its_way_or_lost_too_late(tmp_path: Path) -> None:
    """Its animal may be the one that is there; rows of other names are settled."""
    clock = ManualClock(100.0)
    with (
        open_journal(tmp_path, target("a.csv"), clock) as a,
        open_journal(tmp_path, target("b.csv"), clock) as b,
    ):
        show(a)
        rows = add(a, REX, MIA)
        for row in rows:
            answer(a, row, Outcome("unknown"))
        (other,) = add(b, REX._replace(status=None))
        clock.advance(60)
        b.compared_ids = {row.entry_id for row in rows}
        b.record([], intent=other)
        animals = ((7, REX), (8, MIA._replace(status="sold")))

        on_the_way = show(a, *animals, began=160.0)
        b.record([(other, Outcome("unknown"))])
        too_late = show(a, *animals, began=160.0)
        settled = show(a, *animals, began=220.0)

    assert [outcome.pet_id for outcome in on_the_way.values()] == [8]
    assert too_late == {}
    assert [outcome.pet_id for outcome in settled.values()] == [7, None]


def test_a_row_is_sent_again_when_two_listings_agree_and_anew_each_time(
    tmp_path: Path,
) -> None:
    """Also after one that showed an animal near it, and after it was lost again."""
    similar_animal = (7, REX._replace(status=None))
    with open_journal(tmp_path, target(), ManualClock(1_000.0)) as journal:
        show(journal)
        add(journal, REX)
        states = []
        for listings in ([[similar_animal], [], []], [[], []]):
            answer(journal, journal.unsent()[0], Outcome("unknown"))
            for animals in listings:
                states += [
                    o.state for o in show(journal, *animals, began=1_060.0).values()
                ]

    assert states == ["unknown", "unknown", "unsent", "unknown", "unsent"]


@pytest.mark.parametrize(
    ("field", "stored"),
    [("name", MIA._replace(name="Tom")), ("categoryId", MIA._replace(category_id=5))],
)
def test_what_the_service_changes_is_no_difference(
    tmp_path: Path, field: str, stored: PetValues
) -> None:
    """Once an answer showed that: a new animal may be the lost row."""
    with open_journal(tmp_path, target(), ManualClock(1_000.0)) as journal:
        show(journal)
        created_row, lost_row = add(journal, REX, MIA)
        answer(journal, created_row, Outcome("created", 7, changed=frozenset({field})))
        answer(journal, lost_row, Outcome("unknown"))
        show(journal, (7, REX), (8, stored), began=1_060.0)

        assert [entry.may_be for entry in journal.read()] == ["", "8"]


def test_imports_are_listed_and_found(tmp_path: Path) -> None:
    """
    By the first letters of their names; the last changed first; rows with problems
    count.
    """
    with open_journal(tmp_path, target()) as journal:
        add(journal, REX, MIA, MIA._replace(name="Tom"))
        answer(journal, journal.read()[0], Outcome("created", 7))

    (info,), errors = list_imports(tmp_path)

    assert not errors
    assert find_import(tmp_path, info.target.id[:5]) == info
    assert (info.target, info.states) == (
        target(),
        {"created": 1, "unsent": 2, "rejected": 1},
    )
    for name in ("", "zz"):
        with pytest.raises(SettingsError, match="no import begins"):
            find_import(tmp_path, name)


@pytest.mark.parametrize(("harm", "reason"), read_table(__file__, "harms.json"))
def test_a_database_that_cannot_be_trusted_is_refused(
    tmp_path: Path, harm: str, reason: str
) -> None:
    """With its name, and what to do."""
    with open_journal(tmp_path, target()) as journal:
        add(journal, *(REX._replace(name=f"Rex {n}") for n in range(500)))
    path = tmp_path / f"{target().database_name}.db"
    damage(path, harm)

    refused(
        tmp_path, f"{path.name} .*({reason}).*move it away.*every file counts as new"
    )


def test_only_a_journal_whose_check_failed_is_to_be_moved_away(tmp_path: Path) -> None:
    """A healthy one that cannot be used for another reason stays where it is."""
    with open_journal(tmp_path, target()) as journal:
        pass

    with pytest.raises(JournalError, match="run the same call again") as caught:
        journal.read()

    assert "move it away" not in str(caught.value)


@pytest.mark.skipif(
    not hasattr(os, "geteuid"), reason="rights of files as POSIX has them"
)
def test_a_folder_that_can_only_be_read_is_said_as_that() -> None:
    """In these words; root, who may write everywhere, tries it as nobody."""
    user = os.geteuid()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o555)
        if user == 0:
            os.seteuid(65534)
        try:
            refused(folder, "can only be read")
        finally:
            os.seteuid(user)
            folder.chmod(0o700)


def test_a_full_disk_is_said_as_that(tmp_path: Path) -> None:
    """Whoever moved the journal away would ask about all that is in it once more."""
    with full_disk():
        refused(tmp_path, "make room on its disk")


def test_a_copy_of_the_database_alone_has_every_intent(tmp_path: Path) -> None:
    """Taken at any boundary of a run, without the file that SQLite keeps beside it."""
    with open_journal(tmp_path, target()) as journal:
        entries = add(journal, *(REX._replace(name=f"Rex {n}") for n in range(40)))
        show(journal)
        for count, entry in enumerate(entries):
            journal.record([], intent=entry)
            copy = tmp_path / f"copy{count}"
            copy.mkdir()
            shutil.copy(tmp_path / f"{target().database_name}.db", copy)
            with open_journal(copy, target()) as copied:
                states = [e.state for e in copied.read()]
            assert states == ["created"] * count + ["sending"] + ["unsent"] * (
                39 - count
            )
            journal.record([(entry, Outcome("created", count + 1))])
