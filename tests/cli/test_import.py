"""`import` and `imports` on the command line."""

import json
import re
from pathlib import Path

import pytest
from commands import needs_terminal, run_on_terminal, run_program
from inventories import stored_animals, write_rows
from tables import read_cases


@pytest.mark.parametrize(
    ("code", "error", "arguments", "setting"),
    read_cases(__file__, "exits.txt"),
)
def test_json_is_one_object_with_every_exit_code(
    run, box, code, error, arguments, setting
):
    """
    A program that reads it learns what happened, whatever that was; nothing is sent
    without a yes.
    """
    box.add([("Old", 3, None)])
    for name, row in {"good": "Rex,3", "bad": "Mia,x", "copy": "Old,3"}.items():
        Path(f"{name}.csv").write_text(f"name,categoryId\nTom,4\n{row}\n")

    env = dict(re.findall("(.+)=(.+)", setting))
    done = run(f"import {arguments} --json", code=int(code), **env)

    facts = json.loads(done.stdout)
    assert facts.get("error", "") == error
    assert facts.get("message", "").split(".")[0] in " ".join(done.stderr.splitlines())
    of_a_preview = error == "DoubtfulRowsError" or "bad.csv --dry-run" in arguments
    assert ("doubtful" in facts) == of_a_preview
    if not error and not of_a_preview:
        fields = (
            "rows created rejected unknown not_sent left_out stopped resumes_at journal"
            " list"
        )
        assert list(facts) == [
            *fields.split(),
            "not_written",
            "notes",
            "edits",
            "rows_left_out",
        ]
    assert (box.traffic()["method"] == "POST").sum() == facts.get("created", 0)


@needs_terminal
@pytest.mark.parametrize(
    ("answer", "code", "sent"), [("skip", 1, 1), ("send", 0, 2), ("", 2, 0)]
)
def test_a_terminal_asks_once_about_doubtful_rows(box, tmp_path, answer, code, sent):
    """`--yes` is no answer; Enter sends nothing."""
    box.add([("Old", 3, None)])
    write_rows(tmp_path / "copy.csv", "Tom,4,", "Old,3,")

    ended, screen = run_on_terminal(
        "import", "copy.csv", "--yes", sandbox=box, cwd=tmp_path, answers=f"{answer}\n"
    )

    assert (ended, stored_animals(box).total()) == (code, 26 + sent), screen
    assert screen.count("1 row of copy.csv may exist") == 1
    before, _, _ = screen.partition("Leave the doubtful rows out, send them, or stop")
    assert "import:" not in before
    if answer == "skip":  # it is kept
        command = "import copy.csv --yes --doubtful send".split()
        _, screen = run_on_terminal(*command, sandbox=box, cwd=tmp_path)
        assert "imports show" in screen


@needs_terminal
@pytest.mark.parametrize(
    ("answers", "doubtful"),
    [("send\nstop\n", "ask"), ("skip\nstop\n", "ask"), ("stop\n", "send")],
)
def test_an_answer_on_a_terminal_is_for_the_rows_that_were_shown(
    box,
    tmp_path,
    run,
    answers,
    doubtful,
):
    """
    Where another import sends more of them while the question is read, all are asked
    about again; so is an answer that is given later.
    """
    box.add([("Old", 3, None)])
    other_rows = "Rex,3, Mia,3, Tom,3, Bo,3, Ida,3,".split()
    write_rows(tmp_path / "a.csv", "Old,3,", *other_rows)
    write_rows(tmp_path / "b.csv", "New,4,", *other_rows)

    ended, screen = run_on_terminal(
        *("import", "a.csv", "--yes"),
        sandbox=box,
        cwd=tmp_path,
        answers=answers,
        before_answer=lambda: run("import b.csv --yes"),
    )
    next_run = run("import a.csv --yes --doubtful", doubtful, code=2)

    assert "1 row of a.csv may exist" in screen
    assert ("6 rows of a.csv may exist" in screen) == ("\nstop" in answers)
    assert (ended, stored_animals(box).total()) == (2, 32), screen
    assert "6 rows of a.csv may exist" in next_run.stderr


@pytest.mark.parametrize("file", ["-", "/dev/stdin"])
def test_a_list_comes_from_a_pipe_under_a_name(box, tmp_path, file):
    """
    The same name goes on with the same import, and its lists are in the current folder.
    Without a name nothing is read, and without `--yes` nobody can be asked.
    """
    command = ["import", file, "--name", "spring"]
    pets = "name;categoryId\nŻabka;3\nMia;x\n"
    place = {"sandbox": box, "cwd": tmp_path, "stdin": pets}

    nameless = run_program("import", file, "--yes", **place)
    asked = run_program(*command, **place)
    first = run_program(*command, "--yes", **place)
    second = run_program(*command, "--yes", **place)

    assert (nameless.returncode, "--name NAME" in nameless.stderr) == (2, True)
    assert (asked.returncode, "no terminal" in asked.stderr) == (2, True)
    assert "import - --name spring" in first.stderr
    assert (first.returncode, "1 created" in first.stdout) == (1, True)
    assert (second.returncode, "0 created now, 1 before" in second.stdout) == (1, True)
    assert stored_animals(box)["Żabka", 3, None] == 1
    assert {path.name.split(".")[0] for path in tmp_path.glob("*.csv")} == {"spring"}
