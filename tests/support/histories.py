"""
The truth of a random history of imports: the sheets, what people do to them, the
animals that a service has, and which row made each.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

from petstore_tools.clock import ManualClock
from petstore_tools.importing.entries import Entry
from petstore_tools.importing.journal import Journal
from petstore_tools.importing.options import Doubtful
from petstore_tools.importing.values import PetValues

NAMES = [
    f"{name}{suffix}"
    for name in ("rex", "mia", "max", "ida")
    for suffix in ("", " two", " three")
]
STATUSES = ("available", "sold", None)
NEXT_STATUS = dict(zip(STATUSES, STATUSES[1:] + STATUSES[:1], strict=True))
ACTIONS = (
    "append insert duplicate status status name all delete shuffle swap rename copy"
    " restate part staff"
).split()
KINDS = {"name": "renamed", "all": "renamed", "shuffle": "moved", "swap": "moved"}
MOST_SHEETS = 4


def new_rows(contents: Iterable[PetValues]) -> list[Entry]:
    """Return the rows of a file that no journal has."""
    return [
        Entry(0, "ours", "a.csv", values, number)
        for number, values in enumerate(contents, 2)
    ]


@dataclass
class SheetRow:
    """
    A row of a sheet: who it is for the person who edits it (a duplicate is the same),
    and its values.
    """

    person: int
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
    rows: list[SheetRow]
    since: str = ""
    is_settled: bool = False
    edits: float = inf
    retired: set[object] = field(default_factory=set)
    added: set[object] = field(default_factory=set)
    part: list[SheetRow] = field(default_factory=list)
    answer: Doubtful = "ask"
    agreed: Counter[int] = field(default_factory=Counter)


@dataclass
class World:
    """
    The truth: the service, the sheets, and the time.

    Attributes:
        creators: Of an animal, the row of the journal that made it.
        owners: Of a row of the journal, the person.
        row_counts: How many rows a person has.
        agreed: How many animals more than rows a person agreed to.
        doubled: People who got more animals than that.
        answered_ids: Ids that answers named.
        changes: What the service makes of names.
    """

    rng: random.Random
    folder: Path
    faulty: bool = True
    clock: ManualClock = field(default_factory=lambda: ManualClock(1_000.0))
    animals: dict[int, PetValues] = field(default_factory=dict)
    creators: dict[int, int] = field(default_factory=dict)
    owners: dict[int, int] = field(default_factory=dict)
    doubled: list[int] = field(default_factory=list)
    answered_ids: list[int] = field(default_factory=list)
    agreed: Counter[int] = field(default_factory=Counter)
    sheets: list[Sheet] = field(default_factory=list)
    journals: dict[Path, Journal] = field(default_factory=dict)
    row_counts: Counter[int] = field(default_factory=Counter)
    changes: str = ""

    def animals_of(self, person: int) -> int:
        """Count the animals made for a row of a person."""
        return sum(self.owners[key] == person for key in self.creators.values())

    def assign(self, owners: dict[int, int]) -> None:
        """
        Take whose each row is now; who edits a row into one that was sent has its
        animal, too.
        """
        for key in set(self.creators.values()) & owners.keys():
            self.row_counts[owners[key]] += self.owners[key] != owners[key]
        self.owners |= owners

    def exchange(self) -> None:
        """
        Let rows that the service makes equal exchange their animals: nobody can tell.
        """
        entries = self.entries()
        owned = {entry.pet_id for entry in entries}
        for entry in entries:
            key = self.creators.get(entry.pet_id or 0)
            if key not in (None, entry.entry_id):
                free_ids = [
                    pet_id
                    for pet_id, creator in self.creators.items()
                    if creator == entry.entry_id and pet_id not in owned
                ]
                self.creators[entry.pet_id or 0] = entry.entry_id
                if free_ids:
                    self.creators[free_ids[0]] = key or 0

    def entries(self) -> list[Entry]:
        """Return the rows of all imports."""
        journals = self.journals.values()
        return [entry for journal in journals for entry in journal.read()]

    def add_person(self) -> int:
        """Return the number of somebody who has a row."""
        person = len(self.row_counts) + 1
        self.row_counts[person] = 1
        return person

    def values(self, without: Collection[object] = ()) -> PetValues:
        """Return values of a row, at best others than those."""
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

    def create(self, entry: Entry) -> int:
        """Make the animal of a row, as the service does."""
        pet_id = max(self.animals, default=0) + 1
        self.animals[pet_id] = self.stored(entry.content)
        self.creators[pet_id] = entry.entry_id
        return pet_id


def edit(world: World) -> None:
    """Do one thing that a person does to a sheet, or the staff to an animal."""
    rng = world.rng
    copies = [sheet for sheet in world.sheets if sheet.edits < inf]
    sheet = rng.choice(copies or world.sheets)
    rows = sheet.rows
    position = rng.randrange(len(rows)) if rows else 0
    action = rng.choice(ACTIONS)
    kind = KINDS.get(action, "")
    old_values: set[object] = {rows[position].values} if rows else set()
    if kind == "renamed" and rows:
        old_values.add(rows[position].values.name)
    if not may_edit(sheet, action, old_values):
        return
    if action in ("status", "name", "all", "delete"):
        sheet.edits -= 1
        sheet.retired |= old_values
    elif action == "part":
        part = rng.sample(rows, rng.randint(1, len(rows) - 1))
        sheet.part = sorted(part, key=rows.index)
        return
    values = world.values(sheet.retired)
    if action in ("append", "insert", "name", "all"):
        sheet.added |= {values.name, values}
    elif action == "duplicate" and rows:
        sheet.added.add(rows[position].values.name)
    sheet.since = kind or sheet.since
    sheet.is_settled = False
    if action in ("rename", "copy", "restate") or (action == "staff" and rows):
        edit_whole(world, sheet, action)
    else:
        edit_rows(world, sheet, action if rows else "append", position, values)


def may_edit(sheet: Sheet, action: str, old_values: set[object]) -> bool:
    """Say whether it stays clear afterwards which row is which."""
    kind = KINDS.get(action)
    if sheet.part or (kind and sheet.since not in ("", kind)):
        return False
    if action in ("status", "name", "all") and old_values & sheet.added:
        return False
    if action in ("rename", "copy", "restate", "part"):
        return sheet.is_settled and len(sheet.rows) > 2
    return sheet.edits > 0 or action not in ("status", "name", "all", "delete")


def edit_rows(
    world: World, sheet: Sheet, action: str, position: int, values: PetValues
) -> None:
    """Add, change, remove or move a row."""
    rows = sheet.rows
    row = rows[position] if rows else SheetRow(0, values)
    match action:
        case "append":
            rows.append(SheetRow(world.add_person(), values))
        case "insert":
            rows.insert(position, SheetRow(world.add_person(), values))
        case "status" | "name":
            edited = row.values._replace(**{action: getattr(values, action)})
            if edited not in sheet.retired:
                sheet.added.add(edited)
                rows[position] = SheetRow(row.person, edited)
        case "all":
            rows[position] = SheetRow(row.person, values)
        case "delete":
            del rows[position]
        case "shuffle":
            world.rng.shuffle(rows)
        case "swap":
            other = world.rng.randrange(len(rows))
            rows[position], rows[other] = rows[other], rows[position]
        case "duplicate" if not {*row.values, row.values} & sheet.retired:
            world.row_counts[row.person] += 1
            rows.insert(world.rng.randrange(len(rows)), SheetRow(**vars(row)))


def edit_whole(world: World, sheet: Sheet, action: str) -> None:
    """Rename or copy a sheet, or change the status of an animal in the service."""
    rng = world.rng
    rows = [SheetRow(**vars(row)) for row in sheet.rows]
    if action == "rename":
        sheet.name = f"sheet{rng.random()}"
        sheet.edits = 1
    elif action == "staff" and world.animals:
        pet_id = rng.choice(list(world.animals))
        is_ours = pet_id in {entry.pet_id for entry in world.entries()}
        rows = [row for sheet in world.sheets for row in sheet.rows]
        # beside a row without a status, nobody can tell whose animal it was
        if is_ours or all(row.values.status for row in rows):
            status = rng.choice(STATUSES[:2])
            world.animals[pet_id] = world.animals[pet_id]._replace(status=status)
    elif action == "copy" and len(world.sheets) < MOST_SHEETS:
        world.sheets.append(Sheet(f"copy{rng.random()}", rows, edits=1))
    elif action == "restate" and len(world.sheets) < MOST_SHEETS:
        retired: set[object] = {row.values for row in rows}
        for row in rows:
            status = NEXT_STATUS[row.values.status]
            row.values = row.values._replace(status=status)
        copy = Sheet(f"copy{rng.random()}", rows, edits=0, retired=retired)
        world.sheets.append(copy)
