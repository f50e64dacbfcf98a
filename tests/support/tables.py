"""Tables of cases that are kept as text or JSON beside their tests."""

import json
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
CORPUS = TESTS / "importing" / "corpus"
WIRE = sorted((TESTS / "wire").glob("*.json"))
STEP = re.compile(r'("[^"]+"|[\w./-]+)(?:: | )(\S.*)')


def corpus_file(name):
    """
    Return the path of a file of the corpus, which has a folder for each topic; also of
    a file that does not exist.
    """
    return next(CORPUS.rglob(name), CORPUS / name)


def read_cases(test_file, name):
    """
    Read a table beside a test, one case a line: `title: cell | cell`.

    Lines that begin with `#` say what the columns are.
    """
    text = Path(test_file).with_name(name).read_text("utf-8")
    cases = []
    for line in text.splitlines():
        title, _, cells = line.partition(": ")
        if cells and not line.startswith("#"):
            values = [cell.strip() for cell in cells.split("|")]
            cases.append(pytest.param(*values, id=title))
    return cases


def read_json(test_file, name):
    """Read what stands as JSON beside a test."""
    return json.loads(Path(test_file).with_name(name).read_text("utf-8"))


def read_stories(test_file, name):
    """Read stories beside a test: behind each title its steps, each `verb text`."""
    text = Path(test_file).with_name(name).read_text("utf-8")
    stories = []
    for story in text.split("\n== ")[1:]:
        title, *lines = story.strip().splitlines()
        steps = []
        for line in lines:
            match = STEP.fullmatch(line)
            assert match, line
            steps.append((match[1].strip('"'), match[2]))
        stories.append(pytest.param(steps, id=title))
    return stories


def soak_parts(parts):
    """Return the parts of a long test: one is played each time, all with `-m soak`."""
    return [
        pytest.param(
            part, marks=[pytest.mark.soak] * (number > 0), id=f"part{number:03}"
        )
        for number, part in enumerate(parts)
    ]


def soak_seeds(first, size, *, total):
    """Return the seeds of a random test: the first few, and the others in parts."""
    starts = range(first, total, size)
    return soak_parts([range(first), *(range(n, n + size) for n in starts)])


def read_table(test_file, name):
    """Read a table beside a test, a JSON object: title and cells of each case."""
    rows = read_json(test_file, name)
    return [pytest.param(*cells, id=title) for title, cells in rows.items()]
