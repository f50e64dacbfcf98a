"""
Jupyter and data-workflow toolkit for the Animal Store Service; names load on first use.
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

from petstore_tools._version import __version__ as __version__

if TYPE_CHECKING:
    from petstore_tools.errors import *  # noqa: F403
    from petstore_tools.importing.preview import ImportPreview as ImportPreview
    from petstore_tools.importing.results import ImportResult as ImportResult
    from petstore_tools.listing.completeness import Listing as Listing
    from petstore_tools.plans import Plan as Plan
    from petstore_tools.reporting.report import StatusReport as StatusReport
    from petstore_tools.reporting.report import status_report as status_report
    from petstore_tools.sandbox import Sandbox as Sandbox
    from petstore_tools.store import PetStore as PetStore
    from petstore_tools.throttle.quota import Quota as Quota

# silent until the caller adds another handler
logging.getLogger(__name__).addHandler(logging.NullHandler())

_HOME = {
    "ImportPreview": "importing.preview",
    "ImportResult": "importing.results",
    "Listing": "listing.completeness",
    "PetStore": "store",
    "Plan": "plans",
    "Quota": "throttle.quota",
    "Sandbox": "sandbox",
    "StatusReport": "reporting.report",
    "status_report": "reporting.report",
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    """Load a public name on first use: an entry of `_HOME`, or an error class."""
    is_error = name.endswith("Error") or name == "Interrupted"
    if name not in _HOME and not is_error:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME.get(name, 'errors')}"), name)


def __dir__() -> list[str]:
    return __all__
