"""`report` and `history`: on the screen and in files."""

import re
from pathlib import Path

import click
import pandas as pd
import pytest
from harms import full_disk
from paging_server import PagingService, open_store

from petstore_tools import PetStore, Sandbox
from petstore_tools.cli.report import paint


@pytest.fixture
def run_after_a_change(run, box):
    """Two kept listings; animal 2 was sold in between; two categories have one name."""
    run("report")
    box.change(2, status="sold")
    run("report")
    Path("names.csv").write_text("id,name\n1,Dogs\n2,Dogs\n", "utf-8")
    return run


def test_a_damaged_history_is_named_and_no_output_is_missing(run_after_a_change, box):
    """
    `history` ends with 2, a report and a listing with 0; a report on one status says
    why.
    """
    path = PetStore(
        base_url=box.base_url, api_key=box.api_key
    ).history_database.database.path
    path.write_bytes(b"")
    refused = run_after_a_change("history", code=2)
    path.write_bytes(b"no database " * 400)
    report = run_after_a_change("report -o a.html -o b.xlsx --since last")
    path.unlink()
    sold = run_after_a_change("report --status sold --since last")

    assert "To begin a new history, move it away" in refused.stderr
    assert report.stderr.count("report in ") == 2
    words = "not kept as a snapshot, and not compared with an earlier listing"
    assert f"Note: {words}: the history" in report.stderr
    assert "only complete listings of all animals are compared" in sold.stdout


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


def test_a_terminal_shows_statuses_in_their_colours():
    """The text is the same without them."""
    with Sandbox(animals=60) as box:
        report = box.store.status_report()
    painted = paint(report)

    assert click.unstyle(painted) == str(report)
    for status, colour in report.colours.items():
        red, green, blue = bytes.fromhex(colour[1:])
        assert f"\x1b[38;2;{red};{green};{blue}m{status}\x1b[0m" in painted


@pytest.mark.filterwarnings("ignore:This listing of")
def test_a_listing_that_is_not_complete_wins_over_an_alert(run, tmp_path):
    """The alert is said all the same."""
    with open_store(PagingService(250, "nothing"), tmp_path) as store:
        address = {"PETSTORE_BASE_URL": store.settings.base_url}
        line = "report --partial --alert available>0"
        report = run(line, code=1, **address)

    assert report.stdout.startswith("Alert (available>0): ")
    assert "Not proven complete" in report.stdout
