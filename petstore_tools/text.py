"""
How times, numbers, options and tables are written for people: plain text, Markdown and
HTML.
"""

import json
import operator
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from textwrap import fill
from typing import Any

Rows = Sequence[Sequence[object]]
_COLUMNS = 100  # of a line that a person reads
# soft hyphens, spaces without a width, marks of direction and order; the joiners stay,
# since scripts and emoji need them
_INVISIBLE = re.compile(
    "[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]"
)
# control characters, also those that end a line, are blanks; markup is escaped
_MARKDOWN = dict.fromkeys([*range(32), *range(127, 160), 0x2028, 0x2029], " ")
_MARKDOWN |= {ord(sign): f"\\{sign}" for sign in r"\`*_[]#|~"}


def clean(text: str) -> str:
    """
    Return a text without invisible characters, and without blanks around it.

    >>> clean("\u200bRex ")
    'Rex'
    """
    if not text.isascii():  # few are
        text = _INVISIBLE.sub("", text)
    return text.strip()


def option(name: str, value: object = None) -> str:
    """
    Write an option as Python and the command line know it; None writes its name alone.

    >>> option("wait", True)
    'wait=True (--wait)'
    >>> print(option("sheet", "My animals"))
    sheet="My animals" (--sheet 'My animals')
    """
    argument = name if value is None else f"{name}={python_literal(value)}"
    return f"{argument} ({write_command(flags(name, value))})"


def python_literal(value: object) -> str:
    """
    Write a value as a call does: text in double quotes, pairs as a dict, `...` as `…`.

    >>> python_literal([("Tier", "name"), ("…", "categoryId")])
    '{"Tier": "name", "…": "categoryId"}'
    >>> print(python_literal(("a.csv", {"Dog": ...})))
    ("a.csv", {"Dog": …})
    """
    if isinstance(value, tuple):
        return f"({', '.join(map(python_literal, value))})"
    value = _as_pairs(value)
    if isinstance(value, list):
        items = [
            f"{python_literal(key)}: {python_literal(word)}" for key, word in value
        ]
        return f"{{{', '.join(items)}}}"
    if isinstance(value, int):
        return str(value)
    return "…" if value is ... else json.dumps(str(value), ensure_ascii=False)


def _as_pairs(value: object) -> object:
    """Return a mapping as pairs, and everything else as it is."""
    return [*value.items()] if isinstance(value, Mapping) else value


def flags(name: str, value: object) -> list[str]:
    """
    Write an argument as the words of a command.

    >>> flags("columns", [("Tier", "name"), ("Art", "categoryId")])
    ['--columns', 'Tier=name', '--columns', 'Art=categoryId']
    """
    flag = f"--{name.replace('_', '-')}"
    if isinstance(value, tuple):
        return [word for part in value for word in flags(name, part)]
    value = _as_pairs(value)
    if isinstance(value, list):
        words = []
        for key, meaning in value:
            text = "…" if meaning is ... else meaning
            words += [flag, f"{key}={text}"]
        return words
    if value is False:
        return [f"--no-{name}"]
    return [flag] if isinstance(value, bool | None) else [flag, str(value)]


def write_command(words: Sequence[str]) -> str:
    """
    Write a command as the shell of this system reads it.

    >>> write_command(["petstore-tools", "import", "our $ animals.csv"])
    "petstore-tools import 'our $ animals.csv'"
    """
    if sys.platform == "win32":
        return " ".join(map(_quote_for_windows, words))
    return shlex.join(words)


def _quote_for_windows(word: str) -> str:
    """Quote a word for cmd and PowerShell, as far as both read it alike."""
    inner = word.replace('"', '\\"')
    return word if re.fullmatch(r"[\w.:/\\=+-]+", word) else f'"{inner}"'


def pluralize(number: int, noun: str) -> str:
    """
    Write a number with its noun.

    >>> pluralize(2_000, "row")
    '2,000 rows'
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def quoted(text: str, most: int = 40) -> str:
    """Quote what somebody typed, at most so many of its characters."""
    return repr(text if len(text) <= most else text[:most] + "…")


def some_of(things: Sequence[object], most: int = 10) -> list[str]:
    """Name some things, and how many more there are; a last one alone is named."""
    left = len(things) - most
    if left <= 1:
        return [*map(str, things)]
    return [*map(str, things[:most]), f"and {left:,} more"]


def first_of(things: Sequence[object], most: int = 10) -> str:
    """
    Name some things, and how many more there are, in one line.

    >>> first_of([3, 5, 6, 7], most=3), first_of([3, 5, 6, 7], most=2)
    ('3, 5, 6, 7', '3, 5, and 2 more')
    """
    return ", ".join(some_of(things, most))


def wrap(text: object, label: str = "") -> str:
    """
    Break what follows a label into lines of at most 100 columns, below each other.

    >>> wrap("name " * 30, "- ").splitlines()[1]
    '  name name name name name name name name name name name'
    """
    return fill(
        str(text),
        _COLUMNS,
        initial_indent=label,
        subsequent_indent=" " * len(label),
        break_long_words=False,
        break_on_hyphens=False,
    )


def utc_text(unix_s: float) -> str:
    """
    Write Unix seconds as people read them.

    >>> utc_text(1_922_659_200)
    '2030-12-05 00:00:00 UTC'
    """
    try:
        moment = datetime.fromtimestamp(unix_s, UTC)
    except (OverflowError, OSError, ValueError):
        return "a time too far away to show"
    return moment.strftime("%Y-%m-%d %H:%M:%S %Z")


def parse_duration(age: str) -> float | None:
    """
    Read an age such as `90s`, `30min`, `1h`, `7d` or `2w` into seconds; None where it
    is none.

    >>> parse_duration("1.5h")
    5400.0
    """
    form = r"\s*([0-9]+(?:\.[0-9]+)?)\s*(s|min|h|d|w)\s*"
    parts = re.fullmatch(form, age.lower())
    if parts is None:
        return None
    units = {"s": 1, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}
    return float(parts[1]) * units[parts[2]]


def plain_integer(number: Any) -> Any:
    """
    Return an integer of numpy or pandas as Python's own; everything else, True and 7.0
    too, as it is.

    >>> plain_integer(pd.Series([7])[0])
    7
    """
    if isinstance(number, (bool, int)):
        return number
    try:
        return operator.index(number)
    except TypeError:
        return number


def cell_text(value: object) -> str:
    """
    Write a cell: whole numbers with separators, shares as percentages, nothing as a
    hyphen.

    >>> cell_text(1_200), cell_text(0.5), cell_text(None)
    ('1,200', '50.0%', '-')
    """
    if isinstance(value, int):
        return f"{value:,}"
    if type(value) is float:  # a number with a style of its own writes itself
        return f"{value:.1%}"
    return "-" if value is None else str(value)


def printable(text: str) -> str:
    """
    Return text as a terminal can show it: characters that are not printable are spelt
    out.
    """
    escapes = {
        ord(sign): sign.encode("unicode_escape").decode()
        for sign in text
        if not sign.isprintable()
    }
    return text.translate(escapes)


def text_table(titles: Sequence[str], rows: Rows) -> str:
    """
    Return a table for a terminal: text to the left, numbers to the right.

    >>> print(text_table(("name", "animals"), [("Łódź", 1_200), ("Żabka", 7)]))
    name   animals
    -----  -------
    Łódź     1,200
    Żabka        7

    Wide characters are aligned where wcwidth is installed, as it is with Jupyter.
    """
    # a header of its own would make its columns wider
    table = _table(titles, rows, printable, "simple")
    rule, header, *lines, _ = table.splitlines()
    return "\n".join([header, rule, *lines])


def markdown_table(titles: Sequence[str], rows: Rows) -> str:
    r"""
    Return a Markdown table; pipes and line breaks in cells are made harmless.

    >>> print(markdown_table(("name", "animals"), [("a|b", 7)]))
    | name   |   animals |
    |:-------|----------:|
    | a\|b   |         7 |
    """
    return _table(titles, rows, _markdown_cell, "pipe", "firstrow")


_LEAD = '<p style="font-weight:600;margin:.3em 0">{}</p>'
_NOTE = '<p style="opacity:.75;margin:.3em 0">{}</p>'
_CELL = "padding:.2em .8em;border-bottom:1px solid #8884;text-align:"


def html_table(
    titles: Sequence[str], rows: Rows, lead: str = "", note: str = ""
) -> str:
    """
    Return a table for a notebook: text to the left, numbers to the right, readable by
    day and by night.

    >>> html_table(("name", "animals"), [("<b>", 1_200)]).count("&lt;b&gt;")
    1

    Args:
        titles: Of the columns; no title is shown if all are empty.
        rows: Its cells.
        lead: A line above the table, in bold.
        note: A line below.
    """
    sides = _sides(titles, rows)

    def line(tag: str, cells: Sequence[object]) -> str:
        parts = [
            f'<{tag} style="{_CELL}{side}">{escape(printable(cell_text(cell)))}</{tag}>'
            for side, cell in zip(sides, cells, strict=True)
        ]
        return f"<tr>{''.join(parts)}</tr>"

    lines = [line("th", titles)] if any(titles) else []
    lines += [line("td", row) for row in rows]
    table = f'<table style="border-collapse:collapse">{"".join(lines)}</table>'
    above = _LEAD.format(escape(lead)) if lead else ""
    return above + table + (_NOTE.format(escape(note)) if note else "")


def _sides(titles: Sequence[str], rows: Rows) -> list[str]:
    """Say on which side the cells of each column stand: numbers on the right."""
    sides = []
    for _, *values in zip(titles, *rows, strict=True):
        is_number = all(isinstance(value, int | float | None) for value in values)
        sides.append("right" if is_number else "left")
    return sides


def _table(
    titles: Sequence[str],
    rows: Rows,
    write: Callable[[str], str],
    style: str,
    headers: str = "",
) -> str:
    """Arrange cells in columns, those of numbers to the right."""
    from tabulate import tabulate

    return tabulate(
        [[*map(write, map(cell_text, row))] for row in (titles, *rows)],
        headers,
        style,
        colalign=_sides(titles, rows),
        disable_numparse=True,
        preserve_whitespace=True,
    )


def markdown_text(text: str) -> str:
    r"""
    Return a line of Markdown in which nothing is markup, and no HTML.

    >>> markdown_text("- <b>new</b>")
    '\\- &lt;b&gt;new&lt;/b&gt;'
    """
    line = _markdown_cell(text).strip()
    # it would begin a list, or underline a heading
    return re.sub(r"^(\d*)([-+=.)])", r"\1\\\2", line)


def _markdown_cell(text: str) -> str:
    """Escape markup; a line break or another control character is a blank."""
    line = text.rstrip().replace("\r\n", "\n").translate(_MARKDOWN)
    return escape(line, quote=False)
