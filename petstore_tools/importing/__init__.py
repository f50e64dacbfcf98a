"""Bulk import: preview, send, results."""

from petstore_tools.importing.options import Order
from petstore_tools.importing.preview import ImportPreview, preview
from petstore_tools.importing.results import ImportResult
from petstore_tools.importing.run import run
from petstore_tools.importing.send import Progress, Stopped

__all__ = ["ImportPreview", "ImportResult", "Order", "Progress", "Stopped", "preview", "run"]
