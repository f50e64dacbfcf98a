"""Which file system a folder is on, from literal texts of /proc/self/mountinfo."""

from __future__ import annotations

import pytest

from petstore_tools.file_systems import is_shared, kind

HUB = r"""
1452 1299 0:217 / / rw,relatime master:512 - overlay overlay rw,lowerdir=/var/lib/l1,upperdir=/var/lib/u
1453 1452 0:220 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw
1457 1452 8:1 /pods/x/etc-hosts /etc/hosts rw,relatime - ext4 /dev/sda1 rw
1460 1452 0:214 /home/jovyan /home/jovyan rw,relatime shared:3 - nfs4 10.0.3.7:/export rw,vers=4.1,hard
1461 1460 0:215 / /home/jovyan/scratch rw,relatime - tmpfs tmpfs rw
1462 1452 0:51 / /mnt/team\040share rw,relatime - cifs //files/team rw,vers=3.1.1
1463 1452 0:52 / /work rw - autofs systemd-1 rw,fd=29
1464 1463 0:53 / /work/lustre rw shared:9 master:2 - lustre 10.1.1.1@o2ib:/fs rw,flock
1465 1452 0:54 / /mnt/s rw - fuse.sshfs host:/srv rw,user_id=0
1466 1452 8:17 / /mnt/usb rw - fuseblk /dev/sdb1 rw
1467 1452 8:33 / /data rw - xfs /dev/sdc1 rw
1468 1467 0:60 / /data rw - ceph 10.2.2.2:/ rw
"""


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("/home/jovyan/.local/state/petstore-tools", "nfs4"),
        ("/home/jovyan", "nfs4"),
        ("/home/jovyan2", "overlay"),
        ("/home/jovyan/scratch/state", "tmpfs"),
        ("/mnt/team share/state", "cifs"),
        ("/work/lustre/me", "lustre"),
        ("/mnt/s/x", "fuse.sshfs"),
        ("/mnt/usb/x", "fuseblk"),
        ("/data/x", "ceph"),
        ("/", "overlay"),
    ],
)
def test_the_longest_mount_that_holds_a_folder_tells(folder: str, expected: str) -> None:
    """Of two on one place the later one; a blank in a name is written as a code."""
    assert kind(HUB, folder) == expected


def test_a_text_that_says_nothing_is_no_answer() -> None:
    """Another system, or a text that was cut: unknown, and nothing breaks."""
    assert kind("", "/home") == ""
    assert kind("27 1 8:1 / / rw\n1 2 3 - \nx - ext4\n", "/home") == ""


def test_what_machines_may_share_is_told_from_disks_of_this_machine() -> None:
    """
    Every FUSE file system may be one of them, but for a disk that a driver reads through FUSE.
    """
    shared = (
        "nfs nfs4 cifs smb3 lustre gpfs 9p afs ceph beegfs fuse fuse.sshfs fuse.s3fs fuse.glusterfs"
    )

    assert all(map(is_shared, shared.split()))
    assert not any(
        map(is_shared, ["ext4", "xfs", "btrfs", "zfs", "overlay", "tmpfs", "apfs", "fuseblk", ""])
    )
