"""
What is shown before anything is sent: problems by what fixes them, and what nobody
sees.
"""

from pathlib import Path

import pytest
from inventories import write_rows

from petstore_tools import Sandbox
from petstore_tools.errors import SheetError
from petstore_tools.plans import Plan


def test_a_listing_that_costs_a_day_is_agreed_to_first(tmp_path: Path) -> None:
    """
    70 rows fit into what is left of today, and with a listing of 11 requests they do
    not.
    """
    path = write_rows(tmp_path / "pets\n.csv", *(f"Rex {n},3,sold" for n in range(70)))
    with Sandbox(plan=Plan(100, 100), animals=1_100) as box:
        box.store.list_pets()

        with pytest.raises(
            SheetError, match="a day later. Nothing was created. wait=True"
        ):
            box.store.import_pets(path, progress=False)
        agreed = [{"wait": True}, {"doubtful": "send"}]
        previews = [box.store.preview_import(path, **options) for options in agreed]

        assert [preview.refusal for preview in previews] == ["", ""]
        assert str(previews[0]).startswith("pets\\n.csv → sandbox")
        assert len(box.traffic()) == 11
