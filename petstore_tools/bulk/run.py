"""One run of an import: check, adopt, send, write results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from petstore_tools.adapters.journal import Journal, open_journal, stands_elsewhere
from petstore_tools.adapters.sheets import read_table
from petstore_tools.bulk import results
from petstore_tools.bulk.preview import Checked, ImportPreview, Order, check, describe, target_of
from petstore_tools.bulk.results import ImportResult
from petstore_tools.bulk.send import Progress, Sender, Stopped
from petstore_tools.client import Client
from petstore_tools.core.forecast import leave_per_day
from petstore_tools.errors import SheetError


def run(
    client: Client,
    folder: Path,
    order: Order,
    *,
    announce: Callable[[ImportPreview], bool],
    progress: Callable[[Progress], None],
) -> ImportResult | None:
    """
    Import a file, or go on with an import that stopped.

    Args:
        client: One key at one service.
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
    """
    table = read_table(order.path, order.mapping)
    target, now = target_of(client, order.path), client.clock.now()
    with open_journal(folder, target, journal_id=table.rejects_of, now=now) as journal:
        elsewhere = stands_elsewhere(folder, target, but=journal.id)
        checked = check(order, journal.entries(), table, elsewhere)
        shown = describe(client, order, checked)
        if not announce(shown):
            return None
        if shown.refusal:
            raise SheetError(shown.refusal)
        journal.adopt(checked.merged, now=now)
        sent_before, created_before = client.sent, _count(journal)["created"]
        stopped = _send(client, journal, order, progress)
        journal.bury(now=client.clock.now())
        result = _result(client, order, checked, journal, stopped)
        result = replace(
            result,
            requests=client.sent - sent_before,
            created_now=_count(journal)["created"] - created_before,
        )
    if stopped is not None and stopped.error is not None:
        raise stopped.error
    return result


def _send(
    client: Client, journal: Journal, order: Order, progress: Callable[[Progress], None]
) -> Stopped | None:
    plan, _ = client.admission.room()
    sender = Sender(
        client, journal, wait=order.wait, leave_per_day=leave_per_day(plan, order.leave), progress=progress
    )
    return sender.run([e for e in journal.entries(wanted=True) if e.state == "pending"])


def _count(journal: Journal) -> Counter[str]:
    return Counter(entry.state for entry in journal.entries(wanted=True))


def _result(
    client: Client, order: Order, checked: Checked, journal: Journal, stopped: Stopped | None
) -> ImportResult:
    entries = tuple(journal.entries(wanted=True))
    counts = Counter(entry.state for entry in entries)
    return ImportResult(
        file=order.path.name,
        environment=client.environment,
        rows=len(checked.rows) + checked.bad_rows + checked.skipped,
        created=counts["created"],
        rejected=counts["rejected"] + checked.bad_rows,
        unknown=counts["unknown"],
        pending=counts["pending"],
        held=len(checked.merged.held),
        skipped=checked.skipped,
        created_now=0,
        requests=0,
        stopped=stopped,
        journal=journal.id,
        files=results.write(order.path, checked, journal.entries(), wanted=entries, journal=journal.id),
        entries=entries,
        problems=checked.problems,
        held_rows=checked.merged.held,
    )
