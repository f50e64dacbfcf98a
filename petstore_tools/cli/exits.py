"""Exit codes: one table for errors, one for imports that stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from petstore_tools import errors

if TYPE_CHECKING:
    from petstore_tools.importing.results import ImportResult

DONE: Final = 0
PARTLY: Final = 1  # some rows rejected or unknown, or a listing that is not complete
USAGE: Final = 2  # wrong usage or settings, or a budget file or an input that cannot be used
KEY_REFUSED: Final = 3
AT_A_LIMIT: Final = 4  # stopped at a quota or by a block; the same command continues later
SERVICE: Final = 5  # cannot be reached, fails, or contradicts the interface document
INTERRUPTED: Final = 130

_OF_ERRORS: Final = {
    errors.IncompleteListingError: PARTLY,
    errors.UnauthorizedError: KEY_REFUSED,
    errors.KeyBannedError: AT_A_LIMIT,
    errors.QuotaError: AT_A_LIMIT,
    errors.ApiError: SERVICE,
    errors.PagingError: SERVICE,
    errors.ProtocolError: SERVICE,
    errors.TransportError: SERVICE,
}
_OF_STOPS: Final = {
    "unknown rows": PARTLY,
    "key refused": KEY_REFUSED,
    "quota": AT_A_LIMIT,
    "banned": AT_A_LIMIT,
    "service": SERVICE,
    "interrupted": INTERRUPTED,
}


def of_error(error: errors.PetstoreError) -> int:
    """Return the exit code of an error: that of its nearest kind in the table."""
    return next((_OF_ERRORS[kind] for kind in type(error).__mro__ if kind in _OF_ERRORS), USAGE)


def of_result(result: ImportResult) -> int:
    """Return the exit code of an import."""
    if result.stopped is not None and result.stopped.kind == "first rows":
        return (
            PARTLY
            if any(entry.state in ("rejected", "unknown") for entry in result.entries)
            else DONE
        )
    if result.stopped is not None:
        return _OF_STOPS[result.stopped.kind]
    return DONE if result.complete else PARTLY
