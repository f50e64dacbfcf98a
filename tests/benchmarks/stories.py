"""
How often an import asks about rows that may exist already, and whether an animal is
made twice or never, in stories of lists that people edit.

A line of `stories.txt` is a story: `NAME: STEP; STEP`, an import after each step;
`9x typo 3, add 2` are nine steps, each with these edits of rows somewhere, of the
`first`, the `last` or `all`.

Each story is played by values, by `petstore_id` (the created file of the last import is
the list that goes on) and by a row key. A person answers by the truth; a question is
needless where no row in it is an edit or a repeat of an animal that exists.

Run: python tests/benchmarks/stories.py [BEGIN OF A STORY]
"""

from __future__ import annotations

import random
import re
import shutil
import sys
import tempfile
from collections import Counter
from inspect import signature
from pathlib import Path

import pandas as pd
from pandas import DataFrame
from programs import head, row

# isort: split
from commands import run_program

from petstore_tools import DoubtfulRowsError, PetStore, Plan, Sandbox

WAYS = ("by values", "by petstore_id", "by row key")
COUNTS = ("questions", "needless", "doubled", "lost")
TEXT = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
AMPLE = Plan(100_000, 10_000_000)
NEXT_STATUS = {"available": "sold", "sold": "pending", "pending": "available"}
NAMES = "Rex Mia Max Ida Tom Luna Bella Balu Sam Lea Leo Kira Jack Emma".split()
FIELDS = ["name", "categoryId", "status"]
# the animal of a row is named by a column that the import does not read
COLUMNS = ["petstore_id", "animal", "Chip", *FIELDS]
BAD = "?"  # a category that no row can have


class Story:
    """
    Lists, whose animals they are, and what was counted.

    Attributes:
        lists, paths: By the name of the list, of which `file` is edited; one with a
            slash is a sheet of a workbook.
        animals: How many there are in lists; `made` has those that exist, `missing`
            those that do not, though their row was imported.
        pet_ids: Of all animals that the service has.
        files: What the last import wrote.
    """

    def __init__(self, way: str, folder: Path, box: Sandbox) -> None:
        self.way = way
        self.folder = folder
        self.box = box
        self.store = box.store
        self.file = "list"
        self.lists = {}
        self.paths = {}
        self.files = ()
        self.animals = 0
        self.made = set()
        self.missing = set()
        self.pet_ids = set()
        self.counts = Counter()
        self.rng = random.Random(1)

    def new(self, count: int) -> DataFrame:
        """Return rows of so many animals that were in no list."""
        numbers = range(self.animals, self.animals + count)
        self.animals += count
        return DataFrame(
            [
                ("", n, n, f"Pet {self.rng.getrandbits(40):x}", 3, "available")
                for n in numbers
            ],
            columns=COLUMNS,
            dtype=str,
        )


def edit_rows(story: Story, rows: DataFrame, verb: str, what: str) -> DataFrame:
    """Return a list with an edit of some rows."""
    places = [*rows.index]
    named = {"first": places[:1], "last": places[-1:], "all": places}
    some = named.get(what) or story.rng.sample(places, int(what))
    new = story.new(len(some)).set_index(pd.Index(some))
    match verb:
        case "typo":
            rows.loc[some, "name"] += "x"
        case "rename":
            rows.loc[some, "name"] = new["name"]
        case "status":
            rows.loc[some, "status"] = rows.loc[some, "status"].map(NEXT_STATUS)
        case "spoil":
            rows.loc[some, "categoryId"] = BAD
        case "exchange":
            rows.loc[some] = new
        case "delete":
            return rows.drop(some)
        case "double":
            return pd.concat([rows, new.assign(**rows.loc[some, FIELDS])])
    return rows


def edit_list(story: Story, verb: str, what: str) -> None:
    """Edit the list, or go on with another list, machine or state folder."""
    rows = story.lists.get(story.file)
    folder = story.folder / what
    match verb:
        case "new":
            story.paths.pop(story.file, None)
            rows = story.new(int(what))
        case "add":
            rows = pd.concat([rows, story.new(int(what))])
        case "top":
            rows = pd.concat([story.new(int(what)), rows])
        case "again":  # as somebody else writes them down
            rows = story.lists["list"][: int(what)].assign(petstore_id="")
        case "common":
            rows["name"] = story.rng.choices(NAMES, k=len(rows))
        case "number":
            rows["Chip"] = range(1, len(rows) + 1)
        case "sort":
            rows = rows.sort_values("name")
        case "in":  # which begins as a copy
            story.file = what.replace("*", str(len(story.lists)))
            rows = story.lists.get(story.file, rows)
        case "keep":
            shutil.copytree(
                story.store.settings.state_dir / "imports", folder / "imports"
            )
        case "machine":
            story.store = story.box.connect(state_dir=folder)
        case "correct":  # the rejected rows, in their file
            (path,) = (path for path in story.files if "rejected" in path.name)
            rejects = pd.read_excel(path, dtype=str, engine="calamine").assign(
                categoryId="3"
            )
            rejects.to_excel(path, index=False)
            import_file(story, path, rejects)
        case _:
            rows = edit_rows(story, rows, verb, what)
    story.lists[story.file] = rows if rows is None else rows.reset_index(drop=True)
    book = story.file.partition("/")[0]
    story.paths.setdefault(story.file, story.folder / f"{book}.xlsx")


def import_list(story: Story) -> None:
    """Write and import the list; by ids, go on with its created file."""
    path = story.paths[story.file]
    by_ids = story.way == "by petstore_id"
    with pd.ExcelWriter(path) as writer:
        for name, rows in story.lists.items():
            if story.paths[name] == path:
                columns = COLUMNS[not (by_ids and any(rows["petstore_id"])) :]
                sheet = name.partition("/")[2] or "Sheet1"
                rows.to_excel(writer, sheet_name=sheet, columns=columns, index=False)
    sheet = story.file.partition("/")[2] or None
    import_file(story, path, story.lists[story.file], sheet=sheet)
    for created in story.files:
        if by_ids and "created" in created.name:
            story.paths[story.file] = created
            rows = pd.read_excel(created, dtype=str, engine="calamine")
            story.lists[story.file] = rows[COLUMNS]


def import_file(story: Story, path: Path, rows: DataFrame, **options: object) -> None:
    """Import a file, answer its questions, and count what comes of it."""
    if story.way == "by row key":
        options["row_key"] = "Chip"
    story.missing |= {*rows[rows["categoryId"] != BAD]["animal"]} - story.made
    to_send = []
    answer = "ask"
    while answer:
        try:
            result = story.store.import_pets(
                path, doubtful=answer, progress=False, **options
            )
        except DoubtfulRowsError as error:
            asked = rows.loc[error.preview.doubtful["row"] - 2]
            new = new_rows(story, rows, asked)
            is_needless = len(new) == len(asked)
            story.counts.update(questions=1, needless=is_needless)
            answer = "send" if is_needless else "skip"
            to_send += [] if is_needless else new
        else:
            count_animals(story, rows)
            for number in to_send:
                mark_absent(story, f"{result.journal} --row {number}")
            answer = "ask" if to_send else ""
            to_send = []
    story.files = result.files


def new_rows(story: Story, rows: DataFrame, asked: DataFrame) -> list[int]:
    """Return which of the rows that are asked about are new; of equal rows, as many."""
    known = (
        rows["animal"]
        .isin(story.made)
        .groupby([rows[c] for c in FIELDS])
        .transform("sum")
    )
    is_new = asked.groupby(FIELDS).cumcount() >= known[asked.index]
    return [*asked.index[is_new] + 2]


def mark_absent(story: Story, row: str) -> None:
    """Mark a row to be sent that was left out, with the command."""
    run_program(
        *f"imports reconcile {row} --absent --yes".split(),
        sandbox=story.box,
        PETSTORE_STATE_DIR=str(story.store.settings.state_dir),
    )


def count_animals(story: Story, rows: DataFrame) -> None:
    """Say whose the new animals are; one more than rows is made twice."""
    for pet_id, *values in story.store.list_pets().astype("str").to_numpy():
        if pet_id not in story.pet_ids:
            equal = rows[(rows[FIELDS] == values).all(axis=1)]
            animals = sorted({*equal["animal"]} & story.missing)[:1]
            story.missing.difference_update(animals)
            story.made.update(animals)
            story.counts["doubled"] += not animals
            story.pet_ids.add(pet_id)


def play(steps: str, way: str) -> Counter[str]:
    """Play a story, and return what was counted."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Sandbox(plan=AMPLE, animals=0, clock="manual") as box,
    ):
        story = Story(way, Path(folder), box)
        for times, edits in re.findall(r"(?:(\d+)x )?([^;]+)(?:; |$)", steps):
            for _ in range(int(times or 1)):
                for edit in edits.split(", "):
                    edit_list(story, *edit.partition(" ")[::2])
                import_list(story)
                box.advance(days=1)
    return story.counts + Counter(lost=len(story.missing))


def main() -> None:
    """Print the table."""
    ways = WAYS if "row_key" in signature(PetStore.import_pets).parameters else WAYS[:1]
    head(" / ".join(COUNTS), *WAYS)
    sums = [Counter() for _ in ways]
    for line in TEXT.splitlines():
        name, steps = line.split(": ")
        if name.startswith("".join(sys.argv[1:])):
            counts = [play(steps, way) for way in ways]
            sums = [*map(Counter.__add__, sums, counts)]
            show(name, counts)
    show("all", sums)


def show(name: str, counts: list[Counter[str]]) -> None:
    """Print a row of the table."""
    cells = [" / ".join(str(of[count]) for count in COUNTS) for of in counts]
    row(name, *cells, *["not run"] * (len(WAYS) - len(cells)))


if __name__ == "__main__":
    main()
