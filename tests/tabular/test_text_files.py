"""Texts read: the delimiter that is found, and encodings."""

import pytest
from tables import read_table

from petstore_tools.errors import ArgumentError
from petstore_tools.tabular.sources import open_source
from petstore_tools.tabular.text_files import read_csv


@pytest.mark.parametrize(
    ("text", "delimiter"),
    read_table(__file__, "delimiters.json"),
)
def test_the_delimiter_is_the_one_that_splits_most_rows_alike(text, delimiter):
    """No title is known, so the number of cells alone tells."""
    assert read_csv(text.encode(), "pets.csv").delimiter == delimiter


def test_an_encoding_that_does_not_exist_is_named(tmp_path):
    """
    Also one that Python has for other things than text; the file is not called broken.
    """
    (tmp_path / "pets.csv").write_text("name\nRex\n")

    for encoding in ("nope", "hex"):
        with pytest.raises(ArgumentError, match=f"there is no encoding '{encoding}'"):
            open_source(tmp_path / "pets.csv", encoding=encoding)
