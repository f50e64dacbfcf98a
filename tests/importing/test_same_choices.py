"""A file whose header equals that of an earlier import: how to read it with the same choices."""

from __future__ import annotations

import re
import shlex
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from commands import run

from petstore_tools import Sandbox
from petstore_tools.errors import SettingsError, SheetError

MAY = "Tier;Art;Stand\nRex;Hund;verkauft\nMia;Katze;frei\n"
JUNE = "Tier;Art;Stand\nTom;Hund;frei\n"
CHOICES = (
    *("--columns", "Tier=name", "--columns", "Art=categoryId", "--columns", "Stand=status"),
    *("--status-word", "verkauft=sold", "--status-word", "frei=available"),
    *("--categories", "categories.csv"),
)
READING = {
    "columns": {"Tier": "name", "Art": "categoryId", "Stand": "status"},
    "statuses": {"verkauft": "sold", "frei": "available"},
    "categories": {1: "Hund", 2: "Katze"},
}


@pytest.fixture
def box() -> Sandbox:
    return Sandbox(plan="6000/60000", clock="system", animals=0)


def read_cells(path: Path) -> pd.DataFrame:
    """Return the cells of a result file as text."""
    read = pd.read_csv if path.suffix == ".csv" else partial(pd.read_excel, engine="calamine")
    return read(path, dtype=str, keep_default_na=False)


def _written(folder: Path) -> Path:
    (folder / "orders-may.csv").write_text(MAY)
    (folder / "orders june.csv").write_text(JUNE)
    (folder / "categories.csv").write_text("id,name\n1,Hund\n2,Katze\n")
    return folder


def test_the_command_line_names_the_command_and_it_works(box: Sandbox, tmp_path: Path) -> None:
    """
    The titles alone do not tell the columns; the command that is named reads the file, also
    elsewhere.
    """
    with box:
        _written(tmp_path)
        begun = run("import", "orders-may.csv", *CHOICES, "--yes", box=box, cwd=tmp_path)
        assert begun.returncode == 0, begun.stderr
        (tmp_path / "categories.csv").unlink()  # what they were called stands in the journal

        refused = run("import", "orders june.csv", "--yes", box=box, cwd=tmp_path)
        assert refused.returncode == 2
        assert refused.stderr.count("This header equals that of orders-may.csv, imported on ") == 1
        named = re.search(r"To use the same choices: petstore-tools (.*)", refused.stderr)
        assert named is not None
        done = run(*shlex.split(named[1]), "--yes", box=box, cwd=tmp_path)

        assert done.returncode == 0, done.stderr
        assert "This header" not in done.stderr
        assert box.store.list_pets().sort_values("name")[
            ["name", "categoryId", "status"]
        ].to_numpy().tolist()[1:] == [["Rex", 1, "sold"], ["Tom", 1, "available"]]


def test_a_file_that_can_be_read_is_told_so_in_its_preview(box: Sandbox, tmp_path: Path) -> None:
    """Its words are not known, but its titles are; where choices are made, nothing is said."""
    with box:
        (tmp_path / "may.csv").write_text("name;categoryId;status\nRex;1;verkauft\n")
        (tmp_path / "june.csv").write_text("name;categoryId;status\nTom;1;verkauft\n")
        begun = box.store.import_pets(
            tmp_path / "may.csv", statuses={"verkauft": "sold"}, progress=False
        )

        note = box.store.preview_import(tmp_path / "june.csv").notes[0]
        assert note.startswith("This header equals that of may.csv, imported on ")
        assert note.endswith(f'. To use the same choices: recipe="{begun.journal}"')
        same = box.store.preview_import(tmp_path / "june.csv", recipe=begun.journal[:6])
        assert (same.to_send, same.bad_rows) == (1, 0)
        others = box.store.preview_import(tmp_path / "june.csv", statuses={"verkauft": "pending"})
        assert not [note for shown in (same, others) for note in shown.notes if "header" in note]
        (tmp_path / "june.csv").write_text("name;categoryId;status;\nTom;1;verkauft;\n")
        assert "header equals" not in str(box.store.preview_import(tmp_path / "june.csv"))


def test_an_import_without_choices_has_none_to_use(box: Sandbox, tmp_path: Path) -> None:
    """Also where an older one with the same header had some: the last one counts."""
    with box:
        for number, statuses in enumerate([{"weg": "sold"}, None]):
            (tmp_path / f"{number}.csv").write_text(f"name,categoryId\nRex,{number}\n")
            box.store.import_pets(tmp_path / f"{number}.csv", statuses=statuses, progress=False)
        (tmp_path / "new.csv").write_text("name,categoryId\nTom,1\n")

        assert "header equals" not in str(box.store.preview_import(tmp_path / "new.csv"))


def test_in_python_the_refusal_names_the_argument(box: Sandbox, tmp_path: Path) -> None:
    """A recipe of an import is its ID; what is given beside it counts more; no other ID will do."""
    with box:
        _written(tmp_path)
        begun = box.store.import_pets(tmp_path / "orders-may.csv", **READING, progress=False)  # type: ignore[arg-type]

        with pytest.raises(
            SheetError, match=f'To use the same choices: recipe="{begun.journal}"'
        ) as error:
            box.store.preview_import(tmp_path / "orders june.csv")
        assert error.value.proposals
        june = box.store.preview_import(
            tmp_path / "orders june.csv", recipe=begun.journal, statuses={"frei": "pending"}
        )
        assert [row.content for row in june.good] == [("Tom", 1, "pending")]
        with pytest.raises(SettingsError, match="no import begins with 'abc'"):
            box.store.preview_import(tmp_path / "orders june.csv", recipe="abc")


def test_standard_input_is_told_so_with_its_name(box: Sandbox, tmp_path: Path) -> None:
    """The command reads standard input once more."""
    with box:
        _written(tmp_path)
        run("import", "orders-may.csv", *CHOICES, "--yes", box=box, cwd=tmp_path)

        refused = run("import", "-", "--name", "june", box=box, cwd=tmp_path, stdin=JUNE)

        assert (
            "To use the same choices: petstore-tools import - --name june --recipe "
            in refused.stderr
        )


def test_the_sheet_of_an_earlier_workbook_is_not_taken_over(box: Sandbox, tmp_path: Path) -> None:
    """Next month's sheet has another name."""
    import pandas as pd

    with box:
        for month, name in (("May", "Rex"), ("June", "Tom")):
            with pd.ExcelWriter(tmp_path / f"{month}.xlsx", engine="xlsxwriter") as book:
                frame = pd.DataFrame({"name": [name], "categoryId": [1], "status": ["verkauft"]})
                frame.to_excel(book, sheet_name=month, index=False)
        begun = box.store.import_pets(
            tmp_path / "May.xlsx", sheet="May", statuses={"verkauft": "sold"}, progress=False
        )

        preview = box.store.preview_import(tmp_path / "June.xlsx")

        assert preview.notes[0].endswith(f'recipe="{begun.journal}"')
        assert box.store.preview_import(tmp_path / "June.xlsx", recipe=begun.journal).to_send == 1


@pytest.mark.parametrize("ending", [".csv", ".xlsx"])
def test_a_rejects_file_is_read_as_its_import_was(
    box: Sandbox, tmp_path: Path, ending: str
) -> None:
    """
    Corrected row by row, without a choice made again, and however few of its rows are right by now.
    """
    animals = pd.DataFrame(
        [
            ("Rex", "Hund", "frei"),
            ("Mia", "Katz", "frei"),
            ("Tom", "Hunt", "weg"),
            ("Ida", "Ente", "frei"),
        ],
        columns=["Tier", "Art", "Stand"],
    )
    source = tmp_path / f"may{ending}"
    if ending == ".csv":
        animals.to_csv(source, index=False)
    else:
        animals.to_excel(source, index=False)
    with box:
        first = box.store.import_pets(source, **READING, allow_bad=True, progress=False)
        assert (first.created, first.rejected) == (1, 3)
        rejects = tmp_path / f"may.sandbox.rejected{ending}"
        corrected = read_cells(rejects)
        corrected.loc[corrected["Tier"] == "Mia", "Art"] = "Katze"
        if ending == ".csv":
            corrected.to_csv(rejects, index=False)
        else:
            corrected.to_excel(rejects, index=False)

        again = box.store.import_pets(rejects, progress=False)

        assert (again.created_now, again.rejected) == (1, 2)
        assert [(pet.name, pet.category_id) for pet in box.store.pets()] == [("Rex", 1), ("Mia", 2)]


def test_what_is_given_beside_a_recipe_is_added_to_it(box: Sandbox, tmp_path: Path) -> None:
    """A word more, and another column for a field; what the recipe says of others holds."""
    (tmp_path / "may.csv").write_text("Tier;Art;Stand;Lage\nRex;1;verkauft;da\n")
    reading = {"columns": READING["columns"], "statuses": READING["statuses"]}
    with box:
        kept = box.store.import_pets(tmp_path / "may.csv", **reading, progress=False).journal
        (tmp_path / "june.csv").write_text("Tier;Art;Stand;Lage\nTom;1;x;da\nUwe;1;x;verkauft\n")

        shown = box.store.preview_import(
            tmp_path / "june.csv",
            recipe=kept,
            columns={"Lage": "status"},
            statuses={"da": "pending"},
        )

        assert [row.content.status for row in shown.good] == ["pending", "sold"]
