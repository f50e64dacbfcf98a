"""
Pure: the exception tree; one root, and branches that follow what a caller can do about
it.

- PetstoreError
    - TransportError           no usable reply arrived; `may_have_left` is False only
      where it is proven that the request did not leave
    - ProtocolError            the reply contradicts the document
    - ApiError                 an Error answer of the service (§2.5, §7)
        - BadRequestError      400, also a ValueError
        - UnauthorizedError    401
        - NotFoundError        404, also a LookupError
        - KeyBannedError       429 that names a ban of the key; `retry_at`
    - QuotaError               the plan, a 429 or a 503 asks for a longer wait than
      allowed; `resumes_at`
    - IncompleteListingError   a listing that had to be complete is not; `listing`
    - LedgerError              the shared budget cannot be read or written
    - JournalError             the record of an import cannot be trusted, or is in use
    - HistoryError             the kept listings cannot be read, or a listing cannot be
      kept
    - DoubtfulRowsError        rows of an import may exist already, and nobody said what
      to do with them; `preview`
    - SheetError               a spreadsheet cannot be used, also a ValueError
    - FrameError               a frame cannot be used as a listing, also a ValueError
    - SettingsError            base address, key or plan is missing or wrong
    - MissingExtraError        an optional part is not installed, also an ImportError
    - OutputError              an output file cannot be written, also an OSError
    - ArgumentError            an argument cannot be used, and nothing was sent; also a
      ValueError

A notebook shows each of them as one line, without a traceback: they are expected. Times
are Unix seconds. No message holds a key.
"""

import copyreg
from http import HTTPStatus
from typing import Any

from petstore_tools.text import option, utc_text


def drop_frames(error: BaseException) -> BaseException:
    """
    Remove an error's traceback and cause: a frame of another library may hold a key or
    a password.
    """
    error.__traceback__ = error.__cause__ = error.__context__ = None
    return error


class _OneLine(BaseException):
    """An expected error: a notebook shows it as one line, without a traceback."""

    def __init_subclass__(cls) -> None:
        if cls.__module__ == __name__:
            cls.__module__ = "petstore_tools"

    def _render_traceback_(self) -> list[str]:  # asked for by IPython
        return [f"{type(self).__name__}: {self}"]

    # without it, a pool of processes breaks at an error of a worker
    def __reduce__(self) -> tuple[Any, ...]:
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]


class PetstoreError(_OneLine, Exception):
    """
    Root of everything this package raises on purpose.

    Attributes:
        result: The `ImportResult` of an import that it ended, else None.
    """

    result: object = None


class TransportError(PetstoreError):
    """
    No usable reply arrived.

    Attributes:
        may_have_left: False only where it is proven that no byte of the request reached
            the service.
    """

    def __init__(self, message: str, *, may_have_left: bool = True) -> None:
        super().__init__(message)
        self.may_have_left = may_have_left


class ProtocolError(PetstoreError):
    """The reply contradicts the interface document."""


class ApiError(PetstoreError):
    """
    An error answer of the service (§2.5, §7).

    Attributes:
        status: The HTTP status code.
        code: The machine-readable code, or "" where the body had none (values: not
            shown, §7).
        message: The human-readable description.
        request_line: Method and path of the request, without key.
    """

    help = ""  # what fixes it, where that is known of the kind

    def __init__(self, status: int, code: str, message: str, request_line: str) -> None:
        label = f"{status} {code}".rstrip()
        help_ = self.help
        # a create may have been carried out
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR and request_line[:3] == "GET":
            help_ = "; run the same call again later"
        super().__init__(f"{request_line}: {label}: {message}{help_}")
        self.status = status
        self.code = code
        self.message = message
        self.request_line = request_line


class BadRequestError(ApiError, ValueError):
    """400: the body or a parameter is missing or invalid (§4.2, §7)."""


class UnauthorizedError(ApiError):
    """401: the API key is missing or invalid (§5)."""

    help = (
        "; check the key (PETSTORE_API_KEY, in staging PETSTORE_STAGING_API_KEY) and"
        " the address, or run petstore-tools configure"
    )


class NotFoundError(ApiError, LookupError):
    """404: the animal cannot be found (§4.3, §7)."""


class KeyBannedError(ApiError):
    """
    429 that names a temporary ban of the key (§8.4).

    After any other 429 the toolkit waits, or raises QuotaError if the wait is longer
    than allowed.

    Attributes:
        retry_at: Unix seconds from which a request may go again.
    """

    def __init__(self, reason: str, *, retry_at: float) -> None:
        super().__init__(429, "", reason, "")
        self.args = (
            f"No request may be sent now: {reason}. Run the same call again from"
            f" {utc_text(retry_at)} on.",
        )
        self.retry_at = retry_at


class QuotaError(PetstoreError):
    """
    No request may be sent now because of the plan, a 429 or a 503, and the wait is
    longer than allowed.

    Attributes:
        reason: What is used up or who asked for the wait, in words.
        resumes_at: Unix seconds from which the same call can go on.
    """

    def __init__(self, reason: str, *, resumes_at: float) -> None:
        super().__init__(
            f"No request may be sent now: {reason}. Run the same call again from"
            f" {utc_text(resumes_at)} on; listings, imports and reports wait with"
            f" {option('wait', True)}."
        )
        self.reason = reason
        self.resumes_at = resumes_at


class IncompleteListingError(PetstoreError):
    """
    A listing that had to be complete is not.

    Attributes:
        listing: What it is of, and why it is not complete; the frame, where there is
            one, is the store's `last_partial`.
    """

    def __init__(self, listing: Any) -> None:
        super().__init__(listing.shortfall)
        self.listing = listing


class Interrupted(_OneLine, KeyboardInterrupt):
    """
    Ctrl-C, with a sentence on what was kept; a notebook shows it in place of a
    traceback.

    Attributes:
        result: The `ImportResult` of an import, else None.
    """

    def __init__(self, message: str, *, result: object = None) -> None:
        super().__init__(message)
        self.result = result


class LedgerError(PetstoreError):
    """The shared budget cannot be read or written; nothing was sent."""


class JournalError(PetstoreError):
    """The record of an import cannot be trusted or is in use; nothing was sent."""


class HistoryError(PetstoreError):
    """The kept listings cannot be read, or a listing cannot be kept."""


class DoubtfulRowsError(PetstoreError):
    """
    Rows of an import may exist already, and nobody said what to do with them; nothing
    was sent.

    Attributes:
        preview: The `ImportPreview` that names them.
    """

    def __init__(self, message: str, preview: Any) -> None:
        super().__init__(message)
        self.preview = preview


class SheetError(PetstoreError, ValueError):
    """A spreadsheet cannot be used as it is."""


class FrameError(PetstoreError, ValueError):
    """
    A DataFrame is not usable as a listing: a column, its dtype, or its record of the
    listing is wrong.
    """


class SettingsError(PetstoreError):
    """The base address, the key, the plan or the settings file is missing or wrong."""


class MissingExtraError(PetstoreError, ImportError):
    """
    An optional part of the toolkit is not installed.

    Attributes:
        name: The extra, or the package.
    """


class OutputError(PetstoreError, OSError):
    """An output file cannot be written; the message names its folder and says why."""


class ArgumentError(PetstoreError, ValueError):
    """An argument cannot be used; nothing was sent to the service."""
