"""The journal of an import on disk: what is intended is durable before it is done."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from petstore_tools import sqlite
from petstore_tools.errors import JournalError
from petstore_tools.importing.journal_file import (
    READ_STATE,
    STORED_UNSENT,
    create_file,
    open_file,
    read_rows,
    reading,
    stored,
)
from petstore_tools.importing.matching import Merge
from petstore_tools.importing.row_states import LOST_REASON, TRANSITIONS, Entry, Outcome
from petstore_tools.importing.run_lock import Target, run_lock
from petstore_tools.importing.values import Row

_NOTHING: Final[Mapping[str, str]] = {}


class Journal:
    """
    The rows of one import and their states; open it with `open_journal`.

    Threads may share it. States change only as `row_states.TRANSITIONS` allows. The file is created
    with the first rows or the baseline, so an import that was refused leaves none.

    Args:
        path: The file.
        target: What the import is for.
        lock: What holds the lock of its run; it remembers durably that there is a file.
    """

    def __init__(self, path: Path, target: Target, lock: sqlite3.Connection) -> None:
        self.id, self.target = path.stem, target
        self._path, self._run_lock = path, lock
        self._threads = threading.Lock()
        self._db = open_file(path, target) if path.exists() else None

    def entries(self, *, wanted: int = 0) -> list[Entry]:
        """Return all rows, or those that are `wanted` (see Entry), by their place in the sheet."""
        if self._db is None:
            return []
        with self._using() as db:
            return read_rows(db, wanted=wanted)

    def states(self) -> Counter[str]:
        """Count the rows that the file of this run holds, by state."""
        with self._using() as db:
            counts = db.execute(
                f"SELECT {READ_STATE}, count(*) FROM row WHERE wanted = 2 GROUP BY 1"
            )
            return Counter(dict(counts))

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
        Add the rows of a file: new ones are unsent, rejected ones unsent again, all at their
            present places.

        Args:
            merged: What the file adds.
            now: Unix seconds.
            titles: Those of its cells; each row keeps the ones under which it was read last.
            about: Facts to keep of this run: how the file is read, and what was left out of it.
            partial: It is a rejects file: the rows of the file before stay as they are.
            send_skipped: Rows that an earlier run left out are unsent, too.
        """
        text = json.dumps(titles)
        name = hashlib.sha256(text.encode()).hexdigest()[:8]
        facts = {**about, f"titles:{name}": text, "adopted_at": str(now)}

        def packed(row: Row, origin: int | None = None) -> str:
            origin = row.number if partial else origin
            return json.dumps({name: row.cells} | ({} if origin is None else {"origin": origin}))

        known = [(row.number, packed(row, entry.origin), entry.key) for entry, row in merged.known]
        new = [
            (*row.content, occurrence, row.number, packed(row), now, state)
            for state, rows in ((STORED_UNSENT, merged.new), ("skipped", merged.skipped))
            for row, occurrence in rows
        ]
        self._create(now)
        with self._transaction() as db:
            db.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", facts.items())
            if partial:
                db.execute("UPDATE row SET wanted = 1 WHERE wanted = 2")
            else:
                never_sent = (STORED_UNSENT, "rejected", "skipped")
                db.execute("DELETE FROM row WHERE wanted = 0 AND state IN (?, ?, ?)", never_sent)
                db.execute("UPDATE row SET wanted = 0")
            db.executemany(
                "UPDATE row SET wanted = 2, number = ?, cells = ? WHERE rowid = ?", known
            )
            db.executemany(
                "INSERT INTO row"
                " (name, category_id, status, occurrence, number, cells, changed_at, state, wanted)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 2)",
                new,
            )
            db.execute(
                (
                    "UPDATE row SET state = ?, detail = '', changed_at = ? WHERE wanted = 2 AND "
                    "state IN (?, ?)"
                ),
                (STORED_UNSENT, now, "rejected", "skipped" if send_skipped else "rejected"),
            )

    def transition(self, outcomes: Iterable[tuple[Entry, Outcome]], *, now: float) -> None:
        """
        Give rows the states of their outcomes, all or none, durably before it returns.

        Raises:
            JournalError: A row is in no state that leads there, or the file cannot be written.
        """
        with self._transaction() as db:
            for entry, outcome in outcomes:
                (old,) = db.execute(
                    f"SELECT {READ_STATE} FROM row WHERE rowid = ?", (entry.key,)
                ).fetchone()
                if outcome.state not in TRANSITIONS[old]:
                    what = f"row {entry.number} of the journal {self.id}"
                    raise JournalError(f"{what} is {old} and cannot become {outcome.state}")
                state, candidates = stored(outcome.state), json.dumps(outcome.candidates)
                db.execute(
                    "UPDATE row SET state = ?, pet_id = ?, detail = ?, candidates = ?, "
                    "changed_at = ?"
                    " WHERE rowid = ?",
                    (state, outcome.pet_id, outcome.detail, candidates, now, entry.key),
                )

    def mark_lost(self, *, now: float) -> None:
        """Call rows unknown whose answer nobody awaits any more."""
        if self._db is not None:
            with self._using() as db:
                db.execute(
                    (
                        "UPDATE row SET state = 'unknown', detail = ?, changed_at = ? WHERE state "
                        "= 'sending'"
                    ),
                    (LOST_REASON, now),
                )

    @property
    def is_new(self) -> bool:
        """Whether there is no baseline, and nothing was ever sent; what was left out was not."""
        if self._db is None:
            return True
        sent = "SELECT EXISTS (SELECT 1 FROM row WHERE state NOT IN (?, 'skipped'))"
        begun = f"{sent} OR EXISTS (SELECT 1 FROM baseline)"
        with self._using() as db:
            (found,) = db.execute(begun, (STORED_UNSENT,)).fetchone()
        return not found

    @property
    def baseline(self) -> frozenset[int] | None:
        """
        Ids of the animals that existed before the first create, None where they were not listed.
        """
        with self._using() as db:
            row = db.execute("SELECT ids FROM baseline").fetchone()
        return None if row is None else frozenset(array("q", row[0]))

    def keep_baseline(self, ids: Iterable[int], *, now: float) -> None:
        """Keep which animals exist before the first create."""
        self._create(now)
        with self._transaction() as db:
            db.execute("DELETE FROM baseline")
            db.execute("INSERT INTO baseline VALUES (?, ?)", (array("q", ids).tobytes(), now))

    @property
    def defaults(self) -> frozenset[str | None]:
        """Statuses that the service gave to rows that had none."""
        return frozenset(json.loads(self._facts("defaults").get("defaults", "[]")))

    def learn_default(self, status: str | None) -> None:
        """Keep the status that a 201 shows of a row that gave none (§2.1 states no default)."""
        if status not in (known := self.defaults):
            self._keep("defaults", json.dumps(sorted(known | {status}, key=str)))

    @property
    def written(self) -> frozenset[str]:
        """
        Digests of the result files that its runs wrote: a file with another one was changed since.
        """
        return frozenset(name.removeprefix("file:") for name in self._facts("file:"))

    def note_written(self, digest: str) -> None:
        """Note a result file, before it is written."""
        self._keep(f"file:{digest}", "")

    def _facts(self, prefix: str) -> dict[str, str]:
        with self._using() as db:
            return dict(
                db.execute("SELECT name, value FROM about WHERE name LIKE ?", (f"{prefix}%",))
            )

    def _keep(self, name: str, value: str) -> None:
        with self._using() as db:
            db.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (name, value))

    def close(self) -> None:
        """Close the file; a thread that still awaits an answer can write no more."""
        with self._threads:
            if self._db is not None:
                self._db.close()
            self._db = None

    def _create(self, now: float) -> None:
        """Create the file, unless there is one; the lock remembers durably that there is."""
        if self._db is None and not self._path.exists():
            create_file(self._path, self.target, now)
            self._run_lock.execute("PRAGMA user_version = 1")
            self._db = open_file(self._path, self.target)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._using() as connection, sqlite.transaction(connection) as db:
            yield db

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        """Give one thread at a time the database; its errors are the journal's."""
        with self._threads:
            if self._db is None:
                raise JournalError(f"the journal {self.id} is closed")
            try:
                yield self._db
            except sqlite3.Error as error:
                raise JournalError(f"the journal {self.id} cannot be used: {error}") from error


@contextmanager
def open_journal(
    folder: Path, target: Target, *, journal_id: str = "", now: float
) -> Iterator[Journal]:
    """
    Open the journal of an import, or prepare to create it; one run at a time.

    Args:
        folder: Where journals live.
        target: What the import is for.
        journal_id: Another journal: a later one of the target, or one that a rejects file names.
        now: Unix seconds.

    Raises:
        JournalError: In use by another run, empty, damaged, of another target, or gone although it
            was created before. Nothing was sent.
    """
    name = journal_id or target.id
    path = folder / f"{name}.db"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with run_lock(folder, name) as lock:
        (was_made,) = lock.execute("PRAGMA user_version").fetchone()
        if was_made and not path.exists():
            raise JournalError(
                f"the journal {name} of this import is missing, so it is not known what it "
                "created. Put the "
                f"file back, or delete {name}.lock in the state folder to start again"
            )
        if path.exists():
            lock.execute("PRAGMA user_version = 1")
        journal = Journal(path, target, lock)
        try:
            journal.mark_lost(now=now)
            yield journal
        finally:
            journal.close()
            if not path.exists() and not was_made:
                with suppress(PermissionError):  # Windows keeps what is open; the next run takes it
                    (folder / f"{name}.lock").unlink(missing_ok=True)


def read_entries(
    folder: Path, target: Target, *, journal_id: str = "", wanted: int = 0
) -> list[Entry]:
    """
    Return the rows of a journal (`Journal.entries`), none where it was never created; a run may go
    on.
    """
    path = folder / f"{journal_id or target.id}.db"
    if not path.exists():
        return []
    with reading(path, target) as (db, _):
        return read_rows(db, wanted=wanted)
