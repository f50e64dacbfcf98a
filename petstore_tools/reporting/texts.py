"""A report as text: Markdown, JSON, and lines for a terminal."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pandas as pd

from petstore_tools.reporting.facts import Facts
from petstore_tools.reporting.presentation import LONG, Presentation, cells
from petstore_tools.text import markdown_table, markdown_text, text_table

_IN_JSON = (
    "completeness",
    "reason",
    "status",
    "environment",
    "rows",
    "requests",
    "notes",
)


def markdown(facts: Facts) -> str:
    """Return a report as Markdown."""
    presentation = Presentation(facts)
    parts = [
        f"# {markdown_text(facts.title)}",
        *map(markdown_text, presentation.facts),
    ]
    for _, title, table in presentation.sections("counts"):
        parts += [f"## {title}", markdown_table(*cells(table))]
    parts += ["## How this was made", markdown_text(presentation.made)]
    return "\n\n".join(parts) + "\n"


def json_text(facts: Facts) -> str:
    """Return a report as JSON; times are UTC."""
    listing = facts.listing
    document: dict[str, Any] = {
        "title": facts.title,
        "note": facts.note,
        "as_of": _iso(listing.ended_at),
        "complete": listing.complete,
        "listing": {name: getattr(listing, name) for name in _IN_JSON},
        "notes": facts.notes,
        "since": facts.since and _iso(facts.since.ended_at),
    }
    for name, table in facts.tables().items():
        document[name] = (
            table.astype("object").where(table.notna(), None).to_dict("records")
        )
    written = json.dumps(
        document, ensure_ascii=False, indent=2, default=pd.Timestamp.isoformat
    )
    return written + "\n"


def terminal_text(facts: Facts) -> str:
    """Return a report for a terminal, without its long tables."""
    presentation = Presentation(facts)
    parts = ["\n".join([facts.title, *presentation.facts])]
    for _, title, table in presentation.sections("counts", *LONG):
        parts += [f"{title}:", text_table(*cells(table))]
    return "\n\n".join(parts)


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()
