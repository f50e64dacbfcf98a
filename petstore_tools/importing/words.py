"""
Pure: the words of many languages in spreadsheets, and which column holds which field,
by exact names, by `columns=`, and what may be proposed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from unicodedata import normalize

from petstore_tools import spec
from petstore_tools.errors import SheetError
from petstore_tools.tabular.cells import column_letter
from petstore_tools.text import first_of

FIELDS = spec.NEW_PET_FIELDS
_WORDS = json.loads(
    resources.files(__package__).joinpath("words.json").read_text("utf-8")
)
# Titles that may mean a field, the likeliest first, as `_bare` returns them: proposed,
# never just taken. The better ones say it better than the field's own title does.
_BETTER_TITLES: dict[str, list[str]] = _WORDS["better titles"]
_TITLES = {
    name: [*words, *_WORDS["titles"][name]] for name, words in _BETTER_TITLES.items()
}
# words for a status, "" for none: proposed, never just taken
STATUS_WORDS: dict[str, str] = _WORDS["statuses"]
_FLAGS = re.IGNORECASE | re.DOTALL
# signs, numbers and blanks beside a word for a total or a mean
_BESIDE = r"[\s:=.()\-_*#/\d]"
_TOTAL = rf"(?:{'|'.join(_WORDS['totals'])})"
# what begins or ends with a word for a total: `Dogs Total: 12`
A_TOTAL = re.compile(
    rf"{_BESIDE}*+{_TOTAL}(?:{_BESIDE}.*)?|.*[\s-]{_TOTAL}{_BESIDE}*", _FLAGS
)
# how a line begins that is about the table, not about an animal: a total, a page
A_NOTE = re.compile(rf".*:|(?:{_TOTAL}|{'|'.join(_WORDS['notes'])})\b.*", _FLAGS)
# what stands in a text file for an error
ERRORS = frozenset(_WORDS["errors"])
_EXACT = {name.casefold(): name for name in FIELDS}
_SHOWN = 20  # titles
_SPECIAL = {*'"\\$`!'}  # signs that a shell or Python reads as something else


@dataclass(frozen=True)
class Titles:
    """
    The fields that a header names.

    Attributes:
        header: Cells as typed; the letters of the columns where there is no header.
        columns: Position from 0, by field, in the order of the document.
        proposals: Field that may be meant, by title, or by letter where the title is
            not clear.
        missing: Fields that need an answer: required ones without a column or a
            default, and those that two columns could be.
        doubts: Which columns could be the same field, in words, by field.
        has_header: Whether the sheet has one.
    """

    header: tuple[str, ...]
    columns: Mapping[str, int]
    proposals: Mapping[str, str]
    missing: Sequence[str]
    doubts: Mapping[str, str]
    has_header: bool = True

    @cached_property
    def places(self) -> tuple[int | None, ...]:
        """Position of each field, None where it has no column."""
        return tuple(map(self.columns.get, FIELDS))

    def place(self, at: int) -> str:
        """Return a column as people find it: `A 'Name'`."""
        letter = column_letter(at)
        return f"{letter} {self.header[at]!r}" if self.has_header else letter

    def describe(self) -> str:
        """
        Say which column is which field: `name ← A 'Name', categoryId ← C 'Category
        ID'`.
        """
        return ", ".join(
            f"{name} ← {self.place(at)}" for name, at in self.columns.items()
        )

    def shown(self) -> str:
        """Return the cells of the header, the first of very many."""
        cells = [
            repr(cell) if cell else getattr(cell, "kind", "''") for cell in self.header
        ]
        return first_of(cells, _SHOWN)

    def refusal(self) -> str:
        """Say what is missing."""
        missing = [name for name in self.missing if name not in self.doubts]
        said = [f"no column for {' and '.join(missing)}"] if missing else []
        reasons = "; ".join([*said, *self.doubts.values()])
        return f"{reasons}; the header has {self.shown()}"


def is_known(title: str) -> bool:
    """Say whether a title is one that may mean a field."""
    return any(_bare(title) in words for words in _TITLES.values())


def _bare(title: str) -> str:
    """
    Return the letters of a title, without what stands in brackets: `2. Name (*)` is
    `name`.
    """
    return re.sub(r"\(.*?\)|\[.*?\]|[\W\d_]", "", normalize("NFKC", title)).casefold()


def read_titles(
    header: Sequence[str],
    given: Mapping[str, str] | None,
    defaults: Collection[str] | None,
) -> Titles:
    """
    Find the fields in a header.

    Args:
        header: Cells as typed.
        given: Field by title, or by column letter where no title is that.
        defaults: Fields that have a default: they need no column.

    Raises:
        SheetError: `given` names a column or a field that is not there.

    Spec: §2.1, required fields.
    """
    titles = [cell.strip() for cell in header]
    chosen = {
        _position(str(key).strip(), titles, name): name
        for key, name in (given or {}).items()
    }
    exact = [_EXACT.get(re.sub(r"[\s_-]", "", title).casefold()) for title in titles]
    named = {
        at: name for at, name in enumerate(exact) if name not in chosen.values()
    } | chosen
    free = {
        _bare(titles[at]): at
        for at in reversed(range(len(titles)))
        if not named.get(at)
    }
    columns: dict[str, int] = {}
    doubts: dict[str, str] = {}
    proposals: dict[str, str] = {}
    missing: list[str] = []
    for name in FIELDS:
        places = [at for at in named if named[at] == name]
        if places and name not in chosen.values():
            places += [free[word] for word in _BETTER_TITLES[name] if word in free]
        likely = [free[word] for word in _TITLES[name] if word in free]
        if len(places) == 1:
            columns[name] = places[0]
        elif places:
            both = " and ".join(f"{column_letter(at)} {titles[at]!r}" for at in places)
            doubts[name] = f"columns {both} could both be {name}"
        elif likely:
            title = titles[likely[0]]
            is_clear = (
                titles.count(title) == 1
                and title.isprintable()
                and not _SPECIAL & {*title}
            )
            proposals[title if is_clear else column_letter(likely[0])] = name
        is_required = name in spec.REQUIRED and name not in (defaults or ())
        if name not in columns and (places or is_required):
            missing.append(name)
    return Titles(tuple(header), columns, proposals, missing, doubts)


def _position(key: str, titles: Sequence[str], name: str) -> int:
    """Return the position of the column of a title or a letter."""
    if name not in FIELDS:
        raise SheetError(
            f"{name!r} is not a field; a column can be name, categoryId or status"
        )
    places = [at for at, title in enumerate(titles) if title == key]
    if len(places) > 1:
        letters = " and ".join(map(column_letter, places))
        raise SheetError(
            f"columns {letters} both have the title {key!r}: give a letter, such as "
            f'columns={{"{column_letter(places[0])}": "{name}"}}'
        )
    places = places or [at for at in range(len(titles)) if column_letter(at) == key]
    if not places:
        listed = ", ".join(map(repr, titles[:_SHOWN]))
        raise SheetError(f"there is no column {key!r}; the header has {listed}")
    return places[0]
