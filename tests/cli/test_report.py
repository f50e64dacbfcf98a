"""`report` and `history`: on the screen and in files."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from harms import full_disk

from petstore_tools import PetStore


@pytest.fixture
def run_after_a_change(run, box):
    """Two kept listings; animal 2 was sold in between; two categories have one name."""
    run("report")
    box.change(2, status="sold")
    run("report")
    Path("names.csv").write_text("id,name\n1,Dogs\n2,Dogs\n", "utf-8")
    return run


def test_a_report_names_categories_and_sends_nothing_for_two_dates_of_the_past(
    run_after_a_change, box
):
    """
    As the settings say, or `--categories`; those of one name have their id, too; a PDF
    is the printed page.
    """
    requests = len(box.traffic())
    report = "report --since 1d --until 0s -o"
    variable = {"PETSTORE_CATEGORIES": "names.csv"}
    run_after_a_change(f"{report} a.md", **variable)
    run_after_a_change(f"{report} b.md --categories names.csv")
    refused = run_after_a_change("report -o r.pdf", code=2)

    for name in ("a.md", "b.md"):
        assert "Dogs (1)" in Path(name).read_text("utf-8")
    assert "for a PDF, print the page (.html)" in refused.stderr
    assert len(box.traffic()) == requests


def test_the_history_of_one_animal_is_a_table(run_after_a_change, box):
    """With the two listings between which it changed; no request is sent."""
    requests = len(box.traffic())

    done = run_after_a_change("history --id 2")

    first, second = done.stdout.splitlines()[-2:]
    assert re.search(r"available( +20\d\d-\d\d-\d\d \d\d:\d\d){3}", first)
    assert "sold" in second
    assert "2 snapshots" in done.stderr
    assert len(box.traffic()) == requests


def test_ids_have_all_their_digits_and_a_status_that_is_not_set_is_empty(run, box):
    """No separators, and no nan."""
    box.add([("Rex", 1_234_567, None)])
    run("report")

    assert re.search(r"^26 +Rex +1234567 +20", run("history --id 26").stdout, re.M)


def test_the_history_is_written_to_a_file(run_after_a_change):
    """As a listing is, in each of its formats."""
    run_after_a_change("history -o h.csv", PETSTORE_CATEGORIES="names.csv")

    frame = pd.read_csv("h.csv")
    assert frame["id"].value_counts()[2] == 2
    assert set(frame.loc[frame["categoryId"] == 1, "category"]) == {"Dogs"}
    assert frame.columns[-2:].tolist() == ["ended_after (UTC)", "ended_by (UTC)"]


def test_without_a_kept_listing_it_says_so(run):
    """And how many there are."""
    done = run("history")

    assert "Keep one: petstore-tools report" in done.stdout
    assert "no snapshots yet" in done.stderr


@pytest.mark.parametrize("listings", ["--before 0s", "--after 2026-01-01"])
def test_listings_are_forgotten_once_it_was_asked_for(run_after_a_change, listings):
    """
    One of the two dates says which; without a terminal and without `--yes` nothing
    goes.
    """
    neither = run_after_a_change("history forget --yes", code=2)
    refused = run_after_a_change(f"history forget {listings}", code=2)
    done = run_after_a_change(f"history forget {listings} --yes")

    assert "--before DATE or --after DATE" in neither.stderr
    assert "Nothing was forgotten" in refused.stderr
    assert "2 listings forgotten; no snapshots yet" in done.stdout


def test_a_damaged_history_is_named_and_no_output_is_missing(run_after_a_change, box):
    """
    `history` ends with 2, a report and a listing with 0; a report on one status says
    why.
    """
    path = PetStore(base_url=box.base_url, api_key=box.api_key).history_file.path
    path.write_bytes(b"")
    refused = run_after_a_change("history", code=2)
    path.write_bytes(b"no database " * 400)
    report = run_after_a_change("report -o a.html -o b.xlsx --since last")
    path.unlink()
    sold = run_after_a_change("report --status sold --since last")

    assert "To begin a new history, move it away" in refused.stderr
    assert report.stderr.count("report in ") == 2
    assert "Note: not compared with an earlier listing: the history" in report.stderr
    assert (
        "no earlier snapshot to compare with: a report on all animals keeps one"
        in sold.stdout
    )


def test_a_name_like_a_formula_is_text_in_a_file(run, box):
    """
    In a CSV behind a quote; numbers that Excel would round are text, too, and a status
    that is not set is empty.
    """
    box.add([("=1+1", 2**53 + 1, "sold"), ("Ida", 3, None)])
    run("report")
    for name in ("a.csv", "a.xlsx"):
        run("history -o", name)
    frame = pd.read_excel("a.xlsx", engine="calamine", dtype=str)

    assert "26,'=1+1,9007199254740993,sold" in Path("a.csv").read_text()
    assert "27,Ida,3,," in Path("a.csv").read_text()
    assert frame.iloc[-2, 1:4].tolist() == ["=1+1", str(2**53 + 1), "sold"]


def test_several_outputs_cost_one_listing_and_carry_the_same_numbers(run, box):
    """The second report compares with the first one, not with itself."""
    run("report -o first.html")
    box.add([("Newcomer", 1, "sold")])
    run("report -o r.json -o r.html -o r.xlsx -o r.eml --since last")

    document = json.loads(Path("r.json").read_text("utf-8"))
    assert len(box.traffic()) == 3  # one asked for signs
    assert {"what": "new", "animals": 1} in document["summary"]
    assert document["transitions"] == [{"from": "new", "to": "sold", "animals": 1}]
    assert "<b>1</b><br>new" in Path("r.html").read_text("utf-8")
    assert len([*Path().glob("r.*")]) == 4


def test_an_output_that_cannot_be_written_is_named_and_stops_no_other(
    run_after_a_change,
):
    """Where a disk is full, or another program has the file open."""
    command = "report --since 1d --until 0s -o a.html -o b.md -o c.xlsx"
    with full_disk(5_000):
        report = run_after_a_change(command, code=2)
        history = run_after_a_change("history -o h.xlsx", code=2)

    assert Path("b.md").exists()
    errors = re.findall("Error: (.*) cannot be written", report.stderr + history.stderr)
    assert errors == ["a.html", "c.xlsx", "h.xlsx"]
