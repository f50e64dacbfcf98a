"""A database as the service uses it: execute, hold a transaction, renew a connection that failed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

from petstore_tools.errors import PetstoreError, SettingsError

LOCKED: Final = "is locked by another program"
READ_ONLY: Final = "is read-only"
SILENT: Final = "did not answer in time"


class UnavailableError(PetstoreError):
    """
    The database cannot be used now.

    Attributes:
        reason: Why, to follow the words "the database".
        unknown: Whether the commit stands is not known; else nothing was changed.
    """

    def __init__(self, reason: str, *, unknown: bool = False) -> None:
        done = "whether the change was made is not known" if unknown else "nothing was changed"
        super().__init__(f"the service's database {reason}; {done}")
        self.reason, self.unknown = reason, unknown


class Engine(ABC):
    """
    A database, and a connection to it that is opened anew after it failed.

    Attributes:
        name: What it is called in messages: a file, or host and database; never a password.
        locking: What makes a SELECT hold its rows.
        clock: What reads its Unix seconds, so that workers on many machines agree; NULL: the service's count.
        bytes_for_names: Names are stored as UTF-8, since its text cannot hold a NUL.
    """

    name: str
    locking: str
    clock: str
    bytes_for_names: bool
    _faults: tuple[type[Exception], ...]
    _db: Any = None

    def execute(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Execute a statement with `?` for each value, and return its rows."""
        try:
            return self._run(statement, values)
        except self._faults as error:
            self._fail(error)
            raise

    @abstractmethod
    def execute_many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """Execute a statement for each row."""

    @contextmanager
    def transaction(self, *, durable: bool, within_s: float | None = None) -> Iterator[None]:
        """
        Make what happens inside happen as one, or not at all.

        Args:
            durable: It survives a power loss once it has happened.
            within_s: How long others may hold it up.

        Raises:
            UnavailableError: The database cannot be used. Only its commit can have an unknown outcome.
        """
        had = self._db is not None
        try:
            self._begin(durable, within_s)
        except UnavailableError as error:
            if not had or error.reason in (LOCKED, SILENT):
                raise
            self._begin(durable, within_s)  # the old connection was bad: nothing has begun
        try:
            yield
            self._check()
        except BaseException:
            self._undo()
            raise
        try:
            self._run("COMMIT")
        except self._faults as error:
            self._fail(error, unknown=not self._is_undone(error))
            raise

    @property
    def local(self) -> bool:
        """Whether it is in this process and open: nothing but other programs and a slow disk hold it up."""
        return False

    @abstractmethod
    def serialise_ids(self) -> None:
        """Let nobody else assign an id until this transaction ends: ids become visible in order."""

    def close(self) -> None:
        """Close the connection; the next use opens another."""
        db, self._db = self._db, None
        if db is not None:
            with suppress(*self._faults):
                db.close()

    @abstractmethod
    def _run(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Execute a statement; the database's own errors come as they are."""

    @abstractmethod
    def _begin(self, durable: bool, within_s: float | None) -> None:
        """Connect where there is no connection, and begin a transaction."""

    def _check(self) -> None:  # noqa: B027
        """Make sure that a commit would be kept."""

    @abstractmethod
    def _reason(self, error: Exception) -> str | None:
        """Say why the database cannot be used; None where the statement is at fault."""

    @abstractmethod
    def _is_undone(self, error: Exception) -> bool:
        """Say whether a commit that failed so is known to have changed nothing."""

    @contextmanager
    def _starting(self, name: str, help_: str = "") -> Iterator[None]:
        """Tell at the start that a database cannot be used, and let go of it."""
        try:
            yield
        except BaseException as error:
            self.close()
            if isinstance(error, UnavailableError):
                raise SettingsError(f"the service's database {name} {error.reason}{help_}") from error
            if isinstance(error, self._faults):
                why = self._reason(error) or f"cannot be used ({type(error).__name__})"
                raise SettingsError(f"the service's database {name} {why}{help_}") from error
            raise

    def _undo(self) -> None:
        if self._db is not None:
            with suppress(UnavailableError):
                self._roll_back()

    def _roll_back(self) -> None:
        self.execute("ROLLBACK")

    def _fail(self, error: Exception, *, unknown: bool | None = None) -> None:
        """
        Tell an error in our words, and let go of the connection; return where a statement is at fault.

        `unknown`: of a commit, whether its outcome is.
        """
        reason = self._reason(error)
        if unknown is not None or reason not in (None, LOCKED):
            self.close()
        if unknown is not None or reason is not None:
            raise UnavailableError(reason or type(error).__name__, unknown=bool(unknown)) from error
