"""A write that dies at any instant leaves every earlier listing; two writers at once lose nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from petstore_tools.history.storage import Storage

WRITER = """
import os, sys
from pathlib import Path
from petstore_tools.history.storage import Storage
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import Columns

def listed(number):
    columns = Columns()
    for n in (number, number + 1):
        columns.add([{"id": n, "name": f"Pet {n}", "categoryId": 3, "status": None}])
    at = 1_767_603_600.0 + number
    return columns.to_frame(Listing("complete", "x", None, 0, "", 1, 1, 0, at, at, "sandbox"))

folder, first, count, place, at, when = sys.argv[1:]
storage, left = Storage(Path(folder)), [int(at)]

def dying(call):
    def wrapped(*args, **more):
        left[0] -= 1
        if left[0] == 0 and when == "before":
            os._exit(9)
        result = call(*args, **more)
        if left[0] == 0:
            os._exit(9)
        return result
    return wrapped

owner, name = {"replace": (os, "replace"), "fsync": (os, "fsync"), "unlink": (Path, "unlink")}[place]
setattr(owner, name, dying(getattr(owner, name)))
for number in range(int(first), int(first) + int(count)):
    with storage.writing():
        storage.add(listed(number))
"""


def write(folder: Path, *, first: int, count: int, dies: tuple[str, int, str]) -> subprocess.Popen[bytes]:
    """Keep listings of two animals each in another process, which dies at the nth call of something."""
    arguments = map(str, (folder, first, count, *dies))
    return subprocess.Popen([sys.executable, "-c", WRITER, *arguments])


NEVER = ("replace", 0, "after")
# a third listing writes three files (closed, open, index), each by fsync and replace, and then unlinks one
DEATHS = [
    (place, at) for place, most in (("fsync", 3), ("replace", 3), ("unlink", 1)) for at in range(1, most + 1)
]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("place", "at"), DEATHS, ids=lambda value: str(value))
def test_a_death_at_any_instant_leaves_what_was_kept(tmp_path: Path, place: str, at: int, when: str) -> None:
    """Two listings are there; the third is there as a whole or not at all, and the next writer goes on."""
    assert write(tmp_path, first=1, count=2, dies=NEVER).wait(60) == 0
    assert write(tmp_path, first=3, count=1, dies=(place, at, when)).wait(60) == 9

    storage = Storage(tmp_path)
    left = [storage.frame(kept)["id"].tolist() for kept in storage.index().listings]
    assert left in ([[1, 2], [2, 3]], [[1, 2], [2, 3], [3, 4]])

    assert write(tmp_path, first=5, count=1, dies=NEVER).wait(60) == 0
    assert [storage.frame(kept)["id"].tolist() for kept in storage.index().listings] == [*left, [5, 6]]


def test_two_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    """Each waits for the other, and every listing of both is rebuilt."""
    writers = [write(tmp_path, first=first, count=8, dies=NEVER) for first in (100, 200, 300)]
    assert [writer.wait(100) for writer in writers] == [0, 0, 0]

    storage = Storage(tmp_path)
    kept = storage.index().listings
    firsts = [storage.frame(one)["id"].min() for one in kept]
    assert [one.number for one in kept] == list(range(1, 25))
    assert sorted(firsts) == [first + n for first in (100, 200, 300) for n in range(8)]
    assert len(list((tmp_path / "stays" / "open").iterdir())) == 1
