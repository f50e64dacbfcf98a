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


@pytest.mark.case("P55")
@pytest.mark.parametrize(
    ("code", "error", "arguments", "here"),
    [
        (0, None, "good.csv --yes", {}),
        (1, None, "bad.csv --yes", {}),
        (1, None, "bad.csv --dry-run", {}),
        (1, None, "copy.csv --yes --doubtful skip", {}),
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
    """
    A program that reads it learns what happened, whatever that was; nothing is sent without a yes.
    """
    box.add([("Old", 3, None)])
    for name, row in {"good": "Rex,3", "bad": "Mia,x", "copy": "Old,3"}.items():
        (tmp_path / f"{name}.csv").write_text(f"name,categoryId\nTom,4\n{row}\n")

    done = run("import", *arguments.split(), "--json", **here)

    told = json.loads(done.stdout)
    assert (done.returncode, told.get("error")) == (code, error), done.stderr
    assert error is None or told["message"].split(".")[0] in done.stderr.replace("\n", " ")
    of_a_preview = error == "DoubtfulRowsError" or "bad.csv --dry-run" in arguments
    assert ("doubtful" in told) == of_a_preview
    if error is None and not of_a_preview:
        fields = "rows created rejected unknown unsent skipped stopped resumes_at journal files"
        assert list(told) == [*fields.split(), "not_written", "notes"]
    assert (box.traffic()["method"] == "POST").sum() == told.get("created", 0)


def test_exit_codes_of_a_listing_are_those_of_an_import(run: Run, box: Sandbox) -> None:
    """A key that is refused, and a service that answers nonsense."""
    assert run("list", PETSTORE_API_KEY="wrong").returncode == 3
    box.faults.append(Fault("garbage"))
    assert run("report").returncode == 5


def test_a_stopped_import_is_shown_with_the_command_that_goes_on(run: Run, tmp_path: Path) -> None:
    """And the earliest time; `imports` lists it, `show` its rows."""
    for name in ("many", "other"):
        rows = [f"{name} {n},3" for n in range(3)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["name,categoryId", *rows]))

    done = run("import", "many.csv", "--yes", PETSTORE_PLAN="100/2")
    run("import", "other.csv", "--yes")

    last = done.stderr.splitlines()[-1]
    assert done.returncode == 4
    assert last.startswith("Continue with: petstore-tools import many.csv --yes   # from 20")
    listed = run("imports", "--environment", "production")
    (name,) = re.findall(r"^(\w+) +many.csv", listed.stdout, re.M)
    assert run("imports", "show", name).stdout.count("  unsent\n") == 2
    assert run("imports", "--environment", "staging").stdout == "No imports yet.\n"
    assert "several imports begin with '': " in run("imports", "show", "").stderr


def test_keys_are_shown_once_and_serve_runs_on_them(tmp_path: Path, run: Run) -> None:
    """Create prints the lines that set the variables; list shows no key; serve answers it."""
    assert run("keys", "list", "--database", "s.db").stdout == "No keys yet.\n"
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
def test_a_person_decides_what_a_look_cannot(
    run: Run, box: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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

    monkeypatch.setenv("PETSTORE_RECONCILE_AFTER_S", "0.2")
    with FaultProxy(box.base_url, lose) as proxy:
        service = {"PETSTORE_BASE_URL": proxy.base_url}
        done = run("import", "a.csv", "--yes", "--json", **service)
        told = json.loads(done.stdout)
        assert (done.returncode, told["unknown"]) == (1, 1)

        name = told["journal"]
        shown = run("imports", "show", name[:4]).stdout
        found = re.search(r"^ *(\d+) .* ambiguous +(\d+) or \d+ .* 2 new animals", shown, re.M)
        assert found, shown
        row, pet_id = found.groups()

        for code, decision in (
            (1, ()),  # still ambiguous
            (2, ("--row", "1", "--created", "9")),
            (2, ("--row", row)),
            (0, ("--row", row, "--created", pet_id)),
        ):
            decided = run("imports", "reconcile", name, *decision, **service)
            assert decided.returncode == code
        assert decided.stdout == f"row {row} is the animal with id {pet_id}\n"

        again = run("import", "a.csv", "--yes", **service)
        assert (again.returncode, proxy.counts["POST"]) == (0, 5)
        assert "0 created now, 5 before" in again.stdout


def test_a_forgotten_import_counts_as_new(run: Run, tmp_path: Path) -> None:
    """
    Only after a yes; then its animals are met as standing in the inventory. A copy of its file is
    refused before anybody is asked, and the message says what to say.
    """
    for path in ("a.csv", "b.csv"):
        (tmp_path / path).write_text(samples.animals_csv(5, seed=5), encoding="utf-8")
    name = json.loads(run("import", "a.csv", "--yes", "--json").stdout)["journal"]

    copied = run("import", "b.csv")
    unasked = run("imports", "forget", name)

    assert "--doubtful skip" in copied.stderr.splitlines()[-1]
    assert unasked.returncode == 2
    assert "there is no terminal to ask in. Pass --yes" in unasked.stderr
    assert name in run("imports").stdout
    assert run("imports", "forget", name, "--yes").stdout == f"import {name} is forgotten\n"
    assert run("imports").stdout == "No imports yet.\n"
    again = run("import", "a.csv", "--yes").stderr
    assert "5 rows of a.csv may be animals that exist already" in again
