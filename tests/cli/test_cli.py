"""The command line as people and scripts meet it: words, streams and exit codes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from proxy import FaultProxy, reply
from serving import free_port

from petstore_tools import Sandbox
from petstore_tools.sandbox import samples

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_list_shows_twenty_rows_and_their_completeness(run: Run) -> None:
    """Data on stdout, talk on stderr."""
    done = run("list")

    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 22
    assert "5 more" in done.stderr
    assert "complete: 25 animals" in done.stderr


def test_list_writes_a_file_that_import_reads(run: Run, tmp_path: Path) -> None:
    """CSV with the document's names."""
    assert run("list", "-o", "pets.csv").returncode == 0
    assert (tmp_path / "pets.csv").read_text().splitlines()[0] == "id,name,categoryId,status"
    again = run("import", "pets.csv", "--yes")
    assert (again.returncode, "'id'" in again.stderr) == (2, True)
    assert "25 to send" in run("import", "pets.csv", "--dry-run", "--existing", "send").stdout
    assert run("list", "--status", "sold", "-o", "pets.json").returncode == 0
    assert {pet["status"] for pet in json.loads((tmp_path / "pets.json").read_text())} == {"sold"}


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
    assert list(told) == [
        "rows",
        "created",
        "rejected",
        "unknown",
        "unsent",
        "held",
        "skipped",
        "resumes_at",
        "journal",
        "not_written",
    ]
    assert (told["rows"], told["created"]) == (5, 5)
    assert "5 to send" in done.stderr
    assert len(box.store.list_pets()) == 30


@pytest.mark.case("P55")
def test_exit_codes_tell_what_happened(run: Run, box: Sandbox, tmp_path: Path) -> None:
    """0, 1, 2, 3, 4 and 5, each from a real cause."""
    (tmp_path / "good.csv").write_text(samples.animals_csv(3, seed=5), encoding="utf-8")
    (tmp_path / "bad.csv").write_text("name,categoryId\nRex,3\nMia,4\nMax,cats\n")

    assert run("quota").returncode == 0
    assert run("import", "bad.csv", "--yes").returncode == 1
    assert run("import", "bad.csv", "--yes", "--strict").returncode == 2
    assert run("import", "bad.csv", "--dry-run", "--strict").returncode == 2
    assert run("import", "bad.csv", "--dry-run").returncode == 1
    assert run("list", PETSTORE_API_KEY="wrong").returncode == 3
    assert run("import", "good.csv", "--yes", PETSTORE_API_KEY="wrong").returncode == 3
    assert run("import", "good.csv", "--yes", PETSTORE_PLAN="5/2").returncode == 4
    assert run("list", PETSTORE_BASE_URL="http://127.0.0.1:1/v1").returncode == 5
    with FaultProxy(
        box.base_url, lambda method, n: reply(302, Location="https://x.example/")
    ) as proxy:
        assert run("report", PETSTORE_BASE_URL=proxy.base_url).returncode == 5
    with FaultProxy(box.base_url, lambda method, n: reply(429, Retry_After="7200")) as proxy:
        stopped = run("list", PETSTORE_BASE_URL=proxy.base_url)
    assert stopped.returncode == 4


def test_a_copy_is_refused_before_anybody_is_asked(run: Run, tmp_path: Path) -> None:
    """And the message says what to say."""
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(samples.animals_csv(5, seed=5), encoding="utf-8")
    assert run("import", "a.csv", "--yes").returncode == 0

    done = run("import", "b.csv")

    assert done.returncode == 2
    assert "--existing skip" in done.stderr.splitlines()[-1]
    assert run("import", "b.csv", "--yes", "--existing", "skip").returncode == 0


def test_a_stopped_import_ends_with_the_command_that_goes_on(run: Run, tmp_path: Path) -> None:
    """And the earliest time."""
    (tmp_path / "good.csv").write_text(samples.animals_csv(5, seed=5), encoding="utf-8")

    done = run("import", "good.csv", "--yes", PETSTORE_PLAN="100/2")

    assert done.returncode == 4
    last = done.stderr.splitlines()[-1]
    assert last.startswith("Continue with: petstore-tools import good.csv --yes   # from 20")


@pytest.mark.case("P55")
@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("list", "--status", "gone"), "available"),
        (("list", "--first", "0"), "--first"),
        (("list", "--colour", "red"), "--colour"),
        (("list", "-o", "pets.docx"), ".csv"),
        (("list", "-o", "nowhere/pets.csv"), "no folder"),
        (("report", "-o", "."), "cannot be written"),
        (("import", "nothing.csv"), "no file"),
        (("import", "."), "one of these: .csv"),
        (("import", "x.csv", "--columns", "name"), "TITLE=FIELD"),
        (("nothing",), "No such command"),
        (("keys", "revoke", "zzz", "--database", "k.db"), "no valid key"),
        (("keys", "create", "--plan", "gold", "--database", "k.db"), "unknown plan"),
        (("keys", "list", "--database", "."), "--database"),
    ],
)
def test_bad_input_is_one_clear_sentence_and_exit_code_2(
    run: Run, arguments: tuple[str, ...], word: str
) -> None:
    """Never a traceback."""
    done = run(*arguments)

    assert done.returncode == 2
    assert word in done.stderr
    assert done.stdout == ""


def test_bad_settings_are_exit_code_2(run: Run) -> None:
    """The message names what to correct."""
    done = run("list", PETSTORE_BASE_URL="http://127.0.0.1:1")
    assert (done.returncode, "did you mean http://127.0.0.1:1/v1" in done.stderr) == (2, True)
    assert run("list", PETSTORE_PLAN="gold").returncode == 2
    assert run("list", PETSTORE_API_KEY="").returncode == 2


@pytest.mark.parametrize("ending", ["html", "md", "json"])
def test_report_writes_a_file_and_prints_a_table(run: Run, tmp_path: Path, ending: str) -> None:
    """The same numbers on the terminal and in the file."""
    assert "unset" in run("report").stdout
    assert run("report", "-o", f"r.{ending}").returncode == 0
    assert "unset" in (tmp_path / f"r.{ending}").read_text(encoding="utf-8")


def test_the_demo_does_the_main_job_from_any_folder(run: Run, tmp_path: Path) -> None:
    """1,000 animals imported, listed and reported; the path of the report on screen."""
    done = run("demo")

    assert done.returncode == 0
    assert "1,000 rows: 1,000 created" in done.stdout
    assert "Complete: 1,000 animals" in done.stdout
    assert str(tmp_path / "petstore-report.html") in done.stdout
    assert "1,000" in (tmp_path / "petstore-report.html").read_text(encoding="utf-8")


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


@pytest.mark.parametrize(
    "command",
    [
        (),
        ("list",),
        ("import",),
        ("report",),
        ("quota",),
        ("demo",),
        ("serve",),
        ("keys",),
        ("configure",),
    ],
)
def test_help_is_there_for_every_command(run: Run, command: tuple[str, ...]) -> None:
    """With examples where there are options to combine."""
    done = run(*command, "--help")

    assert done.returncode == 0
    assert "Usage: petstore-tools" in done.stdout


def test_a_closed_pipe_is_quiet(box: Sandbox, tmp_path: Path) -> None:
    """`petstore-tools list | head -1` is no error."""
    given = {**os.environ, "PETSTORE_BASE_URL": box.base_url, "PETSTORE_API_KEY": box.api_key}
    process = subprocess.Popen(
        [sys.executable, "-m", "petstore_tools", "list"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=given,
        cwd=tmp_path,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    said = process.stderr.read()
    process.stderr.close()

    assert "Traceback" not in said
    assert process.wait(20) == 0


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
        assert (told.returncode, told.stdout) == (0, f"row {row} is id {pet_id}\n")

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
        "5 of 5 rows in a.csv match animals that already exist" in again.stderr,
    ) == (
        2,
        True,
    )
