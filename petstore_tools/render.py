"""Plain values to text, Markdown and HTML; everything that came from outside is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from html import escape
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

Rows = Sequence[Sequence[object]]


def shown(value: object) -> str:
    """Write a cell: whole numbers with separators, shares as percentages, nothing as a hyphen."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.1%}"
    return "-" if value is None else str(value)


def printable(text: str) -> str:
    """Return text that moves no cursor and rings no bell: what is not printable is spelt out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def text_table(header: Sequence[str], rows: Rows) -> str:
    """Return a table for a terminal: text to the left, numbers to the right."""
    cells = [[printable(shown(value)) for value in row] for row in rows]
    widths = [max(len(line[at]) for line in [list(header), *cells]) for at in range(len(header))]
    numeric = [all(isinstance(row[at], int | float) for row in rows) for at in range(len(header))]

    def line(values: Sequence[str]) -> str:
        parts = zip(values, widths, numeric, strict=True)
        return "  ".join(v.rjust(w) if n else v.ljust(w) for v, w, n in parts).rstrip()

    return "\n".join([line(header), line(["-" * width for width in widths]), *map(line, cells)])


def markdown_table(header: Sequence[str], rows: Rows) -> str:
    """Return a Markdown table; pipes and line breaks in cells are made harmless."""
    numeric = [all(isinstance(row[at], int | float) for row in rows) for at in range(len(header))]

    def line(values: Sequence[str]) -> str:
        safe = [markdown_text(v) for v in values]
        return f"| {' | '.join(safe)} |"

    rule = "|" + "|".join("---:" if n else "---" for n in numeric) + "|"
    return "\n".join([line(header), rule, *(line([shown(v) for v in row]) for row in rows)])


def markdown_text(text: str) -> str:
    """Return a line of Markdown in which nothing is markup, and no HTML."""
    safe = "".join("\\" + c if c in "\\`*_[]#|" else c for c in text)
    return escape(" ".join(safe.splitlines()), quote=False)


def html_table(caption: str, header: Sequence[str], rows: Rows, *, note: str = "") -> str:
    """Return a small HTML table with a caption and a note, fit for a notebook in any theme."""
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(shown(value))}</td>" for value in row) + "</tr>" for row in rows
    )
    told = f"<p>{'<br>'.join(map(escape, note.splitlines()))}</p>" if note else ""
    return (
        f"<div><p><strong>{escape(caption)}</strong></p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{told}</div>"
    )


def page(template: str, **values: Any) -> str:
    """Fill a template of this package; its values are escaped."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("petstore_tools"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["shown"] = shown
    return environment
