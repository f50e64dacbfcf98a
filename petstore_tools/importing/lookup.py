"""Looks at the inventory for an import: what stands before it, and what became of its lost rows."""

from __future__ import annotations

import random
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Final

from petstore_tools import spec
from petstore_tools.errors import ApiError, JournalError, TransportError
from petstore_tools.http import backoff as retry
from petstore_tools.http.client import Client
from petstore_tools.importing.journal import Journal, open_journal
from petstore_tools.importing.journals import JournalInfo, other_imports
from petstore_tools.importing.reconcile import (
    LOST_ELSEWHERE,
    Absent,
    Ambiguous,
    Found,
    Verdict,
    find_outcomes,
)
from petstore_tools.importing.row_states import Entry
from petstore_tools.importing.rows import PetValues
from petstore_tools.importing.run_lock import place_lock
from petstore_tools.listing.pages import Inventory
from petstore_tools.listing.query import ListQuery
from petstore_tools.text import pluralize
from petstore_tools.throttle.gate import CallOptions
from petstore_tools.throttle.throttle import Wait

Seen = list[tuple[int, PetValues]]  # id and values of each animal

PROBES: Final = 5
LOCKED_S: Final = 0.2  # until a lock that another import holds is tried again


def list_inventory(
    inventory: Inventory, call_options: CallOptions, *, most: int | None = None
) -> Seen | None:
    """
    List the inventory with all three values.

    Args:
        inventory: What is listed.
        call_options: How it waits.
        most: Give up after so many requests.

    Returns:
        Id and values of every animal, None where the listing is not complete.
    """
    listed = inventory.pages(ListQuery(max_requests=most), call_options=call_options)
    seen: Seen = []
    try:
        for page in listed:
            seen += [(row["id"], (row["name"], row["categoryId"], row.get("status"))) for row in page.rows]
    except (ApiError, TransportError):
        if most is None or listed.listing.requests < most:
            raise
    return seen if listed.listing.complete else None


def has_recovered(client: Client, call_options: CallOptions) -> bool:
    """Ask a service that was sick for one animal, under backoff; say whether it answers as it should."""
    chance = random.Random()
    url = f"{client.base_url}{spec.PETS_PATH}?limit=1"
    for probe in range(1, PROBES + 1):
        client.gate.pause(retry.backoff_s(probe, chance), call_options)
        try:
            if client.attempt("GET", url, call_options=call_options).status == HTTPStatus.OK:
                return True
        except TransportError:
            continue
    return False


def reconcile_unknown(
    inventory: Inventory,
    folder: Path,
    journal: Journal,
    *,
    resend: bool,
    call_options: CallOptions,
    again: bool = False,
) -> list[Verdict]:
    """
    Settle the rows whose answer was lost by one look at the inventory.

    Where another import awaits the answer to an equal row, or has lost it, that one gets as long as this one
    has waited; then what it may own is for a person to decide.

    Args:
        inventory: What is listed.
        folder: Where journals live.
        journal: Open, and ours alone.
        resend: Rows that do not stand are unsent again; else they stay unknown.
        call_options: How it waits.
        again: Look also for those that an earlier look could not settle.

    Returns:
        The verdicts; none where there was nothing to settle or the listing was not complete.
    """
    client = inventory.client
    lost = [e for e in journal.entries() if e.state == "unknown" and (again or not e.candidates)]
    if not lost:
        return []
    _wait_until(client, reconcilable_at(client, journal), call_options, len(lost))
    verdicts = _reconcile(
        inventory, folder, journal, lost, resend=resend, call_options=call_options, patient=True
    )
    if verdicts is None:
        _wait_until(client, client.clock.now() + client.reconcile_after_s, call_options, len(lost))
        verdicts = _reconcile(
            inventory, folder, journal, lost, resend=resend, call_options=call_options, patient=False
        )
    return verdicts or []


def _reconcile(
    inventory: Inventory,
    folder: Path,
    journal: Journal,
    lost: Sequence[Entry],
    *,
    resend: bool,
    call_options: CallOptions,
    patient: bool,
) -> list[Verdict] | None:
    """Settle under the lock of the place; None where `patient` and another import should be waited for."""
    client = inventory.client

    def wait() -> None:
        call_options.on_wait(Wait(client.clock.now() + LOCKED_S, "another import that looks up its rows"))
        client.gate.pause(LOCKED_S, call_options)

    with place_lock(folder, journal.target, wait):
        seen = list_inventory(inventory, call_options)
        if seen is None:
            return []
        others = other_imports(folder, journal.target, but=journal.id)
        owned = {e.pet_id for e in journal.entries() if e.pet_id is not None} | others.owned.keys()
        verdicts = find_outcomes(
            lost,
            seen,
            baseline=journal.baseline,
            owned=owned,
            lost_elsewhere=others.lost,
            unreadable=others.unreadable,
            defaults=journal.defaults | others.defaults,
        )
        if patient and any(isinstance(v, Ambiguous) and v.why == LOST_ELSEWHERE for v in verdicts):
            return None
        taken = [v for v in verdicts if resend or not isinstance(v, Absent)]
        journal.settle(taken, now=client.clock.now())
    return verdicts


def reconcilable_at(client: Client, journal: Journal) -> float:
    """Return from when on a look is late enough for every lost row (Unix seconds)."""
    lost = [e.changed_at for e in journal.entries() if e.state == "unknown" and not e.candidates]
    return min(max(lost, default=0.0), client.clock.now()) + client.reconcile_after_s if lost else 0.0


def _wait_until(client: Client, at: float, call_options: CallOptions, rows: int) -> None:
    """Wait, so that what was still under way has arrived."""
    while client.clock.now() < at:
        call_options.on_wait(Wait(at, f"the look for {pluralize(rows, 'row')} whose answer was lost"))
        client.clock.sleep_until(at)
    call_options.on_wait(None)


def reconcile_import(inventory: Inventory, folder: Path, kept: JournalInfo) -> list[Verdict]:
    """
    Settle what an import lost, ambiguous rows included, by one look.

    Raises:
        JournalError: A run of it is under way.
        QuotaError, ApiError, TransportError: The look failed; nothing is settled.
    """
    with open_journal(folder, kept.target, journal_id=kept.id, now=inventory.client.clock.now()) as journal:
        return reconcile_unknown(
            inventory, folder, journal, resend=True, call_options=CallOptions(), again=True
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
    owner = other_imports(folder, journal.target, but=journal.id).owned.get(pet_id)
    if owner is not None:
        raise JournalError(f"id {pet_id} belongs to a row of import {owner} already")
