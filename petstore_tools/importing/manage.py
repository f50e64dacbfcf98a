"""Imports that are over: a look at their lost rows, and a person's decision."""

from __future__ import annotations

from pathlib import Path

from petstore_tools.errors import JournalError
from petstore_tools.http.client import Client
from petstore_tools.importing.journal import Journal, open_journal
from petstore_tools.importing.journals import JournalInfo, elsewhere
from petstore_tools.importing.lookup import LOCKED_S, settle_lost
from petstore_tools.importing.reconcile import Absent, Found, Verdict
from petstore_tools.importing.row_states import Entry
from petstore_tools.importing.run_lock import place_lock
from petstore_tools.listing.pages import Inventory
from petstore_tools.throttle.gate import CallOptions


def look_again(inventory: Inventory, folder: Path, kept: JournalInfo) -> list[Verdict]:
    """
    Settle what an import lost, ambiguous rows included, by one look.

    Raises:
        JournalError: A run of it is under way.
        QuotaError, ApiError, TransportError: The look failed; nothing is settled.
    """
    with open_journal(folder, kept.target, journal_id=kept.id, now=inventory.client.clock.now()) as journal:
        return settle_lost(
            inventory, folder, journal, resend=True, call_options=CallOptions(busy=True), again=True
        )


def decide(client: Client, folder: Path, kept: JournalInfo, row: int, pet_id: int | None) -> None:
    """
    Take a person's word for what became of a lost row.

    Args:
        client: Tells the time.
        folder: Where journals live.
        kept: The import.
        row: As the spreadsheet counts.
        pet_id: Where it stands, None where it does not.

    Raises:
        JournalError: A run of it is under way, or the row is not unknown, or the id is another row's.
    """
    now = client.clock.now()
    here = place_lock(folder, kept.target, lambda: client.gate.pause(LOCKED_S))
    with open_journal(folder, kept.target, journal_id=kept.id, now=now) as journal, here:
        entries = journal.entries()
        lost = [entry for entry in entries if entry.number == row and entry.state == "unknown"]
        lost = [entry for entry in lost if entry.wanted] or lost
        if len(lost) > 1:
            raise JournalError(
                f"{len(lost)} unknown rows of import {kept.id} have the number {row}: "
                + ", ".join(str(entry.content) for entry in lost)
                + ". Run the import once with the file that holds the row you mean, then decide"
            )
        if not lost:
            raise JournalError(f"row {row} of import {kept.id} is not unknown: there is nothing to decide")
        if pet_id is not None:
            _check_free(folder, journal, entries, pet_id)
        verdict = Absent(lost[0]) if pet_id is None else Found(lost[0], pet_id)
        journal.settle([verdict], now=now)


def _check_free(folder: Path, journal: Journal, entries: list[Entry], pet_id: int) -> None:
    """Refuse an animal that is the answer to another row."""
    taken = [entry.number for entry in entries if entry.pet_id == pet_id]
    if taken:
        raise JournalError(f"id {pet_id} is row {taken[0]} already")
    owner = elsewhere(folder, journal.target, but=journal.id).owned.get(pet_id)
    if owner is not None:
        raise JournalError(f"id {pet_id} belongs to a row of import {owner} already")
