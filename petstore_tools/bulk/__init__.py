"""Bulk import: preview, send, results."""

from petstore_tools.bulk.order import Order
from petstore_tools.bulk.preview import ImportPreview, preview
from petstore_tools.bulk.results import ImportResult
from petstore_tools.bulk.run import run
from petstore_tools.bulk.send import Progress, Stopped

__all__ = ["ImportPreview", "ImportResult", "Order", "Progress", "Stopped", "preview", "run"]
