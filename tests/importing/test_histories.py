"""
Random histories of imports against the truth: what a person does to sheets, what gets
lost, and what the staff change, over the real journal and the real rules.
"""

from __future__ import annotations

import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from math import inf
from pathlib import Path

import pytest
from histories import Sheet, SheetRow, World, edit, new_rows

from petstore_tools.importing import lost_rows
from petstore_tools.importing.comparison import answer, compare_rows
from petstore_tools.importing.doubtful import Doubt
from petstore_tools.importing.entries import Entry
from petstore_tools.importing.imports import Target
from petstore_tools.importing.journal import Journal, open_journal
from petstore_tools.importing.lost_rows import (
    mark_dead,
    mark_lost,
    seconds_lost,
    take_listing,
)
from petstore_tools.importing.reconcile import Outcome, judge
from petstore_tools.importing.values import PetValues

AFTER_S = 60.0
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
SEEDS = 50  # of a part: four parts are played each time, all of them with `-m soak`
PARTS = [
    pytest.param(part, marks=[pytest.mark.soak] * (part >= 4), id=f"part{part:03}")
    for part in range(200)
]
Pending = list[tuple[Entry, Outcome]]


class KilledError(Exception):
    """The process is gone."""


def agree(
    world: World, sheet: Sheet, doubts: dict[int, Doubt], rows: list[SheetRow]
) -> bool:
    """
    Return whether the person lets doubtful rows be sent: only where none of them
    exists, nor a row that equals one of them, since nobody can tell which of these is
    asked about. What is sent then, with what was agreed before and waits, is agreed,
    and no animal more.
    """
    values = {rows[index].values for index in doubts}
    people = Counter(row.person for row in rows if row.values in values)
    row_counts = Counter(row.person for row in rows)
    if any(world.animals_of(person) >= row_counts[person] for person in people):
        return False
    sheet.agreed += people
    entries = [entry for entry in world.entries() if entry.waits and entry.answered]
    waiting = Counter(world.owners[entry.entry_id] for entry in entries)
    for other in world.sheets:
        waiting += other.agreed
    for person in people:
        animals = world.animals_of(person) + waiting[person]
        surplus = animals - world.row_counts[person]
        world.agreed[person] = max(world.agreed[person], surplus)
    return True


def check(world: World) -> None:
    """
    As many animals as rows that were created, of those that the service makes equal.
    """
    animals: Counter[tuple[str, int]] = Counter()
    created: Counter[tuple[str, int]] = Counter()
    undecided: Counter[tuple[str, int]] = Counter()
    entries = {entry.entry_id: entry for entry in world.entries()}
    for key in world.creators.values():
        animals[world.stored(entries[key].content)[:2]] += 1
    for entry in entries.values():
        group = world.stored(entry.content)[:2]
        created[group] += entry.state == "created"
        undecided[group] += entry.state in ("unknown", "sending", "skipped")
    for group in created | animals:
        assert created[group] <= animals[group], f"lost {group}"
        assert animals[group] <= created[group] + undecided[group], f"doubled {group}"


def owners(world: World, entries: list[Entry], rows: list[SheetRow]) -> dict[int, int]:
    """
    Say whose row each entry is; equal rows may change places, as nobody can tell them
    apart.
    """
    creators = set(world.creators.values())
    entries = [entry for entry in entries if entry.present]
    elsewhere = creators - {entry.entry_id for entry in entries}
    animals = Counter(
        world.owners[key] for key in world.creators.values() if key in elsewhere
    )
    people: dict[PetValues, list[int]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: animals[row.person]):
        people[row.values].append(row.person)

    def order(entry: Entry) -> tuple[bool, ...]:
        is_agreed = bool(entry.waits and entry.answered)
        return not is_agreed, entry.entry_id not in creators, entry.state == "skipped"

    persons = {}
    for entry in sorted(entries, key=order):
        candidates = people[entry.content]
        agreed = [person for person in candidates if person in world.agreed]
        is_agreed = agreed and entry.waits and entry.answered
        person = agreed[0] if is_agreed else candidates[0]
        candidates.remove(person)
        persons[entry.entry_id] = person
    return persons


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
        world.exchange()
        if not any(o.state == "unknown" and not o.candidates for o in outcomes):
            return


def send(
    world: World, journal: Journal, entry: Entry, pending: Pending
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
    faults = ["before", "after", "empty", "foreign"] + ["ok"] * 6
    fault = rng.choice(faults) if world.faulty else "ok"
    unknown = Outcome("unknown", detail="lost")
    if fault == "before":
        pending.append((entry, unknown))
        return
    pet_id = world.create(entry)
    count_doubled(world, journal, entry)
    may_die()
    yield
    if fault == "after":
        pending.append((entry, unknown))
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


def count_doubled(world: World, journal: Journal, entry: Entry) -> None:
    """Note a person who has more animals now than rows, and than was agreed to."""
    # of equal rows, nobody can tell whose each is
    people = {world.owners[entry.entry_id]}
    for row in journal.read():
        if row.present and row.content == entry.content:
            people.add(world.owners[row.entry_id])
    most = sum(world.row_counts[person] + world.agreed[person] for person in people)
    if sum(map(world.animals_of, people)) > most:
        world.doubled.append(world.owners[entry.entry_id])


def run(world: World, sheet: Sheet) -> Iterator[None]:
    """Import a sheet, as a program does; each step may be its last."""
    target = Target("sandbox", "http://x/v1", Path(sheet.name))
    with open_journal(world.folder, target, world.clock) as journal:
        if target.path not in world.journals:
            world.journals[target.path] = Journal(world.folder, target, world.clock)
        mark_lost(journal, journal.id)
        mark_dead(journal)
        rows = sheet.part or list(sheet.rows)
        yield
        journal.take_file(new_rows(row.values for row in rows))
        for _ in range(6):
            if min(seconds_lost(journal, with_equal=True), default=AFTER_S) >= AFTER_S:
                break
            world.clock.advance(30)
            yield
        reconcile(world, journal)
        yield
        if (yield from add_rows(world, journal, sheet, rows)):
            yield from send_rows(world, journal, sheet)


def add_rows(
    world: World, journal: Journal, sheet: Sheet, rows: list[SheetRow]
) -> Iterator[None]:
    """Compare the rows, ask about the doubtful ones, and write them to the journal."""
    sheet_rows = new_rows(row.values for row in rows)
    comparison = compare_rows(journal, journal.read(), sheet_rows)
    doubts = comparison.doubts
    answers = answer(journal, comparison, sheet.answer)
    asked_doubts = {n: doubt for n, doubt in doubts.items() if answers[n] == "ask"}
    sheet.answer = "ask"
    if asked_doubts:
        is_agreed = agree(world, sheet, asked_doubts, rows)
        # an error shows them, and the next run has the answer
        if world.rng.random() < 0.5:
            sheet.answer = "send" if is_agreed else "skip"
            return False
        yield  # a person reads
        yield
        answers |= dict.fromkeys(asked_doubts, "send" if is_agreed else "skip")
    journal.add_file(comparison.with_answers(answers), compared=True)
    world.assign(owners(world, journal.read(), rows))
    sheet.part = []
    sheet.since = ""
    for memory in (sheet.agreed, sheet.retired, sheet.added):
        memory.clear()
    return True


def send_rows(world: World, journal: Journal, sheet: Sheet) -> Iterator[None]:
    """Send what is unsent, and find out what became of what is unknown."""
    for _ in range(3):
        pending: Pending = []
        for entry in journal.unsent():
            yield from send(world, journal, entry, pending)
        journal.record(pending)
        yield
        if not any(entry.state == "unknown" for entry in journal.read()):
            sheet.is_settled = not journal.counts()["unsent"]
            sheet.edits = inf
            return
        world.clock.advance(AFTER_S + 1)
        yield
        reconcile(world, journal)
        yield


def begin(seed: int, folder: Path) -> World:
    """Return a world of one sheet, whose service may change names."""
    rng = random.Random(seed)
    world = World(rng, folder)
    world.changes = rng.choice(["", "", "", "upper", "cut"])
    if world.changes == "cut":  # until it has shown that, nobody can know
        world.faulty = False
        long_row = SheetRow(world.add_person(), PetValues("long name", 9, None))
        for _ in run(world, Sheet("shown", [long_row])):
            pass
    count = rng.randint(1, 8)
    rows = [SheetRow(world.add_person(), world.values()) for _ in range(count)]
    world.sheets.append(Sheet("first", rows))
    return world


def play(seed: int, folder: Path) -> World:
    """Play a history: edits, and runs of up to four imports beside each other."""
    world = begin(seed, folder)
    rng = world.rng
    running: dict[str, Iterator[None]] = {}
    steps = rng.randint(5, 60)
    for step in range(steps + 400):
        world.faulty = step < steps
        if world.faulty and rng.random() < 0.4 and not running:
            edit(world)
        idle = [sheet for sheet in world.sheets if sheet.name not in running]
        if idle and rng.random() < (0.2 if running else 0.5) and len(running) < 4:
            sheet = rng.choice(idle)
            running[sheet.name] = run(world, sheet)
        for _ in range(rng.randint(1, 30)):
            if running:
                name = rng.choice(list(running))
                try:
                    next(running[name])
                except (StopIteration, KilledError):
                    running.pop(name).close()
        if not running:
            check(world)
        if not world.faulty and not running and step > steps + 12:
            break
    for resource in (*running.values(), *world.journals.values()):
        resource.close()
    return world


@pytest.mark.case("P32", "P35", "P61")
@pytest.mark.parametrize("part", PARTS)
def test_a_history_loses_and_doubles_nothing(part: int) -> None:
    """Whatever happens, a row has one animal, or a person is asked."""
    failures = defaultdict(list)
    for seed in range(part * SEEDS, (part + 1) * SEEDS):
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
            try:
                doubled = play(seed, Path(folder)).doubled
            except AssertionError as error:
                failures[str(error).split()[0]].append((seed, str(error)))
                continue
        if doubled:
            failures["doubled"].append((seed, str(doubled)))
    assert not failures, {kind: places[:5] for kind, places in failures.items()}
