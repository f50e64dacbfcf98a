"""
`petstore-tools imports`: what it shows, of which environment, and how an import is gone on with.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from commands import run

from petstore_tools import Sandbox
from petstore_tools.plans import Plan

PLAN = {"PETSTORE_PLAN": "10000/100"}


@pytest.fixture
def box() -> Iterator[Sandbox]:
    with Sandbox(plan=Plan(10_000, 100), clock="system", animals=0) as found:
        yield found


def begun(box: Sandbox, folder: Path, rows: int = 130) -> str:
    """Import more rows than a day has requests, and return the name of the import."""
    lines = [f"Animal {n},{n}" for n in range(rows)]
    (folder / "many.csv").write_text("\n".join(["name,categoryId", *lines]))
    done = run(
        "import", "many.csv", "--yes", "--no-baseline", "--json", box=box, cwd=folder, **PLAN
    )
    assert done.returncode == 4
    return str(json.loads(done.stdout)["journal"])


def test_show_stops_at_twenty_rows_unless_all_are_asked_for(box: Sandbox, tmp_path: Path) -> None:
    """As `list` does; how many more there are is said."""
    name = begun(box, tmp_path)

    short = run("imports", "show", name)
    whole = run("imports", "show", name, "--all")

    left = whole.stdout.count("Animal ")
    assert left >= 30
    assert short.stdout.count("Animal ") == 20
    assert f"... {left - 20} more: --all shows them" in short.stderr
    assert "more" not in whole.stderr


def test_imports_of_another_environment_are_left_out_where_one_is_named(
    box: Sandbox, tmp_path: Path
) -> None:
    """Without the option all are listed."""
    name = begun(box, tmp_path)

    assert name in run("imports").stdout
    assert name in run("imports", "--environment", "production").stdout
    assert run("imports", "--environment", "staging").stdout == "No imports yet.\n"


def test_resume_has_the_options_of_import(box: Sandbox, tmp_path: Path) -> None:
    """One JSON object, no bar, and what is known is skipped or sent, as it is said now."""
    name = begun(box, tmp_path)

    done = run(
        "imports",
        "resume",
        name,
        "--yes",
        "--json",
        "--no-progress",
        "--existing",
        "skip",
        box=box,
        **PLAN,
    )

    assert done.returncode == 4
    assert json.loads(done.stdout)["journal"] == name
    asked = run("imports", "resume", name, box=box, **PLAN)
    assert (asked.returncode, "there is no terminal to ask in" in asked.stderr) == (2, True)


def test_a_short_name_that_several_imports_begin_with_is_refused(
    box: Sandbox, tmp_path: Path
) -> None:
    """And one that none begins with."""
    for n in range(2):
        assert "no import begins with '': " in run("imports", "show", "", box=box).stderr
        folder = tmp_path / str(n)
        folder.mkdir()
        (folder / "one.csv").write_text(f"name,categoryId\nRex {n},{n}\n")
        assert run("import", "one.csv", "--yes", box=box, cwd=folder).returncode == 0

    assert "several imports begin with '': " in run("imports", "show", "").stderr
    assert "no import begins with 'zzz': " in run("imports", "show", "zzz").stderr


def test_a_service_without_keys_says_so(tmp_path: Path) -> None:
    """As `imports` does, in place of an empty table."""
    assert run("keys", "list", "--database", str(tmp_path / "new.db")).stdout == "No keys yet.\n"


def test_an_import_is_continued_where_it_went(box: Sandbox, tmp_path: Path) -> None:
    """Its journal names the environment, so that no option is needed; production is not asked."""
    (tmp_path / "one.csv").write_text("name,categoryId\nRex,1\n")
    there = {"PETSTORE_STAGING_BASE_URL": box.base_url, "PETSTORE_API_KEY": box.api_key}
    begin = run(
        "import", "one.csv", "--yes", "--json", "--environment", "staging", cwd=tmp_path, **there
    )
    name = json.loads(begin.stdout)["journal"]

    done = run(
        "imports",
        "resume",
        name,
        "--yes",
        cwd=tmp_path,
        **there,
        PETSTORE_BASE_URL="https://a.example/v1",
    )

    assert (done.returncode, "→ staging: 1 row: 0 created now, 1 before" in done.stdout) == (
        0,
        True,
    )


def test_sheets_after_one_that_stopped_are_not_begun(box: Sandbox, tmp_path: Path) -> None:
    """
    `--sheet all`: the day's quota ends in the first sheet; the command that continues is the last
    line.
    """
    with pd.ExcelWriter(tmp_path / "pets.xlsx", engine="xlsxwriter") as book:
        for sheet, rows in (("Cats", 130), ("Dogs", 3)):
            animals = [(f"{sheet} {n}", n) for n in range(rows)]
            pd.DataFrame(animals, columns=["name", "categoryId"]).to_excel(
                book, sheet_name=sheet, index=False
            )

    done = run(
        "import",
        "pets.xlsx",
        "--sheet",
        "all",
        "--yes",
        "--no-baseline",
        box=box,
        cwd=tmp_path,
        **PLAN,
    )

    assert (done.returncode, done.stdout.count("→ production: ")) == (4, 1)
    assert "pets.xlsx (Cats)" in done.stdout
    assert done.stderr.splitlines()[-1].startswith(
        "Continue with: petstore-tools import pets.xlsx --sheet all"
    )


def test_standard_input_is_continued_from_the_record_of_its_import(tmp_path: Path) -> None:
    """
    The command that is named needs no data; it says so, and what to do about rows with problems.
    """
    plan, ample = {"PETSTORE_PLAN": "10000/20"}, {"PETSTORE_PLAN": "10000/10000"}
    text = "Tier;categoryId\n" + "".join(f"A {n};7,0\n" for n in range(30)) + "bad;x\n"
    read = ("--name", "spring", "--columns", "Tier=name", "--no-baseline")
    with Sandbox(plan=Plan(10_000, 10_000), clock="system", animals=0) as box:
        begun = run(
            "import", "-", *read, "--yes", "--json", box=box, cwd=tmp_path, stdin=text, **plan
        )
        name = json.loads(begun.stdout)["journal"]
        assert (begun.returncode, json.loads(begun.stdout)["created"]) == (4, 18)
        assert f"Continue with: petstore-tools imports resume {name}   # from" in begun.stderr

        done = run("imports", "resume", name, "--yes", box=box, cwd=tmp_path, **ample)

        assert (
            done.returncode,
            "31 rows: 12 created now, 18 before, 1 rejected" in done.stdout,
        ) == (1, True)
        assert (
            "spring is not a file that can be read again, so its rows come from the record"
            in done.stderr
        )
        assert done.stderr.count("and run: petstore-tools import - --name spring") == 1
        assert len(box.store.list_pets()) == 30
