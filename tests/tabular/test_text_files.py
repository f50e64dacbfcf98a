"""
Texts in and out: the delimiter that is found, lines that cannot be split, formulas
harmless.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tables import read_table

from petstore_tools.errors import ArgumentError
from petstore_tools.tabular.sources import open_source
from petstore_tools.tabular.text_files import (
    csv_bytes,
    escape,
    read_csv,
    records,
    unescape,
)


@pytest.mark.parametrize(
    ("text", "delimiter"),
    read_table(__file__, "delimiters.json"),
)
def test_the_delimiter_is_the_one_that_splits_most_rows_alike(
    text: str, delimiter: str
) -> None:
    """No title is known, so the number of cells alone tells."""
    assert read_csv(text.encode(), "pets.csv").delimiter == delimiter


def test_an_encoding_that_does_not_exist_is_named(tmp_path: Path) -> None:
    """
    Also one that Python has for other things than text; the file is not called broken.
    """
    (tmp_path / "pets.csv").write_text("name\nRex\n")

    for encoding in ("nope", "hex"):
        with pytest.raises(ArgumentError, match=f"there is no encoding '{encoding}'"):
            open_source(tmp_path / "pets.csv", encoding=encoding)


@pytest.mark.case("P43")
@pytest.mark.parametrize(
    "cell", ["=1+1", "+7", "-7", "@x", "\tx", "'=1", "'plain", "plain", ""]
)
def test_an_escaped_cell_runs_nothing_and_comes_back(cell: str) -> None:
    """Escaping is undone exactly."""
    assert not escape(cell).startswith(("=", "+", "-", "@", "\t"))
    assert unescape(escape(cell)) == cell


@pytest.mark.case("P40")
def test_every_written_cell_reads_back_to_the_same_text() -> None:
    """Newlines, quotes, delimiters, tabs and U+2028 included."""
    cells = [
        "a\nb",
        'say "hi"',
        "x;y,z",
        "tab\t",
        "\u2028",
        " spaced ",
        "",
        "a\r\nb",
        "0012",
    ]

    content = csv_bytes([*"abcdefghi"], [cells], delimiter=";")

    assert list(records(content.decode(), ";"))[1][1] == cells
