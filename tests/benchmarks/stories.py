"""
How often an import asks about rows that may exist already, and whether an animal is
made twice or never, in stories of lists that people edit.

A line of `stories.txt` is a story: `NAME: STEP; STEP`, an import after each step;
`9x typo 3, add 2` are nine steps, each with these edits of rows somewhere, of the
`first`, the `last` or `all`. A question is needless where no row in it is an edit or a
repeat of an animal that exists.

Run: python tests/benchmarks/stories.py [BEGIN OF A STORY]
"""

import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

from programs import head, row

# isort: split
from lists import WAYS, Story, edit_list, import_list

from petstore_tools import Plan, Sandbox

COUNTS = ("questions", "needless", "doubled", "lost")
TEXT = Path(__file__).with_suffix(".txt").read_text("utf-8")
AMPLE = Plan(100_000, 10_000_000)


def play(steps, way):
    """Play a story, and return what was counted."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Sandbox(plan=AMPLE, animals=0, clock="manual") as box,
    ):
        story = Story(way, Path(folder), box)
        for times, edits in re.findall(r"(?:(\d+)x )?([^;]+)(?:; |$)", steps):
            for _ in range(int(times or 1)):
                for edit in edits.split(", "):
                    edit_list(story, edit)
                import_list(story)
                box.advance(days=1)
    return story.counts + Counter(lost=len(story.missing))


def main():
    """Print the table."""
    head(" / ".join(COUNTS), *WAYS)
    sums = [Counter() for _ in WAYS]
    for line in TEXT.splitlines():
        name, steps = line.split(": ")
        if name.startswith("".join(sys.argv[1:])):
            counts = [play(steps, way) for way in WAYS]
            sums = [*map(Counter.__add__, sums, counts)]
            show(name, counts)
    show("all", sums)


def show(name, counts):
    """Print a row of the table."""
    cells = [" / ".join(str(of[count]) for count in COUNTS) for of in counts]
    row(name, *cells)


if __name__ == "__main__":
    main()
