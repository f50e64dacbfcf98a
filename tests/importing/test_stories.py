"""
Stories of files, answers and animals, played against a real service: `stories.txt`.
"""

import json
import re

import pytest
from inventories import befall, read_rows, repeat, stored_animals, write_rows
from tables import read_stories

from petstore_tools import Sandbox
from petstore_tools.errors import DoubtfulRowsError, SheetError
from petstore_tools.importing.imports import Target
from petstore_tools.importing.journal import open_journal
from petstore_tools.plans import Plan


def read_options(text):
    """Read the options of an import."""
    options = dict(word.split("=") for word in text.split())
    if "first" in options:
        options["first"] = int(options["first"])
    if "strict" in options:
        options["strict"] = True
    if "status" in options:
        options["defaults"] = {"status": options.pop("status")}
    return options


def outcome(store, path, options):
    """
    Import a file; return the outcomes of its rows, or what is asked or refused; and
    what is shown of the result.
    """
    try:
        result = store.import_pets(path, **options)
    except DoubtfulRowsError as error:
        table = error.preview.doubtful
        reasons = (table["reason"] + ": " + table["because"]).tolist()
        numbers = table["row"].astype("str")
        return " ".join(["asks", *numbers, str(error), *reasons]), ""
    except SheetError as error:
        return f"refused {error}", ""
    words = result.frame["outcome"].str.replace(" ", "_")
    edited = [f"edited {edit.row}" for edit in result.edits]
    return " ".join([*words, *edited]), str(result)


def look_at(folder, verb, text):
    """Compare the files, or the text of one, with what a story says; or delete one."""
    name, _, part = text.partition(" ")
    if verb == "files":
        assert sorted(path.name for path in folder.glob("*.csv")) == text.split()
    elif verb == "reads":
        assert part in (folder / name).read_text("utf-8")
    else:
        (folder / name).unlink()


@pytest.fixture
def shop():
    """
    A service whose plan calls for one connection, also where it takes a second to
    answer, so that ids are in order.
    """
    with Sandbox(plan=Plan(60, 1_000_000), animals=0) as box:
        yield box


@pytest.mark.parametrize("steps", read_stories(__file__, "stories.txt"))
def test_a_story(shop, tmp_path, steps):
    """As many animals as there should be, and no question but those that it names."""
    store = shop.store
    header = "name,categoryId,status"
    result_shown = ""
    for verb, text in steps:
        if verb in ("inventory", "fault", "wait", "staff", "staff_removes"):
            befall(shop, verb, text)
        elif verb == "columns":
            header = text
        elif verb == "machine":
            store = shop.connect(state_dir=tmp_path / text)
        elif verb == "store":
            store = shop.connect(**json.loads(text))
        elif verb == "forget":
            target = Target("sandbox", store.settings.service_id, tmp_path / text)
            with open_journal(store.journal_folder, target) as journal:
                journal.forget()
        elif verb == "import":
            call, _, expected = text.partition(" -> ")
            name, _, options = call.partition(" ")
            path = tmp_path / f"{name}.csv"
            said, result_shown = outcome(store, path, read_options(options))
            words = [" ".join(repeat(word)) for word in expected.split(" ")]
            expected = " ".join(words)
            numbers = re.match(r"(asks|refused)(?: \d+)*(?= |$)", expected)
            begin = expected if numbers is None else numbers[0]
            text_shown = expected.removeprefix(begin).strip()
            assert said.startswith(f"{begin} ") if numbers else said == expected, text
            assert text_shown in said, (text, said)
        elif verb == "shows":
            assert result_shown.endswith(text), (text, result_shown)
        elif verb == "animals":
            assert stored_animals(shop).total() == int(text)
        elif verb in ("files", "reads", "deletes"):
            look_at(tmp_path, verb, text)
        else:
            write_rows(tmp_path / f"{verb}.csv", *read_rows(text), header=header)
