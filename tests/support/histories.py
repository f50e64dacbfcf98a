"""
The truth of a random history of imports: the sheets, what people do to them, the
animals that a service has, and which stated risks were taken.

Who has a row is a number. Whom nobody can tell apart, since they shared a name and a
category in files that were imported, are counted together: their *circle*.
"""

from collections import Counter
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from petstore_tools.clock import ManualClock
from petstore_tools.importing.entries import Entry
from petstore_tools.importing.options import ImportOptions
from petstore_tools.importing.read_sheet import read_sheet
from petstore_tools.importing.values import PetValues

NAMES = [f"{name} {n}" for name in ("rex", "mia", "max", "ida") for n in range(5)]
STATUSES = ("available", "sold", None)
NEXT_STATUS = dict(zip(STATUSES, STATUSES[1:] + STATUSES[:1], strict=True))
WAYS = ("values", "values", "ids", "keys", "numbers")
ACTIONS = (
    "insert insert duplicate exchange status status name all delete move shuffle rename"
    " copy restate next part staff go_on"
).split()
MOST_SHEETS = 4
MOVED = "a row renamed and moved at once, or in a copy beside another edit"
TAKEN = "a row that takes the values of one edited at the same time"
NEXT = "a row of next month's list that equals one of last month's"
STATUS = "a status changed while an answer is unknown, beside a row without one"
NO_ID = "a row that was put in without its id and edited"
REUSED = "a key that is corrected"
MADE = "import = :id AND present AND state = 'created'"
FEW_KEYS = "a list of which most keys bear other names in another list"
KEY = "a row of another list that has a known key and the same name and category"


def new_rows(contents):
    """Return the rows of a file that no journal has."""
    return [Entry(number, values) for number, values in enumerate(contents, 2)]


def values(text):
    """Read `rex/3/sold`, of which all but the name may be left out."""
    name, category_id, status = [*text.split("/"), *["3", ""][text.count("/") :]]
    return PetValues(name, int(category_id), status or None)


class Row(NamedTuple):
    """A row of a sheet: who has it, and its cells."""

    person: int
    values: PetValues
    row_key: str
    pet_id: int | None = None


class Sheet:
    """
    A file.

    Attributes:
        before: Its rows in the last run; of a copy, those that were copied.
        past: All rows that it had.
        source: What it was copied from, until it was imported.
        imported: Who was in it when it was.
        is_whole: Its last run had all its rows.
        part: Rows that the next run has in place of all.
        answer: What the next run says about the rows that the last one asked about.
    """

    def __init__(self, name, rows, source=None):
        self.name = name
        self.rows = rows
        self.before = source.before or source.rows[:] if source else []
        self.past = {*self.before} | (source.past if source else set())
        self.source = source
        self.imported = set()
        self.is_whole = False
        self.part = []
        self.answer = "ask"

    def read(self, rows, way):
        """Read rows of it, as an import does."""
        cells = [(*row.values, row.row_key, row.pet_id) for row in rows]
        columns = ["name", "categoryId", "status", "Chip", "petstore_id"]
        frame = pd.DataFrame(cells, columns=columns, dtype=object)
        frame.index += 2
        if way != "ids":
            del frame["petstore_id"]
        key = "Chip" if way in ("keys", "numbers") else None
        return read_sheet(ImportOptions(frame, name=self.name, row_key=key))


class World:
    """
    The truth: the service, the sheets, and the time.

    Attributes:
        way: How rows are told apart: by `values`, `ids`, `keys` or `numbers`, which are
            keys that begin with 1 in each sheet.
        writes_capitals: Whether the service does so with names.
        animals: Those that the service has, by id.
        made: Whose row was made; `claims`: whose row is to be sent, and by which sheet.
        mistaken: Whose row a person left out, since another sheet was to send it.
        sent: How many animals were made of a name and category.
        circles: Leads from a person, or a name and category, to whom they are counted
            with.
        named: Whose a key and a name were first.
        risks: Which stated risk was taken by a person, or with a name and category.
    """

    def __init__(self, rng, folder):
        self.rng = rng
        self.folder = folder
        self.way = rng.choice(WAYS)
        self.writes_capitals = rng.random() < 0.25
        self.faulty = True
        self.clock = ManualClock(1_000.0)
        self.journals = {}
        self.animals = {}
        self.answered_ids = []
        self.people = 0
        self.made = set()
        self.claims = set()
        self.mistaken = set()
        self.sent = Counter()
        self.circles = {}
        self.named = {}
        self.risks = []
        first = Sheet("first", [])
        self.sheets = [first]
        for _ in range(rng.randint(1, 8)):
            first.rows.append(self.new_row(first))

    def circle(self, node):
        """Return with whom a person, or a name and category, is counted."""
        while node in self.circles:
            node = self.circles[node]
        return node

    def count(self, nodes):
        """Count people, or names and categories, by their circle."""
        return Counter(map(self.circle, nodes))

    def group(self, values):
        """Return the name and category that the service makes of values."""
        return self.stored(values)[:2]

    def stored(self, values):
        """Return what the service makes of values."""
        name, category_id, status = values
        name = name.upper() if self.writes_capitals else name
        return PetValues(name, category_id, status or "available")

    def values(self):
        """Return values of a row."""
        return PetValues(*map(self.rng.choice, (NAMES, (1, 2), STATUSES)))

    def new_row(self, sheet):
        """Return the row of a new animal; a counter may be its key."""
        self.people += 1
        keys = [int(row.row_key) for row in sheet.rows]
        key = self.people if self.way != "numbers" else max(keys, default=0) + 1
        return Row(self.people, self.values(), str(key))

    def may_remove(self, rows):
        """Say whether no import is still to send one of these rows."""
        claimed = {person for person, _ in self.claims} - self.made
        return claimed.isdisjoint(row.person for row in rows)

    def entries(self):
        """Return the rows of all imports."""
        journals = self.journals.values()
        return [entry for journal in journals for entry in journal.read()]

    def take_version(self, sheet, rows):
        """Take the rows of a run, with the risks that they take."""
        if self.way in ("values", "ids"):
            source = sheet.source or sheet
            made = [row for row in source.before if row.person in self.made]
            order = [row.person for row in source.before]
            self.risks += name_risks(made, order, sheet.past, rows)
            for other in {*self.sheets, source} - {sheet}:
                self.risks += self.copy_risks(other, sheet, rows)
        self.risks += self.key_risks(sheet, rows)
        has_ids = any(row.pet_id for row in rows)
        for row in rows:
            person = self.circle(row.person)
            group = self.circle(self.group(row.values))
            if person != group:
                self.circles[person] = group
            named = self.named.setdefault((row.row_key, row.values.name), row.person)
            if named != row.person:
                self.risks.append((row.person, KEY))
            if (
                has_ids
                and row.person in self.made
                and not (row.pet_id or row in sheet.past)
            ):
                self.risks.append((row.person, NO_ID))
            self.risks += [
                (other.person, REUSED)
                for other in sheet.past
                if other.row_key == row.row_key and other.person != row.person
            ]
        sheet.past |= {*rows}
        sheet.imported |= {row.person for row in rows}
        sheet.is_whole = not sheet.part
        if not sheet.part:
            self.claims = {claim for claim in self.claims if claim[1] != sheet.name}
            sheet.before = rows
            sheet.source = None

    def copy_risks(self, other, sheet, rows):
        """
        Yield who is renamed in a list beside its copy, where more than that differs, or
        the other one was not sent to its end.
        """
        before = other.before or other.rows
        people = [row.person for row in before]
        is_alone = (
            len({*rows} ^ {*before}) > 2
            or len(rows) == 1
            or people != [row.person for row in rows]
            or not self.made.issuperset(people)
        )
        for row in rows if is_alone else ():
            old = {old.values[:2] for old in other.past if old.person == row.person}
            if old - {row.values[:2]} and row.person not in sheet.imported:
                yield row.person, MOVED

    def key_risks(self, sheet, rows):
        """Yield who bears another name in a list of which less than half agrees."""
        by_key = {row.row_key: row for row in rows}
        for other in self.sheets:
            common = [row for row in other.past if row.row_key in by_key]
            agreeing = [
                row
                for row in common
                if by_key[row.row_key].values[:2] == row.values[:2]
            ]
            if other is not sheet and 2 * len(agreeing) < len(common):
                yield from (
                    (row.person, FEW_KEYS)
                    for row in common
                    if by_key[row.row_key].person == row.person
                )

    def person(self, rows, entry):
        """Return who has an entry of a sheet; of equal rows, somebody without one."""
        people = {
            (row.person in self.made, number != entry.number): row.person
            for number, row in enumerate(rows, 2)
            if row.values == entry.content
        }
        return people[min(people)]

    def create(self, values):
        """Make an animal, as the service does."""
        pet_id = max(self.animals, default=0) + 1
        self.animals[pet_id] = self.stored(values)
        self.sent[self.group(values)] += 1
        return pet_id

    def failures(self, *, is_over):
        """
        Return which circles have more animals than people, and, in the end, which have
        fewer than people in sheets; each with a risk that was taken, "" for none.
        """
        animals = Counter()
        for group, count in self.sent.items():
            animals[self.circle(group)] += count
        people = self.count(range(1, self.people + 1))
        failures = {f"doubled: {circle}": circle for circle in animals - people}
        if is_over:
            present = {row.person for sheet in self.sheets for row in sheet.before}
            undecided = self.count(
                self.group(entry.content)
                for entry in self.entries()
                if entry.state == "unknown"
            )
            missing = self.count(present - self.mistaken) - animals - undecided
            failures |= {f"lost: {circle}": circle for circle in missing}
        risks = {self.circle(node): risk for node, risk in self.risks}
        return {name: risks.get(circle, "") for name, circle in failures.items()}


def name_risks(before, order, past, rows):
    """
    Yield who takes which of the risks that DESIGN states for rows without a key.

    Args:
        before: Rows of the last version of a sheet that were made.
        order: Who was in that version.
        past: All rows that it had.
        rows: Those that it has.
    """
    old = {row.person: row for row in before}
    new = {row.person: row for row in rows}
    edits = [
        row
        for row in rows
        if row.person in old
        and row.values != old[row.person].values
        and row.pet_id is None
    ]
    is_moved = [row.person for row in rows if row.person in order] != [
        person for person in order if person in new
    ]
    left = {row for row in past if row not in rows}
    for row in edits:
        if is_moved and row.values.name != old[row.person].values.name:
            yield row.person, MOVED
    fresh = [row for row in rows if row.person not in old]
    for row, other in product([*edits, *fresh], left):
        is_other = row.person != other.person
        people = (row.person, other.person)
        if is_other and other.values == row.values:
            yield from ((person, NEXT) for person in people)
        elif is_other and other in before and other.values.name == row.values.name:
            yield from ((person, TAKEN) for person in people)


def edit(world):
    """Do one thing that a person does to a sheet, or the staff to an animal."""
    rng = world.rng
    sheet = rng.choice(world.sheets)
    rows = sheet.rows
    position = rng.randrange(len(rows))
    row = rows[position]
    match action := rng.choice(ACTIONS):
        case "insert":
            rows.insert(rng.randint(0, len(rows)), world.new_row(sheet))
        case "duplicate":
            rows.insert(position, world.new_row(sheet)._replace(values=row.values))
        case "status" | "name" | "all":
            cells = world.values()._asdict()
            cells = cells if action == "all" else {action: cells[action]}
            rows[position] = row._replace(values=row.values._replace(**cells))
        case "move":
            rows.append(rows.pop(position))
        case "shuffle":
            rng.shuffle(rows)
        case "part" if rows == sheet.before:
            part = rng.sample(rows, rng.randint(1, len(rows)))
            sheet.part = sorted(part, key=rows.index)
        case "staff" if world.animals:
            change_animal(world)
        case "delete" | "exchange" | "next":
            replace_rows(world, sheet, action, position)
        case _:
            copy_sheet(world, sheet, action)


def replace_rows(world, sheet, action, position):
    """Put other animals, or none, in the place of a row, or of all."""
    rows = sheet.rows
    chosen = slice(position, position + 1) if action != "next" else slice(None)
    if world.may_remove(rows[chosen]):
        del rows[chosen]
        count = world.rng.randint(1, 8) if action == "next" else 1
        for _ in range(0 if action == "delete" and rows else count):
            rows.insert(position, world.new_row(sheet))


def copy_sheet(world, sheet, action):
    """Copy a sheet as it was imported: with other statuses, or with its ids."""
    rows = list(sheet.rows)
    is_open = rows != sheet.before or not world.may_remove(rows)
    if sheet.before and (is_open or not sheet.is_whole):
        return
    if action == "restate":
        for n, row in enumerate(rows):
            status = NEXT_STATUS[row.values.status]
            rows[n] = row._replace(values=row.values._replace(status=status))
    if action == "go_on" and world.way == "ids" and sheet.before:
        entries = world.journals[Path(sheet.name)].read(MADE)
        ids = {entry.number: entry.pet_id for entry in entries}
        rows = [rows[n - 2]._replace(pet_id=ids[n]) for n in ids] or rows
    copy = Sheet(f"copy {world.rng.random()}", rows, sheet)
    if action in ("rename", "go_on") or len(world.sheets) == MOST_SHEETS:
        world.sheets.remove(sheet)
    world.sheets.append(copy)


def change_animal(world):
    """Let the staff change the status of an animal."""
    pet_id = world.rng.choice(list(world.animals))
    values = world.animals[pet_id]
    if pet_id not in {entry.pet_id for entry in world.entries()}:
        world.risks.append((values[:2], STATUS))
    status = world.rng.choice(STATUSES[:2])
    world.animals[pet_id] = values._replace(status=status)
