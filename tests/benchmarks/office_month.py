"""
A month of an office: a list with common names is edited and imported on 22 days, by a
person who knows which row is which animal.

For each way it prints how many questions were asked, how many of these were needless
(each row was new) or mixed, how many animals were made twice or never, and how many
files stood beside the input at the end of a month, at most.

Run: python tests/benchmarks/office_month.py [MONTHS [.csv or .xlsx]]
"""

import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pandas as pd
from programs import head, row

# isort: split
from lists import NAMES, NEXT_STATUS, Story, import_list

from petstore_tools import Plan, Sandbox

COUNTS = ("questions", "needless", "mixed", "doubled", "lost", "files")
DAYS = 22
FIRST_ROWS = 50
WAYS = {
    "the original list": "by values",
    "the list that came back": "by petstore_id",
    "a row key": "by row key",
}
AMPLE = Plan(100_000, 10_000_000)


def new_rows(story, count):
    """Return rows of animals that came, with names that others have, too."""
    rows = story.new(count)
    rows["name"] = story.rng.choices(NAMES, k=count)
    rows["categoryId"] = [str(story.rng.randint(1, 4)) for _ in range(count)]
    return rows


def work(story):
    """Do what an office does with its list in a day."""
    rng = story.rng
    rows = story.lists["list"]
    for place in rng.sample([*rows.index], rng.randint(0, 2)):
        rows.loc[place, "name"] += rng.choice(["a", "y", " II"])
    for place in rng.sample([*rows.index], rng.randint(0, 4)):
        rows.loc[place, "status"] = NEXT_STATUS[rows.loc[place, "status"]]
    rows = rows.drop(rng.sample([*rows.index], rng.randint(0, 1)))
    rows = pd.concat([rows, new_rows(story, rng.randint(0, 2))])
    if rng.random() < 0.5:
        rows = rows.sort_values("name", kind="stable")
    story.lists["list"] = rows.reset_index(drop=True)


def live_a_month(way, suffix, seed):
    """Return what was counted in a month."""
    with (
        Sandbox(plan=AMPLE, animals=0, clock="manual") as box,
        tempfile.TemporaryDirectory() as folder,
    ):
        story = Story(way, Path(folder), box, suffix, seed)
        story.rng = random.Random(seed)
        story.lists["list"] = new_rows(story, FIRST_ROWS)
        story.paths["list"] = Path(folder) / f"list{suffix}"
        import_list(story)
        for _ in range(DAYS):
            box.advance(days=1)
            work(story)
            import_list(story)
        files = len([*Path(folder).glob(f"*{suffix}")]) - 1
        return story.counts + Counter(lost=len(story.missing), files=files)


def main(months="8", suffix=".csv"):
    """Live some months in each way, and print what was counted."""
    head(f"{months} months, {suffix}", *COUNTS)
    for title, way in WAYS.items():
        counts = [live_a_month(way, suffix, seed) for seed in range(int(months))]
        sums = [sum(month[name] for month in counts) for name in COUNTS[:-1]]
        row(title, *map(str, sums), str(max(month["files"] for month in counts)))


if __name__ == "__main__":
    main(*sys.argv[1:])
