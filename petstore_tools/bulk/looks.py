"""Looks at the inventory for an import: what stands before it, and what became of its lost rows."""

from __future__ import annotations

import random
from http import HTTPStatus
from typing import Final

from petstore_tools import spec
from petstore_tools.adapters.journal import Journal
from petstore_tools.adapters.journals import Elsewhere
from petstore_tools.admission import Manner
from petstore_tools.client import Client
from petstore_tools.core import retry
from petstore_tools.core.rows import Content
from petstore_tools.core.settle import Absent, Verdict, settle
from petstore_tools.core.throttle import Wait
from petstore_tools.errors import TransportError
from petstore_tools.words import counted

Seen = list[tuple[int, Content]]  # id and values of each animal

PROBES: Final = 5


def look(client: Client, manner: Manner, *, most: int | None = None) -> Seen | None:
    """
    List the inventory with all three values.

    Args:
        client: One key at one service.
        manner: How it waits.
        most: Give up after so many requests.

    Returns:
        Id and values of every animal, None where the listing is not complete.
    """
    listed = client.pages(manner=manner)
    seen: Seen = []
    for page in listed:
        seen += [(row["id"], (row["name"], row["categoryId"], row.get("status"))) for row in page.rows]
        if page.number == most:
            break
    return seen if listed.listing.complete else None


def is_well(client: Client, manner: Manner) -> bool:
    """Ask a service that was sick for one animal, under backoff; say whether it answers as it should."""
    chance = random.Random()
    url = f"{client.base_url}{spec.PETS_PATH}?limit=1"
    for probe in range(1, PROBES + 1):
        client.admission.pause(retry.backoff_s(probe, chance), manner)
        try:
            if client.attempt("GET", url, manner=manner).status == HTTPStatus.OK:
                return True
        except TransportError:
            continue
    return False


def settle_lost(
    client: Client, journal: Journal, others: Elsewhere, *, resend: bool, manner: Manner, again: bool = False
) -> list[Verdict]:
    """
    Settle the rows whose answer was lost by one look at the inventory.

    Args:
        client: One key at one service.
        journal: Open, and ours alone.
        others: What other imports to the same place did.
        resend: Rows that do not stand are pending again; else they stay unknown.
        manner: How it waits.
        again: Look also for those that an earlier look could not settle.

    Returns:
        The verdicts; none where there was nothing to settle or the listing was not complete.
    """
    entries = journal.entries()
    lost = [e for e in entries if e.state == "unknown" and (again or not e.candidates)]
    if not lost:
        return []
    _wait_until(client, settles_at(client, journal), manner, len(lost))
    seen = look(client, manner)
    if seen is None:
        return []
    owned = {e.pet_id for e in entries if e.pet_id is not None} | others.owned
    verdicts = settle(lost, seen, baseline=journal.baseline, owned=owned, lost_elsewhere=others.lost)
    taken = [v for v in verdicts if resend or not isinstance(v, Absent)]
    journal.settle(taken, now=client.clock.now())
    return verdicts


def settles_at(client: Client, journal: Journal) -> float:
    """Return from when on a look is late enough for every lost row (Unix seconds)."""
    lost = [e.changed_at for e in journal.entries() if e.state == "unknown" and not e.candidates]
    return max(lost, default=0.0) + client.settle_after_s


def _wait_until(client: Client, at: float, manner: Manner, rows: int) -> None:
    """Wait, so that what was still under way has arrived."""
    while client.clock.now() < at:
        manner.on_wait(Wait(at, f"the look for {counted(rows, 'row')} whose answer was lost"))
        client.clock.sleep_until(at)
    manner.on_wait(None)
