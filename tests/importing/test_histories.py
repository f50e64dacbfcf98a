"""
Random histories of imports against the truth: what a person does to sheets, what gets
lost, and what the staff change, over the real journal and the real rules.
"""

import random
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from histories import World, edit
from inventories import listed_pet
from tables import soak_seeds

from petstore_tools.errors import JournalError
from petstore_tools.importing import lost_rows
from petstore_tools.importing.comparison import answer, compare
from petstore_tools.importing.imports import Target
from petstore_tools.importing.journal import Journal, open_journal
from petstore_tools.importing.lost_rows import (
    mark_dead,
    mark_lost,
    record_decision,
    seconds_lost,
    take_listing,
)
from petstore_tools.importing.reconcile import Outcome, judge

AFTER_S = 60.0
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


class KilledError(Exception):
    """The process is gone."""


def rows_to_send(world, sheet, rows, comparison):
    """
    Return which of the doubtful rows are new, and no other sheet is to send; of equal
    ones, as many.
    """
    claimed = {person for person, name in world.claims if name != sheet.name}
    known = Counter()
    for row, entry in zip(rows, comparison.rows, strict=True):
        is_known = row.person in world.made | claimed
        known[entry.content] += is_known - (not entry.waits)
    to_send = set()
    for position in comparison.doubts:
        content = comparison.rows[position].content
        if known[content] <= 0:
            to_send.add(position)
        known[content] -= 1
    people = {rows[position].person for position in comparison.doubts.keys() - to_send}
    world.mistaken |= people & claimed - world.made
    world.claims |= {(rows[position].person, sheet.name) for position in to_send}
    return to_send


def reconcile(world, journal):
    """Two listings, so that what both do not show is absent."""
    for _ in range(2):
        began = world.clock.steady()
        world.clock.advance(1)
        animals = [(pet_id, *values) for pet_id, values in world.animals.items()]
        take_listing(journal, [[*map(listed_pet, animals)]])
        outcomes, _ = lost_rows.reconcile(journal, began=began, after_s=AFTER_S)
        if not any(
            o.state == "unknown" and not o.candidates for o in outcomes.values()
        ):
            return


def send(world, journal, entry, rows, pending):
    """Send a row; whatever can get lost does."""
    rng = world.rng

    def may_die():
        if world.faulty and rng.random() < 0.04:
            raise KilledError

    may_die()
    journal.record(pending, intent=entry)
    pending.clear()
    may_die()
    yield
    faults = ["unknown", "rejected", "after", "empty", "foreign"] + ["ok"] * 6
    fault = rng.choice(faults) if world.faulty else "ok"
    if fault in ("unknown", "rejected"):
        pending.append((entry, Outcome(fault, detail="no animal")))
        return
    pet_id = world.create(entry.content)
    world.made.add(world.person(rows, entry))
    may_die()
    yield
    if fault == "after":
        pending.append((entry, Outcome("unknown", detail="lost")))
        return
    answered_id = pet_id
    if fault == "foreign":
        answered_id = rng.choice(world.answered_ids or [pet_id])
    if fault == "ok":
        world.answered_ids.append(pet_id)
    name, category_id, status = world.animals[pet_id]
    body = f'{{"id":{answered_id},"name":"{name}","categoryId":{category_id}'
    body = "" if fault == "empty" else f'{body},"status":"{status}"}}'
    pending.append((entry, judge(201, body.encode(), entry)))


def run(world, sheet):
    """Import a sheet, as a program does; each step may be its last."""
    target = Target("sandbox", "http://x/v1", Path(sheet.name))
    with open_journal(world.folder, target, world.clock) as journal:
        if target.path not in world.journals:
            world.journals[target.path] = Journal(world.folder, target, world.clock)
        mark_lost(journal, journal.id)
        mark_dead(journal)
        rows = sheet.part or list(sheet.rows)
        file = sheet.read(rows, world.way)
        yield
        for _ in range(6):
            lost_s = seconds_lost(journal)
            if min(lost_s, default=AFTER_S) >= AFTER_S:
                break
            world.clock.advance(30)
            yield
        reconcile(world, journal)
        yield
        if added_rows := (yield from add_rows(world, journal, sheet, rows, file)):
            yield from send_rows(world, journal, added_rows)


def add_rows(world, journal, sheet, rows, file):
    """
    Ask about doubtful rows until the answer is for all of them, and write the rows to
    the journal; return them, none where the run ended with a question.
    """
    said = sheet.answer
    sheet.answer = "ask"
    to_send = set()
    while True:
        with journal.transaction():
            read, comparison = compare(journal, file, complete=True)
            sent_rows = [rows[int(row.number) - 2] for row in read.rows_to_send]
            said = answer(journal, comparison, said)
            if said != "ask" or not comparison.doubts:
                journal.add_file(comparison.with_answer(said), compared=True)
                break
        to_send = rows_to_send(world, sheet, sent_rows, comparison)
        is_new = to_send == {*comparison.doubts}
        said = "send" if is_new else "skip"
        # an error shows them, and the next run has the answer
        if world.rng.random() < 0.5 and (is_new or not to_send):
            sheet.answer = said
            return []
        yield  # a person reads
        yield
    if said == "skip":
        for position in to_send & comparison.doubts.keys():
            with suppress(JournalError):  # of a key that was used again
                record_decision(journal, comparison.rows[position].number, None)
    world.take_version(sheet, sent_rows)
    left_out = comparison.doubts.keys() - to_send if said == "skip" else set()
    world.claims |= {
        (row.person, sheet.name)
        for position, row in enumerate(sent_rows)
        if comparison.rows[position].waits and position not in left_out
    }
    sheet.part = []
    return sent_rows


def send_rows(world, journal, rows):
    """Send what is unsent, and find out what became of what is unknown."""
    for _ in range(3):
        pending = []
        for entry in journal.unsent():
            yield from send(world, journal, entry, rows, pending)
        journal.record(pending)
        yield
        if not any(entry.state == "unknown" for entry in journal.read()):
            return
        world.clock.advance(AFTER_S + 1)
        yield
        reconcile(world, journal)
        yield


def send_left_out(world, sheet):
    """Mark the rows to be sent that were left out, and whose animal was never made."""
    journal = world.journals.get(Path(sheet.name))
    for entry in journal.read() if journal else ():
        if entry.present and entry.state == "skipped":
            people = [
                row.person
                for number, row in enumerate(sheet.before, 2)
                if number == entry.number
            ]
            if not {*people} & (world.made | world.mistaken):
                record_decision(journal, entry.number, None)


def play(seed, folder):
    """Play a history: edits, and runs of up to four imports beside each other."""
    rng = random.Random(seed)
    world = World(rng, folder)
    running = {}
    failures = {}

    def go_on(name):
        try:
            next(running[name])
        except (StopIteration, KilledError):
            running.pop(name).close()

    for _ in range(rng.randint(5, 60)):
        if rng.random() < 0.4 and not running:
            edit(world)
        idle = [sheet for sheet in world.sheets if sheet.name not in running]
        if idle and rng.random() < (0.2 if running else 0.5):
            sheet = rng.choice(idle)
            running[sheet.name] = run(world, sheet)
        for _ in range(rng.randint(1, 30)):
            if running:
                go_on(rng.choice(list(running)))
        failures |= world.failures(is_over=False)
    world.faulty = False
    for sheet in [None, *world.sheets * 4]:
        if sheet:
            send_left_out(world, sheet)
            running[sheet.name] = run(world, sheet)
        while running:
            go_on(rng.choice(list(running)))
    failures |= world.failures(is_over=True)
    for journal in world.journals.values():
        journal.close()
    return failures


@pytest.mark.parametrize("seeds", soak_seeds(5, 20, total=10_000))
def test_a_history_loses_and_doubles_nothing(seeds):
    """Whatever happens, a row has one animal, or a person is asked; or took a risk."""
    for seed in seeds:
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
            assert all(play(seed, Path(folder)).values()), seed
