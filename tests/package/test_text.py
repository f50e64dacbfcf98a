"""Tables of what a service may send: each row stays a row, whatever its cells hold."""

import re
from xml.etree import ElementTree

import pytest
from wcwidth import wcswidth

from petstore_tools import Listing, Sandbox
from petstore_tools.text import markdown_table, printable, text_table

NAMES = ["\x01", "", "a|b", "1e5", "Tom\r\nCat", "\x1b[31mred", "- <i>x</i>", "日本"]


@pytest.mark.parametrize("name", NAMES)
def test_no_cell_adds_a_line_takes_one_away_or_moves_a_column(name):
    """Also where it holds what the library takes for a rule, a number or a colour."""
    titles, rows = ("name", "animals"), [(name, 1_200), ("007", None)]

    title, rule, *lines = text_table(titles, rows).splitlines()
    marks = markdown_table(titles, rows).splitlines()

    assert title.split() == ["name", "animals"]
    assert len(lines) == 2
    assert printable(name) in lines[0]
    assert "1,200" in marks[2]
    assert {wcswidth(line) for line in (rule, *lines)} == {len(rule)}
    assert [line.replace(r"\|", "").count("|") for line in marks] == [3] * 4
    assert text_table(["name"], [[name], [""]]).count("\n") == 3
    assert "<i>" not in marks[2]


def test_only_what_cannot_be_printed_is_spelt_out():
    """A backslash and quotation marks stay as they are."""
    assert printable('C:\\Tom\'s "cat"\x07') == 'C:\\Tom\'s "cat"\\x07'


def test_a_notebook_shows_the_facts_of_a_text_as_a_table():
    """Of a listing and of a quota, whatever a service says: it is text, not markup."""
    listing = Listing(
        "unproven", "said <b>", "sold", 1_250, "", 13, 1.0, 9.0, "sandbox", ("a&b",)
    )
    with Sandbox(plan="free", animals=3) as box:
        box.store.list_pets(first=1)
        quota = box.store.quota()

    for thing in (listing, quota):
        page = thing._repr_html_()
        drawn = ElementTree.fromstring(f"<div>{page}</div>")
        cells = [
            cell for cell in drawn.itertext() if cell not in ("why", "cost", "as of")
        ]
        assert cells
        for cell in cells:
            assert cell in repr(thing).replace("\n", " ")
    assert '<td style="' in page
    sides = re.findall("text-align:(left|right)", page)
    assert sides == ["left", "right", "right", "right", "left"] * 3
