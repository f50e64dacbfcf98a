"""
Pure: which file system a folder is on, as Linux lists its mounts, and whether machines share it.
"""

from __future__ import annotations

import re
from typing import Final

_SHARED: Final = frozenset(
    "nfs nfs4 cifs smb smb2 smb3 smbfs ncpfs afs lustre gpfs beegfs ceph glusterfs panfs pvfs2 "
    "orangefs "
    "wekafs ocfs2 gfs gfs2 coda 9p virtiofs vboxsf prl_fs".split()
)


def kind(mounts: str, folder: str) -> str:
    """
    Return the type of the file system that a folder is on, "" where no mount holds it.

    Args:
        mounts: Text of `/proc/self/mountinfo`.
        folder: Absolute path with links resolved.
    """
    found = "", ""
    for line in mounts.splitlines():
        mount, separator, source = line.partition(" - ")
        parts = mount.split()
        if not separator or len(parts) < 5 or not source:
            continue
        place = re.sub(
            r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), parts[4]
        )  # a blank is \040
        holds = folder == place or folder.startswith(place.rstrip("/") + "/")
        if holds and len(place) >= len(
            found[0]
        ):  # of two on one place the later one covers the other
            found = place, source.split()[0]
    return found[1]


def is_shared(kind: str) -> bool:
    """
    Say whether machines may share it, so that its locks and its shared memory cannot be relied on.
    """
    return kind in _SHARED or (
        kind.startswith("fuse") and kind != "fuseblk"
    )  # fuseblk: a disk of this machine
