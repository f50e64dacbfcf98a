"""Exit codes: one table for errors, one for imports that stopped."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any, Final

import click

from petstore_tools import errors

if TYPE_CHECKING:
    from petstore_tools.importing.results import ImportResult

DONE: Final = 0
# some rows rejected, unknown or skipped as doubtful in this run, or a listing not
# complete
PARTLY: Final = 1
# wrong usage or settings, a budget file or an input that cannot be used, a mistake of
# ours
USAGE: Final = 2
KEY_REFUSED: Final = 3
# stopped at a quota or by a block; the same command continues later
AT_A_LIMIT: Final = 4
SERVICE: Final = 5  # cannot be reached, fails, or contradicts the interface document
INTERRUPTED: Final = 130

_OF_ERRORS: Final[dict[type[BaseException], int]] = {  # the nearest kind first
    errors.IncompleteListingError: PARTLY,
    errors.UnauthorizedError: KEY_REFUSED,
    errors.KeyBannedError: AT_A_LIMIT,
    errors.QuotaError: AT_A_LIMIT,
    errors.ApiError: SERVICE,
    errors.ProtocolError: SERVICE,
    errors.TransportError: SERVICE,
    click.Abort: INTERRUPTED,
    KeyboardInterrupt: INTERRUPTED,
}
_OF_STOPS: Final = {
    "key refused": KEY_REFUSED,
    "quota": AT_A_LIMIT,
    "banned": AT_A_LIMIT,
    "service": SERVICE,
    "interrupted": INTERRUPTED,
}


def of_error(error: BaseException) -> int:
    """Return the exit code of an error: that of its nearest kind in the table."""
    return next(
        (code for kind, code in _OF_ERRORS.items() if isinstance(error, kind)), USAGE
    )


def say(error: BaseException) -> None:
    """Write what ended a command to stderr; what nobody foresaw, with its traceback."""
    if isinstance(error, click.ClickException):
        error.show()
    elif of_error(error) == INTERRUPTED:
        click.echo("Interrupted.", err=True)
    elif is_mistake(error):
        traceback.print_exception(error)
        click.echo(
            "This is a mistake of petstore_tools. Please report these lines.", err=True
        )
    else:
        click.echo(
            "; ".join([f"Error: {error}", *getattr(error, "__notes__", ())]), err=True
        )


def is_mistake(error: BaseException) -> bool:
    """Say whether nobody foresaw an error."""
    foreseen = (click.ClickException, errors.PetstoreError, OSError)
    return of_error(error) != INTERRUPTED and not isinstance(error, foreseen)


def facts_of(error: BaseException) -> dict[str, Any]:
    """Return what `--json` prints of an error, with what is known of an import."""
    message = str(error) or "Interrupted."
    if isinstance(error, click.ClickException):
        message = error.format_message()
    known = getattr(error, "result", None) or getattr(error, "preview", None)
    facts = {} if known is None else known.to_dict()
    return {**facts, "error": type(error).__name__, "message": message}


def of_result(result: ImportResult) -> int:
    """Return the exit code of an import."""
    kind = result.stopped.kind if result.stopped else ""
    partly = result.rejected or result.unknown or result.skipped_now
    return _OF_STOPS.get(kind, PARTLY if partly else DONE)
