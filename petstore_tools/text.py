"""
How times, numbers, options and tables are written for people: plain text, Markdown and
HTML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from html import escape
from typing import Final

Rows = Sequence[Sequence[object]]

# readable in any theme
_CELL_STYLE: Final = "padding:.25em .75em;border-bottom:1px solid #8886;text-align"


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
    """Write a number with its noun: `1 row`, `2,000 rows`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def quoted(text: str, most: int = 40) -> str:
    """Quote what somebody typed, at most so many of its characters."""
    return repr(text if len(text) <= most else text[:most] + "…")


def some_of(things: Sequence[object], most: int = 10) -> list[str]:
    """
    Name some things, and how many more there are: `3`, `5`, `6`, `and 1,200 more`.
    """
    more = [f"and {len(things) - most:,} more"] if len(things) > most else []
    return [*map(str, things[:most]), *more]


def first_of(things: Sequence[object], most: int = 10, between: str = ", ") -> str:
    """Name some things, and how many more there are, in one line."""
    return between.join(some_of(things, most))


def utc_text(at: float) -> str:
    """Write Unix seconds as people read them: `2030-12-05 00:00:00 UTC`."""
    return zone_text(at, UTC)


def zone_text(at: float, zone: tzinfo | None) -> str:
    """
    Write Unix seconds in a time zone, which is named; None is that of this machine.
    """
    try:
        moment = datetime.fromtimestamp(at, UTC).astimezone(zone)
    except (OverflowError, OSError, ValueError):
        return "a time too far away to show"
    return moment.strftime("%Y-%m-%d %H:%M:%S %Z")


def parse_duration(age: str) -> float | None:
    """
    Read an age such as `90s`, `30min`, `1h`, `7d` or `2w` into seconds; None where it
    is none.
    """
    found = re.fullmatch(
        r"\s*([0-9]+(?:\.[0-9]+)?)\s*(s|min|h|d|w)\s*", age, re.IGNORECASE
    )
    if found is None:
        return None
    units = {"s": 1, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}
    return float(found[1]) * units[found[2].lower()]


def cell_text(value: object) -> str:
    """
    Write a cell: whole numbers with separators, shares as percentages, nothing as a
    hyphen.
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
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in text
    )


def text_table(header: Sequence[str], rows: Rows) -> str:
    """Return a table for a terminal: text to the left, numbers to the right."""
    cells, numeric = _columns(header, rows)
    lines = [list(header), *([printable(cell) for cell in row] for row in cells)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])

    def written(line: Sequence[str]) -> str:
        parts = zip(line, widths, numeric, strict=True)
        return "  ".join(c.rjust(w) if n else c.ljust(w) for c, w, n in parts).rstrip()

    return "\n".join(map(written, lines))


def markdown_table(header: Sequence[str], rows: Rows) -> str:
    """Return a Markdown table; pipes and line breaks in cells are made harmless."""
    cells, numeric = _columns(header, rows)
    lines = [[_markdown_cell(cell) for cell in row] for row in [header, *cells]]
    lines.insert(1, ["---:" if n else "---" for n in numeric])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def markdown_text(text: str) -> str:
    """Return a line of Markdown in which nothing is markup, and no HTML."""
    line = _markdown_cell(text)
    # no list, no underline
    return f"\\{line}" if line.startswith(("-", "+", "=")) else line


def _markdown_cell(text: str) -> str:
    safe = "".join("\\" + c if c in "\\`*_[]#|~" else c for c in text)
    return escape(" ".join(safe.splitlines()), quote=False)


def html_table(
    caption: str, header: Sequence[str], rows: Rows, *, note: str = ""
) -> str:
    """
    Return a small HTML table with a caption and a note; it needs no style sheet and
    suits any theme.
    """
    cells, numeric = _columns(header, rows)
    sides = ["right" if n else "left" for n in numeric]

    def line(tag: str, values: Sequence[str]) -> str:
        parts = zip(values, sides, strict=True)
        made = [
            f'<{tag} style="{_CELL_STYLE}:{side}">{escape(text)}</{tag}>'
            for text, side in parts
        ]
        return f"<tr>{''.join(made)}</tr>"

    body = "".join(line("td", row) for row in cells)
    below = f"<p>{'<br>'.join(map(escape, note.splitlines()))}</p>" if note else ""
    return (
        f"<div><p><strong>{escape(caption)}</strong></p><table"
        ' style="border-collapse:collapse">'
        f"<thead>{line('th', header)}</thead><tbody>{body}</tbody></table>{below}</div>"
    )


def _columns(header: Sequence[str], rows: Rows) -> tuple[list[list[str]], list[bool]]:
    """Return the cells as text, and which columns hold numbers."""
    numeric = [
        all(isinstance(row[n], int | float | None) for row in rows)
        for n in range(len(header))
    ]
    return [[cell_text(value) for value in row] for row in rows], numeric
