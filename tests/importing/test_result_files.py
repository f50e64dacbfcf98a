"""The files beside the input: what a person corrected stays, and what cannot be written is said."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from proxy import FaultProxy, reply
from python_calamine import CalamineWorkbook

from petstore_tools import PetStore, Sandbox
from petstore_tools.plans import Plan
from petstore_tools.tabular.workbooks import write_xlsx


@pytest.fixture
def box() -> Iterator[Sandbox]:
    with Sandbox(plan=Plan(100_000, 1_000_000), animals=0) as found:
        yield found


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.case("P70")
def test_cells_keep_the_titles_under_which_they_were_read(box: Sandbox, tmp_path: Path) -> None:
    """A column added in the middle, and created rows that the file does not hold any more."""
    path = tmp_path / "pets.csv"
    path.write_text("name,note,categoryId,note\nRex,a,3,b\nMia,c,4,d\n")
    box.store.import_pets(path)
    path.write_text("name,age,categoryId,note\nMia,7,4,e\nMax,8,5,f\n")

    result = box.store.import_pets(path)

    created = result.files[0].read_text().splitlines()
    assert created == [
        "name,age,categoryId,note,note,id",
        "Rex,,3,a,b,1",
        "Mia,7,4,e,,2",
        "Max,8,5,f,,3",
    ]


BAD = "name,categoryId\nRex,3\nMia,cats\nMax,dogs\nTom,4\nEli,5\n"


@pytest.mark.case("P70")
def test_a_corrected_rejects_file_survives_two_runs_of_the_first_file(
    box: Sandbox, tmp_path: Path
) -> None:
    """The new one gets a number, and is ours to replace; the corrected one is imported once."""
    path = tmp_path / "pets.csv"
    path.write_text(BAD)
    box.store.import_pets(path)
    rejects = tmp_path / "pets.sandbox.rejected.csv"
    corrected = rejects.read_text().replace("cats", "7", 1)
    rejects.write_text(corrected)

    again = [box.store.import_pets(path).files for _ in range(2)]
    assert rejects.read_text() == corrected
    assert [[file.name for file in files] for files in again] == [
        ["pets.sandbox.created.csv", "pets.sandbox.rejected.2.csv"]
    ] * 2
    assert [row["name"] for row in rows_of(again[1][1])] == ["Mia", "Max"]

    fixed = box.store.import_pets(rejects)
    assert (fixed.created_now, fixed.rejected) == (1, 1)
    assert rejects.read_text() == corrected
    assert [row["name"] for row in rows_of(fixed.files[1])] == ["Max"]
    created = rows_of(fixed.files[0])
    assert [row["name"] for row in created] == ["Rex", "Mia", "Tom", "Eli"]
    assert created[1]["id"] == "4"
    assert {row["id"] for row in created} == {"1", "2", "3", "4"}  # several connections sent
    assert not list(tmp_path.glob("*.bak"))


@pytest.mark.case("P70")
def test_a_created_file_that_a_person_changed_is_left_alone_too(
    box: Sandbox, tmp_path: Path
) -> None:
    """Notes written into it are theirs; an unchanged file is replaced."""
    path = tmp_path / "pets.csv"
    path.write_text("name,categoryId\nRex,3\n")
    (created,) = box.store.import_pets(path).files
    path.write_text("name,categoryId\nRex,3\nMia,4\n")
    assert box.store.import_pets(path).files == (created,)
    created.write_text(created.read_text() + "remember to call,,\n")
    path.write_text("name,categoryId\nRex,3\nMia,4\nMax,5\n")

    (second,) = box.store.import_pets(path).files

    assert (second.name, len(rows_of(second))) == ("pets.sandbox.created.2.csv", 3)
    assert len(rows_of(created)) == 3
    assert "remember" in created.read_text()


@pytest.mark.case("P70")
def test_without_rejects_there_is_no_rejects_file(box: Sandbox, tmp_path: Path) -> None:
    """One of an earlier run is removed once it no longer holds, unless a person changed it."""
    paths = [tmp_path / "pets.csv", tmp_path / "more.csv"]
    rejects = [tmp_path / "pets.sandbox.rejected.csv", tmp_path / "more.sandbox.rejected.csv"]
    for path in paths:
        path.write_text(BAD.replace("Rex", path.stem))
        box.store.import_pets(path, existing="send")
    rejects[1].write_text(rejects[1].read_text().replace("cats", "7", 1))
    for path in paths:
        path.write_text(path.read_text().replace("cats", "6").replace("dogs", "8"))

    results = [box.store.import_pets(path, existing="send") for path in paths]

    assert [result.complete for result in results] == [True, True]
    assert [path.exists() for path in rejects] == [False, True]
    assert [[file.name for file in result.files] for result in results] == [
        ["pets.sandbox.created.csv"],
        ["more.sandbox.created.csv"],
    ]


@pytest.mark.case("P70")
def test_the_input_is_never_written_over(box: Sandbox, tmp_path: Path) -> None:
    """
    A rejects file that is imported as it is keeps its rows: some may still wait for the next day.
    """
    path = tmp_path / "pets.csv"
    path.write_text("name,categoryId\nRex,3\nMia,4\n")
    refusal = reply(400, b'{"code":"invalid_body","message":"no","status":400}')
    with FaultProxy(
        box.base_url, lambda method, n: refusal if method == "POST" else "pass"
    ) as proxy:
        store = box.connect(base_url=proxy.base_url)
        store.import_pets(path)
        rejects = tmp_path / "pets.sandbox.rejected.csv"
        before = rejects.read_text()
        result = store.import_pets(rejects)
        third = store.import_pets(result.files[0])

    assert rejects.read_text() == before
    assert [file.name for file in result.files] == ["pets.sandbox.rejected.2.csv"]
    assert [file.name for file in third.files] == ["pets.sandbox.rejected.csv"]


@pytest.mark.case("P70")
def test_a_result_file_that_cannot_be_written_is_said_after_the_sending(
    box: Sandbox, tmp_path: Path
) -> None:
    """
    A folder is in its place: every row is sent, the result names the file, and the next run writes
    it.
    """
    path = tmp_path / "pets.csv"
    path.write_text(BAD)
    blocked = tmp_path / "pets.sandbox.created.csv"
    blocked.mkdir()

    result = box.store.import_pets(path)

    assert result.created == 3
    assert [file.name for file in result.files] == ["pets.sandbox.rejected.csv"]
    assert result.not_written == ("pets.sandbox.created.csv (Is a directory)",)
    assert str(result).endswith("; not written: pets.sandbox.created.csv (Is a directory)")
    assert json.loads(json.dumps(result.to_dict()))["not_written"] == list(result.not_written)
    blocked.rmdir()
    assert len(rows_of(box.store.import_pets(path).files[0])) == 3


TRIES = """
import os, sys
os.chdir(sys.argv[1])
import petstore_tools.importing.run, petstore_tools.progress
from petstore_tools import PetStore
from petstore_tools.errors import SheetError
if os.getuid() == 0:
    os.setuid(65534)  # for root every folder can be written
store = PetStore(base_url=sys.argv[2], api_key=sys.argv[3], state_dir=sys.argv[4], plan="1000/10000")
try:
    store.import_pets("pets.csv")
except SheetError as error:
    print("refused:", error)
"""


@pytest.mark.case("P70")
@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_the_folder_is_tried_before_the_first_request(box: Sandbox) -> None:
    """Neither the folder of the file nor the current one can be written: nothing is sent."""
    with tempfile.TemporaryDirectory() as shared:  # pytest's own folders are closed to another user
        locked, state = Path(shared) / "locked", Path(shared) / "state"
        locked.mkdir()
        state.mkdir()
        (locked / "pets.csv").write_text(BAD)
        Path(shared).chmod(0o755)
        state.chmod(0o777)
        locked.chmod(0o555)
        done = subprocess.run(
            [sys.executable, "-c", TRIES, str(locked), box.base_url, box.api_key, str(state)],
            capture_output=True,
            text=True,
            env={**os.environ, "PETSTORE_CONFIG": str(state / "none.toml")},
            timeout=60,
            check=False,
        )
        locked.chmod(0o755)

    assert (
        "refused: the result files of pets.csv can be written neither beside it" in done.stdout
    ), done
    assert len(box.traffic()) == 0


@pytest.mark.case("P70")
def test_a_reason_longer_than_a_cell_of_a_workbook_is_cut(box: Sandbox, tmp_path: Path) -> None:
    """
    The service refuses with 40,000 characters: the workbook is written, and the result holds them
    all.
    """
    path = tmp_path / "pets.xlsx"
    write_xlsx(path, ["name", "categoryId"], [["Rex", "3"], ["Mia", "4"]])
    body = json.dumps({"code": "no", "message": "x" * 40_000, "status": 400}).encode()
    with FaultProxy(
        box.base_url, lambda method, n: reply(400, body) if (method, n) == ("POST", 1) else "pass"
    ) as proxy:
        store = box.connect(base_url=proxy.base_url)
        result = store.import_pets(path)

    assert (result.created, result.rejected, result.not_written) == (1, 1, ())
    rejects = CalamineWorkbook.from_path(
        tmp_path / "pets.sandbox.rejected.xlsx"
    ).get_sheet_by_index(0)
    reason = rejects.to_python()[1][-1]
    assert (len(reason), reason[-1]) == (32_767, "…")
    assert max(result.frame["detail"].str.len()) > 40_000


def test_result_files_say_where_the_animals_went(box: Sandbox, tmp_path: Path) -> None:
    """Those of a sandbox and of staging never pass for those of production."""
    path = tmp_path / "pets.csv"
    path.write_text("name,categoryId\nRex,3\n")
    box.store.import_pets(path)
    for environment in ("staging", "production"):
        settings = replace(box.store.settings, environment=environment)
        PetStore.from_settings(settings, clock=box.clock).import_pets(path, existing="send")

    assert sorted(file.name for file in tmp_path.glob("pets.*")) == [
        "pets.created.csv",
        "pets.csv",
        "pets.sandbox.created.csv",
        "pets.staging.created.csv",
    ]
