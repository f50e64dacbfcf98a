"""One run of an import: check, list the baseline, add the rows, send, reconcile, write the results."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from petstore_tools.errors import Interrupted, SheetError
from petstore_tools.http.client import Client
from petstore_tools.importing import lookup, results
from petstore_tools.importing.check import baseline_requests, check, open_source
from petstore_tools.importing.journal import Journal, open_journal
from petstore_tools.importing.journals import OtherImports, other_imports
from petstore_tools.importing.options import ImportOptions
from petstore_tools.importing.preview import ImportPreview, Opened
from petstore_tools.importing.results import ImportResult
from petstore_tools.importing.send import STOPS, Progress, Sender, Stopped
from petstore_tools.listing.pages import Inventory
from petstore_tools.listing.tally import Tally
from petstore_tools.tabular.cells import FrameRow
from petstore_tools.text import option, utc_text
from petstore_tools.throttle.forecast import reserve_per_day
from petstore_tools.throttle.gate import CallOptions

MAX_FRUITLESS_ROUNDS: Final = 3  # rounds that create nothing until a run ends


def run(
    inventory: Inventory,
    folder: Path,
    options: ImportOptions,
    *,
    announce: Callable[[ImportPreview], bool],
    progress: Callable[[Progress], None],
) -> ImportResult | None:
    """
    Import a file, or go on with an import that stopped.

    Args:
        inventory: What is listed, through the client that sends.
        folder: Where journals live.
        options: What is imported, and how.
        announce: Shown the preview before the first request; False sends nothing.
        progress: Called now and then from this thread.

    Returns:
        What became of every row, None where `announce` said no.

    Raises:
        SheetError: The file cannot be used, or has a problem and `strict` is set.
        JournalError: Another run is under way, or its record cannot be trusted.
        UnauthorizedError, ApiError, ProtocolError: The key or our request is wrong; the result files are
            written, and no further row was sent.
        Interrupted: Ctrl-C, or a notebook's kernel was interrupted; the result files are written.
    """
    client = inventory.client
    opened = open_source(client, folder, options)
    now = client.clock.now()
    with open_journal(folder, opened.target, journal_id=opened.journal, now=now) as journal:
        others = other_imports(folder, opened.target, but=journal.id, siblings=opened.siblings)
        preview = check(client, opened, journal.entries(), others)
        if not announce(preview):
            return None
        if preview.refusal:
            raise SheetError(preview.refusal)
        if preview.to_send:
            results.check_folder(options.path)
        tally, sender = Tally(), Sender(client, journal, progress, preview.to_send)
        call_options = CallOptions(
            bulk=True, wait=options.wait, on_wait=sender.show_wait, on_sent=tally.count
        )
        stopped, not_compared = None, 0
        if preview.to_send and options.baseline and journal.is_new:
            max_requests = baseline_requests(preview.to_send)
            stopped, animals = _list_baseline(inventory, options, call_options, max_requests)
            preview = _compare(client, journal, opened, others, animals or [])
            if animals is not None:
                journal.keep_baseline((pet_id for pet_id, _ in animals), now=client.clock.now())
            elif stopped is None:
                not_compared = max_requests
        _add_rows(journal, preview, now=client.clock.now())
        created_before = journal.states()["created"]
        if stopped is None:
            try:
                stopped = _send_and_reconcile(inventory, folder, journal, options, sender, call_options)
            except STOPS as error:
                stopped = Stopped.of(error)
        journal.mark_lost(now=client.clock.now())
        result = replace(
            _result(preview, journal, stopped),
            created_now=journal.states()["created"] - created_before,
            requests=tally.sent,
            not_compared=not_compared,
        )
    if stopped is not None and stopped.error is not None:
        raise stopped.error
    if stopped is not None and stopped.kind == "interrupted":
        raise Interrupted(f"{result}; the same call goes on", result=result)
    return result


def _reserving(client: Client, options: ImportOptions, call_options: CallOptions) -> CallOptions:
    """Return options of calls that leave some requests of each day, as many as the plan in force says."""
    plan, _ = client.gate.read()
    return replace(call_options, reserve_per_day=reserve_per_day(plan, options.reserve))


def _list_baseline(
    inventory: Inventory, options: ImportOptions, call_options: CallOptions, max_requests: int
) -> tuple[Stopped | None, lookup.Animals | None]:
    """List the inventory before the first create; say what stopped that, and which animals there are."""
    reserving = _reserving(inventory.client, options, call_options)  # some are left to reconcile, too
    try:
        return None, lookup.list_inventory(inventory, reserving, max_requests=max_requests)
    except STOPS as error:
        return Stopped.of(error), None


def _compare(
    client: Client, journal: Journal, opened: Opened, others: OtherImports, animals: lookup.Animals
) -> ImportPreview:
    """
    Check a file once more, against the animals that exist.

    Raises:
        SheetError: Rows of it exist already, and nothing was said of such rows.
    """
    ours = {pet_id for pet_id, name in others.owned.items() if name in opened.siblings}
    inventory = Counter(content for pet_id, content in animals if pet_id not in ours)
    preview = check(client, opened, journal.entries(), others, inventory)
    if preview.refusal:
        raise SheetError(preview.refusal)
    return preview


def _add_rows(journal: Journal, preview: ImportPreview, *, now: float) -> None:
    """Add the rows of a checked file to its journal, with how it is read and what was left out."""
    table, options, about = preview.table, preview.options, {}
    if not table.rejects_of and options.from_journal is None:
        facts = {"reading": options.reading, "bad_rows": preview.bad_rows}
        about = {name: json.dumps(value) for name, value in facts.items()} | {"sheet": table.source.name}
    journal.add_rows(
        preview.merged,
        now=now,
        titles=table.titles,
        about=about,
        partial=bool(table.rejects_of),
        send_skipped=options.existing == "send",
    )


def _send_and_reconcile(
    inventory: Inventory,
    folder: Path,
    journal: Journal,
    options: ImportOptions,
    sender: Sender,
    call_options: CallOptions,
) -> Stopped | None:
    """Send what is unsent, reconcile what is unknown, and go on with what is proven not to exist."""
    client, fruitless = inventory.client, 0
    while True:
        created = journal.states()["created"]
        unsent = [entry for entry in journal.entries(wanted=2) if entry.state == "unsent"]
        stopped = sender.run(unsent, _reserving(client, options, call_options))
        if stopped is not None and not stopped.may_recover:
            return stopped
        at = lookup.reconcilable_at(client, journal.entries())
        if not options.wait and at - client.clock.now() > client.max_wait_s:
            return stopped or Stopped("unknown rows", _later(at), at)
        outcomes = lookup.reconcile_unknown(inventory, folder, journal, call_options, resend=options.resend)
        states = journal.states()
        if not states["unsent"]:
            return None
        # a row that a person must decide is out of the way: the others go on
        progressed = states["created"] > created or any(o.state != "unsent" for o in outcomes)
        fruitless = 0 if progressed else fruitless + 1
        if fruitless == MAX_FRUITLESS_ROUNDS or (stopped is not None and not progressed):
            return stopped or Stopped(
                "service", f"{fruitless} times in a row, answers were lost and nothing was created"
            )


def _later(at: float) -> str:
    return (
        f"what became of the unknown rows can be found out from {utc_text(at)} on; run the same call again "
        f"then, or pass {option('wait=True')}"
    )


def _result(preview: ImportPreview, journal: Journal, stopped: Stopped | None) -> ImportResult:
    """Write the result files, and say what became of every row; what this run did comes later."""
    entries = tuple(journal.entries(wanted=2))
    if any(isinstance(row.number, FrameRow) for row in preview.good[:1]):
        numbers = {row.number: row.number for row in preview.good}  # with their labels
        entries = tuple(replace(e, number=numbers.get(e.number, e.number)) for e in entries)
    files, not_written = results.write(preview, journal)
    counts = Counter(entry.state for entry in entries)
    kept = preview.options.from_journal
    bad_rows = preview.bad_rows if kept is None else kept.bad_rows
    return ImportResult(
        file=preview.file,
        environment=preview.environment,
        rows=len(preview.good) + bad_rows + preview.dropped,
        created=counts["created"],
        rejected=counts["rejected"] + bad_rows,
        unknown=counts["unknown"],
        ambiguous=sum(bool(entry.candidates) for entry in entries),
        unsent=counts["unsent"],
        held=len(preview.held),
        skipped=counts["skipped"] + preview.dropped,
        created_now=0,
        requests=0,
        stopped=stopped,
        journal=journal.id,
        files=files,
        not_written=not_written,
        entries=entries,
        bad=preview.bad,
        held_rows=preview.held,
    )
