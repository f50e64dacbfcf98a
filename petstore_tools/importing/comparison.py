"""A source compared with the journal, and the cost of its import estimated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import fields
from math import ceil
from pathlib import Path

from petstore_tools import spec
from petstore_tools.http.client import Client
from petstore_tools.importing.doubtful import SENT, Entry, match
from petstore_tools.importing.journal import Journal, read_journal
from petstore_tools.importing.options import ImportOptions
from petstore_tools.importing.preview import FEW, ImportPreview
from petstore_tools.importing.sheet import Source, read_source
from petstore_tools.importing.values import PetValues, Row
from petstore_tools.listing.inventory import Inventory
from petstore_tools.text import first_of, quoted
from petstore_tools.throttle.quota import LIKELY_S, Forecast, forecast, read_quota


def hidden_in_names(rows: Iterable[Row]) -> list[str]:
    """
    Name the rows whose names hold what nobody sees, in one sentence; no sentence for
    none.
    """
    names = [(row.number, row.content.name) for row in rows]
    hidden = [
        f"row {number} {quoted(name)}"
        for number, name in names
        if not name.isprintable()
    ]
    hold = "a line break, a tab or an invisible character, and are sent as typed"
    return [f"names that hold {hold}: {first_of(hidden, FEW)}"] if hidden else []


def preview(
    inventory: Inventory, folder: Path, options: ImportOptions
) -> ImportPreview:
    """
    Check a file and estimate the cost of its import; sends nothing, writes nothing.
    """
    source = read_source(inventory.client, options)
    with read_journal(folder, source.target) as journal:
        return check(inventory, source, journal)


def check(inventory: Inventory, source: Source, journal: Journal) -> ImportPreview:
    """
    Compare a file with the journal, and with the listing that it holds, if there is
    one.

    Args:
        inventory: Knows what the key has left, and how many animals there were.
        source: The file.
        journal: The imports to its place.
    """
    options = source.options
    entries = journal.entries()
    good = source.good
    first: dict[PetValues, int] = {}
    duplicates = [
        at for at, row in enumerate(good) if first.setdefault(row.content, at) != at
    ]
    if options.drop_duplicates:
        known, _ = match(entries, [row.content for row in good])
        dropped = {at for at in duplicates if _is_unsent(known[at])}
        good = tuple(row for at, row in enumerate(good) if at not in dropped)
    contents = [row.content for row in good]
    known, missing, doubts = journal.compare(entries, contents)
    waiting = {at: entry for at, entry in enumerate(known) if _is_unsent(entry)}
    unsent = sum(options.doubtful == "send" or at not in doubts for at in waiting)
    to_send = min(unsent, options.first or unsent)
    states = Counter(
        entry.state for entry in known if entry is not None and not entry.waits
    )
    lists = any(entry.state == "unknown" for entry in entries) or any(
        entry is None or not entry.compared for entry in waiting.values()
    )
    requests = ceil(inventory.memory.evidence.sizes.get("", 0) / spec.LIMIT_MAX) or 1
    whole = _estimate(inventory.client, to_send, baseline=requests if lists else 0)
    alone = _estimate(inventory.client, to_send, baseline=0)
    return ImportPreview(
        **{field.name: getattr(source, field.name) for field in fields(Source)}
        | {"good": good},
        host=inventory.client.host,
        to_send=to_send,
        unsent=unsent,
        created=states["created"],
        unknown=states["unknown"] + states["sending"],
        skipped=states["skipped"],
        sent=sum(entry.state in SENT for entry in entries),
        removed=sum(entry.state in SENT for entry in missing),
        duplicates=tuple(source.good[at].number for at in duplicates),
        dropped=len(source.good) - len(good),
        known=tuple(known),
        doubts=doubts,
        lists=lists,
        notes=(*source.table.notes, *hidden_in_names(good)),
        forecast=whole,
        is_affordable=options.wait or whole.days <= max(1, alone.days),
    )


def _is_unsent(entry: Entry | None) -> bool:
    """
    Say whether a row is new to the journal, or was neither sent nor left out for good.
    """
    return entry is None or entry.waits


def _estimate(client: Client, creates: int, *, baseline: int) -> Forecast:
    """Forecast so many creates on what the client's key has left."""
    return forecast(
        creates,
        read_quota(client.gate),
        baseline=baseline,
        latency_s=client.transport.fastest_s or LIKELY_S,
    )
