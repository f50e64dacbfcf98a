"""`import` on the command line: titles, categories and words."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from petstore_tools import Sandbox

Run = Callable[..., subprocess.CompletedProcess[str]]
SHEET = "Tier;Art;Zustand\nRex;Hunde;verkauft\nMia;Katzen;\nBo;Hunde;frei\n"
OPTIONS = (
    "--columns Tier=name --columns Art=categoryId --columns Zustand=status "
    "--categories kategorien.csv --status-word verkauft=sold --status-word frei=available "
    "--default status=pending"
).split()
ANIMALS = [("Rex", 3, "sold"), ("Mia", 4, "pending"), ("Bo", 3, "available")]


@pytest.fixture
def box() -> Any:
    """An empty service."""
    with Sandbox(plan="6000/60000", clock="system", animals=0) as found:
        yield found


@pytest.fixture(autouse=True)
def _sheet(tmp_path: Path) -> None:
    (tmp_path / "tiere.csv").write_text(SHEET, encoding="utf-8")
    (tmp_path / "kategorien.csv").write_text("id,name\n3,Hunde\n4,Katzen\n", encoding="utf-8")


def animals(box: Sandbox) -> list[tuple[Any, ...]]:
    frame = box.store.list_pets()
    return list(frame[["name", "categoryId", "status"]].itertuples(index=False, name=None))


def test_a_sheet_of_names_and_words_is_imported_with_options_alone(box: Sandbox, run: Run) -> None:
    """Each value that is read differently stands in the preview, with its count."""
    done = run("import", "tiere.csv", *OPTIONS, "--yes")

    assert done.returncode == 0, done.stderr
    assert animals(box) == ANIMALS
    assert "categoryId: 'Hunde' is read as 3 in 2 rows" in done.stderr
    assert "status: an empty cell is read as 'pending' in 1 row" in done.stderr


def test_other_titles_are_proposed_and_yes_accepts_none(box: Sandbox, run: Run) -> None:
    """Without a terminal the line to copy is shown; nothing is sent."""
    refused = run("import", "tiere.csv", "--yes")

    said = refused.stderr.rstrip()
    assert said.endswith(
        'To read it: store.import_pets("tiere.csv", '
        'columns={"Tier": "name", "Art": "categoryId", "Zustand": "status"}, '
        'categories={"Hunde": …, "Katzen": …}, '
        'statuses={"verkauft": "sold", "frei": "available"}) '
        "(petstore-tools import tiere.csv --columns Tier=name --columns Art=categoryId "
        "--columns Zustand=status --categories FILE "
        "--status-word verkauft=sold --status-word frei=available); replace each … by the title "
        "or letter, the id or the word that is meant, and FILE by a file with the columns id and name"
    )
    assert animals(box) == []


def test_the_line_to_copy_keeps_every_option(box: Sandbox, run: Run) -> None:
    """With the category file in its place, it is a command that imports as was asked."""
    asked = (
        "--strict --drop-duplicates --wait --first 2 --doubtful skip --encoding utf-8 "
        '--name "new year" --default status=pending --columns Tier=name'
    )

    refused = run("import", "tiere.csv", *shlex.split(asked))

    command = refused.stderr.partition("(petstore-tools ")[2].partition(");")[0]
    assert all(option in command for option in asked.split(" --"))
    done = run(*shlex.split(command.replace("FILE", "kategorien.csv")), "--yes")
    assert done.returncode == 0, done.stderr
    assert animals(box) == ANIMALS[:2]


def test_a_dry_run_prints_each_problem_as_json(run: Run) -> None:
    """With what fixes them, and the forecast."""
    shown = run("import", "tiere.csv", *OPTIONS[:6], "--dry-run", "--json")

    found = json.loads(shown.stdout)
    assert (found["bad_rows"], found["to_send"], len(found["problems"])) == (3, 0, 5)
    assert (
        found["fixes"][0]["help"] == 'name the category file: categories="FILE" (--categories FILE)'
    )
    assert found["forecast"]["requests"] == 0


def test_a_sheet_without_a_header_is_read_by_letters(
    box: Sandbox, run: Run, tmp_path: Path
) -> None:
    """`--no-header` says that the first row is an animal; it needs the letters."""
    (tmp_path / "plain.csv").write_text("Rex,3\nMia,4\n")
    letters = ("--columns", "A=name", "--columns", "B=categoryId")

    refused = run("import", "plain.csv", "--no-header", "--yes")
    done = run("import", "plain.csv", "--no-header", *letters, "--yes")

    assert "header=False (--no-header) needs all columns by letter" in refused.stderr
    assert done.returncode == 0, done.stderr
    assert sorted(name for name, *_ in animals(box)) == ["Mia", "Rex"]
