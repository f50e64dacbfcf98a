"""The database of the imports to a place: what it holds, and what it refuses."""

import os
import shutil
import sqlite3
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from harms import damage, full_disk, interrupt
from histories import new_rows
from inventories import listed_pet
from tables import read_table

from petstore_tools import sqlite
from petstore_tools.clock import ManualClock
from petstore_tools.errors import JournalError
from petstore_tools.importing.imports import Target
from petstore_tools.importing.journal import open_journal, read_journal
from petstore_tools.importing.lost_rows import (
    mark_dead,
    mark_lost,
    reconcile,
    seconds_lost,
    take_listing,
)
from petstore_tools.importing.reconcile import Outcome
from petstore_tools.importing.values import PetValues

REX = PetValues("Rex", 3, "sold")
MIA = PetValues("Mia", 4, None)


def target(name="a.csv"):
    """Return what an import is for."""
    return Target("staging", "https://pets.example/v1", Path(f"/files/{name}"))


def test_an_interrupt_is_heard_while_another_program_holds_the_imports(tmp_path):
    """
    While they are opened; and a thread that waits for them, and so has the journal,
    waits no longer than the run then does.
    """
    with open_journal(tmp_path, target()) as journal:
        (path,) = tmp_path.glob("*.db")
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN EXCLUSIVE")
        began_at = time.monotonic()
        with interrupt():
            read_journal(tmp_path, target())
        with ThreadPoolExecutor() as pool:
            waiting = pool.submit(journal.counts)
            journal.wait_s = 0.0
            with pytest.raises(JournalError, match="locked"):
                waiting.result()
        waited_s = time.monotonic() - began_at
        holder.close()

    assert waited_s < sqlite.BUSY_S


def test_a_mistake_of_ours_is_no_damage_of_the_journal(tmp_path):
    """Its traceback shows it; to run it again would not help."""
    with (
        open_journal(tmp_path, target()) as journal,
        pytest.raises(TypeError, match="a mistake"),
        journal.transaction(),
    ):
        raise TypeError("a mistake")


def add(journal, *contents):
    """Add rows of a new file."""
    journal.bad_rows = 1
    with journal.transaction():
        journal.add_file(new_rows(contents), compared=True)
    return journal.read()


def answer(journal, entry, state, pet_id=None):
    """Send a row, and record its answer."""
    journal.record([], intent=entry)
    journal.record([(entry, Outcome(state, pet_id))])


def show(journal, *animals, began=0.0, after_s=60.0):
    """Take a complete listing; return what it says about lost rows."""
    take_listing(journal, [[listed_pet((id_, *values)) for id_, values in animals]])
    outcomes, _ = reconcile(journal, began=began, after_s=after_s)
    return outcomes


def refused(folder, reason):
    """Try to open the journal of an import."""
    with pytest.raises(JournalError, match=reason), open_journal(folder, target()):
        pass


def test_an_animal_belongs_to_one_row_of_one_import(tmp_path):
    """
    An answer that names another row's animal, or one that existed before, gives no id.
    """
    with (
        open_journal(tmp_path, target("a.csv")) as a,
        open_journal(tmp_path, target("b.csv")) as b,
    ):
        show(a, (5, MIA))
        answer(a, add(a, REX)[0], "created", 7)
        rows = add(b, MIA, MIA._replace(name="Tom"))
        answer(b, rows[0], "created", 7)
        answer(b, rows[1], "created", 5)

        said = "the answer names id {}, another animal's"
        assert [e.pet_id for e in a.read()] == [7]
        assert [(e.state, e.pet_id, e.detail) for e in b.read()] == [
            ("created", None, said.format(7)),
            ("created", None, said.format(5)),
        ]


def test_an_answer_is_for_a_row_that_is_on_its_way(tmp_path):
    """What another program changed meanwhile stays as it is."""
    with open_journal(tmp_path, target()) as journal:
        (entry,) = add(journal, REX)

        with pytest.raises(JournalError, match="another program changed row 2 of"):
            journal.record([(entry, Outcome("created", 7))])

        assert journal.counts() == {"unsent": 1}


def test_rows_of_a_dead_process_are_unknown_and_those_of_a_living_one_are_not(tmp_path):
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


def test_a_clock_that_begins_anew_shows_too_little_time(tmp_path):
    """Never too much: at least what passed since the machine was started."""
    clock = ManualClock(100.0)
    with open_journal(tmp_path, target(), clock) as journal:
        answer(journal, add(journal, REX)[0], "unknown")
        clock.advance(30)
        waited_s = seconds_lost(journal)
    with read_journal(tmp_path, target(), ManualClock(20.0)) as journal:
        assert (waited_s, seconds_lost(journal)) == ([30.0], [20.0])


def test_a_set_waits_for_a_row_on_its_way_or_lost_too_late(tmp_path):
    """Its animal may be the one that is there; rows of other names are settled."""
    clock = ManualClock(100.0)
    with (
        open_journal(tmp_path, target("a.csv"), clock) as a,
        open_journal(tmp_path, target("b.csv"), clock) as b,
    ):
        show(a)
        rows = add(a, REX, MIA)
        for row in rows:
            answer(a, row, "unknown")
        (other,) = add(b, REX._replace(status=None))
        clock.advance(60)
        b.record([], intent=other)
        animals = ((7, REX), (8, MIA._replace(status="sold")))

        on_the_way = show(a, *animals, began=160.0)
        b.record([(other, Outcome("unknown"))])
        too_late = show(a, *animals, began=160.0)
        settled = show(a, *animals, began=220.0)

    assert [outcome.pet_id for outcome in on_the_way.values()] == [8]
    assert too_late == {}
    assert [outcome.pet_id for outcome in settled.values()] == [7, None]


def test_a_row_is_sent_again_when_two_listings_agree_and_anew_each_time(tmp_path):
    """
    Also after one that showed an animal near it, and after it was lost again, be it by
    a kill.
    """
    similar_animal = (7, REX._replace(status=None))
    with open_journal(tmp_path, target(), ManualClock(1_000.0)) as journal:
        show(journal)
        add(journal, REX)
        states = []
        for listings in ([[similar_animal], [], []], [[], []]):
            answer(journal, journal.unsent()[0], "unknown")
            for animals in listings:
                states += [
                    o.state for o in show(journal, *animals, began=1_060.0).values()
                ]
        journal.record([], intent=journal.unsent()[0])
        mark_lost(journal, journal.id)
        (killed,) = show(journal, began=1_060.0).values()

    assert states == ["unknown", "unknown", "unsent", "unknown", "unsent"]
    assert killed.state == "unknown"


def test_a_listing_that_lags_calls_nothing_absent(tmp_path):
    """
    One that lacks an animal whose 201 is not an hour old, also after the machine was
    started anew, and that none showed since; an older one, or one that a listing
    showed, may have left the shop.
    """
    clock = ManualClock(1_000.0)
    with open_journal(tmp_path, target(), clock) as journal:
        show(journal)
        created_row, lost_row = add(journal, REX, MIA)
        answer(journal, created_row, "created", 7)
        answer(journal, lost_row, "unknown")
        clock.advance(3_000)
        lagging = show(journal, began=clock.steady()) | show(journal, began=60.0)
        clock.advance(700)
        an_hour_later = show(journal, began=60.0)
    with open_journal(tmp_path, target("b.csv"), clock) as journal:
        created_row, lost_row = add(journal, REX, MIA)
        answer(journal, created_row, "created", 8)
        answer(journal, lost_row, "unknown")
        clock.advance(100)
        show(journal, (8, REX), began=0.0)
        after_it_was_shown = show(journal, began=clock.steady())

    assert lagging == {}
    assert [outcome.state for outcome in an_hour_later.values()] == ["unknown"]
    assert "unsent" in [outcome.state for outcome in after_it_was_shown.values()]


def test_a_service_that_settles_late_lags_as_long(tmp_path):
    """Where `reconcile_after_s` is longer than an hour, a lag counts for so long."""
    clock = ManualClock(1_000.0)
    with open_journal(tmp_path, target(), clock) as journal:
        show(journal)
        created_row, lost_row = add(journal, REX, MIA)
        answer(journal, lost_row, "unknown")
        clock.advance(100)
        answer(journal, created_row, "created", 7)
        clock.advance(7_150)
        assert show(journal, began=clock.steady(), after_s=7_200.0) == {}


@pytest.mark.parametrize(("harm", "reason"), read_table(__file__, "harms.json"))
def test_a_database_that_cannot_be_trusted_is_refused(tmp_path, harm, reason):
    """With its name, and what to do."""
    with open_journal(tmp_path, target()) as journal:
        add(journal, *(REX._replace(name=f"Rex {n}") for n in range(500)))
    path = tmp_path / f"{target().database_name}.db"
    damage(path, harm)

    refused(
        tmp_path, f"{path.name} .*({reason}).*move it away.*every file counts as new"
    )


def test_only_a_journal_whose_check_failed_is_to_be_moved_away(tmp_path):
    """A healthy one that cannot be used for another reason stays where it is."""
    with open_journal(tmp_path, target()) as journal:
        pass

    with pytest.raises(JournalError, match="run the same call again") as caught:
        journal.read()

    assert "move it away" not in str(caught.value)


@pytest.mark.skipif(
    not hasattr(os, "geteuid"), reason="rights of files as POSIX has them"
)
def test_a_folder_that_can_only_be_read_is_said_as_that():
    """In these words; root, who may write everywhere, tries it as nobody."""
    user = os.geteuid()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o555)
        if user == 0:
            os.seteuid(65534)
        try:
            refused(folder, "its folder cannot be written")
        finally:
            os.seteuid(user)
            folder.chmod(0o700)


def test_a_full_disk_is_said_as_that(tmp_path):
    """Whoever moved the journal away would ask about all that is in it once more."""
    with full_disk():
        refused(tmp_path, "make room on its disk")


def test_a_copy_of_the_database_alone_has_every_intent(tmp_path):
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
