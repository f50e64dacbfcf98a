"""
Files to import, what really exists in a sandbox, listings of animals that a test names,
and stores that reach it through a proxy.
"""

import sqlite3
from collections import Counter
from dataclasses import replace

from proxy import FaultProxy

from petstore_tools import Listing, spec
from petstore_tools.listing.frames import PetColumns
from petstore_tools.sandbox.faults import Fault

Animals = Counter[tuple[str, int, str | None]]
ROWS = 60  # of the file that most tests of imports send


def stored_animals(sandbox):
    """
    Read the service's own database: how many animals there are of each name, category
    and status.
    """
    database = sqlite3.connect(sandbox.state_dir.parent / "service.db")
    animals = Counter(
        database.execute("SELECT name, category_id, status FROM pet").fetchall()
    )
    database.close()
    return animals


def write_rows(path, *rows, header="name,categoryId,status"):
    """Write a file as it stands: one animal a row, such as `Rex,3,sold`."""
    path.write_text("\n".join([header, *rows, ""]), "utf-8")
    return path


def listed_pet(row):
    """Return an animal (id, name, categoryId, status) as a page has it."""
    return dict(zip(spec.PET_FIELDS, row, strict=True))


def listing_frame(rows, ended_at=1.0, **changes):
    """
    Return a complete listing of animals (id, name, categoryId, status) that ended at a
    time.
    """
    columns = PetColumns()
    columns.add([*map(listed_pet, rows)])
    listing = Listing(
        "complete", "said so", None, 0, "", 3, ended_at - 1, ended_at, "sandbox"
    )
    return columns.to_frame(replace(listing, **changes))


def connect_through(sandbox, proxy, **settings):
    """Return a store that reaches the sandbox through a proxy."""
    return sandbox.connect(base_url=proxy.base_url, **settings)


def faulty_creates(sandbox, fate):
    """Return a proxy that does something to each create, by its number."""
    return FaultProxy(
        sandbox.base_url, lambda method, n: fate(n) if method == "POST" else "pass"
    )


def repeat(text):
    """Return `Rex,3,sold` as one row, and `2*Rex,3,sold` as two."""
    count, _, row = text.rpartition("*")
    return [row] * int(count or 1)


def read_rows(text):
    """Return each row of a step."""
    return [row for words in text.split(" | ") for row in repeat(words)]


def befall(box, verb, text):
    """Let time pass, or do to the service what staff, other programs and faults do."""
    if verb == "wait":
        box.advance(minutes=int(text))
    elif verb == "staff_removes":
        box.remove(int(text))
    elif verb == "staff":
        box.change(1, status=text)
    elif verb == "fault":
        kind, method, number = text.split()
        box.faults.append(Fault(kind, method, numbers=(int(number),)))
    else:
        animals = [row.split(",") for row in read_rows(text)]
        box.add((name, int(number), status or None) for name, number, status in animals)
