"""Optional parts of the toolkit: what adds one that is not installed."""

from __future__ import annotations

import json
import shlex
import sys
from importlib.util import find_spec

from petstore_tools.errors import MissingExtraError

_PACKAGES = ("pyarrow",)  # optional, and of no extra


def missing_extra(extra: str, feature: str) -> MissingExtraError:
    """
    Return the error that says what a feature needs, and the line that installs it.

    >>> missing_extra("postgres", "a ledger on PostgreSQL").name
    'postgres'
    """
    if extra in _PACKAGES:
        part = requirement = extra
    else:
        part = f"the extra {extra!r}"
        requirement = f"petstore-tools[{extra}]"
        if address := _installed_from():
            requirement = shlex.quote(f"{requirement} @ {address}")
    if find_spec("pip") is None:
        line = f"add {requirement} to the environment of {sys.executable}"
    else:
        line = f"{shlex.quote(sys.executable)} -m pip install {requirement}"
    return MissingExtraError(f"{feature} needs {part}: {line}", name=extra)


def _installed_from() -> str:
    """Return the address that the installer recorded, "" for an index."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        record = distribution("petstore-tools").read_text("direct_url.json")
    except PackageNotFoundError:  # a checkout that was not installed
        return ""
    origin = json.loads(record or "{}")
    system = origin.get("vcs_info", {}).get("vcs", "")
    return f"{system}+{origin.get('url', '')}".lstrip("+")
