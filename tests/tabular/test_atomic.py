"""Files that are written whole or not at all, and the rights they get."""

import os
import stat

import pytest

from petstore_tools.errors import OutputError
from petstore_tools.tabular.atomic import replace_file, write_output

posix = pytest.mark.skipif(
    os.name != "posix", reason="rights of files as POSIX has them"
)


def rights(path):
    return stat.S_IMODE(path.stat().st_mode)


@posix
@pytest.mark.parametrize("mode", [None, 0o600, 0o640, 0o666])
def test_a_file_that_is_replaced_keeps_its_rights(tmp_path, mode):
    """
    Settings with a key in them stay closed, and what was opened for a group stays open;
    a new file has the rights of any new file.
    """
    path = tmp_path / "config.toml"
    path.write_bytes(b"old")
    expected_mode = rights(path) if mode is None else mode
    path.chmod(expected_mode)
    if mode is None:
        path.unlink()

    replace_file(path, b"new")

    assert (path.read_bytes(), rights(path)) == (b"new", expected_mode)
    assert [file.name for file in tmp_path.iterdir()] == ["config.toml"]


@posix
def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    """What cannot be moved to its place leaves the old one there, and no other file."""
    path = tmp_path / "report.html"
    (path / "old").mkdir(parents=True)

    with pytest.raises(OSError, match="Is a directory"):
        replace_file(path, b"new")

    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    assert [file.name for file in path.iterdir()] == ["old"]


@posix
def test_what_a_symbolic_link_names_is_written_and_the_link_stays(tmp_path):
    """Whoever opens either sees the new one."""
    (tmp_path / "old.html").write_bytes(b"old")
    link = tmp_path / "newest.html"
    link.symlink_to("old.html")

    write_output(link, b"new")

    assert link.is_symlink()
    assert (tmp_path / "old.html").read_bytes() == b"new"


@posix
def test_a_device_is_not_replaced_by_a_file(tmp_path):
    """Nor is one that a symbolic link names."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "report.html").symlink_to(tmp_path / "pipe")

    with pytest.raises(OutputError, match="a folder or a device, not a file"):
        write_output(tmp_path / "report.html", b"new")

    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
