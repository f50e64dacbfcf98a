"""
The imports to a place: their database, the lock of each, and what is asked about all.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from petstore_tools import sqlite
from petstore_tools.errors import JournalError, SettingsError
from petstore_tools.importing.entries import OUTCOMES
from petstore_tools.listing.frames import text_dtype
from petstore_tools.text import printable

if TYPE_CHECKING:
    import pandas as pd

_FORMAT = 10
TABLES = f"""
PRAGMA user_version = {_FORMAT};
CREATE TABLE import (
    id TEXT PRIMARY KEY, environment TEXT NOT NULL, service_id TEXT NOT NULL,
    path TEXT NOT NULL, sheet TEXT NOT NULL,
    -- rows of the file that have problems
    bad_rows INTEGER NOT NULL, changed_at REAL NOT NULL,
    -- the answer to the doubtful rows, `ask` where there is none yet, and these rows as
    -- a person was shown them: a JSON list
    answer TEXT NOT NULL, question TEXT NOT NULL
);
CREATE TABLE row (
    entry_id INTEGER PRIMARY KEY,
    import TEXT NOT NULL REFERENCES import (id) ON DELETE CASCADE,
    name TEXT NOT NULL, category_id INTEGER NOT NULL, status TEXT,
    number INTEGER NOT NULL, row_key TEXT NOT NULL,
    -- the values of the file where they are others: a JSON list
    edited TEXT,
    present INTEGER NOT NULL DEFAULT 1, position INTEGER,
    state TEXT NOT NULL CHECK (
        state IN ('unsent', 'sending', 'created', 'rejected', 'unknown', 'skipped')
    ),
    answered INTEGER NOT NULL, compared INTEGER NOT NULL,
    -- of the animal that it made; of the one that the file says it is
    pet_id INTEGER UNIQUE CHECK (pet_id IS NULL OR state = 'created'),
    listed_id INTEGER,
    -- of the one that it was left out as equal to
    equal_id INTEGER,
    detail TEXT NOT NULL, may_be TEXT NOT NULL DEFAULT '',
    sent_after INTEGER NOT NULL DEFAULT 0, absent INTEGER NOT NULL DEFAULT 0,
    -- its id stood in the list, or was written there
    shown INTEGER NOT NULL DEFAULT 0,
    lost_at REAL NOT NULL DEFAULT 0, changed_at REAL NOT NULL,
    -- nobody sent it, or left it out
    waits INTEGER AS (state IN ('unsent', 'rejected'))
);
CREATE INDEX row_values ON row (name, category_id);
CREATE INDEX row_import ON row (import);
CREATE INDEX row_listed ON row (listed_id);
CREATE UNIQUE INDEX row_keys ON row (row_key, import) WHERE row_key != '';
CREATE TABLE listing (number INTEGER PRIMARY KEY);
CREATE TABLE shown (pet_id INTEGER PRIMARY KEY, listing INTEGER NOT NULL);
-- the files of returned lists; of one that a person goes on with, without a digest
CREATE TABLE returned (
    path TEXT PRIMARY KEY,
    import TEXT NOT NULL REFERENCES import (id) ON DELETE CASCADE,
    digest TEXT NOT NULL
)
"""
_TEMPORARY = """
CREATE TEMP TABLE animal (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, category_id INTEGER NOT NULL,
    status TEXT
);
CREATE INDEX temp.animal_values ON animal (name, category_id)
"""
# one of which no more is known than a question that awaits its answer is not shown
_SHOWN = """
SELECT environment, service_id, path, sheet, bad_rows, changed_at FROM import
WHERE question = '[]' OR id IN (SELECT import FROM row)
"""
# a row that its id alone names was not created here
_STATES = """
SELECT iif(may_be != '', 'ambiguous', iif(
    state = 'created' AND pet_id IS NULL AND listed_id IS NOT NULL, 'listed', state
)) AS became, count(*), max(changed_at) FROM row WHERE import = ? GROUP BY became
"""
_MOVE_AWAY = (
    "so it is not known which animals exist already. Put a good copy in its place, or"
    " move it away: then every file counts as new, and its rows are compared with the"
    " inventory"
)
_RUN_AGAIN = "run the same call again: it checks the journal first"


@dataclass(frozen=True)
class Target:
    """
    What an import is for: the key is no part of it, so a new key changes nothing.

    Attributes:
        environment: `production`, `staging` or `sandbox`.
        service_id: Which service it sends to.
        path: The file, absolute; the bare name that was given, which is the same in
            every folder.
        sheet: Of a workbook, else "".
    """

    environment: str
    service_id: str
    path: Path
    sheet: str = ""

    @property
    def id(self) -> str:
        """Name of the import."""
        return digest(self.environment, self.service_id, str(self.path), self.sheet)

    @property
    def label(self) -> str:
        """Name of the file, and of the sheet where it has one, for people."""
        name = printable(self.path.name)
        return f"{name} ({self.sheet})" if self.sheet else name

    @property
    def database_name(self) -> str:
        """Name of its database without the ending: that of all imports to one place."""
        return f"{self.environment}-{digest(self.environment, self.service_id)}"


def digest(*parts: str) -> str:
    """Return what tells some texts from others."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]


def open_database(path: Path, target: Target | None = None) -> sqlite3.Connection:
    """
    Open the database of a place; where there is none, one in memory.

    Raises:
        JournalError: It is damaged, empty, of another version or place, or none of
            ours.
    """
    with journal_errors(path, _MOVE_AWAY):
        if path.exists():
            db = sqlite.connect(path, durability="FULL")
        else:
            db = sqlite3.connect(":memory:", isolation_level=None)
            db.executescript(TABLES)
        try:
            # here an interrupt is heard, and what follows takes no time
            sqlite.execute_when_free(db, "SELECT * FROM sqlite_master")
            db.execute(f"PRAGMA busy_timeout = {sqlite.BUSY_S * 1_000:.0f}")
            sqlite.check_format(db, _FORMAT)
            _check_health(db)
            places = db.execute(
                "SELECT DISTINCT environment, service_id FROM import"
            ).fetchall()
            if target and places not in ([], [(target.environment, target.service_id)]):
                raise sqlite3.DatabaseError("it is of another place")
            db.execute("PRAGMA foreign_keys = ON")
            db.executescript(_TEMPORARY)
        except BaseException:
            db.close()
            raise
    return db


def _check_health(db: sqlite3.Connection) -> None:
    """Raise an error where a database is damaged."""
    # of a commit that was cut short, the tables may be ahead of the indexes
    for remedy in ("REINDEX", ""):
        (health,) = db.execute("PRAGMA integrity_check(1)").fetchone()
        if health == "ok":
            return
        db.execute(remedy)
    raise sqlite3.DatabaseError(f"it is damaged: {health}")


@contextmanager
def journal_errors(path: Path, help_: str = _RUN_AGAIN) -> Iterator[None]:
    """
    Turn the errors of a file that cannot be used into the journal's, with what to do.
    """
    try:
        yield
    except (sqlite3.Error, OSError, UnicodeError) as error:
        text = str(error)
        if (
            "readonly" in text
            or "unable to open" in text
            or isinstance(error, PermissionError | FileNotFoundError)
        ):
            help_ = "its folder cannot be written: allow this user to write there"
        elif "locked" in text:
            help_ = "another program holds it: try again when that has ended"
        elif any(sign in text for sign in ("is full", "No space", "disk I/O")):
            help_ = "make room on its disk, and run the same call again"
        raise JournalError(
            f"the journal {path} cannot be used ({text}); {help_}"
        ) from error


@contextmanager
def import_lock(folder: Path, name: str, *, wait_s: float = 0.5) -> Iterator[None]:
    """
    Hold a lock that ends with its process, through SQLite on every system.

    Raises:
        JournalError: Another holds it, or the folder cannot be written.
    """
    path = folder / f"{name}.lock"
    with journal_errors(path):
        lock = sqlite3.connect(
            path, timeout=wait_s, isolation_level=None, check_same_thread=False
        )
    with closing(lock):
        try:
            with journal_errors(path):
                try:
                    lock.execute("BEGIN EXCLUSIVE")
                except sqlite3.OperationalError as error:
                    if "locked" not in str(error):
                        raise
                    raise JournalError(
                        f"import {name} is running already: wait until it has ended, or"
                        " stop it"
                    ) from error
            yield
        finally:  # an interrupt can keep one of the two from closing it
            lock.close()


def is_running(folder: Path, name: str) -> bool:
    """Say whether a run of an import is under way."""
    try:
        with import_lock(folder, name, wait_s=0):
            return False
    except JournalError:
        return True


@dataclass(frozen=True)
class ImportInfo:
    """
    An import in a journal.

    Attributes:
        target: What it is for.
        changed_at: Unix seconds of its last change.
        states: Rows by state; `listed` are those whose animal the file names by its id,
            and that this import did not make; `ambiguous` are unknown ones that only a
            person can decide. Rows with problems count as rejected.
        bad_rows: Rows with problems that its file had.
    """

    target: Target
    changed_at: float
    states: Counter[str]
    bad_rows: int


def imports_frame(infos: Iterable[ImportInfo]) -> pd.DataFrame:
    """Return imports as `PetStore.imports` does, the last changed first."""
    import pandas as pd

    rows = []
    for info in sorted(infos, key=attrgetter("changed_at"), reverse=True):
        target = info.target
        states = info.states + Counter(unknown=info.states["sending"])
        counts = [*(states[state] for state in OUTCOMES.values()), states["ambiguous"]]
        names = target.id, target.label, target.environment
        rows.append((*names, *counts, info.changed_at))
    kinds: dict[str, str] = dict.fromkeys(
        ("import", "file", "environment"), text_dtype()
    )
    kinds |= dict.fromkeys((*OUTCOMES, "ambiguous"), "int64")
    frame = pd.DataFrame(rows, columns=[*kinds, "changed_at"])
    times = pd.to_datetime(frame["changed_at"], unit="s", utc=True).dt.as_unit("s")
    return frame.assign(changed_at=times).astype(kinds)


def list_imports(folder: Path) -> tuple[list[ImportInfo], list[JournalError]]:
    """Return all imports, and why journals cannot be read."""
    infos: list[ImportInfo] = []
    errors: list[JournalError] = []
    with journal_errors(folder):
        paths = sorted(folder.iterdir()) if folder.exists() else []
    for path in paths:
        if path.suffix != ".db":
            continue
        try:
            infos += read_imports(path)
        except JournalError as error:
            errors.append(error)
    return infos, errors


def read_imports(path: Path) -> list[ImportInfo]:
    """Return the imports of one database."""
    infos = []
    with closing(open_database(path)) as db, journal_errors(path):
        for *place, name, sheet, bad_rows, changed_at in db.execute(_SHOWN):
            target = Target(*place, Path(name), sheet)  # type: ignore[call-arg]
            states = Counter(rejected=bad_rows)
            for state, rows, time in db.execute(_STATES, (target.id,)):
                states[state] += rows
                changed_at = max(changed_at, time)
            infos.append(ImportInfo(target, changed_at, +states, bad_rows))
    return infos


def find_import(folder: Path, import_id: str) -> ImportInfo:
    """
    Return the import whose name begins with `import_id`.

    Raises:
        SettingsError: No name begins so, or several do.
        JournalError: No name does, and a journal cannot be read.
    """
    all_infos, errors = list_imports(folder)
    infos = [info for info in all_infos if info.target.id.startswith(import_id)]
    if len(infos) == 1 and import_id:  # an unset variable of a shell names none
        return infos[0]
    if errors and not infos:
        raise errors[0]
    begin = "several imports begin" if len(infos) > 1 else "no import begins"
    raise SettingsError(
        f"{begin} with {import_id!r}: `petstore-tools imports` lists them"
    )
