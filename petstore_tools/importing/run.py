"""One run of an import: check, list the baseline, add the rows, send, reconcile, write the results."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from petstore_tools.errors import Interrupted, SheetError
from petstore_tools.importing import lookup, result_files
from petstore_tools.importing.check import check, open_source
from petstore_tools.importing.journal import Journal, open_journal
from petstore_tools.importing.journals import OtherImports, other_imports
from petstore_tools.importing.options import ImportOptions
from petstore_tools.importing.preview import ImportPreview, Opened
from petstore_tools.importing.results import ImportResult
from petstore_tools.importing.row_states import Entry
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
    announce: Callable[[ImportPreview], bool | None],
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
        LedgerError: The budget cannot be used; likewise.
        Interrupted: Ctrl-C, or a notebook's kernel was interrupted; the result files are written.
    """
    client = inventory.client
    opened = open_source(client, folder, options)
    now = client.clock.now()
    with open_journal(folder, opened.target, journal_id=opened.journal, now=now) as journal:
        others = other_imports(folder, opened.target, but=journal.id, siblings=opened.siblings)
        preview = check(inventory, opened, journal.entries(), others)
        if announce(preview) is False:
            return None
        if preview.refusal:
            raise SheetError(preview.refusal)
        if preview.to_send:
            result_files.check_folder(options.path)
        tally, sender = Tally(), Sender(client, journal, progress, preview.to_send)
        calls = CallOptions(bulk=True, wait=options.wait, on_wait=sender.show_wait, on_sent=tally.count)
        steps = _Steps(inventory, folder, options, journal, sender, calls)
        stopped, to_compare = None, preview.to_send and options.baseline is not False and journal.is_new
        if to_compare and preview.forecast.baseline:
            most = None if options.baseline else preview.forecast.baseline
            preview, stopped = steps.compare(opened, others, most)
        steps.add_rows(preview)
        created_before = journal.states()["created"]
        stopped = stopped or steps.send_and_reconcile()
        journal.mark_lost(now=client.clock.now())
        result = replace(
            steps.result(preview, stopped),
            created_now=journal.states()["created"] - created_before,
            requests=tally.sent,
            not_compared=bool(to_compare) and stopped is None and journal.baseline is None,
        )
    if stopped is not None and stopped.error is not None:
        raise stopped.error
    if stopped is not None and stopped.kind == "interrupted":
        raise Interrupted(f"{result}; the same call goes on", result=result)
    return result


@dataclass(frozen=True)
class _Steps:
    """The steps of one run, in their order, and what they share."""

    inventory: Inventory
    folder: Path
    options: ImportOptions
    journal: Journal
    sender: Sender
    call_options: CallOptions

    @property
    def reserving(self) -> CallOptions:
        """Options of calls that leave some requests of each day, as many as the plan in force says."""
        plan, _ = self.inventory.client.gate.read()
        return replace(self.call_options, reserve_per_day=reserve_per_day(plan, self.options.reserve))

    def compare(
        self, opened: Opened, others: OtherImports, max_requests: int | None
    ) -> tuple[ImportPreview, Stopped | None]:
        """
        List the baseline, and check the file once more against the animals that exist.

        Returns:
            The checked file, and what stopped the listing.

        Raises:
            SheetError: Rows of the file exist already, and nothing was said of such rows.
        """
        animals, stopped = None, None
        try:  # some requests are left to reconcile, too
            animals = lookup.list_inventory(self.inventory, self.reserving, max_requests=max_requests)
        except STOPS as error:
            stopped = Stopped.of(error)
        ours = {pet_id for pet_id, name in others.owned.items() if name in opened.siblings}
        existing = Counter(content for pet_id, content in animals or () if pet_id not in ours)
        preview = check(self.inventory, opened, self.journal.entries(), others, existing)
        if preview.refusal:
            raise SheetError(preview.refusal)
        if animals is not None:
            now = self.inventory.client.clock.now()
            self.journal.keep_baseline((pet_id for pet_id, _ in animals), now=now)
        return preview, stopped

    def add_rows(self, preview: ImportPreview) -> None:
        """Add the rows of a checked file to the journal, with how it is read and what was left out."""
        table, options, about = preview.table, self.options, {}
        if not table.rejects_of and options.from_journal is None:
            facts = {"reading": options.reading, "header": table.titles, "bad_rows": preview.bad_rows}
            about = {name: json.dumps(value) for name, value in facts.items()} | {"sheet": table.source.name}
        self.journal.add_rows(
            preview.merged,
            now=self.inventory.client.clock.now(),
            titles=table.titles,
            about=about,
            partial=bool(table.rejects_of),
            send_skipped=options.existing == "send",
        )

    def send_and_reconcile(self) -> Stopped | None:
        """Send what is unsent, reconcile what is unknown, and go on with what is proven not to exist."""
        chosen: set[int] = set()
        fruitless = 0
        try:
            while fruitless < MAX_FRUITLESS_ROUNDS:
                created = self.journal.states()["created"]
                stopped = self.sender.run(self._unsent(chosen), self.reserving)
                if stopped is not None and not stopped.may_recover:
                    return stopped
                if too_early := self._too_early():
                    return stopped or too_early
                outcomes = lookup.reconcile_unknown(
                    self.inventory, self.folder, self.journal, self.call_options, resend=self.options.resend
                )
                states = self.journal.states()
                if not states["unsent"]:
                    return None
                if not self._unsent(chosen):
                    first = option(f"first={self.options.first}")
                    return Stopped(
                        "first rows",
                        f"the first rows were sent; run it again without {first} to send the rest",
                    )
                # a row that a person must decide is out of the way: the others go on
                progressed = states["created"] > created or any(o.state != "unsent" for o in outcomes)
                if stopped is not None and not progressed:
                    return stopped
                fruitless = 0 if progressed else fruitless + 1
        except STOPS as error:
            return Stopped.of(error)
        return Stopped("service", f"answers were lost {fruitless} times in a row, and nothing was created")

    def _unsent(self, chosen: set[int]) -> list[Entry]:
        """Return the rows to send; where only the first are wanted, they are the chosen keys."""
        unsent = [entry for entry in self.journal.entries(wanted=2) if entry.state == "unsent"]
        if self.options.first is None:
            return unsent
        others = [entry.key for entry in unsent if entry.key not in chosen]
        chosen.update(others[: self.options.first - len(chosen)])
        return [entry for entry in unsent if entry.key in chosen]

    def _too_early(self) -> Stopped | None:
        """Say that unknown rows are left to a later call, where the wait is longer than a call may wait."""
        client = self.inventory.client
        at = lookup.reconcilable_at(client, self.journal.entries())
        if self.options.wait or at - client.clock.now() <= client.max_wait_s:
            return None
        why = (
            f"what became of the unknown rows can be found out from {utc_text(at)} on; run the same call "
            f"again then, or pass {option('wait=True')}"
        )
        return Stopped("unknown rows", why, at)

    def result(self, preview: ImportPreview, stopped: Stopped | None) -> ImportResult:
        """Write the result files, and say what became of every row; what this run did comes later."""
        entries = tuple(self.journal.entries(wanted=2))
        if any(isinstance(row.number, FrameRow) for row in preview.good[:1]):
            numbers = {row.number: row.number for row in preview.good}  # with their labels
            entries = tuple(replace(e, number=numbers.get(e.number, e.number)) for e in entries)
        files, not_written = result_files.write(preview, self.journal)
        counts = Counter(entry.state for entry in entries)
        kept = self.options.from_journal
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
            journal=self.journal.id,
            files=files,
            not_written=not_written,
            entries=entries,
            bad=preview.bad,
            held_rows=preview.held,
            fields=preview.table.columns.columns,
        )
