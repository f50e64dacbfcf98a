"""What tests of imports share."""

from pathlib import Path

import pytest
from inventories import ROWS

from petstore_tools.sandbox import samples


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a file of sample animals."""
    path = tmp_path / "animals.csv"
    path.write_text(samples.animals_csv(ROWS), encoding="utf-8")
    return path
