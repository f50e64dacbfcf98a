"""Whole imports against the real service: what goes, what is printed, and the same call again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from inventories import ROWS, existing, expected

from petstore_tools import PetStore, Sandbox
from petstore_tools.errors import JournalError, SheetError
from petstore_tools.sandbox import samples


def test_every_row_is_created_once_and_a_second_run_sends_nothing(
    fast: Sandbox, file: Path
) -> None:
    """The service holds exactly the file; again: 0 requests."""
    first = fast.store.import_pets(file)
    second = fast.store.import_pets(file)

    assert existing(fast) == expected()
    assert (first.created, first.created_now, first.complete) == (ROWS, ROWS, True)
    assert (second.created, second.created_now, second.requests) == (ROWS, 0, 0)


def test_the_forecast_is_printed_before_the_first_request(
    fast: Sandbox, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows, host, price; the preview alone sends and writes nothing."""
    preview = fast.store.preview_import(file)
    assert (preview.to_send, fast.store.client.sent) == (ROWS, 0)
    assert not (fast.store.journals).exists()

    fast.store.import_pets(file)

    assert f"{ROWS} to send" in capsys.readouterr().out


@pytest.mark.parametrize("whole_store", [False, True])
def test_an_import_without_progress_prints_nothing(
    fast: Sandbox, file: Path, whole_store: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Said of one call or of the store: neither a preview nor a bar."""
    place: dict[str, Any] = {
        "base_url": fast.base_url,
        "api_key": fast.api_key,
        "plan": "9000/90000",
    }
    store = PetStore(**place, progress=False if whole_store else None)

    result = store.import_pets(file, progress=None if whole_store else False)

    store.close()
    assert result.complete
    assert capsys.readouterr() == ("", "")


def test_a_frame_goes_by_its_name(
    fast: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same name goes on with the same import; without one it says what to do."""
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"name": ["Rex", "Mia"], "categoryId": [3, 4]})

    with pytest.raises(SheetError, match="a DataFrame needs a name"):
        fast.store.import_pets(frame)
    first = fast.store.import_pets(frame, name="spring.2026")
    more = pd.concat([frame, pd.DataFrame({"name": ["Max"], "categoryId": [5]})])
    second = fast.store.import_pets(more, name="spring.2026")

    assert (first.created, second.created_now, second.complete) == (2, 1, True)
    assert (tmp_path / "spring.2026.sandbox.created.csv").read_text().splitlines()[3] == "Max,5,3"


@pytest.mark.case("P35")
def test_an_edited_row_is_held_and_goes_only_when_told(fast: Sandbox, tmp_path: Path) -> None:
    """Through the real journal: held, named, nothing sent; then a further animal."""
    path = tmp_path / "pets.csv"
    path.write_text("name,categoryId\nRex,3\nMia,4\n")
    fast.store.import_pets(path)
    path.write_text("name,categoryId\nRexy,3\nMia,4\n")

    held = fast.store.import_pets(path)
    assert (held.held, held.requests, held.frame["outcome"].tolist()) == (1, 0, ["held", "created"])

    sent = fast.store.import_pets(path, send_edited=True)
    assert (sent.held, sent.created_now) == (0, 1)


def test_duplicates_go_or_are_left_out_as_told(fast: Sandbox, tmp_path: Path) -> None:
    """Two animals may be called Mia; drop_duplicates sends one."""
    for name, drop, count in (("a.csv", True, 2), ("b.csv", False, 3)):
        path = tmp_path / name
        path.write_text("name,categoryId\nMia,4\nMia,4\nRex,3\n")
        result = fast.store.import_pets(path, drop_duplicates=drop, existing="send")
        assert (result.created, result.skipped, result.complete) == (count, 3 - count, True)


@pytest.mark.case("P52")
def test_a_file_that_changed_between_preview_and_run_is_read_again(
    fast: Sandbox, file: Path
) -> None:
    """What is sent is what is in the file now; the same rows saved otherwise are the same file."""
    preview = fast.store.preview_import(file)
    file.write_text(file.read_text(encoding="utf-8") + "Newcomer,3,sold\n", encoding="utf-8")
    first = fast.store.import_pets(file)
    file.write_bytes(
        file.read_text(encoding="utf-8").replace("\n", "\r\n").replace(",", ";").encode("utf-8-sig")
    )
    second = fast.store.import_pets(file)

    assert (preview.to_send, first.created) == (ROWS, ROWS + 1)
    assert (second.created_now, second.requests, second.complete) == (0, 0, True)


@pytest.mark.case("P35")
def test_a_copy_of_a_file_is_not_created_a_second_time(fast: Sandbox, file: Path) -> None:
    """
    A copy with one row more: refused until told; skipped, only the new row goes; sent, all do.
    """
    fast.store.import_pets(file)
    copy = file.with_name("copy.csv")
    copy.write_text(file.read_text(encoding="utf-8") + "Newcomer,3,sold\n", encoding="utf-8")

    assert fast.store.preview_import(copy).existing == ROWS
    with pytest.raises(
        SheetError, match="60 of 61 rows in copy.csv match animals that already exist"
    ):
        fast.store.import_pets(copy)
    assert existing(fast) == expected()

    skipped = fast.store.import_pets(copy, existing="skip")

    assert (skipped.created_now, skipped.skipped, skipped.complete) == (1, ROWS, True)
    assert existing(fast) == expected() + Counter([("Newcomer", 3, "sold")])


@pytest.mark.case("P36")
def test_a_second_run_of_the_same_import_refuses(fast: Sandbox, file: Path) -> None:
    """Both in one process here; the lock is the operating system's."""
    seen: list[str] = []

    def meanwhile(_: object) -> None:
        if not seen:
            with pytest.raises(JournalError, match="running already"):
                fast.store.import_pets(file)
            seen.append("refused")

    result = fast.store.import_pets(file, progress=meanwhile)

    assert seen == ["refused"]
    assert result.complete


def test_rows_that_match_animals_in_the_inventory_are_asked_about(
    fast: Sandbox, file: Path
) -> None:
    """
    Twelve of sixty bear the values of animals there: counted, named, nothing created, until told.
    """
    fast.add(samples.animals(ROWS)[:12])
    with pytest.raises(
        SheetError, match=r"12 of 60 rows in animals\.csv match animals that.*row 2\)"
    ):
        fast.store.import_pets(file)
    assert sum(existing(fast).values()) == 12

    result = fast.store.import_pets(file, existing="skip")

    assert (result.created, result.skipped) == (ROWS - 12, 12)
    assert existing(fast) == expected()


def test_rows_added_to_skipped_ones_are_compared_with_the_inventory(
    fast: Sandbox, file: Path
) -> None:
    """
    An import that left all its rows out has sent nothing: what is added to it may exist already.
    """
    fast.store.import_pets(file)
    copy = file.with_name("copy.csv")
    copy.write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    assert fast.store.import_pets(copy, existing="skip").skipped == ROWS
    fast.add([("Newcomer", 3, "sold")])
    copy.write_text(file.read_text(encoding="utf-8") + "Newcomer,3,sold\n", encoding="utf-8")

    with pytest.raises(
        SheetError, match="1 of 61 rows in copy.csv match animals that already exist"
    ):
        fast.store.import_pets(copy)


def test_a_baseline_that_costs_too_many_requests_is_given_up(fast: Sandbox, file: Path) -> None:
    """
    1,500 animals are fifteen pages, sixty rows are worth ten: the import goes on without a
    baseline.
    """
    fast.add(samples.animals(1_500, seed=9))

    result = fast.store.import_pets(file)

    assert (result.complete, result.requests) == (True, 10 + ROWS)
