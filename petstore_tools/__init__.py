"""Jupyter and data-workflow toolkit for the Animal Store Service; names load on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from petstore_tools._version import __version__ as __version__

if TYPE_CHECKING:
    from petstore_tools.listing.completeness import Listing
    from petstore_tools.plans import Plan
    from petstore_tools.reporting.report import status_report
    from petstore_tools.sandbox import Sandbox
    from petstore_tools.store import PetStore

__all__ = ["Listing", "PetStore", "Plan", "Sandbox", "status_report"]

_HOME: Final = {
    "Listing": "petstore_tools.listing.completeness",
    "PetStore": "petstore_tools.store",
    "Plan": "petstore_tools.plans",
    "Sandbox": "petstore_tools.sandbox",
    "status_report": "petstore_tools.reporting.report",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
