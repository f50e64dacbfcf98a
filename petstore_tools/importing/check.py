"""
What a file holds, which of its rows were sent or are doubtful, and what the import would cost.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Final

from petstore_tools import spec
from petstore_tools.errors import SheetError
from petstore_tools.http.client import Client
from petstore_tools.importing.doubtful import SENT, find_doubtful, match
from petstore_tools.importing.journal import Journal, Target, read_journal
from petstore_tools.importing.options import ImportOptions
from petstore_tools.importing.preview import ImportPreview, Source
from petstore_tools.importing.sheet import read_table
from petstore_tools.importing.values import AnyRow, BadRow, LeftOut, PetValues, Row
from petstore_tools.listing.pages import Inventory
from petstore_tools.plans import PERIODS
from petstore_tools.tabular.atomic import as_on_disk
from petstore_tools.tabular.cells import first_of
from petstore_tools.text import option, pluralize
from petstore_tools.throttle.quota import LIKELY_S, Forecast, forecast

SHOWN: Final = 5  # rows named of each kind
_BREAKS: Final = "\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
_JOINERS: Final = (
    "\u200c\u200d"  # they belong between the parts of an emoji, and into Persian words
)
_KINDS: Final = {
    "with a line break": re.compile(f"[{_BREAKS}]"),
    "with a tab or a special blank": re.compile(rf"[^\S {_BREAKS}]"),
    "with invisible characters": re.compile(
        "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
        f"\ufeff\ufff9-\ufffb]|(?<![^\\x00-\\x7f])[{_JOINERS}]|[{_JOINERS}](?![^\\x00-\\x7f])"
    ),
}


def hidden_in_names(rows: Iterable[Row]) -> list[str]:
    """Return a sentence for each kind of name with something that nobody sees."""
    found: dict[str, list[str]] = {kind: [] for kind in _KINDS}
    for row in rows:
        name = row.content.name
        if not name.isprintable():
            for kind, pattern in _KINDS.items():
                if pattern.search(name):
                    found[kind].append(f"row {row.number} {name[:40]!r}")
    return [
        f"{pluralize(len(names), 'name')} {kind}, sent as typed: {first_of(names, SHOWN)}"
        for kind, names in found.items()
        if names
    ]


def duplicates_in(rows: Sequence[Row], duplicates: Iterable[int]) -> list[str]:
    """
    Name the rows that share their values, in one sentence; nothing where there is none.

    Args:
        rows: All that can be sent.
        duplicates: The places of those that share their values with an earlier one.
    """
    places: dict[PetValues, list[int]] = {rows[at].content: [] for at in duplicates}
    for row in rows:
        if row.content in places:
            places[row.content].append(row.number)
    groups = [
        f"{'row' if len(numbers) == 1 else 'rows'} {first_of(numbers, SHOWN)} "
        f"({name[:40]!r}, {category_id}, {status or 'no status'})"
        for (name, category_id, status), numbers in places.items()
    ]
    return [f"duplicates: {first_of(groups, SHOWN, '; ')}"] if groups else []


def preview(inventory: Inventory, folder: Path, options: ImportOptions) -> ImportPreview:
    """Check a file and estimate the cost of its import; sends nothing, writes nothing."""
    source = read_source(inventory.client, options)
    with read_journal(folder, source.target) as journal:
        return check(inventory, source, journal)


def read_source(client: Client, options: ImportOptions) -> Source:
    """
    Read a file to its end.

    Raises:
        SheetError: It cannot be used, or has no rows.
    """
    table = read_table(options)
    path = Path(options.name) if options.name else as_on_disk(options.path)
    above = [LeftOut(number, "above the header") for number in table.above]
    rows: list[AnyRow] = [*above, *table.rows()]
    good = tuple(row for row in rows if isinstance(row, Row))
    bad = tuple(row for row in rows if isinstance(row, BadRow))
    left_out = tuple(row for row in rows if isinstance(row, LeftOut))
    if not (good or bad or left_out):
        raise SheetError(f"{options.path.name} has a header and no rows")
    return Source(
        options,
        table,
        Target(client.environment, client.place, path, table.source.name),
        good,
        bad,
        left_out=left_out,
        blank=rows.count(None),
        matches=tuple(table.matches(good)),
    )


def check(
    inventory: Inventory, source: Source, journal: Journal, *, notes: Sequence[str] = ()
) -> ImportPreview:
    """
    Compare a file with the journal, and with the listing that it holds, if there is one.

    Args:
        inventory: Knows what the key has left, and how many animals there were.
        source: The file.
        journal: The imports to its place.
        notes: What else should be known.
    """
    options = source.options
    entries = journal.entries()
    known, _ = match(entries, [row.content for row in source.good])
    duplicates = _duplicates(source.good)
    good = source.good
    if options.drop_duplicates:
        dropped = {at for at in duplicates if (e := known[at]) is None or e.waits}
        good = tuple(row for at, row in enumerate(source.good) if at not in dropped)
    contents = [row.content for row in good]
    journal.show_file(contents)
    doubts = find_doubtful(contents, entries, equal=journal.find_equal(), others=journal.sharing())
    known, missing = match(entries, contents)
    waiting = [at for at, entry in enumerate(known) if entry is None or entry.waits]
    unsent = sum(options.doubtful == "send" or at not in doubts for at in waiting)
    to_send = min(unsent, options.first or unsent)
    compares = any((entry := known[at]) is None or not entry.compared for at in waiting)
    states = Counter(entry.state for entry in known if entry is not None and not entry.waits)
    sent = [entry for entry in entries if entry.state in SENT]
    gone = sum(entry.state in SENT for entry in missing)
    lists = compares or any(name == journal.id for name, _ in journal.unknown())
    requests = ceil(inventory.learnt.sizes.get("", 0) / spec.LIMIT_MAX) or 1
    return ImportPreview(
        **vars(source) | {"good": good},
        host=inventory.client.host,
        to_send=to_send,
        unsent=unsent,
        created=states["created"],
        unknown=states["unknown"] + states["sending"],
        skipped=states["skipped"],
        sent=len(sent),
        removed=gone,
        duplicates=len(duplicates),
        dropped=len(source.good) - len(good),
        known=tuple(known),
        doubts=doubts,
        lists=lists,
        notes=(
            *_notes(source, to_send, unsent),
            *hidden_in_names(good),
            *duplicates_in(source.good, duplicates),
            *notes,
        ),
        forecast=_estimate(inventory.client, to_send, baseline=requests if lists else 0),
        alone=_estimate(inventory.client, to_send, baseline=0),
    )


def _notes(source: Source, to_send: int, unsent: int) -> list[str]:
    """Say what the file is, and how many of its rows are sent."""
    notes = [*source.table.notes]
    if to_send < unsent:
        without = option(f"first={source.options.first}")
        notes.append(
            f"{to_send:,} of {unsent:,} rows are sent now; run it again without {without} to "
            "send the rest"
        )
    return notes


def _duplicates(rows: Sequence[Row]) -> list[int]:
    """Return the places of rows whose values an earlier row has."""
    seen: set[PetValues] = set()
    duplicates = []
    for at, row in enumerate(rows):
        if row.content in seen:
            duplicates.append(at)
        seen.add(row.content)
    return duplicates


def _estimate(client: Client, creates: int, *, baseline: int) -> Forecast:
    """Forecast so many creates on what the client's key has left."""
    gate = client.gate
    plan, throttle = gate.read()
    states = [throttle.state(window, gate.now()) for window in PERIODS]
    minute, day = [replace(state, frees_at=gate.local_time(state.frees_at)) for state in states]
    return forecast(
        creates,
        plan,
        minute=minute,
        day=day,
        now=client.clock.now(),
        baseline=baseline,
        latency_s=client.transport.fastest_s or LIKELY_S,
    )
