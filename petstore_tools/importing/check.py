"""
What a file holds, what its journal and other imports say of each row, and what the import would
cost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
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
from petstore_tools.importing.names import duplicates_in, hidden_in_names
from petstore_tools.importing.options import ImportOptions
from petstore_tools.importing.preview import ImportPreview, Opened
from petstore_tools.importing.recipe import complete, earlier, same_choices
from petstore_tools.importing.reconcile import Existing
from petstore_tools.importing.row_states import Entry
from petstore_tools.importing.rows import BadRow, PetValues, Row
from petstore_tools.importing.run_lock import Target
from petstore_tools.importing.sheet import JOURNAL_COLUMN, Table, read_table, read_tables
from petstore_tools.listing.pages import Inventory
from petstore_tools.plans import PERIODS
from petstore_tools.tabular.atomic import as_on_disk
from petstore_tools.tabular.cells import first_of
from petstore_tools.text import option, pluralize
from petstore_tools.throttle.quota import LIKELY_S, Forecast, forecast, reserve_per_day

MIN_BASELINE_REQUESTS: Final = 10  # that the baseline may cost whatever the number of rows
ROWS_A_BASELINE_REQUEST: Final = 10  # and one more for so many rows


_AnyRow = Row | BadRow | None


def preview(inventory: Inventory, folder: Path, options: ImportOptions) -> ImportPreview:
    """Check a file and estimate the cost of its import; sends nothing, writes nothing."""
    opened = open_source(inventory.client, folder, options)
    entries = read_entries(folder, opened.target, journal_id=opened.journal)
    others = other_imports(folder, opened.target, but=opened.journal, siblings=opened.siblings)
    return check(inventory, opened, entries, others)


def open_source(client: Client, folder: Path, options: ImportOptions) -> Opened:
    """
    Read a file to its end, and find its journal.

    Raises:
        SheetError: It cannot be used, or has no rows.
        JournalError: It is a rejects file whose journal is not here.
    """
    table, path = _read_as_before(options, folder), options.path
    path = as_on_disk(path) if options.is_file else path
    target = Target(client.environment, client.base_url, path, table.source.name)
    rows, hidden = _by_visibility(table, options)
    good = tuple(row for row in rows if isinstance(row, Row))
    bad = tuple(row for row in rows if isinstance(row, BadRow))
    if not good and not bad and not hidden and options.from_journal is None:
        raise SheetError(f"{options.path.name} has a header and no rows")
    kept = options.from_journal and options.from_journal.id
    journal = kept or table.rejects_of or _journal(folder, target, table, good)
    if table.rejects_of and not (folder / f"{journal}.lock").exists():
        raise JournalError(
            f"this rejects file belongs to the import {journal}, whose journal is not on this "
            "machine"
        )
    whole = not (table.rejects_of or kept)
    another_file = whole and is_another_file(read_entries(folder, target, journal_id=journal), good)
    note = "" if table.rejects_of else same_choices(options, table.titles, folder, journal)
    table = replace(table, notes=(*filter(None, [note]), *table.notes))
    sheets = options.together
    siblings = orphans(folder, target, table.source.names) if sheets else []
    siblings += [
        current(folder, replace(target, sheet=sheet)) for sheet in sheets if sheet != target.sheet
    ]
    return Opened(
        options,
        table,
        target,
        good,
        bad,
        hidden=tuple(row for row in hidden if row is not None),
        blank=rows.count(None),
        matches=tuple(table.matches(good)),
        journal=following(journal, target) if another_file else journal,
        another_file=another_file,
        siblings=frozenset(filter(None, siblings)) - {journal},
    )


def by_sheet(options: ImportOptions) -> list[ImportOptions]:
    """
    Return the imports of the sheets of a workbook; equal rows of two of them are duplicates.

    Raises:
        SheetError: No visible sheet has the columns and rows below them.
    """
    with options.readable() as source:
        tables = read_tables(source, options.columns, options.rules)
    shown = {table.source.name: _by_visibility(table, options)[0] for table in tables}
    together = {
        sheet: Counter(row.content for row in rows if isinstance(row, Row))
        for sheet, rows in shown.items()
    }
    return [replace(options, sheet=sheet, together=together) for sheet in together]


def check_columns(options: ImportOptions, folder: Path) -> None:
    """
    Check that a file has the columns that are needed.

    Args:
        options: What is imported, and how.
        folder: Where journals live.

    Raises:
        SheetError: One is missing; its `proposals` are titles that may mean it.
    """
    if options.sheet == "all":
        by_sheet(options)
    else:
        _read_as_before(options, folder)


def _read_as_before(options: ImportOptions, folder: Path) -> Table:
    """
    Read a file, and a rejects file as its import was read.

    Where the titles do not tell the columns, the error says which earlier import had the same ones.
    """
    try:
        table = _read(options)
    except SheetError as error:
        kept = earlier(options, error.header, folder)
        if kept is None:
            raise
        if JOURNAL_COLUMN not in error.header:
            note = same_choices(options, error.header, folder)
            raise SheetError(f"{error}. {note}", proposals=error.proposals) from error
        table = _read(complete(replace(options, recipe=kept.id), folder, None))
    if table.rejects_of and (kept := earlier(options, table.titles, folder, table.rejects_of)):
        table = _read(complete(replace(options, recipe=kept.id), folder, None))
    return table


def _read(options: ImportOptions) -> Table:
    with options.readable() as source:
        return read_table(
            source,
            options.columns,
            sheet=options.sheet,
            encoding=options.encoding,
            rules=options.rules,
        )


def _by_visibility(table: Table, options: ImportOptions) -> tuple[list[_AnyRow], list[_AnyRow]]:
    """Return the rows that may be sent, and those that are hidden and not asked for."""
    unasked = frozenset() if options.hidden else table.source.hidden
    split: tuple[list[_AnyRow], list[_AnyRow]] = ([], [])
    for number, row in enumerate(table.rows(), start=table.header_row + 1):
        split[number in unasked].append(
            row
        )  # a row of a rejects file has another number of its own
    return split


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
        existing: Animals that exist, those of its siblings left out; None where it was not listed.
    """
    options, opened = opened.options, _with_present(opened, entries)
    duplicates = _duplicates(opened, entries, others)
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
    baseline, compared = _baseline(inventory, options, unsent) if untouched and unsent else (0, [])
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
        forecast=_estimate(inventory.client, to_send, options.reserve, baseline=baseline),
    )


def _notes(opened: Opened, to_send: int, unsent: int) -> list[str]:
    """Say what the file is, and how many of its rows are sent."""
    notes = [*opened.table.notes]
    if opened.options.from_journal is not None:
        name = opened.options.path
        again = option(
            f'import_pets(data, name="{name}")', f"petstore-tools import - --name {name}"
        )
        notes.append(
            f"{name} is not a file that can be read again, so its rows come from the record of "
            "this import, "
            "without the rows that had problems. To import these, correct the data and run: "
            f"{again}"
        )
    if opened.another_file:
        notes.append(
            "another file was imported under this name before: this file is treated as a new import"
        )
    if opened.hidden:
        numbers = first_of([row.number for row in opened.hidden])
        count = pluralize(len(opened.hidden), "row")
        notes.append(
            f"{count} hidden on the sheet, not sent: {numbers}; to send them: "
            f"{option('hidden=True')}"
        )
    if to_send < unsent:
        without = option(f"first={opened.options.first}")
        notes.append(
            f"{to_send:,} of {unsent:,} rows are sent now; run it again without {without} to "
            "send the rest"
        )
    return notes


def _with_present(opened: Opened, entries: Sequence[Entry]) -> Opened:
    """Count hidden rows as present that were sent before, after the rows that are shown."""
    if not opened.hidden:
        return opened
    partial, hidden = (
        bool(opened.table.rejects_of),
        [row for row in opened.hidden if isinstance(row, Row)],
    )
    shown = {id(entry) for entry, _ in merge(entries, opened.good, partial=partial).known}
    known = merge(
        [entry for entry in entries if id(entry) not in shown], hidden, partial=partial
    ).known
    sent = {id(row) for entry, row in known if entry.state in ("created", "unknown", "sending")}
    present = [row for row in hidden if id(row) in sent]
    good = sorted([*opened.good, *present], key=lambda row: row.number)
    return replace(
        opened, good=tuple(good), hidden=tuple(row for row in opened.hidden if id(row) not in sent)
    )


def _duplicates(opened: Opened, entries: Sequence[Entry], others: OtherImports) -> list[Row]:
    """
    Return rows whose values an earlier row has, or a row of a sheet that is imported before this
    one.
    """
    sheets = opened.options.together
    before = takewhile(lambda sheet: sheet != opened.options.sheet, sheets)
    seen = others.of_siblings.keys() | {content for sheet in before for content in sheets[sheet]}
    seen -= {entry.content for entry in entries}
    duplicates = []
    for row in opened.good:
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
    # what a sibling created and still holds makes an equal row here a duplicate; else the animal
    # exists
    sheets = options.together.items()
    beside = sum((rows for sheet, rows in sheets if sheet != options.sheet), Counter[PetValues]())
    existing = Existing(
        others.existing + (others.of_siblings - beside) | inventory, others.defaults
    )
    matching = {id(row): row for row, _ in merged.new if existing.take(row.content)}
    if options.existing == "skip":
        new = tuple(pair for pair in merged.new if id(pair[0]) not in matching)
        skipped = tuple(pair for pair in merged.new if id(pair[0]) in matching)
        merged = replace(merged, new=new, skipped=skipped)
    return merged, tuple(matching.values())


def _baseline(inventory: Inventory, options: ImportOptions, creates: int) -> tuple[int, list[str]]:
    """
    Return what the baseline may cost (a tenth of the creates, at least ten), and whether it is
    enough.
    """
    most = max(MIN_BASELINE_REQUESTS, creates // ROWS_A_BASELINE_REQUEST)
    animals, how = inventory.learnt.sizes.get(""), option("baseline=True", "--baseline")
    needed = ceil((animals or 0) / spec.LIMIT_MAX)
    if options.baseline is not None:
        return (max(most, needed) if options.baseline else 0), []
    if needed > most:
        return 0, [
            f"the rows are not compared with the {animals:,} animals that exist, so those that "
            "exist already "
            "are created again; to compare them first, with about "
            f"{pluralize(needed, 'request')}: {how}"
        ]
    if animals is not None:
        return most, []
    return most, [
        "the rows are compared with the animals that exist already, if there are at most "
        f"{most * spec.LIMIT_MAX:,} of them; for more: {how}"
    ]


def _estimate(client: Client, creates: int, reserve: int | None, *, baseline: int) -> Forecast:
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
        reserve=reserve_per_day(plan, reserve),
        now=client.clock.now(),
        baseline=baseline,
        latency_s=client.transport.fastest_s or LIKELY_S,
    )
