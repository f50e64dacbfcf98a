"""`list`: on the screen, in a file, from a snapshot."""

import json
import re
from pathlib import Path

import pandas as pd

from petstore_tools.sandbox.faults import Fault


def test_twenty_rows_are_shown_and_their_completeness(run):
    """Data on stdout, talk on stderr."""
    done = run("list")

    assert len(done.stdout.splitlines()) == 22
    assert "5 more" in done.stderr
    assert "complete: 25 animals" in done.stderr


def test_a_status_may_be_typed_in_any_case(run):
    """`--status Sold` is `sold`."""
    run("list --status Sold -o pets.json")
    assert {pet["status"] for pet in json.loads(Path("pets.json").read_text())} == {
        "sold"
    }


def test_the_names_of_the_categories_stand_beside_their_ids(run, box):
    """
    None where the file has none; the four columns of the document stay as they are.
    """
    Path("names.csv").write_text("id,name\n3,Dogs\n", "utf-8")
    env = {"PETSTORE_CATEGORIES": "names.csv"}
    box.add([("Rex", 3, "sold"), ("Tom", 99, None)])

    screen = run("list", **env)
    run("list -o pets.csv", **env)

    frame = pd.read_csv("pets.csv")
    columns = "id name categoryId category status".split()
    assert frame.columns[:5].tolist() == columns
    assert frame["category"].fillna("").tolist()[-2:] == ["Dogs", ""]
    assert frame["categoryId"].tolist()[-2:] == [3, 99]
    assert screen.stdout.split()[:5] == columns


def test_a_listing_from_a_snapshot_says_so(run, box):
    """`--max-age`: no request, and of what time; a fresh one does not claim it."""
    first = run("list --max-age 1h")
    requests = len(box.traffic())

    second = run("list --max-age 1h")

    assert len(box.traffic()) == requests
    assert "from the snapshot" not in first.stderr
    assert re.search(r"from the snapshot of 20.* UTC, no request$", second.stderr, re.M)


def test_exit_codes_of_a_listing_are_those_of_an_import(run, box):
    """A key that is refused, and a service that answers nonsense."""
    run("list", code=3, PETSTORE_API_KEY="wrong")
    box.faults.append(Fault("garbage"))
    run("report", code=5)
