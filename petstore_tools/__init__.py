"""
Jupyter and data-workflow toolkit for the Animal Store Service; names load on first use.
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

from petstore_tools._version import __version__ as __version__

if TYPE_CHECKING:
    from petstore_tools.errors import (
        ApiError,
        ArgumentError,
        BadRequestError,
        DoubtfulRowsError,
        FrameError,
        HistoryError,
        IncompleteListingError,
        Interrupted,
        JournalError,
        KeyBannedError,
        LedgerError,
        MissingExtraError,
        NotFoundError,
        OutputError,
        PetstoreError,
        ProtocolError,
        QuotaError,
        SettingsError,
        SheetError,
        TransportError,
        UnauthorizedError,
    )
    from petstore_tools.history.database import Snapshot, Snapshots
    from petstore_tools.importing.options import Progress
    from petstore_tools.importing.preview import ImportPreview
    from petstore_tools.importing.results import ImportResult
    from petstore_tools.listing.completeness import Listing
    from petstore_tools.listing.pages import Page, Pages
    from petstore_tools.models import Pet
    from petstore_tools.plans import Plan
    from petstore_tools.reporting.report import StatusReport, status_report
    from petstore_tools.sandbox import Sandbox
    from petstore_tools.sandbox.faults import Fault
    from petstore_tools.store import PetStore
    from petstore_tools.throttle.quota import Quota

# silent until the caller adds another handler
logging.getLogger(__name__).addHandler(logging.NullHandler())

__all__ = [
    "ApiError",
    "ArgumentError",
    "BadRequestError",
    "DoubtfulRowsError",
    "Fault",
    "FrameError",
    "HistoryError",
    "ImportPreview",
    "ImportResult",
    "IncompleteListingError",
    "Interrupted",
    "JournalError",
    "KeyBannedError",
    "LedgerError",
    "Listing",
    "MissingExtraError",
    "NotFoundError",
    "OutputError",
    "Page",
    "Pages",
    "Pet",
    "PetStore",
    "PetstoreError",
    "Plan",
    "Progress",
    "ProtocolError",
    "Quota",
    "QuotaError",
    "Sandbox",
    "SettingsError",
    "SheetError",
    "Snapshot",
    "Snapshots",
    "StatusReport",
    "TransportError",
    "UnauthorizedError",
    "status_report",
]
_MODULES = {  # the errors are in `errors`
    "Fault": "sandbox.faults",
    "ImportPreview": "importing.preview",
    "ImportResult": "importing.results",
    "Listing": "listing.completeness",
    "Page": "listing.pages",
    "Pages": "listing.pages",
    "Pet": "models",
    "PetStore": "store",
    "Plan": "plans",
    "Progress": "importing.options",
    "Quota": "throttle.quota",
    "Sandbox": "sandbox",
    "Snapshot": "history.database",
    "Snapshots": "history.database",
    "StatusReport": "reporting.report",
    "status_report": "reporting.report",
}


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'errors')}"), name)


def __dir__() -> list[str]:
    return __all__
