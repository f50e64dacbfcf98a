"""Imports that are over: a look at their lost rows, and a person's decision."""

from __future__ import annotations

from pathlib import Path

from petstore_tools.adapters.journal import open_journal
from petstore_tools.adapters.journals import Kept, elsewhere
from petstore_tools.admission import Manner
from petstore_tools.bulk.looks import settle_lost
from petstore_tools.client import Client
from petstore_tools.core.settle import Absent, Found, Verdict
from petstore_tools.errors import JournalError


def look_again(client: Client, folder: Path, kept: Kept) -> list[Verdict]:
    """
    Settle what an import lost, ambiguous rows included, by one look.

    Raises:
        JournalError: A run of it is under way.
        QuotaError, ApiError, TransportError: The look failed; nothing is settled.
    """
    with open_journal(folder, kept.target, journal_id=kept.id, now=client.clock.now()) as journal:
        others = elsewhere(folder, kept.target, but=kept.id)
        return settle_lost(client, journal, others, resend=True, manner=Manner(busy=True), again=True)


def decide(client: Client, folder: Path, kept: Kept, row: int, pet_id: int | None) -> None:
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
    with open_journal(folder, kept.target, journal_id=kept.id, now=now) as journal:
        entries = journal.entries()
        lost = [entry for entry in entries if entry.number == row and entry.state == "unknown"]
        if not lost:
            raise JournalError(f"row {row} of import {kept.id} is not unknown: there is nothing to decide")
        taken = [entry for entry in entries if pet_id is not None and entry.pet_id == pet_id]
        if taken:
            raise JournalError(f"id {pet_id} is row {taken[0].number} already")
        verdict = Absent(lost[0]) if pet_id is None else Found(lost[0], pet_id)
        journal.settle([verdict], now=now)
