"""
The journal: one SQLite database for all imports to a place, where what is intended is
durable before it is done.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from operator import attrgetter, itemgetter
from pathlib import Path

from petstore_tools import sqlite
from petstore_tools.clock import Clock, SystemClock
from petstore_tools.errors import JournalError
from petstore_tools.importing.doubtful import (
    Doubt,
    Entry,
    find_doubtful,
    group,
    match,
)
from petstore_tools.importing.imports import (
    TABLES,
    Target,
    import_lock,
    journal_errors,
    open_database,
)
from petstore_tools.importing.options import Doubtful
from petstore_tools.importing.reconcile import Outcome
from petstore_tools.importing.values import PetValues

_ONE_ROW = "(SELECT 0 AS place, ? AS name, ? AS category_id, ? AS status)"
_ENTRY = (
    "key, import, name, category_id, status, number, present, state, answered,"
    " compared, pet_id, detail, changed_at, may_be, sent_after, absent, position"
)
_ADD_IMPORT = """
INSERT INTO import VALUES (
    :id, :environment, :base_url, :path, :sheet, :bad_rows, :now, :question
) ON CONFLICT DO UPDATE SET
    bad_rows = excluded.bad_rows, changed_at = excluded.changed_at,
    question = ifnull(excluded.question, question)
"""
_QUESTION = """
SELECT e.value ->> 0, e.value ->> 1 FROM import, json_each(question) e
WHERE import.id = ?
"""
_ADD = """
INSERT INTO row (
    key, import, name, category_id, status, number, state, answered, compared, detail,
    changed_at
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET present = 1, number = excluded.number,
    state = iif(waits, excluded.state, state),
    detail = iif(waits, excluded.detail, detail),
    answered = excluded.answered, compared = compared OR excluded.compared
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
SELECT EXISTS (SELECT 1 FROM row WHERE pet_id = :pet_id) OR EXISTS (
    SELECT 1 FROM shown WHERE pet_id = :pet_id
    AND listing <= (SELECT sent_after FROM row WHERE key = :key)
)
"""
# by its answer, or by a listing or a person
_SETTLE = """
UPDATE row SET state = :state, pet_id = :pet_id, detail = :detail, may_be = :may_be,
    absent = :by_listing AND :may_be = '', changed_at = :now,
    lost_at = iif(:by_listing, lost_at, :steady)
WHERE key = :key AND (:by_listing OR state = 'sending')
"""
_INTEND = """
UPDATE row SET state = iif(:may_leave, 'sending', 'skipped'), detail = :detail,
    answered = answered * :may_leave, absent = 0, changed_at = :now,
    sent_after = (SELECT ifnull(max(number), 0) FROM listing)
WHERE key = :key AND state = 'unsent'
"""
# animals of the last listing that equal rows of the file, and are no animal of ours
_EQUAL_ANIMALS = """
SELECT place, max(id) FROM temp.file f JOIN temp.animal a USING (name, category_id)
WHERE (f.status IS NULL OR a.status IS f.status)
AND NOT EXISTS (SELECT 1 FROM row WHERE pet_id = id AND import = ?) GROUP BY place
"""
# rows of other imports that sent one whose name and category the file has, too
_OF_SHARING_IMPORTS = """
import IN (
    SELECT import FROM temp.file JOIN row USING (name, category_id)
    WHERE import != ? AND NOT waits
)
"""
_CLOCK = SystemClock()
Question = list[tuple[str, Doubtful]]  # rows as they were shown, with their answers
_IS_EQUAL = "has the same values"


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

    def close(self) -> None:
        """Close the file; a thread that still awaits an answer can write no more."""
        with self._threads:
            self._db.close()

    def entries(self) -> list[Entry]:
        """Return the rows of this import, by their place in the sheet."""
        with self.reading() as db:
            return read_entries(db, "import = ?", (self.id,))

    def unsent(self) -> list[Entry]:
        """Return the rows of the file that are to be sent."""
        with self.reading() as db:
            unsent = "import = ? AND present AND state = 'unsent'"
            return read_entries(db, unsent, (self.id,))

    def counts(self) -> Counter[str]:
        """Count the rows of this import that the file has, by state."""
        states = (
            "SELECT state, count(*) FROM row WHERE import = ? AND present"
            " GROUP BY state"
        )
        with self.reading() as db:
            return Counter(dict(db.execute(states, (self.id,))))

    def compare(
        self, entries: Sequence[Entry], rows: Sequence[Entry]
    ) -> tuple[list[Entry], list[Entry], dict[int, Doubt]]:
        """
        Find the rows of a file in the entries of this import, and say which are
        doubtful.

        Returns:
            As `match`: the entry of each row, and the entries that the file does not
            have; and each doubt, by the place of its row in the file.
        """
        equal = self.find_equal([row.content for row in rows])
        with self.reading() as db:
            others = read_entries(db, _OF_SHARING_IMPORTS, (self.id,))
        sheets = group(others, attrgetter("import_id")).values()
        matches, missing = match(entries, rows)
        doubts = find_doubtful(matches, entries, missing, equal=equal, others=sheets)
        return matches, missing, doubts

    def find_equal(self, contents: Iterable[PetValues]) -> dict[int, Doubt]:
        """
        Return the rows of a file that equal an animal of the last listing, or a row
        that another import sent, by their place in it.

        Args:
            contents: The values of each row.
        """
        with self.transaction() as db:
            db.execute("DELETE FROM temp.file")
            db.executemany(
                "INSERT INTO temp.file VALUES (?, ?, ?, ?)",
                ((position, *content) for position, content in enumerate(contents)),
            )
            equal = {
                position: Doubt("equal", f"the animal with id {pet_id} {_IS_EQUAL}")
                for position, pet_id in db.execute(_EQUAL_ANIMALS, (self.id,))
            }
            return equal | self._find_equal_rows("temp.file")

    def answer(
        self, rows: Sequence[Entry], doubts: Mapping[int, Doubt], answer: Doubtful
    ) -> dict[int, Doubtful]:
        """
        Answer for doubtful rows, and keep which of them a person is shown.

        An answer is for the rows that were shown before, for that reason; where none
        were, for all. A row keeps its answer.

        Args:
            rows: Those of the file.
            doubts: The doubtful rows, by place in these.
            answer: What a person says.

        Returns:
            The answer for each row, by its place; `ask` where there is none yet.
        """
        answers: dict[int, Doubtful] = {}
        question: Question = []
        with self.transaction() as db:
            earlier = group(db.execute(_QUESTION, (self.id,)), itemgetter(0))
            is_first = not earlier
            for position, doubt in doubts.items():
                row = repr((*rows[position].content, str(doubt)))
                equal_rows = earlier[row]  # each has an answer of its own
                is_shown = is_first or bool(equal_rows)
                kept_answer: Doubtful = equal_rows.pop(0)[1] if equal_rows else "ask"
                if is_shown and kept_answer == "ask":
                    kept_answer = answer
                answers[position] = kept_answer
                question.append((row, kept_answer))
            self._add_import(question)
        return answers

    def add_file(
        self,
        rows: Sequence[Entry],
        doubts: Mapping[int, Doubt],
        *,
        answers: Mapping[int, Doubtful],
        compared: bool,
    ) -> None:
        """
        Add the rows of a file, with the answer to those that are doubtful.

        Args:
            rows: In the order of the file, each with its entry (`match`).
            doubts: The doubtful rows, by place in these.
            answers: `send` or `skip` for each of these; a row is skipped for good where
                it equals something that is known to exist.
            compared: The rows were compared with a listing.
        """
        now = self.clock.now()
        records = []
        for position, row in enumerate(rows):
            doubt = doubts.get(position)
            answered = row.answered
            state = "skipped" if answers.get(position) == "skip" else "unsent"
            detail = ""
            if doubt is not None:
                detail = str(doubt)
                is_final = state == "unsent" or not doubt.is_open
                answered = doubt.rows + 1 if is_final else 0
            facts = (row.number, state, answered, compared, detail, now)
            records.append((row.key or None, self.id, *row.content, *facts))
        with self.transaction() as db:
            self._add_import([])
            db.execute("UPDATE row SET present = 0 WHERE import = ?", (self.id,))
            db.executemany(_ADD, records)
            db.execute(
                "DELETE FROM row WHERE import = ? AND NOT present"
                " AND state IN ('unsent', 'rejected')",
                (self.id,),
            )
            brings_rows = any(not row.key for row in rows)
            db.execute(_TAKE_POSITIONS, {"id": self.id, "brings_rows": brings_rows})

    def record(
        self, outcomes: Iterable[tuple[Entry, Outcome]], *, intent: Entry | None = None
    ) -> bool:
        """
        Record what became of rows on their way, and that another one is to leave, in
        one commit.

        Args:
            outcomes: The rows, and what became of each.
            intent: The row that is sent next. Where another import sent an equal one
                since the file was compared, or since a person answered, it is left out
                until the next run.

        Returns:
            Whether the next row may leave.

        Raises:
            JournalError: A row is not on its way, or the file cannot be written.
        """
        with self.transaction() as db:
            for entry, outcome in outcomes:
                facts = {"key": entry.key, "pet_id": outcome.pet_id}
                if db.execute(_IS_FOREIGN, facts).fetchone()[0]:
                    finder = f"petstore-tools imports reconcile {self.id}"
                    said = f"the answer names id {outcome.pet_id}, which is another"
                    said += f" animal's: {finder} finds its own"
                    outcome = Outcome(outcome.state, detail=said)
                self.settle(entry, outcome)
                changed = ((field,) for field in outcome.changed)
                db.executemany("INSERT OR IGNORE INTO changed VALUES (?)", changed)
            if intent is None:
                return False
            equal = self._find_equal_rows(_ONE_ROW, intent.content).get(0)
            may_leave = equal is None or equal.rows < intent.answered
            detail = "" if may_leave else str(equal)
            self._change(_INTEND, intent, may_leave=may_leave, detail=detail)
        return may_leave

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
        facts |= {"key": entry.key, "now": self.clock.now()}
        if not self._db.execute(update, facts).rowcount:
            raise JournalError(
                f"another program changed row {entry.number} of import"
                f" {entry.import_id} meanwhile"
            )

    def _find_equal_rows(
        self, file: str, values: Iterable[object] = ()
    ) -> dict[int, Doubt]:
        """Return what other imports sent with the values of a table, by place in it."""
        rows = self._db.execute(
            "SELECT place, import, number, state, pet_id,"
            f" count(*) OVER (PARTITION BY place) FROM {file} f"
            " JOIN row o USING (name, category_id) WHERE import != ? AND NOT waits"
            " AND (o.status IS f.status OR o.status IS NULL OR f.status IS NULL)"
            " AND (state != 'skipped' OR detail NOT LIKE 'equal:%')"
            " ORDER BY state = 'skipped' DESC, state IN ('sending', 'unknown') DESC",
            (*values, self.id),
        )
        doubts = {}
        for position, import_id, number, state, pet_id, count in rows:
            animal = state if pet_id is None else f"id {pet_id}"
            because = f"row {number} of import {import_id} {_IS_EQUAL} ({animal})"
            because += f", and {count - 1:,} more" if count > 1 else ""
            is_open = state in ("sending", "unknown")
            doubts[position] = Doubt("equal", because, is_open=is_open, rows=count)
        return doubts

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
            self._add_import()
            db.execute("INSERT OR IGNORE INTO written VALUES (?, ?)", (self.id, digest))

    def forget(self) -> None:
        """Delete what is known of this import, so that its file counts as new."""
        with self.transaction() as db:
            db.execute("DELETE FROM import WHERE id = ?", (self.id,))

    def _add_import(self, question: Question | None = None) -> None:
        """Add this import, or change it; None leaves its question as it is."""
        facts = asdict(self.target) | {
            "id": self.id,
            "path": str(self.target.path),
            "bad_rows": self.bad_rows,
            "now": self.clock.now(),
            "question": None if question is None else json.dumps(question),
        }
        self._db.execute(_ADD_IMPORT, facts)

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
            self._db.execute(f"PRAGMA busy_timeout = {sqlite.BUSY_S * 1_000:.0f}")
            yield self._db


def read_entries(
    db: sqlite3.Connection, where: str, values: tuple[object, ...] | dict[str, object]
) -> list[Entry]:
    """Return the rows that a condition names, by their place in the sheet."""
    rows = db.execute(
        f"SELECT {_ENTRY} FROM row WHERE {where} ORDER BY number, key", values
    )
    return [
        Entry(*row[:2], PetValues(*row[2:5]), *row[5:])  # type: ignore[call-arg]
        for row in rows
    ]


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
