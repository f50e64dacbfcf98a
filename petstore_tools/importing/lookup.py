"""Listings of the inventory for an import: its baseline, and what became of its unknown rows."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from petstore_tools.errors import ApiError, JournalError, TransportError
from petstore_tools.http.client import Client
from petstore_tools.importing.journal import Journal, open_journal
from petstore_tools.importing.journals import JournalInfo, other_imports
from petstore_tools.importing.reconcile import LOST_ELSEWHERE, find_outcomes
from petstore_tools.importing.row_states import Entry, Outcome
from petstore_tools.importing.run_lock import place_lock
from petstore_tools.importing.values import PetValues
from petstore_tools.listing.links import ListQuery
from petstore_tools.listing.pages import Inventory
from petstore_tools.text import pluralize
from petstore_tools.throttle.gate import CallOptions
from petstore_tools.throttle.throttle import Wait

Animals = list[tuple[int, PetValues]]  # id and values of each

_log = logging.getLogger(__name__)
LOCKED_S: Final = 0.2  # until a lock that another import holds is tried again


def list_inventory(
    inventory: Inventory, call_options: CallOptions, *, max_requests: int | None = None
) -> Animals | None:
    """
    List the inventory with all three values.

    Args:
        inventory: What is listed.
        call_options: How its calls wait.
        max_requests: Give up after so many.

    Returns:
        Id and values of every animal, None where the listing is not complete.
    """
    pages = inventory.pages(ListQuery(), call_options=call_options)
    animals: Animals = []
    try:
        for page in pages:
            animals += [
                (row["id"], PetValues(row["name"], row["categoryId"], row.get("status")))
                for row in page.rows
            ]
            if max_requests is not None and pages.listing.requests >= max_requests:
                break
    except (ApiError, TransportError):
        if max_requests is None or pages.listing.requests < max_requests:
            raise
    return animals if pages.listing.complete else None


def reconcile_unknown(
    inventory: Inventory,
    folder: Path,
    journal: Journal,
    call_options: CallOptions,
    *,
    ambiguous: bool = False,
) -> list[Outcome]:
    """
    Find out what became of the unknown rows by one listing of the inventory.

    Where another import awaits the answer to an equal row, or has lost it, that import gets as long
    as this one has waited; then it is for a person to decide which row has the animal.

    Args:
        inventory: What is listed.
        folder: Where journals live.
        journal: Open, and ours alone.
        call_options: How its calls wait.
        ambiguous: Include the rows that an earlier listing could not decide.

    Returns:
        What became of each row; nothing where no row is unknown or the listing is not complete.
    """
    client = inventory.client
    unknown = [
        e for e in journal.entries() if e.state == "unknown" and (ambiguous or not e.candidates)
    ]
    outcomes: list[tuple[Entry, Outcome]] = []
    starts_at = reconcilable_at(client, unknown)
    for is_last in (False, True) if unknown else ():
        _wait_until(client, starts_at, call_options, len(unknown))
        with place_lock(folder, journal.target, lambda: _wait_for_lock(client, call_options)):
            animals = list_inventory(inventory, call_options)
            if animals is None:
                return []
            others = other_imports(folder, journal.target, but=journal.id)
            owned = {
                e.pet_id for e in journal.entries() if e.pet_id is not None
            } | others.owned.keys()
            outcomes = find_outcomes(
                unknown,
                animals,
                baseline=journal.baseline,
                owned=owned,
                lost_elsewhere=others.unknown,
                unreadable=others.unreadable,
                defaults=journal.defaults | others.defaults,
            )
            if is_last or all(outcome.detail != LOST_ELSEWHERE for _, outcome in outcomes):
                journal.transition(outcomes, now=client.clock.now())
                became = Counter(outcome.state for _, outcome in outcomes)
                counts = ", ".join(f"{count:,} {state}" for state, count in sorted(became.items()))
                _log.info(
                    "Reconciled %s by a listing: %s.",
                    pluralize(len(unknown), "unknown row"),
                    counts,
                )
                break
        starts_at = client.clock.now() + client.reconcile_after_s
    return [outcome for _, outcome in outcomes]


def reconcilable_at(client: Client, entries: Iterable[Entry]) -> float:
    """Return from when on a listing is late enough for every unknown row (Unix seconds)."""
    lost = [e.changed_at for e in entries if e.state == "unknown" and not e.candidates]
    return min(max(lost), client.clock.now()) + client.reconcile_after_s if lost else 0.0


def _wait_until(client: Client, at: float, call_options: CallOptions, rows: int) -> None:
    """Wait, so that what was still under way has arrived."""
    why = f"a listing that shows what became of {pluralize(rows, 'row')} whose answer was lost"
    if client.clock.now() < at:
        client.gate.log_wait(Wait(at, why))
    while client.clock.now() < at:
        call_options.on_wait(Wait(at, why))
        client.clock.sleep_until(at)
    call_options.on_wait(None)


def _wait_for_lock(client: Client, call_options: CallOptions) -> None:
    call_options.on_wait(
        Wait(client.clock.now() + LOCKED_S, "another import that reconciles its rows")
    )
    client.gate.pause(LOCKED_S, call_options)


def reconcile_import(inventory: Inventory, folder: Path, info: JournalInfo) -> list[Outcome]:
    """
    Reconcile the unknown rows of an import, ambiguous ones included, by one listing.

    Raises:
        JournalError: A run of it is under way.
        QuotaError, ApiError, TransportError: The listing failed; nothing has changed.
    """
    with open_journal(
        folder, info.target, journal_id=info.id, now=inventory.client.clock.now()
    ) as journal:
        return reconcile_unknown(inventory, folder, journal, CallOptions(), ambiguous=True)


def decide(client: Client, folder: Path, info: JournalInfo, row: int, pet_id: int | None) -> None:
    """
    Record what a person says became of an unknown row.

    Args:
        client: Tells the time.
        folder: Where journals live.
        info: The import.
        row: As the spreadsheet counts.
        pet_id: Id of its animal, None where it has none.

    Raises:
        JournalError: A run of it is under way, or the row is not unknown, or the id is another
            row's.
    """
    now = client.clock.now()
    place = place_lock(folder, info.target, lambda: client.gate.pause(LOCKED_S))
    with open_journal(folder, info.target, journal_id=info.id, now=now) as journal, place:
        entries = journal.entries()
        unknown = [entry for entry in entries if entry.number == row and entry.state == "unknown"]
        unknown = [entry for entry in unknown if entry.wanted] or unknown
        if len(unknown) > 1:
            raise JournalError(
                f"{len(unknown)} unknown rows of import {info.id} have the number {row}: "
                + ", ".join(str(entry.content) for entry in unknown)
                + ". Run the import once with the file that holds the row you mean, then decide"
            )
        if not unknown:
            raise JournalError(
                f"row {row} of import {info.id} is not unknown: there is nothing to decide"
            )
        if pet_id is None:
            outcome = Outcome("unsent")
        else:
            owners = {e.pet_id: f"row {e.number}" for e in entries if e.pet_id is not None}
            others = other_imports(folder, journal.target, but=journal.id).owned
            owners |= {
                owned: f"a row of import {journal_id}" for owned, journal_id in others.items()
            }
            if pet_id in owners:
                raise JournalError(f"id {pet_id} belongs to {owners[pet_id]} already")
            outcome = Outcome("created", pet_id, "decided by a person")
        journal.transition([(unknown[0], outcome)], now=now)
