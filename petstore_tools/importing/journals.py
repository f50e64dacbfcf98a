"""
The journals of a state folder together: what other imports did, which there are, and forgetting
one.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeVar

from petstore_tools.errors import JournalError, SettingsError
from petstore_tools.importing.journal_file import READ_STATE, reading
from petstore_tools.importing.run_lock import Target, place_of, run_lock, was_made
from petstore_tools.importing.values import PetValues

BUSY_S: Final = 2.0  # how long a journal may be locked before it counts as one that cannot be read
T = TypeVar("T")


@dataclass
class OtherImports:
    """
    What other imports to the same place have done.

    Attributes:
        existing: Rows that they created, or may have, by their values.
        unknown: Values of those that they may have created.
        owned: Ids that they created, and the journal of each.
        defaults: Statuses that the service gave to rows that had none.
        unreadable: Journals that cannot be read, by name: what they own is not known.
    """

    existing: Counter[PetValues] = field(default_factory=Counter)
    unknown: set[PetValues] = field(default_factory=set)
    owned: dict[int, str] = field(default_factory=dict)
    defaults: set[str | None] = field(default_factory=set)
    unreadable: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of them."""
        return tuple(
            f"the journal {name} of another import cannot be read, so its animals are not "
            "known. If it is "
            f"damaged for good, remove it: petstore-tools imports forget {name}"
            for name in self.unreadable
        )


def other_imports(folder: Path, target: Target, *, but: str) -> OtherImports:
    """
    Read the journals of other imports to the same place.

    Args:
        folder: Where journals live.
        target: What the import is for.
        but: Name of the journal that is no other.
    """
    others = OtherImports()

    def add(journal_id: str, db: sqlite3.Connection, facts: Mapping[str, str]) -> None:
        if journal_id == but or not place_of(target).items() <= facts.items():
            return
        rows = db.execute(
            "SELECT name, category_id, status, pet_id FROM row"
            " WHERE state IN ('created', 'unknown', 'sending')"
        ).fetchall()
        others.defaults.update(json.loads(facts.get("defaults", "[]")))
        for name, category_id, status, pet_id in rows:
            values = PetValues(name, category_id, status)
            others.existing[values] += 1
            if pet_id is None:
                others.unknown.add(values)
            else:
                others.owned[pet_id] = journal_id

    _, unreadable = _read_each(folder, add)
    others.unreadable = tuple(name for name in unreadable if name != but)
    return others


def _read_each(
    folder: Path, read: Callable[[str, sqlite3.Connection, Mapping[str, str]], T]
) -> tuple[dict[str, T], dict[str, JournalError]]:
    """Read something of every journal; return it by name, and by name why others cannot be read."""
    found: dict[str, T] = {}
    unreadable: dict[str, JournalError] = {}
    for path in sorted(folder.glob("*.db")):
        try:
            with reading(path, busy_s=BUSY_S) as (db, facts):
                found[path.stem] = read(path.stem, db, facts)
        except JournalError as error:
            unreadable[path.stem] = error
    return found, unreadable


def current(folder: Path, target: Target) -> str:
    """
    Return the name of the journal that an import goes on with, "" where it has none.

    That is the last where a file took over the name of another. A sheet may have one under another
    name that it took over (`orphans`), a DataFrame one that 0.1 kept for its name in this folder.

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


def _of_workbook(folder: Path, target: Target) -> list[tuple[str, str]]:
    """Return the names and sheets of the journals of a file."""
    place = {**place_of(target), "path": str(target.path)}
    found, _ = _read_each(folder, lambda _id, _db, facts: facts)
    return [
        (name, facts.get("sheet", ""))
        for name, facts in found.items()
        if place.items() <= facts.items()
    ]


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
    A journal on disk.

    Attributes:
        id: Its name.
        target: What it is for.
        changed_at: Unix seconds of its last change.
        states: Rows by state; `ambiguous` are unknown ones that only a person can decide. Rows with
            problems count as rejected.
        bad_rows: Rows with problems that its file had.
    """

    id: str
    target: Target
    changed_at: float
    states: Counter[str]
    bad_rows: int


def list_journals(folder: Path) -> tuple[list[JournalInfo], dict[str, JournalError]]:
    """
    Return all journals, the last changed first, and by name why others cannot be read.

    A run may go on meanwhile.
    """
    found, unreadable = _read_each(folder, _info)
    return sorted(found.values(), key=lambda journal: -journal.changed_at), unreadable


def _info(journal_id: str, db: sqlite3.Connection, facts: Mapping[str, str]) -> JournalInfo:
    rows = db.execute(
        f"SELECT CASE WHEN candidates != '[]' THEN 'ambiguous' ELSE {READ_STATE} END, count(*)"
        " FROM row GROUP BY 1"
    )
    states = Counter(dict(rows.fetchall()))
    (changed_at,) = db.execute("SELECT max(changed_at) FROM row").fetchone()
    bad_rows = int(facts.get("bad_rows", 0))
    states["rejected"] += bad_rows
    at = max(changed_at or 0.0, float(facts.get("adopted_at", facts["made_at"])))
    target = Target(
        facts["environment"], facts["base_url"], Path(facts["path"]), facts.get("sheet", "")
    )
    return JournalInfo(journal_id, target, at, states, bad_rows)


def find(folder: Path, import_id: str) -> JournalInfo:
    """
    Return the import whose name begins so.

    Raises:
        SettingsError: No import begins so, or several do.
        JournalError: Its journal cannot be read.
    """
    _, found = find_any(folder, import_id)
    if isinstance(found, JournalError):
        raise found
    return found


def find_any(folder: Path, import_id: str) -> tuple[str, JournalInfo | JournalError]:
    """
    Return the import whose name begins so, or why its journal cannot be read.

    Raises:
        SettingsError: No import begins so, or several do.
    """
    found, unreadable = list_journals(folder)
    known: dict[str, JournalInfo | JournalError] = {**unreadable, **{j.id: j for j in found}}
    matching = [name for name in known if name == import_id] or [
        n for n in known if n.startswith(import_id)
    ]
    if len(matching) != 1 or not import_id:  # an unset variable of a shell names none
        what = "several imports begin" if len(matching) > 1 else "no import begins"
        raise SettingsError(f"{what} with {import_id!r}: petstore-tools imports lists them")
    return matching[0], known[matching[0]]


def forget(folder: Path, journal_id: str) -> None:
    """
    Delete a journal, a damaged one too, so that its file counts as new.

    Raises:
        JournalError: A run of it is under way.
    """
    with run_lock(folder, journal_id):
        for path in folder.glob(f"{journal_id}.db*"):
            path.unlink()
    for path in folder.glob(
        f"{journal_id}.lock*"
    ):  # last: until then the journal counts as vanished
        path.unlink()
