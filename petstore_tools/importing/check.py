"""
What a file holds, what its journal and other imports say of each row, and what the import would
cost.
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
from petstore_tools.errors import JournalError, SheetError
from petstore_tools.http.client import Client
from petstore_tools.importing.journal import read_entries
from petstore_tools.importing.journals import (
    OtherImports,
    current,
    following,
    orphans,
    other_imports,
)
from petstore_tools.importing.matching import Merge, holds_most, is_another_file, merge
from petstore_tools.importing.options import ImportOptions
from petstore_tools.importing.preview import ImportPreview, Opened
from petstore_tools.importing.reconcile import Existing
from petstore_tools.importing.row_states import Entry
from petstore_tools.importing.run_lock import Target
from petstore_tools.importing.sheet import Table, read_table
from petstore_tools.importing.values import AnyRow, BadRow, LeftOut, PetValues, Row
from petstore_tools.listing.pages import Inventory
from petstore_tools.plans import PERIODS
from petstore_tools.tabular.atomic import as_on_disk
from petstore_tools.tabular.cells import first_of
from petstore_tools.text import option, pluralize
from petstore_tools.throttle.quota import LIKELY_S, Forecast, forecast, reserve_per_day

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


def duplicates_in(rows: Sequence[Row], duplicates: Sequence[Row]) -> list[str]:
    """
    Name the rows that share their values, in one sentence; nothing where there is none.

    Args:
        rows: Those that are sent.
        duplicates: Those that share their values with an earlier one, whether they are sent or not.
    """
    places: dict[PetValues, set[int]] = {row.content: set() for row in duplicates}
    for row in (*rows, *duplicates):
        if row.content in places:
            places[row.content].add(row.number)
    groups = [
        f"{'row' if len(numbers) == 1 else 'rows'} {first_of(sorted(numbers), SHOWN)} "
        f"({name[:40]!r}, {category_id}, {status or 'no status'})"
        for (name, category_id, status), numbers in places.items()
    ]
    return [f"duplicates: {first_of(groups, SHOWN, '; ')}"] if groups else []


MIN_BASELINE_REQUESTS: Final = 10  # that the baseline may cost whatever the number of rows
ROWS_A_BASELINE_REQUEST: Final = 10  # and one more for so many rows


def preview(inventory: Inventory, folder: Path, options: ImportOptions) -> ImportPreview:
    """Check a file and estimate the cost of its import; sends nothing, writes nothing."""
    opened = open_source(inventory.client, folder, options)
    entries = read_entries(folder, opened.target, journal_id=opened.journal)
    others = other_imports(folder, opened.target, but=opened.journal)
    return check(inventory, opened, entries, others)


def open_source(client: Client, folder: Path, options: ImportOptions) -> Opened:
    """
    Read a file to its end, and find its journal.

    Raises:
        SheetError: It cannot be used, or has no rows.
        JournalError: It is a rejects file whose journal is not here.
    """
    table = read_table(options)
    path = as_on_disk(options.path) if options.is_file else options.path
    target = Target(client.environment, client.base_url, path, table.source.name)
    above = [LeftOut(number, "above the header") for number in table.above]
    rows: list[AnyRow] = [*above, *table.rows()]
    good = tuple(row for row in rows if isinstance(row, Row))
    bad = tuple(row for row in rows if isinstance(row, BadRow))
    left_out = tuple(row for row in rows if isinstance(row, LeftOut))
    if not (good or bad or left_out):
        raise SheetError(f"{options.path.name} has a header and no rows")
    journal = table.rejects_of or _journal(folder, target, table, good)
    if table.rejects_of and not (folder / f"{journal}.lock").exists():
        raise JournalError(
            f"this rejects file belongs to the import {journal}, whose journal is not on this "
            "machine"
        )
    entries = [] if table.rejects_of else read_entries(folder, target, journal_id=journal)
    another_file = is_another_file(entries, good)
    return Opened(
        options,
        table,
        target,
        good,
        bad,
        left_out=left_out,
        blank=rows.count(None),
        matches=tuple(table.matches(good)),
        journal=following(journal, target) if another_file else journal,
        another_file=another_file,
    )


def _journal(folder: Path, target: Target, table: Table, rows: Sequence[Row]) -> str:
    """
    Return the journal of a file: its own, or that of a sheet that was renamed, whose rows it holds.
    """
    if found := current(folder, target):
        return found
    for name in orphans(folder, target, table.source.names) if target.sheet else ():
        if holds_most(read_entries(folder, target, journal_id=name), rows):
            return name
    return target.id


def check(
    inventory: Inventory,
    opened: Opened,
    entries: Sequence[Entry],
    others: OtherImports,
    existing: Counter[PetValues] | None = None,
) -> ImportPreview:
    """
    Check a whole file offline.

    Args:
        inventory: Knows what the key has left, and how many animals there were.
        opened: The file.
        entries: What its journal holds.
        others: What other imports did.
        existing: Animals that exist; None where they were not listed.
    """
    options = opened.options
    duplicates = _duplicates(opened.good)
    left_out = {id(row) for row in duplicates} if options.drop_duplicates else ()
    good = tuple(row for row in opened.good if id(row) not in left_out)
    merged, matching = _matched(
        options,
        merge(
            entries,
            good,
            bad={row.number for row in opened.bad},
            partial=bool(opened.table.rejects_of),
            send_edited=options.send_edited,
        ),
        others,
        existing or Counter(),
    )
    states = Counter(entry.state for entry, _ in merged.known)
    unsent = len(merged.new) + states["unsent"] + states["rejected"]
    unsent += states["skipped"] if options.existing == "send" else 0
    to_send = min(unsent, options.first or unsent)
    untouched = all(entry.state in ("unsent", "skipped") for entry in entries)
    baseline, compared = _baseline(inventory, unsent) if untouched and unsent else (0, [])
    notes = [*_notes(opened, to_send, unsent), *compared, *others.notes]
    notes += [*hidden_in_names(good), *duplicates_in(good, duplicates)]
    return ImportPreview(
        **vars(opened) | {"good": good},
        host=inventory.client.host,
        to_send=to_send,
        created=states["created"],
        unknown=states["unknown"] + states["sending"],
        duplicates=len(duplicates),
        dropped=len(opened.good) - len(good),
        matching=matching,
        merged=merged,
        notes=tuple(notes),
        forecast=_estimate(inventory.client, to_send, baseline=baseline),
    )


def _notes(opened: Opened, to_send: int, unsent: int) -> list[str]:
    """Say what the file is, and how many of its rows are sent."""
    notes = [*opened.table.notes]
    if opened.another_file:
        notes.append(
            "another file was imported under this name before: this file is treated as a new import"
        )
    if to_send < unsent:
        without = option(f"first={opened.options.first}")
        notes.append(
            f"{to_send:,} of {unsent:,} rows are sent now; run it again without {without} to "
            "send the rest"
        )
    return notes


def _duplicates(rows: Sequence[Row]) -> list[Row]:
    """Return rows whose values an earlier row has."""
    seen: set[PetValues] = set()
    duplicates = []
    for row in rows:
        if row.content in seen:
            duplicates.append(row)
        seen.add(row.content)
    return duplicates


def _matched(
    options: ImportOptions, merged: Merge, others: OtherImports, inventory: Counter[PetValues]
) -> tuple[Merge, tuple[Row, ...]]:
    """
    Return new rows that match animals which exist already, and what is added: skipped ones as
    asked.
    """
    existing = Existing(others.existing | inventory, others.defaults)
    matching = {id(row): row for row, _ in merged.new if existing.take(row.content)}
    if options.existing == "skip":
        new = tuple(pair for pair in merged.new if id(pair[0]) not in matching)
        skipped = tuple(pair for pair in merged.new if id(pair[0]) in matching)
        merged = replace(merged, new=new, skipped=skipped)
    return merged, tuple(matching.values())


def _baseline(inventory: Inventory, creates: int) -> tuple[int, list[str]]:
    """
    Return what the baseline may cost (a tenth of the creates, at least ten), and whether it is
    enough.
    """
    most = max(MIN_BASELINE_REQUESTS, creates // ROWS_A_BASELINE_REQUEST)
    animals = inventory.learnt.sizes.get("")
    if ceil((animals or 0) / spec.LIMIT_MAX) > most:
        return 0, [
            f"the rows are not compared with the {animals:,} animals that exist, so those that "
            "exist already are created again"
        ]
    if animals is not None:
        return most, []
    return most, [
        "the rows are compared with the animals that exist already, if there are at most "
        f"{most * spec.LIMIT_MAX:,} of them"
    ]


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
        reserve=reserve_per_day(plan, None),
        now=client.clock.now(),
        baseline=baseline,
        latency_s=client.transport.fastest_s or LIKELY_S,
    )
