"""What really exists in a sandbox, and a store that reaches it through a proxy."""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path

from proxy import FaultProxy

from petstore_tools import PetStore, Sandbox

Animals = Counter[tuple[str, int, str | None]]


def existing(box: Sandbox) -> Animals:
    """Read the service's own database: how many animals there are of each name, category and status."""
    db = sqlite3.connect(box.state_dir.parent / "service.db")
    found = Counter(db.execute("SELECT name, category_id, status FROM pet").fetchall())
    db.close()
    return found


def existing_names(box: Sandbox) -> Counter[str]:
    """Count the animals by their names alone."""
    return Counter(name for name, _, _ in existing(box).elements())


def through(box: Sandbox, proxy: FaultProxy, *, state: Path | None = None) -> PetStore:
    """Return a store that reaches the sandbox through a proxy, from another machine if `state` is given."""
    return box.connect(base_url=proxy.base_url, **({} if state is None else {"state_dir": state}))
