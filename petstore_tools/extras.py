"""
The command that installs an optional part, from where this installation came: a checkout or an
index.
"""

from __future__ import annotations

import json
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

_NAME: Final = "petstore-tools"


def install_line(extra: str) -> str:
    """Return the line that adds an extra to this installation, for a terminal in any folder."""
    from urllib.request import url2pathname

    pip = f"{shlex.quote(sys.executable)} -m pip" if find_spec("pip") else "pip"
    origin = _origin()
    url = str(origin.get("url", ""))
    what = f"{_NAME}[{extra}]"
    if vcs := origin.get("vcs_info", {}).get("vcs"):
        what += f" @ {vcs}+{url}"
    elif url.startswith("file:"):
        what = f"{url2pathname(url.removeprefix('file://'))}[{extra}]"
    editable = "-e " if origin.get("dir_info", {}).get("editable") else ""
    return f"{pip} install {editable}{shlex.quote(what)}"


def _origin() -> dict[str, Any]:
    """Return what the installer recorded of a folder, a file or a repository; {} for an index."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        recorded = distribution(_NAME).read_text("direct_url.json")
    except PackageNotFoundError:  # run from a checkout that was not installed
        return {"url": Path(__file__).parents[1].as_uri(), "dir_info": {"editable": True}}
    origin: dict[str, Any] = json.loads(recorded or "{}")
    return origin
