"""READMEs: short, and true to what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = [
    *(
        ROOT / "petstore_tools" / room
        for room in "importing listing history throttle reporting service".split()
    ),
    ROOT / "tests" / "benchmarks",
    ROOT / "notebooks",
]


def test_the_readme_is_read_in_one_sitting() -> None:
    """200 lines and 12 kB at most."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")

    assert text.count("\n") <= 200
    assert len(text.encode()) <= 12_000


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_each_room_has_a_readme_of_100_lines_at_most(room: Path) -> None:
    """At its door: what it guarantees, how it works, its limits, how to extend it."""
    assert 10 <= (room / "README.md").read_text(encoding="utf-8").count("\n") <= 100


@pytest.mark.parametrize(
    "readme", [ROOT / "README.md", *sorted(ROOT.glob("[!.]*/**/README.md"))], ids=str
)
def test_links_of_a_readme_lead_somewhere(readme: Path) -> None:
    """Each relative link is a file of the checkout."""
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", readme.read_text(encoding="utf-8")):
        assert (readme.parent / target).exists(), target
