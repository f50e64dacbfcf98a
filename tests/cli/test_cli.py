"""The command line as people and scripts meet it: words, streams and exit codes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from proxy import FaultProxy
from services import free_port

from petstore_tools import Sandbox
from petstore_tools.sandbox import samples
from petstore_tools.sandbox.faults import Fault

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_import_asks_and_without_a_terminal_sends_nothing(
    run: Run, box: Sandbox, tmp_path: Path
) -> None:
    """--yes says that it is meant; the JSON object at the end has the documented fields."""
    (tmp_path / "a.csv").write_text(samples.animals_csv(5, seed=5), encoding="utf-8")

    asked = run("import", "a.csv")
    assert asked.returncode == 2
    assert "there is no terminal to ask in" in asked.stderr
    assert len(box.store.list_pets()) == 25

    done = run("import", "a.csv", "--yes", "--json")
    assert done.returncode == 0
    told = json.loads(done.stdout)
    fields = "rows created rejected unknown unsent skipped stopped resumes_at journal files "
    assert list(told) == [*fields.split(), "not_written", "notes"]
    assert (told["rows"], told["created"]) == (5, 5)
    assert "5 to send" in done.stderr
    assert len(box.store.list_pets()) == 30


@pytest.mark.case("P55")
@pytest.mark.parametrize(
    ("code", "error", "arguments", "here"),
    [
        (0, None, "good.csv --yes", {}),
        (1, None, "bad.csv --yes", {}),
        (1, None, "bad.csv --dry-run", {}),
        (2, "BadParameter", "good.csv --first 0", {}),
        (2, "SheetError", "absent.csv --dry-run", {}),
        (2, "SheetError", "bad.csv --yes --strict", {}),
        (2, "SettingsError", "good.csv", {}),
        (2, "SettingsError", "good.csv --yes", {"PETSTORE_PLAN": "none"}),
        (2, "DoubtfulRowsError", "copy.csv --yes", {}),
        (3, "UnauthorizedError", "good.csv --yes", {"PETSTORE_API_KEY": "psk_another"}),
        (4, None, "good.csv --yes --doubtful send", {"PETSTORE_PLAN": "100/1"}),
        (5, None, "good.csv --yes", {"PETSTORE_BASE_URL": "http://127.0.0.1:9/v1"}),
    ],
)
def test_json_is_one_object_with_every_exit_code(
    run: Run, box: Sandbox, tmp_path: Path, code: int, error: str, arguments: str, here: Any
) -> None:
    """A program that reads it learns what happened, whatever that was."""
    box.add([("Old", 3, None)])
    for name, row in {"good": "Rex,3", "bad": "Mia,x", "copy": "Old,3"}.items():
        (tmp_path / f"{name}.csv").write_text(f"name,categoryId\nTom,4\n{row}\n")

    done = run("import", *arguments.split(), "--json", **here)

    told = json.loads(done.stdout)
    assert (done.returncode, told.get("error")) == (code, error), done.stderr
    assert error is None or told["message"].split(".")[0] in done.stderr.replace("\n", " ")
    assert ("doubtful" in told) == (arguments in ("bad.csv --dry-run", "copy.csv --yes"))


def test_exit_codes_of_a_listing_are_those_of_an_import(run: Run, box: Sandbox) -> None:
    """A key that is refused, and a service that answers nonsense."""
    assert run("list", PETSTORE_API_KEY="wrong").returncode == 3
    box.faults.append(Fault("garbage"))
    assert run("report").returncode == 5


def test_a_copy_is_refused_before_anybody_is_asked(run: Run, tmp_path: Path) -> None:
    """And the message says what to say."""
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(samples.animals_csv(5, seed=5), encoding="utf-8")
    assert run("import", "a.csv", "--yes").returncode == 0

    done = run("import", "b.csv")

    assert done.returncode == 2
    assert "--doubtful skip" in done.stderr.splitlines()[-1]
    assert run("import", "b.csv", "--yes", "--doubtful", "skip").returncode == 1
    assert run("import", "b.csv", "--yes").returncode == 0


def test_a_stopped_import_ends_with_the_command_that_goes_on(run: Run, tmp_path: Path) -> None:
    """And the earliest time."""
    (tmp_path / "good.csv").write_text(samples.animals_csv(5, seed=5), encoding="utf-8")

    done = run("import", "good.csv", "--yes", PETSTORE_PLAN="100/2")

    assert done.returncode == 4
    last = done.stderr.splitlines()[-1]
    assert last.startswith("Continue with: petstore-tools import good.csv --yes   # from 20")


def test_keys_are_shown_once_and_serve_runs_on_them(tmp_path: Path, run: Run) -> None:
    """Create prints the lines that set the variables; list shows no key; serve answers it."""
    made = run("keys", "create", "--plan", "pro", "--database", "s.db")
    key = next(line.partition("=")[2] for line in made.stdout.splitlines() if "API_KEY=" in line)
    assert key.startswith("psk_")
    listed = run("keys", "list", "--database", "s.db")
    assert "pro (300" in listed.stdout
    assert key not in listed.stdout
    port = str(free_port())
    server = subprocess.Popen(
        [sys.executable, "-m", "petstore_tools", "serve", "--port", port, "--database", "s.db"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stderr is not None
        assert (
            f"Serving production at http://127.0.0.1:{port}/v1 from s.db"
            in server.stderr.readline()
        )
        done = run(
            "list",
            PETSTORE_BASE_URL=f"http://127.0.0.1:{port}/v1",
            PETSTORE_API_KEY=key,
            PETSTORE_PLAN="pro",
        )
    finally:
        server.terminate()
        server.communicate(timeout=20)
    assert done.returncode == 0


@pytest.mark.case("P34")
def test_a_person_decides_what_a_look_cannot(run: Run, box: Sandbox, tmp_path: Path) -> None:
    """Somebody adds equal animals: the lost row is ambiguous, listed, shown, decided, done."""
    (tmp_path / "a.csv").write_text(samples.animals_csv(5, seed=5), encoding="utf-8")
    posted: list[int] = []

    def lose(method: str, n: int) -> str:
        if method == "POST":
            posted.append(n)
        elif len(posted) == 5:
            posted.append(0)
            box.add(samples.animals(5, seed=5))
        return "drop after" if (method, n) == ("POST", 2) else "pass"

    with FaultProxy(box.base_url, lose) as proxy:
        here = {"PETSTORE_BASE_URL": proxy.base_url, "PETSTORE_RECONCILE_AFTER_S": "0.2"}
        done = run("import", "a.csv", "--yes", "--json", **here)
        assert (done.returncode, json.loads(done.stdout)["unknown"]) == (1, 1)
        name = json.loads(done.stdout)["journal"]

        assert name in run("imports", **here).stdout
        shown = run("imports", "show", name[:4], **here)
        found = re.search(
            r"^ *(\d+) .* ambiguous +(\d+) or \d+ .* 2 new animals", shown.stdout, re.M
        )
        assert found, shown.stdout
        row, pet_id = found.groups()

        assert run("imports", "reconcile", name, **here).returncode == 1  # still ambiguous
        assert (
            run("imports", "reconcile", name, "--row", "1", "--created", "9", **here).returncode
            == 2
        )
        assert run("imports", "reconcile", name, "--row", row, **here).returncode == 2
        told = run("imports", "reconcile", name, "--row", row, "--created", pet_id, **here)
        assert (told.returncode, told.stdout) == (0, f"row {row} is the animal with id {pet_id}\n")

        again = run("import", "a.csv", "--yes", **here)
        assert (again.returncode, proxy.counts["POST"]) == (0, 5)
        assert "0 created now, 5 before" in again.stdout


def test_a_forgotten_import_counts_as_new(run: Run, tmp_path: Path) -> None:
    """Only after a yes; then its animals are met as standing in the inventory."""
    (tmp_path / "a.csv").write_text(samples.animals_csv(5, seed=5), encoding="utf-8")
    name = json.loads(run("import", "a.csv", "--yes", "--json").stdout)["journal"]

    unasked = run("imports", "forget", name)
    assert (unasked.returncode, "there is no terminal to ask in" in unasked.stderr) == (2, True)
    assert "--yes" in unasked.stderr
    assert "Interrupted" not in unasked.stderr
    assert name in run("imports").stdout
    assert run("imports", "forget", name, "--yes").stdout == f"import {name} is forgotten\n"

    assert run("imports").stdout == "No imports yet.\n"
    again = run("import", "a.csv", "--yes")
    assert (
        again.returncode,
        "5 rows of a.csv may be animals that exist already" in again.stderr,
    ) == (
        2,
        True,
    )
