"""
Pure: the words of many languages in spreadsheets: titles, status words, totals, notes,
errors, and how words are compared.
"""

from __future__ import annotations

import json
import re
from importlib import resources
from unicodedata import normalize

from petstore_tools import spec

FIELDS = spec.NEW_PET_FIELDS
# what tells which row is which: columns that are read, and never sent
IDENTITY = ("petstore_id", "row_key")


def fold(text: str) -> str:
    """
    Return what is compared: without blanks around, in one case, each character written
    in one way; İ, I and the i without a dot are i.
    """
    if text.isascii():
        return text.strip().lower()
    lower = normalize("NFC", text.strip()).casefold()
    return normalize("NFC", lower).replace("i\u0307", "i").replace("\u0131", "i")


_WORDS = json.loads(
    resources.files(__package__).joinpath("words.json").read_text("utf-8")
)
# Titles that may mean a field, the likeliest first, as `bare` returns them: proposed,
# never just taken. The better ones say it better than the field's own title does.
BETTER_TITLES: dict[str, list[str]] = _WORDS["better titles"]
TITLES = {
    name: [*words, *_WORDS["titles"][name]] for name, words in BETTER_TITLES.items()
}
# words for a status, "" for none: proposed, never just taken
STATUS_WORDS: dict[str, str] = {
    fold(word): status for word, status in _WORDS["statuses"].items()
}
_TOTALS = frozenset(map(fold, _WORDS["totals"]))
_NOTES = frozenset(map(fold, _WORDS["notes"]))
# what stands in a text file for an error
ERRORS = frozenset(_WORDS["errors"])
_LETTERS = re.compile(r"[^\W\d_]+")


def is_total(text: str) -> bool:
    """Say whether a text begins or ends with a word for a total: `Dogs Total: 12`."""
    words = _LETTERS.findall(fold(text))
    ends = {*words[:1], *words[-1:], " ".join(words[:2]), " ".join(words[-2:])}
    return not ends.isdisjoint(_TOTALS)


def is_note(text: str) -> bool:
    """Say whether a text begins with a word for a page, a date or a signature."""
    words = _LETTERS.findall(fold(text))
    return not _NOTES.isdisjoint((*words[:1], " ".join(words[:2])))


def is_known(title: str) -> bool:
    """Say whether a title is one that may mean a field."""
    return any(bare(title) in words for words in TITLES.values())


def bare(title: str) -> str:
    """
    Return the letters of a title, without what stands in brackets: `2. Name (*)` is
    `name`.
    """
    return re.sub(r"\(.*?\)|\[.*?\]|[\W\d_]", "", fold(normalize("NFKC", title)))
