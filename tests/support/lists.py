"""
Lists that people edit and import, and whose animals they are: by values, by
`petstore_id` (the list that comes back is the list that goes on) or by a row key, with
a person who answers by the truth.
"""

import random
import shutil
import warnings
from collections import Counter

import pandas as pd
from commands import run_program
from pandas import DataFrame

from petstore_tools import DoubtfulRowsError

WAYS = ("by values", "by petstore_id", "by row key")
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
        list_file: The list that came back last.
        pet_ids: Of all animals that the service has.
    """

    def __init__(self, way, folder, box, suffix=".xlsx", seed=1):
        self.way = way
        self.suffix = suffix
        self.folder = folder
        self.box = box
        self.connect(folder / "state")
        self.file = "list"
        self.lists = {}
        self.paths = {}
        self.list_file = None
        self.animals = 0
        self.made = set()
        self.missing = set()
        self.pet_ids = set()
        self.counts = Counter()
        self.rng = random.Random(seed)

    def connect(self, state_dir):
        """Go on at a machine, which is known by its state folder."""
        self.store = self.box.connect(
            environment="production", reconcile_after_s=0.3, state_dir=state_dir
        )

    def new(self, count):
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


def edit_rows(story, rows, verb, what):
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


def edit_list(story, edit):
    """Edit the list, or go on with another list, machine or state folder."""
    verb, _, what = edit.partition(" ")
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
            journals = story.store.settings.state_dir / "imports"
            shutil.copytree(journals, folder / "imports")
        case "machine":
            story.connect(folder)
        case "correct":  # the rejected rows
            rows.loc[rows["categoryId"] == BAD, "categoryId"] = "3"
        case _:
            rows = edit_rows(story, rows, verb, what)
    story.lists[story.file] = rows if rows is None else rows.reset_index(drop=True)
    book = story.file.partition("/")[0]
    story.paths.setdefault(story.file, story.folder / f"{book}{story.suffix}")


def write_list(story):
    """Write the list, with the others of its workbook; return how it is imported."""
    path = story.paths[story.file]
    by_ids = story.way == "by petstore_id"
    lists = {n: rows for n, rows in story.lists.items() if story.paths[n] == path}
    kept = {
        name.partition("/")[2] or "Sheet1": rows[
            COLUMNS[not (by_ids and any(rows["petstore_id"])) :]
        ]
        for name, rows in lists.items()
    }
    if story.suffix == ".csv":
        kept["Sheet1"].to_csv(path, index=False)
    else:
        with pd.ExcelWriter(path) as writer:
            for sheet, rows in kept.items():
                rows.to_excel(writer, sheet_name=sheet, index=False)
    rows = story.lists[story.file]
    story.missing |= {*rows[rows["categoryId"] != BAD]["animal"]} - story.made
    sheet = story.file.partition("/")[2]
    options = {"sheet": sheet} if sheet else {}
    return path, options | ({"row_key": "Chip"} if story.way == "by row key" else {})


def import_list(story):
    """Write and import the list; by ids, go on with the list that comes back."""
    path, options = write_list(story)
    import_file(story, path, story.lists[story.file], options)
    if story.way == "by petstore_id":
        path = story.paths[story.file] = story.list_file
        story.lists[story.file] = read_list(story, path)[COLUMNS].fillna("")


def read_list(story, path):
    """Read a list that came back."""
    if story.suffix == ".csv":
        return pd.read_csv(path, dtype=str)
    sheet = story.file.partition("/")[2] or "Sheet1"
    return pd.read_excel(path, sheet, dtype=str, engine="calamine")


def import_file(story, path, rows, options):
    """Import a file, answer its questions, and count what comes of it."""
    answer = "ask"
    to_send = []
    while answer:
        try:
            result = story.store.import_pets(
                path, doubtful=answer, progress=False, **options
            )
        except DoubtfulRowsError as error:
            asked = rows.loc[error.preview.doubtful["row"] - 2]
            new = new_rows(story, rows, asked)
            is_needless = len(new) == len(asked)
            is_mixed = bool(new) and not is_needless
            story.counts.update(questions=1, needless=is_needless, mixed=is_mixed)
            answer = "send" if is_needless else "skip"
            to_send += [] if is_needless else new
        else:
            count_animals(story, rows)
            for number in to_send:
                absent = f"{result.journal} --row {number} --absent --yes"
                run_program(
                    *f"imports reconcile {absent}".split(),
                    sandbox=story.box,
                    PETSTORE_STATE_DIR=str(story.store.settings.state_dir),
                )
            answer = "ask" if to_send else ""
            to_send = []
    story.list_file = result.list_file


def new_rows(story, rows, asked):
    """Return which of the rows that are asked about are new; of equal rows, as many."""
    # those with an id are told apart
    is_made = rows["animal"].isin(story.made) & (rows["petstore_id"] == "")
    known = is_made.groupby([rows[c] for c in FIELDS]).transform("sum")
    is_new = asked.groupby(FIELDS).cumcount() >= known[asked.index]
    return [*asked.index[is_new] + 2]


def count_animals(story, rows):
    """Say whose the new animals are; one more than rows is made twice."""
    with warnings.catch_warnings():
        # the last create of a killed command may arrive meanwhile
        warnings.simplefilter("ignore", UserWarning)
        pets = story.store.list_pets()
    for pet_id, *values in pets.astype("str").to_numpy():
        if pet_id not in story.pet_ids:
            equal = rows[(rows[FIELDS] == values).all(axis=1)]
            animals = sorted({*equal["animal"]} & story.missing)[:1]
            story.missing.difference_update(animals)
            story.made.update(animals)
            story.counts["doubled"] += not animals
            story.pet_ids.add(pet_id)
