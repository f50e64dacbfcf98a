"""An import that is interrupted: nothing after it runs, and its files and its result are there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel

from petstore_tools import Sandbox
from petstore_tools.errors import Interrupted
from petstore_tools.importing.results import ImportResult
from petstore_tools.importing.send import Progress
from petstore_tools.plans import Plan
from petstore_tools.sandbox import samples
from petstore_tools.sandbox.faults import Fault

ROWS = 1_500
posix = pytest.mark.skipif(os.name != "posix", reason="SIGINT to another process is POSIX")


@pytest.fixture
def box() -> Iterator[Sandbox]:
    with Sandbox(plan=Plan(100_000, 1_000_000), clock="system", animals=0) as found:
        yield found


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / "january.csv", tmp_path / "february.csv"]
    for seed, path in enumerate(paths):
        path.write_text(samples.animals_csv(ROWS, seed=seed), encoding="utf-8")
    return paths


def after(rows: int, error: BaseException) -> Callable[[Progress], None]:
    """Raise in the caller's thread once so many rows are done, as a signal does."""

    def progress(now: Progress) -> None:
        if now.done >= rows and now.done < now.total:
            raise error

    return progress


@pytest.mark.case("P66")
def test_an_interrupt_ends_the_loop_around_an_import(box: Sandbox, files: list[Path]) -> None:
    """The second file is not begun; the first one's result files and its result are there."""
    begun: list[str] = []

    def loop() -> None:
        for path in files:
            begun.append(path.name)
            box.store.import_pets(path, progress=after(50, KeyboardInterrupt()))

    with pytest.raises(Interrupted) as caught:
        loop()

    result = caught.value.result
    assert isinstance(caught.value, KeyboardInterrupt)
    assert isinstance(result, ImportResult)
    assert begun == ["january.csv"]
    assert 50 <= result.created < ROWS
    assert result.created + result.unknown + result.unsent == ROWS
    assert [path.exists() for path in result.files] == [True]
    assert caught.value._render_traceback_() == [f"Interrupted: {result}; the same call goes on"]
    assert box.store.import_pets(files[0], existing="send").complete


@pytest.mark.case("P66")
def test_an_interrupt_while_lost_rows_are_reconciled_is_raised_too(files: list[Path]) -> None:
    """The wait before that listing is where a person is most likely to give up."""

    def stop(now: Progress) -> None:
        if now.waits_for:
            raise KeyboardInterrupt

    lost = Fault("drop_after", method="POST", at=(10,))
    plan = Plan(100_000, 1_000_000)
    with (
        Sandbox(plan=plan, animals=0, faults=[lost]) as lossy,
        pytest.raises(Interrupted) as caught,
    ):
        lossy.store.import_pets(files[0], progress=stop)

    assert isinstance(caught.value.result, ImportResult)
    assert caught.value.result.unknown > 0


@pytest.mark.case("P66")
def test_a_program_that_is_told_to_end_keeps_its_exit_code(box: Sandbox, files: list[Path]) -> None:
    """A handler of SIGTERM that calls sys.exit(143): files are written, and the code is 143."""
    with pytest.raises(SystemExit) as caught:
        box.store.import_pets(files[0], progress=after(50, SystemExit(143)))

    assert caught.value.code == 143
    assert len(files[0].with_name("january.sandbox.created.csv").read_text().splitlines()) > 50


def test_an_error_of_the_callers_own_function_ends_the_import_with_its_files(
    box: Sandbox, files: list[Path]
) -> None:
    """The error is raised as it is, the created file is there, and the same call goes on."""
    with pytest.raises(ZeroDivisionError):
        box.store.import_pets(files[0], progress=after(50, ZeroDivisionError()))

    assert len(files[0].with_name("january.sandbox.created.csv").read_text().splitlines()) > 50
    assert box.store.import_pets(files[0]).complete


@posix
@pytest.mark.case("P66")
def test_an_interrupted_cell_of_run_all_is_the_last_one_that_runs(
    box: Sandbox, files: list[Path]
) -> None:
    """
    In a real kernel, with both cells queued: one line for a traceback, and the second is not run.
    """
    manager, client = start_new_kernel(kernel_name="python3")
    try:
        address = f"base_url={box.base_url!r}, api_key={box.api_key!r}, plan='100000/1000000'"
        client.execute_interactive(
            f"from petstore_tools import PetStore\nstore = PetStore({address})", timeout=30
        )
        cells = [
            client.execute(f"store.import_pets({str(files[0])!r})"),
            client.execute(f"store.import_pets({str(files[1])!r})"),
        ]
        while len(box.traffic()) < 60:
            assert manager.is_alive()
        manager.interrupt_kernel()
        replies: dict[str, Any] = {}
        while len(replies) < 2:
            reply = client.get_shell_msg(timeout=20)
            replies[reply["parent_header"]["msg_id"]] = reply["content"]
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)

    first, second = (replies[cell] for cell in cells)
    assert (first["status"], first["ename"], len(first["traceback"])) == ("error", "Interrupted", 1)
    assert "the same call goes on" in first["traceback"][0]
    assert second["status"] == "aborted"
    assert files[0].with_name("january.created.csv").exists()
    assert not files[1].with_name("february.created.csv").exists()


@posix
@pytest.mark.case("P66")
def test_ctrl_c_at_the_command_line_prints_the_result_and_ends_with_130(
    box: Sandbox, files: list[Path], tmp_path: Path
) -> None:
    """What was created so far, where the files are, and the command that goes on."""
    env = {
        "PETSTORE_BASE_URL": box.base_url,
        "PETSTORE_API_KEY": box.api_key,
        "PETSTORE_PLAN": "90000/900000",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "petstore_tools", "import", "january.csv", "--yes"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        cwd=tmp_path,
        env={**os.environ, **env},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    while len(box.traffic()) < 60:
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)

    assert process.returncode == 130
    assert "january.csv → production: 1,500 rows: " in out
    assert "stopped: interrupted" in out
    assert "january.created.csv" in err
    assert "Continue with: petstore-tools import january.csv --yes" in err
    assert "Traceback" not in err


ENDS = """
import sys, click
from petstore_tools import cli
cli.cli.get_command = lambda context, name: click.Command(name, callback=lambda: sys.exit(7))
cli.main(["quota"])
"""


def test_the_command_line_keeps_the_code_of_a_system_exit() -> None:
    """Only where nobody reads the output any more is the end quiet."""
    assert subprocess.run([sys.executable, "-c", ENDS], timeout=60, check=False).returncode == 7
