"""
What is installed: the version, in the one place that the package and its build read,
and what adds an optional part of the toolkit.
"""

from __future__ import annotations

__version__ = "1.0.0"


def missing_extra(extra: str, feature: str) -> ImportError:
    """
    Return the error that says what a feature needs, and the line that installs it.

    >>> missing_extra("postgres", "a ledger on PostgreSQL").name
    'postgres'
    """
    # here, since the package loads this file first
    import shlex
    import sys
    from importlib.util import find_spec

    from petstore_tools.errors import MissingExtraError

    part = requirement = extra
    if extra != "pyarrow":  # it is of no extra
        part = f"the extra {extra!r}"
        requirement = f"petstore-tools[{extra}]"
        if address := _installed_from():
            requirement = shlex.quote(f"{requirement} @ {address}")
    line = f"{shlex.quote(sys.executable)} -m pip install {requirement}"
    if find_spec("pip") is None:
        line = f"add {requirement} to the environment of {sys.executable}"
    return MissingExtraError(f"{feature} needs {part}: {line}", name=extra)


def _installed_from() -> str:
    """Return the address that the installer recorded, "" for an index."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        record = distribution("petstore-tools").read_text("direct_url.json")
    except PackageNotFoundError:  # a checkout that was not installed
        return ""
    origin = json.loads(record or "{}")
    system = origin.get("vcs_info", {}).get("vcs", "")
    return f"{system}+{origin.get('url', '')}".lstrip("+")
