"""
Texts in and out: the delimiter that is found, lines that cannot be split, formulas
harmless.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from petstore_tools.errors import ArgumentError
from petstore_tools.tabular.cells import Sheet
from petstore_tools.tabular.sources import open_source
from petstore_tools.tabular.text_files import csv_bytes, read_csv, records


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        # a comma is in fewer rows
        ("Bez., kurz;Sorte\nRex, gross;3\nMia;4\n", ";"),
        # as many rows, but more cells
        ("Sorte;kurz, klein;x\n3;Rex, der;y\n", ";"),
        # the first of those that are as good
        ("Sorte|Tier;alt\n3|Rex;1\n", ";"),
        ("Sorte,Tier;alt\n3,Rex;1\n", ","),
        ("Notes of spring\n,,\nTier;Sorte;Alter\nRex;3;1\nMia;4;2\n", ";"),
        ("Tier\nRex\n", ","),  # no sign at all: the usual one
        ("Tier,Sorte\tx\nRex,3\ty\n", ","),
    ],
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
    assert not Sheet().escape(cell).startswith(("=", "+", "-", "@", "\t"))
    assert Sheet().unescape(Sheet().escape(cell)) == cell


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
