"""A report as text: Markdown, lines for a terminal, and JSON."""

import json
from datetime import datetime
from typing import Any

from petstore_tools.reporting.facts import Facts
from petstore_tools.reporting.presentation import Presentation

_OF_LISTING = "completeness reason status environment rows requests notes".split()


def markdown(presentation: Presentation) -> str:
    """Return a report as Markdown; of long tables the top."""
    return presentation.fill("report.md")


def terminal_text(presentation: Presentation) -> str:
    """Return a report for a terminal, without its long tables."""
    return presentation.fill("report.txt")


def json_text(facts: Facts) -> str:
    """Return a report as JSON; times are UTC."""
    listing = facts.listing
    document: dict[str, Any] = {
        "title": facts.looks.title,
        "note": facts.looks.note,
        "as_of": listing.as_of,
        "complete": listing.complete,
        "listing": {name: getattr(listing, name) for name in _OF_LISTING},
        "notes": facts.notes,
        "since": facts.since and facts.since.as_of,
    }
    for name, table in facts.tables().items():
        cells = table.astype("object").where(table.notna(), None)
        document[name] = cells.to_dict("records")
    written = json.dumps(
        document, ensure_ascii=False, indent=2, default=datetime.isoformat
    )
    return written + "\n"
