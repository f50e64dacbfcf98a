"""Bulk import: preview, send, results."""

from petstore_tools.importing.options import ImportOptions
from petstore_tools.importing.preview import ImportPreview, preview
from petstore_tools.importing.results import ImportResult
from petstore_tools.importing.run import run
from petstore_tools.importing.send import Progress, Stopped

__all__ = ["ImportOptions", "ImportPreview", "ImportResult", "Progress", "Stopped", "preview", "run"]
