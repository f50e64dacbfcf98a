"""
The journal: one SQLite database for all imports to a place, where what is intended is
durable before it is done.
"""

import json
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from operator import attrgetter
from pathlib import Path
from typing import Any

from petstore_tools import sqlite
from petstore_tools.clock import Clock, SystemClock
from petstore_tools.errors import JournalError
from petstore_tools.importing.entries import Entry
from petstore_tools.importing.imports import (
    TABLES,
    Target,
    import_lock,
    is_running,
    journal_errors,
    open_database,
)
from petstore_tools.importing.options import Doubtful
from petstore_tools.importing.reconcile import Outcome
from petstore_tools.importing.values import PetValues

_ENTRY = (
    "number, name, category_id, status, row_key, ifnull(pet_id, listed_id),"
    " listed_id IS NOT NULL, edited, entry_id, import, state, present, position,"
    " answered, compared, detail, changed_at, may_be, sent_after, absent, equal_id,"
    " shown OR listed_id IS NOT NULL"
)
_ADD_IMPORT = """
INSERT INTO import VALUES (
    :id, :environment, :service_id, :path, :sheet, :bad_rows, :now, 'ask', '[]'
) ON CONFLICT DO UPDATE SET bad_rows = excluded.bad_rows,
    changed_at = excluded.changed_at
"""
# what a file says of each row, and what only of one that was not sent
_OF_FILE = "number row_key listed_id edited detail".split()
_OF_WAITING = "name category_id status answered state equal_id".split()
_ADDED = ["entry_id", "import", "compared", "changed_at", *_OF_FILE, *_OF_WAITING]
_UPDATES = [f"{name} = excluded.{name}" for name in _OF_FILE]
_UPDATES += [f"{name} = iif(waits, excluded.{name}, {name})" for name in _OF_WAITING]
_ADD = f"""
INSERT INTO row ({", ".join(_ADDED)}) VALUES (:{", :".join(_ADDED)})
ON CONFLICT (entry_id) DO UPDATE SET present = 1,
    compared = compared OR excluded.compared, {", ".join(_UPDATES)}
"""
# a key of the file is taken from the row that had it, which then has none of a file;
# of one row, or of all (0)
_LEAVE_FILE = """
UPDATE row SET present = 0, row_key = iif(
    row_key != '' AND row_key IN (SELECT value FROM json_each(:keys)),
    row_key || char(10) || entry_id, row_key
) WHERE import = :id AND :entry_id IN (0, entry_id)
"""
# a file that leaves rows out and brings no new one is a part of the one before it
_TAKE_POSITIONS = """
UPDATE row SET position = iif(present, number, iif(:bad_rows, position, NULL))
WHERE import = :id AND (
    :brings_rows OR NOT EXISTS (
        SELECT 1 FROM row WHERE import = :id AND position IS NOT NULL AND NOT present
    )
)
"""
# an animal that another row has, or that a listing showed before the row was sent
_IS_FOREIGN = """
SELECT 1 WHERE EXISTS (SELECT 1 FROM row WHERE pet_id = :pet_id OR listed_id = :pet_id)
OR EXISTS (
    SELECT 1 FROM shown WHERE pet_id = :pet_id
    AND listing <= (SELECT sent_after FROM row WHERE entry_id = :entry_id)
)
"""
# by its answer, or by a listing or a person
_SETTLE = """
UPDATE row SET state = :state, pet_id = :pet_id, detail = :detail, may_be = :may_be,
    equal_id = NULL, absent = :by_listing AND :may_be = '', changed_at = :now,
    lost_at = iif(:by_listing, lost_at, :steady)
WHERE entry_id = :entry_id AND (:by_listing OR state = 'sending')
"""
_INTEND = """
UPDATE row SET state = 'sending', detail = '', absent = 0, changed_at = :now,
    name = :name, category_id = :category_id, status = :status, edited = NULL,
    sent_after = (SELECT ifnull(max(number), 0) FROM listing)
WHERE entry_id = :entry_id AND state = 'unsent'
"""
# names and categories of a file
_NAMES = """
(SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]')
FROM json_each(:names))
"""
# that were sent, or that a running import is to send
_TAKES_PART = """
(NOT waits OR state = 'unsent' AND present
AND import IN (SELECT value FROM json_each(:running)))
"""
_OF_OTHERS = f"""
{_TAKES_PART} AND import IN (
    SELECT import FROM row WHERE import != :id AND {_TAKES_PART}
    AND ((name, category_id) IN {_NAMES} OR edited IS NOT NULL
        AND (json_extract(edited, '$[0]'), json_extract(edited, '$[1]')) IN {_NAMES})
)
"""
_HAS_OTHERS = "SELECT 1 FROM row WHERE import != :id LIMIT 1"
_WITH_UNSENT = """
SELECT DISTINCT import FROM row WHERE import != :id AND state = 'unsent' AND present
"""
# no row of this import is the animal; found by the animal, not by the import
_IS_NOT_OURS = """
NOT EXISTS (
    SELECT 1 FROM row o WHERE +import = :id
    AND (pet_id = animal.id OR listed_id = animal.id)
)
"""
_CLOCK = SystemClock()


class Journal:
    """
    The imports to a place, seen by one of them; threads may share it.

    Args:
        folder: Where databases live; one without that of the place has no row.
        target: What the import is for.
        clock: Tells when something happened.

    Attributes:
        id: Name of the import.
        folder, target, clock: As given.
        wait_s: How long a change waits for other programs.
        bad_rows: Rows of the file that have problems.
    """

    def __init__(self, folder: Path, target: Target, clock: Clock) -> None:
        self.id = target.id
        self.target = target
        self.wait_s = sqlite.BUSY_S
        self.bad_rows = 0
        self.clock = clock
        self.folder = folder
        self._path = folder / f"{target.database_name}.db"
        self._threads = threading.RLock()  # an interrupt may leave it to its thread
        self._db = open_database(self._path, target)
        # SQLite's own wait hears no interrupt
        self._db.execute("PRAGMA busy_timeout = 0")

    def close(self) -> None:
        """Close the file; a thread that still awaits an answer can write no more."""
        with self._threads:
            self._db.close()

    def read(self, where: str = "import = :id", **facts: object) -> list[Entry]:
        """Return the rows that a condition names, by their position in the sheet."""
        query = f"SELECT {_ENTRY} FROM row WHERE {where} ORDER BY number, entry_id"
        rows = self.select(query, **facts)
        # a create that equals nothing asks for no names of files
        imports = self.select("SELECT id, path, sheet FROM import") if rows else ()
        files = {id_: self._label(Path(path), sheet) for id_, path, sheet in imports}
        return [_read_entry(row, files) for row in rows]

    def select(self, query: str, **facts: object) -> list[Any]:
        """Return the records of a query; `:id` is this import."""
        values = {"id": self.id, **facts}
        with self._use() as db:
            return sqlite.execute_when_free(
                db, query, lambda: self.wait_s, values
            ).fetchall()

    def _label(self, path: Path, sheet: str) -> str:
        """Name a file for people; one of the name of our file, with its folder."""
        label = Target("", "", path, sheet).label
        is_namesake = label == self.target.label and path != self.target.path
        return f"{label} in {path.parent}" if is_namesake else label

    def read_others(self, rows: Iterable[Entry]) -> list[Entry]:
        """
        Return the rows of other imports that share a name and category with a file:
        those that were sent, and those that a running import is to send.
        """
        if not self.select(_HAS_OTHERS):
            return []
        imports = self.select(_WITH_UNSENT)
        running = [name for (name,) in imports if is_running(self.folder, name)]
        facts = {"names": _names_json(rows), "running": json.dumps(running)}
        other_entries = self.read(_OF_OTHERS, **facts)
        return sorted(other_entries, key=attrgetter("entry_id"))

    def read_animals(self, pet_ids: Iterable[int | None]) -> list[Entry]:
        """Return the animals of the last listing that was taken with these ids."""
        where = "id IN (SELECT value FROM json_each(:ids))"
        return self._read_animals(where, ids=json.dumps([*pet_ids]))

    def _read_animals(self, where: str, **facts: object) -> list[Entry]:
        query = f"SELECT id, name, category_id, status FROM temp.animal WHERE {where}"
        return [
            Entry(0, PetValues(*content), pet_id=pet_id, state="created")
            for pet_id, *content in self.select(query, **facts)
        ]

    def read_animals_named(
        self, rows: Iterable[Entry], condition: str = "1"
    ) -> list[Entry]:
        """
        Return animals of the last listing that share a name and category with a row.
        """
        if not self.select("SELECT 1 FROM temp.animal LIMIT 1"):
            return []
        where = f"(name, category_id) IN {_NAMES} AND {condition}"
        return self._read_animals(where, names=_names_json(rows))

    def read_foreign_animals(self, rows: Iterable[Entry]) -> list[Entry]:
        """Return those of these animals that no row of this import is."""
        return self.read_animals_named(rows, _IS_NOT_OURS)

    def unsent(self) -> list[Entry]:
        """Return the rows of the file that are to be sent, with the values there."""
        return [
            entry._replace(content=entry.edited or entry.content)
            for entry in self.read("import = :id AND present AND state = 'unsent'")
        ]

    def counts(self) -> Counter[str]:
        """Count the rows of this import that the file has, by state."""
        counts = """
        SELECT state, count(*) FROM row WHERE import = :id AND present GROUP BY state
        """
        return Counter(dict(self.select(counts)))

    def add_file(self, rows: Sequence[Entry], *, compared: bool) -> None:
        """
        Add the rows of a file, in a transaction.

        Args:
            rows: In the order of the file, each with its entry (`match`), and with the
                state that it has where it waits.
            compared: The rows were compared with a listing.
        """
        records = (self._record_of(row, compared=compared) for row in rows)
        db = self._db
        self.add_import()
        self._leave_file(rows)
        db.executemany(_ADD, records)
        db.execute(
            "DELETE FROM row WHERE import = ? AND NOT present AND waits", (self.id,)
        )
        brings_rows = any(not row.entry_id for row in rows)
        # a row with a problem has its place still
        facts = {"brings_rows": brings_rows, "bad_rows": self.bad_rows}
        db.execute(_TAKE_POSITIONS, {"id": self.id, **facts})

    def part_edit(self, entry: Entry) -> None:
        """
        Make a row of its own, to be sent, of one that was taken for another; in a
        transaction.
        """
        content = entry.edited or entry.content
        row = Entry(entry.number, content, row_key=entry.row_key, answered=True)
        self._leave_file([row], entry.entry_id)
        self._db.execute(_ADD, self._record_of(row, compared=True))

    def _leave_file(self, rows: Iterable[Entry], entry_id: int = 0) -> None:
        """Take a row, or all, out of the file that has these rows from now on."""
        keys = json.dumps([row.row_key for row in rows])
        facts = {"id": self.id, "keys": keys, "entry_id": entry_id}
        self._db.execute(_LEAVE_FILE, facts)

    def _record_of(self, row: Entry, *, compared: bool) -> dict[str, object]:
        """Return what `_ADD` writes of a row."""
        return {
            **row._asdict(),
            **row.content._asdict(),
            "entry_id": row.entry_id or None,
            "import": self.id,
            "edited": row.edited and json.dumps(row.edited),
            "compared": compared,
            "listed_id": row.pet_id if row.has_id else None,
            "changed_at": self.clock.now(),
        }

    def record(
        self, outcomes: Iterable[tuple[Entry, Outcome]], *, intent: Entry | None = None
    ) -> None:
        """
        Record what became of rows on their way, and that another one is to leave, in
        one commit.

        Args:
            outcomes: The rows, and what became of each.
            intent: The row that is sent next.

        Raises:
            JournalError: A row is not on its way, or the file cannot be written.
        """
        with self.transaction():
            for entry, outcome in outcomes:
                facts = {"entry_id": entry.entry_id, "pet_id": outcome.pet_id}
                if self.select(_IS_FOREIGN, **facts):
                    detail = f"the answer names id {outcome.pet_id}, another animal's"
                    outcome = Outcome(outcome.state, detail=detail)
                self.write_outcome(entry, outcome)
            if intent is not None:
                self._change(_INTEND, intent, **intent.content._asdict())

    def write_outcome(
        self, entry: Entry, outcome: Outcome, *, by_listing: bool = False
    ) -> None:
        """
        Write what became of a row, in a transaction: its answer says it, and the row is
        on its way, or a listing or a person.
        """
        may_be = " or ".join(map(str, outcome.candidates))
        facts = outcome._asdict() | {"may_be": may_be, "by_listing": by_listing}
        self._change(_SETTLE, entry, **facts, steady=self.clock.steady())

    def _change(self, update: str, entry: Entry, **facts: object) -> None:
        """Change a row that is in the state that an update names."""
        facts |= {"entry_id": entry.entry_id, "now": self.clock.now()}
        if not self._db.execute(update, facts).rowcount:
            raise JournalError(f"another program changed {entry} meanwhile")

    def digest_of(self, path: Path) -> str | None:
        """
        Return the digest of a returned list that was written last, "" if a person has
        gone on with the file; None if it did not come back from this list.
        """
        query = """
        SELECT digest FROM returned JOIN import ON id = import
        WHERE returned.path = :path AND import.path = :source
        """
        rows = self.select(query, path=str(path), source=str(self.target.path))
        return str(rows[0][0]) if rows else None

    def source_of(self, path: Path) -> Path | None:
        """Return the file, or the name, of the list that came back as a file."""
        query = """
        SELECT import.path FROM returned JOIN import ON id = import
        WHERE returned.path = :path
        """
        rows = self.select(query, path=str(path))
        return Path(rows[0][0]) if rows else None

    def note_list(self, path: Path, digest: str, *, is_shown: bool) -> None:
        """
        Note a returned list that was written.

        Args:
            path: Its file.
            digest: Of its contents, "" if a person has gone on with the file.
            is_shown: It is the file that a person goes on with, so the list shows the
                ids of its rows.
        """
        with self.transaction() as db:
            self.add_import()
            add = "INSERT OR REPLACE INTO returned VALUES (?, ?, ?)"
            db.execute(add, (str(path), self.id, digest))
            if is_shown:
                show = "UPDATE row SET shown = 1 WHERE import = ? AND present"
                db.execute(f"{show} AND pet_id IS NOT NULL", (self.id,))

    def forget(self) -> None:
        """Delete what is known of this import, so that its file counts as new."""
        with self.transaction() as db:
            db.execute("DELETE FROM import WHERE id = ?", (self.id,))

    def add_import(self) -> None:
        """Add this import, or change it, in a transaction."""
        facts = {
            **asdict(self.target),
            "path": str(self.target.path),
            "id": self.id,
            "bad_rows": self.bad_rows,
            "now": self.clock.now(),
        }
        self._db.execute(_ADD_IMPORT, facts)

    def read_question(self) -> tuple[Doubtful, list[str]]:
        """
        Return the answer to the last question, `ask` where there is none, and the rows
        as a person was shown them.
        """
        query = "SELECT answer, question FROM import WHERE id = :id"
        ((answer, rows),) = self.select(query) or [("ask", "[]")]
        return answer, json.loads(rows)

    def note_question(self, answer: Doubtful, rows: Sequence[str]) -> None:
        """Note which rows a person was shown, and the answer, in a transaction."""
        self.add_import()
        update = "UPDATE import SET answer = ?, question = ? WHERE id = ?"
        self._db.execute(update, (answer, json.dumps(rows), self.id))

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Give one thread at a time the database, to change it."""
        with self._use() as db, sqlite.transaction(db, lambda: self.wait_s):
            yield db

    @contextmanager
    def _use(self) -> Iterator[sqlite3.Connection]:
        """Give one thread at a time the database; its errors are the journal's."""
        with self._threads, journal_errors(self._path):
            yield self._db


def _names_json(rows: Iterable[Entry]) -> str:
    """Return the names and categories of rows, for a query."""
    return json.dumps([*{row.name_and_category for row in rows}])


def _read_entry(row: Sequence[Any], files: Mapping[str, str]) -> Entry:
    """Return a row of the table, in the order of `_ENTRY`."""
    number, name, category_id, status, row_key, pet_id, has_id, edited, *facts = row
    entry_id, import_id, *outcome = facts
    return Entry(
        number,
        PetValues(name, category_id, status),
        (),
        (),
        row_key,
        pet_id,
        bool(has_id),
        edited and PetValues(*json.loads(edited)),
        entry_id,
        import_id,
        files[import_id],
        *outcome,
    )


@contextmanager
def open_journal(
    folder: Path, target: Target, clock: Clock = _CLOCK
) -> Iterator[Journal]:
    """
    Open the journal for a run of an import; one run at a time.

    Raises:
        JournalError: The import is in use by another run, or the journal cannot be
            used. Nothing was sent.
    """
    path = folder / f"{target.database_name}.db"
    with journal_errors(path):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            sqlite.create(path, TABLES)
    with (
        import_lock(folder, target.id),
        closing(Journal(folder, target, clock)) as journal,
    ):
        yield journal


def read_journal(
    folder: Path, target: Target, clock: Clock = _CLOCK
) -> closing[Journal]:
    """Open the journal to look at it; a run may go on meanwhile. Nothing is made."""
    return closing(Journal(folder, target, clock))
