"""The journal of an import on disk: what was intended is durable before it is done."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, assert_never

from petstore_tools import sqlite
from petstore_tools.errors import JournalError
from petstore_tools.importing.journal_file import READ_STATE, STORED_UNSENT, stored
from petstore_tools.importing.journal_file import make as _make
from petstore_tools.importing.journal_file import open_file as _open
from petstore_tools.importing.matching import Merge
from petstore_tools.importing.reconcile import Absent, Ambiguous, Found, Verdict
from petstore_tools.importing.row_states import LOST_REASON, TRANSITIONS, Entry, State
from petstore_tools.importing.run_lock import Target, run_lock

_NOTHING: Final[Mapping[str, str]] = {}


class Journal:
    """
    The rows of one import and their states; open it with `open_journal`.

    Threads may share it. States change only as `row_states.TRANSITIONS` allows. The file is made when
    the first rows are added: an import that was refused leaves none.
    """

    def __init__(
        self,
        journal_id: str,
        target: Target,
        connection: sqlite3.Connection | None,
        make: Callable[[float], sqlite3.Connection] | None = None,
    ) -> None:
        self.id, self.target = journal_id, target
        self._db, self._make = connection, make
        self._lock = threading.Lock()
        self._defaults: frozenset[str | None] | None = None

    @property
    def made(self) -> bool:
        """Whether there is a file."""
        return self._db is not None

    def entries(self, *, wanted: int = 0) -> list[Entry]:
        """Return all rows, or those that are `wanted` (see Entry), by their place in the sheet."""
        if not self.made:
            return []
        with self._using() as db:
            facts = db.execute("SELECT name, value FROM about WHERE name LIKE 'titles:%'")
            titles = {name.partition(":")[2]: tuple(json.loads(value)) for name, value in facts}
            rows = db.execute(
                f"SELECT name, category_id, status, occurrence, number, {READ_STATE}, cells, pet_id, detail,"
                " changed_at, candidates, wanted FROM row WHERE wanted >= ? ORDER BY number, occurrence",
                (wanted,),
            )
            return [
                Entry(
                    (name, category_id, status),
                    occurrence,
                    number,
                    state,
                    typed,
                    pet_id,
                    detail,
                    changed_at,
                    tuple(json.loads(candidates)),
                    titles.get(titles_name, ()),
                    wanted,
                    origin,
                )
                for name, category_id, status, occurrence, number, state, cells, pet_id, detail, changed_at, (
                    candidates
                ), wanted in rows
                for titles_name, typed, origin in [_unpacked(cells)]
            ]

    def states(self) -> Counter[str]:
        """Count the rows that the file of this run holds, by state."""
        with self._using() as db:
            return Counter(
                dict(db.execute(f"SELECT {READ_STATE}, count(*) FROM row WHERE wanted = 2 GROUP BY 1"))
            )

    def add_rows(
        self,
        merged: Merge,
        *,
        now: float,
        titles: Sequence[str] = (),
        about: Mapping[str, str] = _NOTHING,
        partial: bool = False,
        send_skipped: bool = False,
    ) -> None:
        """
        Take in a file: new rows are unsent, rejected ones unsent again, places brought up to date.

        Args:
            merged: What it adds.
            now: Unix seconds.
            titles: Those of its cells; each row keeps the ones under which it was read last.
            about: Facts to keep of this run: how the file is read, and what was left out of it.
            partial: It is a rejects file: the rows of the file before stay as they are.
            send_skipped: Rows that an earlier run left out are unsent, too.
        """
        self._begin(now)
        text = json.dumps(titles)
        name = hashlib.sha256(text.encode()).hexdigest()[:8]
        facts = {**about, f"titles:{name}": text, "adopted_at": str(now)}
        known = [
            (row.number, _packed(name, row.cells, row.number if partial else entry.origin), *_identity(entry))
            for entry, row in merged.known
        ]
        new = [
            (
                *row.content,
                occurrence,
                row.number,
                _packed(name, row.cells, row.number if partial else None),
                now,
                state,
            )
            for state, rows in ((STORED_UNSENT, merged.new), ("skipped", merged.skipped))
            for row, occurrence in rows
        ]
        again = ["rejected", *(["skipped"] if send_skipped else [])]
        with self._using() as connection, sqlite.transaction(connection) as db:
            db.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", facts.items())
            if partial:
                db.execute("UPDATE row SET wanted = 1 WHERE wanted = 2")
            else:
                db.execute("DELETE FROM row WHERE wanted = 0 AND state IN ('pending', 'rejected', 'skipped')")
                db.execute("UPDATE row SET wanted = 0")
            db.executemany(f"UPDATE row SET wanted = 2, number = ?, cells = ? WHERE {_IS}", known)
            db.executemany(
                "INSERT INTO row"
                " (name, category_id, status, occurrence, number, cells, changed_at, state, wanted)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 2)",
                new,
            )
            db.executemany(
                "UPDATE row SET state = 'pending', detail = '', changed_at = ?"
                " WHERE state = ? AND wanted = 2",
                [(now, state) for state in again],
            )

    def transition(
        self,
        entry: Entry,
        state: State,
        *,
        now: float,
        pet_id: int | None = None,
        detail: str = "",
        candidates: Sequence[int] = (),
    ) -> None:
        """
        Set a row's state, durably before it returns.

        Raises:
            JournalError: The row is in no state that leads there, or the file cannot be written.
        """
        before = [stored(old) for old, following in TRANSITIONS.items() if state in following]
        marks = ", ".join("?" for _ in before)
        with self._using() as db:
            changed = db.execute(
                "UPDATE row SET state = ?, pet_id = ?, detail = ?, changed_at = ?, candidates = ?"
                f" WHERE {_IS} AND state IN ({marks})",
                (stored(state), pet_id, detail, now, json.dumps(candidates), *_identity(entry), *before),
            )
        if changed.rowcount != 1:
            raise JournalError(f"row {entry.number} cannot become {state} in the journal {self.id}")

    def settle(self, verdicts: Sequence[Verdict], *, now: float) -> None:
        """Take in what a look found: rows that stand, that are to be sent again, or that a person decides."""
        with self._using() as connection, sqlite.transaction(connection) as db:
            for verdict in verdicts:
                match verdict:
                    case Found(entry, pet_id):
                        values: tuple[object, ...] = ("created", pet_id, "found by a look", "[]")
                    case Absent(entry):
                        values = (STORED_UNSENT, None, "", "[]")
                    case Ambiguous(entry, candidates, why):
                        values = ("unknown", None, why, json.dumps(candidates))
                    case _:
                        assert_never(verdict)
                db.execute(
                    "UPDATE row SET state = ?, pet_id = ?, detail = ?, candidates = ?, changed_at = ?"
                    f" WHERE {_IS} AND state = 'unknown'",
                    (*values, now, *_identity(entry)),
                )

    @property
    def is_new(self) -> bool:
        """Whether nobody looked yet and nothing was ever sent."""
        if not self.made:
            return True
        with self._using() as db:
            (rows,) = db.execute("SELECT count(*) FROM row WHERE state != 'pending'").fetchone()
            (looks,) = db.execute("SELECT count(*) FROM baseline").fetchone()
        return not rows and not looks

    @property
    def baseline(self) -> frozenset[int] | None:
        """Ids that stood before the first create, None where nobody looked."""
        with self._using() as db:
            row = db.execute("SELECT ids FROM baseline").fetchone()
        return None if row is None else frozenset(array("q", row[0]))

    def keep_baseline(self, ids: Iterable[int], *, now: float) -> None:
        """Note what stands before the first create."""
        self._begin(now)
        with self._using() as connection, sqlite.transaction(connection) as db:
            db.execute("DELETE FROM baseline")
            db.execute("INSERT INTO baseline VALUES (?, ?)", (array("q", ids).tobytes(), now))

    @property
    def defaults(self) -> frozenset[str | None]:
        """Statuses that the service gave to rows that had none."""
        if self._defaults is None:
            with self._using() as db:
                row = db.execute("SELECT value FROM about WHERE name = 'defaults'").fetchone()
            self._defaults = frozenset(json.loads(row[0]) if row else ())
        return self._defaults

    def learn_default(self, status: str | None) -> None:
        """Note the status that a 201 shows of a row that gave none (§2.1 states no default)."""
        if status not in self.defaults:
            self._defaults = self.defaults | {status}
            with self._using() as db:
                told = json.dumps(sorted(self._defaults, key=str))
                db.execute("INSERT OR REPLACE INTO about VALUES ('defaults', ?)", (told,))

    @property
    def written(self) -> frozenset[str]:
        """Digests of the result files that its runs wrote: a file with another one was changed since."""
        with self._using() as db:
            names = db.execute("SELECT name FROM about WHERE name LIKE 'file:%'")
            return frozenset(name.removeprefix("file:") for (name,) in names)

    def note_written(self, digest: str) -> None:
        """Note a result file, before it is written."""
        with self._using() as db:
            db.execute("INSERT OR IGNORE INTO about VALUES (?, '')", (f"file:{digest}",))

    def mark_lost(self, *, now: float) -> int:
        """Call rows unknown whose answer nobody awaits any more; return how many."""
        if not self.made:
            return 0
        with self._using() as db:
            died = db.execute(
                "UPDATE row SET state = 'unknown', detail = ?, changed_at = ? WHERE state = 'sending'",
                (LOST_REASON, now),
            )
            return died.rowcount

    def close(self) -> None:
        """Close the file; a thread that still awaits an answer can write no more."""
        with self._lock:
            if self._db is not None:
                self._db.close()
            self._db = None

    def _begin(self, now: float) -> None:
        """Make the file, unless it is made."""
        if not self.made and self._make is not None:
            self._db = self._make(now)

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        """Give one thread at a time the database; its faults are the journal's."""
        with self._lock:
            if self._db is None:
                raise JournalError(f"the journal {self.id} is closed")
            try:
                yield self._db
            except sqlite3.Error as error:
                raise JournalError(f"the journal {self.id} cannot be used: {error}") from error


_IS: Final = "name = ? AND category_id = ? AND ifnull(status, '') = ? AND occurrence = ?"


def _packed(titles_name: str, cells: Sequence[str], origin: int | None) -> str:
    return json.dumps({titles_name: cells} | ({} if origin is None else {"origin": origin}))


def _unpacked(text: str) -> tuple[str, tuple[str, ...], int | None]:
    """Return the name of a row's titles, its cells and its origin; version 0.1 kept a list of cells alone."""
    found = json.loads(text)
    if isinstance(found, list):
        return "", tuple(found), None
    origin = found.pop("origin", None)
    ((name, cells),) = found.items()
    return name, tuple(cells), origin


def _identity(entry: Entry) -> tuple[str, int, str, int]:
    name, category_id, status = entry.content
    return name, category_id, status or "", entry.occurrence


@contextmanager
def open_journal(folder: Path, target: Target, *, journal_id: str = "", now: float) -> Iterator[Journal]:
    """
    Open the journal of an import, or prepare to make it; one run at a time.

    Args:
        folder: Where journals live.
        target: What the import is for.
        journal_id: Another journal: a later one of the target, or one that a rejects file names.
        now: Unix seconds.

    Raises:
        JournalError: In use by another run, empty, damaged, of another target, or gone although it was
            made before. Nothing was sent.
    """
    name = journal_id or target.id
    path = folder / f"{name}.db"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with run_lock(folder, name) as lock:
        (was_made,) = lock.execute("PRAGMA user_version").fetchone()

        def make(now: float) -> sqlite3.Connection:
            _make(path, target, now)
            lock.execute("PRAGMA user_version = 1")  # remember durably that there is a journal
            return _open(path, target, name)

        if was_made and not path.exists():
            raise JournalError(
                f"the journal {name} of this import is gone: what it created cannot be told. Put the "
                f"file back, or delete {name}.lock in the state folder to start over"
            )
        if path.exists():
            lock.execute("PRAGMA user_version = 1")
        journal = Journal(name, target, _open(path, target, name) if path.exists() else None, make)
        try:
            journal.mark_lost(now=now)
            yield journal
        finally:
            journal.close()
            if not path.exists() and not was_made:
                (folder / f"{name}.lock").unlink(missing_ok=True)


def peek(folder: Path, target: Target, *, journal_id: str = "", wanted: int = 0) -> list[Entry]:
    """Return the rows of a journal (`Journal.entries`), none where it was never made; a run may go on."""
    name = journal_id or target.id
    path = folder / f"{name}.db"
    if not path.exists():
        return []
    journal = Journal(name, target, _open(path, target, name, read_only=True))
    try:
        return journal.entries(wanted=wanted)
    finally:
        journal.close()
