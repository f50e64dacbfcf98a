"""The interface as an OpenAPI 3.1 document: `openapi.json`, with the document's names and our choices."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def document() -> bytes:
    """Return the document as JSON in UTF-8."""
    return files("petstore_tools.service").joinpath("openapi.json").read_bytes()
