"""Exit codes: one table for errors, one for imports that stopped."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any

import click

from petstore_tools import errors
from petstore_tools.cli.options import write_message

if TYPE_CHECKING:
    from petstore_tools.importing.results import ImportResult

DONE = 0
# some rows rejected, unknown or skipped as doubtful in this run, or a listing not
# complete
INCOMPLETE = 1
# wrong usage or settings, a budget file or an input that cannot be used, a bug of ours
USAGE = 2
KEY_REFUSED = 3
# stopped at a quota or by a block; the same command continues later
AT_A_LIMIT = 4
SERVICE = 5  # cannot be reached, fails, or contradicts the interface document
INTERRUPTED = 130

_ERROR_CODES = {  # the nearest kind first
    INCOMPLETE: errors.IncompleteListingError,
    KEY_REFUSED: errors.UnauthorizedError,
    AT_A_LIMIT: errors.KeyBannedError | errors.QuotaError,
    SERVICE: errors.ApiError | errors.ProtocolError | errors.TransportError,
    INTERRUPTED: click.Abort | KeyboardInterrupt,
}
_STOP_CODES = {
    "key refused": KEY_REFUSED,
    "quota": AT_A_LIMIT,
    "banned": AT_A_LIMIT,
    "service": SERVICE,
    "interrupted": INTERRUPTED,
    "unknown rows": INCOMPLETE,
}


def error_code(error: BaseException) -> int:
    """Return the exit code of an error: that of its nearest kind in the table."""
    for code, kinds in _ERROR_CODES.items():
        if isinstance(error, kinds):
            return code
    return USAGE


def show_error(error: BaseException) -> None:
    """Write what ended a command to stderr; an unexpected error, with its traceback."""
    if isinstance(error, click.ClickException):
        error.show()
    elif error_code(error) == INTERRUPTED:
        write_message("Interrupted.")
    elif is_bug(error):
        traceback.print_exception(error)
        write_message("This is a mistake of petstore_tools. Please report these lines.")
    else:
        write_message("\n".join([f"Error: {error}", *getattr(error, "__notes__", ())]))


def is_bug(error: BaseException) -> bool:
    """Say whether an error is unexpected, and so a bug."""
    expected_errors = (click.ClickException, errors.PetstoreError, OSError)
    return error_code(error) != INTERRUPTED and not isinstance(error, expected_errors)


def error_facts(error: BaseException) -> dict[str, Any]:
    """Return what `--json` prints of an error, with what is known of an import."""
    message = str(error) or "Interrupted."
    if isinstance(error, click.ClickException):
        message = error.format_message()
    summary = getattr(error, "result", None) or getattr(error, "preview", None)
    facts = {} if summary is None else summary.to_dict()
    return {**facts, "error": type(error).__name__, "message": message}


def result_code(result: ImportResult) -> int:
    """Return the exit code of an import."""
    kind = result.stopped.kind if result.stopped else ""
    uncreated_rows = result.rejected or result.unknown or result.skipped_now
    return _STOP_CODES.get(kind, INCOMPLETE if uncreated_rows else DONE)
