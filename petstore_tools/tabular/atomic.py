"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from petstore_tools.errors import OutputError

_PAUSES_S: Final = (0.02, 0.05, 0.1, 0.2, 0.4)


def as_on_disk(path: Path) -> Path:
    """
    Return a path without links, and as its folder spells it: some file systems open any spelling.
    """
    path = path.resolve()
    with suppress(OSError):
        names = os.listdir(path.parent)
        same = [name for name in names if name.casefold() == path.name.casefold()]
        if same and path.name not in same:
            return path.with_name(same[0])
    return path


def check_writable(path: Path) -> None:
    """
    Try to write in the folder of a file, and leave nothing there; before a request is spent on it.

    Raises:
        OutputError: The folder is missing or cannot be written, or the path is a folder.
    """
    folder = path.parent.absolute()
    if path.is_dir():
        raise OutputError(f"{path} is a folder, not a file: name a file in it")
    if not folder.is_dir():
        raise OutputError(
            f"there is no folder {folder} for {path.name}: create it, or choose another one"
        )
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"a disk that is full refuses this")
    except OSError as error:
        raise OutputError(
            f"the folder {folder} cannot be written ({_why(error)}): choose another one"
        ) from error


def write_output(path: Path, content: bytes) -> None:
    """
    Write a file that somebody asked for, whole or not at all.

    Raises:
        OutputError: It cannot be written.
    """
    check_writable(path)
    try:
        replace_file(path, content)
    except OSError as error:
        raise OutputError(
            f"{path} cannot be written ({_why(error)}): close it, or choose another name"
        ) from error


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).casefold()


def replace_file(path: Path, content: bytes) -> None:
    """Write a file beside its place and move it there: a reader sees the old one or the new one."""
    temporary = path.with_name(f".petstore-{secrets.token_hex(8)}")  # short: a name may be long
    mode = path.stat().st_mode & 0o777 if path.exists() else None

    def create(name: str, flags: int) -> int:
        # the system takes the umask off
        return os.open(name, flags, 0o666 if mode is None else 0o600)

    try:
        with open(temporary, "xb", opener=create) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            temporary.chmod(mode)
        _move(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _move(temporary: Path, path: Path) -> None:
    """
    Move a file to its place; Windows refuses that for as long as another program reads the old one.
    """
    for pause_s in _PAUSES_S:
        with suppress(PermissionError):
            return os.replace(temporary, path)
        time.sleep(pause_s)
    return os.replace(temporary, path)
