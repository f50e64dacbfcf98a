"""
One run of an import: check, list the baseline, add the rows, send, reconcile, write the results.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from petstore_tools.errors import Interrupted, SheetError
from petstore_tools.importing import lookup, result_files
from petstore_tools.importing.check import check, open_source
from petstore_tools.importing.journal import Journal, open_journal
from petstore_tools.importing.journals import OtherImports, other_imports
from petstore_tools.importing.options import ImportOptions
from petstore_tools.importing.preview import ImportPreview, Opened
from petstore_tools.importing.results import OUTCOMES, ImportResult
from petstore_tools.importing.row_states import Entry
from petstore_tools.importing.send import STOPS, Progress, Sender, Stopped
from petstore_tools.listing.pages import Inventory
from petstore_tools.text import option, utc_text
from petstore_tools.throttle.gate import CallOptions
from petstore_tools.throttle.quota import reserve_per_day

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
        UnauthorizedError, ApiError, ProtocolError: The key or our request is wrong; the result
            files are written, and no further row was sent.
        LedgerError: The budget cannot be used; likewise.
        Interrupted: Ctrl-C, or a notebook's kernel was interrupted; the result files are written.
    """
    client = inventory.client
    opened = open_source(client, folder, options)
    now = client.clock.now()
    with open_journal(folder, opened.target, journal_id=opened.journal, now=now) as journal:
        others = other_imports(folder, opened.target, but=journal.id)
        preview = check(inventory, opened, journal.entries(), others)
        if announce(preview) is False:
            return None
        this_run = _Run(inventory, folder, journal, preview, progress)
        this_run.compare(opened, others)
        this_run.add_rows()
        this_run.send()
        result = this_run.result()
    if (stopped := result.stopped) is not None and stopped.error is not None:
        raise stopped.error
    if stopped is not None and stopped.kind == "interrupted":
        raise Interrupted(f"{result}; the same call goes on", result=result)
    return result


class _Run:
    """The steps of one run, in their order; each leaves what it found for the next."""

    def __init__(
        self,
        inventory: Inventory,
        folder: Path,
        journal: Journal,
        preview: ImportPreview,
        progress: Callable[[Progress], None],
    ) -> None:
        if preview.refusal:
            raise SheetError(preview.refusal)
        if preview.to_send:
            result_files.check_folder(preview.options.path)
        self._inventory, self._client, self._folder = inventory, inventory.client, folder
        self._journal, self._preview, self._options = journal, preview, preview.options
        self._requests = 0
        self._sender = Sender(self._client, journal, progress, preview.to_send)
        sent = itertools.count(1)

        def count() -> None:
            self._requests = next(sent)

        self._calls = CallOptions(
            bulk=True,
            wait=self._options.wait,
            on_wait=self._sender.show_wait,
            on_sent=count,
        )
        self._stopped: Stopped | None = None
        self._not_compared = False

    @property
    def _reserving(self) -> CallOptions:
        """
        Options of calls that leave some requests of each day, as many as the plan in force says.
        """
        plan, _ = self._client.gate.read()
        return replace(self._calls, reserve_per_day=reserve_per_day(plan, None))

    def compare(self, opened: Opened, others: OtherImports) -> None:
        """
        Before the first create, list the baseline, and check the file against the animals that
        exist.

        Raises:
            SheetError: Rows of the file exist already, and nothing was said of such rows.
        """
        most = self._preview.forecast.baseline
        if not self._preview.to_send or not self._journal.is_new:
            return
        animals = None
        try:  # some requests are left to reconcile, too
            if most:
                animals = lookup.list_inventory(self._inventory, self._reserving, max_requests=most)
        except STOPS as error:
            self._stopped = Stopped.of(error)
        self._not_compared = animals is None and self._stopped is None
        if animals is not None:
            existing = Counter(content for _, content in animals)
            self._preview = check(
                self._inventory, opened, self._journal.entries(), others, existing
            )
            if self._preview.refusal:
                raise SheetError(self._preview.refusal)
            self._journal.keep_baseline(
                (pet_id for pet_id, _ in animals), now=self._client.clock.now()
            )

    def add_rows(self) -> None:
        """Add the rows of the file to the journal, with how it is read and what was left out."""
        table, options, about = self._preview.table, self._options, {}
        if not table.rejects_of:
            about = {"bad_rows": str(self._preview.bad_rows), "sheet": table.source.name}
        self._journal.add_rows(
            self._preview.merged,
            now=self._client.clock.now(),
            titles=table.titles,
            about=about,
            partial=bool(table.rejects_of),
            send_skipped=options.existing == "send",
        )

    def send(self) -> None:
        """
        Send what is unsent, and reconcile what is unknown; what is lost in the end is unknown.
        """
        self._stopped = self._stopped or self._send_and_reconcile()
        self._journal.mark_lost(now=self._client.clock.now())

    def _send_and_reconcile(self) -> Stopped | None:
        """
        Send what is unsent, reconcile what is unknown, and go on with what is proven not to exist.
        """
        chosen: set[int] = set()
        fruitless = 0
        try:
            while fruitless < MAX_FRUITLESS_ROUNDS:
                created = self._journal.states()["created"]
                stopped = self._sender.run(self._unsent(chosen), self._reserving)
                if stopped is not None and not stopped.may_recover:
                    return stopped
                if too_early := self._too_early():
                    return stopped or too_early
                outcomes = lookup.reconcile_unknown(
                    self._inventory, self._folder, self._journal, self._calls
                )
                states = self._journal.states()
                if not states["unsent"]:
                    return None
                if not self._unsent(chosen):
                    first = option(f"first={self._options.first}")
                    return Stopped(
                        "first rows",
                        f"the first rows were sent; run it again without {first} to send the rest",
                    )
                # a row that a person must decide is out of the way: the others go on
                progressed = states["created"] > created or any(
                    o.state != "unsent" for o in outcomes
                )
                if stopped is not None and not progressed:
                    return stopped
                fruitless = 0 if progressed else fruitless + 1
        except STOPS as error:
            return Stopped.of(error)
        return Stopped(
            "service", f"answers were lost {fruitless} times in a row, and nothing was created"
        )

    def _unsent(self, chosen: set[int]) -> list[Entry]:
        """Return the rows to send; where only the first are wanted, they are the chosen keys."""
        unsent = [entry for entry in self._journal.entries(wanted=2) if entry.state == "unsent"]
        if self._options.first is None:
            return unsent
        others = [entry.key for entry in unsent if entry.key not in chosen]
        chosen.update(others[: self._options.first - len(chosen)])
        return [entry for entry in unsent if entry.key in chosen]

    def _too_early(self) -> Stopped | None:
        """
        Say that unknown rows are left to a later call, where the wait is longer than a call may
        wait.
        """
        client = self._client
        at = lookup.reconcilable_at(client, self._journal.entries())
        if self._options.wait or at - client.clock.now() <= client.max_wait_s:
            return None
        why = (
            f"what became of the unknown rows can be found out from {utc_text(at)} on; run the "
            "same call "
            f"again then, or pass {option('wait=True')}"
        )
        return Stopped("unknown rows", why, at)

    def result(self) -> ImportResult:
        """Write the result files, and say what became of every row."""
        preview = self._preview
        numbers = {
            row.number: row.number for row in preview.good
        }  # those of a DataFrame have labels
        entries = tuple(
            replace(e, number=numbers.get(e.number, e.number))
            for e in self._journal.entries(wanted=2)
        )
        files, not_written = result_files.write(preview, self._journal)
        bad_rows = preview.bad_rows
        counts = Counter(rejected=bad_rows, held=len(preview.held), skipped=preview.dropped)
        counts.update(entry.state for entry in entries)
        return ImportResult(
            file=preview.file,
            environment=preview.environment,
            rows=len(preview.good) + bad_rows + preview.dropped,
            **{outcome: counts[outcome] for outcome in OUTCOMES},
            ambiguous=sum(bool(entry.candidates) for entry in entries),
            created_now=counts["created"] - preview.created,
            requests=self._requests,
            stopped=self._stopped,
            journal=self._journal.id,
            files=files,
            not_compared=self._not_compared,
            not_written=not_written,
            entries=entries,
            bad=preview.bad,
            held_rows=preview.held,
            fields=preview.table.columns.columns,
        )
