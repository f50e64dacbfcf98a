"""
What is installed: the version, in the one place that the package and its build read,
and what adds an optional part of the toolkit.
"""

__version__ = "1.0.0"


def missing_extra(extra: str, feature: str) -> ImportError:
    """
    Return the error that says what a feature needs, and the line that installs it.

    >>> missing_extra("postgres", "a ledger on PostgreSQL").name
    'postgres'
    """
    # here, since the package loads this file first
    import json
    import sys
    from contextlib import suppress
    from importlib.metadata import PackageNotFoundError, distribution
    from importlib.util import find_spec

    from petstore_tools.errors import MissingExtraError
    from petstore_tools.text import write_command

    part = requirement = extra
    if extra != "pyarrow":  # it is of no extra
        part = f"the extra {extra!r}"
        requirement = f"petstore-tools[{extra}]"
        with suppress(PackageNotFoundError):  # a checkout that was not installed
            # the address that the installer recorded, none for an index
            record = distribution("petstore-tools").read_text("direct_url.json")
            origin = json.loads(record or "{}")
            if url := origin.get("url"):
                system = origin.get("vcs_info", {}).get("vcs", "")
                address = f"{system}+{url}".lstrip("+")
                requirement += f" @ {address}"
    line = write_command([sys.executable, "-m", "pip", "install", requirement])
    if find_spec("pip") is None:
        line = f"add {requirement} to the environment of {sys.executable}"
    return MissingExtraError(f"{feature} needs {part}: {line}", name=extra)
