"""What became of an import: the files beside the input, and what is shown."""

import errno
import re
import shutil
import tempfile
from contextlib import ExitStack
from unittest.mock import Mock

import pytest
from harms import full_disk
from inventories import connect_through, faulty_creates, write_rows
from raw import reply_bytes
from tables import corpus_file

from petstore_tools import PetStore
from petstore_tools.errors import OutputError, UnauthorizedError
from petstore_tools.importing.imports import Target
from petstore_tools.importing.journal import read_journal

HEADER = "name,categoryId,status,note"


def run(box, path, **options):
    """Import a file."""
    return box.store.import_pets(path, **options)


@pytest.mark.parametrize(
    ("room", "reason"),
    [
        (1_000, "the journal .*make room on its disk|File too large"),
        (90_000, "could not be written: pets.csv .*File too large"),
    ],
)
def test_a_full_disk_when_the_list_is_written_stands_in_the_result(
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

    assert result.created == 1
    assert re.search(reason, str(result))
    assert second_result.list_file.name == "pets.imported.csv"
    assert second_result.list["petstore_id"].tolist() == [1]


def test_a_folder_that_takes_no_file_is_named_before_a_request(
    fast, tmp_path, monkeypatch
):
    """The list stands beside the source; the journal is elsewhere."""
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

    assert (result.rejected, result.not_written) == (1, "")


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
    counts = "pets.csv → sandbox: 4 rows: 1 created, 1 rejected, 2 left out"
    left_out = "left out, a total or a line about the table: row 5 ('Total')"
    assert str(result).startswith(counts)
    assert left_out in str(result)
    assert str(result).endswith("; go on with pets.sandbox.imported.csv")


def test_a_duplicate_that_was_created_before_is_not_left_out(fast, tmp_path):
    """The option came later."""
    path = write_rows(tmp_path / "pets.csv", "Rex,3,sold", "Rex,3,sold")
    run(fast, path)

    preview = fast.store.preview_import(path, drop_duplicates=True)

    assert str(preview).endswith(": nothing to send; 2 created already")


def test_an_import_counts_the_animals_that_it_made_itself(fast, tmp_path):
    """One list, whichever of its files is imported."""
    path = write_rows(tmp_path / "pets.csv", "Rex,3,sold", "Mia,4,sold")
    list_file = run(fast, path).list_file
    with list_file.open("a") as file:
        file.write("Bo,5,sold,,\n")

    run(fast, list_file)
    path.write_bytes(list_file.read_bytes())
    run(fast, path)

    assert [*fast.store.imports()["created"]] == [3]


def test_hidden_rows_stand_in_the_result(fast, tmp_path):
    """They may be animals, and a filter that was left on hides them."""
    path = shutil.copy(corpus_file("hidden_rows.xlsx"), tmp_path)

    result = run(fast, path)

    assert "2 created, 1 left out; left out, hidden: row 2; go on with" in str(result)


def test_a_created_row_whose_id_is_not_known_says_so_in_the_list(fast, tmp_path):
    """The same call finds the id."""
    path = write_rows(tmp_path / "a.csv", "Rex,3,sold", "Mia,4,sold", "Tom,5,sold")
    replies = {2: reply_bytes(201), 3: reply_bytes(401)}

    with faulty_creates(fast, lambda number: replies.get(number, "pass")) as proxy:
        store = connect_through(fast, proxy)
        with pytest.raises(UnauthorizedError) as refused:
            store.import_pets(path)

    result = refused.value.result
    assert result.created == 2
    assert result.list["petstore_id"].notna().tolist() == [True, False, False]
    notes = result.list["petstore_note"].tolist()
    assert notes[0] == ""
    assert "its id is not known yet" in notes[1]
    assert notes[2] == "not sent yet"
    assert "the id of 1 row that was created is not known yet" in str(result)
