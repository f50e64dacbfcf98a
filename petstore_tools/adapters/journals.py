"""The journals of a state folder together: what other imports did, which there are, and forgetting one."""

from __future__ import annotations

import sqlite3
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from petstore_tools import sqlite
from petstore_tools.adapters.journal import Target, about, damaged, open_journal
from petstore_tools.core.rows import Content
from petstore_tools.errors import JournalError


@dataclass(frozen=True)
class Elsewhere:
    """
    What other imports to the same place have done.

    Attributes:
        standing: Rows that they created, or may have, by their values.
        lost: Values of those that they may have created.
        owned: Ids that they created.
    """

    standing: Counter[Content]
    lost: frozenset[Content]
    owned: frozenset[int]


def elsewhere(folder: Path, target: Target, *, but: str) -> Elsewhere:
    """Read the journals of other imports to the same target."""
    standing: Counter[Content] = Counter()
    lost: set[Content] = set()
    owned: set[int] = set()
    for path in folder.glob("*.db"):
        if path.stem == but:
            continue
        db = sqlite3.connect(path, timeout=sqlite.BUSY_S)
        try:
            if not about(target).items() <= dict(db.execute("SELECT name, value FROM about")).items():
                continue
            for *content, pet_id in db.execute(
                "SELECT name, category_id, status, pet_id FROM row"
                " WHERE state IN ('created', 'unknown', 'sending')"
            ):
                name, category_id, status = content
                standing[name, category_id, status] += 1
                if pet_id is None:
                    lost.add((name, category_id, status))
                else:
                    owned.add(pet_id)
        except sqlite3.Error as error:
            raise JournalError(
                f"the journal {path.name} of another import cannot be read ({error}), so it cannot be told "
                "what that import created; nothing was sent. Put the file back as it was, or move it away"
            ) from error
        finally:
            db.close()
    return Elsewhere(standing, frozenset(lost), frozenset(owned))


@dataclass(frozen=True)
class Kept:
    """
    A journal that is kept.

    Attributes:
        id: Its name.
        target: What it is for.
        changed_at: Unix seconds of its last change.
        states: Rows by state; `ambiguous` are unknown ones that a look could not settle.
    """

    id: str
    target: Target
    changed_at: float
    states: Counter[str]


def kept(folder: Path) -> list[Kept]:
    """
    Return all journals, the last changed first; a run may go on meanwhile.

    Raises:
        JournalError: One cannot be read.
    """
    found = []
    for path in folder.glob("*.db"):
        db = sqlite3.connect(path, timeout=sqlite.BUSY_S)
        try:
            facts = dict(db.execute("SELECT name, value FROM about"))
            rows = db.execute(
                "SELECT CASE WHEN candidates != '[]' THEN 'ambiguous' ELSE state END, count(*)"
                " FROM row GROUP BY 1"
            )
            states = Counter(dict(rows.fetchall()))
            (changed_at,) = db.execute("SELECT ifnull(max(changed_at), 0) FROM row").fetchone()
        except sqlite3.Error as error:
            raise JournalError(damaged(path.stem, str(error))) from error
        finally:
            db.close()
        target = Target(facts["environment"], facts["base_url"], Path(facts["path"]))
        found.append(Kept(path.stem, target, changed_at, states))
    return sorted(found, key=lambda journal: -journal.changed_at)


def forget(folder: Path, target: Target, journal_id: str, *, now: float) -> None:
    """
    Delete a journal, so that its file counts as new.

    Raises:
        JournalError: A run of it is under way.
    """
    with open_journal(folder, target, journal_id=journal_id, now=now) as journal:
        journal.close()
        for path in folder.glob(f"{journal_id}.db*"):
            path.unlink()
    for path in folder.glob(f"{journal_id}.lock*"):  # last: until then the journal counts as vanished
        path.unlink()
