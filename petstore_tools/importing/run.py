"""
One run of an import: check the file, list the inventory, compare, ask, add the rows,
send, reconcile, write the results.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from traceback import clear_frames

from petstore_tools import spec
from petstore_tools.errors import (
    DoubtfulRowsError,
    Interrupted,
    JournalError,
    PetstoreError,
    SheetError,
)
from petstore_tools.http.client import Client
from petstore_tools.importing.comparison import (
    Comparison,
    answer,
    compare,
    find_edits,
)
from petstore_tools.importing.entries import OUTCOMES
from petstore_tools.importing.imports import Target
from petstore_tools.importing.journal import Journal, open_journal, read_journal
from petstore_tools.importing.lost_rows import (
    NAMELESS,
    mark_dead,
    mark_lost,
    seconds_lost,
    settle,
)
from petstore_tools.importing.options import Doubtful, ImportOptions, Progress
from petstore_tools.importing.preview import ImportPreview
from petstore_tools.importing.read_sheet import (
    SAMPLES,
    ReadSheet,
    origin_of,
    read_sheet,
)
from petstore_tools.importing.results import ImportResult, entries_of_rows
from petstore_tools.importing.returned import (
    ReturnedList,
    mark_rows,
    write_list,
)
from petstore_tools.importing.send import (
    LAST_ANSWERS_S,
    Sender,
    Stopped,
    await_answers,
    await_threads,
)
from petstore_tools.importing.values import ABOVE
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.inventory import Inventory
from petstore_tools.tabular.atomic import check_writable
from petstore_tools.text import option, pluralize, some_of
from petstore_tools.throttle.gate import CallOptions
from petstore_tools.throttle.quota import LIKELY_S, forecast, read_quota

# to find lost rows, without one usable answer since, until a run ends
MOST_LISTINGS = 3
Announce = Callable[[ImportPreview], bool | None]
Ask = Callable[[ImportPreview], Doubtful]


def run(
    inventory: Inventory,
    folder: Path,
    options: ImportOptions,
    *,
    announce: Announce,
    ask: Ask,
    progress: Callable[[Progress], None],
) -> ImportResult | None:
    """
    Import a file, or go on with an import that stopped.

    Args:
        inventory: What is listed, through the client that sends.
        folder: Where journals live.
        options: What is imported, and how.
        announce: Shown the preview before the first request; False sends nothing.
        ask: Shown the preview where rows are doubtful; says what happens to them.
        progress: Called now and then from this thread.

    Returns:
        What became of every row, None where `announce` said no.

    Raises:
        SheetError: The file cannot be used, or has a problem and `strict` is set.
        DoubtfulRowsError: Rows may exist already, and nobody said what happens to them.
        JournalError: Another run is under way, or its record cannot be trusted.
        UnauthorizedError, ApiError, ProtocolError, LedgerError, Interrupted: The key or
            our request is wrong, the budget cannot be used, or Ctrl-C; the list is
            written, and no further row was sent.
    """
    sheet = read_sheet(options)
    target = find_target(inventory.client, sheet, folder)
    try:
        with open_journal(folder, target, inventory.client.clock) as journal:
            this_run = _Run(inventory, journal, sheet, progress)
            if not this_run.prepare(announce):
                return None
            result = this_run.finish(ask)
    except KeyboardInterrupt as interrupt:
        # a notebook keeps the traceback, which keeps what is suspended, and so locks
        # and requests
        clear_frames(interrupt.__traceback__)
        raise
    error = None if result.stopped is None else result.stopped.error
    if isinstance(error, KeyboardInterrupt):
        raise Interrupted(f"{result}; the same call goes on", result=result)
    if isinstance(error, PetstoreError):
        error.result = result
        error.add_note(str(result))
    if error is not None:
        raise error
    return result


def preview(
    inventory: Inventory, folder: Path, options: ImportOptions
) -> ImportPreview:
    """
    Check a file and estimate the cost of its import; sends nothing, writes nothing.
    """
    sheet = read_sheet(options)
    target = find_target(inventory.client, sheet, folder)
    with read_journal(folder, target) as journal:
        return check(inventory, sheet, journal)


def find_target(client: Client, sheet: ReadSheet, folder: Path) -> Target:
    """
    Return what names the import of a sheet, and the place it goes to. A returned list
    is the list that it came from: the journal knows which, else its name tells.
    """
    options = sheet.options
    path = options.import_path
    target = Target(
        client.environment, client.service_id, path, sheet.layout.sheet.name
    )
    origin = origin_of(sheet)
    if origin is None or options.name is not None:
        return target
    with read_journal(folder, target) as journal:
        source = journal.source_of(path)
    return replace(target, path=source or origin[0])


def check(inventory: Inventory, sheet: ReadSheet, journal: Journal) -> ImportPreview:
    """
    Compare a file with the journal; the inventory knows what the key has left.
    """
    options = sheet.options
    client = inventory.client
    sheet, comparison = compare(journal, sheet)
    unsent = len(comparison.waiting)
    if options.doubtful != "send":  # each doubtful row waits
        unsent -= len(comparison.doubts)
    to_send = min(unsent, options.first or unsent)
    requests = 0
    notes = sheet.notes
    if comparison.needs_listing:
        known_requests = inventory.count_requests()
        requests = known_requests or 0
        cost = ""
        if known_requests is None:
            cost = f", with a request for each {spec.LIMIT_MAX} animals"
        notes.append(
            "the import first lists the animals that exist, and compares the rows with"
            f" them{cost}"
        )
        if sheet.layout.id_column is not None:
            notes.append(
                "the listing also decides whether the column id has the ids of animals"
            )
    latency_s = client.transport.fastest_s or LIKELY_S
    estimate = partial(forecast, to_send, read_quota(client.gate), latency_s=latency_s)
    whole = estimate(baseline=requests)
    return ImportPreview(
        sheet=sheet,
        comparison=comparison,
        target=journal.target,
        host=client.host,
        to_send=to_send,
        unsent=unsent,
        notes=tuple(notes),
        forecast=whole,
        is_affordable=options.wait or whole.days <= max(1, estimate().days),
    )


class _Run:
    """The steps of one run, in their order; each leaves what it found for the next."""

    def __init__(
        self,
        inventory: Inventory,
        journal: Journal,
        sheet: ReadSheet,
        progress: Callable[[Progress], None],
    ) -> None:
        self._inventory = inventory
        self._client = inventory.client
        self._journal = journal
        self._sheet = sheet
        self._options = sheet.options
        self._sender = Sender(self._client, journal, progress)
        self._calls = CallOptions(
            bulk=True,
            more_follow=True,
            wait=self._options.wait,
            on_wait=self._sender.show_wait,
        )
        self._notes: list[str] = []
        self._listing: Listing | None = None  # of the inventory, before rows are added
        self._lags = False  # it may lack animals that were created within the hour
        self._added = False

    def prepare(self, announce: Announce) -> bool:
        """
        Check the file without a request; return whether the run goes on.

        Raises:
            SheetError: Nothing is sent as asked.
            OutputError: The list could not be written.
        """
        await_threads(self._journal, self._client.max_wait_s)
        mark_lost(self._journal, self._journal.id)
        mark_dead(self._journal)
        self._preview = check(self._inventory, self._sheet, self._journal)
        self._journal.bad_rows = self._preview.bad_rows
        self._before = self._preview.comparison
        if announce(self._preview) is False:
            return False
        if self._preview.refusal:
            raise SheetError(self._preview.refusal)
        if self._preview.to_send and self._options.is_file:
            remedy = (
                "let this user write there, since the import writes its lists there"
            )
            check_writable(self._options.path.resolve(), remedy)
        return True

    def finish(self, ask: Ask) -> ImportResult:
        """List, compare, ask, add, send, reconcile, and say what became of each row."""
        try:
            if self._before.needs_listing:
                self._list()
            self._add(ask)
            stopped = self._send()
        except (DoubtfulRowsError, SheetError):
            raise
        except (PetstoreError, KeyboardInterrupt, SystemExit) as error:
            clear_frames(error.__traceback__)
            stopped = Stopped.of(error)
        is_interrupted = stopped is not None and stopped.kind == "interrupted"
        if is_interrupted:
            self._journal.wait_s = LAST_ANSWERS_S
        try:
            mark_lost(self._journal, self._journal.id)
            return self._result(stopped)
        except JournalError as error:  # another program may hold it
            if is_interrupted:
                raise KeyboardInterrupt from error
            raise

    def _list(self) -> None:
        """List the inventory: it settles what is unknown, and shows what exists."""
        await_answers(self._client, seconds_lost(self._journal), self._calls)
        settled = settle(self._inventory, self._journal, self._calls)
        self._listing = settled.listing
        self._lags = settled.lacking > 0
        if not self._listing.complete:
            self._notes.append(
                "the listing of the inventory is not complete, so the rows were"
                " compared only with what it showed"
                f" ({self._listing.reason.rstrip('.')})"
            )

    def _add(self, ask: Ask) -> None:
        """
        Compare the file, ask about rows that are doubtful, and add all to the journal:
        in one transaction, so that of two imports one sees the rows of the other.

        Raises:
            DoubtfulRowsError: There are such rows, and nobody said what happens to
                them.
            SheetError: Most ids of the file are other animals', or one is, and `strict`
                is set.
        """
        said = self._options.doubtful
        is_decided = False
        while not is_decided:
            with self._journal.transaction():
                comparison = self._compare()
                if not self._preview.refusal:
                    said = answer(self._journal, comparison, said)
                    is_decided = said != "ask" or not comparison.doubts
                if is_decided:
                    rows = comparison.with_answer(said)
                    is_compared = self._listing is not None
                    self._journal.add_file(rows, compared=is_compared)
            if self._preview.refusal:
                raise SheetError(self._preview.refusal)
            if not is_decided:
                said = ask(self._preview)
                if said == "ask":
                    question = f"{self._preview.doubt}\nNothing was sent."
                    raise DoubtfulRowsError(question, self._preview)
        self._added = True
        self._notes += [
            f"{row}: the inventory does not have this animal any more"
            for row in some_of(comparison.orphans)
            if not self._lags
        ]

    def _compare(self) -> Comparison:
        """Compare the file with the journal, and with the listing that it holds."""
        complete = self._listing is not None and self._listing.complete
        sheet, comparison = compare(self._journal, self._sheet, complete=complete)
        self._preview = replace(self._preview, sheet=sheet, comparison=comparison)
        self._journal.bad_rows = self._preview.bad_rows
        return comparison

    def _send(self) -> Stopped | None:
        """
        Send what is unsent, reconcile what is unknown, and go on with what is proven
        not to exist.
        """
        first = self._options.first
        chosen = {entry.entry_id for entry in self._journal.unsent()[:first]}
        listed = 0
        while True:
            unsent = [
                entry
                for entry in self._journal.unsent()
                if first is None or entry.entry_id in chosen
            ]
            if not unsent and not seconds_lost(self._journal):
                break
            self._sender.run(unsent, self._calls)
            if self._sender.usable:
                listed = 0
            lost_s = seconds_lost(self._journal)
            if not lost_s:
                continue
            failing = self._sender.failing
            if listed >= MOST_LISTINGS:
                reason = (
                    f"{failing or 'answers were lost'}; {listed} listings show none of"
                    " these rows. Run the same call again later"
                )
                return Stopped("service", reason)
            too_early = await_answers(self._client, lost_s, self._calls)
            if too_early is not None:
                return Stopped("service", failing) if failing else too_early
            settled = settle(self._inventory, self._journal, self._calls)
            listed += settled.listings
            if not settled.listing.complete:
                reason = settled.listing.reason
                return Stopped(
                    "unknown rows",
                    "what became of the unknown rows is shown only by a complete"
                    f" listing: {reason}",
                )
            if settled.lacking and seconds_lost(self._journal):
                return Stopped("unknown rows", settled.lag)
        # else the list would have rows without the ids of their animals
        if self._journal.read(f"import = :id AND {NAMELESS}"):
            settle(self._inventory, self._journal, self._calls)
        if not self._journal.unsent():
            return None
        return Stopped(
            "first rows",
            f"the first rows were sent; run it again without {option('first', first)}"
            " to send the rest",
        )

    def _result(self, stopped: Stopped | None) -> ImportResult:
        """Write the list that comes back, and say what became of every row."""
        preview = self._preview
        all_entries = self._journal.read()
        sent_entries = preview.comparison.rows
        if self._added:
            sent_entries = [entry for entry in all_entries if entry.present]
        sent_entries, edits = find_edits(
            self._journal,
            preview.sheet.rows_to_send,
            sent_entries,
            self._before.entries,
        )
        entries = entries_of_rows(preview.sheet, sent_entries)
        created_entries = [
            entry
            for entry in all_entries
            if entry.state == "created" and not entry.has_id
        ]
        skipped = sum(entry.state == "skipped" for entry in sent_entries)
        unnamed = sum(entry.pet_id is None for entry in created_entries)
        self._notes += self._notes_on_rows(unnamed, skipped)
        edits = edits if self._added else []  # else nothing was compared
        marks = mark_rows(preview.sheet, entries, edits)
        returned = ReturnedList(preview.sheet, marks)
        written = write_list(returned, self._journal, preview.environment)
        left_out = [row for row in preview.sheet.rows_left_out if row.kind != ABOVE]
        counts = Counter[str](entry.state for entry in entries)
        counts["skipped"] += len(left_out)
        earlier = {e.entry_id for e in self._before.entries if e.state == "created"}
        return ImportResult(
            file=preview.file,
            environment=preview.environment,
            rows=preview.rows,
            **{outcome: counts[state] for outcome, state in OUTCOMES.items()},
            ambiguous=sum(entry.may_be != "" for entry in entries),
            created_now=sum(e.entry_id not in earlier for e in created_entries),
            skipped_now=max(0, skipped - self._before.states["skipped"]),
            stopped=stopped,
            journal=self._journal.id,
            list_file=written.path,
            notes=(*self._notes, *written.notes),
            edits=tuple(edits),
            not_written=written.failure,
            entries=tuple(entries),
            rows_left_out=tuple(left_out),
            returned=returned,
        )

    def _notes_on_rows(self, unnamed: int, skipped: int) -> Iterator[str]:
        """
        Yield what should be known of rows.

        Args:
            unnamed: Created rows whose animal is not known.
            skipped: Rows that were left out as doubtful.
        """
        if unnamed:
            yield (
                f"the id of {pluralize(unnamed, 'row')} that was created is not known"
                " yet, so the list lacks it: the same call finds it"
            )
        yield from some_of(self._preview.sheet.names_of_two_lines, SAMPLES)
        if skipped and self._options.doubtful == "send":
            rows = pluralize(skipped, "row")
            yield f"not sent, since an earlier answer was skip: {rows}"
