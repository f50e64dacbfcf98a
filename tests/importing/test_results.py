"""What became of an import: the files beside the input, and what is shown."""

import errno
import os
import re
import shutil
import subprocess
import tempfile
from contextlib import ExitStack
from unittest.mock import Mock

import pytest
from harms import full_disk
from inventories import connect_through, faulty_creates, write_rows
from raw import reply_bytes
from tables import corpus_file, read_json

from petstore_tools import PetStore
from petstore_tools.errors import OutputError, UnauthorizedError
from petstore_tools.importing.imports import Target
from petstore_tools.importing.journal import read_journal
from petstore_tools.tabular.cells import NonTextCell
from petstore_tools.tabular.sources import open_source
from petstore_tools.tabular.workbooks import workbook_bytes

HEADER = "name,categoryId,status,note"


def run(box, path, **options):
    """Import a file."""
    return box.store.import_pets(path, **options)


def look(cell):
    """Return a cell, one that was no text with what it was and how it looked."""
    if isinstance(cell, NonTextCell):
        return [str(cell), cell.kind, cell.number_format]
    return cell


@pytest.mark.parametrize(("imports", "files"), read_json(__file__, "result_files.json"))
def test_result_files_keep_what_was_typed_and_how_it_looked(
    fast, tmp_path, imports, files
):
    """
    In the columns, order, encoding and quoting of the source; no cell is a formula, and
    each animal has its id, also one that the file has no more.
    """
    for name, text, *encoding in imports:
        path = tmp_path / name
        path.write_bytes(text.encode(*encoding) or corpus_file(name).read_bytes())
        result = run(fast, path, doubtful="send")

    contents = {
        file.name: [[number, [*map(look, cells)]] for number, cells in sheet.records()]
        if file.suffix == ".xlsx"
        else file.read_bytes().decode(*encoding)
        for file in result.files
        for sheet in open_source(file)
    }
    assert contents == files


@pytest.mark.skipif(
    not shutil.which("soffice"), reason="no LibreOffice on this machine"
)
def test_result_files_saved_by_libreoffice_are_read(fast, tmp_path):
    """No cell runs as a formula, ids are numbers, and what is corrected there goes."""
    rows = [["=Mia", "cats"], ["007", "x"], ["=1+1", "3"]]
    (tmp_path / "pets.xlsx").write_bytes(workbook_bytes(["name", "categoryId"], rows))
    list_file = write_rows(tmp_path / "list.csv", "=1+2,4,sold")
    files = [*run(fast, tmp_path / "pets.xlsx").files, *run(fast, list_file).files]

    command = ["soffice", "--headless", "--convert-to", "xlsx", "--outdir", "saved"]
    profile = f"-env:UserInstallation={tmp_path.as_uri()}/profile"
    subprocess.run(
        [*command, profile, *(file.name for file in files)],
        check=True,
        timeout=90,
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    saved = [tmp_path / "saved" / f"{file.stem}.xlsx" for file in files]
    result = run(fast, saved[1], categories={"cats": 5})

    cells = [[*open_source(file)[0].records()][-1][1] for file in saved]
    assert [*map(str, cells[0]), *cells[2]] == [
        "=1+1",
        "3",
        "1",
        "'=1+2",
        "4",
        "sold",
        "2",
    ]
    assert {getattr(row[-1], "kind", "") for row in cells[0::2]} == {"a number"}
    assert [*result.frame["name"]] == ["=Mia", "007"]
    assert [*result.frame["outcome"]] == ["created", "rejected"]


@pytest.mark.parametrize(
    ("room", "reason"),
    [(1_000, "the journal .*make room on its disk"), (90_000, "File too large")],
)
def test_a_full_disk_when_a_result_file_is_written_stands_in_the_result(
    fast, tmp_path, room, reason
):
    """Nothing is raised after the sending, and the same call writes the file."""
    row = f"Rex,3,sold,{'x' * 100_000}"
    path = write_rows(tmp_path / "pets.csv", row, header=HEADER)
    store = PetStore(base_url=fast.base_url, api_key=fast.api_key)
    target = Target("production", store.settings.service_id, path)

    def fill(_):
        with read_journal(store.journal_folder, target) as journal:
            if journal.counts()["created"]:
                disk.enter_context(full_disk(room))

    with ExitStack() as disk:
        result = store.import_pets(path, progress=fill)
    second_result = store.import_pets(path)

    assert (result.created, result.files) == (1, ())
    assert re.search(rf"not written: pets.created.csv \({reason}", str(result))
    assert [file.name for file in second_result.files] == ["pets.created.csv"]


def test_a_folder_that_takes_no_file_is_named_before_a_request(
    fast, tmp_path, monkeypatch
):
    """The result files stand beside the source; the journal is elsewhere."""
    path = write_rows(tmp_path / "a.csv", "Rex,3,sold")
    refuse = Mock(side_effect=OSError(errno.EROFS, "read-only file system"))
    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)

    with pytest.raises(
        OutputError, match="cannot be written .*let this user write there"
    ):
        fast.store.import_pets(path)
    assert len(fast.traffic()) == 0


def test_a_long_reason_is_written(fast, tmp_path):
    """As much of it as a cell holds."""
    path = write_rows(tmp_path / "b.csv", "Tom,3,sold")
    long_reply = reply_bytes(400, b"x" * 40_000)
    with faulty_creates(fast, lambda _: long_reply) as proxy:
        result = connect_through(fast, proxy).import_pets(path)

    assert (result.rejected, result.not_written) == (1, ())


def test_every_row_stands_in_the_frame_with_its_outcome(fast, tmp_path):
    """
    What the answers showed as notes, and the problem of a row that could not be read; a
    line about the table is left out, and no reject.
    """
    path = write_rows(
        tmp_path / "pets.csv", "Mia,x,", "Rex,3,sold", "Rex,3,sold", "Total,,"
    )

    result = run(fast, path, drop_duplicates=True)

    frame = result.frame
    assert list(frame["outcome"]) == [
        "rejected",
        "created",
        "left out",
        "left out",
    ]
    assert list(frame["row"]) == [2, 3, 4, 5]
    assert list(frame["name"])[:2] == ["Mia", "Rex"]
    assert list(frame["detail"])[2:] == [
        "a duplicate of an earlier row",
        "a total or a line about the table ('Total'); if it is an animal, complete the"
        " row",
    ]
    assert "'x' is not the id of a category" in frame["detail"][0]
    files = (
        "go on with pets.sandbox.created.csv; rejected rows: pets.sandbox.rejected.csv"
    )
    counts = "pets.csv → sandbox: 4 rows: 1 created, 1 rejected, 2 left out"
    left_out = "left out, a total or a line about the table: row 5 ('Total')"
    assert str(result).startswith(counts)
    assert left_out in str(result)
    assert str(result).endswith(files)


def test_a_duplicate_that_was_created_before_is_not_left_out(fast, tmp_path):
    """The option came later."""
    path = write_rows(tmp_path / "pets.csv", "Rex,3,sold", "Rex,3,sold")
    run(fast, path)

    preview = fast.store.preview_import(path, drop_duplicates=True)

    assert str(preview).endswith(": nothing to send; 2 created already")


def test_a_folder_or_a_pipe_in_the_place_of_a_result_file_is_kept(fast, tmp_path):
    """A pipe would wait for ever; the next number is taken."""
    (tmp_path / "a.sandbox.created.csv").mkdir()
    result = run(fast, write_rows(tmp_path / "a.csv", "Rex,3,sold"))

    assert [file.name for file in result.files] == ["a.sandbox.created.2.csv"]


def test_a_created_workbook_is_imported_with_the_same_options(fast, tmp_path):
    """Its sheet bears the name of that of the source."""
    path = tmp_path / "pets.xlsx"
    content = workbook_bytes(["name", "categoryId"], [["Rex", "3"]], name="Bestand")
    path.write_bytes(content)
    (list_file,) = run(fast, path, sheet="Bestand").files

    result = run(fast, list_file, sheet="Bestand")

    assert (result.created, result.created_now) == (1, 0)


def test_an_import_counts_the_animals_that_it_made_itself(fast, tmp_path):
    """Its own, also with their ids; not those that a list to go on with names."""
    path = write_rows(tmp_path / "pets.csv", "Rex,3,sold", "Mia,4,sold")
    (created_file,) = run(fast, path).files
    with created_file.open("a") as file:
        file.write("Bo,5,sold,\n")

    (longer_file,) = run(fast, created_file).files
    path.write_bytes(longer_file.read_bytes())
    run(fast, path)

    assert sorted(fast.store.imports()["created"]) == [1, 2]


def test_hidden_rows_stand_in_the_result(fast, tmp_path):
    """They may be animals, and a filter that was left on hides them."""
    path = shutil.copy(corpus_file("hidden_rows.xlsx"), tmp_path)

    result = run(fast, path)

    assert "2 created, 1 left out; left out, hidden: row 2; go on with" in str(result)


def test_a_created_row_whose_id_is_not_known_stands_in_no_list(fast, tmp_path):
    """It would be sent again from there; the result says so, and how it comes in."""
    path = write_rows(tmp_path / "a.csv", "Rex,3,sold", "Mia,4,sold", "Tom,5,sold")
    replies = {2: reply_bytes(201), 3: reply_bytes(401)}

    with faulty_creates(fast, lambda number: replies.get(number, "pass")) as proxy:
        store = connect_through(fast, proxy)
        with pytest.raises(UnauthorizedError) as refused:
            store.import_pets(path)

    result = refused.value.result
    assert result.created == 2
    assert len(result.files[0].read_text().splitlines()) == 2
    assert "the id of 1 row that was created is not known yet" in str(result)
