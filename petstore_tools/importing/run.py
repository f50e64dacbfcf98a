"""One run of an import: check, look, adopt, send, settle, write results."""

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
from petstore_tools.importing.check import Checked, Opened, check, open_source
from petstore_tools.importing.journal import Journal, open_journal
from petstore_tools.importing.journals import OtherImports, other_imports
from petstore_tools.importing.options import ImportOptions
from petstore_tools.importing.preview import ImportPreview, describe, most_requests, refusal
from petstore_tools.importing.reconcile import Absent
from petstore_tools.importing.results import ImportResult
from petstore_tools.importing.send import INTERRUPTED, STOPS, Progress, Sender, Stopped
from petstore_tools.listing.pages import Inventory, Tally
from petstore_tools.tabular.cells import FrameRow
from petstore_tools.text import option, utc_text
from petstore_tools.throttle.forecast import reserve_per_day
from petstore_tools.throttle.gate import CallOptions
from petstore_tools.throttle.throttle import Wait

MAX_FRUITLESS_ROUNDS: Final = 3  # rounds that create nothing until a run ends


def run(
    inventory: Inventory,
    folder: Path,
    order: ImportOptions,
    *,
    announce: Callable[[ImportPreview], bool],
    progress: Callable[[Progress], None],
) -> ImportResult | None:
    """
    Import a file, or go on with an import that stopped.

    Args:
        inventory: What is listed, through the client that sends.
        folder: Where journals live.
        order: What is wanted.
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
    opened = open_source(client, folder, order)
    now = client.clock.now()
    with open_journal(folder, opened.target, journal_id=opened.journal, now=now) as journal:
        others = other_imports(folder, opened.target, but=journal.id, siblings=opened.siblings)
        checked = check(order, journal.entries(), opened, others)
        shown = describe(client, order, checked, others.notes)
        if not announce(shown):
            return None
        if shown.refusal:
            raise SheetError(shown.refusal)
        if shown.to_send:
            results.check_folder(order.path)
        tally, watch = Tally(), _Watch(progress, shown.to_send)
        call_options = CallOptions(bulk=True, wait=order.wait, on_wait=watch.waits, on_sent=tally.count)
        stopped, not_compared = None, 0
        if shown.to_send and order.baseline and journal.is_new:
            early = replace(
                call_options, reserve_per_day=_leave(client, order)
            )  # what is left is for settling, too
            most = most_requests(shown.to_send)
            stopped, seen = _list_baseline(inventory, most, early)
            not_compared = most if seen is None and stopped is None else 0
            checked = _compare(order, journal, opened, others, seen or [])
            if seen is not None:
                journal.keep_baseline((pet_id for pet_id, _ in seen), now=client.clock.now())
        _take_in(order, journal, checked, now=client.clock.now())
        created_before = journal.states()["created"]
        if stopped is None:
            try:
                stopped = _send_and_reconcile(inventory, folder, journal, order, call_options, watch.show)
            except KeyboardInterrupt:
                stopped = INTERRUPTED
        journal.mark_lost(now=client.clock.now())
        result = _result(
            client, order, checked, journal, stopped, requests=tally.sent, created_before=created_before
        )
        result = replace(result, not_compared=not_compared)
    if stopped is not None and stopped.error is not None:
        raise stopped.error
    if stopped is not None and stopped.kind == "interrupted":
        raise Interrupted(f"{result}; the same call goes on", result=result)
    return result


def _compare(
    order: ImportOptions, journal: Journal, opened: Opened, others: OtherImports, seen: lookup.Seen
) -> Checked:
    """
    Check a file once more, against the animals that exist.

    Raises:
        SheetError: Rows of it exist already, and nothing was said of such rows.
    """
    ours = {pet_id for pet_id, name in others.owned.items() if name in opened.siblings}
    inventory = Counter(content for pet_id, content in seen if pet_id not in ours)
    checked = check(order, journal.entries(), opened, others, inventory)
    if why := refusal(order, checked):
        raise SheetError(why)
    return checked


def _take_in(order: ImportOptions, journal: Journal, checked: Checked, *, now: float) -> None:
    """Take a checked file into its journal, with how it is read and what was left out."""
    table, about = checked.table, {}
    if not table.rejects_of and order.from_journal is None:
        facts = {"reading": order.reading, "bad_rows": checked.bad_rows}
        about = {name: json.dumps(value) for name, value in facts.items()} | {"sheet": table.sheet}
    journal.add_rows(
        checked.merged,
        now=now,
        titles=table.titles,
        about=about,
        partial=bool(table.rejects_of),
        send_skipped=order.existing == "send",
    )


def _list_baseline(
    inventory: Inventory, most: int, call_options: CallOptions
) -> tuple[Stopped | None, lookup.Seen | None]:
    """List the inventory before the first create; say why that ended the run, and what was seen."""
    try:
        return None, lookup.list_inventory(inventory, call_options, most=most)
    except STOPS as error:
        return Stopped.of(error), None
    except KeyboardInterrupt:
        return INTERRUPTED, None


def _send_and_reconcile(
    inventory: Inventory,
    folder: Path,
    journal: Journal,
    order: ImportOptions,
    call_options: CallOptions,
    progress: Callable[[Progress], None],
) -> Stopped | None:
    """Send what is unsent, settle what was lost, and go on with what a look proved absent."""
    client, fruitless = inventory.client, 0
    while True:
        created = journal.states()["created"]
        stopped = _send(client, journal, order, call_options, progress)
        if stopped is not None and not stopped.sick:
            return stopped
        try:
            if stopped is not None and not lookup.has_recovered(client, call_options):
                return stopped
            if _is_too_long(client, journal, order):
                return stopped or _later(client, journal)
            verdicts = lookup.reconcile_unknown(
                inventory, folder, journal, resend=order.resend, call_options=call_options
            )
        except STOPS as error:
            return Stopped.of(error)
        states = journal.states()
        if not states["unsent"]:
            return None
        # a row that a person must decide is out of the way: the others go on
        moved = states["created"] > created or not all(isinstance(v, Absent) for v in verdicts)
        fruitless = 0 if moved else fruitless + 1
        if fruitless == MAX_FRUITLESS_ROUNDS or (stopped is not None and not moved):
            return stopped or Stopped("service", "answers were lost and nothing was created, again and again")


def _is_too_long(client: Client, journal: Journal, order: ImportOptions) -> bool:
    """Say whether settling would wait longer than a call may that was not told to wait."""
    return not order.wait and lookup.reconcilable_at(client, journal) - client.clock.now() > client.max_wait_s


def _later(client: Client, journal: Journal) -> Stopped:
    """Say that unknown rows are left for a later call."""
    at = lookup.reconcilable_at(client, journal)
    why = (
        f"what became of the unknown rows can be looked up from {utc_text(at)} on; run the same call again "
        f"then, or pass {option('wait=True')}"
    )
    return Stopped("unknown rows", why, at)


class _Watch:
    """Shows how far a run is, also while it waits for a look."""

    def __init__(self, progress: Callable[[Progress], None], total: int) -> None:
        self._progress, self._last = progress, Progress(0, total, 0, 0, 0)

    def show(self, now: Progress) -> None:
        """Pass it on."""
        self._last = now
        self._progress(now)

    def waits(self, wait: Wait | None) -> None:
        """Say what is waited for."""
        if wait is not None:
            self._progress(replace(self._last, waits_until=wait.until, waits_for=wait.why))


def _send(
    client: Client,
    journal: Journal,
    order: ImportOptions,
    call_options: CallOptions,
    progress: Callable[[Progress], None],
) -> Stopped | None:
    leaving = replace(call_options, reserve_per_day=_leave(client, order))
    sender = Sender(client, journal, leaving, progress=progress)
    return sender.run([e for e in journal.entries(wanted=2) if e.state == "unsent"])


def _leave(client: Client, order: ImportOptions) -> int:
    plan, _ = client.gate.read()
    return reserve_per_day(plan, order.reserve)


def _result(
    client: Client,
    order: ImportOptions,
    checked: Checked,
    journal: Journal,
    stopped: Stopped | None,
    *,
    requests: int,
    created_before: int,
) -> ImportResult:
    entries = tuple(journal.entries(wanted=2))
    if any(isinstance(row.number, FrameRow) for row in checked.rows[:1]):
        numbers = {row.number: row.number for row in checked.rows}  # with their labels
        entries = tuple(replace(e, number=numbers.get(e.number, e.number)) for e in entries)
    files, not_written = results.write(
        order.path, checked, journal, environment=client.environment, rejects=order.from_journal is None
    )
    counts = Counter(entry.state for entry in entries)
    bad_rows = checked.bad_rows if order.from_journal is None else order.from_journal.bad_rows
    return ImportResult(
        file=checked.table.label(order.path),
        environment=client.environment,
        rows=len(checked.rows) + bad_rows + checked.dropped,
        created=counts["created"],
        rejected=counts["rejected"] + bad_rows,
        unknown=counts["unknown"],
        ambiguous=sum(bool(entry.candidates) for entry in entries),
        unsent=counts["unsent"],
        held=len(checked.merged.held),
        skipped=counts["skipped"] + checked.dropped,
        created_now=counts["created"] - created_before,
        requests=requests,
        stopped=stopped,
        journal=journal.id,
        files=files,
        not_written=not_written,
        entries=entries,
        problems=checked.problems,
        held_rows=checked.merged.held,
    )
