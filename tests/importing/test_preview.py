"""
What is shown before anything is sent: problems by what fixes them, and what nobody
sees.
"""

import pytest
from inventories import write_rows

from petstore_tools import Sandbox
from petstore_tools.errors import SheetError
from petstore_tools.plans import Plan

HEADER_OF_IDS = "name,categoryId,status,petstore_id"


def test_a_listing_that_costs_a_day_is_agreed_to_first(tmp_path):
    """
    70 rows fit into what is left of today, and with a listing of 11 requests they do
    not; 120 take two days with it, too. Before a first listing, nobody knows what one
    costs, and that is said.
    """
    rows = [f"Rex {n},3,sold" for n in range(120)]
    path = write_rows(tmp_path / "pets\n.csv", *rows[:70])
    longer = write_rows(tmp_path / "longer.csv", *rows)
    with Sandbox(plan=Plan(100, 100), animals=1_100) as box:
        unknown = str(box.store.preview_import(path))
        box.store.list_pets()

        with pytest.raises(
            SheetError, match="a day later. Nothing was created. wait=True"
        ):
            box.store.import_pets(path)
        agreed = box.store.preview_import(path, wait=True)

        assert box.store.preview_import(longer).refusal == ""
        assert "with a request for each 100 animals" in " ".join(unknown.split())
        assert "forecast  70 requests, on " in unknown
        assert "81 requests, about 11 of them for listing" in str(agreed)
        assert "for each 100" not in str(agreed)
        assert (agreed.refusal, agreed.forecast.baseline) == ("", 11)
        assert "first lists the animals" in str(agreed)
        assert str(agreed).startswith("pets\\n.csv → sandbox")
        assert len(box.traffic()) == 11


def test_ids_are_never_taken_without_a_listing(tmp_path):
    """Of other animals, though `send` answers for rows, where a listing costs a day."""
    rows = [f"Rex {n},3,sold,{n or ''}" for n in range(5)]
    path = write_rows(tmp_path / "a.csv", *rows, header=HEADER_OF_IDS)
    with Sandbox(plan=Plan(100, 30), animals=2_000) as box:
        box.store.list_pets()

        preview = box.store.preview_import(path, doubtful="send")

        assert preview.refusal.endswith("wait=True (--wait) waits for it")
        result = box.store.import_pets(path, doubtful="send", wait=True)
        assert (result.created, result.rejected) == (1, 4)


def test_ids_that_were_not_checked_yet_are_said_to_be(sandbox, tmp_path):
    """A preview asks no service: the import may refuse them."""
    rows = "Rex,3,sold,1", "Mia,4,sold,2"
    path = write_rows(tmp_path / "a.csv", *rows, header=HEADER_OF_IDS)

    preview = sandbox.store.preview_import(path)

    assert "2 created already; the import first lists the animals" in str(preview)


def test_both_keys_of_a_doubtful_row_are_shown(fast, tmp_path):
    """A key that is new, and a name and category that a row with another key had."""
    path = tmp_path / "pets.csv"
    path.write_text("name,categoryId,Chip\nRex,3,c1\nMia,4,c2\n")
    fast.store.import_pets(path, row_key="Chip")
    path.write_text("name,categoryId,Chip\nRex,3,c9\nMia,4,c2\n")

    (because,) = fast.store.preview_import(path, row_key="Chip").doubtful["because"]
    path.write_text("name,categoryId,Chip\nRex,3,c1\nMax,4,c2\n")
    (renamed,) = fast.store.preview_import(path, row_key="Chip").doubtful["because"]

    assert because.endswith("; its key is c9, that one's c1")
    assert "its key is" not in renamed


def test_a_preview_and_a_result_are_tables_in_a_notebook(fast, tmp_path):
    """With the facts of their texts, and nothing of a file is markup."""
    path = write_rows(tmp_path / "pets.csv", "Rex,3,sold", "<b>Mia</b>,x,", "Total,,")

    shown = fast.store.preview_import(path)._repr_html_()
    result = fast.store.import_pets(path, progress=False)

    for text in (shown, result._repr_html_()):
        assert "<table" in text
        assert "<b>Mia" not in text
        assert "row 4 (&#x27;Total&#x27;)" in text
    assert "categories={&quot;x&quot;: …}" in shown
    assert "pets.sandbox.imported.csv" in result._repr_html_()
