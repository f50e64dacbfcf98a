"""
Which import a source goes on with: sheets, names used again, options, DataFrames, damaged journals.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner, Result
from inventories import existing_names

from petstore_tools import PetStore, Sandbox
from petstore_tools.cli import cli
from petstore_tools.errors import JournalError, SheetError
from petstore_tools.importing.journal import read_entries
from petstore_tools.importing.journals import list_journals
from petstore_tools.importing.row_states import Entry

Command = Callable[..., Result]
DOGS = [("Rex", 3), ("Max", 3), ("Mia", 4)]
CATS = [("Luna", 7), ("Mia", 4), ("Tom", 8)]


@pytest.fixture
def command(fast: Sandbox, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """The command line, on the sandbox."""
    monkeypatch.setattr(PetStore, "__init__", _as_sandbox(fast))
    monkeypatch.setenv("PETSTORE_STATE_DIR", str(fast.state_dir))
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, **more: object) -> Result:
        return CliRunner().invoke(cli, arguments, **more)  # type: ignore[arg-type]

    return run


def _as_sandbox(box: Sandbox) -> object:
    def init(self: PetStore, **_: object) -> None:
        self._open(box.store.settings, False, clock=box.clock)

    return init


def workbook(path: Path, **sheets: list[tuple[str, int]]) -> Path:
    with pd.ExcelWriter(path, engine="xlsxwriter") as book:
        for name, rows in sheets.items():
            pd.DataFrame(rows, columns=["name", "categoryId"]).to_excel(
                book, sheet_name=name, index=False
            )
    return path


def csv(path: Path, names: list[str]) -> Path:
    path.write_text(
        "\n".join(["name,categoryId", *(f"{name},{n % 5}" for n, name in enumerate(names)), ""])
    )
    return path


@pytest.mark.case("P62")
def test_sheets_of_a_workbook_one_after_the_other_are_two_imports(
    fast: Sandbox, tmp_path: Path
) -> None:
    """Nothing of the second is held for an edit of the first, and its files bear its own name."""
    path = workbook(tmp_path / "pets.xlsx", Dogs=DOGS, Cats=CATS)

    dogs = fast.store.import_pets(path, sheet="Dogs")
    with pytest.raises(
        SheetError, match="1 of 3 rows .* match animals that already exist"
    ):  # Mia is on both
        fast.store.import_pets(path, sheet="Cats")
    cats = fast.store.import_pets(path, sheet="Cats", existing="send")

    assert (dogs.created, cats.created, cats.held) == (3, 3, 0)
    assert existing_names(fast) == {"Rex": 1, "Max": 1, "Mia": 2, "Luna": 1, "Tom": 1}
    names = [file.name for result in (dogs, cats) for file in result.files]
    assert [name.split(".")[:2] for name in names] == [["pets", "Dogs"], ["pets", "Cats"]]


@pytest.mark.case("P62")
def test_a_sheet_found_and_named_and_renamed_is_the_same_import(
    fast: Sandbox, tmp_path: Path
) -> None:
    """`sheet=` or not, under its old or its new name, alone or beside a new sheet: it goes on."""
    path = workbook(tmp_path / "pets.xlsx", Dogs=DOGS)
    fast.store.import_pets(path)

    named = fast.store.import_pets(path, sheet="Dogs")
    renamed = fast.store.import_pets(workbook(path, Hunde=[*DOGS, ("Bello", 3)]))
    beside = fast.store.import_pets(
        workbook(path, Hunde=[*DOGS, ("Bello", 3)], Cats=CATS), sheet="Hunde"
    )

    assert [r.created_now for r in (named, renamed, beside)] == [0, 1, 0]
    assert existing_names(fast).total() == 4


@pytest.mark.case("P63")
@pytest.mark.parametrize(
    ("replaced", "asks"), [(0, False), (10, False), (50, False), (95, True), (100, True)]
)
def test_a_file_name_that_is_used_again(
    fast: Sandbox, tmp_path: Path, replaced: int, asks: bool
) -> None:
    """
    Over 90 % of the rows are gone and new: another file, which asks; else the same, its edits held.
    """
    path = tmp_path / "animals.csv"
    old = [f"Old {n}" for n in range(100)]
    fast.store.import_pets(csv(path, old))
    csv(path, [f"New {n}" if n < replaced else name for n, name in enumerate(old)])

    if not asks:
        result = fast.store.import_pets(path)
        assert (result.created_now, result.held) == (0, replaced)
        assert existing_names(fast).total() == 100
        return
    with pytest.raises(SheetError, match=r"another file was imported as animals\.csv before"):
        fast.store.import_pets(path)
    assert "this file is treated as a new import" in str(fast.store.preview_import(path))
    assert existing_names(fast).total() == 100

    skipped = fast.store.import_pets(path, existing="skip")
    again = fast.store.import_pets(path, existing="skip")

    assert (skipped.created, skipped.skipped, skipped.held) == (replaced, 100 - replaced, 0)
    assert (again.created_now, again.requests, again.journal) == (0, 0, skipped.journal)
    assert existing_names(fast).total() == 100 + replaced


@pytest.mark.case("P63")
def test_a_third_file_under_the_name_and_the_first_again(fast: Sandbox, tmp_path: Path) -> None:
    """Each is compared with the last; the first one's rows are known, whatever came between."""
    path = tmp_path / "animals.csv"
    files = [[f"{month} {n}" for n in range(30)] for month in ("Jan", "Feb", "Mar")]
    for names in files:
        fast.store.import_pets(csv(path, names), existing="skip")
    assert existing_names(fast).total() == 90

    back = fast.store.import_pets(csv(path, files[0]), existing="skip")

    assert (back.created_now, back.skipped) == (0, 30)
    assert existing_names(fast).total() == 90


@pytest.mark.case("P63")
def test_the_same_cells_under_other_options_are_held_and_named(
    fast: Sandbox, tmp_path: Path
) -> None:
    """
    Another column is the category now: what was created keeps its outcome, and nothing is sent.
    """
    path = tmp_path / "pets.csv"
    path.write_text(
        "name,categoryId,shelf\n" + "".join(f"Pet {n},{n},{n + 100}\n" for n in range(20))
    )
    fast.store.import_pets(path)

    other = fast.store.import_pets(path, columns={"shelf": "categoryId"})

    assert (other.created_now, other.held) == (0, 20)
    assert existing_names(fast).total() == 20
    assert "row 2 exists as id 1" in other.frame["detail"][0]


def test_imports_lists_what_is(fast: Sandbox, tmp_path: Path, command: Command) -> None:
    """
    Rows with problems count as rejected, a refused file is no import, and times are of this age.
    """
    (tmp_path / "good.csv").write_text("name,categoryId\nRex,3\nMia,cats\n")
    (tmp_path / "refused.csv").write_text("name,categoryId\nRex,x\nMia,cats\n")
    fast.store.import_pets(tmp_path / "good.csv")
    with pytest.raises(SheetError):
        fast.store.import_pets(tmp_path / "refused.csv", strict=True)

    listed = command("imports")

    assert "refused.csv" not in listed.output
    assert "1970" not in listed.output
    (line,) = [line for line in listed.output.splitlines() if "good.csv" in line]
    assert line.split()[3:5] == ["1", "1"], listed.output  # created, rejected


@pytest.mark.case("P71")
@pytest.mark.parametrize("harm", ["damaged", "empty", "locked", "foreign"])
def test_one_unreadable_journal_stops_no_other_import(
    fast: Sandbox, tmp_path: Path, command: Command, harm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is named, the others go on, nothing is made of it, and `forget` takes it."""
    monkeypatch.setattr("petstore_tools.importing.journals.BUSY_S", 0.05)
    first = fast.store.import_pets(csv(tmp_path / "first.csv", ["Rex", "Mia"]))
    folder = fast.state_dir / "imports"
    path = folder / "0123456789ab.db"
    path.write_bytes(b"\0" * 8_192 if harm == "damaged" else b"")
    held = None
    if harm in ("locked", "foreign"):
        held = sqlite3.connect(path, isolation_level=None)
        held.execute("CREATE TABLE mine (a)")
    if held is not None and harm == "locked":
        held.execute("BEGIN EXCLUSIVE")
    size = path.stat().st_size

    preview = fast.store.preview_import(csv(tmp_path / "second.csv", ["Tom"]))
    second = fast.store.import_pets(tmp_path / "second.csv")
    listed = command("imports")
    shown = command("imports", "show", first.journal)

    assert "the journal 0123456789ab of another import cannot be read" in str(preview)
    assert second.complete
    assert "0123456789ab" in listed.output
    assert "first.csv" in listed.output
    assert (listed.exit_code, shown.exit_code) == (0, 0)
    assert path.stat().st_size == size
    if held is not None:
        held.close()
    forgotten = command("imports", "forget", "0123456789ab", "--yes")
    assert (forgotten.exit_code, path.exists()) == (0, False), forgotten.output


@pytest.mark.case("P64")
def test_a_frame_is_the_same_import_in_every_folder(
    fast: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its name alone."""
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"Tier": ["Rex", "", "Mia", "Tom"], "categoryId": [3, 1, 4, 5]})
    begun = fast.store.import_pets(frame, name="spring", columns={"Tier": "name"}, first=2)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")

    again = fast.store.import_pets(frame, name="spring", columns={"Tier": "name"})

    assert (again.journal, again.created, again.created_now) == (begun.journal, 3, 1)
    assert again.rejected == 1
    assert existing_names(fast) == {"Rex": 1, "Mia": 1, "Tom": 1}


def test_a_refused_import_leaves_nothing_behind(fast: Sandbox, tmp_path: Path) -> None:
    """No journal, no lock: the corrected file is a new import."""
    path = csv(tmp_path / "pets.csv", ["Rex"])
    with pytest.raises(SheetError):
        fast.store.import_pets(path, columns={"gone": "name"})
    path.write_text("name,categoryId\nRex,x\n")
    with pytest.raises(SheetError, match="strict is set"):
        fast.store.import_pets(path, strict=True)

    folder = fast.state_dir / "imports"
    assert not folder.exists() or not list(folder.iterdir())


def test_a_rejects_file_of_another_machine_is_refused(fast: Sandbox, tmp_path: Path) -> None:
    """Its journal is not here, so what was created is not known."""
    path = tmp_path / "pets.rejected.csv"
    path.write_text(
        "name,categoryId,petstore_row,petstore_journal,petstore_problem\nRex,3,2,0123456789ab,why\n"
    )
    with pytest.raises(JournalError, match="0123456789ab, whose journal is not on this machine"):
        fast.store.import_pets(path)


@pytest.mark.case("P32", "P71")
@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_the_journal_of_a_run_that_was_killed_is_read_by_the_next(
    fast: Sandbox, tmp_path: Path, mode: str
) -> None:
    """What it wrote, or had begun to write, is still beside the file: readers recover it first."""
    path = csv(tmp_path / "pets.csv", [f"Pet {n}" for n in range(300)])
    result = fast.store.import_pets(path)
    journal = fast.state_dir / "imports" / f"{result.journal}.db"
    beside = "-wal" if mode == "WAL" else "-journal"
    writer = sqlite3.connect(journal, isolation_level=None)
    writer.execute(f"PRAGMA journal_mode = {mode}")
    writer.execute("PRAGMA cache_size = 1")
    writer.execute("BEGIN")
    writer.execute("UPDATE row SET detail = 'as it was'")
    if mode == "WAL":
        writer.execute("COMMIT")
    as_left = {name: Path(f"{journal}{name}").read_bytes() for name in ("", beside)}
    writer.close()
    for name, content in as_left.items():
        Path(f"{journal}{name}").write_bytes(content)
    Path(f"{journal}-shm").unlink(missing_ok=True)

    assert fast.store.preview_import(path).created == 300
    assert {e.detail for e in peek_at(journal)} == {"as it was" if mode == "WAL" else ""}


def peek_at(journal: Path) -> list[Entry]:
    """Read a journal as previews do."""
    (found,) = list_journals(journal.parent)[0]
    return read_entries(journal.parent, found.target, journal_id=found.id)
