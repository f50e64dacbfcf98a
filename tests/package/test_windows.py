"""What Windows and macOS do otherwise, made on Linux: files in use, names, spellings, `spawn`."""

from __future__ import annotations

import ast
import io
import multiprocessing
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from petstore_tools import PetStore, Sandbox, errors
from petstore_tools.cli import main
from petstore_tools.listing.completeness import Listing
from petstore_tools.plans import Plan
from petstore_tools.tabular.atomic import as_on_disk, replace_file

PACKAGE = Path(__file__).parents[2] / "petstore_tools"
PETS = "name,categoryId\nRex,3\nMia,cats\n"


@pytest.fixture
def box() -> Iterator[Sandbox]:
    with Sandbox(plan=Plan(100_000, 1_000_000), animals=3) as found:
        yield found


def open_files() -> set[str]:
    """Return the files that this process has open."""
    found = set()
    for number in os.listdir("/proc/self/fd"):
        try:
            found.add(os.readlink(f"/proc/self/fd/{number}"))
        except OSError:
            continue
    return found


@pytest.fixture
def files_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Windows does: no file is replaced, moved or removed while it is open."""
    if sys.platform != "linux":
        pytest.skip("needs /proc")

    def refusing(call: Callable[..., None]) -> Callable[..., None]:
        def careful(*paths: Any, **options: Any) -> None:
            if (
                not options
                and {os.path.realpath(os.fsdecode(path)) for path in paths} & open_files()
            ):
                raise PermissionError(
                    13, "The process cannot access the file", os.fsdecode(paths[-1])
                )
            return call(*paths, **options)

        return careful

    for name in ("replace", "rename", "unlink", "remove"):
        monkeypatch.setattr(os, name, refusing(getattr(os, name)))


@pytest.fixture
def any_spelling(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As Windows and macOS do: a name in other letters opens the same file."""

    def as_named(path: Any) -> Any:
        text = os.fspath(path) if isinstance(path, str | os.PathLike) else ""
        if not isinstance(text, str) or not text.startswith(str(tmp_path)):
            return path
        folder, name = os.path.split(text)
        names = os.listdir(folder) if os.access(folder, os.R_OK) else []
        return next(
            (os.path.join(folder, n) for n in names if n.casefold() == name.casefold()), path
        )

    def folding(call: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *paths, **options: call(as_named(paths[0]), *paths[1:], **options)

    for module, name in ((os, "stat"), (os, "lstat"), (os, "unlink"), (io, "open")):
        monkeypatch.setattr(module, name, folding(getattr(module, name)))


@pytest.mark.usefixtures("files_in_use")
def test_no_job_replaces_or_removes_a_file_that_it_has_open(box: Sandbox, tmp_path: Path) -> None:
    """Import, import again, snapshots, history, export, a report, and forgetting the import."""
    path = tmp_path / "pets.csv"
    path.write_text(PETS)
    store = box.store

    for text in (PETS, PETS + "Tom,4\n"):
        path.write_text(text)
        store.import_pets(path, existing="send", progress=False)
        store.snapshot()
    report = store.status_report(since="last")
    report.to_excel(tmp_path / "report.xlsx")
    report.to_excel(tmp_path / "report.xlsx")

    assert store.quota().day.here > 0
    assert len(store.snapshots()) == 3
    assert len(store.snapshots()[0].frame()) == 4
    assert len(store.history()) == 5
    assert (tmp_path / "pets.sandbox.created.csv").read_text().count("\n") == 3
    assert (tmp_path / "pets.sandbox.rejected.csv").exists()


@pytest.mark.usefixtures("files_in_use")
def test_an_import_that_is_refused_says_why(box: Sandbox, tmp_path: Path) -> None:
    """And not that its lock cannot be removed; corrected, the same call sends."""
    path = tmp_path / "pets.csv"
    path.write_text("name,categoryId\nRex,cats\nMia,dogs\n")
    with pytest.raises(errors.SheetError, match="2 of 2 rows"):
        box.store.import_pets(path, progress=False)
    path.write_text("name,categoryId\nRex,3\n")

    assert box.store.import_pets(path, progress=False).created == 1


@pytest.mark.usefixtures("files_in_use")
def test_a_result_file_that_is_open_is_said_and_the_next_run_writes_it(
    box: Sandbox, tmp_path: Path
) -> None:
    """
    Nothing is raised after the sending; the other files are written; closed, the same call writes
    it.
    """
    path = tmp_path / "pets.csv"
    path.write_text(PETS)
    box.store.import_pets(path, progress=False)
    path.write_text(PETS + "Tom,4\n")

    with (tmp_path / "pets.sandbox.created.csv").open() as excel:
        result = box.store.import_pets(path, progress=False)
        assert excel.read().count("\n") == 2

    assert (result.created, result.rejected) == (2, 1)
    assert len(result.not_written) == 1
    assert result.not_written[0].startswith("pets.sandbox.created.csv (")
    assert "close it where it is open" in str(result)
    assert box.store.import_pets(path, progress=False).created_now == 0
    assert (tmp_path / "pets.sandbox.created.csv").read_text().count("\n") == 3
    assert not list(tmp_path.glob(".petstore-*"))


def test_a_file_that_another_program_reads_for_a_moment_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scanner for viruses holds it: it is tried again for less than a second, and then said."""
    path, real, refused = tmp_path / "a.json", os.replace, iter(range(3))

    def busy(*paths: Any) -> None:
        if next(refused, None) is not None:
            raise PermissionError(13, "in use")
        real(*paths)

    monkeypatch.setattr(os, "replace", busy)
    replace_file(path, b"new")
    refused = iter(range(99))
    with pytest.raises(PermissionError):
        replace_file(path, b"newer")

    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a.json"]


@pytest.mark.usefixtures("any_spelling")
def test_two_spellings_of_one_file_are_one_import(box: Sandbox, tmp_path: Path) -> None:
    """
    Animals.csv and animals.csv: the second run goes on with the first, and no row is sent twice.
    """
    (tmp_path / "Animals.csv").write_text(PETS)

    first = box.store.import_pets(tmp_path / "Animals.csv", progress=False)
    second = box.store.import_pets(tmp_path / "animals.CSV", progress=False)

    assert first.journal == second.journal
    assert (second.created, second.created_now) == (1, 0)
    assert as_on_disk(tmp_path / "ANIMALS.csv").name == "Animals.csv"


@pytest.mark.usefixtures("any_spelling")
def test_no_result_file_replaces_the_input_under_another_spelling(
    box: Sandbox, tmp_path: Path
) -> None:
    """A rejects file that bears our own content under another spelling is imported, and stays."""
    path = tmp_path / "pets.csv"
    path.write_text(PETS)
    box.store.import_pets(path, progress=False)
    content = (tmp_path / "pets.sandbox.rejected.csv").read_text()
    again = (tmp_path / "pets.sandbox.rejected.csv").rename(tmp_path / "pets.sandbox.REJECTED.csv")

    result = box.store.import_pets(again, progress=False)

    assert again.read_text() == content
    assert again.name in os.listdir(tmp_path)
    assert "pets.sandbox.rejected.csv" not in os.listdir(tmp_path)
    assert result.rejected == 1


@pytest.mark.parametrize("letter", ["x", "ü"])
def test_the_results_of_a_file_with_a_very_long_name_are_written(
    box: Sandbox, tmp_path: Path, letter: str
) -> None:
    """
    Where a name would be longer than 255 bytes, its stem is cut; the rejects file goes on as ever.
    """
    path = tmp_path / (letter * (250 // len(letter.encode())) + ".csv")
    path.write_text(PETS)

    result = box.store.import_pets(path, progress=False)

    assert (len(result.files), result.not_written) == (2, ())
    assert max(len(os.fsencode(file.name)) for file in result.files) <= 255
    rejected = next(file for file in result.files if ".rejected" in file.name)
    rejected.write_text(rejected.read_text().replace("cats", "7"))
    assert box.store.import_pets(rejected, progress=False).created == 1


@pytest.mark.parametrize("name", ["con", "NUL.2026", "aux.csv", "9:30", 'a"b*?'])
def test_a_name_that_windows_has_for_a_device_or_not_at_all_names_a_file(
    box: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """`name="con"` would print the results, and `nul` would throw them away."""
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"name": ["Rex"], "categoryId": [3]})

    (file,) = box.store.import_pets(frame, name=name, progress=False).files

    assert file.name.partition(".")[0].casefold() not in ("con", "nul", "aux")
    assert not set(file.name) & set('\\/:*?"<>|')
    assert file.read_text().count("\n") == 2


WITHOUT = """if True:
    import importlib, os, pkgutil, signal, socket, sys, time
    import petstore_tools

    def everything():
        for found in pkgutil.walk_packages(petstore_tools.__path__, "petstore_tools."):
            if found.name != "petstore_tools.__main__":
                importlib.import_module(found.name)

    everything()  # what others need of Linux is loaded: only our modules are asked
    import asyncio, subprocess, tqdm.auto
    for name in [name for name in sys.modules if name.startswith("petstore_tools.")]:
        del sys.modules[name]
    for name in "fcntl resource pwd grp termios tty pty syslog posix uvloop".split():
        sys.modules[name] = None
    gone = {
        os: "fork forkpty getuid geteuid getgid getegid getpgid killpg setsid chown fchmod mkfifo uname",
        signal: "SIGTERM SIGHUP SIGKILL SIGALRM SIGUSR1 SIGUSR2 SIGQUIT SIGPIPE SIGCHLD alarm setitimer",
        socket: "SO_REUSEPORT SO_PEERCRED",
        time: "tzset",
    }
    for module, names in gone.items():
        for name in names.split():
            if hasattr(module, name):
                delattr(module, name)
    everything()
    from petstore_tools.cli import main
    main(["demo"])
"""


def test_the_main_job_needs_nothing_that_only_linux_has(tmp_path: Path) -> None:
    """Every module loads, and the demo runs, without fcntl, resource, os.fork, SIGTERM and more."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0), done.stderr
    assert "1,000" in done.stdout


def test_no_encoding_and_no_line_ending_is_left_to_the_machine() -> None:
    """Windows reads and writes cp1252 and CRLF where a text file is opened without saying which."""
    loose = []
    for path in PACKAGE.rglob("*.py"):
        calls = [
            n
            for n in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(n, ast.Call)
        ]
        for call in calls:
            name = getattr(call.func, "attr", getattr(call.func, "id", ""))
            given = {keyword.arg for keyword in call.keywords}
            modes = [
                a.value
                for a in call.args
                if isinstance(a, ast.Constant) and isinstance(a.value, str)
            ]
            as_text = name == "open" and modes and not any("b" in mode for mode in modes)
            if ((as_text or name == "write_text") and not {"encoding", "newline"} <= given) or (
                name == "read_text" and not given and not call.args
            ):
                loose.append((path.name, call.lineno, name))

    assert loose == []


def test_without_a_time_zone_database_only_a_named_zone_is_refused(
    box: Sandbox, tmp_path: Path
) -> None:
    """Windows has none of its own: reports are in UTC as ever, and a name says what to install."""
    code = """if True:
        import sys
        sys.modules["tzdata"] = None
        from petstore_tools.cli import main
        main(sys.argv[1:])
    """
    given = {
        **os.environ,
        "PYTHONTZPATH": "",
        "PETSTORE_BASE_URL": box.base_url,
        "PETSTORE_API_KEY": box.api_key,
    }

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", code, "report", *arguments]
        return subprocess.run(
            command,
            cwd=tmp_path,
            env=given,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert run("-o", "report.html", "--timezone", "UTC").returncode == 0
    refused = run("-o", "report.html", "--timezone", "Europe/Berlin")
    assert (refused.returncode, "Traceback" in refused.stderr) == (2, False)
    assert "pip install tzdata" in refused.stderr


def _asked(options: dict[str, str], queue: Any) -> None:
    with PetStore(**options, progress=False) as store:  # type: ignore[arg-type]
        queue.put(len(store.list_pets()))


def test_a_process_that_was_spawned_shares_budget_and_errors(box: Sandbox) -> None:
    """As on Windows and macOS, where nothing of the parent is copied."""
    context = multiprocessing.get_context("spawn")
    options = {"base_url": box.base_url, "api_key": box.api_key, "plan": "60/1000"}
    queue = context.Queue()
    processes = [context.Process(target=_asked, args=(options, queue)) for _ in range(2)]

    for process in processes:
        process.start()
    seen = [queue.get(timeout=60) for _ in processes]
    for process in processes:
        process.join(20)

    assert seen == [3, 3]
    with PetStore(**options) as store:  # type: ignore[arg-type]
        assert store.quota().day.left == 998


def test_results_and_errors_come_back_from_another_process(box: Sandbox) -> None:
    """A pool of processes breaks at an error that cannot be pickled, and tells nobody which."""
    frame = box.store.list_pets()
    listing = Listing.of(frame)
    found = [
        errors.TransportError("cut", may_have_left=False),
        errors.ApiError(500, "oops", "no", "GET /pets"),
        errors.UnauthorizedError(401, "unauthorized", "no", "GET /pets"),
        errors.KeyBannedError(429, "key_banned", "no", "GET /pets", retry_at=5.0),
        errors.QuotaError("the day is used up", plan="free", resumes_at=4.0),
        errors.IncompleteListingError(listing),
        errors.Interrupted("stopped", result=1),
        errors.SheetError("no column", proposals={"Pet": "name"}, header=("Pet",)),
        errors.MissingExtraError("plot", "a chart"),
        errors.OutputError("no folder"),
    ]

    for error in found:
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))

    one = pd.DataFrame({"name": ["Rex"], "categoryId": [3]}, index=["first"])
    result = box.store.import_pets(one, name="pool", progress=False)
    preview = box.store.preview_import(one, name="pool")
    for made in (result, preview, listing, box.store.quota(), box.store.status_report()):
        assert repr(pickle.loads(pickle.dumps(made))) == repr(made)
    assert Listing.of(pickle.loads(pickle.dumps(frame))) == listing
    assert pickle.loads(pickle.dumps(result)).frame["row"].tolist() == ["first"]


def test_the_command_line_forgets_an_import_with_its_files_in_use(
    box: Sandbox,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    files_in_use: None,
) -> None:
    """`imports forget` closes the journal before it is removed."""
    monkeypatch.chdir(tmp_path)
    for name, value in {"BASE_URL": box.base_url, "API_KEY": box.api_key, "PLAN": "pro"}.items():
        monkeypatch.setenv(f"PETSTORE_{name}", value)
    (tmp_path / "pets.csv").write_text("name,categoryId\nRex,3\n")
    for arguments in (["import", "pets.csv", "--yes"], ["imports"]):
        with pytest.raises(SystemExit):
            main(arguments)
    journal = next((tmp_path / "state" / "imports").glob("*.db")).stem

    with pytest.raises(SystemExit) as ended:
        main(["imports", "forget", journal, "--yes"])

    assert ended.value.code == 0, capsys.readouterr()
    assert not list((tmp_path / "state" / "imports").glob(f"{journal}*.db"))
