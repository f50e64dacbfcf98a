"""
A write that dies at any instant leaves every earlier listing; two writers at once lose nothing.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from petstore_tools import spec
from petstore_tools.history.storage import Storage
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import Columns

WRITER = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_storage_deaths import listed
from petstore_tools.history.storage import Storage

folder, first, count, dies_at = Path(sys.argv[2]), *map(int, sys.argv[3:])
storage, done = Storage(folder), []

def boundary(event, args):
    # Python tells each step of a write before it is made
    writes = event == "open" and set(str(args[1])) & set("awx+")
    if (writes or event in ("os.rename", "os.remove")) and str(args[0]).startswith(str(folder)):
        done.append(event)
        if len(done) == dies_at:
            os.kill(os.getpid(), signal.SIGKILL)

frames = [listed(number) for number in range(first, first + count)]
sys.addaudithook(boundary)
for frame in frames:
    with storage.writing():
        storage.add(frame)
print(*done)
"""


def listed(number: int) -> pd.DataFrame:
    """
    Return a complete listing of five animals; another number has other ids, names and statuses.
    """
    columns, at, rng = Columns(), 1_767_603_600.0 + 50_000 * number, random.Random(number)
    columns.add(
        [
            {
                "id": n,
                "name": rng.choice("ABC"),
                "categoryId": 3,
                "status": rng.choice([*spec.STATUSES, None]),
            }
            for n in range(number, number + 5)
        ]
    )
    listing = Listing(
        "complete", "x", None, 0, "", 1, 1, 0, at, at, "sandbox", notes=(str(number),)
    )
    return columns.to_frame(listing)


def write(folder: Path, *, first: int, count: int, dies_at: int = 0) -> list[str]:
    """
    Return the command that keeps listings, which is killed before the nth step of its writing.
    """
    here = str(Path(__file__).parent)
    return [sys.executable, "-c", WRITER, *map(str, (here, folder, first, count, dies_at))]


def assert_kept(storage: Storage, numbers: list[int]) -> None:
    """
    Each of these listings, and no other, is rebuilt exactly, and other tools see each file once.
    """
    kept = storage.index().listings
    assert [one.listing.notes for one in kept] == [(str(number),) for number in numbers]
    for one, number in zip(kept, numbers, strict=True):
        again, frame = storage.frame(one), listed(number)
        pd.testing.assert_frame_equal(again, frame)
        assert again.attrs == frame.attrs


@pytest.fixture(scope="module")
def two_kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A folder with two kept listings, and the steps in which the third one is written."""
    folder = tmp_path_factory.mktemp("two")
    subprocess.run(write(folder, first=1, count=2), check=True)
    again = tmp_path_factory.mktemp("steps")
    shutil.copytree(folder, again, dirs_exist_ok=True)
    done = subprocess.run(
        write(again, first=3, count=1), check=True, capture_output=True, text=True
    )
    return folder, done.stdout.split()


def test_a_write_has_the_steps_that_are_tried(two_kept: tuple[Path, list[str]]) -> None:
    """
    Open stays, ended stays and the index, each written beside its place and moved; then one is
    deleted.
    """
    steps = two_kept[1]

    assert steps == ["open", "os.rename"] * 3 + ["os.remove"]


@pytest.mark.parametrize("dies_at", range(1, 9))
def test_a_kill_at_any_step_of_a_write_leaves_what_was_kept(
    two_kept: tuple[Path, list[str]], tmp_path: Path, dies_at: int
) -> None:
    """
    Two listings are there, the third as a whole or not at all; the next write goes on and clears
    up.
    """
    folder, steps = two_kept
    assert len(steps) < 8
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    code = subprocess.run(
        write(tmp_path, first=3, count=1, dies_at=dies_at), check=False
    ).returncode
    storage = Storage(tmp_path)

    assert code == (-9 if dies_at <= len(steps) else 0)
    survivors = [1, 2, 3] if steps[dies_at - 1 :] in (["os.remove"], []) else [1, 2]
    assert_kept(storage, survivors)

    with storage.writing():
        storage.add(listed(9))
    assert_kept(storage, [*survivors, 9])
    index = storage.index()
    named = {tmp_path / file for file in (index.open_file, *index.closed.values())}
    assert {path for path in (tmp_path / "stays").rglob("*") if path.is_file()} == named


def test_a_reader_reads_again_what_another_process_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its look at the index and at the files, another listing was kept."""
    reader, writer = Storage(tmp_path), Storage(tmp_path)
    for number in (1, 2):
        with writer.writing():
            writer.add(listed(number))
    read, late = reader.index, iter([listed(3)])

    def outrun() -> object:
        index = read()
        for frame in late:
            with writer.writing():
                writer.add(frame)
        return index

    monkeypatch.setattr(reader, "index", outrun)

    assert sorted(set(reader.stays()["last"])) == [1, 2, 3]


def test_two_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    """Each waits for the other, and every listing of both is rebuilt."""
    writers = [subprocess.Popen(write(tmp_path, first=first, count=8)) for first in (100, 200, 300)]
    assert [writer.wait(100) for writer in writers] == [0, 0, 0]

    storage = Storage(tmp_path)
    kept = storage.index().listings
    numbers = [int(one.listing.notes[0]) for one in kept]
    assert [one.number for one in kept] == list(range(1, 25))
    assert sorted(numbers) == [first + n for first in (100, 200, 300) for n in range(8)]
    assert_kept(storage, numbers)
    assert len(list((tmp_path / "stays" / "open").iterdir())) == 1
