"""Exit codes, and errors as one sentence on stderr."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from petstore_tools.errors import (
    ArgumentError,
    FrameError,
    IncompleteListingError,
    JournalError,
    KeyBannedError,
    LedgerError,
    MissingExtraError,
    OutputError,
    PetstoreError,
    QuotaError,
    SettingsError,
    SheetError,
    UnauthorizedError,
)

if TYPE_CHECKING:
    from petstore_tools.importing.results import ImportResult
    from petstore_tools.importing.send import Stopped

DONE: Final = 0
PARTLY: Final = 1  # some rows rejected or unknown, or a listing that is not complete
USAGE: Final = 2  # usage, settings, ledger, or input that cannot be used
KEY_REFUSED: Final = 3
AT_A_LIMIT: Final = 4  # stopped at a quota or by a block; the same command goes on
SERVICE: Final = 5  # unreachable, sick, or contradicting the document
INTERRUPTED: Final = 130


def of_error(error: PetstoreError) -> int:
    """Return the exit code of an error."""
    kinds: tuple[tuple[tuple[type[PetstoreError], ...], int], ...] = (
        ((SettingsError, LedgerError, SheetError, JournalError, FrameError), USAGE),
        ((MissingExtraError, ArgumentError, OutputError), USAGE),
        ((IncompleteListingError,), PARTLY),
        ((UnauthorizedError,), KEY_REFUSED),
        ((QuotaError, KeyBannedError), AT_A_LIMIT),
    )
    return next((code for types, code in kinds if isinstance(error, types)), SERVICE)


def of_result(result: ImportResult) -> int:
    """Return the exit code of an import."""
    if result.stopped is not None:
        return of_stop(result.stopped)
    return DONE if result.complete else PARTLY


def of_stop(stopped: Stopped) -> int:
    """Return the exit code of an import that stopped."""
    codes = {
        "quota": AT_A_LIMIT,
        "banned": AT_A_LIMIT,
        "key refused": KEY_REFUSED,
        "service": SERVICE,
        "interrupted": INTERRUPTED,
        "unknown rows": PARTLY,
    }
    return codes[stopped.kind]
