"""
Pure: the words of many languages in spreadsheets: titles, status words, totals, errors,
and how words are compared.
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


def fold(text: str) -> str:
    """
    Return what is compared: without blanks around, in one case, each character written
    in one way.
    """
    return normalize("NFC", normalize("NFC", text.strip()).casefold())


def is_known(title: str) -> bool:
    """Say whether a title is one that may mean a field."""
    return any(bare(title) in words for words in TITLES.values())


def bare(title: str) -> str:
    """
    Return the letters of a title, without what stands in brackets: `2. Name (*)` is
    `name`.
    """
    return re.sub(r"\(.*?\)|\[.*?\]|[\W\d_]", "", normalize("NFKC", title)).casefold()
