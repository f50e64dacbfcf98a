"""`petstore-tools list`: how it ends, what it asks, and what it checks before the first request."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from petstore_tools import Sandbox
from petstore_tools.errors import ArgumentError, QuotaError
from petstore_tools.sandbox.faults import Fault

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGALRM")
def test_an_exit_that_somebody_asked_for_keeps_its_code(run: Run, box: Sandbox) -> None:
    """A handler of SIGTERM calls `sys.exit(143)`: that is no success."""
    box.faults.append(Fault("slow", seconds=20))
    code = """if True:
        import signal, sys
        from petstore_tools.cli import main
        signal.signal(signal.SIGALRM, lambda *_: sys.exit(143))
        signal.alarm(2)
        main(["list"])
    """

    assert run(code=code).returncode == 143


@pytest.mark.parametrize("wanted", ["list_pets()", "snapshot()", "status_report()"])
def test_without_progress_nothing_is_printed(run: Run, wanted: str) -> None:
    """`progress=False` also where a bar would be drawn."""
    code = (
        f"import ipykernel; from petstore_tools import PetStore; PetStore(progress=False).{wanted}"
    )

    done = run(code=code, PETSTORE_PROGRESS="1")

    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


@pytest.mark.parametrize(
    ("typed", "near"),
    [
        ("avialable", "available"),
        ("Sold", "sold"),
        (" pending", "pending"),
        ("solid", "sold"),
        ("dog", None),
    ],
)
def test_a_status_that_is_none_suggests_the_nearest(
    box: Sandbox, typed: str, near: str | None
) -> None:
    """In each call that takes one, before anything is asked."""
    told = "available, pending, sold, not " + repr(typed)
    told += f"; did you mean {near!r}[?]" if near else "$"
    for call in (
        lambda: box.store.list_pets(status=typed),
        lambda: box.store.pages(status=typed),
        lambda: box.store.pets(status=typed),
        lambda: box.store.snapshots(status=typed),
        lambda: box.store.status_report(status=typed),
        lambda: box.store.create_pet("Rex", category_id=1, status=typed),
    ):
        with pytest.raises(ArgumentError, match=told):
            call()
    assert box.store.client.sent == 0


@pytest.mark.parametrize("command", ["list", "report"])
def test_a_status_may_be_typed_in_any_case(run: Run, command: str) -> None:
    """`--status Sold` is `sold`; a mistyped one is refused."""
    assert "status sold in" in "".join(
        (done := run(command, "--status", "Sold")).stdout + done.stderr
    )
    assert done.returncode == 0

    done = run(command, "--status", "avialable")

    assert done.returncode == 2
    assert "'avialable' is not one of 'available', 'pending', 'sold'" in done.stderr


@pytest.mark.parametrize(
    "three", [np.int64(3), np.uint8(3), pd.Series([3]).iloc[0]], ids=lambda n: type(n).__name__
)
def test_integers_of_numpy_and_pandas_are_integers(box: Sandbox, three: int) -> None:
    """`first`, `max_requests` and `limit`; what is none is refused in a sentence."""
    assert len(box.store.list_pets(first=three)) == 3
    assert len(box.store.list_pets(max_requests=three)) == 25
    assert [len(page) for page in box.store.pages(limit=three)] == [3] * 8 + [1]
    for no_number in (np.float64(3), np.True_, True, 3.0, "3"):
        with pytest.raises(ArgumentError, match="first must be a whole number"):
            box.store.list_pets(first=no_number)  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match="max_requests must be a whole number"):
            box.store.list_pets(max_requests=no_number)  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match="limit must be between"):
            box.store.pages(limit=no_number)  # type: ignore[arg-type]


@pytest.fixture
def tight(run: Run, box: Sandbox, tmp_path: Path) -> Run:
    """
    A day of 20 requests, where a listing of 2,500 animals, as many as there were last time, takes
    25.
    """
    state = tmp_path / "tight"
    state.mkdir()
    known = {box.base_url: {"sizes": {"": 2_500}}}
    (state / "services.json").write_text(json.dumps(known), encoding="utf-8")
    return partial(run, PETSTORE_STATE_DIR=str(state), PETSTORE_PLAN="10000/20")


def test_a_listing_that_does_not_fit_in_the_day_is_not_begun_unasked(
    tight: Run, box: Sandbox
) -> None:
    """Without a terminal: exit code 2, no request, and what helps; with --yes it goes."""
    done = tight("list")

    assert (done.returncode, done.stdout, len(box.traffic())) == (2, "", 0)
    assert "The listing needs about 25 requests, and 20 are left today" in done.stderr
    assert "--yes" in done.stderr
    assert tight("list", "--yes").returncode == 0
    assert len(box.traffic()) == 1


@pytest.mark.parametrize(
    "bound", [("--first", "1999"), ("--max-requests", "20"), ("--status", "sold"), ("--wait",)]
)
def test_a_listing_that_fits_is_not_asked_about(tight: Run, bound: tuple[str, ...]) -> None:
    """
    Fewer animals, a bound of one's own, a filter of which nothing is known, and whoever waits
    anyhow.
    """
    assert tight("list", *bound).returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo terminal")
@pytest.mark.parametrize(("answer", "asked"), [("y", 1), ("n", 0), ("", 0)])
def test_on_a_terminal_it_asks(tight: Run, box: Sandbox, answer: str, asked: int) -> None:
    """Nothing is sent without a yes."""
    import pty

    ours, theirs = pty.openpty()
    os.write(ours, f"{answer}\n".encode())
    done = tight("list", stdin=theirs)
    os.close(ours)
    os.close(theirs)

    assert "Use the requests that are left today? [y/N]" in done.stderr
    assert (done.returncode, len(box.traffic())) == (0, asked)
    assert ("Nothing was sent." in done.stderr) == (not asked)


def test_what_is_left_of_an_interrupted_listing_is_not_asked_about() -> None:
    """
    Five pages on a day of three: asked on the first day, not on the next, when two are left to
    read.
    """
    asked: list[tuple[int, int]] = []
    with Sandbox(plan="60/3", animals=450) as box:
        store = box.store
        store.inventory.remembered.keep(box.base_url, scheme=None, status=None, rows=450)
        for _ in range(2):  # the second time nothing is left to ask about
            with pytest.raises(QuotaError):
                store.list_pets(confirm=lambda *told: asked.append(told))
        box.advance(hours=24)
        with pytest.warns(UserWarning, match="went on after a pause"):
            frame = store.list_pets(confirm=lambda *told: asked.append(told))

    assert asked == [(5, 3)]
    assert len(frame) == 450


def test_a_listing_from_a_snapshot_says_so(run: Run, box: Sandbox) -> None:
    """`--max-age`: no request, and of what time; a fresh one does not claim it."""
    fresh = run("list", "--max-age", "1h")
    asked = len(box.traffic())

    kept = run("list", "--max-age", "1h")
    to_file = run("list", "--max-age", "1h", "-o", "kept.csv")

    assert len(box.traffic()) == asked
    assert "from the snapshot" not in fresh.stderr
    for done in (kept, to_file):
        assert re.search(
            r"from the snapshot of 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC, no request$",
            done.stderr,
            re.M,
        )


def test_a_report_that_does_not_fit_in_the_day_is_not_begun_unasked(
    tight: Run, box: Sandbox
) -> None:
    """As `list`: its listing takes as many requests. What it says is what `report` has."""
    done = tight("report")

    assert (done.returncode, done.stdout, len(box.traffic())) == (2, "", 0)
    assert "The listing needs about 25 requests, and 20 are left today" in done.stderr
    assert "--wait" in done.stderr
    assert "--first" not in done.stderr
    assert tight("report", "--yes").returncode == 0
    assert tight("report", "--wait").returncode == 0
    assert len(box.traffic()) == 2
