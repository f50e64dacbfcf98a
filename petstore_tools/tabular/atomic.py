"""Files that are written whole or not at all."""

import errno
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from petstore_tools.errors import OutputError

_HELPS = {
    errno.ENOENT: "create it, or choose another one",
    errno.ENOSPC: "make room on its disk, or choose another folder",
    errno.EDQUOT: "make room on its disk, or choose another folder",
}
_PAUSES_S = (0.02, 0.05, 0.1, 0.2, 0.4)


def check_writable(path: Path, remedy: str = "choose another folder") -> None:
    """
    Try to write in the folder of a file, and leave nothing there; before a request is
    spent on it.

    Args:
        path: The file.
        remedy: What a person can do if the folder refuses.

    Raises:
        OutputError: The folder is missing or cannot be written, or the path is that of
            a folder or a device.
    """
    path = Path(os.path.expanduser(path))
    folder = path.parent.absolute()
    # also of a name that is too long; a device would be replaced
    if os.path.exists(path) and not os.path.isfile(path):
        raise OutputError(f"{path} is a folder or a device, not a file: name a file")
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"a disk that is full refuses this")
    except OSError as error:
        help_ = _HELPS.get(error.errno or 0, remedy)
        raise OutputError(
            f"the folder {folder} cannot be written ({error.strerror}): {help_}"
        ) from error


def numbered(path: Path, number: int) -> Path:
    """
    Return the path of a further file of a name; the first has no number.

    >>> numbered(Path("animals.imported.csv"), 2).name
    'animals.imported.2.csv'
    """
    return path.with_stem(f"{path.stem}.{number}") if number > 1 else path


def existing_numbers(path: Path) -> list[int]:
    """Return the numbers of the files of a name that are there, in their order."""
    names = re.compile(rf"{re.escape(path.stem)}(?:\.(\d+))?{re.escape(path.suffix)}")
    matches = map(names.fullmatch, os.listdir(path.parent))
    return sorted(int(match[1] or 1) for match in matches if match)


def write_output(path: Path, content: bytes) -> None:
    """
    Write a file that somebody asked for, whole or not at all; a symbolic link to it
    stays one.

    >>> write_output(Path("notes.txt"), b"3 dogs")
    >>> Path("notes.txt").read_bytes()
    b'3 dogs'

    Raises:
        OutputError: It cannot be written.
    """
    path = Path(os.path.expanduser(path))
    check_writable(path)
    try:
        replace_file(Path(os.path.realpath(path)), content)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", "the name is no text")
        raise OutputError(
            f"{path} cannot be written ({reason}): close it where it is open, or choose"
            " another name or folder"
        ) from error


def replace_file(
    path: Path, content: bytes, check: Callable[[bytes], object] = len
) -> None:
    """
    Write a file beside its place and move it there: a reader sees the old one or the
    new one.

    Args:
        path: Its place.
        content: What is written.
        check: Called with what can be read of the new file, before it is moved; an
            error keeps the old file.
    """
    # short: a name may be long
    temporary = path.with_name(f".petstore-{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as file:
            if path.exists():  # before anything is in it that nobody else may read
                shutil.copymode(path, temporary)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        check(temporary.read_bytes())
        # Windows refuses that for as long as another program reads the old one
        for pause_s in _PAUSES_S:
            with suppress(PermissionError):
                return os.replace(temporary, path)
            time.sleep(pause_s)
        return os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
