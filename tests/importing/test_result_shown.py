"""What a result and its progress show."""

from __future__ import annotations

from pathlib import Path

from inventories import ROWS

from petstore_tools import Sandbox
from petstore_tools.importing.send import Progress


def test_rejected_rows_are_shown_as_typed_and_files_are_named(
    fast: Sandbox, tmp_path: Path
) -> None:
    """Name, category and status of a row with problems; the HTML names the result files."""
    path = tmp_path / "pets.csv"
    path.write_text("status,name,categoryId\nsold,Rex,3\ngone,Mia,cats\n")

    result = fast.store.import_pets(path)

    columns = ["name", "outcome", "typed_category", "typed_status"]
    assert result.frame[columns].iloc[1].tolist() == ["Mia", "rejected", "cats", "gone"]
    assert result.frame[["typed_category", "typed_status"]].iloc[0].isna().all()
    assert "Files: pets.sandbox.created.csv, pets.sandbox.rejected.csv." in result._repr_html_()


def test_progress_counts_from_where_the_import_is(fast: Sandbox, file: Path) -> None:
    """A second run begins with the rows of the first, and ends with all of them."""
    fast.store.import_pets(file, first=5)
    shown: list[Progress] = []

    fast.store.import_pets(file, progress=shown.append)

    assert {(now.total, now.done >= 5) for now in shown} == {(ROWS, True)}
    assert (shown[-1].done, shown[-1].created) == (ROWS, ROWS)
