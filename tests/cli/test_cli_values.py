"""`import` on the command line: titles, categories and words."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from petstore_tools import PetStore, Sandbox
from petstore_tools.cli import cli

Command = Callable[..., Result]
SHEET = "Tier;Art;Zustand\nRex;Hunde;verkauft\nMia;Katzen;\nBo;Hunde;frei\n"
OPTIONS = (
    *("--columns", "Tier=name", "--columns", "Art=categoryId", "--columns", "Zustand=status"),
    *(
        "--categories",
        "kategorien.csv",
        "--status-word",
        "verkauft=sold",
        "--status-word",
        "frei=available",
    ),
    *("--default", "status=pending"),
)
ANIMALS = [("Rex", 3, "sold"), ("Mia", 4, "pending"), ("Bo", 3, "available")]


@pytest.fixture
def box() -> Any:
    """An empty service."""
    with Sandbox(plan="6000/60000", clock="system", animals=0) as found:
        yield found


@pytest.fixture
def command(box: Sandbox, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """The command line on the sandbox, in a folder with a sheet and a category file."""
    monkeypatch.setattr(PetStore, "__init__", _as_sandbox(box))
    monkeypatch.setenv("PETSTORE_STATE_DIR", str(box.state_dir))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiere.csv").write_text(SHEET, encoding="utf-8")
    (tmp_path / "kategorien.csv").write_text("id,name\n3,Hunde\n4,Katzen\n", encoding="utf-8")

    def run(*arguments: str, **more: Any) -> Result:
        return CliRunner().invoke(cli, arguments, **more)

    return run


def _as_sandbox(box: Sandbox) -> object:
    def init(self: PetStore, **_: object) -> None:
        self._open(box.store.settings, False, clock=box.clock)

    return init


def animals(box: Sandbox) -> list[tuple[Any, ...]]:
    frame = box.store.list_pets()
    return list(frame[["name", "categoryId", "status"]].itertuples(index=False, name=None))


def test_a_sheet_of_names_and_words_is_imported_with_options_alone(
    box: Sandbox, command: Command
) -> None:
    """Each value that is read differently stands in the preview, with its count."""
    done = command("import", "tiere.csv", *OPTIONS, "--yes")

    assert done.exit_code == 0, done.output
    assert animals(box) == ANIMALS
    assert "categoryId: 'Hunde' is read as 3 in 2 rows" in done.output
    assert "status: an empty cell is read as 'pending' in 1 row" in done.output


def test_other_titles_are_proposed_and_yes_accepts_none(box: Sandbox, command: Command) -> None:
    """Without a terminal the line to copy is shown; nothing is sent."""
    refused = command("import", "tiere.csv", "--yes")

    said = str(refused.exception)
    assert said.endswith(
        'To read it: store.import_pets("tiere.csv", '
        'columns={"Tier": "name", "Art": "categoryId", "Zustand": "status"}, '
        'categories={"Hunde": …, "Katzen": …}, '
        'statuses={"verkauft": "sold", "frei": "available"}) '
        "(petstore-tools import tiere.csv --columns Tier=name --columns Art=categoryId "
        "--columns Zustand=status --categories FILE "
        "--status-word verkauft=sold --status-word frei=available)"
    )
    assert animals(box) == []


def test_a_dry_run_prints_each_problem_as_json(command: Command) -> None:
    """With what fixes them, and the forecast."""
    shown = command("import", "tiere.csv", *OPTIONS[:6], "--dry-run", "--json")

    found = json.loads(shown.stdout)
    assert (found["bad_rows"], found["to_send"], len(found["problems"])) == (3, 0, 5)
    assert (
        found["fixes"][0]["help"] == 'name the category file: categories="FILE" (--categories FILE)'
    )
    assert found["forecast"]["requests"] == 0
