"""
Pure: what nobody sees in a name on a sheet: it is sent as typed, and cannot be changed afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from petstore_tools.importing.rows import PetValues, Row
from petstore_tools.tabular.cells import first_of
from petstore_tools.text import pluralize

SHOWN: Final = 5  # rows named of each kind
_BREAKS: Final = "\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
_JOINERS: Final = (
    "\u200c\u200d"  # they belong between the parts of an emoji, and into Persian words
)
_KINDS: Final = {
    "with a line break": re.compile(f"[{_BREAKS}]"),
    "with a tab or a special blank": re.compile(rf"[^\S {_BREAKS}]"),
    "with invisible characters": re.compile(
        "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
        f"\ufeff\ufff9-\ufffb]|(?<![^\\x00-\\x7f])[{_JOINERS}]|[{_JOINERS}](?![^\\x00-\\x7f])"
    ),
}


def hidden_in_names(rows: Iterable[Row]) -> list[str]:
    """Return a sentence for each kind of name with something that nobody sees."""
    found: dict[str, list[str]] = {kind: [] for kind in _KINDS}
    for row in rows:
        name = row.content.name
        if not name.isprintable():
            for kind, pattern in _KINDS.items():
                if pattern.search(name):
                    found[kind].append(f"row {row.number} {name[:40]!r}")
    return [
        f"{pluralize(len(names), 'name')} {kind}, sent as typed: {first_of(names, SHOWN)}"
        for kind, names in found.items()
        if names
    ]


def duplicates_in(rows: Sequence[Row], duplicates: Sequence[Row]) -> list[str]:
    """
    Name the rows that share their values, in one sentence; nothing where there is none.

    Args:
        rows: Those that are sent.
        duplicates: Those that share their values with an earlier one, whether they are sent or not.
    """
    places: dict[PetValues, set[int]] = {row.content: set() for row in duplicates}
    for row in (*rows, *duplicates):
        if row.content in places:
            places[row.content].add(row.number)
    groups = [
        f"{'row' if len(numbers) == 1 else 'rows'} {first_of(sorted(numbers), SHOWN)} "
        f"({name[:40]!r}, {category_id}, {status or 'no status'})"
        for (name, category_id, status), numbers in places.items()
    ]
    return [f"duplicates: {first_of(groups, SHOWN, '; ')}"] if groups else []
