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
from petstore_tools.importing.values import (
    AnyRow,
    BadRow,
    LeftOut,
    PetValues,
    Row,
    count_matches,
)
from petstore_tools.listing.pages import Inventory
from petstore_tools.plans import PERIODS
from petstore_tools.tabular.atomic import as_on_disk
from petstore_tools.text import first_of, option, pluralize, quoted
from petstore_tools.throttle.quota import LIKELY_S, Forecast, forecast

SHOWN: Final = 5  # rows named of each kind
# a joiner that belongs between the parts of an emoji, or into a Persian word
_JOINER: Final = re.compile("(?<=[^\x00-\x7f])[\u200c\u200d](?=[^\x00-\x7f])")


def hidden_in_names(rows: Iterable[Row]) -> list[str]:
    """Name the rows whose names hold what nobody sees, in one sentence; nothing for none."""
    found = [
        f"row {row.number} {quoted(row.content.name)}"
        for row in rows
        if not _JOINER.sub("", row.content.name).isprintable()
    ]
    names = pluralize(len(found), "name")
    what = "with a line break, a tab or an invisible character, sent as typed"
    return [f"{names} {what}: {first_of(found, SHOWN)}"] if found else []


def find_duplicates(rows: Sequence[Row]) -> dict[PetValues, list[int]]:
    """Return the values that several rows have, with the places of these."""
    counts = Counter(row.content for row in rows)
    places: dict[PetValues, list[int]] = {values: [] for values, n in counts.items() if n > 1}
    for at, row in enumerate(rows):
        if row.content in places:
            places[row.content].append(at)
    return places


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
        matches=tuple(count_matches(good, table.columns, table.matcher)),
    )


def check(inventory: Inventory, source: Source, journal: Journal) -> ImportPreview:
    """
    Compare a file with the journal, and with the listing that it holds, if there is one.

    Args:
        inventory: Knows what the key has left, and how many animals there were.
        source: The file.
        journal: The imports to its place.
    """
    options = source.options
    entries = journal.entries()
    good = source.good
    duplicates = find_duplicates(good)
    later = {at for places in duplicates.values() for at in places[1:]}
    if options.drop_duplicates:
        known, _ = match(entries, [row.content for row in good])
        dropped = {at for at in later if (entry := known[at]) is None or entry.waits}
        good = tuple(row for at, row in enumerate(good) if at not in dropped)
    contents = [row.content for row in good]
    journal.show_file(contents)
    known, missing = match(entries, contents)
    doubts = find_doubtful(
        contents,
        entries,
        known,
        missing,
        equal=journal.find_equal(),
        others=journal.sharing(),
    )
    waiting = [at for at, entry in enumerate(known) if entry is None or entry.waits]
    unsent = sum(options.doubtful == "send" or at not in doubts for at in waiting)
    to_send = min(unsent, options.first or unsent)
    states = Counter(entry.state for entry in known if entry is not None and not entry.waits)
    lists = any((entry := known[at]) is None or not entry.compared for at in waiting) or any(
        entry.state == "unknown" for entry in entries
    )
    requests = ceil(inventory.learnt.sizes.get("", 0) / spec.LIMIT_MAX) or 1
    notes = [*source.table.notes, *hidden_in_names(good)]
    if to_send < unsent:
        notes.append(
            f"{to_send:,} of {unsent:,} rows are sent now; run it again without "
            f"{option(f'first={options.first}')} to send the rest"
        )
    equal = [
        f"rows {first_of([source.good[at].number for at in places], SHOWN)} ({content})"
        for content, places in duplicates.items()
    ]
    notes += [f"duplicates: {first_of(equal, SHOWN, '; ')}"] if equal else []
    return ImportPreview(
        **vars(source) | {"good": good},
        host=inventory.client.host,
        to_send=to_send,
        unsent=unsent,
        created=states["created"],
        unknown=states["unknown"] + states["sending"],
        skipped=states["skipped"],
        sent=sum(entry.state in SENT for entry in entries),
        removed=sum(entry.state in SENT for entry in missing),
        duplicates=len(later),
        dropped=len(source.good) - len(good),
        known=tuple(known),
        doubts=doubts,
        lists=lists,
        notes=tuple(notes),
        forecast=_estimate(inventory.client, to_send, baseline=requests if lists else 0),
        alone=_estimate(inventory.client, to_send, baseline=0),
    )


def _estimate(client: Client, creates: int, *, baseline: int) -> Forecast:
    """Forecast so many creates on what the client's key has left."""
    gate = client.gate
    throttle = gate.read()
    states = [throttle.state(window, gate.now()) for window in PERIODS]
    minute, day = [replace(state, frees_at=gate.local_time(state.frees_at)) for state in states]
    return forecast(
        creates,
        throttle.plan,
        minute=minute,
        day=day,
        now=client.clock.now(),
        baseline=baseline,
        latency_s=client.transport.fastest_s or LIKELY_S,
    )
