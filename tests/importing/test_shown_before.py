"""
What cannot be undone is shown before it is done: odd names, duplicates, hidden rows, guessed
letters.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import xlsxwriter

from petstore_tools import Sandbox
from petstore_tools.errors import SheetError
from petstore_tools.importing.check import hidden_in_names
from petstore_tools.importing.sheet import read_table
from petstore_tools.importing.values import PetValues, Row


@pytest.mark.case("P47")
def test_names_with_something_that_nobody_sees_are_named(sandbox: Sandbox, tmp_path: Path) -> None:
    """Of each kind how many, their rows, and the name as it is sent; also in the notebook."""
    names = [" Rex", "Mia ", "Max\u00a0II", "To\nm", "E\u200bli", "Zoë", "👩\u200d🔬", "A B"]
    path = tmp_path / "pets.csv"
    path.write_text(
        "name,categoryId\n" + "".join(f'"{name}",3\n' for name in names), encoding="utf-8"
    )

    preview = sandbox.store.preview_import(path)

    assert preview.notes[-4:] == (
        "2 names with blanks around, sent as typed: row 2 ' Rex', row 3 'Mia '",
        "1 name with a line break, sent as typed: row 5 'To\\nm'",
        "1 name with a tab or a special blank, sent as typed: row 4 'Max\\xa0II'",
        "1 name with invisible characters, sent as typed: row 6 'E\\u200bli'",
    )
    assert all(note in str(preview) for note in preview.notes)
    assert "row 6 &#x27;E\\u200bli&#x27;" in preview._repr_html_()
    assert sandbox.store.import_pets(path, progress=False).complete
    assert sandbox.store.list_pets()["name"].tolist() == names


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("\tRex", ["with blanks around", "with a tab"]),
        ("Rex\n", ["with blanks around", "with a line break"]),
        ("Zo\u2028e", ["with a line break"]),
        ("Rex\u200d", ["with invisible characters"]),
        ("\ufeffRex", ["with invisible characters"]),
        ("Mu\u00adtz", ["with invisible characters"]),
        ("می\u200cروم", []),
        ("Żabka 🐸", []),
    ],
)
def test_kinds_of_hidden_characters(name: str, kinds: list[str]) -> None:
    """Joiners of emoji and of Persian words belong there."""
    said = hidden_in_names([Row(2, PetValues(name, 3, None), (name, "3"))])

    assert [kind in text for kind, text in zip(kinds, said, strict=True)] == [True] * len(kinds)


def test_many_are_counted_and_some_are_shown() -> None:
    """A thousand trailing blanks are one line."""
    (said,) = hidden_in_names(Row(n, PetValues(f"Pet {n} ", 3, None), ()) for n in range(2, 1_002))

    assert said.startswith("1,000 names with blanks around, sent as typed: row 2 'Pet 2 '")
    assert said.endswith("row 6 'Pet 6 ', and 995 more")


@pytest.mark.parametrize("drop", [False, True])
def test_duplicates_are_named_with_their_rows(sandbox: Sandbox, tmp_path: Path, drop: bool) -> None:
    """Whether they are sent or dropped."""
    path = tmp_path / "pets.csv"
    path.write_text(
        "name,categoryId,status\nMia,4,\nRex,3,sold\nMia,4,\nRex,3,sold\nMia,4,\nTom,5,\n"
    )

    preview = sandbox.store.preview_import(path, drop_duplicates=drop)

    assert preview.notes[-1] == (
        "duplicates: rows 2, 4, 6 ('Mia', 4, no status); rows 3, 5 ('Rex', 3, sold)"
    )
    assert (preview.duplicates, preview.to_send) == (3, 3 if drop else 6)


def _with_hidden_rows(path: Path, hidden: list[int], rows: int = 8) -> Path:
    with xlsxwriter.Workbook(path) as book:
        book.add_worksheet("Notes")
        sheet = book.add_worksheet("Pets & more")
        for number in range(rows):
            sheet.write_row(
                number, 0, [f"Pet {number}", number] if number else ["name", "categoryId"]
            )
        for number in hidden:
            sheet.set_row(number - 1, None, None, {"hidden": True})
    return path


@pytest.mark.case("P51")
def test_hidden_rows_of_a_workbook_are_named(sandbox: Sandbox, tmp_path: Path) -> None:
    """
    By hand or by a filter; those without a value do not matter. They do not go, and the note says
    so.
    """
    path = _with_hidden_rows(tmp_path / "pets.xlsx", [3, 5, 6, 12])
    said = "3 rows hidden on the sheet, not sent: 3, 5, 6; to send them: hidden=True"

    preview = sandbox.store.preview_import(path)
    assert said in preview.notes
    assert preview.to_send == 4
    preview = sandbox.store.preview_import(path, hidden=True)
    assert (preview.to_send, said in preview.notes) == (7, False)
    none = sandbox.store.preview_import(_with_hidden_rows(tmp_path / "all.xlsx", []))
    assert not [note for note in none.notes if "hidden" in note]


@pytest.mark.case("P44")
def test_names_are_shown_as_they_were_read_where_the_encoding_was_guessed(tmp_path: Path) -> None:
    """
    A file in the letters of Prague or of an old Macintosh is garbled for good, unless somebody sees
    it.
    """
    names = ["Rex", "Žofka", "Řízek", "Žofka", "Müsli", "Čert"]
    text = "name,categoryId\n" + "".join(f"{name},3\n" for name in names)
    path = tmp_path / "pets.csv"
    path.write_bytes(text.encode("cp1250"))

    assert read_table(path).notes == (
        "read as cp1252: it is not UTF-8",
        "the encoding was guessed, and names read so: 'Žofka', 'Øízek', 'Müsli'; if a letter is wrong, save "
        'the file as CSV UTF-8, or name its encoding: encoding="…"',
        "no column for status: the animals will have none, and it cannot be added later",
    )
    path.write_bytes("name,categoryId\nRené,3\n".encode("mac_roman"))
    assert "names read so: 'RenŽ'" in read_table(path).notes[1]
    path.write_bytes("name,categoryId\nZoë,3\n".encode() + "Chloé,4\n".encode("cp1252"))
    assert "names read so: 'Chloé'" in read_table(path).notes[1]
    path.write_bytes("name,categoryId,note\nRex,3,Café\n".encode("cp1252"))
    assert not [note for note in read_table(path).notes if "names read so" in note]


def test_a_small_import_that_is_not_compared_with_many_animals_says_so(
    fast: Sandbox, tmp_path: Path
) -> None:
    """
    How many there are, and how to compare them; nothing is spent in vain, and the result says it
    again.
    """
    fast.add([(f"Old {n}", 1, None) for n in range(1_200)])
    path = tmp_path / "pets.csv"
    path.write_text("name,categoryId\nOld 1,1\nNew,1\n")

    first = fast.store.preview_import(path)
    assert "that exist already, if there are at most 1,000 of them; for more: baseline=True" in str(
        first
    )
    fast.store.list_pets()
    then = fast.store.preview_import(path)
    assert "the rows are not compared with the 1,200 animals that exist" in str(then)
    assert "to compare them first, with about 12 requests: baseline=True" in str(then)
    assert (first.forecast.baseline, then.forecast.baseline) == (10, 0)

    whole = fast.store.preview_import(path, baseline=True)
    assert (whole.forecast.baseline, "baseline=" in str(whole)) == (12, False)
    with pytest.raises(
        SheetError, match="1 of 2 rows in pets.csv match animals that already exist"
    ):
        fast.store.import_pets(path, baseline=True, progress=False)
    sent = fast.store.import_pets(path, progress=False)
    assert (sent.created, sent.requests, sent.not_compared) == (2, 2, True)
