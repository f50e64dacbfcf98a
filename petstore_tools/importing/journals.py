"""The journals of a state folder together: what other imports did, which there are, and forgetting one."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from petstore_tools import sqlite
from petstore_tools.errors import JournalError
from petstore_tools.importing.journal_file import READ_STATE, damaged
from petstore_tools.importing.rows import PetValues
from petstore_tools.importing.run_lock import Target, about, run_lock, was_made

BUSY_S: Final = 2.0  # how long a journal may be locked before it counts as one that cannot be read


@dataclass(frozen=True)
class OtherImports:
    """
    What other imports to the same place have done.

    Attributes:
        existing: Rows that they created, or may have, by their values; those of siblings apart.
        of_siblings: Likewise, of other sheets of the workbook that are imported with this one.
        lost: Values of those that they may have created.
        owned: Ids that they created, and the journal of each.
        defaults: Statuses that the service gave to rows that had none.
        unreadable: Journals that cannot be read, by name: what they own cannot be told.
    """

    existing: Counter[PetValues]
    of_siblings: Counter[PetValues]
    lost: frozenset[PetValues]
    owned: Mapping[int, str]
    defaults: frozenset[str | None]
    unreadable: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of them."""
        return tuple(
            f"the journal {name} of another import cannot be read, so its animals are not known; if it is "
            f"damaged for good: petstore-tools imports forget {name}"
            for name in self.unreadable
        )


def other_imports(folder: Path, target: Target, *, but: str, siblings: Collection[str] = ()) -> OtherImports:
    """
    Read the journals of other imports to the same target.

    Args:
        folder: Where journals live.
        target: What the import is for.
        but: Name of the journal that is no other.
        siblings: Those of other sheets of the workbook that are imported with it.
    """
    existing: Counter[PetValues] = Counter()
    of_siblings: Counter[PetValues] = Counter()
    lost: set[PetValues] = set()
    owned: dict[int, str] = {}
    defaults: set[str | None] = set()
    unreadable: list[str] = []
    for path in sorted(folder.glob("*.db")):
        if path.stem == but:
            continue
        try:
            with _reading(path) as (db, facts):
                if not about(target).items() <= facts.items():
                    continue
                defaults.update(json.loads(facts.get("defaults", "[]")))
                for *content, pet_id in db.execute(
                    "SELECT name, category_id, status, pet_id FROM row"
                    " WHERE state IN ('created', 'unknown', 'sending')"
                ):
                    name, category_id, status = content
                    (of_siblings if path.stem in siblings else existing)[name, category_id, status] += 1
                    if pet_id is None:
                        lost.add((name, category_id, status))
                    else:
                        owned[pet_id] = path.stem
        except JournalError:
            unreadable.append(path.stem)
    return OtherImports(existing, of_siblings, frozenset(lost), owned, frozenset(defaults), tuple(unreadable))


def current(folder: Path, target: Target) -> str:
    """
    Return the name of the journal that an import goes on with, "" where it has none.

    That is the last where a file took over the name of another. A sheet may have one under another name that
    it took over (`orphans`), a DataFrame one that 0.1 kept for its name in this folder.

    Args:
        folder: Where journals live.
        target: What the import is for.
    """
    if found := _last(folder, target.id):
        return found
    if not target.sheet:
        return _last(folder, replace(target, path=target.path.resolve()).id)
    return next((name for name, sheet in _of_workbook(folder, target) if sheet == target.sheet), "")


def orphans(folder: Path, target: Target, sheets: Collection[str]) -> list[str]:
    """
    Return the journals of a workbook that bear no sheet (version 0.1), or one that it has no more.

    Args:
        folder: Where journals live.
        target: What the import of one of its sheets is for.
        sheets: All sheets of the workbook.
    """
    found = [name for name, sheet in _of_workbook(folder, target) if sheet not in sheets]
    # a journal of 0.1 that is gone is named, too: opening it is refused
    vanished = _last(folder, replace(target, sheet="").id)
    return found + [name for name in [vanished] if name and not (folder / f"{name}.db").exists()]


def _of_workbook(folder: Path, target: Target) -> Iterator[tuple[str, str]]:
    """Yield the names and sheets of the journals of a file."""
    place = {**about(target), "path": str(target.path)}
    for path in sorted(folder.glob("*.db")):
        try:
            with _reading(path) as (_, facts):
                if place.items() <= facts.items():
                    yield path.stem, facts.get("sheet", "")
        except JournalError:
            continue


def _last(folder: Path, journal_id: str) -> str:
    """Return the newest journal that was made under a name, "" where there is none."""
    found = [
        path.stem
        for path in folder.glob(f"{journal_id}*.lock")
        if path.stem[12:13] in ("", "-") and (was_made(path) or path.with_suffix(".db").exists())
    ]
    return max(found, key=_number, default="")


def _number(journal_id: str) -> int:
    return int(journal_id.partition("-")[2] or 1)


def following(journal_id: str, target: Target) -> str:
    """Return the name of the journal for a file that took over the name of another."""
    own, _, _ = journal_id.partition("-")
    return f"{target.id}-{_number(journal_id) + 1}" if own == target.id else target.id


@dataclass(frozen=True)
class JournalInfo:
    """
    A journal that is kept.

    Attributes:
        id: Its name.
        target: What it is for.
        changed_at: Unix seconds of its last change.
        states: Rows by state; `ambiguous` are unknown ones that a look could not settle. Rows with problems
            count as rejected.
        bad_rows: Rows with problems that its file had.
        reading: How its source is read, by option.
    """

    id: str
    target: Target
    changed_at: float
    states: Counter[str]
    bad_rows: int
    reading: Mapping[str, Any]


def list_journals(folder: Path) -> tuple[list[JournalInfo], dict[str, JournalError]]:
    """
    Return all journals, the last changed first, and by name why others cannot be read.

    A run may go on meanwhile.
    """
    found: list[JournalInfo] = []
    unreadable: dict[str, JournalError] = {}
    for path in folder.glob("*.db"):
        try:
            found.append(_kept(path))
        except JournalError as error:
            unreadable[path.stem] = error
    return sorted(found, key=lambda journal: -journal.changed_at), unreadable


def _kept(path: Path) -> JournalInfo:
    with _reading(path) as (db, told):
        rows = db.execute(
            f"SELECT CASE WHEN candidates != '[]' THEN 'ambiguous' ELSE {READ_STATE} END, count(*)"
            " FROM row GROUP BY 1"
        )
        states = Counter(dict(rows.fetchall()))
        (changed_at,) = db.execute("SELECT max(changed_at) FROM row").fetchone()
    bad_rows = int(told.get("bad_rows", 0))
    states["rejected"] += bad_rows
    at = max(changed_at or 0.0, float(told.get("adopted_at", told["made_at"])))
    target = Target(told["environment"], told["base_url"], Path(told["path"]), told.get("sheet", ""))
    return JournalInfo(path.stem, target, at, states, bad_rows, json.loads(told.get("reading", "{}")))


@contextmanager
def _reading(path: Path) -> Iterator[tuple[sqlite3.Connection, dict[str, str]]]:
    """
    Open a journal for reading, with what it says about itself.

    Raises:
        JournalError: It is empty, damaged, locked, or no journal.
    """
    try:
        db = sqlite.read(path, busy_s=BUSY_S)
        try:
            yield db, dict(db.execute("SELECT name, value FROM about").fetchall())
        finally:
            db.close()
    except (sqlite3.Error, KeyError, ValueError, TypeError) as error:
        raise JournalError(damaged(path.stem, str(error))) from error


def forget(folder: Path, journal_id: str) -> None:
    """
    Delete a journal, a damaged one too, so that its file counts as new.

    Raises:
        JournalError: A run of it is under way.
    """
    with run_lock(folder, journal_id):
        for path in folder.glob(f"{journal_id}.db*"):
            path.unlink()
    for path in folder.glob(f"{journal_id}.lock*"):  # last: until then the journal counts as vanished
        path.unlink()
