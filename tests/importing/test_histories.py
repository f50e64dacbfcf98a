"""
Random histories of imports against the truth: what a person does to sheets, what gets
lost, and what the staff change, over the real journal and the real rules.
"""

import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from histories import Row, Sheet, World, edit
from tables import soak_parts

from petstore_tools.importing import lost_rows
from petstore_tools.importing.comparison import Comparison, answer, compare
from petstore_tools.importing.entries import Entry
from petstore_tools.importing.imports import Target
from petstore_tools.importing.journal import Journal, open_journal
from petstore_tools.importing.lost_rows import (
    mark_dead,
    mark_lost,
    seconds_lost,
    take_listing,
)
from petstore_tools.importing.options import Doubtful
from petstore_tools.importing.reconcile import Outcome, judge

AFTER_S = 60.0
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
SEEDS = 50  # of a part
Pending = list[tuple[Entry, Outcome]]


class KilledError(Exception):
    """The process is gone."""


def rows_to_send(
    world: World,
    sheet: Sheet,
    rows: list[Row],
    comparison: Comparison,
    answers: dict[int, Doubtful],
) -> set[int]:
    """
    Return which of the rows that are asked about are new, and no other sheet is to
    send; of equal ones, as many.
    """
    claimed = {person for person, name in world.claims if name != sheet.name}
    known: Counter[object] = Counter()
    for row, entry in zip(rows, comparison.rows, strict=True):
        is_known = row.person in world.made | claimed
        known[entry.content] += is_known - (not entry.waits)
    asked = {position for position, said in answers.items() if said == "ask"}
    to_send = set()
    for position in sorted(answers, key=lambda position: (position in asked, position)):
        content = comparison.rows[position].content
        if position in asked and known[content] <= 0:
            to_send.add(position)
        known[content] -= answers[position] != "send"
    people = {rows[position].person for position in asked - to_send}
    world.mistaken |= people & claimed - world.made
    world.claims |= {(rows[position].person, sheet.name) for position in to_send}
    return to_send


def reconcile(world: World, journal: Journal) -> None:
    """Two listings, so that what both do not show is absent."""
    for _ in range(2):
        began = world.clock.steady()
        world.clock.advance(1)
        listing = [
            {"id": pet_id, "name": name, "categoryId": category_id, "status": status}
            for pet_id, (name, category_id, status) in world.animals.items()
        ]
        take_listing(journal, [listing])
        outcomes = lost_rows.reconcile(journal, began=began, after_s=AFTER_S).values()
        if not any(o.state == "unknown" and not o.candidates for o in outcomes):
            return


def send(
    world: World, journal: Journal, entry: Entry, rows: list[Row], pending: Pending
) -> Iterator[None]:
    """Send a row; whatever can get lost does."""
    rng = world.rng

    def may_die() -> None:
        if world.faulty and rng.random() < 0.04:
            raise KilledError

    may_die()
    may_leave = journal.record(pending, intent=entry)
    pending.clear()
    if not may_leave:
        return
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


def run(world: World, sheet: Sheet) -> Iterator[None]:
    """Import a sheet, as a program does; each step may be its last."""
    target = Target("sandbox", "http://x/v1", Path(sheet.name))
    with open_journal(world.folder, target, world.clock) as journal:
        if target.path not in world.journals:
            world.journals[target.path] = Journal(world.folder, target, world.clock)
        mark_lost(journal, journal.id)
        mark_dead(journal)
        rows = sheet.part or list(sheet.rows)
        file = sheet.read(rows, world.way)
        journal.key_title = file.layout.key_title
        yield
        compare(journal, file)
        for _ in range(6):
            if min(seconds_lost(journal, with_equal=True), default=AFTER_S) >= AFTER_S:
                break
            world.clock.advance(30)
            yield
        reconcile(world, journal)
        yield
        file, comparison = compare(journal, file, complete=True)
        rows = [rows[int(row.number) - 2] for row in file.rows_to_send]
        if (yield from add_rows(world, journal, sheet, rows, comparison)):
            yield from send_rows(world, journal, rows)


def add_rows(
    world: World,
    journal: Journal,
    sheet: Sheet,
    rows: list[Row],
    comparison: Comparison,
) -> Iterator[None]:
    """Ask about doubtful rows, and write all to the journal."""
    answers = answer(journal, comparison, sheet.answer)
    sheet.answer = "ask"
    asked = {position for position, said in answers.items() if said == "ask"}
    new = set()
    if asked:
        new = rows_to_send(world, sheet, rows, comparison, answers)
        # an error shows them, and the next run has the answer
        if world.rng.random() < 0.5 and new in (asked, set()):
            sheet.answer = "send" if new else "skip"
            return False
        yield  # a person reads
        yield
        answers |= dict.fromkeys(asked, "skip") | dict.fromkeys(new, "send")
    journal.add_file(comparison.with_answers(answers), compared=True)
    world.take_version(sheet, rows)
    world.claims |= {
        (row.person, sheet.name)
        for position, row in enumerate(rows)
        if comparison.rows[position].waits and answers.get(position) != "skip"
    }
    sheet.part = []
    return True


def send_rows(world: World, journal: Journal, rows: list[Row]) -> Iterator[None]:
    """Send what is unsent, and find out what became of what is unknown."""
    for _ in range(3):
        pending: Pending = []
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


def play(seed: int, folder: Path) -> dict[str, str]:
    """Play a history: edits, and runs of up to four imports beside each other."""
    rng = random.Random(seed)
    world = World(rng, folder)
    running: dict[str, Iterator[None]] = {}
    failures: dict[str, str] = {}

    def go_on(name: str) -> None:
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
            running[sheet.name] = run(world, sheet)
        while running:
            go_on(rng.choice(list(running)))
    failures |= world.failures(is_over=True)
    for journal in world.journals.values():
        journal.close()
    return failures


@pytest.mark.parametrize("part", soak_parts(200))
def test_a_history_loses_and_doubles_nothing(part: int) -> None:
    """Whatever happens, a row has one animal, or a person is asked; or took a risk."""
    for seed in range(part * SEEDS, (part + 1) * SEEDS):
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
            assert all(play(seed, Path(folder)).values()), seed
