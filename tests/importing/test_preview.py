"""
What is shown before anything is sent: problems by what fixes them, and what nobody
sees.
"""

from pathlib import Path

import pytest
from inventories import write_rows

from petstore_tools import Sandbox
from petstore_tools.errors import SheetError
from petstore_tools.importing.rows import group_problems
from petstore_tools.importing.values import RowProblem
from petstore_tools.plans import Plan
from petstore_tools.tabular.cells import FrameRow


def problem(
    row: int,
    value: str,
    rule: str = "is a name, not an id",
    help_: str = "--categories FILE",
) -> RowProblem:
    """Return a problem in column B."""
    return RowProblem(row, "B", "categoryId", value, rule, help_)


def test_problems_with_one_fix_are_one_line() -> None:
    """
    The largest group first; values by how often they are met, cut where they are long.
    """
    names = [
        problem(row, ["Dogs", "Cats", "Dogs", "Fish", "Cats", "Birds", "Mice"][row % 7])
        for row in range(100, 1000)
    ]
    whole = [
        RowProblem(n, "", "", "Rex,3", "has 2 cells", "check it") for n in (4, 5, 6, 9)
    ]
    long = [
        problem(row, "x" * 50, "is not a known category", "add it") for row in (12, 13)
    ]
    labels = [
        problem(FrameRow(row, f"x{row}"), " ", "is empty", "give one")
        for row in (1, 2, 3)
    ]

    assert [*map(str, group_problems([*long, *names, *whole, *labels]))] == [
        (
            "900 rows (100, 101, 102, and 897 more): column B ('Dogs', 'Cats', 'Fish',"
            " and 2 more) is a name, not an id → --categories FILE"
        ),
        "4 rows (4, 5, 6, and 1 more): the row has 2 cells → check it",
        "3 rows ('x1', 'x2', 'x3'): column B is empty → give one",
        f"2 rows (12, 13): column B ('{'x' * 40}…') is not a known category → add it",
    ]


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
