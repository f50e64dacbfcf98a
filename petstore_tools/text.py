"""
How times, numbers, options and tables are written for people: plain text, Markdown and
HTML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tabulate import TableFormat

Rows = Sequence[Sequence[object]]
# also those that end a line; one alone is a rule for tabulate
_CONTROL = re.compile("\r\n|[\0-\x1f\x7f-\x9f\u2028\u2029]")


def option(name: str, value: object = None) -> str:
    """
    Write an option as Python and the command line know it; None writes its name alone.

    >>> option("wait", True)
    'wait=True (--wait)'
    """
    if isinstance(value, Mapping):
        value = [*value.items()]
    argument = name if value is None else f"{name}={python_value(value)}"
    return f"{argument} ({' '.join(flags(name, value))})"


def python_value(value: object) -> str:
    """
    Write a value as a call does: text in double quotes, pairs as a dict, `...` as `…`.

    >>> python_value([("Tier", "name"), ("…", "categoryId")])
    '{"Tier": "name", "…": "categoryId"}'
    """
    if isinstance(value, list):
        items = [f"{python_value(key)}: {python_value(word)}" for key, word in value]
        return f"{{{', '.join(items)}}}"
    if isinstance(value, int):
        return str(value)
    return "…" if value is ... else json.dumps(str(value), ensure_ascii=False)


def flags(name: str, value: object) -> list[str]:
    """
    Write an argument as the words of a command.

    >>> flags("columns", [("Tier", "name"), ("Art", "categoryId")])
    ['--columns', 'Tier=name', '--columns', 'Art=categoryId']
    """
    flag = f"--{name.replace('_', '-')}"
    match value:
        case None | True:
            return [flag]
        case False:
            return [f"--no-{name}"]
        case list():
            return [word for key, text in value for word in (flag, f"{key}={text}")]
        case _:
            return [flag, str(value)]


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
    """Name some things, and how many more there are."""
    more = [f"and {len(things) - most:,} more"] if len(things) > most else []
    return [*map(str, things[:most]), *more]


def first_of(things: Sequence[object], most: int = 10, between: str = ", ") -> str:
    """
    Name some things, and how many more there are, in one line.

    >>> first_of([3, 5, 6, 7], most=3)
    '3, 5, 6, and 1 more'
    """
    return between.join(some_of(things, most))


def utc_text(unix_s: float) -> str:
    """
    Write Unix seconds as people read them.

    >>> utc_text(1_922_659_200)
    '2030-12-05 00:00:00 UTC'
    """
    return zone_text(unix_s, UTC)


def zone_text(unix_s: float, zone: tzinfo | None) -> str:
    """
    Write Unix seconds in a time zone, which is named; None is that of this machine.
    """
    try:
        moment = datetime.fromtimestamp(unix_s, UTC).astimezone(zone)
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
    parts = re.fullmatch(
        r"\s*([0-9]+(?:\.[0-9]+)?)\s*(s|min|h|d|w)\s*", age, re.IGNORECASE
    )
    if parts is None:
        return None
    units = {"s": 1, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}
    return float(parts[1]) * units[parts[2].lower()]


def cell_text(value: object) -> str:
    """
    Write a cell: whole numbers with separators, shares as percentages, nothing as a
    hyphen.

    >>> cell_text(1_200), cell_text(0.5), cell_text(None)
    ('1,200', '50.0%', '-')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.1%}"
    return "-" if value is None else str(value)


def printable(text: str) -> str:
    """
    Return text as a terminal can show it: characters that are not printable are spelt
    out.
    """
    return "".join(map(_spell_out, text))


def _spell_out(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode()


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
    from tabulate import SEPARATING_LINE, DataRow, Line, TableFormat

    lines, sides = _columns(titles, rows, printable)
    gap = DataRow("", "  ", "")
    plain = TableFormat(None, Line("", "-", "  ", ""), None, None, gap, gap, 0, None)
    # a header of its own would make its columns wider
    return _table([[*titles], SEPARATING_LINE, *lines], sides, plain)


def markdown_table(titles: Sequence[str], rows: Rows) -> str:
    r"""
    Return a Markdown table; pipes and line breaks in cells are made harmless.

    >>> print(markdown_table(("name", "animals"), [("a|b", 7)]))
    | name   |   animals |
    |:-------|----------:|
    | a\|b   |         7 |
    """
    lines, sides = _columns(titles, rows, _markdown_cell)
    return _table(lines, sides, "pipe", map(_markdown_cell, titles))


def _table(
    lines: Sequence[Sequence[str]],
    sides: list[str],
    style: str | TableFormat,
    titles: Iterable[str] = (),
) -> str:
    """Arrange cells in columns; each is a text already."""
    from tabulate import tabulate

    return tabulate(
        lines,
        [*titles],
        style,
        colalign=sides,
        disable_numparse=True,
        preserve_whitespace=True,
    )


def markdown_text(text: str) -> str:
    r"""
    Return a line of Markdown in which nothing is markup, and no HTML.

    >>> markdown_text("- <b>new</b>")
    '\\- &lt;b&gt;new&lt;/b&gt;'
    """
    line = _markdown_cell(text)
    # no list, no underline
    return f"\\{line}" if line.startswith(("-", "+", "=")) else line


def _markdown_cell(text: str) -> str:
    """Escape markup; a line break or another control character is a blank."""
    safe = re.sub(r"([\\`*_\[\]#|~])", r"\\\1", _CONTROL.sub(" ", text.rstrip()))
    return escape(safe, quote=False)


def html_table(
    caption: str, titles: Sequence[str], rows: Rows, *, note: str = ""
) -> str:
    """
    Return a small HTML table with a caption and a note; it needs no style sheet and
    suits any theme.
    """
    from jinja2 import Environment, PackageLoader

    cells, sides = _columns(titles, rows)
    pages = Environment(loader=PackageLoader("petstore_tools"), autoescape=True)
    return pages.get_template("table.html").render(
        caption=caption, titles=titles, rows=cells, sides=sides, note=note
    )


def _columns(
    titles: Sequence[str], rows: Rows, write: Callable[[str], str] = str
) -> tuple[list[list[str]], list[str]]:
    """Return the cells as text, and at which side of its column each stands."""
    sides = []
    for column in range(len(titles)):
        values = [row[column] for row in rows]
        is_numeric = all(isinstance(value, int | float | None) for value in values)
        sides.append("right" if is_numeric else "left")
    return [[*map(write, map(cell_text, row))] for row in rows], sides
