"""
Lost rows, whose answer never came: what a listing of the inventory, or a person, says
became of them.
"""

import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from petstore_tools.errors import JournalError
from petstore_tools.importing.entries import Entry
from petstore_tools.importing.imports import import_lock
from petstore_tools.importing.journal import Journal
from petstore_tools.importing.reconcile import ABSENT, Animal, Outcome, decide
from petstore_tools.importing.values import PetValues
from petstore_tools.listing.completeness import Listing, ListQuery
from petstore_tools.listing.inventory import Inventory
from petstore_tools.listing.pages import PageReader
from petstore_tools.models import PetRow
from petstore_tools.text import pluralize
from petstore_tools.throttle.gate import CallOptions

# seconds since a row was lost; the steady clock begins anew when the machine starts,
# then at least as long has passed as it shows
_WAITED = "iif(:steady >= lost_at, :steady - lost_at, :steady)"
# unknown rows, and created ones whose animal is not known; one waits while a row of its
# name and category is on its way, or was lost too late
NAMELESS = "state = 'created' AND ifnull(pet_id, listed_id) IS NULL"
_LOST = f"""
(state = 'unknown' OR {NAMELESS})
AND (name, category_id) NOT IN (
    SELECT name, category_id FROM row
    WHERE state = 'sending' OR state = 'unknown' AND {_WAITED} < :after_s
)
"""
_ANIMALS = """
SELECT id, name, category_id, status, listing FROM temp.animal
JOIN shown ON pet_id = id
WHERE NOT EXISTS (SELECT 1 FROM row WHERE pet_id = id OR listed_id = id)
AND category_id IN (
    SELECT category_id FROM row
    WHERE state IN ('unknown', 'created') AND pet_id IS NULL
)
"""
# animals whose 201 came not long ago, and that no listing showed: it lags behind; of
# those before a start of the machine only the time of day tells
_NOT_SHOWN = """
SELECT count(*) FROM row WHERE state = 'created'
AND iif(:steady >= lost_at, :steady - lost_at, :now - changed_at) < :lag_s
AND pet_id NOT IN (SELECT pet_id FROM shown)
"""
# by a person: that it is an animal; that it is none, or another one than it seemed
_UNDECIDED = """
import = :id AND number = :number AND (
    state = 'unknown' OR :pet_id IS NULL AND present AND (
        state = 'skipped' OR edited IS NOT NULL OR detail LIKE 'equal:%'
    )
)
"""
# whatever equals it, a person said that this row is another one
_AGREE = "UPDATE row SET answered = 1 WHERE entry_id = ?"
# seconds after which an animal that no listing shows may have left the shop
LONGEST_LAG_S = 3_600.0
LOST = "the run ended before the answer came"


def mark_lost(journal: Journal, import_id: str) -> None:
    """Call rows of an import unknown whose answer nobody awaits any more."""
    condition = "import = :import_id AND state = 'sending'"
    with journal.transaction():
        for entry in journal.read(condition, import_id=import_id):
            journal.write_outcome(entry, Outcome("unknown", detail=LOST))


def mark_dead(journal: Journal) -> None:
    """Call rows unknown that were on their way when their process ended."""
    sending = "SELECT DISTINCT import FROM row WHERE state = 'sending'"
    for (import_id,) in journal.select(sending):
        with suppress(JournalError), import_lock(journal.folder, import_id, wait_s=0):
            mark_lost(journal, import_id)


def seconds_lost(journal: Journal) -> list[float]:
    """
    Return the seconds since each row of an import was lost that a listing can settle.
    """
    seconds = f"""
    SELECT {_WAITED} FROM row WHERE import = :id AND state = 'unknown' AND may_be = ''
    """
    steady = journal.clock.steady()
    return [row[0] for row in journal.select(seconds, steady=steady)]


def take_inventory(
    inventory: Inventory, journal: Journal, call_options: CallOptions
) -> Listing:
    """List the inventory into the journal, which it settles nothing in."""
    reader = PageReader(inventory.client, inventory.memory, ListQuery(), call_options)
    take_listing(journal, (page.rows for page in reader))
    return reader.listing


class Settled(NamedTuple):
    """
    What listings of the inventory showed of lost rows.

    Attributes:
        listing: The last one; where it is not complete, it decided nothing.
        listings: How many there were.
        lacking: Animals whose 201 came within the last hour, and that no listing
            showed: where there are such, it lags, and proves no row absent.
    """

    listing: Listing
    listings: int
    lacking: int

    @property
    def lag(self) -> str:
        """Why a complete listing does not decide on all lost rows."""
        animals = pluralize(self.lacking, "animal")
        return (
            f"the listing lacks {animals} that were created within the last hour, so"
            " it shows later what became of the unknown rows: run the same call again"
            " then"
        )


def settle(
    inventory: Inventory, journal: Journal, call_options: CallOptions
) -> Settled:
    """
    List the inventory into the journal and find out what became of lost rows; where
    rows are absent, a second time.
    """
    client = inventory.client
    for number in (1, 2):
        began = client.clock.steady()
        listing = take_inventory(inventory, journal, call_options)
        if not listing.complete:
            return Settled(listing, number, 0)
        outcomes, lacking = reconcile(
            journal, began=began, after_s=client.reconcile_after_s
        )
        if ABSENT not in outcomes.values():
            break
    return Settled(listing, number, lacking)


def take_listing(journal: Journal, pages: Iterable[Iterable[PetRow]]) -> None:
    """Take the animals of a listing in place of those of the one before."""
    add = "INSERT OR REPLACE INTO temp.animal VALUES (:id, :name, :categoryId, :status)"
    with journal.transaction() as db:
        db.execute("DELETE FROM temp.animal")
    for page in pages:
        with journal.transaction() as db:
            db.executemany(add, ({"status": None, **row} for row in page))


def reconcile(
    journal: Journal, *, began: float, after_s: float
) -> tuple[dict[int, Outcome], int]:
    """
    Keep what the listing showed, a complete one, and find out what became of the lost
    rows of the place.

    Args:
        journal: Of any import to the place; it has taken the listing.
        began: Seconds of the steady clock when it began.
        after_s: It must have begun so long after a row was lost.

    Returns:
        The outcomes by key; `unknown` without candidates are the rows that are absent
        for the first time. And how many animals no complete listing showed, although
        their 201 came within the hour before this one began.
    """
    lag_s = max(LONGEST_LAG_S, after_s)
    now = journal.clock.now()
    with journal.transaction() as db:
        number = db.execute("INSERT INTO listing DEFAULT VALUES").lastrowid
        db.execute(
            "INSERT OR IGNORE INTO shown SELECT id, ? FROM temp.animal", (number,)
        )
        rows = journal.read(_LOST, steady=began, after_s=after_s)
        animals = [
            Animal(pet_id, PetValues(*content), since)
            for pet_id, *content, since in journal.select(_ANIMALS)
        ]
        ((lacking,),) = journal.select(_NOT_SHOWN, steady=began, now=now, lag_s=lag_s)
        outcomes = decide(rows, animals, lags=lacking > 0)
        for row in rows:
            if outcome := outcomes.get(row.entry_id):
                journal.write_outcome(row, outcome, by_listing=True)
    return outcomes, lacking


def find_undecided(journal: Journal, number: int, pet_id: int | None) -> Entry:
    """
    Return the row that a person decides on, with the arguments of `record_decision`.

    Raises:
        JournalError: There is none, or there are several.
    """
    rows = journal.read(_UNDECIDED, number=number, pet_id=pet_id)
    rows = [row for row in rows if row.present] or rows
    if len(rows) != 1:
        reason = "stands for several rows" if rows else "is not to be decided"
        raise JournalError(
            f"row {number} of import {journal.id} {reason}: nothing was changed"
        )
    return rows[0]


def record_decision(journal: Journal, number: int, pet_id: int | None) -> None:
    """
    Record what a person says became of an unknown row, or that one is sent that was
    left out, or taken for another row.

    Args:
        journal: Of its import.
        number: As the spreadsheet counts.
        pet_id: Id of its animal, None where it has none.

    Raises:
        JournalError: Nothing is to be decided, or the animal is another row's.
    """
    outcome = Outcome(
        "unsent" if pet_id is None else "created", pet_id, "decided by a person"
    )
    with journal.transaction() as db:
        row = find_undecided(journal, number, pet_id)
        if row.state not in ("unknown", "skipped"):
            journal.part_edit(row)
            return
        try:
            journal.write_outcome(row, outcome, by_listing=True)
            db.execute(_AGREE, (row.entry_id,))
        except sqlite3.IntegrityError as error:
            owner = journal.read("pet_id = :pet_id", pet_id=pet_id)[0]
            raise JournalError(f"this animal is {owner} already") from error
