"""
Random histories of imports against the truth: what a person does to sheets, what gets
lost, and what the staff change, over the real journal and the real rules.
"""

from __future__ import annotations

import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

import pytest

from petstore_tools.clock import ManualClock
from petstore_tools.importing.doubtful import Doubt, Entry
from petstore_tools.importing.imports import Target
from petstore_tools.importing.journal import Journal, open_journal
from petstore_tools.importing.options import Doubtful
from petstore_tools.importing.reconcile import Outcome, judge
from petstore_tools.importing.values import PetValues

NAMES = [
    f"{a}{b}" for a in ("rex", "mia", "max", "ida") for b in ("", " two", " three")
]
STATUSES = ("available", "sold", None)
AFTER_S = 60.0
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
SEEDS = 50  # of a part: four parts are played each time, all of them with `-m soak`
PARTS = [
    pytest.param(n, marks=[pytest.mark.soak] * (n >= 4), id=f"part{n:03}")
    for n in range(200)
]


@dataclass
class Cell:
    """
    A row of a sheet: who it is for the person who edits it (a duplicate is the same),
    and its values.
    """

    who: int
    values: PetValues


@dataclass
class Sheet:
    """
    A file.

    Attributes:
        since: What was done to rows since its last run: "renamed" or "moved", never
            both, since who renames and moves a row at once has a new row.
        is_settled: Its last run ended, and nothing was done since.
        retired: Names that rows bore before they were renamed since, and values that
            they had before they were edited: no other row takes these at once.
        added: Names of new rows, and values that rows were given: no row that has these
            is renamed.
        edits: How many rows may still be edited: of a copy one, until it was imported.
        part: Rows that the next run has in place of all.
        answer: What the next run says about the rows that the last one asked about.
        agreed: Whose rows, and how many, it then sends.
    """

    name: str
    cells: list[Cell]
    since: str = ""
    is_settled: bool = False
    edits: float = inf
    retired: set[object] = field(default_factory=set)
    added: set[object] = field(default_factory=set)
    part: list[Cell] = field(default_factory=list)
    answer: Doubtful = "ask"
    agreed: Counter[int] = field(default_factory=Counter)


@dataclass
class World:
    """The truth: the service, the sheets, and the time."""

    rng: random.Random
    folder: Path
    faulty: bool = True
    clock: ManualClock = field(default_factory=lambda: ManualClock(1_000.0))
    animals: dict[int, PetValues] = field(default_factory=dict)
    made_by: dict[int, int] = field(default_factory=dict)
    whose: dict[int, int] = field(default_factory=dict)
    twice: list[int] = field(default_factory=list)
    named: list[int] = field(default_factory=list)
    agreed: Counter[int] = field(default_factory=Counter)
    sheets: list[Sheet] = field(default_factory=list)
    journals: dict[Path, Journal] = field(default_factory=dict)
    people: int = 0
    rows: Counter[int] = field(default_factory=Counter)
    questions: int = 0
    needless: int = 0
    changes: str = ""

    def made_for(self, who: int) -> int:
        """Count the animals made for a row of a person."""
        return sum(self.whose[key] == who for key in self.made_by.values())

    def own(self, owners: dict[int, int]) -> None:
        """
        Take who each row is now; who edits a row into one that was sent has its animal,
        too.
        """
        for key in set(self.made_by.values()) & owners.keys():
            self.rows[owners[key]] += self.whose[key] != owners[key]
        self.whose |= owners

    def exchange(self, entries: list[Entry]) -> None:
        """
        Let rows that the service makes equal exchange their animals: nobody can tell.
        """
        owned = {entry.pet_id for entry in entries}
        for entry in entries:
            key = self.made_by.get(entry.pet_id or 0)
            if key not in (None, entry.key):
                free = [
                    p
                    for p, k in self.made_by.items()
                    if k == entry.key and p not in owned
                ]
                self.made_by[entry.pet_id or 0] = entry.key
                if free:
                    self.made_by[free[0]] = key or 0

    def someone(self) -> int:
        self.people += 1
        self.rows[self.people] = 1
        return self.people

    def values(self, without: Collection[object] = ()) -> PetValues:
        for _ in range(100):
            name = self.rng.choice(NAMES)
            status = self.rng.choice(STATUSES)
            values = PetValues(name, self.rng.randint(1, 2), status)
            if not {name, values} & set(without):
                break
        return values

    def stored(self, values: PetValues) -> PetValues:
        """Return what the service makes of values."""
        name, category_id, status = values
        name = {"cut": name[:3], "upper": name.upper()}.get(self.changes, name)
        return PetValues(name, category_id, status or "available")

    def create(self, values: PetValues) -> int:
        pet_id = max(self.animals, default=0) + 1
        self.animals[pet_id] = self.stored(values)
        return pet_id


ACTIONS = (
    "append insert duplicate status status name all delete shuffle swap rename copy"
    " restate part staff"
).split()


class KilledError(Exception):
    """The process is gone."""


def edit(world: World) -> None:  # noqa: C901 - a branch for each action
    """Do one thing that a person does to a sheet, or the staff to an animal."""
    rng = world.rng
    copies = [sheet for sheet in world.sheets if sheet.edits < inf]
    sheet = rng.choice(copies or world.sheets)
    cells = sheet.cells
    at = rng.randrange(len(cells)) if cells else 0
    what = rng.choice(ACTIONS)
    kind = {
        "name": "renamed",
        "all": "renamed",
        "shuffle": "moved",
        "swap": "moved",
    }.get(what, "")
    if sheet.part or (kind and sheet.since not in ("", kind)):
        return
    old: set[object] = {cells[at].values} if cells else set()
    if kind == "renamed" and cells:
        old.add(cells[at].values.name)
    if what in ("status", "name", "all") and old & sheet.added:
        return
    if what in ("status", "name", "all", "delete"):
        if not sheet.edits:
            return
        sheet.edits -= 1
        sheet.retired |= old
    elif what in ("rename", "copy", "restate", "part") and not (
        sheet.is_settled and len(cells) > 2
    ):
        return
    if what == "part":
        sheet.part = sorted(
            rng.sample(cells, rng.randint(1, len(cells) - 1)), key=cells.index
        )
        return
    new = world.values(sheet.retired)
    if what in ("append", "insert", "name", "all"):
        sheet.added |= {new.name, new}
    elif what == "duplicate" and cells:
        sheet.added.add(cells[at].values.name)
    sheet.since = kind or sheet.since
    sheet.is_settled = False
    if what == "append" or not cells:
        cells.append(Cell(world.someone(), new))
    elif what == "insert":
        cells.insert(at, Cell(world.someone(), new))
    elif what in ("status", "name"):
        edited = cells[at].values._replace(**{what: getattr(new, what)})
        if edited not in sheet.retired:
            sheet.added.add(edited)
            cells[at] = Cell(cells[at].who, edited)
    elif what == "all":
        cells[at] = Cell(cells[at].who, new)
    elif what == "delete":
        del cells[at]
    elif what == "shuffle":
        rng.shuffle(cells)
    elif what == "swap":
        other = rng.randrange(len(cells))
        cells[at], cells[other] = cells[other], cells[at]
    elif (
        what == "duplicate"
        and not {*cells[at].values, cells[at].values} & sheet.retired
    ):
        world.rows[cells[at].who] += 1
        cells.insert(rng.randrange(len(cells)), Cell(cells[at].who, cells[at].values))
    elif what == "rename":
        sheet.name = f"sheet{rng.random()}"
        sheet.edits = 1
    elif what == "copy" and len(world.sheets) < 4:
        copied = [Cell(cell.who, cell.values) for cell in cells]
        world.sheets.append(Sheet(f"copy{rng.random()}", copied, edits=1))
    elif what == "restate" and len(world.sheets) < 4:
        turned = dict(zip(STATUSES, STATUSES[1:] + STATUSES[:1], strict=True))
        copied = [
            Cell(cell.who, cell.values._replace(status=turned[cell.values.status]))
            for cell in cells
        ]
        retired: set[object] = {cell.values for cell in cells}
        world.sheets.append(
            Sheet(f"copy{rng.random()}", copied, edits=0, retired=retired)
        )
    elif what == "staff" and world.animals:
        pet_id = rng.choice(list(world.animals))
        if pet_id not in {entry.pet_id for entry in counted(world)} and any(
            cell.values.status is None for sheet in world.sheets for cell in sheet.cells
        ):  # beside a row without a status, nobody can tell whose animal it was
            return
        world.animals[pet_id] = world.animals[pet_id]._replace(
            status=rng.choice(STATUSES[:2])
        )


def answer(
    world: World, sheet: Sheet, shown: dict[int, Doubt], cells: list[Cell]
) -> bool:
    """
    Return whether the person lets doubtful rows be sent: only where none of them
    exists, nor a row that equals one of them, since nobody can tell which of these is
    asked about. What is sent then, with what was agreed before and waits, is agreed,
    and no animal more.
    """
    world.questions += 1
    values = {cells[at].values for at in shown}
    people = Counter(cell.who for cell in cells if cell.values in values)
    has = Counter(cell.who for cell in cells)
    exists = any(world.made_for(who) >= has[who] for who in people)
    world.needless += not exists
    if not exists:
        sheet.agreed += people
        waiting = Counter(
            world.whose[e.key] for e in counted(world) if e.waits and e.answered
        )
        for agreed in (other.agreed for other in world.sheets):
            waiting += agreed
        for who in people:
            surplus = world.made_for(who) + waiting[who] - world.rows[who]
            world.agreed[who] = max(world.agreed[who], surplus)
    return not exists


def counted(world: World) -> list[Entry]:
    """Return the rows of all imports."""
    return [entry for journal in world.journals.values() for entry in journal.entries()]


def check(world: World) -> None:
    """
    As many animals as rows that were created, of those that the service makes equal.
    """
    made: Counter[tuple[str, int]] = Counter()
    created: Counter[tuple[str, int]] = Counter()
    may_be: Counter[tuple[str, int]] = Counter()
    rows = counted(world)
    contents = {entry.key: entry.content for entry in rows}
    for key in world.made_by.values():
        made[world.stored(contents[key])[:2]] += 1
    for entry in rows:
        group = world.stored(entry.content)[:2]
        created[group] += entry.state == "created"
        may_be[group] += entry.state in ("unknown", "sending", "skipped")
    for group in created | made:
        assert created[group] <= made[group], f"lost {group}"
        assert made[group] <= created[group] + may_be[group], f"doubled {group}"


def owners(world: World, entries: list[Entry], cells: list[Cell]) -> dict[int, int]:
    """
    Say whose row each entry is; equal rows may change places, as nobody can tell them
    apart.
    """
    made = set(world.made_by.values())
    rows = sorted(
        (entry for entry in entries if entry.present),
        key=lambda e: (e.key not in made, e.state == "skipped"),
    )
    ours = {entry.key for entry in entries if entry.present}
    elsewhere = Counter(
        world.whose[key] for key in world.made_by.values() if key not in ours
    )
    people = sorted(cells, key=lambda cell: elsewhere[cell.who])
    waiting: dict[PetValues, list[int]] = defaultdict(list)
    for cell in people:
        waiting[cell.values].append(cell.who)
    found = {}
    for entry in sorted(rows, key=lambda e: not (e.waits and e.answered)):
        whose = waiting[entry.content]
        agreed = [
            who
            for who in whose
            if who in world.agreed and entry.waits and entry.answered
        ]
        found[entry.key] = whose.pop(whose.index(agreed[0]) if agreed else 0)
    return found


def listing(world: World, journal: Journal) -> float:
    """List the inventory; return when that began."""
    began = world.clock.steady()
    world.clock.advance(1)
    rows = [
        {"id": pet_id, "name": name, "categoryId": category_id, "status": status}
        for pet_id, (name, category_id, status) in world.animals.items()
    ]
    journal.take_listing([rows])
    return began


def reconcile(world: World, journal: Journal) -> None:
    """Two listings, so that what both do not show is absent."""
    for _ in range(2):
        found = journal.reconcile(began=listing(world, journal), after_s=AFTER_S)
        world.exchange(counted(world))
        if not any(o.state == "unknown" and not o.candidates for o in found.values()):
            return


def send(
    world: World, journal: Journal, entry: Entry, pending: list[tuple[Entry, Outcome]]
) -> Iterator[None]:
    """Send a row; whatever can get lost does."""
    rng = world.rng
    who = world.whose[entry.key]

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
    fate = (
        rng.choice(["before", "after", "empty", "foreign"] + ["ok"] * 6)
        if world.faulty
        else "ok"
    )
    if fate == "before":
        pending.append((entry, Outcome("unknown", detail="lost")))
        return
    pet_id = world.create(entry.content)
    world.made_by[pet_id] = entry.key
    equal = [
        row for row in journal.entries() if row.present and row.content == entry.content
    ]
    # nobody can tell whose each is
    people = {who, *(world.whose[row.key] for row in equal)}
    if sum(map(world.made_for, people)) > sum(
        world.rows[p] + world.agreed[p] for p in people
    ):
        world.twice.append(who)
    may_die()
    yield
    shown = world.animals[pet_id]
    body = f'{{"id":{pet_id},"name":"{shown.name}","categoryId":{shown.category_id}'
    body += f',"status":"{shown.status}"}}'
    if fate == "foreign":
        body = body.replace(
            f'"id":{pet_id},', f'"id":{rng.choice(world.named or [pet_id])},'
        )
    if fate == "after":
        pending.append((entry, Outcome("unknown", detail="lost")))
    else:
        answered = b"" if fate == "empty" else body.encode()
        world.named += [pet_id] * (fate == "ok")
        pending.append((entry, judge(201, answered, entry)))


def run(world: World, sheet: Sheet) -> Iterator[None]:
    """Import a sheet, as a program does; each step may be its last."""
    target = Target("sandbox", "http://x/v1", Path(sheet.name))
    with open_journal(world.folder, target, world.clock) as journal:
        if target.path not in world.journals:
            world.journals[target.path] = Journal(world.folder, target, world.clock)
        journal.mark_lost(journal.id)
        journal.mark_dead()
        cells = sheet.part or list(sheet.cells)
        contents = [cell.values for cell in cells]
        yield
        journal.compare(journal.entries(), contents)
        for _ in range(6):
            if min(journal.lost_s(with_equal=True), default=AFTER_S) >= AFTER_S:
                break
            world.clock.advance(30)
            yield
        reconcile(world, journal)
        yield
        entries = journal.entries()
        known, _, doubts = journal.compare(entries, contents)
        answers = journal.answer(contents, doubts, sheet.answer, bad_rows=0)
        shown = {at: doubt for at, doubt in doubts.items() if answers[at] == "ask"}
        if shown:
            said: Doubtful = "send" if answer(world, sheet, shown, cells) else "skip"
            sheet.answer = said
            # an error shows them, and the next run has the answer
            if world.rng.random() < 0.5:
                return
            yield  # a person reads
            yield
            answers |= dict.fromkeys(shown, said)
        sheet.answer = "ask"
        journal.add_file(
            list(range(2, len(cells) + 2)),
            contents,
            known,
            doubts,
            answers=answers,
            compared=True,
            bad_rows=0,
        )
        world.own(owners(world, journal.entries(), cells))
        sheet.part = []
        sheet.agreed.clear()
        sheet.since = ""
        sheet.retired.clear()
        sheet.added.clear()
        for _ in range(3):
            pending: list[tuple[Entry, Outcome]] = []
            for entry in journal.unsent():
                yield from send(world, journal, entry, pending)
            journal.record(pending)
            yield
            if not any(entry.state == "unknown" for entry in journal.entries()):
                sheet.is_settled = not journal.counts()["unsent"]
                sheet.edits = inf
                return
            world.clock.advance(AFTER_S + 1)
            yield
            reconcile(world, journal)
            yield


def play(seed: int, folder: Path) -> World:
    """Play a history: edits, and runs of up to four imports beside each other."""
    rng = random.Random(seed)
    world = World(rng, folder)
    world.changes = rng.choice(["", "", "", "upper", "cut"])
    if world.changes == "cut":  # until it has shown that, nobody can know
        world.faulty = False
        for _ in run(
            world,
            Sheet("shown", [Cell(world.someone(), PetValues("long name", 9, None))]),
        ):
            pass
    cells = [Cell(world.someone(), world.values()) for _ in range(rng.randint(1, 8))]
    world.sheets.append(Sheet("first", cells))
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
    for opened in (*running.values(), *world.journals.values()):
        opened.close()
    return world


@pytest.mark.case("P32", "P35", "P61")
@pytest.mark.parametrize("part", PARTS)
def test_a_history_loses_and_doubles_nothing(part: int) -> None:
    """Whatever happens, a row has one animal, or a person is asked."""
    bad = defaultdict(list)
    for seed in range(part * SEEDS, (part + 1) * SEEDS):
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
            try:
                world = play(seed, Path(folder))
            except AssertionError as error:
                bad[str(error).split()[0]].append((seed, str(error)))
                continue
            if world.twice:
                bad["twice"].append((seed, world.twice))
    assert not bad, {kind: (len(found), found[:5]) for kind, found in bad.items()}
