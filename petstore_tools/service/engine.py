"""
A database as the service uses it: execute, hold a transaction, renew a connection that failed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

from petstore_tools.errors import PetstoreError, SettingsError

LOCKED: Final = "is locked by another program"
READ_ONLY: Final = "is read-only"
SILENT: Final = "did not answer in time"
Rows = list[tuple[Any, ...]]
NewPet = tuple[str, int, str | None]  # name, category id, status
Statement = tuple[str, Sequence[object]]  # with `?` for each value


class UnavailableError(PetstoreError):
    """
    The database cannot be used now.

    Attributes:
        reason: Why, to follow the words "the database".
        unknown: It is not known whether the commit was made; else nothing was changed.
    """

    def __init__(self, reason: str, *, unknown: bool = False) -> None:
        done = "it is not known whether the change was made" if unknown else "nothing was changed"
        super().__init__(f"the service's database {reason}; {done}")
        self.reason, self.unknown = reason, unknown


class Engine(ABC):
    """
    A database, and a connection to it that is opened anew after it failed.

    Attributes:
        name: What it is called in messages: a file, or host and database; never a password.
        row_lock: What makes a SELECT hold its rows.
        local: It is in this process: only other programs and a slow disk can hold it up.
        clock: What reads its Unix seconds, so that workers on many machines agree; NULL: the
            service's clock.
    """

    name: str
    row_lock, local = "", False
    clock = "NULL"
    _db_errors: tuple[type[Exception], ...]
    _db: Any = None

    def execute(self, *statements: Statement) -> list[Rows]:
        """
        Execute statements one after the other, in one round trip, and return the rows of each.
        """
        rows: list[Rows] = self._call(self._run, statements)
        return rows

    @contextmanager
    def transaction(
        self, *first: Statement, durable: bool = True, within_s: float | None = None
    ) -> Iterator[list[Rows]]:
        """
        Make what happens inside happen as one, or not at all; give the rows of the first
        statements.

        Args:
            first: Statements that change nothing; they cost no round trip of their own.
            durable: It survives a power loss once it has happened.
            within_s: How long others may hold it up; PostgreSQL: all waiting for the server
                together.

        Raises:
            UnavailableError: The database cannot be used. Only its commit can have an unknown
                outcome.
        """
        was_open = self._db is not None
        try:
            rows = self._opened(first, durable, within_s)
        except UnavailableError as error:
            if not was_open or error.reason in (LOCKED, SILENT):
                raise
            rows = self._opened(
                first, durable, within_s
            )  # the old connection was bad: nothing has begun
        with self._undone_on_errors():
            yield rows
            self._check()
        try:
            self._run([("COMMIT", ())])
        except self._db_errors as error:
            self.close()
            unknown = not self._is_undone(error)
            raise UnavailableError(self._reason(error), unknown=unknown) from error

    def _opened(
        self, first: Sequence[Statement], durable: bool, within_s: float | None
    ) -> list[Rows]:
        self._call(self._begin, durable, within_s)
        with self._undone_on_errors():
            return self.execute(*first)

    @contextmanager
    def _undone_on_errors(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            if self._db is not None:
                with suppress(UnavailableError):
                    self.execute(("ROLLBACK", ()))
            raise

    def close(self) -> None:
        """Close the connection; the next use opens another."""
        db, self._db = self._db, None
        if db is not None:
            with suppress(*self._db_errors):
                db.close()

    @abstractmethod
    def _run(self, statements: Sequence[Statement]) -> list[Rows]:
        """Execute statements; the database's own errors come as they are."""

    @abstractmethod
    def _begin(self, durable: bool, within_s: float | None) -> None:
        """
        Connect where there is no connection, and begin a transaction, now or with what runs next.
        """

    @abstractmethod
    def adding(self, pets: Iterable[NewPet]) -> list[Statement]:
        """Return the statements that add animals, and whose rows are their ids."""

    def _check(self) -> None:  # noqa: B027
        """Make sure that a commit would be kept."""

    @abstractmethod
    def _reason(self, error: Exception) -> str:
        """Say why the database cannot be used."""

    @abstractmethod
    def _is_undone(self, error: Exception) -> bool:
        """Say whether a commit that failed so is known to have changed nothing."""

    def _call(self, action: Callable[..., Any], *values: Any) -> Any:
        """Call; say an error in our words, and close the connection: its state is not known."""
        try:
            return action(*values)
        except self._db_errors as error:
            self.close()
            raise UnavailableError(self._reason(error)) from error

    @contextmanager
    def _starting(self, name: str, advice: str = "") -> Iterator[None]:
        """Say at the start that a database cannot be used, and close it."""
        try:
            yield
        except Exception as error:
            self.close()
            if not isinstance(error, (UnavailableError, *self._db_errors)):
                raise
            why = error.reason if isinstance(error, UnavailableError) else self._reason(error)
            raise SettingsError(f"the service's database {name} {why}{advice}") from error
