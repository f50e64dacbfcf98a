"""
The journal: one SQLite database for all imports to a place, where what is intended is
durable before it is done.
"""

import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path

from petstore_tools import sqlite
from petstore_tools.clock import Clock, SystemClock
from petstore_tools.errors import JournalError
from petstore_tools.importing.doubtful import may_be
from petstore_tools.importing.entries import Entry
from petstore_tools.importing.imports import (
    TABLES,
    Target,
    import_lock,
    journal_errors,
    open_database,
)
from petstore_tools.importing.reconcile import Outcome
from petstore_tools.importing.values import PetValues

_ENTRY = (
    "entry_id, import, name, category_id, status, number, row_key, present, waits,"
    " state, answered, equals, compared, ifnull(pet_id, listed_id),"
    " listed_id IS NOT NULL, alias, detail, changed_at, may_be, sent_after, absent,"
    " position, reject_of"
)
_ADD_IMPORT = """
INSERT INTO import VALUES (
    :id, :environment, :service_id, :path, :sheet, :bad_rows, :now, :question
) ON CONFLICT DO UPDATE SET
    bad_rows = excluded.bad_rows, changed_at = excluded.changed_at,
    question = ifnull(excluded.question, question)
"""
# what a file says of each row, and what only of one that was not sent
_OF_FILE = "number row_key alias reject_of listed_id".split()
_OF_WAITING = "name category_id status detail answered equals state".split()
_ADDED = ["entry_id", "import", "compared", "changed_at", *_OF_FILE, *_OF_WAITING]
_UPDATES = [f"{name} = excluded.{name}" for name in _OF_FILE]
_UPDATES += [f"{name} = iif(waits, excluded.{name}, {name})" for name in _OF_WAITING]
_ADD = f"""
INSERT INTO row ({", ".join(_ADDED)}) VALUES (:{", :".join(_ADDED)})
ON CONFLICT (entry_id) DO UPDATE SET present = 1,
    compared = compared OR excluded.compared, {", ".join(_UPDATES)}
"""
# a key of the file is taken from the row that had it, which then has none of a file
_LEAVE_FILE = """
UPDATE row SET present = 0, row_key = iif(
    row_key != '' AND row_key IN (SELECT row_key FROM temp.file),
    row_key || char(10) || entry_id, row_key
) WHERE import = ?
"""
# a file that leaves rows out and brings no new one is a part of the one before it
_TAKE_POSITIONS = """
UPDATE row SET position = iif(present, number, NULL) WHERE import = :id AND (
    :brings_rows OR NOT EXISTS (
        SELECT 1 FROM row WHERE import = :id AND position IS NOT NULL AND NOT present
    )
)
"""
# an animal that another row has, or that a listing showed before the row was sent
_IS_FOREIGN = """
SELECT EXISTS (SELECT 1 FROM row WHERE pet_id = :pet_id OR listed_id = :pet_id)
OR EXISTS (
    SELECT 1 FROM shown WHERE pet_id = :pet_id
    AND listing <= (SELECT sent_after FROM row WHERE entry_id = :entry_id)
)
"""
# by its answer, or by a listing or a person
_SETTLE = """
UPDATE row SET state = :state, pet_id = :pet_id, detail = :detail, may_be = :may_be,
    absent = :by_listing AND :may_be = '', changed_at = :now,
    lost_at = iif(:by_listing, lost_at, :steady)
WHERE entry_id = :entry_id AND (:by_listing OR state = 'sending')
"""
_INTEND = """
UPDATE row SET state = iif(:may_leave, 'sending', 'skipped'), detail = :detail,
    answered = answered AND :may_leave, absent = 0, changed_at = :now,
    sent_after = (SELECT ifnull(max(number), 0) FROM listing)
WHERE entry_id = :entry_id AND state = 'unsent'
"""
# the animal of a row, or one of a listing, is this import's; found by the animal, not
# by the import
IS_OURS = """
EXISTS (SELECT 1 FROM row o WHERE +import = :id AND (pet_id = {0} OR listed_id = {0}))
"""
# rows that other imports sent of some names and categories (a query); one that was
# left out as equal is no further one
ROWS_LIKE = f"""
import != :id AND NOT waits AND (name, category_id) IN ({{}})
AND (state != 'skipped' OR detail NOT LIKE 'equal:%')
AND NOT {IS_OURS.format("ifnull(row.pet_id, row.listed_id)")}
"""
# rows that other imports sent with some keys (a query)
WITH_KEYS = "import != :id AND NOT waits AND row_key != '' AND row_key IN ({})"
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
        compared_ids: Rows of other imports that the file was compared with.
    """

    def __init__(self, folder: Path, target: Target, clock: Clock) -> None:
        self.id = target.id
        self.target = target
        self.wait_s = sqlite.BUSY_S
        self.bad_rows = 0
        self.compared_ids: set[int] = set()
        self.clock = clock
        self.folder = folder
        self._path = folder / f"{target.database_name}.db"
        self._threads = threading.RLock()  # an interrupt may leave it to its thread
        self._db = open_database(self._path, target)

    def close(self) -> None:
        """Close the file; a thread that still awaits an answer can write no more."""
        with self._threads:
            self._db.close()

    def read(self, where: str = "import = :id", **facts: object) -> list[Entry]:
        """Return the rows that a condition names, by their position in the sheet."""
        query = f"SELECT {_ENTRY} FROM row WHERE {where} ORDER BY number, entry_id"
        with self.reading() as db:
            rows = db.execute(query, {"id": self.id, **facts}).fetchall()
            # a create that equals nothing asks for no names of files
            imports = db.execute("SELECT id, path, sheet FROM import") if rows else ()
            files = {
                id_: Target("", "", Path(path), sheet).label
                for id_, path, sheet in imports
            }
        return [
            Entry(*row[:2], files[row[1]], PetValues(*row[2:5]), *row[5:])  # type: ignore[call-arg]
            for row in rows
        ]

    def unsent(self) -> list[Entry]:
        """Return the rows of the file that are to be sent."""
        return self.read("import = :id AND present AND state = 'unsent'")

    def counts(self) -> Counter[str]:
        """Count the rows of this import that the file has, by state."""
        return Counter(entry.state for entry in self.read("import = :id AND present"))

    def take_file(self, rows: Iterable[Entry]) -> None:
        """Take the rows of a file, which the next questions are about."""
        with self.transaction() as db:
            db.execute("DELETE FROM temp.file")
            names = ((*row.content[:2], row.row_key) for row in rows)
            db.executemany("INSERT INTO temp.file VALUES (?, ?, ?)", names)

    def add_file(self, rows: Sequence[Entry], *, compared: bool) -> None:
        """
        Add the rows of a file.

        Args:
            rows: In the order of the file, each with its entry (`match`), and with the
                state that it has where it waits.
            compared: The rows were compared with a listing.
        """
        now = self.clock.now()
        records = (
            row._asdict()
            | row.content._asdict()
            | {
                "entry_id": row.entry_id or None,
                "import": self.id,
                "compared": compared,
                "listed_id": row.pet_id if row.has_id else None,
                "changed_at": now,
            }
            for row in rows
        )
        with self.transaction() as db:
            self.add_import(question="[]")
            db.execute(_LEAVE_FILE, (self.id,))
            db.executemany(_ADD, records)
            db.execute(
                "DELETE FROM row WHERE import = ? AND NOT present"
                " AND state IN ('unsent', 'rejected')",
                (self.id,),
            )
            brings_rows = any(not row.entry_id for row in rows)
            db.execute(_TAKE_POSITIONS, {"id": self.id, "brings_rows": brings_rows})

    def record(
        self, outcomes: Iterable[tuple[Entry, Outcome]], *, intent: Entry | None = None
    ) -> bool:
        """
        Record what became of rows on their way, and that another one is to leave, in
        one commit.

        Args:
            outcomes: The rows, and what became of each.
            intent: The row that is sent next. Where another import sent one with its
                name and category, or its key, since the file was compared, it is left
                out until the next run.

        Returns:
            Whether the next row may leave.

        Raises:
            JournalError: A row is not on its way, or the file cannot be written.
        """
        with self.transaction() as db:
            for entry, outcome in outcomes:
                facts = {"entry_id": entry.entry_id, "pet_id": outcome.pet_id}
                if db.execute(_IS_FOREIGN, facts).fetchone()[0]:
                    detail = f"the answer names id {outcome.pet_id}, another animal's"
                    outcome = Outcome(outcome.state, detail=detail)
                self.settle(entry, outcome)
                changed = ((field,) for field in outcome.changed)
                db.executemany("INSERT OR IGNORE INTO changed VALUES (?)", changed)
            if intent is None:
                return False
            names = "SELECT :name, :category_id"
            like = self.read(ROWS_LIKE.format(names), **intent.content._asdict())
            if intent.row_key:
                like += self.read(WITH_KEYS.format(":row_key"), row_key=intent.row_key)
            later_rows = [
                row
                for row in like
                if row.entry_id not in self.compared_ids and may_be(row, intent)
            ]
            detail = f"{later_rows[-1]} was sent meanwhile" if later_rows else ""
            self._change(_INTEND, intent, may_leave=not later_rows, detail=detail)
        return not later_rows

    def settle(
        self, entry: Entry, outcome: Outcome, *, by_listing: bool = False
    ) -> None:
        """
        Write what became of a row, in a transaction: its answer says it, and the row is
        on its way, or a listing or a person.
        """
        may_be = " or ".join(map(str, outcome.candidates))
        facts = asdict(outcome) | {"may_be": may_be, "by_listing": by_listing}
        self._change(_SETTLE, entry, **facts, steady=self.clock.steady())

    def _change(self, update: str, entry: Entry, **facts: object) -> None:
        """Change a row that is in the state that an update names."""
        facts |= {"entry_id": entry.entry_id, "now": self.clock.now()}
        if not self._db.execute(update, facts).rowcount:
            raise JournalError(f"another program changed {entry} meanwhile")

    def is_ours(self, digest: str) -> bool:
        """Say whether a run of this import wrote a result file with this digest."""
        written = "SELECT 1 FROM written WHERE import = ? AND digest = ?"
        with self.reading() as db:
            return db.execute(written, (self.id, digest)).fetchone() is not None

    def note_written(self, digest: str) -> None:
        """
        Note the digest of a result file, before it is written: also of an import that
        no row was added to.
        """
        with self.transaction() as db:
            self.add_import()
            db.execute("INSERT OR IGNORE INTO written VALUES (?, ?)", (self.id, digest))

    def note_rejects(self, path: str, cells: Mapping[int, str]) -> None:
        """
        Note which rows are in a rejects file of this import.

        Args:
            path: Of that file.
            cells: A digest of the cells of each row, by its number.
        """
        rows = ((self.id, path, number, digest) for number, digest in cells.items())
        with self.transaction() as db:
            db.executemany("INSERT OR REPLACE INTO reject VALUES (?, ?, ?, ?)", rows)

    def forget(self) -> None:
        """Delete what is known of this import, so that its file counts as new."""
        with self.transaction() as db:
            db.execute("DELETE FROM import WHERE id = ?", (self.id,))

    def add_import(self, question: str | None = None) -> None:
        """Add this import, or change it; without a question, that stays as it is."""
        facts = asdict(self.target) | {"question": question, "bad_rows": self.bad_rows}
        facts |= {"path": str(self.target.path), "id": self.id}
        self._db.execute(_ADD_IMPORT, facts | {"now": self.clock.now()})

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Give one thread at a time the database, to change it."""
        with self.reading() as connection:
            # SQLite's own wait hears no interrupt
            connection.execute("PRAGMA busy_timeout = 0")
            with sqlite.transaction(connection, self.wait_s) as db:
                yield db

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give one thread at a time the database; its errors are the journal's."""
        with self._threads, journal_errors(self._path):
            if not self._db.in_transaction:  # whose commit an interrupt ends
                self._db.execute(f"PRAGMA busy_timeout = {sqlite.BUSY_S * 1_000:.0f}")
            yield self._db


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
