"""`import` and `imports` on the command line."""

import json
import re
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from commands import needs_terminal, run_on_terminal
from inventories import faulty_creates, write_rows
from proxy import FaultProxy
from tables import read_cases, read_json

from petstore_tools.sandbox import samples

SHEET = "Tier;Art;Zustand\nRex;Hunde;verkauft\nMia;Katzen;\nBo;Hunde;frei\n"
ANIMALS = [("Rex", 3, "sold"), ("Mia", 4, "pending"), ("Bo", 3, "available")]


@pytest.fixture(autouse=True)
def _sheet(shop):
    Path("tiere.csv").write_text(SHEET, "utf-8")
    Path("kategorien.csv").write_text("id,name\n3,Hunde\n4,Katzen\n")


KEYED = "name,categoryId,status,Chip"


def animals(box):
    """Return what stands behind the 25 animals of the service."""
    frame = box.store.list_pets().iloc[25:].drop(columns="id")
    return [*frame.itertuples(index=False, name=None)]


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
            "rows created rejected unknown unsent skipped stopped resumes_at journal"
            " files"
        )
        assert list(facts) == [*fields.split(), "not_written", "notes", "edits"]
        assert ("petstore-tools imports show" in done.stderr) == (facts["skipped"] > 0)
    assert (box.traffic()["method"] == "POST").sum() == facts.get("created", 0)


@needs_terminal
@pytest.mark.parametrize(
    ("answer", "code", "sent"), [("skip", 1, 1), ("send", 0, 2), ("", 2, 0)]
)
def test_a_terminal_asks_once_about_doubtful_rows(box, tmp_path, answer, code, sent):
    """`--yes` is no answer; Enter sends nothing."""
    old = box.add([("Old", 3, None)])
    write_rows(tmp_path / "copy.csv", "Tom,4,", "Old,3,")

    ended, screen = run_on_terminal(
        "import", "copy.csv", "--yes", sandbox=box, cwd=tmp_path, answers=f"{answer}\n"
    )

    assert (ended, len(animals(box)) - len(old)) == (code, sent), screen
    assert screen.count("1 row of copy.csv may be") == 1
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

    assert "1 row of a.csv may be an animal" in screen
    assert ("6 rows of a.csv may be animals" in screen) == ("\nstop" in answers)
    assert (ended, len(animals(box))) == (2, 7), screen
    assert "6 rows of a.csv may be animals" in next_run.stderr


def test_a_stopped_import_is_shown_with_the_command_that_goes_on(run):
    """And the earliest time; `imports` lists it, `show` its rows."""
    for name in ("many", "other"):
        rows = [f"{name} {n},3," for n in range(3)]
        write_rows(Path(f"{name}.csv"), *rows, "Total,,")

    run("list")  # learns how the service pages
    done = run("import many.csv --yes", code=4, PETSTORE_PLAN="100/4")
    run("import other.csv --yes")

    last = done.stderr.splitlines()[-1]
    assert last.startswith("Continue from 20")
    assert last.endswith(" on with: petstore-tools import many.csv --yes")
    listed = run("imports")
    (name,) = re.findall(r"^(\w+) +many.csv", listed.stdout, re.M)
    shown = run("imports show", name)
    assert shown.stdout.count("  unsent\n") == 2
    assert "reconcile" not in shown.stderr  # a totals row is no doubtful one
    unclear = run("imports show", "", code=2).stderr
    assert "several imports begin with '': " in unclear


def test_a_person_decides_what_a_look_cannot(run, box, monkeypatch):
    """
    Somebody adds equal animals: the lost row is ambiguous, listed, shown, decided,
    done.
    """
    Path("a.csv").write_text(samples.animals_csv(5, seed=5), "utf-8")
    posted = []

    def lose(method, n):
        if method == "POST":
            posted.append(n)
        elif len(posted) == 5:
            posted.append(0)
            box.add(samples.animals(5, seed=5))
        return "drop after" if (method, n) == ("POST", 2) else "pass"

    monkeypatch.setenv("PETSTORE_RECONCILE_AFTER_S", "0.2")
    with FaultProxy(box.base_url, lose) as proxy:
        service = {"PETSTORE_BASE_URL": proxy.base_url}
        done = run("import a.csv --yes --json", code=1, **service)
        document = json.loads(done.stdout)
        assert document["unknown"] == 1

        name = document["journal"]
        listed = run("imports show", name[:4])
        rows = r"^ *(\d+) .* ambiguous +(\d+) or \d+ .* 2 new animals"
        ((row, pet_id),) = re.findall(rows, listed.stdout, re.M)
        decide = f"petstore-tools imports reconcile {name} --row N --created ID"
        assert decide in listed.stderr
        assert f"See which, and why: petstore-tools imports show {name}" in done.stderr
        reconcile = f"imports reconcile {name} "
        assert "the settings name" in run(reconcile, code=2).stderr

        # still ambiguous, four decisions that cannot be, and one
        for code, words in read_json(__file__, "decisions.json"):
            decision = words.format(row=row, pet_id=pet_id)
            decided = run(reconcile + decision, code=code, **service)
        assert decided.stdout == f"Row {row} is the animal with id {pet_id}.\n"

        next_run = run("import a.csv --yes", **service)
        assert proxy.counts["POST"] == 5
        assert "0 created now, 5 before" in next_run.stdout
        assert next_run.stderr.endswith(": nothing to send; 5 created already\n")
        assert len(next_run.stderr.splitlines()) == 1


@contextmanager
def a_lost_row(run, box, fate):
    """
    Import a row whose answer is lost; yield what types `imports reconcile` for it.
    """
    write_rows(Path("a.csv"), "Rex,3,")
    with faulty_creates(box, lambda _: fate) as proxy:
        service = {
            "PETSTORE_BASE_URL": proxy.base_url,
            "PETSTORE_RECONCILE_AFTER_S": "1000",
        }
        done = run("import a.csv --yes --json", code=1, **service)
        name = json.loads(done.stdout)["journal"]

        def reconcile(decision="", **options):
            return run(f"imports reconcile {name} {decision}", **service | options)

        yield reconcile


@pytest.mark.parametrize(
    ("after_s", "fate", "reason"), read_json(__file__, "lost_rows.json")
)
def test_absent_is_asked_about_where_the_row_may_exist(run, box, after_s, fate, reason):
    """
    Before a listing can show it, or where one shows an equal animal; `--yes` answers.
    Of each case: seconds until a listing tells, what became of the row, why it is asked
    about.
    """
    with a_lost_row(run, box, fate) as reconcile:
        decide = partial(reconcile, PETSTORE_RECONCILE_AFTER_S=after_s)
        answer = ""
        if reason:
            question = decide("--row 2 --absent", code=2).stderr
            assert "Nothing was changed: there is no terminal" in question
            answer = "--yes"
        decided = decide(f"--row 2 --absent {answer}")

    assert re.search(reason, decided.stderr)
    assert decided.stdout == "The next run sends row 2.\n"


def test_what_was_never_to_be_sent_is_not_said_to_exist(run):
    """A row that is left out as a duplicate, and one that sums up the others."""
    write_rows(Path("a.csv"), "Rex,3,sold", "Rex,3,sold", "Total,,")

    done = run("import a.csv --drop-duplicates --yes")

    assert "1 created, 2 skipped" in done.stdout
    assert "may exist already" not in done.stderr


def test_created_is_asked_about_where_the_animal_is_another_one(run, box):
    """
    One that is older, of another name and category, or that is not there; a row that
    was decided on is refused without a request.
    """
    old, alike = box.add([("Tom", 4, "sold"), ("REX", 3, "sold")])
    with a_lost_row(run, box, "drop before") as reconcile:
        of_another = reconcile(f"--row 2 --created {old}", code=2)
        of_none = reconcile("--row 2 --created 4711", code=2)
        of_one_like_it = reconcile(f"--row 2 --created {alike}")

        sent = len(box.traffic())
        decided = reconcile("--row 2 --absent", code=2)
        assert len(box.traffic()) == sent

    assert "row 2 of import" in decided.stderr
    assert "is not to be decided: nothing was changed" in decided.stderr
    said = f"The animal with id {old} is 'Tom', 4, sold; row 2 is 'Rex', 3, no status."
    assert said in of_another.stderr
    assert "The animal with id 4711 is not in the inventory" in of_none.stderr
    assert of_one_like_it.stdout == f"Row 2 is the animal with id {alike}.\n"


def test_a_row_that_was_taken_for_an_edit_is_sent_after_absent(run, box):
    """Of rows with known keys, one is the same animal, and the other one is not."""
    write_rows(Path("a.csv"), "Rex,3,,1", "Mia,3,,2", header=KEYED)
    command = "import a.csv --row-key Chip --yes --json"
    run(command)
    write_rows(Path("a.csv"), "Rexi,3,,1", "Tom,3,,2", header=KEYED)
    edited = json.loads(run(f"{command} --doubtful skip").stdout)

    parted = run(f"imports reconcile {edited['journal']} --row 3 --absent")
    sent = json.loads(run(command).stdout)
    known = json.loads(run(command).stdout)

    assert (edited["created"], len(edited["edits"])) == (2, 2)
    assert parted.stdout == "The next run sends row 3.\n"
    assert (sent["created"], len(sent["edits"])) == (2, 1)
    assert (known["created"], known["skipped"]) == (2, 0)
    names = [animal[0] for animal in animals(box)]
    assert names[-3:] == ["Rex", "Mia", "Tom"]


def test_reconcile_says_from_when_on_a_listing_can_tell(run, box):
    """One that begins too early settles nothing."""
    with a_lost_row(run, box, "drop after") as reconcile:
        undecided = reconcile(code=1)
        decided = reconcile(PETSTORE_RECONCILE_AFTER_S="0")

    assert undecided.stdout == "1 unknown\n"
    assert re.search(
        r"only from 20\S+ \S+ UTC on: run the same command again then", undecided.stderr
    )
    assert (decided.stdout, decided.stderr) == ("1 created\n", "")


def test_a_forgotten_import_counts_as_new(run):
    """
    Only after a yes; then its animals are met as standing in the inventory. A copy of
    its file is refused before anybody is asked, and the message says what to say.
    """
    for path in ("a.csv", "b.csv"):
        Path(path).write_text(samples.animals_csv(5, seed=5), "utf-8")
    name = json.loads(run("import a.csv --yes --json").stdout)["journal"]

    copied = run("import b.csv", code=2)
    unasked = run("imports forget", name, code=2)

    assert "--doubtful skip" in copied.stderr
    assert "there is no terminal to ask in. Pass --yes" in unasked.stderr
    assert name in run("imports").stdout
    assert (
        run("imports forget", name, "--yes").stdout == f"import {name} is forgotten\n"
    )
    assert run("imports").stdout.startswith("No imports yet. Begin one:")
    next_run = run("import a.csv --yes", code=2).stderr
    assert "5 rows of a.csv may be animals that exist already" in next_run


def test_a_journal_that_cannot_be_read_is_named(run):
    """The list of imports is then not whole, and its exit code says so."""
    folder = Path("state/imports")
    folder.mkdir(parents=True)
    (folder / "x.db").write_text("no database" * 99)

    assert "x.db" in run("imports", code=2).stderr


def test_a_sheet_of_names_and_words_is_imported_with_options_alone(box, run):
    """Each value that is read differently stands in the preview, with its count."""
    done = run(
        "import tiere.csv --columns Tier=name --columns Art=categoryId --columns"
        " Zustand=status --categories kategorien.csv --statuses verkauft=sold"
        " --statuses frei=available --defaults status=pending --yes"
    )

    assert sorted(animals(box)) == sorted(ANIMALS)
    assert "categoryId: 'Hunde' is read as 3 in 2 rows" in done.stderr
    assert "status: an empty cell is read as 'pending' in 1 row" in done.stderr


def test_the_line_to_copy_keeps_every_option(box, run):
    """
    `--yes` accepts no proposal. With ids in their places, it imports as was asked.
    """
    file = "-o $HOME 'ä'.csv"
    Path("tiere.csv").rename(file)
    options = (
        "--strict --drop-duplicates --wait --first 2 --doubtful skip --encoding utf-8 "
        '--name "new year" --defaults status=pending --columns Tier=name'
    )

    refused = run(f"import --yes {options} --", file, code=2)

    assert animals(box) == []
    command = refused.stderr.splitlines()[-1]
    assert all(option.replace('"', "'") in command for option in options.split(" --"))
    answer = command.replace("Hunde=…", "Hunde=3").replace("Katzen=…", "Katzen=4")
    run(f"{answer} --yes".removeprefix("petstore-tools"))
    assert sorted(animals(box)) == sorted(ANIMALS[:2])


def test_a_sheet_without_a_header_is_read_by_letters(box, run):
    """`--no-header` says that the first row is an animal; it needs the letters."""
    Path("plain.csv").write_text("Rex,3\nMia,4\n")
    command = "import plain.csv --no-header --yes"

    refused = run(command, code=2)
    run(f"{command} --columns A=name --columns B=categoryId")

    assert "header=False (--no-header) needs all columns by letter" in refused.stderr
    assert sorted(name for name, *_ in animals(box)) == ["Mia", "Rex"]
